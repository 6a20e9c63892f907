"""The probe measures the delay of the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.compaction.daemon.stall_probe import STEP_S, StallProbe


class ProbedLoop:
    """Timers that run when the test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.callbacks: list[Callable[..., object]] = []

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Any:
        assert delay == STEP_S
        self.callbacks.append(callback)

        class Handle:
            def cancel(handle) -> None:  # noqa: N805 - `self` is the loop
                self.callbacks.remove(callback)

        return Handle()

    def run_after(self, seconds: float) -> None:
        self.now_s += seconds
        self.callbacks.pop()()


def test_probe_returns_the_longest_delay_of_the_loop() -> None:
    loop = ProbedLoop()
    probe = StallProbe(loop, lambda: loop.now_s).start()
    for seconds in (STEP_S, STEP_S + 0.030, STEP_S + 0.004):
        loop.run_after(seconds)
    assert probe.stop() == pytest.approx(0.030)
    assert loop.callbacks == []
    assert StallProbe(loop, lambda: loop.now_s).stop() == 0.0, "never started"


def test_a_stall_that_lasts_until_the_end_counts() -> None:
    loop = ProbedLoop()
    probe = StallProbe(loop, lambda: loop.now_s).start()
    loop.now_s += STEP_S + 0.050
    assert probe.stop() == pytest.approx(0.050)
    probe.start()
    assert probe.stop() < 0.001, "each start begins anew"
