"""The three topics of the engine: created when they are missing, checked when they are there.

The offsets log and the snapshots are never deleted by Kafka itself and never compacted: snapshots and `trim` are the
compaction. Kafka's cleaner knows no claims, so a record that does not count could make it remove one that does. Only
the topic of the nodes is compacted.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from coordinator.config.values import Address
from coordinator.engine.kafka.client import BrokerError, KafkaClient, TopicPlace, raise_for
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.store_partitions import StorePartitions
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.metadata import MetadataResponse

REPLICAS: Final = 3
MIN_IN_SYNC: Final = 2
TOPIC_RESOURCE: Final = 2  # as resource type of DescribeConfigs
MAX_MESSAGE_BYTES: Final = 8 << 20
ANY_TIME: Final = {"message.timestamp.after.max.ms": str((1 << 63) - 1)}  # also that of a node whose clock is wrong
NODES_PARTITIONS: Final = 2  # the records; the start-up probe and the parts of documents

_CREATE_TIME: Final = {"message.timestamp.type": "CreateTime", "unclean.leader.election.enable": "false"}
KEPT: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
COMPACTED: Final = {"cleanup.policy": "compact"}
SMALL_SEGMENTS: Final = {"segment.bytes": str(1 << 20), "min.cleanable.dirty.ratio": "0.1"}


class EngineTopics(NamedTuple):
    """The topics, and the largest batch that the offsets log takes."""

    offsets: str
    max_batch_bytes: int

    def log(self, partition: int) -> TopicPlace:
        """Return the place of a partition of the offsets log."""
        return TopicPlace(self.offsets, partition)

    def snapshots(self, partition: int) -> TopicPlace:
        """Return the place of the snapshots of a partition."""
        return TopicPlace(f"{self.offsets}-snapshots", partition)

    @property
    def nodes(self) -> TopicPlace:
        """The place of the records of nodes and owners."""
        return TopicPlace(f"{self.offsets}-nodes", 0)

    @property
    def probe(self) -> TopicPlace:
        """The place of the start-up probe."""
        return TopicPlace(f"{self.offsets}-nodes", 1)

    @property
    def parts(self) -> TopicPlace:
        """The place of the parts of shared documents. They are told from the probe's records by their keys."""
        return self.probe


class _Wanted(NamedTuple):
    name: str
    partitions: int
    least: int  # partitions of one that an earlier version has made
    must: dict[str, str]  # settings that are also required of a topic that is there
    other: dict[str, str]


async def open_topics(
    client: KafkaClient, name: str, partitions: StorePartitions, *, require_sync: bool
) -> EngineTopics:
    """Create the topics that are missing and check the others. Raises LogStoreError.

    Topics that were made before nodes claimed partitions of the transaction log get more partitions.
    """
    large = {"max.message.bytes": str(MAX_MESSAGE_BYTES), **ANY_TIME}
    wanted = [
        _Wanted(name, partitions.total, partitions.offsets, KEPT, large),
        _Wanted(f"{name}-snapshots", partitions.total, partitions.offsets, KEPT, large),
        _Wanted(f"{name}-nodes", NODES_PARTITIONS, NODES_PARTITIONS, COMPACTED, SMALL_SEGMENTS),
    ]
    for topic in wanted:
        await client.repeat(lambda topic=topic: _create(client, topic, require_sync))  # type: ignore[misc]
        await _check(client, topic, require_sync)
    settings = await _settings(client, name)
    return EngineTopics(name, int(settings.get("max.message.bytes", MAX_MESSAGE_BYTES)))


async def find_topics(client: KafkaClient, name: str) -> EngineTopics:
    """Return the topics for a program that only reads them. Raises LogStoreError if they are not there."""
    topics = EngineTopics(name, MAX_MESSAGE_BYTES)
    for topic in (await client.metadata([topics.offsets, topics.nodes.topic])).topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise LogStoreError(
                f"Kafka at {client.address} has no topic {topic.name}; check log.engine and cluster.id: the first node "
                "that starts with them makes it",
                may_pass=False,
            )
        raise_for(topic.error_code)
    return topics


