"""The topics of a response and their order, as found by comparing with Apache Kafka 4.4, request by request."""

from __future__ import annotations

from typing import Any

from coordinator.core.offsets.commit import OFFSET_COMMIT, build_response, refuse, split
from coordinator.core.offsets.deletion import OFFSET_DELETE
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import OffsetCommitRequestPartition, OffsetCommitRequestTopic

KNOWN = {"t": 2, "u": 1}


def topic(name: str, *partitions: int) -> OffsetCommitRequestTopic:
    listed = [OffsetCommitRequestPartition(partition_index=each) for each in partitions]
    return OffsetCommitRequestTopic(name=name, partitions=listed)


def shape(*topics: OffsetCommitRequestTopic, response_types: Any = OFFSET_COMMIT) -> list[tuple[str, list[int]]]:
    """Return the topics of a response in which every partition has an error."""
    refused, accepted = split(list(topics), lambda name, partition: 0 <= partition < KNOWN.get(name, 0))
    response = build_response(response_types, refuse(refused, accepted, ErrorCode.UNKNOWN_MEMBER_ID))
    return [(each.name, [partition.partition_index for partition in each.partitions]) for each in response.topics]


def test_topic_named_twice_has_two_entries_in_the_response() -> None:
    assert shape(topic("t", 0), topic("t", 0, 1)) == [("t", [0]), ("t", [0, 1])]
    assert shape(topic("t", 0), topic("u", 0), topic("t", 1)) == [("t", [0]), ("u", [0]), ("t", [1])]


def test_topic_named_twice_has_one_entry_if_any_partition_does_not_exist() -> None:
    assert shape(topic("t", 0), topic("nowhere", 0), topic("t", 1)) == [("nowhere", [0]), ("t", [0, 1])]
    assert shape(topic("t", 0, 7), topic("t", 1)) == [("t", [7, 0, 1])]


def test_unknown_topic_without_partitions_is_in_the_response() -> None:
    assert shape(topic("nowhere")) == [("nowhere", [])]
    assert shape(topic("nowhere"), response_types=OFFSET_DELETE) == [("nowhere", [])]
    assert shape(topic("t")) == []
