"""Operations that all wait for the same time: their deadlines pass in the order in which they began to wait.

Such operations need no timer each. A `DeadlineList` is a list in this order and one timer on the wheel, armed for the
first of them; adding and removing one takes constant time. An operation that is removed leaves the timer where it was:
it fires early, finds nothing due and is armed for the one that is first by then.
"""

from __future__ import annotations

from typing import Final, Generic, TypeVar, cast

from coordinator.core.purgatory.mypyc import mypyc_attr
from coordinator.core.purgatory.purgatory import DelayedOperation
from coordinator.core.purgatory.timing_wheel import EntryList, TimerEntry, TimingWheel, take_out

C = TypeVar("C")

ENDED_AT_ONCE: Final = 250  # operations in one event; the rest is due at once


@mypyc_attr(allow_interpreted_subclasses=True)
class ListedOperation(TimerEntry, Generic[C]):
    """One waiting operation. It ends with its first `leave`, before its deadline or in `expired`."""

    __slots__ = ("_list",)

    def __init__(self) -> None:
        super().__init__()
        self._list: DeadlineList[C] | None = None

    @property
    def is_waiting(self) -> bool:
        return self._list is not None

    def expired(self, context: C) -> None:
        """Leave, and act on the deadline."""
        self.leave()

    def leave(self) -> bool:
        """End. True for the one call that ended it."""
        listed = self._list
        if listed is None:
            return False
        self._list = None
        listed.waiting -= 1
        take_out(self)
        return True


class DeadlineList(DelayedOperation[C], Generic[C]):
    """Operations that wait for `for_ms` each, and their timer."""

    __slots__ = ("_operations", "_wheel", "for_ms", "waiting")

    def __init__(self, for_ms: int, wheel: TimingWheel[DelayedOperation[C]]) -> None:
        super().__init__(0)
        self.for_ms = for_ms
        self.waiting = 0
        self._operations = EntryList()
        self._wheel = wheel

    def add(self, operation: ListedOperation[C], now_ms: int) -> None:
        """Let an operation wait from now on."""
        operation._list = self
        operation.fires_at_ms = now_ms + self.for_ms
        self._operations.add(operation)
        self.waiting += 1
        if not self.is_armed:
            self._wheel.start(self, operation.fires_at_ms)

    def timer_fired(self, now_ms: int, context: C) -> None:
        """End the operations whose time is over, and arm the timer for the next one."""
        try:
            for _ in range(ENDED_AT_ONCE):
                first = cast("ListedOperation[C] | None", self._operations.first)
                if first is None or first.fires_at_ms > now_ms:
                    break
                first.expired(context)
        finally:
            following = self._operations.first
            if following is not None:
                self._wheel.start(self, following.fires_at_ms)

    def __repr__(self) -> str:
        return f"<DeadlineList {self.waiting} waiting for {self.for_ms} ms>"
