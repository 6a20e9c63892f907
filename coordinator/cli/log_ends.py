"""First and end offsets of partitions, asked of their leaders: for a group's lag and for the limits of a restore."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from coordinator.cli.client import Client, UnreachableError
from protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)

LATEST: Final = -1
EARLIEST: Final = -2
CONSUMER: Final = -1  # the replica id of clients other than brokers


def log_end_offsets(client: Client, partitions: Iterable[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Return the end of each partition that exists and whose leader answers."""
    return log_offsets(client, partitions, LATEST, leave_out_unreachable=True)


def log_offsets(
    client: Client, partitions: Iterable[tuple[str, int]], timestamp: int, *, leave_out_unreachable: bool = False
) -> dict[tuple[str, int], int]:
    """Return the offset of each partition at LATEST or EARLIEST. Partitions without a leader are left out."""
    wanted = set(partitions)
    if not wanted:
        return {}
    by_leader: dict[int, dict[str, list[int]]] = {}
    for topic in client.metadata(sorted({topic for topic, _ in wanted})).topics:
        name = topic.name or ""
        for partition in topic.partitions:
            if (name, partition.partition_index) in wanted and partition.leader_id >= 0:
                by_leader.setdefault(partition.leader_id, {}).setdefault(name, []).append(partition.partition_index)
    ends: dict[tuple[str, int], int] = {}
    for leader, topics in by_leader.items():
        request = ListOffsetsRequest(
            replica_id=CONSUMER,
            topics=[
                ListOffsetsTopic(
                    name=name,
                    partitions=[ListOffsetsPartition(partition_index=index, timestamp=timestamp) for index in indexes],
                )
                for name, indexes in topics.items()
            ],
        )
        try:
            answer = client.node(leader).call(request, ListOffsetsResponse)
        except UnreachableError as error:
            if not leave_out_unreachable:
                raise
            print(f"coordinator: {error}", file=sys.stderr)
            continue
        for answered in answer.topics:
            for each in answered.partitions:
                if not each.error_code and each.offset >= 0:
                    ends[answered.name, each.partition_index] = each.offset
    return ends
