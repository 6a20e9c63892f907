"""Conversion of a group to its record in the offsets log, and back.

A record is written when a group is created, when its leader's assignments are stored, when a static member is replaced
without a rebalance, when the group becomes empty, and (as a tombstone) when it is deleted. Records are read only when a
partition is loaded. A member's record holds only the selected protocol and its metadata, so a loaded member that offers
two protocols counts as changed when it rejoins. Source: Kafka's GroupMetadataValue.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from coordinator.core.group.group import Group
from coordinator.core.group.member import Member, Protocols
from coordinator.core.group.state import STABLE
from protocol.offsets_records import GroupValue, MemberValue, encode_group_key, encode_group_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.core.shard import Shard

Record = tuple[bytes, bytes | None]


def group_record(group: Group, assignments: Mapping[str, bytes] | None = None) -> Record:
    """Return the record of the whole group, with the given assignments or the current ones."""
    members = [
        MemberValue(
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            client_id=member.client_id,
            client_host=member.client_host,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            session_timeout_ms=member.session_timeout_ms,
            subscription=member.metadata(group.protocol_name),
            assignment=member.assignment if assignments is None else assignments[member.member_id],
        )
        for member in group.members.values()
    ]
    return _record(group, group.protocol_name, group.leader_id, members)


def empty_group_record(group: Group) -> Record:
    """Return the record of a group without members."""
    return _record(group, None, None, [])


def group_tombstone(group: Group) -> Record:
    return encode_group_key(group.group_id), None


def _record(group: Group, protocol: str | None, leader: str | None, members: list[MemberValue]) -> Record:
    value = GroupValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=protocol,
        leader=leader,
        current_state_timestamp_ms=group.state_timestamp_ms,
        members=members,
    )
    return encode_group_key(group.group_id), encode_group_value(value)


def load_group(group_id: str, value: GroupValue, record_offset: int, shard: Shard) -> Group:
    """Build the group of a record: Stable if it has members, else Empty. The caller starts the sessions."""
    group = Group(group_id, shard, value.current_state_timestamp_ms)
    group.is_recorded = True
    group.record_offset = record_offset
    group.generation = value.generation
    group.protocol_name = value.protocol
    group.protocol_type = sys.intern(value.protocol_type) if value.protocol_type else None
    protocol_name = sys.intern(value.protocol or "")
    protocols: Protocols = ()
    for stored in value.members:
        timeout_ms = stored.rebalance_timeout_ms
        if not protocols or protocols[0][1] != stored.subscription:  # most members have the same: one copy for all
            protocols = ((protocol_name, stored.subscription),)
        group.enter(
            Member(
                stored.member_id,
                stored.group_instance_id,
                stored.client_id,
                stored.client_host,
                timeout_ms if timeout_ms != -1 else stored.session_timeout_ms,
                stored.session_timeout_ms,
                value.protocol_type,
                protocols,
                stored.assignment,
            )
        )
    if group.members:
        if value.leader is not None and value.leader in group.members:
            group.leader_id = value.leader
        group.state = STABLE  # not in the table of transitions: only loading makes a group Stable directly
    group.compute_subscribed_topics()
    return group
