"""How the daemon writes its log: one event is one line, whoever wrote the words in it.

Client ids, group ids and the reasons that members give stand in log lines. A line break or an escape sequence in one
of them must not make a line that nobody logged, nor colour an operator's terminal: what cannot be printed is escaped,
what is endless is cut, and the lines below a first one (tracebacks) are indented.
How many lines there may be: `coordinator.server.line_limit`.
"""

from __future__ import annotations

import logging
from typing import Final

from coordinator.server.line_limit import LineLimit

FORMAT: Final = "%(asctime)s.%(msecs)03d %(levelname)-7s %(message)s"
DATE_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
LONGEST: Final = 2000
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


def write_log_to_stderr(level: str, prefix: str = "") -> None:
    """Set up logging for a daemon; `prefix` says which one where several write to the same place."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(prefix))
    handler.addFilter(LineLimit())
    logging.basicConfig(handlers=[handler], level=level.upper())
