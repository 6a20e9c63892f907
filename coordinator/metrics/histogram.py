"""How measured values are distributed, counted into buckets: what a Prometheus histogram shows.

An observation is a look into a sorted tuple and two additions, so that it can stand where requests are answered. Where
even that is too much, only every nth is observed, with weight n: counts and sums then stay those of all, as estimates.
Written by one thread, read by any: a reader may see a count that is one observation ahead of the sum.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import Final

# Seconds. From a heartbeat (20 us) to a rebalance that waits for somebody (minutes).
LATENCY_BOUNDS_S: Final = (0.0001, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0, 30.0)
STALL_BOUNDS_S: Final = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
REBALANCE_BOUNDS_S: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 5.0, 10.0, 30.0, 60.0, 300.0)


class Histogram:
    """Counts of values by upper bound, and their sum. `longest` is the greatest value ever observed."""

    __slots__ = ("_bounds", "_counts", "longest", "sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.sum = 0.0
        self.longest = 0.0
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)

    def observe(self, value: float, weight: int = 1) -> None:
        """One value; with a weight it stands for that many."""
        self._counts[bisect_left(self._bounds, value)] += weight
        self.sum += value * weight
        if value > self.longest:
            self.longest = value

    @property
    def count(self) -> int:
        return sum(self._counts)

    def buckets(self) -> list[tuple[float, int]]:
        """(bound, how many were at most that), ascending; the last bound is infinity."""
        return list(zip((*self._bounds, float("inf")), accumulate(self._counts), strict=True))

    def __repr__(self) -> str:
        return f"<Distribution of {self.count}, sum {self.sum:g}, longest {self.longest:g}>"
