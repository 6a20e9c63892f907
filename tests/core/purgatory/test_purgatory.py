"""Operations complete exactly once, by an event or at the deadline, and are not referenced afterwards."""

from __future__ import annotations

import gc
import weakref

import pytest

from coordinator.core.purgatory.purgatory import DelayedOperation, Purgatory, run_due
from coordinator.core.purgatory.timing_wheel import TimingWheel

Trace = list[str]


class Waiting(DelayedOperation[Trace]):
    """Operation that completes once `satisfied` is set. Its deadline may be moved."""

    def __init__(self, name: str, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.deadline_ms = deadline_ms
        self.name = name
        self.satisfied = False

    def deadline_now_ms(self) -> int:
        return self.deadline_ms

    def try_complete(self, context: Trace) -> bool:
        return self.satisfied and self.force_complete(context)

    def on_complete(self, context: Trace) -> None:
        context.append(f"{self.name} completed")

    def on_expiration(self, context: Trace) -> None:
        context.append(f"{self.name} expired")


@pytest.fixture
def purgatory() -> Purgatory[Trace]:
    return Purgatory("test", TimingWheel())


def test_operation_that_is_satisfied_at_once_is_never_watched(purgatory: Purgatory[Trace]) -> None:
    trace: Trace = []
    operation = Waiting("a", 10)
    operation.satisfied = True
    assert purgatory.try_complete_else_watch(operation, ["key"], trace)
    assert trace == ["a completed"]
    assert (purgatory.waiting, purgatory.watched_keys, len(purgatory.wheel)) == (0, 0, 0)


def test_operation_completes_once_whichever_of_its_keys_changes(
    purgatory: Purgatory[Trace],
) -> None:
    trace: Trace = []
    operation = Waiting("a", 10)
    assert not purgatory.try_complete_else_watch(operation, ["left", "right", "left"], trace)
    assert purgatory.check_and_complete("left", trace) == 0
    operation.satisfied = True
    assert purgatory.check_and_complete("right", trace) == 1
    assert purgatory.check_and_complete("left", trace) == 0
    assert not operation.force_complete(trace)
    assert run_due(purgatory.wheel, 1_000, trace, 100) == 0
    assert trace == ["a completed"]
    assert (purgatory.waiting, purgatory.watched_keys, len(purgatory.wheel)) == (0, 0, 0)


def test_operation_completes_and_then_expires_at_its_deadline(purgatory: Purgatory[Trace]) -> None:
    trace: Trace = []
    operation = Waiting("a", 10)
    purgatory.try_complete_else_watch(operation, ["key"], trace)
    run_due(purgatory.wheel, 9, trace, 100)
    assert trace == []
    run_due(purgatory.wheel, 10, trace, 100)
    assert trace == ["a completed", "a expired"]
    assert not purgatory.is_watched("key")


def test_cancelled_operation_runs_no_action_and_is_removed(purgatory: Purgatory[Trace]) -> None:
    trace: Trace = []
    operations = [Waiting(name, 10) for name in "abc"]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, ["key"], trace)
    assert [operation.cancel() for operation in operations] == [True] * 3
    assert not operations[0].cancel()
    run_due(purgatory.wheel, 100, trace, 100)
    assert trace == []
    assert (purgatory.waiting, purgatory.watched_keys, len(purgatory.wheel)) == (0, 0, 0)


def test_operation_may_complete_another_one_of_the_same_key(
    purgatory: Purgatory[Trace],
) -> None:
    trace: Trace = []
    second = Waiting("second", 10)

    class First(Waiting):
        def on_complete(self, context: Trace) -> None:
            super().on_complete(context)
            second.force_complete(context)

    first = First("first", 10)
    for operation in (first, second):
        purgatory.try_complete_else_watch(operation, ["key"], trace)
        operation.satisfied = True
    assert purgatory.check_and_complete("key", trace) == 1
    assert trace == ["first completed", "second completed"]


def test_deadline_that_moved_later_arms_the_timer_again_when_it_fires(purgatory: Purgatory[Trace]) -> None:
    trace: Trace = []
    operation = Waiting("a", 10)
    purgatory.watch(operation)
    operation.deadline_ms = 25
    assert operation.fires_at_ms == 10  # the wheel was not touched
    run_due(purgatory.wheel, 10, trace, 100)
    assert trace == []
    run_due(purgatory.wheel, 25, trace, 100)
    assert trace == ["a completed", "a expired"]


def test_deadline_that_moved_earlier_moves_the_timer(purgatory: Purgatory[Trace]) -> None:
    trace: Trace = []
    operation = Waiting("a", 300_000)
    purgatory.watch(operation)
    operation.deadline_ms = 10_000
    purgatory.deadline_moved(operation)
    run_due(purgatory.wheel, 9_999, trace, 100)
    assert trace == []
    run_due(purgatory.wheel, 10_000, trace, 100)
    assert trace == ["a completed", "a expired"]
    run_due(purgatory.wheel, 300_000, trace, 100)
    assert len(trace) == 2


def test_one_call_runs_a_bounded_number_of_due_operations(purgatory: Purgatory[Trace]) -> None:
    trace: Trace = []
    for number in range(25):
        purgatory.watch(Waiting(str(number), 10))
    assert [run_due(purgatory.wheel, 10, trace, 10) for _ in range(4)] == [10, 10, 5, 0]
    assert [line for line in trace if "expired" in line] == [f"{number} expired" for number in range(25)]


@pytest.mark.plain("a weak reference to an instance of a class that derives from a compiled one; we make neither")
def test_completed_operation_is_not_referenced(purgatory: Purgatory[Trace]) -> None:
    trace: Trace = []
    operation = Waiting("a", 10)
    purgatory.try_complete_else_watch(operation, [("group", "g"), ("topic", "t")], trace)
    gone = weakref.ref(operation)
    operation.force_complete(trace)
    gc.disable()  # reference counts alone must free it
    try:
        del operation
        assert gone() is None
    finally:
        gc.enable()