async def _create(client: KafkaClient, topic: _Wanted, require_sync: bool) -> None:
    known = await client.metadata([topic.name])
    code = known.topics[0].error_code
    if code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        raise_for(code)
        return
    replicas = REPLICAS if require_sync else min(REPLICAS, len(known.brokers))
    configs = {
        **_CREATE_TIME,
        **topic.must,
        **topic.other,
        "min.insync.replicas": str(min(MIN_IN_SYNC, replicas)),
    }
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=topic.name,
                num_partitions=topic.partitions,
                replication_factor=replicas,
                configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
            )
        ],
        timeout_ms=int(client.timeout_s * 1000),
    )
    answer = (await client.ask(_controller(client, known), request)).topics[0]
    if answer.error_code == ErrorCode.INVALID_REPLICATION_FACTOR:
        raise LogStoreError(
            f"Kafka at {client.address} has {len(known.brokers)} brokers, and log.engine.require.sync asks for "
            f"{replicas}; add brokers, or set log.engine.require.sync=false for a test",
            may_pass=False,
        )
    if answer.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
        raise_for(answer.error_code, answer.error_message)
    raise BrokerError(ErrorCode.LEADER_NOT_AVAILABLE)  # have it looked up again until it is there


async def _check(client: KafkaClient, topic: _Wanted, require_sync: bool) -> None:
    partitions = (await client.repeat(lambda: client.metadata([topic.name]))).topics[0].partitions
    if topic.least <= len(partitions) < topic.partitions:
        await client.repeat(lambda: _add_partitions(client, topic))
    elif len(partitions) < topic.least:
        raise _refusal(f"topic {topic.name} has {len(partitions)} partitions, not {topic.partitions}", "recreate it")
    settings = await _settings(client, topic.name)
    for key, value in {**topic.must, "message.timestamp.type": "CreateTime"}.items():
        if settings.get(key, value) != value:
            raise _refusal(f"topic {topic.name} has {key}={settings[key]}", f"set {key}={value} there")
    if not require_sync:
        return
    replicas = min(len(each.replica_nodes) for each in partitions)
    in_sync = int(settings.get("min.insync.replicas", 1))
    if replicas < MIN_IN_SYNC or in_sync < MIN_IN_SYNC or settings.get("unclean.leader.election.enable") == "true":
        raise _refusal(
            f"topic {topic.name} may lose what was acknowledged (replicas {replicas}, min.insync.replicas {in_sync})",
            f"give it {REPLICAS} replicas, min.insync.replicas={MIN_IN_SYNC} and unclean.leader.election.enable=false, "
            "or set log.engine.require.sync=false for a test",
        )


def _controller(client: KafkaClient, known: MetadataResponse) -> Address:
    found = next((each for each in known.brokers if each.node_id == known.controller_id), known.brokers[0])
    return client.broker(found.node_id)


async def _add_partitions(client: KafkaClient, topic: _Wanted) -> None:
    known = await client.metadata([topic.name])
    if len(known.topics[0].partitions) >= topic.partitions:
        return
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=topic.name, count=topic.partitions, assignments=None)],
        timeout_ms=int(client.timeout_s * 1000),
    )
    (answer,) = (await client.ask(_controller(client, known), request)).results
    if answer.error_code != ErrorCode.INVALID_PARTITIONS:  # another node has been faster
        raise_for(answer.error_code, answer.error_message)
    raise BrokerError(ErrorCode.LEADER_NOT_AVAILABLE)  # have it looked up again until they are there


def _refusal(fault: str, advice: str) -> LogStoreError:
    return LogStoreError(f"log.engine cannot be used: {fault}; {advice}", may_pass=False)


async def _settings(client: KafkaClient, topic: str) -> dict[str, str]:
    request = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=topic, configuration_keys=None)]
    )

    async def act() -> dict[str, str]:
        (result,) = (await client.ask(await client.leader(TopicPlace(topic, 0)), request)).results
        raise_for(result.error_code, result.error_message)
        return {each.name: each.value or "" for each in result.configs}

    return await client.repeat(act)
