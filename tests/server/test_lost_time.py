"""The process does not run for a while: deadlines move by the lost time, and arrived requests are read first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from coordinator.core.clock import LATE_S, Clock
from coordinator.core.effects import Effects, Ticket
from coordinator.server.runtime import HOUSEKEEPING_S, READ_FIRST_S, Runtime
from protocol.error_codes import ErrorCode
from tests.support.clock import FIRST_WALL_MS
from tests.support.cluster import Cluster
from tests.support.edge import Edge, Loop
from tests.support.scripted_member import Member


class NodeClock:
    """The clock of a runtime, as the clock of scripted members."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self.wall_offset_ms = FIRST_WALL_MS

    @property
    def now_ms(self) -> int:
        return self._runtime.now_ms()

    @property
    def wall_ms(self) -> int:
        return self.now_ms + self.wall_offset_ms


class World:
    """Scripted members, and a runtime that drives the core by the timers of a loop, as in the daemon."""

    def __init__(self, directory: Path) -> None:
        self.cluster = Cluster()
        edge = Edge({}, core=self.cluster.core, now_ms=self.cluster.clock.now_ms, log_dirs=str(directory))
        self.loop = edge.loop
        self.runtime = edge.runtime
        self.cluster.clock = cast(Any, NodeClock(self.runtime))
        self.runtime.execute = self._execute  # type: ignore[method-assign]  # calls of the cluster take the answers
        self.runtime.start_housekeeping()

    def _execute(self, effects: Effects, ticket: Ticket | None = None) -> None:
        self.runtime._touched = True
        self.cluster.execute(effects)
        self.cluster._after_event()

    def run(self, seconds: float) -> None:
        """Let time pass while the loop is punctual."""
        for _ in range(round(seconds / 0.05)):
            self.loop.advance(0.05)
            self.loop.run_ready()
            self.rearm()

    def rearm(self) -> None:
        """Arm the timer for the deadlines that scripted members have set without the runtime."""
        self.runtime._touched = True
        self.runtime.end_of_event()

    def stand_still(self, seconds: float) -> None:
        """Stop the process for a while; then its timers run before anything is read."""
        self.rearm()
        self.loop.advance(seconds)
        self.loop.run_ready()

    def stable_group(self, **identity: Any) -> list[Member]:
        members = [self.cluster.member("g", **identity) for _ in range(1 if identity else 2)]
        for member in members:
            member.join()
        self.rearm()
        while any(member.last_join.is_parked for member in members):
            self.run(0.5)
        for member in members:
            assert member.sync().error is ErrorCode.NONE
        return members


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    world = World(tmp_path)
    yield world
    world.runtime.stop_timers()


def beats_of_sessions(world: World) -> Callable[[], list[ErrorCode]]:
    members = world.stable_group()
    world.run(4)
    return lambda: [member.heartbeat().error for member in members]


def beat_of_a_static_member(world: World) -> Callable[[], list[ErrorCode]]:
    (member,) = world.stable_group(instance_id="static")
    world.run(9)
    return lambda: [member.heartbeat().error]


def use_of_a_member_id_that_was_handed_out(world: World) -> Callable[[], list[ErrorCode]]:
    world.stable_group()
    newcomer = world.cluster.member("g")
    call = newcomer._join_once()
    assert call.error is ErrorCode.MEMBER_ID_REQUIRED
    newcomer.member_id = call.answer.member_id

    def join() -> list[ErrorCode]:
        joined = newcomer._join_once()
        return [ErrorCode.NONE if joined.is_parked else joined.error]

    return join


def joins_of_a_rebalance(world: World) -> Callable[[], list[ErrorCode]]:
    members = world.stable_group()
    world.cluster.member("g").join()
    assert [member.heartbeat().error for member in members] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2

    def join() -> list[ErrorCode]:
        for member in members:
            member.join()
        return [member.last_join.error for member in members]

    return join


def syncs_of_a_rebalance(world: World) -> Callable[[], list[ErrorCode]]:
    members = world.stable_group()
    for member in members:
        member.join()

    def sync() -> list[ErrorCode]:
        for member in members:
            member.sync()
        return [member.last_sync.error for member in members]

    return sync


CASES = [
    beats_of_sessions,
    beat_of_a_static_member,
    use_of_a_member_id_that_was_handed_out,
    joins_of_a_rebalance,
    syncs_of_a_rebalance,
]


