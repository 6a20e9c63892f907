"""Held Heartbeats of classic members of a KIP-848 group: they hear at once that they are to rejoin.

A classic member learns by its next Heartbeat that it has something to give up or to take, so a migration would take an
interval for each step. For whom and how long a Heartbeat is held is as in a classic group (parked_heartbeat.py). It is
answered when its member must rejoin, or is gone, or when the group becomes a classic one, which rebalances then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.held_heartbeat import HeldHeartbeat
from coordinator.core.group.parked_heartbeat import Release
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatResponse

if TYPE_CHECKING:
    from coordinator.core.consumer_group.classic_members import ClassicMembers
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.counters import Counters
    from protocol.messages.heartbeat import HeartbeatRequest


class HeldClassicHeartbeat(HeldHeartbeat):
    """One held Heartbeat."""

    __slots__ = ("_members", "_request")

    def __init__(
        self, members: ClassicMembers, group: ConsumerGroup, request: HeartbeatRequest, ticket: Ticket, now_ms: int
    ) -> None:
        super().__init__(group, request.member_id, ticket, now_ms)
        self._members = members
        self._request = request

    def release(self, why: Release, context: Context, error: ErrorCode | None = None) -> None:
        if not self.drop(why, context.counters):
            return
        if why is Release.MEMBER_REMOVED and self.member_id in self.group.members:
            error = ErrorCode.REBALANCE_IN_PROGRESS  # the group becomes a classic one
        if error is not None:
            context.reply(self.ticket, HeartbeatResponse(error_code=int(error)))
            return
        session = self.group.sessions.get(self.member_id)
        deadline_ms = 0 if session is None else session.deadline_ms
        self.ticket.may_be_held = False
        self._members.heartbeat(self.group, self._request, self.ticket, context)
        if session is not None and self.group.sessions.get(self.member_id) is session:
            session.deadline_ms = min(session.deadline_ms, deadline_ms)  # its arrival has renewed the session

    def counts(self, counters: Counters) -> dict[str, int]:
        return counters.released_heartbeats

    def has_step(self) -> bool:
        return self._members.has_news(self.group, self._request)
