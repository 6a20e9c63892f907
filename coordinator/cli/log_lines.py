"""How the daemon writes its log: one event is one line, whoever wrote the words in it, and a flood is cut short.

Client ids, group ids and the reasons that members give stand in log lines. A line break or an escape sequence in one
of them must not make a line that nobody logged, nor colour an operator's terminal: what cannot be printed is escaped,
what is endless is cut, and the lines below a first one (tracebacks) are indented.

A client that fails in a loop, or a full disk, can cause thousands of lines a second. Of each kind (the text before its
arguments are filled in) `BURST` may come at once and `PER_SECOND` after that; the next one that passes says how many
did not.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Final

FORMAT: Final = "%(asctime)s.%(msecs)03d %(levelname)-7s %(message)s"
DATE_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
LONGEST: Final = 2000
BURST: Final = 1000
PER_SECOND: Final = 50
INDENT: Final = "\n    "


class LineFormatter(logging.Formatter):
    """Nothing in a message begins a line, and nothing in it is unprintable."""

    # A call whose own text has a line break means it, and a traceback has many. Those are indented, others escaped.

    def __init__(self, prefix: str = "") -> None:
        super().__init__(FORMAT.replace("%(message)s", f"{prefix}%(message)s"), DATE_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        if "\n" not in str(record.msg):
            record.message = shortened(printable(record.message))
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return INDENT.join(printable(line) for line in super().format(record).split("\n"))


def printable(text: str) -> str:
    """With escapes for what is no visible character."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def shortened(text: str) -> str:
    """A client id may have 32 KB; nobody reads that."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


class LineLimit(logging.Filter):
    """At most so many lines of a kind. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[str, _Kind] = {}  # as many as there are log calls in the program

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        kind = self._kinds.setdefault(f"{record.name} {record.msg}" if record.args else record.name, _Kind(now))
        kind.left = min(kind.left + (now - kind.at) * PER_SECOND, float(BURST))
        kind.at = now
        if kind.left < 1:
            kind.dropped += 1
            return False
        kind.left -= 1
        if kind.dropped:
            record.msg = f"{record.msg} (and {kind.dropped} lines of this kind that were left out before)"
            kind.dropped = 0
        return True


class _Kind:
    """How many lines of a kind may still come, and how many were left out."""

    __slots__ = ("at", "dropped", "left")

    def __init__(self, now: float) -> None:
        self.at = now
        self.left = float(BURST)
        self.dropped = 0


def write_log_to_stderr(level: str, prefix: str = "") -> None:
    """Set up logging for a daemon; `prefix` says which one where several write to the same place."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(prefix))
    handler.addFilter(LineLimit())
    logging.basicConfig(handlers=[handler], level=level.upper())
