"""Offsets of partitions, asked of their leaders: the first, the end, or the first one at or after a time."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

from coordinator.cli.client import Client, UnreachableError, explain
from coordinator.cli.errors import CliError
from protocol.error_codes import ErrorCode
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
    answers = _ask(client, set(partitions), timestamp, leave_out_unreachable=leave_out_unreachable)
    return {key: offset for key, (code, offset) in answers.items() if not code and offset >= 0}


def offsets_at(client: Client, partitions: Iterable[tuple[str, int]], timestamp: int) -> dict[tuple[str, int], int]:
    """Return the first offset at or after a time, -1 if there is none. CliError: a partition has no answer."""
    wanted = set(partitions)
    answers = _ask(client, wanted, timestamp, leave_out_unreachable=False)
    for topic, partition in sorted(wanted):
        code, _ = answers.get((topic, partition), (int(ErrorCode.LEADER_NOT_AVAILABLE), -1))
        if code:
            raise CliError(f"the offsets of {topic}-{partition} are not known now: {explain(code)}; try again later", 1)
    return {key: offset for key, (_, offset) in answers.items()}


def _ask(
    client: Client, wanted: set[tuple[str, int]], timestamp: int, *, leave_out_unreachable: bool
) -> dict[tuple[str, int], tuple[int, int]]:
    """Return (error code, offset) of each partition that has a leader."""
    if not wanted:
        return {}
    by_leader: dict[int, dict[str, list[int]]] = {}
    for topic in client.metadata(sorted({topic for topic, _ in wanted})).topics:
        name = topic.name or ""
        for partition in topic.partitions:
            if (name, partition.partition_index) in wanted and partition.leader_id >= 0:
                by_leader.setdefault(partition.leader_id, {}).setdefault(name, []).append(partition.partition_index)
    answers: dict[tuple[str, int], tuple[int, int]] = {}
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
                answers[answered.name, each.partition_index] = each.error_code, each.offset
    return answers
