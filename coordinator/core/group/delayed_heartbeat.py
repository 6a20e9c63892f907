"""A member's session: it ends when the deadline that every sign of life moves has really passed.

There is one for each member, for as long as the member lives. A sign of life does not touch it; when its timer fires it
looks at the deadline and goes back on the wheel for what is left. A member that waits for our answer is alive without
saying so: then the timer simply ends, and answering starts it again (spec 10.3, 10.5).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import Context
from coordinator.core.group.heartbeat import expire_session
from coordinator.core.group.session import is_waiting_for_us
from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member


class DelayedHeartbeat(DelayedOperation[Context]):
    """Ends the session of one member."""

    __slots__ = ("group", "member")

    def __init__(self, group: Group, member: Member) -> None:
        super().__init__(0)  # the member knows its deadline
        self.group = group
        self.member = member

    def deadline_now_ms(self) -> int:
        return self.member.session_deadline_ms

    def timer_fired(self, now_ms: int, context: Context) -> None:
        if self.member.session_deadline_ms <= now_ms and is_waiting_for_us(self.member):
            return  # not on the wheel any more, and not completed: restart_session arms it again
        super().timer_fired(now_ms, context)

    def on_expiration(self, context: Context) -> None:
        expire_session(self.group, self.member, context)
