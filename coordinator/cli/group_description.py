"""The description of a group by its coordinator, in one form for both kinds of group.

DescribeGroups describes classic groups, ConsumerGroupDescribe groups of the newer consumer protocol (KIP-848). For a
group of the other kind a broker answers "not found" (DescribeGroups 6 and later) or "Dead" (before), so the first
request is tried, then the second if the broker has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from coordinator.cli.client import Client, NodeConnection
from coordinator.cli.errors import CliError
from protocol.api_keys import ApiKey
from protocol.consumer import decode_assignment
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.messages import consumer_group_describe as newer
from protocol.messages import describe_groups as classic

TopicPartition: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class DescribedMember:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: list[TopicPartition] | None  # None: the assignment is in an unknown format


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    group_id: str
    state: str
    strategy: str
    coordinator: str  # "host:port (id)"
    members: list[DescribedMember]


def describe(client: Client, group_id: str) -> DescribedGroup:
    """Ask the group's coordinator. CliError: there is no such group."""
    node_id, connection = client.coordinator(group_id)
    coordinator = f"{connection.address} ({node_id})"
    group = _classic(client, connection, group_id, coordinator) or _newer(client, connection, group_id, coordinator)
    if group is None:
        raise CliError(f"there is no group {group_id!r}; `coordinator groups list` shows those there are", 1)
    return group


def _classic(client: Client, connection: NodeConnection, group_id: str, coordinator: str) -> DescribedGroup | None:
    def ask() -> tuple[int, classic.DescribedGroup]:
        request = classic.DescribeGroupsRequest(groups=[group_id])
        (group,) = connection.call(request, classic.DescribeGroupsResponse).groups
        return _unless_missing(group.error_code), group

    group = client.patiently(f"describing group {group_id!r}", ask)
    if group.error_code or (group.group_state == "Dead" and not group.members):
        return None
    members = [
        DescribedMember(
            each.member_id, each.group_instance_id, each.client_id, each.client_host, _assigned(group, each)
        )
        for each in group.members
    ]
    return DescribedGroup(group_id, group.group_state, group.protocol_data, coordinator, _sorted(members))


def _assigned(group: classic.DescribedGroup, member: classic.DescribedGroupMember) -> list[TopicPartition] | None:
    """Return the assigned partitions; None for an unknown format, as of Kafka Connect."""
    if group.protocol_type not in ("consumer", ""):
        return None
    if not member.member_assignment:
        return []
    try:
        assignment = decode_assignment(member.member_assignment)
    except ProtocolError:
        return None
    return sorted((each.topic, partition) for each in assignment.assigned_partitions for partition in each.partitions)


def _newer(client: Client, connection: NodeConnection, group_id: str, coordinator: str) -> DescribedGroup | None:
    if not connection.offers(ApiKey.CONSUMER_GROUP_DESCRIBE):
        return None

    def ask() -> tuple[int, newer.DescribedGroup]:
        request = newer.ConsumerGroupDescribeRequest(group_ids=[group_id])
        (group,) = connection.call(request, newer.ConsumerGroupDescribeResponse).groups
        return _unless_missing(group.error_code), group

    group = client.patiently(f"describing group {group_id!r}", ask)
    if group.error_code:
        return None
    members = [
        DescribedMember(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            sorted((topic.topic_name, p) for topic in each.assignment.topic_partitions for p in topic.partitions),
        )
        for each in group.members
    ]
    return DescribedGroup(group_id, group.group_state, group.assignor_name, coordinator, _sorted(members))


def _unless_missing(error_code: int) -> int:
    return 0 if error_code == ErrorCode.GROUP_ID_NOT_FOUND else error_code


def _sorted(members: list[DescribedMember]) -> list[DescribedMember]:
    return sorted(members, key=lambda member: member.member_id)
