"""Descriptions of topics and settings: the topics of a Metadata response, and DescribeConfigs.

Metadata of a topic changes seldom and is requested often, so each topic caches its last description. A partition whose
log cannot be used has no leader: clients see LEADER_NOT_AVAILABLE for it and ask again later.

Settings are returned with their source, as tools expect: set for the topic, set for nodes at run time, set for the
server, or default. Settings of the broker are the fields of `Config`, and some of Kafka's that tools look for and whose
value is fixed here.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from coordinator.config import broker_loggers
from coordinator.config.config import keys
from coordinator.config.dynamic_config import DYNAMIC, FOR_ALL, FROM_ALL_NODES, FROM_DEFAULT, DynamicConfig
from coordinator.core.topics import names
from coordinator.core.topics.client_metrics import CLIENT_METRICS, FROM_SUBSCRIPTION, SUBSCRIPTION_KEYS
from coordinator.core.topics.group_configs import FROM_GROUP, GROUP, GROUP_KEYS
from coordinator.core.topics.partition import LEADER_EPOCH
from coordinator.core.topics.settings import TOPIC_KEYS, ConfigType, Effect, TopicKey
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopicConfigs
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from coordinator.core.topics.catalogue import Catalogue, Topic

# Resource types and sources, by their numbers on the wire.
TOPIC: Final = 2
BROKER: Final = 4
BROKER_LOGGER: Final = 8
FROM_TOPIC: Final = 1
FROM_LOGGER: Final = 6

RESOURCES_PER_STEP: Final = 10
NOT_ASKED: Final = -2147483648
# Without access control everything is allowed: the bits of READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE,
# DESCRIBE_CONFIGS and ALTER_CONFIGS for a topic, and of all operations on a cluster.
ALL_TOPIC_OPERATIONS: Final = sum(1 << bit for bit in (3, 4, 5, 6, 7, 8, 10, 11))
ALL_CLUSTER_OPERATIONS: Final = sum(1 << bit for bit in (5, 7, 8, 9, 10, 11, 12))

_SERVER_TYPES: Final = {
    "int": ConfigType.INT,
    "long": ConfigType.LONG,
    "double": ConfigType.DOUBLE,
    "boolean": ConfigType.BOOLEAN,
    "string": ConfigType.STRING,
    "password": ConfigType.PASSWORD,
}
# Kafka's settings with a fixed value here. Tools read the first to learn which requests a broker understands.
_SERVER_FACTS: Final = (
    ("inter.broker.protocol.version", ConfigType.STRING, "4.0", "The level of the protocol that is spoken."),
    ("delete.topic.enable", ConfigType.BOOLEAN, "true", "Topics can be deleted."),
    ("default.replication.factor", ConfigType.INT, "1", "There is one broker."),
    ("min.insync.replicas", ConfigType.INT, "1", "There is one broker."),
    ("offsets.topic.replication.factor", ConfigType.SHORT, "1", "There is one broker."),
    ("log.cleanup.policy", ConfigType.LIST, "delete", "Old segments are deleted."),
    ("compression.type", ConfigType.STRING, "producer", "Batches are stored as the producer compressed them."),
)


# -- metadata ----------------------------------------------------------------------------------------------------


def describe_topic(topic: Topic) -> MetadataResponseTopic:
    """Return a topic of a Metadata response. It is shared between responses and must not be changed.

    A partition on another node has that node as its leader, whether the node is up or not.
    """
    if topic.described is None:
        topic.described = MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            is_internal=topic.is_internal,
            partitions=[
                MetadataResponsePartition(
                    error_code=ErrorCode.LEADER_NOT_AVAILABLE if partition.is_offline else ErrorCode.NONE,
                    partition_index=partition.index,
                    leader_id=-1 if partition.is_offline else partition.leader,
                    leader_epoch=LEADER_EPOCH,
                    replica_nodes=[partition.leader],
                    isr_nodes=[] if partition.is_offline else [partition.leader],
                    offline_replicas=[partition.leader] if partition.is_offline else [],
                )
                for partition in topic.partitions
            ],
        )
    return topic.described


def with_operations(described: MetadataResponseTopic) -> MetadataResponseTopic:
    """Return a copy with the authorized operations, for a client that asked for them."""
    return MetadataResponseTopic(
        error_code=described.error_code,
        name=described.name,
        topic_id=described.topic_id,
        is_internal=described.is_internal,
        partitions=described.partitions,
        topic_authorized_operations=ALL_TOPIC_OPERATIONS,
    )


def missing_topic(name: str | None, error: ErrorCode, topic_id: bytes = ZERO_UUID) -> MetadataResponseTopic:
    """Return a topic of a Metadata response that does not exist."""
    return MetadataResponseTopic(
        error_code=error, name=name, topic_id=topic_id, is_internal=name is not None and names.is_internal(name)
    )


# -- settings ----------------------------------------------------------------------------------------------------


class _Entry:
    """One setting with its value at each level; the first level is in effect."""

    __slots__ = ("help", "is_read_only", "levels", "name", "type")

    def __init__(
        self, name: str, type: ConfigType, help: str, levels: list[tuple[str, str, int]], *, is_read_only: bool
    ) -> None:
        self.name = name
        self.type = type
        self.help = help
        self.levels = levels  # (name at that level, value, source); without a name it is no synonym
        self.is_read_only = is_read_only


def _topic_entry(key: TopicKey, topic: Topic, dynamic: DynamicConfig) -> _Entry:
    levels = []
    if key.name in topic.configs:
        levels.append((key.name, topic.configs[key.name], FROM_TOPIC))
    if key.attribute:
        levels += [(key.server_key, value, source) for value, source in dynamic.levels(keys()[key.server_key])]
    else:
        levels.append((key.server_key or key.name, key.default, FROM_DEFAULT))
    help = f"{key.help} ({key.effect.value})"
    return _Entry(key.name, key.type, help, levels, is_read_only=topic.is_internal or key.effect is not Effect.LIVE)


def _topic_entries(topic: Topic, dynamic: DynamicConfig) -> Iterator[_Entry]:
    for key in TOPIC_KEYS.values():
        yield _topic_entry(key, topic, dynamic)


def _broker_entries(dynamic: DynamicConfig) -> Iterator[_Entry]:
    for key in keys().values():
        levels = [(key.name, value, source) for value, source in dynamic.levels(key)]
        yield _Entry(key.name, _SERVER_TYPES[key.type], key.help, levels, is_read_only=key.name not in DYNAMIC)
    for name, type, value, help in _SERVER_FACTS:
        yield _Entry(name, type, help, [(name, value, FROM_DEFAULT)], is_read_only=True)


def _entries_for_all_nodes(dynamic: DynamicConfig) -> Iterator[_Entry]:
    for name, value in dynamic.set_for_all().items():
        if name in DYNAMIC:
            key = keys()[name]
            levels = [(name, value, FROM_ALL_NODES)]
            yield _Entry(name, _SERVER_TYPES[key.type], key.help, levels, is_read_only=False)


def _group_entries(configs: Mapping[str, str], dynamic: DynamicConfig) -> Iterator[_Entry]:
    for key in GROUP_KEYS.values():
        levels = [(key.name, configs[key.name], FROM_GROUP)] if key.name in configs else []
        levels += [(key.server_key, value, source) for value, source in dynamic.levels(keys()[key.server_key])]
        yield _Entry(key.name, ConfigType.INT, key.help, levels, is_read_only=False)


def _subscription_entries(configs: Mapping[str, str]) -> Iterator[_Entry]:
    for key in SUBSCRIPTION_KEYS.values():
        level = (
            (key.name, configs[key.name], FROM_SUBSCRIPTION) if key.name in configs else ("", key.default, FROM_DEFAULT)
        )
        yield _Entry(key.name, key.type, key.help, [level], is_read_only=False)


def _logger_entries() -> Iterator[_Entry]:
    for name, level in broker_loggers.levels().items():
        yield _Entry(name, ConfigType.UNKNOWN, "", [(name, level, FROM_LOGGER)], is_read_only=False)


def creatable_configs(topic: Topic, dynamic: DynamicConfig) -> list[CreatableTopicConfigs]:
    """Return the settings of a new topic for a CreateTopics response."""
    found = []
    for entry in _topic_entries(topic, dynamic):
        _, value, source = entry.levels[0]
        found.append(
            CreatableTopicConfigs(name=entry.name, value=value, read_only=entry.is_read_only, config_source=source)
        )
    return found


def describe_configs(
    request: DescribeConfigsRequest, catalogue: Catalogue, node_id: int
) -> Generator[None, None, DescribeConfigsResponse]:
    """Handle a DescribeConfigs request, in steps of some resources.

    A resource that is named twice is described once, for its last entry, so that the response has a bounded size.
    """
    response = DescribeConfigsResponse()
    resources = {(asked.resource_type, asked.resource_name): asked for asked in request.resources}
    for number, asked in enumerate(resources.values()):
        if number and not number % RESOURCES_PER_STEP:
            yield
        result = DescribeConfigsResult(
            error_message=None, resource_type=asked.resource_type, resource_name=asked.resource_name
        )
        response.results.append(result)
        entries, error, reason = _entries_of(asked, catalogue, node_id)
        result.error_code, result.error_message = error, reason or ""
        wanted = set(asked.configuration_keys or ())
        result.configs = [_shown(entry, request) for entry in entries if not wanted or entry.name in wanted]
    return response


def _entries_of(
    asked: DescribeConfigsResource, catalogue: Catalogue, node_id: int
) -> tuple[list[_Entry], ErrorCode, str | None]:
    name = asked.resource_name
    if asked.resource_type == TOPIC:
        reason = names.why_invalid(name)
        if reason is not None:
            return [], ErrorCode.INVALID_TOPIC_EXCEPTION, reason
        topic = catalogue.topics.get(name)
        if topic is None:
            return [], ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic '{name}'"
        return list(_topic_entries(topic, catalogue.dynamic)), ErrorCode.NONE, None
    if asked.resource_type in (BROKER, BROKER_LOGGER):
        if name == FOR_ALL and asked.resource_type == BROKER:
            return list(_entries_for_all_nodes(catalogue.dynamic)), ErrorCode.NONE, None
        if name != str(node_id):
            return [], ErrorCode.INVALID_REQUEST, f"this is broker {node_id}, not {name[:20]!r}"
        if asked.resource_type == BROKER:
            return list(_broker_entries(catalogue.dynamic)), ErrorCode.NONE, None
        return list(_logger_entries()), ErrorCode.NONE, None
    if asked.resource_type == GROUP:
        if not name:
            return [], ErrorCode.INVALID_REQUEST, "Group name must not be empty"
        return list(_group_entries(catalogue.group_configs.get(name, {}), catalogue.dynamic)), ErrorCode.NONE, None
    if asked.resource_type == CLIENT_METRICS:
        if not name:
            return [], ErrorCode.INVALID_REQUEST, "Client metrics subscription name must not be empty"
        return list(_subscription_entries(catalogue.client_metrics.get(name, {}))), ErrorCode.NONE, None
    return [], ErrorCode.INVALID_REQUEST, f"resources of type {asked.resource_type} have no settings here"


def _shown(entry: _Entry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    _, value, source = entry.levels[0]
    is_sensitive = entry.type is ConfigType.PASSWORD  # then no level tells its value
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=None if is_sensitive else value,
        read_only=entry.is_read_only,
        config_source=source,
        is_default=source == FROM_DEFAULT,
        is_sensitive=is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=n, value=None if is_sensitive else v, source=s) for n, v, s in entry.levels if n
        ]
        if request.include_synonyms and source != FROM_LOGGER
        else [],
        config_type=entry.type,
        documentation=entry.help if request.include_documentation else None,
    )
