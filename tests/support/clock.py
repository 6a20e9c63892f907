"""Virtual time: a clock that only tests move, and durations as people write them."""

from __future__ import annotations

import re

_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

# 2023-11-14T22:13:20Z at the start; the monotonic clock begins elsewhere, as it does on a real machine.
FIRST_WALL_MS = 1_700_000_000_000
FIRST_NOW_MS = 5_000_000


def milliseconds(duration: str | int) -> int:
    """`"45s"`, `"1.5h"`, `"250ms"`, or a number of milliseconds."""
    if isinstance(duration, int):
        return duration
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", duration)
    assert match, f"{duration!r} is not a duration such as 45s"
    return round(float(match[1]) * _UNITS[match[2]])


class Clock:
    def __init__(self) -> None:
        self.now_ms = FIRST_NOW_MS

    @property
    def wall_ms(self) -> int:
        return self.now_ms + self.wall_offset_ms

    @property
    def wall_offset_ms(self) -> int:
        return FIRST_WALL_MS - FIRST_NOW_MS
