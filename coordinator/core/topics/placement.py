"""Requests that would move partitions: each partition has one copy, which stays on its node and in its directory.

A request for the place where a partition already is succeeds, as in Kafka. Every other place is refused. Source:
`ReplicationControlManager.alterPartitionReassignment` and `ReplicaManager.alterReplicaLogDirs` of Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.topics.create_topics import check_replicas
from protocol.error_codes import ErrorCode
from protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.core.cluster import Cluster
    from coordinator.core.topics.catalogue import Catalogue, Topic
    from coordinator.core.topics.create_topics import Refusal
    from coordinator.core.topics.effects import DiskSpace

PER_STEP: Final = 500  # partitions


def alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest,
    catalogue: Catalogue,
    cluster: Cluster,
    response: AlterPartitionReassignmentsResponse,
) -> Iterator[None]:
    """Fill in the response, some partitions at a time; without topics it has no error message but an empty one."""
    if not request.topics:
        return
    response.error_message = None
    response.allow_replication_factor_change = request.allow_replication_factor_change
    done = 0
    for each in request.topics:
        result = ReassignableTopicResponse(name=each.name)
        response.responses.append(result)
        topic = catalogue.topics.get(each.name)
        for asked in each.partitions:
            error, reason = _reassign(request, each.name, topic, asked, cluster) or (ErrorCode.NONE, None)
            result.partitions.append(ReassignablePartitionResponse(asked.partition_index, error, reason))
            done += 1
            if done % PER_STEP == 0:
                yield
        done += 1
        if done % PER_STEP == 0:
            yield


def _reassign(
    request: AlterPartitionReassignmentsRequest,
    name: str,
    topic: Topic | None,
    asked: ReassignablePartition,
    cluster: Cluster,
) -> Refusal | None:
    index, replicas = asked.partition_index, asked.replicas
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic '{name}'"
    if not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {name}-{index}"
    if replicas is None:
        return ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress."
    are_nodes = len(set(replicas)) == len(replicas) and cluster.nodes.keys() >= set(replicas)
    if are_nodes and len(replicas) > 1 and not request.allow_replication_factor_change:
        return (
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"the replication factor would change from 1 to {len(replicas)}, which the request does not allow",
        )
    refusal = check_replicas(replicas, index, cluster)
    if refusal is not None:
        return refusal
    here = topic.partitions[index].leader
    if replicas != [here]:
        return (
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"partition {name}-{index} is on node {here} and cannot move; create a topic with manual assignments "
            "instead (docs/cluster.md, section Manual assignments)",
        )
    return None


def alter_replica_log_dirs(
    request: AlterReplicaLogDirsRequest,
    catalogue: Catalogue,
    space: DiskSpace | None,
    response: AlterReplicaLogDirsResponse,
) -> Iterator[None]:
    """Fill in the response, some partitions at a time; `space` is None if the directory cannot be used.

    As in Kafka, the last directory counts that the request names for a partition.
    """
    asked: dict[tuple[str, int], str] = {}
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    done = 0
    for directory in request.dirs:
        for each in directory.topics:
            for index in each.partitions:
                asked[each.name, index] = directory.path
                done += 1
                if done % PER_STEP == 0:
                    yield
            done += 1
            if done % PER_STEP == 0:
                yield
    for (name, index), path in asked.items():
        if name not in results:
            results[name] = AlterReplicaLogDirTopicResult(topic_name=name)
            response.results.append(results[name])
        error = _move(catalogue.topics.get(name), index, path, space)
        results[name].partitions.append(AlterReplicaLogDirPartitionResult(index, error))
        done += 1
        if done % PER_STEP == 0:
            yield


def _move(topic: Topic | None, index: int, path: str, space: DiskSpace | None) -> ErrorCode:
    if space is None:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if path != space.path:
        return ErrorCode.LOG_DIR_NOT_FOUND
    if topic is None or not 0 <= index < len(topic.partitions):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if not topic.partitions[index].is_local:
        return ErrorCode.REPLICA_NOT_AVAILABLE
    return ErrorCode.KAFKA_STORAGE_ERROR if topic.partitions[index].is_offline else ErrorCode.NONE
