"""Appends that take too long, and requests that must wait until appends are done.

`AppendTimeout` answers what has waited longer than offsets.commit.timeout.ms; the append itself goes on, and its
outcome is applied when it comes. `AwaitAppends` is for requests that decide from durable state: OffsetFetch with
RequireStable, DeleteGroups, OffsetDelete, and topic deletion (spec 7.6, 12.4). `DelayedTask` runs something later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from coordinator.core.context import Context
from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.shard import Shard


class AppendTimeout(DelayedOperation[Context]):
    """One for each partition of the offsets log, on the wheel while something is in flight (and a little longer)."""

    __slots__ = ("shard",)

    def __init__(self, shard: Shard, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.shard = shard

    def timer_fired(self, now_ms: int, context: Context) -> None:
        deadline_ms = self.shard.time_out_appends(now_ms, context)
        if deadline_ms is not None and self._purgatory is not None:
            self._purgatory.wheel.start(self, deadline_ms)


class AwaitAppends(DelayedOperation[Context]):
    """Runs `then(event)` once `is_over()`, at the latest at the deadline; `then` looks for itself which it was."""

    __slots__ = ("_is_over", "_then")

    def __init__(self, deadline_ms: int, is_over: Callable[[], bool], then: Callable[[Context], None]) -> None:
        super().__init__(deadline_ms)
        self._is_over = is_over
        self._then = then

    def try_complete(self, context: Context) -> bool:
        return self._is_over() and self.force_complete(context)

    def on_complete(self, context: Context) -> None:
        self._then(context)


class DelayedTask(DelayedOperation[Context]):
    """Runs `action(event)` at its time. A fault in it is one of `shard`, if it is about a single one."""

    __slots__ = ("_action", "shard")

    def __init__(self, deadline_ms: int, action: Callable[[Context], None], shard: Shard | None = None) -> None:
        super().__init__(deadline_ms)
        self._action = action
        self.shard = shard

    def on_expiration(self, context: Context) -> None:
        self._action(context)
