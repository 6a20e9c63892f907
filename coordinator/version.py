"""The installed version, and the kind of build: plain or compiled.

One source makes two wheels (see setup.py): a plain one, and one whose hot modules are also compiled. They behave alike
and differ in speed, so logs and benchmarks name the build. It is known from the file of a loaded module, because Python
prefers a compiled module to its source beside it.
"""

from __future__ import annotations

import sys
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Final

from protocol import primitives

DISTRIBUTION: Final = "kafka-group-coordinator"


def is_compiled() -> bool:
    """Return True if the compiled modules are in use. They are one build, so either all are or none is."""
    return str(primitives.__file__).endswith(tuple(EXTENSION_SUFFIXES))


def build() -> str:
    """Describe the build: 'compiled, CPython 3.11' or 'plain, CPython 3.11'."""
    name = sys.implementation.name.replace("cpython", "CPython")
    return f"{'compiled' if is_compiled() else 'plain'}, {name} {sys.version_info[0]}.{sys.version_info[1]}"


def version() -> str:
    """Return the version of the installed package; '(run from source, not installed)' if there is none."""
    from importlib.metadata import PackageNotFoundError  # reads metadata from disk, which most commands do not need
    from importlib.metadata import version as installed

    try:
        return installed(DISTRIBUTION)
    except PackageNotFoundError:
        return "(run from source, not installed)"
