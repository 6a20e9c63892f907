"""Checks of requests against a group: each function returns the first error that applies.

The order inside each function is Kafka's, because clients recover by it: after FENCED_INSTANCE_ID a client gives up,
after UNKNOWN_MEMBER_ID it joins as a new member, after ILLEGAL_GENERATION or REBALANCE_IN_PROGRESS it rejoins with its
member id. Answers that depend on the state alone are tables. Source: the `validate*` methods of Kafka's
`GroupMetadataManager` and `ClassicGroup`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from coordinator.core.group.state import (
    COMPLETING_REBALANCE,
    DEAD,
    EMPTY,
    PREPARING_REBALANCE,
    STABLE,
    GroupState,
)
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.group.group import Group
    from protocol.messages.join_group import JoinGroupRequest
    from protocol.messages.sync_group import SyncGroupRequest

NONE: Final = ErrorCode.NONE

MAX_STRING_BYTES: Final = 2**15 - 1  # the longest string in a record of the log, in bytes of UTF-8

# The answer to a Heartbeat of a valid member of the current generation.
HEARTBEAT_VERDICT: Final[Mapping[GroupState, ErrorCode]] = MappingProxyType(
    {
        EMPTY: ErrorCode.UNKNOWN_MEMBER_ID,  # not reachable: an Empty group has no members
        PREPARING_REBALANCE: ErrorCode.REBALANCE_IN_PROGRESS,
        COMPLETING_REBALANCE: ErrorCode.NONE,
        STABLE: ErrorCode.NONE,
        DEAD: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)

# The states in which the Heartbeat of a valid member succeeds.
HEARTBEAT_SUCCEEDS: Final = frozenset(state for state, error in HEARTBEAT_VERDICT.items() if error is NONE)

# The answer to an OffsetCommit of a valid member of the current generation.
COMMIT_VERDICT: Final[Mapping[GroupState, ErrorCode]] = MappingProxyType(
    {
        EMPTY: ErrorCode.NONE,
        PREPARING_REBALANCE: ErrorCode.NONE,  # clients commit before they rejoin
        COMPLETING_REBALANCE: ErrorCode.REBALANCE_IN_PROGRESS,
        STABLE: ErrorCode.NONE,
        DEAD: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)


def fits(text: str) -> bool:
    """Return whether a client's string can be stored. Requests of flexible versions may hold longer ones."""
    length = len(text)
    return length * 4 <= MAX_STRING_BYTES or (length <= MAX_STRING_BYTES and len(text.encode()) <= MAX_STRING_BYTES)


def check_strings(request: JoinGroupRequest) -> ErrorCode:
    """Refuse strings of a member that do not fit into the record of its group, which would fail for all members."""
    if (
        fits(request.group_instance_id or "")
        and fits(request.protocol_type)
        and all(fits(protocol.name) for protocol in request.protocols)
    ):
        return NONE
    return ErrorCode.INVALID_REQUEST


def check_session_timeout(request: JoinGroupRequest, config: Config) -> ErrorCode:
    """Refuse a session timeout outside the configured bounds. The bounds themselves are allowed."""
    shortest, longest = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
    return NONE if shortest <= request.session_timeout_ms <= longest else ErrorCode.INVALID_SESSION_TIMEOUT


def check_member(group: Group, member_id: str, group_instance_id: str | None) -> ErrorCode:
    """Return the error of a member id and instance id, as Kafka's `ClassicGroup.validateMember` decides it.

    A static member may leave its instance id out; it is then found by its member id.
    """
    if group_instance_id is not None:
        owner = group.static_members.get(group_instance_id)
        if owner is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if owner != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return NONE if member_id in group.members else ErrorCode.UNKNOWN_MEMBER_ID


def has_room(group: Group, member_id: str, max_size: int) -> bool:
    """Return whether `member_id` may (re)join: Kafka's `GroupMetadataManager.acceptJoiningMember`."""
    if group.state is PREPARING_REBALANCE:
        member = group.members.get(member_id)
        return (member is not None and member.parked_join is not None) or group.awaiting_join_count < max_size
    if group.state in (COMPLETING_REBALANCE, STABLE):
        return member_id in group.members or len(group.members) < max_size
    return True


def check_heartbeat(group: Group, member_id: str, group_instance_id: str | None, generation: int) -> ErrorCode:
    """Return the error of a Heartbeat, as Kafka's `validateClassicGroupHeartbeat` decides it."""
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = check_member(group, member_id, group_instance_id)
    if error is not NONE:
        return error
    if generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return HEARTBEAT_VERDICT[group.state]


def check_sync(group: Group, request: SyncGroupRequest) -> ErrorCode:
    """Return the error of a SyncGroup (`validateSyncGroup`). The state decides about a valid one in sync.py."""
    if group.state is EMPTY:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if group.state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    error = check_member(group, request.member_id, request.group_instance_id)
    if error is not NONE:
        return error
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    for asked, actual in (
        (request.protocol_type, group.protocol_type),
        (request.protocol_name, group.protocol_name),
    ):
        if asked is not None and actual is not None and asked != actual:
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    return NONE


def check_offset_commit(
    group: Group, member_id: str, group_instance_id: str | None, generation: int, is_transactional: bool
) -> ErrorCode:
    """Return the error of an offset commit, as Kafka's `ClassicGroup.validateOffsetCommit` decides it (KIP-447).

    A generation below 0 comes from a consumer that manages its own partitions. A transactional commit is accepted in
    any state, also without a member id, because the epoch of its producer fences it.
    """
    state = group.state
    if state is DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if generation < 0 and state is EMPTY:
        return NONE
    if generation >= 0 or member_id != "" or group_instance_id is not None:
        error = check_member(group, member_id, group_instance_id)
        if error is not NONE:
            return error
        if generation != group.generation:
            return ErrorCode.ILLEGAL_GENERATION
    elif not is_transactional:
        return ErrorCode.UNKNOWN_MEMBER_ID
    return NONE if is_transactional else COMMIT_VERDICT[state]
