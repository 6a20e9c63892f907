"""Nodes of the engine on one broker, each behind a proxy of its own and with a clock that the test moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from coordinator.config.values import Address
from coordinator.engine.kafka.batches import ROW_HEADER
from coordinator.engine.kafka.client import KafkaClient
from coordinator.engine.kafka.cluster_topic import ClusterTopic
from coordinator.engine.kafka.connection import BrokerConnection
from coordinator.engine.kafka.directory import KafkaDirectory
from coordinator.engine.kafka.document_records import DOCUMENT
from coordinator.engine.kafka.documents import KafkaDocuments
from coordinator.engine.kafka.store import KafkaLogStore
from coordinator.engine.kafka.topics import EngineTopics
from coordinator.membership.directory import ExpiredError
from tests.support.log_store_kit import StoreWorld
from tests.support.tcp_proxy import TcpProxy

LEASE_S = 600.0
HEARTBEAT_S = 0.1
TIMEOUT_S = 20.0
MARKER = ROW_HEADER.encode()  # in a request that appends batches, and in no other one


class KafkaTopic(NamedTuple):
    """The topics on one broker, and the partitions and node ids that no test has used."""

    port: int
    topics: EngineTopics
    partitions: Iterator[int]
    node_ids: Iterator[int]


class KafkaNodes(StoreWorld):
    """The world of the kit."""

    loses_outcomes = True

    def __init__(self, topic: KafkaTopic) -> None:
        super().__init__()
        self.new_partitions, self.new_ids = topic.partitions, topic.node_ids  # type: ignore[assignment]
        self.topic = topic
        self.proxies: dict[int, TcpProxy] = {}
        self.now_s = 0.0
        self._silent: set[int] = set()

    async def open(self, node_id: int) -> tuple[KafkaLogStore, KafkaDirectory, KafkaDocuments]:
        if node_id not in self.proxies:
            self.proxies[node_id] = await TcpProxy("127.0.0.1", self.topic.port).start()
        proxy = self.proxies[node_id]

        async def connect(_: Address) -> BrokerConnection:
            return await BrokerConnection.connect(Address("127.0.0.1", proxy.port))

        client = KafkaClient([Address("127.0.0.1", self.topic.port)], TIMEOUT_S, connect)
        cluster = ClusterTopic(client, self.topic.topics.nodes, lambda: self.now_s)
        if node_id in self._silent:  # this process was there a lease ago, and has heard nothing since
            cluster.clock = lambda: self.now_s - LEASE_S - 1
        cluster.start()
        await cluster.catch_up()
        cluster.clock = lambda: self.now_s
        store = KafkaLogStore(client, self.topic.topics, cluster, node_id)
        directory = KafkaDirectory(cluster, store, lease_s=LEASE_S, heartbeat_s=HEARTBEAT_S)
        return store, directory, KafkaDocuments(client, self.topic.topics, cluster)

    async def silence(self, node_id: int) -> None:
        await self._renew_all_but(node_id)
        self.now_s += LEASE_S + 1
        self._silent.add(node_id)
        await self._renew_all_but(node_id)

    async def _renew_all_but(self, node_id: int) -> None:
        for node in self.opened:
            if node.id != node_id:
                with suppress(ExpiredError):
                    await node.directory.renew()

    async def lose_next_outcome(self, node_id: int, *, applied: bool) -> None:
        self.proxies[node_id].cut_at(MARKER, applied=applied)

    async def lose_next_change(self, node_id: int, name: str, text: str, *, applied: bool) -> None:
        self.proxies[node_id].cut_at(f"{DOCUMENT}/{name}/".encode(), applied=applied)

    async def close(self) -> None:
        await super().close()
        for proxy in self.proxies.values():
            await proxy.close()
        self.proxies.clear()
