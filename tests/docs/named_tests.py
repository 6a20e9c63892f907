"""The tests that a page names as `folder/file.py::test_name`, below tests/."""

from __future__ import annotations

import re
from typing import Final

from tests.docs.blocks import ROOT

NAMED_TEST: Final = re.compile(r"`([a-z_/0-9]+\.py)::(test_[a-z_0-9]+)`")


def is_there(file: str, name: str) -> bool:
    path = ROOT / "tests" / file
    return path.is_file() and f"def {name}(" in path.read_text(encoding="utf-8")
