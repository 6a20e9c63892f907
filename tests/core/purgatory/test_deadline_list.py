"""Operations that wait equally long end in order, with one timer for all of them."""

from __future__ import annotations

from coordinator.core.purgatory.deadline_list import ENDED_AT_ONCE, DeadlineList, ListedOperation
from coordinator.core.purgatory.purgatory import DelayedOperation, run_due
from coordinator.core.purgatory.timing_wheel import TimingWheel

Trace = list[int]


class Numbered(ListedOperation[Trace]):
    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number

    def expired(self, context: Trace) -> None:
        if self.leave():
            context.append(self.number)


class World:
    """A wheel with one list of operations that wait for 100 ms."""

    def __init__(self) -> None:
        self.wheel: TimingWheel[DelayedOperation[Trace]] = TimingWheel()
        self.list: DeadlineList[Trace] = DeadlineList(100, self.wheel)
        self.ended: Trace = []

    def add(self, number: int, now_ms: int) -> Numbered:
        operation = Numbered(number)
        self.list.add(operation, now_ms)
        return operation

    def run(self, now_ms: int) -> Trace:
        """Return the numbers that end at this time, in one event."""
        self.ended.clear()
        run_due(self.wheel, now_ms, self.ended, 10)
        return self.ended[:]


def test_each_ends_at_its_time_and_not_before() -> None:
    world = World()
    for number in range(3):
        world.add(number, number * 10)
    assert [world.run(now_ms) for now_ms in (99, 100, 109, 110, 500)] == [[], [0], [], [1], [2]]
    assert world.list.waiting == 0 and world.wheel.next_deadline_ms() is None


def test_there_is_one_timer_for_all() -> None:
    world = World()
    for number in range(1000):
        world.add(number, number // 10)
    assert len(world.wheel) == 1


def test_one_that_left_does_not_end_and_can_leave_once() -> None:
    world = World()
    first, second = world.add(1, 0), world.add(2, 50)
    assert first.leave() and not first.leave() and not first.is_waiting
    assert second.is_waiting and world.list.waiting == 1
    assert (world.run(100), world.run(149), world.run(150)) == ([], [], [2])


def test_a_timer_that_finds_nothing_due_is_armed_for_the_first_one() -> None:
    world = World()
    world.add(1, 0).leave()
    world.add(2, 60)
    world.run(100)
    world.add(3, 130)
    assert (world.run(160), world.run(230)) == ([2], [3])


def test_many_at_once_take_several_events() -> None:
    world = World()
    for number in range(ENDED_AT_ONCE + 1):
        world.add(number, 0)
    assert len(world.run(100)) == ENDED_AT_ONCE
    assert world.wheel.next_deadline_ms() == 100, "the rest is due at once"
    assert world.run(100) == [ENDED_AT_ONCE]
