"""Heartbeats, and the end of a session without them.

The response to a Heartbeat tells a member that a rebalance has begun. `HeartbeatTemplate` is the short path for the
most frequent request: a connection that receives the bytes of its last successful Heartbeat again asks the template,
which renews the session exactly as `heartbeat` would, or declines. Source: Kafka's
`GroupMetadataManager.classicGroupHeartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.effects import UNKNOWN_SOFTWARE
from coordinator.core.events.model import Cause
from coordinator.core.group.checks import HEARTBEAT_SUCCEEDS, check_heartbeat
from coordinator.core.group.incidents import record_refusal
from coordinator.core.group.parked_heartbeat import Release, release_of
from coordinator.core.group.progress import trigger_of
from coordinator.core.group.rebalance import drop_member, maybe_rebalance
from coordinator.core.group.session import is_awaiting_response, restart_session
from coordinator.core.group.state import DEAD, PREPARING_REBALANCE
from coordinator.core.repeated_heartbeat import RepeatedHeartbeat
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatResponse

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from coordinator.core.group.parked_heartbeat import ParkedRequest
    from protocol.messages.heartbeat import HeartbeatRequest


def heartbeat(group: Group, request: HeartbeatRequest, ticket: Ticket, context: Context) -> None:
    """Answer a Heartbeat. A valid one renews the session, also while the answer is REBALANCE_IN_PROGRESS."""
    error = check_heartbeat(group, request.member_id, request.group_instance_id, request.generation_id)
    if error is ErrorCode.NONE or error is ErrorCode.REBALANCE_IN_PROGRESS:
        member = group.members[request.member_id]
        if member.client_software is UNKNOWN_SOFTWARE:  # after a start, because the log does not know it
            member.client_software = ticket.client_software
        release_of(member, Release.OTHER_CONNECTION, context)
        restart_session(group, member, member.session_timeout_ms, context)
    else:
        record_refusal(
            group,
            ApiKey.HEARTBEAT,
            error,
            ticket,
            request.member_id,
            request.group_instance_id,
            context,
            request.generation_id,
        )
    context.reply(ticket, HeartbeatResponse(error_code=int(error)))


def expire_session(group: Group, member: Member, context: Context) -> None:
    """Remove a member whose session deadline has passed."""
    if group.state is DEAD or member.is_gone or is_awaiting_response(member):
        return
    context.counters.expired_sessions += 1
    trigger = trigger_of(Cause.SESSION_EXPIRED, member)
    drop_member(group, member, context)
    maybe_rebalance(group, trigger, context)


def expire_pending(group: Group, member_id: str, context: Context) -> None:
    """Forget a member id that was handed out and not used in time."""
    if group.state is DEAD or not group.remove_pending(member_id):
        return
    if group.state is PREPARING_REBALANCE:
        context.timers.check_joins(group, context)


SUCCEEDED: Final = HeartbeatResponse()


class HeartbeatTemplate(RepeatedHeartbeat):
    """A Heartbeat that succeeded, for repetitions of it. Declines once its member, generation or group is gone.

    `check_heartbeat` decides when the template is made. Of its inputs only the state and the generation can change
    while the member keeps its session, so `renew` looks at these two. It declines as well while another heartbeat of
    the member is parked, which must be answered first.
    """

    __slots__ = ("generation", "group", "group_instance_id", "member")

    def __init__(self, group: Group, member: Member, group_instance_id: str | None) -> None:
        self.group = group
        self.member = member
        self.group_instance_id = group_instance_id  # as in the request: None if a static member leaves it out
        self.generation = group.generation

    @classmethod
    def of(
        cls, group: Group, member_id: str, group_instance_id: str | None, generation: int
    ) -> HeartbeatTemplate | None:
        """Return a template of the Heartbeat with these fields, or None if it would fail now."""
        if check_heartbeat(group, member_id, group_instance_id, generation) is not ErrorCode.NONE:
            return None
        return cls(group, group.members[member_id], group_instance_id)

    @property
    def may_wait(self) -> bool:
        return True  # `park` looks at the session timeout, which may change

    @property
    def response(self) -> HeartbeatResponse:
        return SUCCEEDED

    def park(self, ticket: Ticket, context: Context) -> ParkedRequest | None:
        return context.timers.park_heartbeat(self, ticket, context)

    def renew(self, now_ms: int) -> bool:
        group, member = self.group, self.member
        if group.generation != self.generation or group.state not in HEARTBEAT_SUCCEEDS or member.parked is not None:
            return False
        session = member.session  # None if the member is gone
        deadline_ms = now_ms + member.session_timeout_ms
        if session is None or not session.is_armed or session.fires_at_ms > deadline_ms:
            return False
        member.session_deadline_ms = deadline_ms
        return True
