"""Delayed operations of appends: timeouts, requests that wait for appends, and tasks at a time.

`AppendTimeout` answers requests whose append takes longer than offsets.commit.timeout.ms; the append continues, and its
outcome is applied later. `AwaitAppends` is for requests that decide from durable state: OffsetFetch with RequireStable
(KIP-447), DeleteGroups, OffsetDelete, and topic deletion. `DelayedTask` runs a function at a given time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from coordinator.core.context import Context
from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.shard import Shard


class AppendTimeout(DelayedOperation[Context]):
    """Timer of one partition of the offsets log. It is armed while appends are in flight, and a little longer."""

    __slots__ = ("shard",)

    def __init__(self, shard: Shard, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.shard = shard

    def timer_fired(self, now_ms: int, context: Context) -> None:
        deadline_ms = self.shard.time_out_appends(now_ms, context)
        if deadline_ms is not None and self._purgatory is not None:
            self._purgatory.wheel.start(self, deadline_ms)


class AwaitAppends(DelayedOperation[Context]):
    """Runs `then(context)` once `is_over()`, at the latest at the deadline. `then` checks which of the two it was."""

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
    """Runs `action(context)` at its deadline. A fault in it unloads `shard`, if one is given."""

    __slots__ = ("_action", "shard")

    def __init__(self, deadline_ms: int, action: Callable[[Context], None], shard: Shard | None = None) -> None:
        super().__init__(deadline_ms)
        self._action = action
        self.shard = shard

    def on_expiration(self, context: Context) -> None:
        self._action(context)
