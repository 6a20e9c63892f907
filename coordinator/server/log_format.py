"""The format of the daemon's log: one event is one line, whatever text of clients is in it.

Client ids, group ids and the reasons that members give are part of log lines. A line break or an escape sequence in one
of them must not forge a line or change the colours of a terminal. So unprintable characters are escaped, long texts are
cut, and the lines below the first one (tracebacks) are indented. `line_limit` bounds the number of lines.
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
    """Formatter whose messages have no unprintable characters and begin no line of their own."""

    # Line breaks in the text of the call itself and in tracebacks stay, with an indent after them; others are escaped.

    def __init__(self, prefix: str = "") -> None:
        super().__init__(FORMAT.replace("%(message)s", f"{prefix}%(message)s"), DATE_FORMAT)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        if "\n" not in str(record.msg):
            record.message = shortened(printable(record.message))
        return super().formatMessage(record)

    def format(self, record: logging.LogRecord) -> str:
        return INDENT.join(printable(line) for line in super().format(record).split("\n"))


def printable(text: str) -> str:
    """Return `text` with escapes for its unprintable characters."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def shortened(text: str) -> str:
    """Return `text`, cut if it is long: a client id may have 32 KB."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def write_log_to_stderr(level: str, prefix: str = "") -> None:
    """Set up logging for a daemon; `prefix` says which one where several write to the same place."""
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormatter(prefix))
    handler.addFilter(LineLimit())
    logging.basicConfig(handlers=[handler], level=level.upper())
