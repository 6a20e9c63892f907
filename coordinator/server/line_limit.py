"""A limit for the lines of the daemon's log, because clients and a failing disk can cause any number of them.

Lines are of one kind if their text is the same before the arguments are filled in. Of each kind `BURST` lines may come
at once and `PER_SECOND` after that; the next line that passes says how many were dropped. A log call whose line any
client can cause, with the same information each time, passes `extra=RARE` and gets a lower limit.

A client with wrong settings tries again many times a second. Its line passes `extra=rare(kind, source)`: the same
source is named once a minute, so that it does not hide the others, and the kind has the lower limit for all sources.
Kinds come from a table of the program. Sources come from clients: the newest log.lines.max.sources are remembered.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple


class LineRate(NamedTuple):
    """The number of lines at once, and in each second after that."""

    burst: int
    per_second: float


BURST: Final = 1000
PER_SECOND: Final = 2
USUAL: Final = LineRate(BURST, PER_SECOND)
RARE: Final[Mapping[str, LineRate]] = {"line_rate": LineRate(5, 1 / 60)}  # for the `extra` of a log call
OF_ONE_SOURCE: Final = LineRate(1, 1 / 60)
LONGEST_SOURCE: Final = 100


def rare(kind: str, source: str) -> Mapping[str, object]:
    """Return the `extra` of a log call for lines of this kind, which `source` causes."""
    return {**RARE, "line_kind": kind, "line_source": source[:LONGEST_SOURCE]}


class LineLimit(logging.Filter):
    """Filter that drops lines over the rate of their kind or source. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, most_sources: int = 256) -> None:
        super().__init__()
        self._clock = clock
        self._most_sources = most_sources
        self._kinds: dict[str, _Lines] = {}  # one for each log call in the program
        self._sources: dict[tuple[str, str], _Lines] = {}  # by kind and source; the oldest are forgotten

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        kind = f"{record.name} {getattr(record, 'line_kind', record.msg if record.args else '')}"
        limits = [self._kinds.setdefault(kind, _Lines(now, getattr(record, "line_rate", USUAL)))]
        source = getattr(record, "line_source", None)
        if source is not None:
            limits.insert(0, self._sources.setdefault((kind, source), _Lines(now, OF_ONE_SOURCE)))
            if len(self._sources) > self._most_sources:
                del self._sources[next(iter(self._sources))]
        if not all(lines.may_pass(now) for lines in limits):
            return False
        dropped = sum(lines.passed() for lines in limits)
        if dropped:
            record.msg = f"{record.msg} (and {dropped} lines of this kind that were left out before)"
        return True


class _Lines:
    """The lines of one kind or source that may still come, and the number of those that were dropped."""

    __slots__ = ("_at", "_dropped", "_left", "_rate")

    def __init__(self, now: float, rate: LineRate) -> None:
        self._at = now
        self._rate = rate
        self._left = float(rate.burst)
        self._dropped = 0

    def may_pass(self, now: float) -> bool:
        """Return True if a line may come now; count it as dropped otherwise."""
        self._left = min(self._left + (now - self._at) * self._rate.per_second, float(self._rate.burst))
        self._at = now
        if self._left < 1:
            self._dropped += 1
            return False
        return True

    def passed(self) -> int:
        """Count a line that came; return how many were dropped before it."""
        self._left -= 1
        dropped, self._dropped = self._dropped, 0
        return dropped
