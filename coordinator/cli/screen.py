"""Sentences and numbers for people, and the check that an extra is installed.

Tables are printed by `coordinator.cli.table` in every command, without rich: a table by rich wraps its cells, which
breaks grep, and importing it takes 30 ms of CPU at each start. rich draws the progress bar of `coordinator compact`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable
from typing import Final

from coordinator.cli.errors import CliError
from coordinator.cli.table import escaped
from coordinator.version import install

_NEEDED: Final = ("numpy", "pyarrow")


def need_extra(*more: str, extra: str = "history") -> None:
    """Raise CliError with the command that installs the extra if numpy, pyarrow or a package of `more` is missing."""
    missing = [name for name in (*_NEEDED, *more) if importlib.util.find_spec(name) is None]
    if missing:
        raise CliError(f"this needs {', '.join(missing)}, which come with an extra; install it with: {install(extra)}")


def tell(sentence: str) -> None:
    """Print a remark about the answer to stderr, so that stdout has the answer alone."""
    print(escaped(sentence), file=sys.stderr)


def complain(problems: Iterable[str]) -> int:
    """Print sentences about what went wrong to stderr. Return the exit code: 1 if there are any."""
    code = 0
    for problem in problems:
        tell(f"coordinator: {problem}")
        code = 1
    return code


def count(value: int, noun: str) -> str:
    """Return a number of things for a sentence: 1 member, 2 members."""
    return f"{number(value)} {noun}{'s' * (value != 1)}"


def number(value: int) -> str:
    """Return a number for a sentence, with its thousands apart: 1 234 567."""
    return f"{value:,}".replace(",", " ")


def change(value: int | None) -> str | None:
    """Return a difference with its sign, for a table."""
    if value is None:
        return None
    return f"{value:+}" if value else "0"
