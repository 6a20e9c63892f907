"""The lateness of the loop, measured by a tick under traffic and by named work, in virtual time."""

from __future__ import annotations

import logging

import pytest

from coordinator.server.loop_health import BUSY_EVENTS, RECENT_S, TICK_S, WARN_EVERY_S, LoopHealth
from tests.support.edge import Loop


class Daemon:
    """A loop with housekeeping once a second, as in the runtime, that can be blocked."""

    def __init__(self, *, busy: bool = True) -> None:
        self.loop = Loop()
        self.busy = busy
        self.events = 0
        self.looks = 0
        self.cpu_s = 0.0
        self.health = LoopHealth(self.loop, 100, self._count, lambda: self.cpu_s)
        self._schedule()
        self.run(1.5)

    def _count(self) -> int:
        self.looks += 1
        return self.events

    def _schedule(self) -> float:
        due = self.loop.now + 1
        self.loop.call_at(due, self._second, due)
        return due

    def _second(self, due: float) -> None:
        if self.busy:
            self.events += BUSY_EVENTS
        self.health.second(due, self._schedule())

    def run(self, seconds: float) -> None:
        """Let time pass while the loop is punctual."""
        for _ in range(round(seconds / 0.001)):
            self.loop.advance(0.001)
            self.loop.run_ready()

    def block(self, seconds: float) -> None:
        """Block the loop: time passes, and callbacks that were due run only after that."""
        self.loop.advance(seconds)
        self.loop.run_ready()


def test_a_punctual_loop_has_no_stall() -> None:
    daemon = Daemon()
    daemon.run(5)
    assert daemon.health.longest_s < 0.002
    assert daemon.health.stalls.count > 300, "the tick ran"


def test_a_blocked_loop_is_measured_by_how_late_the_tick_comes() -> None:
    daemon = Daemon()
    daemon.block(0.25)
    assert 0.25 - TICK_S - 0.002 <= daemon.health.longest_s <= 0.25
    assert daemon.health.recent_s == daemon.health.longest_s


def test_stall_that_is_going_on_is_included_in_the_figures() -> None:
    daemon = Daemon()
    daemon.loop.now += 3.0  # blocked, and not over: nothing has run
    assert daemon.health.recent_s > 2.9
    assert daemon.health.longest_s > 2.9


def test_the_longest_of_the_last_minute_is_forgotten_after_a_minute_and_the_longest_of_all_is_not() -> None:
    daemon = Daemon()
    daemon.block(0.25)
    daemon.run(RECENT_S - 2)
    assert daemon.health.recent_s > 0.2
    daemon.run(3)
    assert daemon.health.recent_s < 0.01
    assert daemon.health.longest_s > 0.2


def test_an_idle_machine_is_not_woken_by_the_tick() -> None:
    daemon = Daemon(busy=False)
    looked = daemon.health.stalls.count
    daemon.run(10)
    assert daemon.health.stalls.count == looked + 10, "once a second, with the housekeeping"


def test_the_tick_sleeps_again_when_the_traffic_is_over() -> None:
    daemon = Daemon()
    daemon.busy = False
    daemon.run(1)
    looked = daemon.health.stalls.count
    daemon.run(10)
    assert daemon.health.stalls.count == looked + 10


def test_what_the_server_timed_itself_counts_although_no_tick_saw_it() -> None:
    daemon = Daemon(busy=False)
    daemon.health.record("LIST_GROUPS", 0.07)
    daemon.run(1)
    assert daemon.health.longest_s == 0.07
    assert daemon.health.recent_s == 0.07


def test_one_stall_seen_by_both_measures_counts_once() -> None:
    daemon = Daemon()
    before = dict(daemon.health.stalls.buckets())
    daemon.health.record("timers", 0.25)
    daemon.block(0.25)
    after = dict(daemon.health.stalls.buckets())
    assert (after[float("inf")] - after[0.2]) - (before[float("inf")] - before[0.2]) == 1


def test_a_long_stall_is_one_line_that_names_what_ran(caplog: pytest.LogCaptureFixture) -> None:
    daemon = Daemon()
    daemon.health.record("FETCH", 0.003)
    daemon.health.record("LIST_GROUPS", 0.24)
    daemon.health.record("timers", 0.004)
    daemon.block(0.25)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "for_ms=24" in record.getMessage()
    assert "doing=LIST_GROUPS for 240 ms" in record.getMessage()


def test_stall_in_which_the_server_worked_is_logged_although_its_cause_is_unknown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    daemon = Daemon()
    daemon.cpu_s += 0.2
    daemon.block(0.25)
    assert "cpu_ms=200 doing=unknown" in caplog.text


def test_stall_without_work_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    daemon = Daemon()
    daemon.health.record("HEARTBEAT", 0.003)
    daemon.cpu_s += 0.01
    daemon.block(0.25)
    assert not [record for record in caplog.records if record.levelno >= logging.INFO]
    assert daemon.health.longest_s > 0.2, "the figures have it"


def test_a_stall_below_the_bound_is_no_line(caplog: pytest.LogCaptureFixture) -> None:
    daemon = Daemon()
    daemon.block(0.09)
    assert not caplog.records


def test_many_stalls_are_few_lines_and_the_longest_dropped_one_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    daemon = Daemon()
    for seconds in (0.15, 0.25, 4.0, 0.25):
        daemon.cpu_s += seconds
        daemon.block(seconds)
        daemon.run(0.1)
    assert len(caplog.records) == 1
    assert "for_ms=14" in caplog.text
    daemon.run(WARN_EVERY_S)
    assert len(caplog.records) == 2, "without another stall"
    line = caplog.records[1].getMessage()
    assert "for_ms=39" in line and " s ago" in line
    assert "the longest of 3 since the last such line" in line
    daemon.run(2 * WARN_EVERY_S)
    assert len(caplog.records) == 2
