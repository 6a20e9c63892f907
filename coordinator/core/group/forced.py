"""Rebalances and expirations that a person or a test asks for, instead of a client.

`ForceRebalance` and `ExpireMember` are requests to `GroupCoordinator.handle`, like those of clients, with the same care
for faults. The answer is an `ErrorCode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from coordinator.core.events.model import Cause, Trigger
from coordinator.core.group.heartbeat import expire_session
from coordinator.core.group.parked_heartbeat import Release, release_of
from coordinator.core.group.rebalance import maybe_rebalance
from coordinator.core.group.session import is_awaiting_response
from coordinator.core.group.state import DEAD, EMPTY
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.group.group import Group


class ForceRebalance(NamedTuple):
    """Have all members of a group join again."""

    group_id: str
    reason: str = ""


class ExpireMember(NamedTuple):
    """End the session of a member now, as if it had been silent for its session timeout."""

    group_id: str
    member_id: str


def force_rebalance(group: Group, command: ForceRebalance, context: Context) -> ErrorCode:
    """Start a rebalance. GROUP_ID_NOT_FOUND: the group has no member."""
    if group.state in (EMPTY, DEAD):
        return ErrorCode.GROUP_ID_NOT_FOUND
    maybe_rebalance(group, Trigger(Cause.FORCED, reason=command.reason), context)
    return ErrorCode.NONE


def expire_member(group: Group, command: ExpireMember, context: Context) -> ErrorCode:
    """Expire a member. A member whose JoinGroup or SyncGroup waits has no session: REBALANCE_IN_PROGRESS."""
    member = group.members.get(command.member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if is_awaiting_response(member):
        return ErrorCode.REBALANCE_IN_PROGRESS
    release_of(member, Release.OTHER_CONNECTION, context)
    expire_session(group, member, context)
    return ErrorCode.NONE
