"""A cluster in memory, as the follower sees one: nodes that lead partitions of the offsets topic, die and return.

Logs are lists of batches. `layouts`, `node` and `call` have the signatures of `coordinator.observe.cluster` and `link`.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from typing import Any

from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.observe.cluster import TopicLayout
from coordinator.observe.errors import ClusterProblem
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.record_batch import iter_batches


class FakeCluster:
    """All nodes and logs. Change its fields to let something happen."""

    def __init__(self, leaders: dict[int, int], topic: str = OFFSETS_TOPIC) -> None:
        self.cluster_id = "fake"
        self.topic = topic
        self.topic_id = b"\1" * 16
        self.topic_error = 0
        self.connects = 0
        self.leaders = dict(leaders)  # partition -> node
        self.told_leaders: dict[int, int] | None = None  # what Metadata says, if it is out of date
        self.logs: dict[int, bytes] = dict.fromkeys(leaders, b"")
        self.starts: dict[int, int] = dict.fromkeys(leaders, 0)
        self.errors: dict[int, int] = {}  # partition -> error code of Fetch
        self.dead: set[int] = set()
        self.is_gone = False
        self.asked: Counter[str] = Counter()
        self.in_flight: Counter[int] = Counter()
        self.most_in_flight = 0

    def end(self, partition: int) -> int:
        ends = [header.last_offset + 1 for _, header in iter_batches(self.logs[partition])]
        return max(ends, default=self.starts[partition])

    def append(self, partition: int, data: bytes) -> None:
        self.logs[partition] += data

    async def layouts(self, topics: Iterable[str]) -> dict[str, TopicLayout]:
        self.asked["metadata"] += 1
        if self.is_gone:
            raise ClusterProblem("nothing listens")
        leaders = self.leaders if self.told_leaders is None else self.told_leaders
        layout = TopicLayout(self.topic_error, self.topic_id, {} if self.topic_error else dict(leaders))
        return {topic: layout if topic == self.topic else TopicLayout(3) for topic in topics}

    async def node(self, node_id: int) -> FakeNode:
        if self.is_gone or node_id in self.dead:
            raise ClusterProblem(f"node {node_id} is down")
        self.connects += 1
        return FakeNode(self, node_id)

    def close(self) -> None:
        pass


class FakeNode:
    def __init__(self, cluster: FakeCluster, node_id: int) -> None:
        self.cluster = cluster
        self.node_id = node_id

    async def call(self, request: Any, response: type[Any], max_version: int | None = None) -> Any:
        cluster = self.cluster
        cluster.asked[f"{type(request).__name__} {self.node_id}"] += 1
        cluster.in_flight[self.node_id] += 1
        cluster.most_in_flight = max(cluster.most_in_flight, cluster.in_flight[self.node_id])
        try:
            await asyncio.sleep(0)
            if cluster.is_gone or self.node_id in cluster.dead:
                raise ClusterProblem(f"node {self.node_id} ended the connection")
            if isinstance(request, FetchRequest):
                return await self.fetch(request)
            assert isinstance(request, ListOffsetsRequest)
            return self.list_offsets(request)
        finally:
            cluster.in_flight[self.node_id] -= 1

    async def fetch(self, request: FetchRequest) -> FetchResponse:
        (topic,) = request.topics
        found = [self._partition(each.partition, each.fetch_offset) for each in topic.partitions]
        if not any(each.records or each.error_code for each in found):
            await asyncio.sleep(0.01)
        return FetchResponse(responses=[FetchableTopicResponse(topic=topic.topic, partitions=found)])

    def _partition(self, partition: int, offset: int) -> PartitionData:
        cluster = self.cluster
        code, data, end = cluster.errors.get(partition, 0), b"", -1
        if cluster.leaders[partition] != self.node_id:
            code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif not code:
            end = cluster.end(partition)
            if not cluster.starts[partition] <= offset <= end:
                code = int(ErrorCode.OFFSET_OUT_OF_RANGE)
            else:
                log = cluster.logs[partition]
                first = [at for at, header in iter_batches(log) if header.last_offset >= offset]
                data = log[first[0] : first[0] + 400] if first else b""  # a few batches, the last one cut off
        return PartitionData(partition_index=partition, error_code=code, high_watermark=end, records=data)

    def list_offsets(self, request: ListOffsetsRequest) -> ListOffsetsResponse:
        cluster = self.cluster
        answers = []
        for topic in request.topics:
            parts = []
            for each in topic.partitions:
                index = each.partition_index
                is_leader = cluster.leaders.get(index) == self.node_id
                offset = cluster.starts[index] if each.timestamp == -2 else cluster.end(index)
                code = 0 if is_leader else int(ErrorCode.NOT_LEADER_OR_FOLLOWER)
                code = cluster.errors.get(index, code)
                parts.append(
                    ListOffsetsPartitionResponse(partition_index=index, error_code=code, offset=-1 if code else offset)
                )
            answers.append(ListOffsetsTopicResponse(name=topic.name, partitions=parts))
        return ListOffsetsResponse(topics=answers)
