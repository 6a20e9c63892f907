"""Long work in steps: in turns in the foreground, sequential in the background, and cancellable at any time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest

from coordinator.config.config import Config
from coordinator.core.context import Context, Timers
from coordinator.core.group.counters import Counters
from coordinator.core.work import Steps, WorkQueue


def new_context() -> Context:
    """Return a context like that of the core, without timers, which these tests do not use."""
    context = Context(
        Config(), cast(Timers, NoTimers()), Counters(), str, lambda rebalance: None, lambda *_: None, lambda *_: -1, {}
    )
    context.now_ms = 1000
    return context


class NoTimers:
    pass


class World:
    def __init__(self) -> None:
        self.did: list[str] = []
        self.context = new_context()
        self.timers: list[tuple[int, Callable[[Any], None]]] = []
        self.queue = WorkQueue(lambda due_ms, action: self.timers.append((due_ms, action)))
        self.faults: list[Exception] = []

    def steps(self, name: str, count: int, pause_ms: int = 0) -> Steps:
        for number in range(count):
            self.did.append(f"{name}{number}")
            if number + 1 < count:
                yield pause_ms

    def on_fault(self, fault: Exception, context: Any) -> None:
        self.faults.append(fault)

    def start(self, name: str, count: int, pause_ms: int = 0) -> Any:
        return self.queue.start(self.steps(name, count, pause_ms), self.on_fault, self.context)

    def background(self, name: str, count: int, pause_ms: int = 0) -> Any:
        return self.queue.add_background(self.steps(name, count, pause_ms), self.on_fault)

    def run(self) -> None:
        while self.queue.is_due:
            self.queue.step(self.context)

    def pass_time(self, now_ms: int) -> None:
        self.context.now_ms = now_ms
        due = [action for due_ms, action in self.timers if due_ms <= now_ms]
        self.timers = [timer for timer in self.timers if timer[0] > now_ms]
        for action in due:
            action(self.context)


def test_work_of_one_step_is_complete_after_start() -> None:
    world = World()
    world.start("a", 1)
    assert world.did == ["a0"]
    assert not world.queue.is_due


def test_foreground_works_take_turns() -> None:
    world = World()
    world.start("a", 3)
    world.start("b", 2)
    world.run()
    assert world.did == ["a0", "b0", "a1", "b1", "a2"]


def test_background_works_run_one_after_another_in_turns_with_the_foreground() -> None:
    world = World()
    world.background("x", 2)
    world.background("y", 2)
    world.start("a", 3)
    world.run()
    assert world.did == ["a0", "x0", "a1", "x1", "a2", "y0", "y1"]


def test_pause_delays_all_background_works_but_not_the_foreground() -> None:
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


def test_cancelled_work_runs_no_further_step_and_the_next_one_starts() -> None:
    world = World()
    first = world.background("x", 5)
    world.background("y", 1)
    world.queue.step(world.context)
    assert first.cancel()
    assert not first.cancel()
    world.run()
    assert world.did == ["x0", "y0"]


def test_work_may_cancel_itself_in_a_step() -> None:
    world = World()
    works: list[Any] = []

    def steps() -> Steps:
        yield 0
        works[0].cancel()
        world.did.append("last")
        yield 0
        world.did.append("never")

    works.append(world.queue.start(steps(), world.on_fault, world.context))
    world.run()
    assert world.did == ["last"]


@pytest.mark.parametrize("lane", ["start", "background"])
def test_fault_ends_only_its_own_work(lane: str) -> None:
    world = World()

    def steps() -> Steps:
        yield 0
        raise ZeroDivisionError

    if lane == "start":
        world.queue.start(steps(), world.on_fault, world.context)
    else:
        world.queue.add_background(steps(), world.on_fault)
    cast(Any, getattr(world, lane))("b", 2)
    world.run()
    assert [type(fault) for fault in world.faults] == [ZeroDivisionError]
    assert world.did == ["b0", "b1"]
