"""The clock goes forward by `skip`, and its deadlines with it."""

from __future__ import annotations

import pytest

from coordinator.core.clock import LATE_S, Clock


class Loop:
    """The time of an event loop, moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def time(self) -> float:
        return self.now


def test_skipped_time_is_over_at_once_and_never_comes_back() -> None:
    loop = Loop()
    clock = Clock(loop)
    before_ms = clock.now_ms()
    clock.skip(5_000)
    assert clock.now_ms() == before_ms + 5_000
    loop.now += 1
    assert clock.now_ms() == before_ms + 6_000
    clock.skip(1)
    assert (clock.now_ms(), clock.skipped_ms) == (before_ms + 6_001, 5_001)


def test_a_deadline_is_as_far_from_now_as_before() -> None:
    loop = Loop()
    clock = Clock(loop)
    clock.skip(7_000)
    assert clock.loop_time(clock.now_ms() + 500) == pytest.approx(loop.now + 0.5)


def test_the_clock_still_stops_when_the_housekeeping_is_late() -> None:
    loop = Loop()
    clock = Clock(loop)
    clock.housekept(loop.now + 1)
    clock.skip(3_000)
    before_ms = clock.now_ms()
    loop.now += 60
    assert clock.now_ms() == before_ms + 1_000 + int(LATE_S * 1000)
    assert clock.housekept(loop.now + 1) == 59_000 - int(LATE_S * 1000)


def test_a_halted_clock_stands_still_and_goes_on_from_there() -> None:
    loop = Loop()
    clock = Clock(loop)
    clock.housekept(loop.now + 1)
    loop.now += 0.5
    clock.halt()
    before_ms = clock.now_ms()
    for _ in range(5):
        loop.now += 1
        assert clock.housekept(loop.now + 1) == 0  # the time is not lost by accident: nothing is to be reported
        assert clock.now_ms() == before_ms
    clock.go_on()
    assert clock.now_ms() == before_ms
    loop.now += 0.25
    assert clock.now_ms() == before_ms + 250
    assert clock.housekept(loop.now + 1) == 0


def test_a_clock_that_was_halted_still_stops_when_the_housekeeping_is_late() -> None:
    loop = Loop()
    clock = Clock(loop)
    clock.housekept(loop.now + 1)
    clock.halt()
    loop.now += 100
    clock.go_on()
    before_ms = clock.now_ms()
    loop.now += 60
    assert clock.now_ms() == before_ms + 1_000 + int(LATE_S * 1000)
