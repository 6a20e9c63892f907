"""The format of the daemon's log: one event is one line, whatever text of clients is in it.

Client ids, group ids and the reasons that members give are part of log lines. A line break, an escape sequence or a tag
of HTML in one of them must not forge a line, change the colours of a terminal, or run in the page of a log viewer. So
these characters are escaped, long texts are cut, and in text the lines below the first one (tracebacks) are indented.

A line of JSON has time, level, logger and message, and the fields of its event: each `key=%s` of the log call is one,
and a log call may pass more as `extra={"fields": {…}}`. `line_limit` bounds the number of lines.
"""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final

from coordinator.server.line_limit import LineLimit

FORMAT: Final = "%(asctime)s.%(msecs)03d %(levelname)-7s %(message)s"
DATE_FORMAT: Final = "%Y-%m-%d %H:%M:%S"
LONGEST: Final = 2000
INDENT: Final = "\n    "
HTML: Final = re.compile("[<>&]")
_VALUE: Final = r"%[-#0 +]*[0-9]*(?:\.[0-9]+)?[a-zA-Z]"
_VALUES: Final = re.compile(rf"(?:(\w+)=)?({_VALUE}(?:[:.]{_VALUE})*)|%%")  # as `peer=%s` or `listen=%s:%d`
_PLAIN: Final = frozenset({bool, int, float, type(None)})  # types whose values stay what they are


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


class JsonFormatter(logging.Formatter):
    """Formatter that makes each record one JSON object on one line of ASCII, without a character of HTML.

    The message has the escapes of the text form. Fields hold what the client sent, in the escapes of JSON.
    """

    def __init__(self, node_id: int | None = None) -> None:
        super().__init__()
        self._own = {} if node_id is None else {"node": node_id}

    def format(self, record: logging.LogRecord) -> str:
        facts = {
            **self._own,
            **_fields_of(record),
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")[:-6] + "Z",
            "level": record.levelname,
            "logger": record.name,
            "message": INDENT.join(printable(line) for line in _message(record).split("\n")),
        }
        if record.exc_info:
            facts["traceback"] = self.formatException(record.exc_info)
        ordered = {key: facts.pop(key) for key in ("time", "level", "logger", "message")}
        text = json.dumps({**ordered, **facts}, default=str)
        return HTML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _message(record: logging.LogRecord) -> str:
    message = record.getMessage()
    return message if "\n" in str(record.msg) else shortened(printable(message))


def _fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the fields of a record: those in its text, and those that the log call gives apart."""
    fields: dict[str, Any] = {}
    values = record.args
    if isinstance(values, tuple):
        taken = 0
        for name, form, count in _fields_in(str(record.msg)):
            if name:
                here = values[taken : taken + count]
                fields[name] = here[0] if count == 1 and type(here[0]) in _PLAIN else shortened(form % here)
            taken += count
    given: dict[str, Any] = getattr(record, "fields", {})
    return fields | {name: shortened(value) if isinstance(value, str) else value for name, value in given.items()}


@lru_cache(maxsize=256)
def _fields_in(template: str) -> tuple[tuple[str, str, int], ...]:
    """Return (name or nothing, form, number of values) of each group of values in the text of a log call."""
    return tuple(
        (found[1] or "", found[2].replace("%r", "%s"), found[2].count("%"))
        for found in _VALUES.finditer(template)
        if found[2]
    )


def printable(text: str) -> str:
    """Return `text` with escapes for its unprintable characters and the brackets of HTML."""
    if text.isprintable() and "<" not in text and ">" not in text:
        return text
    return "".join(each if each.isprintable() and each not in "<>" else _escape(each) for each in text)


def _escape(character: str) -> str:
    return f"\\x{ord(character):02x}" if character in "<>" else character.encode("unicode_escape").decode()


def shortened(text: str) -> str:
    """Return `text`, cut if it is long: a client id may have 32 KB."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text)} characters)"


def write_log_to_stderr(level: str, form: str = "text", *, node_id: int | None = None, most_sources: int = 256) -> None:
    """Set up logging for a daemon in one of the forms of log.format. `node_id`: of a worker, for each of its lines.

    `most_sources` is log.lines.max.sources.
    """
    handler = logging.StreamHandler()
    if form == "json":
        handler.setFormatter(JsonFormatter(node_id))
    else:
        handler.setFormatter(LineFormatter("" if node_id is None else f"node={node_id} "))
    handler.addFilter(LineLimit(most_sources=most_sources))
    logging.basicConfig(handlers=[handler], level=level.upper())
