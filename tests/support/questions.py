"""Raw requests to the daemon, one per function, which return plain values.

They use no client library, so they find what a library would hide.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from protocol.consumer import decode_assignment
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.support.wire import call

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group in an answer of DescribeGroups. `assignments` is by member id."""

    state: str
    protocol: str
    protocol_type: str
    assignments: dict[str, frozenset[TopicPartition]]
    instance_ids: dict[str, str | None]


def describe_group(port: int, group: str) -> GroupView:
    (found,) = call(port, DescribeGroupsRequest(groups=[group]), 5).groups
    assert found.error_code == 0, found
    assignments = {}
    for member in found.members:
        owned = frozenset[TopicPartition]()
        if member.member_assignment:
            decoded = decode_assignment(member.member_assignment)
            owned = frozenset((each.topic, index) for each in decoded.assigned_partitions for index in each.partitions)
        assignments[member.member_id] = owned
    instance_ids = {member.member_id: member.group_instance_id for member in found.members}
    return GroupView(found.group_state, found.protocol_data, found.protocol_type, assignments, instance_ids)


def list_groups(port: int) -> dict[str, str]:
    """Return the state of each group by its id."""
    response = call(port, ListGroupsRequest(), 4)
    assert response.error_code == 0, response
    return {each.group_id: each.group_state for each in response.groups}


def committed_offsets(port: int, group: str) -> dict[TopicPartition, int]:
    """Return all committed offsets of a group."""
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
    (found,) = call(port, request, 8).groups
    assert found.error_code == 0, found
    offsets = {}
    for topic in found.topics:
        for each in topic.partitions:
            assert each.error_code == 0, found
            offsets[topic.name, each.partition_index] = each.committed_offset
    return offsets


def commit_offsets(port: int, group: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Commit without being a member."""
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)],
        )
        for (topic, index), offset in offsets.items()
    ]
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, member_id="", topics=topics)
    answer = call(port, request, 8)
    codes = [each.error_code for topic in answer.topics for each in topic.partitions]
    assert not any(codes), answer


def produce(port: int, topic: str, partition: int, values: Sequence[bytes]) -> int:
    """Append one batch; returns its base offset."""
    batch = bytes(build_batch([(None, value) for value in values], timestamp_ms=time.time_ns() // 1_000_000))
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)])
    (topic_answer,) = call(port, ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data]), 9).responses
    (answer,) = topic_answer.partition_responses
    assert answer.error_code == 0, answer
    return int(answer.base_offset)
