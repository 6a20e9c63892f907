"""The installed version, the kind of build (plain, compiled, or one executable file), and how to get an extra.

One source makes two wheels (see setup.py): a plain one, and one whose hot modules are also compiled. They behave alike
and differ in speed, so logs and benchmarks name the build. It is known from the file of a loaded module, because Python
prefers a compiled module to its source beside it. `make binary` puts the plain build into one file with Python.
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


def is_binary() -> bool:
    """Return True in the single-file executable: it has its own Python, and nothing can be installed into it."""
    return bool(getattr(sys, "frozen", False))


def install(extra: str) -> str:
    """Return the command that installs an extra, as the end of a sentence."""
    command = f"pip install '{DISTRIBUTION}[{extra}]'"
    return (
        f"{command}; then use that `coordinator`, because this executable takes no extras" if is_binary() else command
    )


def build() -> str:
    """Describe the build: 'plain, CPython 3.11', or 'compiled' or 'binary' in place of 'plain'."""
    name = sys.implementation.name.replace("cpython", "CPython")
    kind = "binary" if is_binary() else "compiled" if is_compiled() else "plain"
    return f"{kind}, {name} {sys.version_info[0]}.{sys.version_info[1]}"


def version() -> str:
    """Return the version of the installed package; '(run from source, not installed)' if there is none."""
    from importlib.metadata import PackageNotFoundError  # reads metadata from disk, which most commands do not need
    from importlib.metadata import version as installed

    try:
        return installed(DISTRIBUTION)
    except PackageNotFoundError:
        return "(run from source, not installed)"
