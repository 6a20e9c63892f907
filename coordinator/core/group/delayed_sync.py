"""The sync timer: members that do not send SyncGroup within the rebalance timeout are removed.

Cancelled when all have sent theirs, or when another rebalance begins. Source: spec 4.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import Context
from coordinator.core.group.rebalance import expire_unsynced
from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.group.group import Group


class DelayedSync(DelayedOperation[Context]):
    """Watches over the pending syncs of one generation."""

    __slots__ = ("generation", "group")

    def __init__(self, group: Group, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.generation = group.generation

    def on_expiration(self, context: Context) -> None:
        if self.group.sync_timer is self:
            self.group.sync_timer = None
        expire_unsynced(self.group, self.generation, context)
