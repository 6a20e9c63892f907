"""The purgatory: where operations wait until an event satisfies them or their time runs out.

A `DelayedOperation` completes exactly once: `try_complete` looks at its condition, `force_complete` runs its action
and tells whether this call was the one that did it, `on_expiration` follows when it was a timeout that forced it.
A `Purgatory` watches operations by key (a group, a partition): whoever changes what a key stands for calls
`check_and_complete(key)`. Timeouts wait on a timing wheel, which several purgatories may share.

A completed operation leaves its watch lists and the wheel at once, so nothing is left to be purged later (Kafka, where
many threads walk these lists, has a reaper for that). A deadline may move later without touching the wheel: when the
timer fires, `deadline_now_ms` is asked again and the operation is re-armed. `context` is whatever the owner hands to
actions: for groups the event being decided, with its clock and its effects.
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
    """One thing that waits. Subclasses say when it is satisfied, what happens then, and what a timeout adds."""

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
        """The action. Runs exactly once, whatever completed the operation."""

    def on_expiration(self, context: C) -> None:
        """Runs after `on_complete` when it was the deadline that completed the operation."""

    def deadline_now_ms(self) -> int:
        """The deadline as it is now. Of an operation that keeps one elsewhere it may have moved since."""
        return self.fires_at_ms

    def force_complete(self, context: C) -> bool:
        """Complete whatever the condition says. True for the one call that did it."""
        if self.is_completed:
            return False
        self.is_completed = True
        self._leave()
        self.on_complete(context)
        return True

    def cancel(self) -> bool:
        """Complete without any action: what it waited for is gone. True if this call did it."""
        if self.is_completed:
            return False
        self.is_completed = True
        self._leave()
        return True

    def timer_fired(self, now_ms: int, context: C) -> None:
        """The wheel reached the armed time: expire, or go back on the wheel if the deadline has moved."""
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
    """Operations that wait, by the keys that may satisfy them."""

    __slots__ = ("_watchers", "name", "waiting", "wheel")

    def __init__(self, name: str, wheel: TimingWheel[DelayedOperation[C]]) -> None:
        self.name = name
        self.wheel = wheel
        self.waiting = 0  # operations that are here and not completed
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

        Nothing can happen between the attempt and the watching, since events run one after another.
        """
        if operation.is_completed or operation.try_complete(context):
            return True
        self.watch(operation, keys)
        return False

    def watch(self, operation: DelayedOperation[C], keys: Iterable[Hashable] = ()) -> None:
        """Wait without trying first. Without keys only the deadline, or its owner, completes the operation."""
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
        """Tell of a deadline that moved *earlier* than the timer, or of one set after its timer ran out.

        A deadline that moves later needs no call: the timer notices when it fires.
        """
        deadline_ms = operation.deadline_now_ms()
        if not operation.is_completed and (not operation.is_armed or operation.fires_at_ms > deadline_ms):
            self.wheel.start(operation, deadline_ms)

    def check_and_complete(self, key: Hashable, context: C) -> int:
        """What `key` stands for has changed: try everything that watches it. Returns how many completed."""
        watchers = self._watchers.get(key)
        if watchers is None:
            return 0
        completed = 0
        for operation in tuple(watchers):  # completing one takes it out of the list, and may complete another
            if not operation.is_completed and operation.try_complete(context):
                completed += 1
        return completed

    def check_all(self, context: C) -> int:
        """Everything may have changed: try all that watch anything."""
        return sum(self.check_and_complete(key, context) for key in tuple(self._watchers))

    def _forget(self, operation: DelayedOperation[C], keys: tuple[Hashable, ...]) -> None:
        self.waiting -= 1
        self.wheel.cancel(operation)
        for key in keys:
            watchers = self._watchers[key]
            del watchers[operation]
            if not watchers:
                del self._watchers[key]


def run_due(wheel: TimingWheel[DelayedOperation[C]], now_ms: int, context: C, at_most: int) -> int:
    """Let time pass on `wheel` and run up to `at_most` operations whose time has come; returns how many.

    The rest stays due, `next_deadline_ms` says so, and other events may run in between.
    """
    wheel.advance(now_ms)
    ran = 0
    while ran < at_most and (operation := wheel.pop_due()) is not None:
        operation.timer_fired(now_ms, context)
        ran += 1
    return ran
