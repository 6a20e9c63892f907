"""An asyncio client of this coordinator's own cluster, for the console: it finds nodes, coordinators and leaders.

Requests go out in fixed versions, which every node of this project serves. Each node has one connection, with one
request at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.cluster import ClusterNode
from coordinator.server.peer_connection import LinkError
from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

if TYPE_CHECKING:
    from coordinator.server.node_links import NodeLinks
    from coordinator.server.peer_connection import PeerConnection

CLIENT_ID: Final = "coordinator-console"
WITHIN_S: Final = 5.0  # for one answer
METADATA_VERSION: Final = 9
FIND_COORDINATOR_VERSION: Final = 3
LIST_OFFSETS_VERSION: Final = 6
LATEST: Final = -1  # the timestamp that stands for the end
CONSUMER: Final = -1  # as replica id
TROUBLE: Final = (OSError, LinkError)  # TimeoutError is an OSError


class ClusterClient:
    """The nodes of one cluster. Every call may raise one of TROUBLE."""

    def __init__(self, bootstrap: Callable[[], Sequence[ClusterNode]], links: NodeLinks) -> None:
        self._bootstrap = bootstrap
        self._links = links
        self._peers: dict[ClusterNode, PeerConnection] = {}
        self._locks: dict[ClusterNode, asyncio.Lock] = {}
        self.nodes: dict[int, ClusterNode] = {}
        self._told: list[ClusterNode] = []
        self.cluster_id = ""

    @property
    def shown(self) -> Sequence[ClusterNode]:
        """The nodes under addresses for people: those of clients, if nodes connect to each other in another way."""
        return self._told if self._links.has_ways else list(self.nodes.values())

    async def ask(self, node: ClusterNode, request: Any, version: int) -> Any:
        """Send a request to a node and return its answer."""
        async with self._locks.setdefault(node, asyncio.Lock()):
            peer = self._peers.pop(node, None)
            if peer is None or not peer.is_usable:
                peer = await self._links.connect(node, CLIENT_ID)
            try:
                answer = await peer.call(request, version, within_s=WITHIN_S)
            except BaseException:
                peer.close()
                raise
            self._peers[node] = peer
            return answer

    async def metadata(self, topics: Sequence[str] = ()) -> MetadataResponse:
        """Ask the first bootstrap address that answers for the nodes, and for some topics. Creates no topic."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in topics], allow_auto_topic_creation=False
        )
        failure: Exception = LinkError("the daemon has no address yet")
        for asked in self._bootstrap():
            try:
                answer: MetadataResponse = await self.ask(asked, request, METADATA_VERSION)
            except TROUBLE as error:
                failure = error
                continue
            self.cluster_id = answer.cluster_id or ""
            self.nodes = {each.node_id: ClusterNode(each.node_id, each.host, each.port) for each in answer.brokers}
            self._told = list(self.nodes.values())
            if len(self.nodes) == 1:  # the one that answered; it may advertise an address for other clients
                (node_id,) = self.nodes
                self.nodes = {node_id: asked._replace(id=node_id)}
            self._forget_others()
            return answer
        raise failure

    async def coordinator(self, group: str) -> ClusterNode:
        """Return the node that coordinates a group."""
        if not self.nodes:
            await self.metadata()
        node = next(iter(self.nodes.values()))
        answer = await self.ask(node, FindCoordinatorRequest(key=group), FIND_COORDINATOR_VERSION)
        if answer.error_code:
            raise LinkError(f"{node} does not tell the coordinator of the group: {ErrorCode(answer.error_code).name}")
        found = self.nodes.get(answer.node_id)
        if found is None:
            raise LinkError(f"node {answer.node_id} is not in the cluster at the moment")
        return found

    async def ends(self, wanted: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], int]:
        """Return the ends of partitions, as far as their leaders tell them."""
        by_leader: dict[int, dict[str, list[int]]] = {}
        for topic in (await self.metadata(list(wanted))).topics:
            asked = set(wanted.get(topic.name or "", ()))
            for partition in topic.partitions:
                if partition.partition_index in asked and topic.name is not None:
                    by_leader.setdefault(partition.leader_id, {}).setdefault(topic.name, []).append(
                        partition.partition_index
                    )
        answers = await asyncio.gather(
            *(self._ends_at(self.nodes[leader], topics) for leader, topics in by_leader.items() if leader in self.nodes)
        )
        return {place: end for found in answers for place, end in found.items()}

    async def _ends_at(self, node: ClusterNode, topics: Mapping[str, Sequence[int]]) -> dict[tuple[str, int], int]:
        request = ListOffsetsRequest(
            replica_id=CONSUMER,
            topics=[
                ListOffsetsTopic(
                    name=name,
                    partitions=[ListOffsetsPartition(partition_index=each, timestamp=LATEST) for each in partitions],
                )
                for name, partitions in topics.items()
            ],
        )
        try:
            answer = await self.ask(node, request, LIST_OFFSETS_VERSION)
        except TROUBLE:
            return {}
        return {
            (topic.name, each.partition_index): each.offset
            for topic in answer.topics
            for each in topic.partitions
            if not each.error_code
        }

    def _forget_others(self) -> None:
        """Close the connections to nodes that have left the cluster."""
        known = set(self.nodes.values())
        known.update(self._bootstrap())
        for node in [each for each in self._peers if each not in known]:
            self._peers.pop(node).close()
        for node in [each for each in self._locks if each not in known]:
            if not self._locks[node].locked():
                del self._locks[node]
