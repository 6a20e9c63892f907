"""Sessions: a member remains in its group as long as it sends requests within its session timeout.

A request moves `member.session_deadline_ms` only: the timer on the wheel reads it when it fires and is armed again for
the rest. The wheel is touched only if the timer is not armed, or armed for a time *after* the deadline. (A new member
starts with 300 s. When its first join completes with a session timeout of 10 s, it is removed after 10 s without a
request.) Source: Kafka's `GroupMetadataManager.rescheduleClassicGroupMemberHeartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = (
    300_000  # how long a first JoinGroup may be parked; Kafka's `NewMemberJoinTimeoutMs`
)


def restart_session(group: Group, member: Member, timeout_ms: int, context: Context) -> None:
    """Move the deadline of a member's session to `timeout_ms` from now."""
    deadline_ms = context.now_ms + timeout_ms
    if deadline_ms == context.deadline_ms:
        deadline_ms = context.deadline_ms  # shared: many sessions restart at once, and an int takes 32 bytes
    else:
        context.deadline_ms = deadline_ms
    member.session_deadline_ms = deadline_ms
    session = member.session
    if session is None or not session.is_armed or session.fires_at_ms > deadline_ms:
        context.timers.start_session(group, member)


def is_awaiting_response(member: Member) -> bool:
    """Return whether a member has a parked request, so that it need not send heartbeats.

    False for a new member, whose first JoinGroup is limited by its timer.
    """
    return not member.is_new and (member.parked_join is not None or member.parked_sync is not None)
