"""A limit for the lines of the daemon's log, because clients and a failing disk can cause any number of them.

Lines are of one kind if their text is the same before the arguments are filled in. Of each kind `BURST` lines may come
at once and `PER_SECOND` after that; the next line that passes says how many were dropped. A log call whose line any
client can cause, with the same information each time, passes `extra=RARE` and gets a lower limit. One that has lines of
several kinds passes `extra=rare(kind)`; the kinds come from a table of the program, never from a client.
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


def rare(kind: str) -> Mapping[str, object]:
    """Return the `extra` of a log call whose lines of this kind have a lower limit of their own."""
    return {**RARE, "line_kind": kind}


class LineLimit(logging.Filter):
    """Filter that drops lines over the rate of their kind. `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[str, _Kind] = {}  # one for each log call in the program

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock()
        rate: LineRate = getattr(record, "line_rate", USUAL)
        text = getattr(record, "line_kind", record.msg if record.args else "")
        kind = self._kinds.setdefault(f"{record.name} {text}", _Kind(now, rate))
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
    """The lines of a kind that may still come, and the number of those that were dropped."""

    __slots__ = ("at", "dropped", "left")

    def __init__(self, now: float, rate: LineRate) -> None:
        self.at = now
        self.left = float(rate.burst)
        self.dropped = 0
