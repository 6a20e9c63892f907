"""The join phase as a delayed operation: over when everybody has joined, or when time is up.

`DelayedInitialJoin` is the first join phase after an empty period: joining never completes it, only its delay does, so
that members that start together end up in one generation (spec 3.9).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import Context
from coordinator.core.group.rebalance import complete_join_phase, initial_delay_over
from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.group.group import Group


class DelayedJoin(DelayedOperation[Context]):
    """Completes the join phase of a group whose members are to rejoin."""

    __slots__ = ("group",)

    def __init__(self, group: Group, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group

    def try_complete(self, context: Context) -> bool:
        return self.group.all_joined and self.force_complete(context)

    def on_complete(self, context: Context) -> None:
        self.group.join_timer = None
        complete_join_phase(self.group, context)


class DelayedInitialJoin(DelayedOperation[Context]):
    """Waits `delay_ms` for members of an empty group; `remaining_ms` is what extensions may still add."""

    __slots__ = ("delay_ms", "group", "remaining_ms")

    def __init__(self, group: Group, deadline_ms: int, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms

    def on_complete(self, context: Context) -> None:
        self.group.join_timer = None
        initial_delay_over(self.group, self.delay_ms, self.remaining_ms, context)
