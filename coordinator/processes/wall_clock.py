"""The wall clock in milliseconds since the epoch, as timestamps of records, plans and metrics have it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

ATTEMPTS: Final = 5


def wall_ms() -> int:
    """Return the wall clock's time."""
    return time.time_ns() // 1_000_000


def wall_offset_ms(now_ms: Callable[[], int], wall_ms: Callable[[], int] = wall_ms) -> int:
    """Return how far the wall clock is ahead of the monotonic clock `now_ms`, right to about 2 ms."""
    for _ in range(ATTEMPTS):  # a busy machine may suspend the process between two reads of the clocks
        before_ms, now_wall_ms = now_ms(), wall_ms()
        if now_ms() == before_ms:
            break
    return now_wall_ms - before_ms