@pytest.mark.parametrize("prepare", CASES, ids=lambda case: case.__name__)
def test_requests_sent_while_the_process_did_not_run_are_in_time(
    world: World, prepare: Callable[[World], Callable[[], list[ErrorCode]]]
) -> None:
    arrive = prepare(world)
    world.stand_still(600)
    errors = arrive()
    world.run(1)
    assert set(errors) == {ErrorCode.NONE}


@pytest.mark.parametrize("prepare", CASES[:2], ids=lambda case: case.__name__)
def test_arrived_requests_are_read_before_timers_run_although_little_time_was_lost(
    world: World, prepare: Callable[[World], Callable[[], list[ErrorCode]]]
) -> None:
    """A stall of two seconds gives back less than one, and these sessions have less than that left."""
    arrive = prepare(world)
    for member in list(world.cluster.group().members.values()):
        member.session_deadline_ms = world.runtime.now_ms() + 900
    world.stand_still(2)
    assert set(arrive()) == {ErrorCode.NONE}
    world.run(1)
    assert set(arrive()) == {ErrorCode.NONE}


def test_silent_member_is_removed_when_its_remaining_time_is_over(world: World) -> None:
    world.stable_group()
    world.run(4)
    world.stand_still(600)
    world.run(4)
    assert world.cluster.state() == "Stable"
    world.run(3)
    assert world.cluster.state() != "Stable", "their sessions of 10 s had 6 s left"


def test_lost_time_is_one_log_line(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.run(2)
    assert not caplog.records
    world.stand_still(30)
    world.run(2)
    (line,) = [record.getMessage() for record in caplog.records if "did not run" in record.getMessage()]
    lost_ms = int(line.partition("for_ms=")[2].partition(";")[0])
    assert 30_000 - (HOUSEKEEPING_S + LATE_S) * 1000 <= lost_ms <= 30_000


class TestClock:
    """The clock of a loop whose housekeeping is due each second."""

    @pytest.fixture
    def loop(self) -> Loop:
        loop = Loop()
        loop.now = 100.0
        return loop

    @pytest.fixture
    def clock(self, loop: Loop) -> Clock:
        clock = Clock(loop)
        assert clock.housekept(loop.now + 1) == 0
        return clock

    def test_it_is_the_loops_as_long_as_the_housekeeping_is_punctual(self, loop: Loop, clock: Clock) -> None:
        for _ in range(10):
            loop.now += 1 + LATE_S / 2
            assert clock.now_ms() == int(loop.now * 1000)
            assert clock.housekept(loop.now + 1) == 0

    def test_it_stops_where_the_housekeeping_is_late_and_goes_on_from_there(self, loop: Loop, clock: Clock) -> None:
        stopped_at_ms = int((loop.now + 1 + LATE_S) * 1000)
        loop.now += 5
        assert clock.now_ms() == stopped_at_ms
        loop.now += 5
        assert clock.now_ms() == stopped_at_ms
        assert clock.housekept(loop.now + 1) == 10_000 - 1250
        assert clock.now_ms() == stopped_at_ms
        loop.now += 0.5
        assert clock.now_ms() == stopped_at_ms + 500
        assert clock.loop_time(stopped_at_ms + 600) == pytest.approx(loop.now + 0.1)

    def test_it_never_goes_back(self, loop: Loop, clock: Clock) -> None:
        seen = [clock.now_ms()]
        for late_s in (0.0, 0.2, 0.3, 3.0, 0.1, 60.0, 0.0):
            for _ in range(4):
                loop.now += (1 + late_s) / 4
                seen.append(clock.now_ms())
            clock.housekept(loop.now + 1)
            seen.append(clock.now_ms())
        assert seen == sorted(seen)

    def test_it_runs_on_where_there_is_no_housekeeping(self, loop: Loop, clock: Clock) -> None:
        clock.run_on()
        loop.now += 60
        assert clock.now_ms() == int(loop.now * 1000)


def test_late_timers_wait_for_read_first_only(world: World) -> None:
    (member,) = world.stable_group(instance_id="silent")
    world.run(9.5)
    world.stand_still(1.9)
    assert world.cluster.state() == "Stable"
    world.run(READ_FIRST_S + HOUSEKEEPING_S)
    assert world.cluster.state() != "Stable", member
