"""The nodes of the observed cluster and the leaders of topic partitions, as Metadata tells, and a link to each node.

A node that is known is asked first, then the bootstrap addresses. A cluster of one node is always reached by the
bootstrap address that answered, because the node may advertise an address for other clients.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from coordinator.config.values import Address, ConfigError, parse_address
from coordinator.observe.client_settings import ClientSettings
from coordinator.observe.errors import ClusterProblem, ObserveError
from coordinator.observe.link import NodeLink
from coordinator.observe.tokens import TokenProvider
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse

MAX_METADATA_VERSION: Final = 12
NO_TOPIC_ID: Final = bytes(16)


@dataclass(frozen=True, slots=True)
class TopicLayout:
    """A topic as Metadata describes it."""

    error_code: int = 0
    topic_id: bytes = NO_TOPIC_ID  # all zero: the cluster is too old to have one
    leaders: dict[int, int] = field(default_factory=dict)  # partition -> node; -1: none at the moment


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """Parse `host:port,...`. ObserveError: it is not that."""
    try:
        addresses = tuple(parse_address(entry) for entry in text.split(",") if entry.strip())
    except ConfigError as error:
        raise ObserveError(f"--bootstrap-server: {error}") from None
    if not addresses:
        raise ObserveError("--bootstrap-server names no address; write host:port")
    return addresses


class ObservedCluster:
    """Links to the nodes of one cluster. Every method raises ClusterProblem."""

    def __init__(self, bootstrap: tuple[Address, ...], settings: ClientSettings) -> None:
        self.cluster_id = ""
        self.connects = 0
        self._bootstrap = bootstrap
        self._settings = settings
        self._tokens = TokenProvider(settings.token_source) if settings.token_source is not None else None
        self._nodes: dict[int, Address] = {}
        self._links: dict[Address, NodeLink] = {}
        self._answered: Address | None = None

    @property
    def nodes(self) -> list[str]:
        """The nodes of the last answer, each as `id@host:port`."""
        return [f"{node_id}@{address}" for node_id, address in sorted(self._nodes.items())]

    @property
    def node_ids(self) -> list[int]:
        """The ids of the nodes of the last answer."""
        return sorted(self._nodes)

    async def layouts(self, topics: Iterable[str]) -> dict[str, TopicLayout]:
        """Ask for these topics. Creates none."""
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in topics], allow_auto_topic_creation=False
        )
        answer = await self._ask_any(request)
        self._nodes = {broker.node_id: Address(broker.host, broker.port) for broker in answer.brokers}
        self.cluster_id = answer.cluster_id or ""
        self._close_unused()
        return {
            topic.name or "": TopicLayout(
                topic.error_code,
                topic.topic_id or NO_TOPIC_ID,
                {each.partition_index: each.leader_id for each in topic.partitions},
            )
            for topic in answer.topics
        }

    async def topic_names(self) -> dict[bytes, str]:
        """Return the name of each topic that this user may describe, by its id, as KIP-848 records have it."""
        answer = await self._ask_any(MetadataRequest(topics=None, allow_auto_topic_creation=False))
        return {topic.topic_id: topic.name for topic in answer.topics if topic.name and topic.topic_id}

    async def _ask_any(self, request: MetadataRequest) -> MetadataResponse:
        """Ask the first node that answers."""
        failure: ClusterProblem | None = None
        for address in self._candidates():
            try:
                link = await self._link(address)
                answer = await link.call(request, MetadataResponse, MAX_METADATA_VERSION)
            except ClusterProblem as problem:
                # A refused login says more than a node that is down.
                failure = problem if failure is None or failure.may_pass else failure
                continue
            if not answer.brokers:
                failure = failure or ClusterProblem(f"{address} knows no nodes of its cluster yet; trying again")
                continue
            self._answered = address
            return answer
        raise failure or ClusterProblem("there is no address to connect to")

    def _candidates(self) -> Iterator[Address]:
        """Yield addresses once each: those with an open link first, then bootstrap addresses, then the other nodes."""
        connected = [address for address, link in self._links.items() if link.is_open]
        yield from dict.fromkeys([*connected, *self._bootstrap, *self._nodes.values()])

    async def node(self, node_id: int) -> NodeLink:
        """Return a link to a node, connecting if needed."""
        address = self._nodes.get(node_id)
        if address is None:
            raise ClusterProblem(f"node {node_id} is not in the cluster at the moment; trying again")
        if len(self._nodes) == 1 and self._answered is not None:
            address = self._answered
        return await self._link(address)

    async def _link(self, address: Address) -> NodeLink:
        link = self._links.get(address)
        if link is None or not link.is_open:
            made = await NodeLink.connect(address, self._settings, self._tokens)
            other = self._links.get(address)
            if other is not None and other is not link and other.is_open:  # another task was first
                made.close()
                return other
            link = self._links[address] = made
            self.connects += 1
        return link

    def _close_unused(self) -> None:
        """Close the links to nodes that left the cluster."""
        wanted = {*self._nodes.values(), *self._bootstrap}
        for address in [each for each in self._links if each not in wanted]:
            self._links.pop(address).close()

    def close(self) -> None:
        for link in self._links.values():
            link.close()
        self._links.clear()
