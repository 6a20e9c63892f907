"""The description of a group by its coordinator, in one form for both kinds of group.

DescribeGroups describes classic groups, ConsumerGroupDescribe groups of the newer consumer protocol (KIP-848). For a
group of the other kind a broker answers "not found" (DescribeGroups 6 and later) or "Dead" (before), so the first
request is tried, then the second if the broker has it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

from coordinator.cli.client import Client, NodeConnection, explain
from coordinator.cli.errors import CliError
from protocol.api_keys import ApiKey
from protocol.consumer import decode_assignment, subscribed_topics
from protocol.error_codes import ErrorCode
from protocol.errors import ProtocolError
from protocol.messages import consumer_group_describe as newer
from protocol.messages import describe_groups as classic

TopicPartition: TypeAlias = tuple[str, int]

WITHOUT_MEMBERS: Final = frozenset({"Empty", "Dead"})


@dataclass(frozen=True, slots=True)
class DescribedMember:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: list[TopicPartition] | None  # None: the assignment is in an unknown format
    subscription: list[str] | None  # None: in an unknown format
    epoch: int | None  # None: of a classic group, which does not tell it


@dataclass(frozen=True, slots=True)
class DescribedGroup:
    group_id: str
    state: str
    strategy: str
    coordinator: str  # "host:port (id)"
    members: list[DescribedMember]
    kind: str = "Classic"  # or "Consumer"
    protocol_type: str = "consumer"
    epoch: int | None = None

    @property
    def is_active(self) -> bool:
        """True if the group has members or is rebalancing."""
        return bool(self.members) or self.state not in WITHOUT_MEMBERS


class GroupNotFoundError(CliError):
    """There is no such group."""

    def __init__(self, group_id: str, hint: str = "`coordinator groups list` shows those there are") -> None:
        super().__init__(f"there is no group {group_id!r}; {hint}", 1)


def describe(client: Client, group_id: str) -> DescribedGroup:
    """Ask the group's coordinator. GroupNotFoundError: there is no such group."""
    node_id, connection = client.coordinator(group_id)
    coordinator = f"{connection.address} ({node_id})"
    group = _classic(client, connection, group_id, coordinator) or _newer(client, connection, group_id, coordinator)
    if group is None:
        raise GroupNotFoundError(group_id)
    return group


def describe_if_there(client: Client, group_id: str) -> DescribedGroup | None:
    """Return the group; None if there is none."""
    try:
        return describe(client, group_id)
    except GroupNotFoundError:
        return None


def _classic(client: Client, connection: NodeConnection, group_id: str, coordinator: str) -> DescribedGroup | None:
    def ask() -> tuple[int, classic.DescribedGroup]:
        request = classic.DescribeGroupsRequest(groups=[group_id])
        (group,) = connection.call(request, classic.DescribeGroupsResponse).groups
        is_final = group.error_message is not None
        return 0 if is_final else _unless_missing(group.error_code), group

    group = client.patiently(f"describing group {group_id!r}", ask)
    if _unless_missing(group.error_code):
        raise CliError(f"describing group {group_id!r}: {explain(group.error_code, group.error_message)}", 1)
    if group.error_code or (group.group_state == "Dead" and not group.members):
        return None
    members = [
        DescribedMember(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host,
            _assigned(group, each),
            _subscribed(group, each),
            None,
        )
        for each in group.members
    ]
    return DescribedGroup(
        group_id,
        group.group_state,
        group.protocol_data,
        coordinator,
        _sorted(members),
        protocol_type=group.protocol_type,
    )


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


def _subscribed(group: classic.DescribedGroup, member: classic.DescribedGroupMember) -> list[str] | None:
    """Return the subscribed topics; None for an unknown format, and while the group rebalances."""
    if group.protocol_type != "consumer" or not member.member_metadata:
        return None
    try:
        return sorted(subscribed_topics(member.member_metadata))
    except ProtocolError:
        return None


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
            sorted(each.subscribed_topic_names),
            each.member_epoch,
        )
        for each in group.members
    ]
    return DescribedGroup(
        group_id,
        group.group_state,
        group.assignor_name,
        coordinator,
        _sorted(members),
        kind="Consumer",
        epoch=group.group_epoch,
    )


def _unless_missing(error_code: int) -> int:
    return 0 if error_code == ErrorCode.GROUP_ID_NOT_FOUND else error_code


def _sorted(members: list[DescribedMember]) -> list[DescribedMember]:
    return sorted(members, key=lambda member: member.member_id)
