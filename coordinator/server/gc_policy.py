"""The policy for Python's garbage collector: small passes over new objects, and none over old ones.

A full pass over a million offsets stops the loop for half a second and finds nothing, because objects here are freed by
their reference counts: there are no cycles by design, which a test checks. So old objects are frozen, out of the
collector's sight: at start, after loading, and each second in which there was a pass of the second generation. New
objects are examined often and in small numbers: a pass over `THRESHOLDS[0]` objects takes a millisecond or two, one of
the second generation a few. Frozen objects are still freed when their last reference goes. Only a cycle that was alive
when it was frozen would stay, which is why a pass comes before (docs/decisions/0010-what-keeps-the-loop.md).

Each pass is timed, for the metrics and as a possible cause of a stall.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final

from coordinator.metrics.histogram import STALL_BOUNDS_S, Histogram
from coordinator.server.loop_health import NOTABLE_S

# New objects before a pass over the young ones; such passes before one over the second generation; the third is empty.
# Most young objects are requests in flight: with 2,000 the collector took a sixth of the time of a commit.
THRESHOLDS: Final = (10_000, 1, 1_000_000)


class GcPolicy:
    """Applies the policy: `start` once, then `second` each second. `tell(what, seconds)` reports long passes.

    `collector`: the module gc, or what a simulation has in its place.
    """

    def __init__(self, tell: Callable[[str, float], None], collector: Any = gc) -> None:
        self.pauses = Histogram(STALL_BOUNDS_S)
        self._tell = tell
        self._gc = collector
        self._began = 0.0
        self._loads = 0
        self._former: tuple[int, int, int] | None = None

    def start(self) -> None:
        """Freeze the objects of the start, which stay for ever, without a pass: there is hardly any garbage."""
        self._former = self._gc.get_threshold()
        self._gc.freeze()
        self._gc.set_threshold(*THRESHOLDS)
        self._gc.callbacks.append(self._passed)

    def second(self) -> None:
        """Freeze the objects that survived a pass of the second generation."""
        if not self._loads and self._gc.get_count()[2]:
            self._gc.collect(1)
            self._gc.freeze()

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Make no pass while objects are loaded, and then freeze them: repeated passes take longer than loading."""
        self._loads += 1
        self._gc.disable()
        try:
            yield
        finally:
            self._loads -= 1
            self._gc.freeze()
            if not self._loads:
                self._gc.enable()

    def loaded(self) -> None:
        """Freeze the objects that loading has made, without a pass: none of them is garbage."""
        self._gc.freeze()

    def stop(self) -> None:
        """Restore the settings of the process, in which other code may run."""
        if self._former is not None:
            self._gc.callbacks.remove(self._passed)
            self._gc.set_threshold(*self._former)
            self._gc.unfreeze()
            self._former = None

    def _passed(self, phase: str, info: dict[str, Any]) -> None:
        if phase == "start":
            self._began = perf_counter()
            return
        took = perf_counter() - self._began
        self.pauses.observe(took)
        if took > NOTABLE_S:
            self._tell(f"garbage collection (generation {info['generation']})", took)
