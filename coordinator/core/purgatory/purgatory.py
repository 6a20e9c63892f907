"""The purgatory: operations that wait until an event satisfies them or their deadline passes.

A `DelayedOperation` completes exactly once: `try_complete` checks its condition, `force_complete` runs its action and
returns whether this call completed it, and `on_expiration` follows if the deadline completed it. A `Purgatory` watches
operations by key (a group, a partition); code that changes the state behind a key calls `check_and_complete(key)`.
Deadlines wait on a timing wheel, which several purgatories may share. `context` is passed through to the actions.

A completed operation leaves its watch lists and the wheel at once; Kafka, where many threads walk the lists, purges
them later. A deadline may move later without touching the wheel: when the timer fires, `deadline_now_ms` is read again
and the operation is armed again. Source: Kafka's `DelayedOperationPurgatory`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import islice
from typing import Generic, TypeVar

from coordinator.core.purgatory.mypyc import mypyc_attr
from coordinator.core.purgatory.timing_wheel import TimerEntry, TimingWheel

C = TypeVar("C")


@mypyc_attr(allow_interpreted_subclasses=True)
class DelayedOperation(TimerEntry, Generic[C]):
    """One waiting operation. Subclasses define its condition, its action and its action on expiration."""

    __slots__ = ("_keys", "_purgatory", "is_completed")

    def __init__(self, deadline_ms: int) -> None:
        super().__init__()
        self.fires_at_ms = deadline_ms
        self.is_completed = False
        self._purgatory: Purgatory[C] | None = None
        self._keys: tuple[Hashable, ...] = ()

    def try_complete(self, context: C) -> bool:
        """Complete if the condition holds: `return holds and self.force_complete(context)`."""
        return False

    def on_complete(self, context: C) -> None:
        """Run the action. Called exactly once, by a key or by the deadline."""

    def on_expiration(self, context: C) -> None:
        """Run after `on_complete` if the deadline completed the operation."""

    def deadline_now_ms(self) -> int:
        """Return the current deadline. Subclasses that keep it elsewhere may have moved it."""
        return self.fires_at_ms

    def force_complete(self, context: C) -> bool:
        """Complete regardless of the condition. True for the one call that completed it."""
        if self.is_completed:
            return False
        self.is_completed = True
        self._leave()
        self.on_complete(context)
        return True

    def cancel(self) -> bool:
        """Complete without any action. True if this call completed it."""
        if self.is_completed:
            return False
        self.is_completed = True
        self._leave()
        return True

    def timer_fired(self, now_ms: int, context: C) -> None:
        """Expire, or go back on the wheel if the deadline has moved. Called when the wheel reaches the armed time."""
        purgatory = self._purgatory
        deadline_ms = self.deadline_now_ms()
        if deadline_ms > now_ms and purgatory is not None:
            purgatory.wheel.start(self, deadline_ms)
        elif self.force_complete(context):
            self.on_expiration(context)

    def _leave(self) -> None:
        purgatory = self._purgatory
        if purgatory is not None:
            self._purgatory = None
            purgatory._forget(self, self._keys)
            self._keys = ()


class Purgatory(Generic[C]):
    """Waiting operations by the keys that may satisfy them."""

    __slots__ = ("_watchers", "name", "waiting", "wheel")

    def __init__(self, name: str, wheel: TimingWheel[DelayedOperation[C]]) -> None:
        self.name = name
        self.wheel = wheel
        self.waiting = 0  # operations that are not completed
        self._watchers: dict[Hashable, dict[DelayedOperation[C], None]] = {}

    def __repr__(self) -> str:
        return f"<Purgatory {self.name}: {self.waiting} waiting for {len(self._watchers)} keys>"

    @property
    def watched_keys(self) -> int:
        return len(self._watchers)

    def is_watched(self, key: Hashable) -> bool:
        return key in self._watchers

    def try_complete_else_watch(self, operation: DelayedOperation[C], keys: Iterable[Hashable], context: C) -> bool:
        """Complete now if possible; otherwise wait for the keys and for the deadline. True if completed now.

        No event can occur between the attempt and the watching, since events run one after another.
        """
        if operation.is_completed or operation.try_complete(context):
            return True
        self.watch(operation, keys)
        return False

    def watch(self, operation: DelayedOperation[C], keys: Iterable[Hashable] = ()) -> None:
        """Wait without a first attempt. Without keys, only the deadline or the owner completes the operation."""
        operation._purgatory = self
        operation._keys = tuple(dict.fromkeys(keys))
        for key in operation._keys:
            watchers = self._watchers.get(key)
            if watchers is None:
                watchers = self._watchers[key] = {}
            watchers[operation] = None
        self.waiting += 1
        self.wheel.start(operation, operation.deadline_now_ms())

    def oldest(self, key: Hashable, at_most: int) -> list[DelayedOperation[C]]:
        """Return at most `at_most` of the operations that have watched `key` for the longest time."""
        return list(islice(self._watchers.get(key, ()), at_most))

    def deadline_moved(self, operation: DelayedOperation[C]) -> None:
        """Arm the timer again for a deadline that moved *earlier*, or that was set after the timer fired.

        A deadline that moves later needs no call: the timer notices when it fires.
        """
        deadline_ms = operation.deadline_now_ms()
        if not operation.is_completed and (not operation.is_armed or operation.fires_at_ms > deadline_ms):
            self.wheel.start(operation, deadline_ms)

    def check_and_complete(self, key: Hashable, context: C) -> int:
        """Try the operations that watch `key`, whose state has changed. Returns how many completed."""
        watchers = self._watchers.get(key)
        if watchers is None:
            return 0
        completed = 0
        for operation in tuple(watchers):  # completing one removes it from the list, and may complete another
            if not operation.is_completed and operation.try_complete(context):
                completed += 1
        return completed

    def check_all(self, context: C) -> int:
        """Try all operations that watch a key. Returns how many completed."""
        return sum(self.check_and_complete(key, context) for key in tuple(self._watchers))

    def complete_all(self, context: C) -> None:
        """Complete each operation that watches a key, although none of them is due."""
        for watchers in tuple(self._watchers.values()):
            for operation in tuple(watchers):
                operation.force_complete(context)

    def _forget(self, operation: DelayedOperation[C], keys: tuple[Hashable, ...]) -> None:
        self.waiting -= 1
        self.wheel.cancel(operation)
        for key in keys:
            watchers = self._watchers[key]
            del watchers[operation]
            if not watchers:
                del self._watchers[key]


def run_due(wheel: TimingWheel[DelayedOperation[C]], now_ms: int, context: C, at_most: int) -> int:
    """Advance `wheel` and run up to `at_most` operations that are due. Returns how many.

    The rest stays due (`next_deadline_ms` is not in the future), and other events may run in between.
    """
    wheel.advance(now_ms)
    ran = 0
    while ran < at_most and (operation := wheel.pop_due()) is not None:
        operation.timer_fired(now_ms, context)
        ran += 1
    return ran
