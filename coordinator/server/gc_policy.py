"""The garbage collector's place in this process: small passes over what is new, and none over what is old.

A full pass over a million offsets stops the loop for half a second and finds nothing, because objects here are freed
by their reference counts: no cycles by design (a test holds that). So what is old is frozen, taken out of the
collector's sight: at start, after loading, and each second in which a pass of the second generation has been over it.
What is new is looked at often and in little pieces: a pass over `THRESHOLDS[0]` objects takes a millisecond or two, one
of the second generation a few. What is frozen is still freed when its last reference goes; only
a cycle that was alive when it was frozen would stay, which is why a pass comes before (decision 10).

Each pass is timed, for the metrics and for whoever asks what held up the loop.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from coordinator.metrics.histogram import STALL_BOUNDS_S, Histogram
from coordinator.server.loop_health import NOTABLE_S

# New objects before the young are looked at; such passes before the second generation; the third never has any. Most of
# the young are the requests in flight: with 2,000 the collector took a sixth of the time of a commit.
THRESHOLDS: Final = (10_000, 1, 1_000_000)


class GcPolicy:
    """`start`, then `second` each second. `tell(what, seconds)` hears of passes that took long."""

    def __init__(self, tell: Callable[[str, float], None]) -> None:
        self.pauses = Histogram(STALL_BOUNDS_S)
        self._tell = tell
        self._began = 0.0
        self._former: tuple[int, int, int] | None = None

    def start(self) -> None:
        """What the start of the process made stays for ever; there is next to no garbage in it worth a pass."""
        self._former = gc.get_threshold()
        gc.freeze()
        gc.set_threshold(*THRESHOLDS)
        gc.callbacks.append(self._passed)

    def second(self) -> None:
        """Take what has survived a second-generation pass out of sight."""
        if gc.get_count()[2]:
            gc.collect(1)
            gc.freeze()

    def loaded(self) -> None:
        """Much was made at once, none of it garbage: out of sight, without a pass over it."""
        gc.freeze()

    def stop(self) -> None:
        """Leave the process as it was: others may live in it."""
        if self._former is not None:
            gc.callbacks.remove(self._passed)
            gc.set_threshold(*self._former)
            gc.unfreeze()
            self._former = None

    def _passed(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            self._began = perf_counter()
            return
        took = perf_counter() - self._began
        self.pauses.observe(took)
        if took > NOTABLE_S:
            self._tell(f"garbage collection (generation {info['generation']})", took)
