"""What is running: the version that is installed, and whether its hot modules are compiled.

One source makes two wheels (see setup.py): a plain one, and one whose hot modules are also there in machine code. They
behave alike and differ in speed, so whoever reads a log or a benchmark should see which it was. The file that a module
was loaded from tells, because Python prefers a compiled module to its source beside it.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Final

from protocol import primitives

DISTRIBUTION: Final = "kafka-group-coordinator"


def is_compiled() -> bool:
    """Whether the compiled modules are in use. All of them are or none is: they are one build."""
    return str(primitives.__file__).endswith(tuple(EXTENSION_SUFFIXES))


def build() -> str:
    """As people read it: 'compiled, CPython 3.11' or 'plain, CPython 3.11'."""
    name = sys.implementation.name.replace("cpython", "CPython")
    return f"{'compiled' if is_compiled() else 'plain'}, {name} {sys.version_info[0]}.{sys.version_info[1]}"


def version() -> str:
    """The version of the installed package; '(run from source, not installed)' if there is none."""
    from importlib.metadata import PackageNotFoundError  # reads metadata from disk; most commands never ask
    from importlib.metadata import version as installed

    try:
        return installed(DISTRIBUTION)
    except PackageNotFoundError:
        return "(run from source, not installed)"
