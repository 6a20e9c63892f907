"""DescribeTopicPartitions: the partitions of topics in order of their names, one page at a time.

A page has at most as many partitions as the client asks for, and at most `MAX_PARTITIONS` (Kafka's
max.request.partition.size.limit); unknown topics do not count. The cursor names the topic and the partition at which
the next page begins. Source: Kafka 4.4's `DescribeTopicPartitionsRequestHandler`.
"""

from __future__ import annotations

from heapq import merge
from typing import TYPE_CHECKING, Final

from coordinator.core.topics import names
from coordinator.core.topics.describe import ALL_TOPIC_OPERATIONS
from coordinator.core.topics.partition import LEADER_EPOCH
from protocol.error_codes import ErrorCode
from protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.core.topics.catalogue import Catalogue, Topic
    from coordinator.core.topics.partition import Partition

MAX_PARTITIONS: Final = 2000
SORTED_AT_ONCE: Final = 4000  # names
PER_STEP: Final = 200  # partitions, or unknown topics


def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, catalogue: Catalogue, response: DescribeTopicPartitionsResponse
) -> Iterator[None]:
    """Fill in the response, some partitions at a time."""
    cursor = request.cursor
    first = cursor.topic_name if cursor is not None else ""
    asks_for_all = not request.topics
    if cursor is not None and (
        cursor.partition_index < 0 or not (asks_for_all or any(each.name == first for each in request.topics))
    ):
        response.topics = [
            DescribeTopicPartitionsResponseTopic(error_code=ErrorCode.INVALID_REQUEST, name=each.name)
            for each in request.topics
        ]
        return
    asked = list(catalogue.topics) if asks_for_all else [each.name for each in request.topics]
    runs = []  # sorted runs of names: sorting all of them at once could take long
    for start in range(0, len(asked), SORTED_AT_ONCE):
        runs.append(sorted({name for name in asked[start : start + SORTED_AT_ONCE] if name >= first}))
        if len(asked) > SORTED_AT_ONCE:
            yield
    left = max(min(request.response_partition_limit, MAX_PARTITIONS), 1)
    done = 0
    last = None
    for name in merge(*runs):
        if name == last:
            continue
        last = name
        if left <= 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            return
        topic = catalogue.topics.get(name)
        if topic is None:
            if not asks_for_all:  # otherwise it was deleted since the request began
                response.topics.append(_missing(name))
                done += 1
        else:
            begin = cursor.partition_index if cursor is not None and name == first else 0
            end = min(begin + left, len(topic.partitions))
            described = _described(topic)
            response.topics.append(described)
            for start in range(begin, end, PER_STEP):
                some = topic.partitions[start : min(start + PER_STEP, end)]
                described.partitions += [_partition(each) for each in some]
                if end - start > PER_STEP:
                    yield
            if end < len(topic.partitions):
                response.next_cursor = Cursor(topic_name=name, partition_index=end)
                return
            left -= len(described.partitions)
            done += 1 + len(described.partitions)
        if done >= PER_STEP:
            done = 0
            yield


def _described(topic: Topic) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.is_internal,
        topic_authorized_operations=ALL_TOPIC_OPERATIONS,
    )


def _missing(name: str) -> DescribeTopicPartitionsResponseTopic:
    is_valid = names.why_invalid(name) is None
    return DescribeTopicPartitionsResponseTopic(
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_valid else ErrorCode.INVALID_TOPIC_EXCEPTION,
        name=name,
        is_internal=names.is_internal(name),
        topic_authorized_operations=ALL_TOPIC_OPERATIONS,
    )


def _partition(partition: Partition) -> DescribeTopicPartitionsResponsePartition:
    replicas, none = [partition.leader], list[int]()
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.NONE,
        partition_index=partition.index,
        leader_id=-1 if partition.is_offline else partition.leader,
        leader_epoch=LEADER_EPOCH,
        replica_nodes=replicas,
        isr_nodes=none if partition.is_offline else replicas,
        eligible_leader_replicas=none,
        last_known_elr=none,
        offline_replicas=replicas if partition.is_offline else none,
    )
