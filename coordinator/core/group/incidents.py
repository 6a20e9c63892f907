"""Incidents of a group: refused requests, replaced static members, and rebalances that wait for long."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from coordinator.core.events.model import NAMED_AT_MOST, NOBODY, ClientInfo, Incident, IncidentKind, Wait, shortened
from coordinator.core.group.progress import client_of, requester_of
from coordinator.core.group.state import COMPLETING_REBALANCE, EMPTY, PREPARING_REBALANCE
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member, Protocols

LOADS_PART: Final = 8  # the loads of all partitions take this part of group.max.events: the rest is for older events

# The errors that are incidents, by the name of the API. Others are part of an ordinary rebalance or of a start.
_MEMBER_ERRORS: Final = {
    ErrorCode.UNKNOWN_MEMBER_ID: IncidentKind.UNKNOWN_MEMBER,
    ErrorCode.ILLEGAL_GENERATION: IncidentKind.STALE_GENERATION,
    ErrorCode.FENCED_INSTANCE_ID: IncidentKind.FENCED,
}
_INCIDENTS: Final[Mapping[ApiKey, Mapping[ErrorCode, IncidentKind]]] = MappingProxyType(
    {
        ApiKey.HEARTBEAT: _MEMBER_ERRORS,
        ApiKey.SYNC_GROUP: _MEMBER_ERRORS,
        ApiKey.JOIN_GROUP: {
            **_MEMBER_ERRORS,
            ErrorCode.GROUP_MAX_SIZE_REACHED: IncidentKind.JOIN_REFUSED,
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL: IncidentKind.JOIN_REFUSED,
        },
        ApiKey.OFFSET_COMMIT: {
            ErrorCode.UNKNOWN_MEMBER_ID: IncidentKind.COMMIT_REFUSED,
            ErrorCode.ILLEGAL_GENERATION: IncidentKind.COMMIT_REFUSED,
            ErrorCode.REBALANCE_IN_PROGRESS: IncidentKind.COMMIT_REFUSED,
            ErrorCode.FENCED_INSTANCE_ID: IncidentKind.FENCED,
        },
    }
)


def record_refusal(
    group: Group,
    api: ApiKey,
    error: ErrorCode,
    ticket: Ticket,
    member_id: str,
    instance_id: str | None,
    context: Context,
    generation: int = -1,
    offered: Protocols = (),
) -> None:
    """Record that a request of a member was refused, if the error tells of a member that is in trouble."""
    what = _INCIDENTS[api].get(error)
    if what is None:
        return
    other = NOBODY
    if what is IncidentKind.FENCED and instance_id is not None:
        holder = group.members.get(group.static_members.get(instance_id, ""))
        other = client_of(holder) if holder is not None else NOBODY
    context.recorder.incident(
        Incident(
            group=shortened(group.group_id),
            at_ms=context.wall_ms,
            what=what,
            member=requester_of(ticket, member_id, instance_id),
            other=other,
            error=error.name,
            api=api.name,
            generation=generation,
            offered=[shortened(name) for name, _ in offered[:NAMED_AT_MOST]],
        )
    )


def record_replacement(group: Group, member: Member, other: ClientInfo, ticket: Ticket, context: Context) -> None:
    """Record that a run of a static member took the place of another one."""
    context.recorder.incident(
        Incident(
            group=shortened(group.group_id),
            at_ms=context.wall_ms,
            what=IncidentKind.STATIC_MEMBER_REPLACED,
            member=requester_of(ticket, member.member_id, member.group_instance_id),
            other=other,
        )
    )


def loads_recorded(context: Context) -> int:
    """Return of how many groups of a partition the load is recorded, of either protocol."""
    return max(context.config.group_max_events // LOADS_PART // context.config.offsets_topic_num_partitions, 1)


def record_load(group: Group, context: Context) -> None:
    """Record that a group with members was loaded."""
    context.recorder.incident(
        Incident(
            group=shortened(group.group_id),
            at_ms=context.wall_ms,
            what=IncidentKind.GROUP_LOADED,
            generation=group.generation,
        )
    )


def record_slow_rebalance(group: Group, context: Context) -> None:
    """Record that the current rebalance waits for longer than group.rebalance.warn.ms."""
    rebalance = group.rebalance
    if rebalance is None:
        return
    waits, named, count, at_most_ms = waited_for(group, context.now_ms)
    context.recorder.incident(
        Incident(
            group=shortened(group.group_id),
            at_ms=context.wall_ms,
            what=IncidentKind.REBALANCE_SLOW,
            member=named[0] if named else NOBODY,
            reason=waits.value,
            generation=group.generation,
            more=max(count - 1, 0),
            waited_ms=context.now_ms - rebalance.started_ms,
            at_most_ms=at_most_ms,
        )
    )


def waited_for(group: Group, now_ms: int) -> tuple[Wait, list[ClientInfo], int, int]:
    """Return what a rebalance waits for: the members (NAMED_AT_MOST), their number, and the ms until its deadline."""
    if group.state is PREPARING_REBALANCE:
        timer = group.join_timer
        at_most_ms = max(timer.fires_at_ms - now_ms, 0) if timer is not None else -1
        if group.previous_state is EMPTY:
            if group.new_member_added and group.rebalance is not None:  # the delay is extended
                at_most_ms = max(at_most_ms, group.rebalance.started_ms + group.rebalance_timeout_ms - now_ms)
            return Wait.FIRST_MEMBERS, [], 0, at_most_ms
        missing = [member for member in group.members.values() if member.parked_join is None]
        named = [client_of(member) for member in missing[:NAMED_AT_MOST]]
        pending = list(group.pending_join)[: NAMED_AT_MOST - len(named)]
        named += [ClientInfo(shortened(name), client_id=shortened(name[:-37])) for name in pending]  # "-" and a UUID
        return Wait.JOINS, named, len(missing) + len(group.pending_join), at_most_ms
    if group.state is COMPLETING_REBALANCE:
        timer = group.sync_timer
        at_most_ms = max(timer.fires_at_ms - now_ms, 0) if timer is not None else -1
        leader = group.leader
        if leader is None or leader.member_id not in group.pending_sync:
            return Wait.DISK, [], 0, -1
        return Wait.PLAN, [client_of(leader)], 1, at_most_ms
    return Wait.NOTHING, [], 0, -1
