"""Tables and plain sentences for people, by rich; never wider than they need, and whole when they go into a file.

rich comes with the [spark] extra, like everything else that the history commands stand on: `needs_extra` turns the
failed import of any of it into the one sentence that says so.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coordinator.cli.errors import CliError

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

LEAST_WIDTH: Final = 100  # of output that goes into a file or a pipe
EXTRA: Final = "pip install 'kafka-group-coordinator[spark]'"
_NEEDED: Final = ("numpy", "pyarrow", "rich")


def need_extra(*more: str) -> None:
    """CliError with what to install, unless everything that reads history is there. `more` are further packages."""
    missing = [name for name in (*_NEEDED, *more) if importlib.util.find_spec(name) is None]
    if missing:
        raise CliError(f"this needs {', '.join(missing)}, which come with an extra; install it with: {EXTRA}")


def console() -> Console:
    """Standard output. Colours on a terminal only."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else LEAST_WIDTH
    return Console(width=width, highlight=False, soft_wrap=False)


def table(columns: Sequence[tuple[str, str]], title: str = "") -> Table:
    """An empty table with these columns: a name, and `left`, `right`, or `wide` (left, and may be wrapped)."""
    from rich import box
    from rich.table import Table

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), title=title or None, title_justify="left")
    for name, kind in columns:
        made.add_column(
            name,
            justify="right" if kind == "right" else "left",
            no_wrap=kind != "wide",
            overflow="fold",
        )
    return made


def show(*parts: RenderableType) -> None:
    """Print parts below each other."""
    out = console()
    for part in parts:
        out.print(part, markup=False) if isinstance(part, str) else out.print(part)


def tell(sentence: str) -> None:
    """Something about the answer that is not part of it: to stderr, so that output stays what was asked for."""
    print(sentence, file=sys.stderr)


def number(value: int | None) -> str:
    """With thousands apart, for people: 1 234 567; nothing known is a dash."""
    return "-" if value is None else f"{value:,}".replace(",", " ")


def change(value: int | None) -> str:
    """A difference with its sign."""
    if value is None:
        return "-"
    return "0" if value == 0 else f"{value:+,}".replace(",", " ")
