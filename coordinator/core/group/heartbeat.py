"""Heartbeats, and what happens when they stop.

The answer to a Heartbeat is the group's way to tell a member that a rebalance has begun. `HeartbeatMemo` is the short
cut for the most frequent request of all: a connection that sees the bytes of its last successful Heartbeat again asks
the memo, which renews the session exactly as `heartbeat` would, or declines. Sources: spec 5, 10.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.group.checks import check_heartbeat
from coordinator.core.group.history import Cause, Trigger
from coordinator.core.group.rebalance import drop_member, maybe_rebalance
from coordinator.core.group.session import is_waiting_for_us, restart_session
from coordinator.core.group.state import COMPLETING_REBALANCE, DEAD, PREPARING_REBALANCE, STABLE
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatResponse

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from protocol.messages.heartbeat import HeartbeatRequest

ANSWERS_NONE: Final = frozenset({COMPLETING_REBALANCE, STABLE})


def heartbeat(group: Group, request: HeartbeatRequest, ticket: Ticket, context: Context) -> None:
    """A valid Heartbeat renews the session, also while the answer is REBALANCE_IN_PROGRESS."""
    error = check_heartbeat(group, request)
    if error is ErrorCode.NONE or error is ErrorCode.REBALANCE_IN_PROGRESS:
        member = group.members[request.member_id]
        restart_session(group, member, member.session_timeout_ms, context)
    context.reply(ticket, HeartbeatResponse(error_code=int(error)))


def expire_session(group: Group, member: Member, context: Context) -> None:
    """The session timer reached its deadline, and nothing moved it."""
    if group.state is DEAD or member.is_gone or is_waiting_for_us(member):
        return
    context.counters.expired_sessions += 1
    trigger = Trigger.by(Cause.SESSION_EXPIRED, member)
    if group.state is PREPARING_REBALANCE and group.rebalance is not None:
        group.rebalance.dropped(member.member_id)
    drop_member(group, member, context)
    maybe_rebalance(group, trigger, context)


def expire_pending(group: Group, member_id: str, context: Context) -> None:
    """An id was handed out and never used: nobody waits for it any longer."""
    if group.state is DEAD or not group.remove_pending(member_id):
        return
    if group.state is PREPARING_REBALANCE:
        context.timers.check_joins(group, context)


class HeartbeatMemo:
    """A Heartbeat that succeeded, to be recognised by its bytes. Dies with its member, generation or group."""

    __slots__ = ("_generation", "_group", "_member")

    def __init__(self, group: Group, member: Member) -> None:
        self._group = group
        self._member = member
        self._generation = group.generation

    @classmethod
    def of(cls, group: Group, member_id: str, group_instance_id: str | None, generation: int) -> HeartbeatMemo | None:
        """A memo of the Heartbeat with these fields, if it would succeed now."""
        member = group.members.get(member_id)
        if (
            member is None
            or group.state not in ANSWERS_NONE
            or group.generation != generation
            or (group_instance_id is not None and group.static_members.get(group_instance_id) != member_id)
        ):
            return None
        return cls(group, member)

    def renew(self, now_ms: int) -> bool:
        """True: the session is renewed and the answer is NONE. False: take the long way."""
        group, member = self._group, self._member
        if group.generation != self._generation or group.state not in ANSWERS_NONE:
            return False
        session = member.session  # a member that is gone has none
        deadline_ms = now_ms + member.session_timeout_ms
        if session is None or not session.is_armed or session.fires_at_ms > deadline_ms:
            return False
        member.session_deadline_ms = deadline_ms
        return True
