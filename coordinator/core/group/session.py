"""Sessions: a member lives as long as it gives signs of life, and an id that is never used is forgotten.

A sign of life moves `member.session_deadline_ms` and touches nothing else: the timer on the wheel looks at it when it
fires and goes back for what is left. Only a deadline *earlier* than the armed timer, or a timer that is not armed at
all, needs the wheel. (A new member waits with 300 s; when its first join completes with a session of 10 s and it then
falls silent, it is removed after those 10 s.) Sources: spec 5, 10.3, 10.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000  # how long a first JoinGroup may be parked; Kafka's constant


def restart_session(group: Group, member: Member, timeout_ms: int, context: Context) -> None:
    """The member is alive as of now."""
    deadline_ms = context.now_ms + timeout_ms
    if deadline_ms == context.deadline_ms:
        deadline_ms = context.deadline_ms  # the same object: a whole group is restarted at once, and an int is 32 bytes
    else:
        context.deadline_ms = deadline_ms
    member.session_deadline_ms = deadline_ms
    session = member.session
    if session is None or not session.is_armed or session.fires_at_ms > deadline_ms:
        context.timers.start_session(group, member)


def is_awaiting_response(member: Member) -> bool:
    """It has sent all it can and awaits an answer: silence proves nothing. A new member has no session yet."""
    return not member.is_new and (member.parked_join is not None or member.parked_sync is not None)
