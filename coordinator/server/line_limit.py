"""A bound for the lines of the daemon's log, because clients and a failing disk can cause them without end.

Lines are of one kind if the text before its arguments are filled in is the same. Of each kind `BURST` lines may come at
once and `PER_SECOND` after that; the next one that passes says how many were left out. A log call whose line any client
can cause, and that says the same each time, passes `extra=RARE` and gets the lower bound.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple


class LineRate(NamedTuple):
    """So many lines at once, and so many in each second after that."""

    burst: int
    per_second: float


BURST: Final = 1000
PER_SECOND: Final = 2
USUAL: Final = LineRate(BURST, PER_SECOND)
RARE: Final[Mapping[str, LineRate]] = {"line_rate": LineRate(5, 1 / 60)}  # for the `extra` of a log call


class LineLimit(logging.Filter):
    """At most so many lines of a kind. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[str, _Kind] = {}  # as many as there are log calls in the program

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        rate: LineRate = getattr(record, "line_rate", USUAL)
        kind = self._kinds.setdefault(f"{record.name} {record.msg}" if record.args else record.name, _Kind(now, rate))
        kind.left = min(kind.left + (now - kind.at) * rate.per_second, float(rate.burst))
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

    def __init__(self, now: float, rate: LineRate) -> None:
        self.at = now
        self.left = float(rate.burst)
        self.dropped = 0
