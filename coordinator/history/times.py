"""Parsing and formatting of moments and spans of time on the command line.

A moment is ISO 8601 with `Z`, with an offset, or without either (local time), down to the day; or a span before
now: `-15m`, `-1h30m`. A span is one or several numbers with units: ms, s, m, h, d, w. Output is local time with its
offset, so that it can be pasted back, and how long ago that was.

Moments are int milliseconds since the epoch, spans int milliseconds. The message of a ValueError is one sentence.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

UNITS_MS: Final = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
MIN_MS: Final = -62_135_596_800_000  # year 1, the first that datetime has
MAX_MS: Final = 253_402_300_799_999  # the end of year 9999

_PART: Final = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_SPAN: Final = re.compile(rf"(?:{_PART.pattern})+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def parse_span(text: str) -> int:
    """Parse `10m`, `1h30m`, `250ms`. ValueError: it is not a span, or not above zero."""
    found = _SPAN.fullmatch(text.strip())
    span_ms = round(sum(float(number) * UNITS_MS[unit] for number, unit in _PART.findall(text))) if found else 0
    if span_ms <= 0:
        raise ValueError(f"{text!r} is not a span of time; write 30s, 10m, 1h30m or 2d")
    return span_ms


def parse_moment(text: str, now_ms: int) -> int:
    """Parse a moment in ISO 8601, `now`, or a span before now such as `-15m`."""
    text = text.strip()
    if text == "now":
        return now_ms
    if text.startswith("-"):
        return now_ms - parse_span(text[1:])
    try:
        moment = datetime.fromisoformat(text)
        return _milliseconds(moment if moment.tzinfo else moment.astimezone())
    except (ValueError, OverflowError, OSError):
        raise ValueError(
            f"{text!r} is not a time; write 2026-11-20T14:05Z, 2026-11-20T14:05+01:00, 2026-11-20T14:05 (local) or -15m"
        ) from None


def _milliseconds(moment: datetime) -> int:
    delta = moment - _EPOCH
    return delta.days * UNITS_MS["d"] + delta.seconds * 1000 + delta.microseconds // 1000


def local_time(moment_ms: int, *, milliseconds: bool = True) -> str:
    """Return `2026-11-20T15:05:12.123+01:00`, or the plain number for a moment outside the calendar."""
    if not MIN_MS + UNITS_MS["d"] <= moment_ms <= MAX_MS - UNITS_MS["d"]:  # a day of room for the offset
        return str(moment_ms)
    seconds, thousandths = divmod(moment_ms, 1000)
    moment = datetime.fromtimestamp(seconds, UTC).astimezone().replace(microsecond=thousandths * 1000)
    return moment.isoformat(timespec="milliseconds" if milliseconds else "seconds")


def span(span_ms: int) -> str:
    """Return the two largest units that are not zero: `2d 4h`, `3m 20s`, `1.5s`, `250ms`."""
    if span_ms < 1000:
        return f"{span_ms}ms"
    if span_ms < 10_000:
        return f"{span_ms / 1000:.1f}".removesuffix(".0") + "s"
    for (larger, unit_ms), (smaller, rest_ms) in _PAIRS:
        count = span_ms // unit_ms
        if count:
            rest = span_ms % unit_ms // rest_ms
            return f"{count}{larger} {rest}{smaller}" if rest else f"{count}{larger}"
    return f"{span_ms // 1000}s"


_PAIRS: Final = [
    ((larger, UNITS_MS[larger]), (smaller, UNITS_MS[smaller]))
    for larger, smaller in (("d", "h"), ("h", "m"), ("m", "s"))
]


def ago(moment_ms: int, now_ms: int) -> str:
    """Return `3m 20s ago`, or `in 5s` if the clocks differ."""
    return f"{span(now_ms - moment_ms)} ago" if moment_ms <= now_ms else f"in {span(moment_ms - now_ms)}"
