"""ElectLeaders: each partition has one replica, which leads it, so no election is ever needed.

A partition whose log cannot be used has no leader, and none can be elected. A partition on another node has that node
as its leader. Source: the responses of Kafka 4.4's `ReplicationControlManager.electLeaders` for such partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from protocol.error_codes import ErrorCode
from protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.core.topics.catalogue import Catalogue, Topic
    from coordinator.core.topics.create_topics import Refusal

PREFERRED: Final = 0
UNCLEAN: Final = 1
# Type of election -> error for a partition without a leader.
_NO_LEADER: Final = {
    PREFERRED: (ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "the log of the partition cannot be used"),
    UNCLEAN: (ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "the log of the partition cannot be used"),
}
_NOT_NEEDED: Final = (ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
PER_STEP: Final = 500  # partitions


def elect_leaders(request: ElectLeadersRequest, catalogue: Catalogue, response: ElectLeadersResponse) -> Iterator[None]:
    """Fill in the response, some partitions at a time."""
    asked = request.topic_partitions
    if asked == []:
        return
    kind = request.election_type
    if kind not in _NO_LEADER:
        response.error_code = ErrorCode.INVALID_REQUEST
    done = 0
    for each in asked or ():
        result = ReplicaElectionResult(topic=each.topic)
        response.replica_election_results.append(result)
        topic = catalogue.topics.get(each.topic)
        for index in each.partitions:
            error, reason = _elect(each.topic, topic, index, kind)
            result.partition_result.append(PartitionResult(index, error, reason))
            done += 1
            if done % PER_STEP == 0:
                yield
        done += 1
        if done % PER_STEP == 0:
            yield
    if asked is None and not response.error_code:  # partitions that need no election are left out
        for topic in tuple(catalogue.topics.values()):
            result = ReplicaElectionResult(topic=topic.name)
            response.replica_election_results.append(result)
            for partition in topic.partitions:
                if partition.is_offline:
                    error, reason = _NO_LEADER[kind]
                    result.partition_result.append(PartitionResult(partition.index, error, reason))
            done += 1 + len(topic.partitions) // 10
            if done >= PER_STEP:
                done = 0
                yield


def _elect(name: str, topic: Topic | None, index: int, kind: int) -> Refusal:
    if kind not in _NO_LEADER:
        return ErrorCode.INVALID_REQUEST, f"Unknown election type {kind}"
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {name}"
    if not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {name}-{index}"
    return _NO_LEADER[kind] if topic.partitions[index].is_offline else _NOT_NEEDED
