"""The ends of the logs that groups read, asked of the leaders (ListOffsets), from which lag is computed.

All partitions of a node go into few requests, and all nodes are asked at once. A partition that cannot be asked for
(no rights, no leader, no such topic) is unknown: it is missing from the answer. An answer is kept for a few seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from coordinator.observe.cluster import ObservedCluster
from coordinator.observe.errors import ClusterProblem
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
MAX_VERSION: Final = 9  # versions beyond it ask about tiered storage
PER_REQUEST: Final = 2_000  # partitions
TOPICS_PER_REQUEST: Final = 500
MOST_PARTITIONS: Final = 50_000  # the others are unknown
KEPT_S: Final = 3.0
LEADERS_KEPT_S: Final = 60.0

TopicPartition: TypeAlias = tuple[str, int]


async def offsets_at(
    cluster: ObservedCluster, leaders: Mapping[TopicPartition, int], timestamp: int
) -> dict[TopicPartition, int]:
    """Return the offset of each partition at LATEST or EARLIEST, as far as its leader answers.

    ClusterProblem: no leader can be asked.
    """
    by_node: dict[int, list[TopicPartition]] = {}
    for key, node in leaders.items():
        by_node.setdefault(node, []).append(key)
    answers = await asyncio.gather(
        *(_ask(cluster, node, keys, timestamp) for node, keys in by_node.items()), return_exceptions=True
    )
    found: dict[TopicPartition, int] = {}
    failures: list[ClusterProblem] = []
    for answer in answers:
        if isinstance(answer, ClusterProblem):
            failures.append(answer)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found |= answer
    if failures and len(failures) == len(answers):
        raise failures[0]
    return found


async def _ask(
    cluster: ObservedCluster, node: int, keys: Sequence[TopicPartition], timestamp: int
) -> dict[TopicPartition, int]:
    """Ask one node, in requests of limited size."""
    link = await cluster.node(node)
    found: dict[TopicPartition, int] = {}
    for first in range(0, len(keys), PER_REQUEST):
        by_topic: dict[str, list[ListOffsetsPartition]] = {}
        for topic, partition in keys[first : first + PER_REQUEST]:
            wanted = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
            by_topic.setdefault(topic, []).append(wanted)
        request = ListOffsetsRequest(
            replica_id=CONSUMER,
            topics=[ListOffsetsTopic(name=topic, partitions=partitions) for topic, partitions in by_topic.items()],
        )
        answer = await link.call(request, ListOffsetsResponse, MAX_VERSION)
        for topic_answer in answer.topics:
            for each in topic_answer.partitions:
                if not each.error_code and each.offset >= 0:
                    found[topic_answer.name, each.partition_index] = each.offset
    return found


class LogEnds:
    """Asks for the ends of logs, at most every few seconds. It has links of its own to the nodes."""

    def __init__(self, cluster: ObservedCluster, *, kept_s: float = KEPT_S) -> None:
        self.problem = ""  # the last one, a sentence
        self._cluster = cluster
        self._kept_s = kept_s
        self._leaders: dict[str, dict[int, int]] = {}  # by topic; empty: unknown, or not to be seen
        self._leaders_until: dict[str, float] = {}
        self._ends: dict[TopicPartition, tuple[float, int]] = {}  # when it was asked, the end
        self._asked_at: dict[TopicPartition, float] = {}
        self._lock = asyncio.Lock()

    async def ends(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the end of each of these logs that is known, at most `kept_s` old if its leader answers."""
        wanted = list(dict.fromkeys(partitions))[:MOST_PARTITIONS]
        async with self._lock:
            now = time.monotonic()
            due = [key for key in wanted if now - self._asked_at.get(key, -LEADERS_KEPT_S) >= self._kept_s]
            if due:
                self._asked_at = {key: at for key, at in self._asked_at.items() if now - at < LEADERS_KEPT_S}
                self._asked_at.update(dict.fromkeys(due, now))
                self._ends = {key: end for key, end in self._ends.items() if now - end[0] < LEADERS_KEPT_S}
                try:
                    await self._ask(due, now)
                    self.problem = ""
                except ClusterProblem as problem:
                    self.problem = str(problem)
            return {key: self._ends[key][1] for key in wanted if key in self._ends}

    async def _ask(self, due: Sequence[TopicPartition], now: float) -> None:
        await self._find_leaders({topic for topic, _ in due}, now)
        leaders = {
            (topic, partition): node
            for topic, partition in due
            if (node := self._leaders.get(topic, {}).get(partition, -1)) >= 0
        }
        if not leaders:
            return
        found = await offsets_at(self._cluster, leaders, LATEST)
        self._ends.update({key: (now, end) for key, end in found.items()})
        for topic in {topic for topic, partition in leaders if (topic, partition) not in found}:
            self._leaders_until.pop(topic, None)  # its leader may have changed

    async def _find_leaders(self, topics: set[str], now: float) -> None:
        unknown = sorted(topic for topic in topics if self._leaders_until.get(topic, 0.0) <= now)
        for first in range(0, len(unknown), TOPICS_PER_REQUEST):
            layouts = await self._cluster.layouts(unknown[first : first + TOPICS_PER_REQUEST])
            for topic, layout in layouts.items():
                is_known = layout.error_code in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE)
                self._leaders[topic] = layout.leaders if is_known else {}
                self._leaders_until[topic] = now + LEADERS_KEPT_S
        if len(self._leaders) > MOST_PARTITIONS:
            self._leaders.clear()
            self._leaders_until.clear()

    async def topic_names(self) -> dict[bytes, str]:
        """Return the name of each topic that this user may describe, by its id. ClusterProblem: none can be asked."""
        return await self._cluster.topic_names()

    def close(self) -> None:
        self._cluster.close()
