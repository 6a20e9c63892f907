"""Tools of the machine that some tests need and pip cannot install: kcat, node, a C compiler.

A test that lacks its tool says `not run: install X`, so that a contributor without it still gets a useful run. With
REQUIRE_ALL_TESTS=1, as .ci/run sets it, the same is a failure: there, nothing may silently be left out.
"""

from __future__ import annotations

import os
import shutil
from typing import NoReturn

import pytest


def require_tool(tool: str, package: str | None = None) -> str:
    """The path of a program. `package` is what to install where its name differs from the program's."""
    path = shutil.which(tool)
    if path is None:
        not_run(f"install {package or tool}")
    return path


def not_run(remedy: str) -> NoReturn:
    """Leave this test out, for a reason that the reader can put right: `not_run("install kcat")`."""
    if os.environ.get("REQUIRE_ALL_TESTS") == "1":
        pytest.fail(f"not run: {remedy}", pytrace=False)
    pytest.skip(f"not run: {remedy}")
