"""A group at this moment, for `groups explain`: its members, what it waits for, and its current rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.events.model import (
    NAMED_AT_MOST,
    SHOWN_AT_MOST,
    LiveGroup,
    LiveMember,
    RebalanceOutcome,
    shortened,
)
from coordinator.core.group.group import CONSUMER, topics_of
from coordinator.core.group.incidents import waited_for
from coordinator.core.group.ownership import count_partitions
from coordinator.core.group.progress import client_of
from coordinator.core.group.state import PREPARING_REBALANCE, STABLE
from protocol import consumer
from protocol.errors import DecodeError

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member

# Topics in all subscriptions and assignments that are read for one state; what exceeds it is not known.
MAX_TOPICS_READ: Final = 10_000


def live_state(group: Group, context: Context) -> LiveGroup:
    """Return the present state of a group. At most SHOWN_AT_MOST members are in it."""
    waits, named, count, at_most_ms = waited_for(group, context.now_ms)
    record = context.recorder.groups.get(shortened(group.group_id))
    reading = _Reading(group)
    shown = [_member(group, member, reading, context.now_ms) for member in _members(group)]
    known = all(member.partitions >= 0 for member in shown) and len(shown) == len(group.members)
    return LiveGroup(
        group=group.group_id,
        at_ms=context.wall_ms,
        state=group.state.value,
        since_ms=group.state_timestamp_ms,
        loaded_at_ms=group.shard.loaded_at_ms,
        generation=group.generation,
        protocol_type=shortened(group.protocol_type or ""),
        protocol=shortened(group.protocol_name or ""),
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


def _members(group: Group) -> list[Member]:
    """Return SHOWN_AT_MOST members, those first that have no waiting request."""
    members = group.members.values()
    found = [member for member in members if not _is_waiting(member)][:SHOWN_AT_MOST]
    if len(found) < SHOWN_AT_MOST:
        found += [member for member in members if _is_waiting(member)][: SHOWN_AT_MOST - len(found)]
    return found


def _is_waiting(member: Member) -> bool:
    return member.parked_join is not None or member.parked_sync is not None


def _member(group: Group, member: Member, reading: _Reading, now_ms: int) -> LiveMember:
    is_silent = member.session is not None and not _is_waiting(member)
    return LiveMember(
        member=client_of(member),
        partitions=reading.partitions(member),
        has_joined=member.parked_join is not None,
        has_synced=group.state is not PREPARING_REBALANCE and member.member_id not in group.pending_sync,
        is_leader=member.member_id == group.leader_id,
        silent_ms=max(now_ms - member.session_deadline_ms + member.session_timeout_ms, 0) if is_silent else -1,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=[shortened(name) for name, _ in member.protocols[:NAMED_AT_MOST]],
        topics=reading.topics(member),
    )


class _Reading:
    """A reader of subscriptions and assignments, up to MAX_TOPICS_READ topics."""

    __slots__ = ("_group", "_left", "_topics")

    def __init__(self, group: Group) -> None:
        self._group = group
        self._left = MAX_TOPICS_READ if group.protocol_type == CONSUMER else 0
        self._topics: dict[bytes, list[str]] = {}  # by subscription: most members have the same

    def partitions(self, member: Member) -> int:
        assignment = member.assignment
        if not self._takes(1 + int.from_bytes(assignment[2:6], "big")):
            return -1
        try:
            return count_partitions(assignment)
        except DecodeError:
            return -1

    def topics(self, member: Member) -> list[str]:
        metadata = member.metadata(self._group.protocol_name) or (member.protocols[0][1] if member.protocols else b"")
        known = self._topics.get(metadata)
        if known is None:
            known = []
            if self._takes(1 + consumer.topic_count(metadata)):
                try:
                    known = [shortened(topic) for topic in sorted(topics_of(metadata))[:NAMED_AT_MOST]]
                except DecodeError:
                    known = []
            self._topics[metadata] = known
        return known

    def _takes(self, topics: int) -> bool:
        if topics > self._left:
            return False
        self._left -= topics
        return True
