"""Histogram of measured values, with the buckets and the sum of a Prometheus histogram.

An observation is a binary search and two additions, cheap enough for the path of a request. Where even that costs too
much, the caller observes every nth value with weight n, so that counts and sums estimate those of all values. One
thread writes and any may read: a reader may see a count that is one observation ahead of the sum.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Final

# Seconds, from a heartbeat (20 us) to a JoinGroup that waits for other members (minutes).
LATENCY_BOUNDS_S: Final = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0)
STALL_BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
REBALANCE_BOUNDS_S: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0)


class Histogram:
    """Counts of values by upper bound, and their sum. `longest` is the greatest value observed."""

    __slots__ = ("_bounds", "_counts", "longest", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.sum = 0.0
        self.longest = 0.0
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float, weight: int = 1) -> None:
        """Count a value `weight` times."""
        self._counts[bisect_left(self._bounds, value)] += weight
        self.sum += value * weight
        if value > self.longest:
            self.longest = value

    @property
    def count(self) -> int:
        return sum(self._counts)

    def buckets(self) -> list[tuple[float, int]]:
        """Return (bound, number of values up to it), ascending; the last bound is infinity."""
        return list(zip((*self._bounds, float("inf")), accumulate(self._counts), strict=True))

    def __repr__(self) -> str:
        return f"<Histogram of {self.count}, sum {self.sum:g}, longest {self.longest:g}>"
