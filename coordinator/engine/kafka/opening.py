"""Opens the engine on Kafka: connects, creates or checks the topics, and proves that the cluster fences."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from coordinator.config.values import Address, ConfigError, parse_address
from coordinator.engine.kafka.client import BrokerError, KafkaClient
from coordinator.engine.kafka.cluster_topic import ClusterTopic
from coordinator.engine.kafka.connection import BrokerConnection
from coordinator.engine.kafka.contact import make_contact
from coordinator.engine.kafka.directory import KafkaDirectory
from coordinator.engine.kafka.documents import KafkaDocuments
from coordinator.engine.kafka.probe import prove_fencing
from coordinator.engine.kafka.security import FILE_KEY, read_security
from coordinator.engine.kafka.store import KafkaLogStore
from coordinator.engine.kafka.topics import find_topics, open_topics
from coordinator.membership.directory import Engine
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.store_partitions import StorePartitions
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.config.config import Config

DEFAULT_PORT: Final = 9092
UNAUTHORIZED: Final = frozenset(
    {
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    }
)


async def open_kafka(config: Config, node_id: int, *, for_reading: bool = False) -> Engine:
    """Connect to the cluster and check it. Raises LogStoreError with a sentence for the user.

    `for_reading`: the topics must be there, and the cluster need not fence.
    """
    if config.log_engine_user_file or config.log_engine_password_file:
        raise LogStoreError(
            "log.engine.user.file and log.engine.password.file mean nothing for Kafka; write the login into the file "
            f"of {FILE_KEY} (security.protocol, sasl.mechanism, sasl.username, sasl.password), and remove both",
            may_pass=False,
        )
    brokers, name = parse_dsn(config.log_engine, config.cluster_id)
    security = await asyncio.to_thread(read_security, config.log_engine_config_file)
    connect = partial(BrokerConnection.connect, security=security)
    client = KafkaClient(brokers, config.log_engine_timeout_ms / 1000, connect)
    cluster: ClusterTopic | None = None
    try:
        await make_contact(client, brokers, security)
        if for_reading:
            topics = await find_topics(client, name)
        else:
            topics = await open_topics(
                client, name, StorePartitions.of(config), require_sync=config.log_engine_require_sync
            )
            await prove_fencing(client, topics.probe, f"{name}-probe-{node_id}")
        cluster = ClusterTopic(client, topics.nodes)
        cluster.start()
        await cluster.catch_up()
    except BaseException as error:
        if cluster is not None:
            await cluster.close()
        await client.close()
        if isinstance(error, BrokerError):
            raise _refused(client, name, error) from None
        raise
    store = KafkaLogStore(client, topics, cluster, node_id)
    directory = KafkaDirectory(
        cluster, store, lease_s=config.cluster_lease_ms / 1000, heartbeat_s=config.cluster_heartbeat_ms / 1000
    )
    return Engine(store, directory, KafkaDocuments(client, topics, cluster))


def _refused(client: KafkaClient, name: str, error: BrokerError) -> LogStoreError:
    advice = "check its log"
    if error.code in UNAUTHORIZED:
        advice = (
            f"allow the user of {FILE_KEY} (User:ANONYMOUS if there is none) all operations on topics and "
            f"transactional ids that begin with {name}"
        )
    return LogStoreError(
        f"Kafka at {client.address} refused a request: {error}; {advice}", may_pass=error.code not in UNAUTHORIZED
    )


def parse_dsn(log_engine: str, cluster_id: str) -> tuple[list[Address], str]:
    """Return the brokers and the topic of `kafka://host:port,.../topic`. Raises LogStoreError."""
    parts = urlsplit(log_engine)
    try:
        brokers = [
            parse_address(each if each.rpartition("]")[2].count(":") else f"{each}:{DEFAULT_PORT}")
            for each in parts.netloc.split(",")
        ]
    except ConfigError as error:
        raise LogStoreError(f"log.engine names no brokers: {error}", may_pass=False) from None
    name = parts.path.strip("/")
    if not name and not cluster_id:
        raise LogStoreError(
            "log.engine names no topic; write kafka://host:port/topic, or set cluster.id", may_pass=False
        )
    return brokers, name or f"kgc-offsets-{cluster_id}"
