"""An id that was handed out with MEMBER_ID_REQUIRED: forgotten if it is not used within the session timeout.

Until then it holds back the end of a join phase, since its client is about to come (KIP-394, spec 3.4, 10.3).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import Context
from coordinator.core.group.heartbeat import expire_pending
from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.group.group import Group


class PendingMember(DelayedOperation[Context]):
    """Waits for the second JoinGroup of one client."""

    __slots__ = ("group", "member_id")

    def __init__(self, group: Group, member_id: str, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.member_id = member_id

    def on_expiration(self, context: Context) -> None:
        expire_pending(self.group, self.member_id, context)
