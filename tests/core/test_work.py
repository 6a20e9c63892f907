"""Long work in steps: by turns in the foreground, one after the other in the background, and cancelled at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from coordinator.config.config import Config
from coordinator.core.context import Context, Timers
from coordinator.core.group.counters import Counters
from coordinator.core.work import Steps, WorkQueue


def an_event() -> Context:
    """As the core has it, but for the timers, of which no work here asks for any."""
    event = Context(
        Config(), cast(Timers, NoTimers()), Counters(), str, lambda rebalance: None, lambda group_id, size: None
    )
    event.now_ms = 1000
    return event


class NoTimers:
    pass


class World:
    def __init__(self) -> None:
        self.did: list[str] = []
        self.event = an_event()
        self.timers: list[tuple[int, Callable[[Any], None]]] = []
        self.queue = WorkQueue(lambda due_ms, action: self.timers.append((due_ms, action)))
        self.faults: list[Exception] = []

    def steps(self, name: str, count: int, pause_ms: int = 0) -> Steps:
        for number in range(count):
            self.did.append(f"{name}{number}")
            if number + 1 < count:
                yield pause_ms

    def on_fault(self, fault: Exception, event: Any) -> None:
        self.faults.append(fault)

    def start(self, name: str, count: int, pause_ms: int = 0) -> Any:
        return self.queue.start(self.steps(name, count, pause_ms), self.on_fault, self.event)

    def background(self, name: str, count: int, pause_ms: int = 0) -> Any:
        return self.queue.add_background(self.steps(name, count, pause_ms), self.on_fault)

    def run(self) -> None:
        while self.queue.is_due:
            self.queue.step(self.event)

    def pass_time(self, now_ms: int) -> None:
        self.event.now_ms = now_ms
        due = [action for due_ms, action in self.timers if due_ms <= now_ms]
        self.timers = [timer for timer in self.timers if timer[0] > now_ms]
        for action in due:
            action(self.event)


def test_a_work_of_one_step_is_over_where_it_began() -> None:
    world = World()
    world.start("a", 1)
    assert world.did == ["a0"]
    assert not world.queue.is_due


def test_works_in_the_foreground_take_turns() -> None:
    world = World()
    world.start("a", 3)
    world.start("b", 2)
    world.run()
    assert world.did == ["a0", "b0", "a1", "b1", "a2"]


def test_works_in_the_background_come_one_after_the_other_and_take_turns_with_the_foreground() -> None:
    world = World()
    world.background("x", 2)
    world.background("y", 2)
    world.start("a", 3)
    world.run()
    assert world.did == ["a0", "x0", "a1", "x1", "a2", "y0", "y1"]


def test_a_pause_keeps_the_whole_background_waiting_and_nobody_else() -> None:
    world = World()
    world.background("x", 2, pause_ms=5)
    world.background("y", 1)
    world.run()
    assert world.did == ["x0"]
    world.start("a", 2)
    world.run()
    assert world.did == ["x0", "a0", "a1"]
    world.pass_time(1004)
    assert not world.queue.is_due
    world.pass_time(1005)
    world.run()
    assert world.did == ["x0", "a0", "a1", "x1", "y0"]


def test_a_cancelled_work_takes_no_further_step_and_the_next_one_begins() -> None:
    world = World()
    first = world.background("x", 5)
    world.background("y", 1)
    world.queue.step(world.event)
    assert first.cancel()
    assert not first.cancel()
    world.run()
    assert world.did == ["x0", "y0"]


def test_a_work_may_be_cancelled_by_what_it_does() -> None:
    world = World()
    works: list[Any] = []

    def steps() -> Steps:
        yield 0
        works[0].cancel()
        world.did.append("last")
        yield 0
        world.did.append("never")

    works.append(world.queue.start(steps(), world.on_fault, world.event))
    world.run()
    assert world.did == ["last"]


@pytest.mark.parametrize("lane", ["start", "background"])
def test_a_fault_ends_its_own_work_and_no_other(lane: str) -> None:
    world = World()

    def steps() -> Steps:
        yield 0
        raise ZeroDivisionError

    if lane == "start":
        world.queue.start(steps(), world.on_fault, world.event)
    else:
        world.queue.add_background(steps(), world.on_fault)
    cast(Any, getattr(world, lane))("b", 2)
    world.run()
    assert [type(fault) for fault in world.faults] == [ZeroDivisionError]
    assert world.did == ["b0", "b1"]
