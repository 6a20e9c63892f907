"""A group at this moment, for `groups explain`: its members, what it waits for, and its current rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.events.model import (
    NAMED_AT_MOST,
    SHOWN_AT_MOST,
    LiveGroup,
    LiveMember,
    RebalanceOutcome,
    shortened,
)
from coordinator.core.group.group import topics_of
from coordinator.core.group.incidents import waited_for
from coordinator.core.group.progress import client_of
from coordinator.core.group.state import STABLE
from protocol import consumer
from protocol.errors import DecodeError

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member

MAX_TOPICS_READ = 1_000  # names of a subscription; a longer one is not decoded
MAX_ASSIGNMENT_READ = 65_536  # bytes of an assignment; a longer one is not decoded


def live_state(group: Group, context: Context) -> LiveGroup:
    """Return the present state of a group. At most SHOWN_AT_MOST members are in it."""
    waits, named, count, at_most_ms = waited_for(group, context.now_ms)
    record = context.recorder.groups.get(shortened(group.group_id))
    members = sorted(group.members.values(), key=lambda member: member.parked_join is not None)[:SHOWN_AT_MOST]
    shown = [_member(group, member, context.now_ms) for member in members]
    known = all(member.partitions >= 0 for member in shown) and len(shown) == len(group.members)
    return LiveGroup(
        group=group.group_id,
        at_ms=context.wall_ms,
        state=group.state.value,
        since_ms=group.state_timestamp_ms,
        loaded_at_ms=group.shard.loaded_at_ms,
        generation=group.generation,
        protocol_type=group.protocol_type or "",
        protocol=group.protocol_name or "",
        partitions=sum(member.partitions for member in shown) if known and group.state is STABLE else -1,
        member_count=len(group.members),
        waits=waits,
        waits_for=named,
        waits_for_count=count,
        waits_at_most_ms=at_most_ms,
        members=shown,
        rebalance=group.rebalance.event(group, RebalanceOutcome.RUNNING, context) if group.rebalance else None,
        rebalances=record.rebalances if record is not None else 0,
        commits_refused=record.commits_refused if record is not None else 0,
        fencings=record.fencings if record is not None else 0,
    )


def _member(group: Group, member: Member, now_ms: int) -> LiveMember:
    is_waiting = member.parked_join is not None or member.parked_sync is not None
    return LiveMember(
        member=client_of(member),
        partitions=_partitions(group, member),
        has_joined=member.parked_join is not None,
        has_synced=member.member_id not in group.pending_sync,
        is_leader=member.member_id == group.leader_id,
        silent_ms=-1 if is_waiting else max(now_ms - member.session_deadline_ms + member.session_timeout_ms, 0),
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=[shortened(name) for name, _ in member.protocols[:NAMED_AT_MOST]],
        topics=_topics(group, member),
    )


def _partitions(group: Group, member: Member) -> int:
    if group.protocol_type != "consumer" or len(member.assignment) > MAX_ASSIGNMENT_READ:
        return -1
    try:
        assigned = consumer.decode_assignment(member.assignment).assigned_partitions
    except DecodeError:
        return -1
    return sum(len(topic.partitions) for topic in assigned)


def _topics(group: Group, member: Member) -> list[str]:
    if group.protocol_type != "consumer" or not member.protocols:
        return []
    metadata = member.metadata(group.protocol_name) or member.protocols[0][1]
    if consumer.topic_count(metadata) > MAX_TOPICS_READ:
        return []
    try:
        return [shortened(topic) for topic in sorted(topics_of(metadata))[:NAMED_AT_MOST]]
    except DecodeError:
        return []
