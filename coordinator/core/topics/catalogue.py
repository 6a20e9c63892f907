"""The catalogue of topics: their ids, partitions and settings. Durable as one document.

A change is written to disk before it takes effect. The document holds the whole catalogue, so after a crash it is the
old one or the new one. `deleted` names topics whose directories may be left: the next start removes them, and the next
change after that drops their names.

In a cluster the controller owns the document and the other nodes copy it. `revision` counts changes. `lineage` is drawn
once, when a catalogue is created: a node must not copy the catalogue of a controller that lost its disk, as it would
delete every topic. A topic with a manual assignment has "assigned" in the document, which then has format version 2, so
that a server without assignments refuses it. The offsets log is listed like other topics, but is not in the document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.config.dynamic_config import DynamicConfig
from coordinator.core.topics.client_metrics import Subscription, subscription_of
from coordinator.core.topics.group_configs import GroupConfigs, values_of
from coordinator.core.topics.names import COORDINATOR_TOPICS, collision_key, is_internal, why_invalid
from coordinator.core.topics.partition import InternalLog, Partition
from coordinator.core.topics.sequences import ProducerBudget
from coordinator.core.topics.settings import TOPIC_KEYS, Effect, TopicSettings, settings_of

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.cluster import Cluster
    from coordinator.core.topics.tail_cache import TailBudget
    from protocol.messages.metadata import MetadataResponseTopic

FORMAT_VERSION: Final = 1
FORMAT_WITH_ASSIGNMENTS: Final = 2
MOST_PARTITIONS: Final = 1 << 20  # of a topic: each is an open file, and Linux allows a process as many (fs.nr_open)
NO_ASSIGNMENT: Final[Mapping[int, int]] = MappingProxyType({})
_LINES: Final = ",\n"  # one topic per line, so that the document is readable and a diff shows the change


class CatalogueError(ValueError):
    """The document is damaged, or its format version is unknown."""


class TopicFacts(NamedTuple):
    """The entry of one topic in the document."""

    name: str
    topic_id: bytes
    partitions: int
    configs: dict[str, str]
    assigned: Mapping[int, int] = NO_ASSIGNMENT  # partition -> node, from a manual assignment


class DeletedTopic(NamedTuple):
    """A deleted topic whose directories may still exist."""

    name: str
    topic_id: bytes
    partitions: int


class Document(NamedTuple):
    """The content of the document."""

    topics: list[TopicFacts]
    deleted: list[DeletedTopic]
    lineage: str
    revision: int
    node_configs: dict[str, dict[str, str]]  # node -> settings; "" stands for all nodes
    group_configs: dict[str, dict[str, str]]  # group id -> settings
    client_metrics: dict[str, dict[str, str]]  # subscription -> settings

    def assignments(self) -> dict[str, Mapping[int, int]]:
        """Return the manual assignments: topic -> partition -> node."""
        return {facts.name: facts.assigned for facts in self.topics if facts.assigned}


class Topic:
    """A topic and its partitions."""

    __slots__ = (
        "_row",
        "assigned",
        "configs",
        "described",
        "is_internal",
        "is_view",
        "name",
        "partitions",
        "settings",
        "topic_id",
    )

    def __init__(
        self,
        name: str,
        topic_id: bytes,
        configs: Mapping[str, str],
        settings: TopicSettings,
        assigned: Mapping[int, int] = NO_ASSIGNMENT,
    ) -> None:
        self.name = name
        self.topic_id = topic_id
        self.configs = dict(configs)
        self.settings = settings
        self.assigned = assigned
        self.partitions: list[Partition] = []
        self.is_internal = is_internal(name)  # clients can only read it
        self.is_view = False  # its logs belong to another part of the server, which also has its settings
        self.described: MetadataResponseTopic | None = None  # its cached metadata; None after a change
        self._row: str | None = None

    def row(self) -> str:
        """Return the topic's line in the document."""
        if self._row is None:
            self._row = _topic_row(self.name, self.topic_id, len(self.partitions), self.configs, self.assigned)
        return self._row

    def changed(self) -> None:
        """Drop the cached line and metadata after a change."""
        self._row = None
        self.described = None

    def __repr__(self) -> str:
        return f"<Topic {self.name}: {len(self.partitions)} partitions>"


class Catalogue:
    """Holds the topics by name and by id, and the settings of nodes."""

    def __init__(self, config: Config, budget: TailBudget, cluster: Cluster) -> None:
        self._config = config
        self._budget = budget
        self.producers = ProducerBudget(config.max_producers)
        self._cluster = cluster
        self._by_id: dict[bytes, Topic] = {}
        self._collisions: dict[str, str] = {}  # collision key -> topic name
        self.topics: dict[str, Topic] = {}
        self.node_configs: Mapping[str, Mapping[str, str]] = {}
        self.group_configs: GroupConfigs = {}
        self.group_values: dict[str, dict[str, int]] = {}  # the effective ones; always the same dict
        self.client_metrics: GroupConfigs = {}  # subscription -> settings
        self.subscriptions: tuple[Subscription, ...] = ()  # a new tuple after each change of them
        self.dynamic = DynamicConfig(config)
        self.deleted: dict[str, DeletedTopic] = {}  # by name: their directories could not be renamed yet
        self.lineage = ""
        self.revision = 0
        self.version = 0  # of the topics in memory: it grows with each one created, deleted or extended
        self.new_topics_version = 0  # the version at which a topic was added last
        self._changed_at: dict[str, int] = {}  # topic, also a deleted one -> the version of its last change
        self._forgotten_at = 0  # the version at which deleted topics were forgotten there last
        self.user_topics = 0
        self.user_partitions = 0

    def make(
        self,
        name: str,
        topic_id: bytes,
        partitions: int,
        configs: Mapping[str, str],
        assigned: Mapping[int, int] = NO_ASSIGNMENT,
    ) -> Topic:
        """Create a topic without adding it to the catalogue."""
        topic = Topic(name, topic_id, configs, settings_of(configs, self._config), assigned)
        topic.partitions = [self._partition(topic, index, assigned) for index in range(partitions)]
        return topic

    def make_internal(self, name: str, topic_id: bytes, views: Sequence[InternalLog | None]) -> Topic:
        """Create an internal topic from the logs of its partitions; None for a partition on another node."""
        topic = Topic(name, topic_id, {"cleanup.policy": "compact"}, settings_of({}, self._config))
        topic.is_internal = topic.is_view = True
        topic.partitions = [
            Partition(
                topic,
                index,
                self._budget,
                leader=self._cluster.ownership.owner_of_offsets_partition(index),
                is_local=view is not None,
                view=view,
                most_readers=self._config.partition_max_readers,
            )
            for index, view in enumerate(views)
        ]
        return topic

    def longest_unstable_offsets(self) -> int:
        """Return the most offsets between last stable offset and high watermark in one partition of this node.

        It reads, and may be called from another thread.
        """
        longest = 0
        for topic in list(self.topics.values()):
            for partition in topic.partitions:
                if partition.transactions is not None and partition.is_local:
                    open_from = partition.transactions.open_from()
                    if open_from is not None:
                        longest = max(longest, partition.high_watermark - open_from)
        return longest

    def _partition(self, topic: Topic, index: int, assigned: Mapping[int, int]) -> Partition:
        ownership = self._cluster.ownership
        if topic.name in COORDINATOR_TOPICS:
            leader = ownership.owner_of_offsets_partition(index)
        else:
            leader = ownership.owner_of_topic_partition(topic.name, index, assigned.get(index))
        return Partition(
            topic,
            index,
            self._budget,
            leader=leader,
            is_local=leader == self._cluster.node_id,
            producers=self.producers,
            most_producers=self._config.partition_max_producers,
            most_readers=self._config.partition_max_readers,
        )

    def more_partitions(self, topic: Topic, count: int, assigned: Mapping[int, int]) -> list[Partition]:
        """Create the partitions that `topic` lacks to have `count`, without adding them to it."""
        return [self._partition(topic, index, assigned) for index in range(len(topic.partitions), count)]

    def add(self, topic: Topic) -> None:
        """Add a topic. Directories of a deleted one of its name have been moved away."""
        self.deleted.pop(topic.name, None)
        self.topics[topic.name] = topic
        self._by_id[topic.topic_id] = topic
        self._count_change(topic.name)
        self.new_topics_version = self.version
        self._collisions[collision_key(topic.name)] = topic.name
        if not topic.is_internal:
            self.user_topics += 1
            self.user_partitions += len(topic.partitions)

    def remove(self, topic: Topic) -> None:
        """Remove a topic."""
        del self.topics[topic.name]
        del self._by_id[topic.topic_id]
        self._count_change(topic.name)
        del self._collisions[collision_key(topic.name)]
        if not topic.is_internal:
            self.user_topics -= 1
            self.user_partitions -= len(topic.partitions)

    def keep_deleted(self, topic: Topic) -> bool:
        """Keep a topic whose directories could not be renamed in the document. False if too many are kept."""
        if len(self.deleted) >= self._config.max_topics:
            return False
        self.deleted[topic.name] = _deleted(topic)
        return True

    def extend(self, topic: Topic, partitions: Iterable[Partition], assigned: Mapping[int, int]) -> None:
        """Add partitions to a topic. `assigned` covers all partitions, old and new."""
        before = len(topic.partitions)
        topic.assigned = assigned
        topic.partitions.extend(partitions)
        self._count_change(topic.name)
        topic.changed()
        self.user_partitions += len(topic.partitions) - before

    def configure(self, topic: Topic, configs: Mapping[str, str]) -> None:
        """Replace the settings of a topic."""
        topic.configs = dict(configs)
        topic.settings = settings_of(configs, self._config)
        topic.changed()

    def configure_nodes(self, node_configs: Mapping[str, Mapping[str, str]]) -> str | None:
        """Replace the settings of nodes. Return the reason if they cannot be applied on this node."""
        self.node_configs = node_configs
        reason = self.dynamic.apply(node_configs)
        for topic in self.topics.values():
            if not topic.is_view:
                topic.settings = settings_of(topic.configs, self._config)
        return reason

    def configure_groups(self, group_configs: GroupConfigs) -> None:
        """Replace the settings of all groups."""
        self.group_configs = group_configs
        self.group_values.clear()
        self.group_values.update(values_of(group_configs, self._config))

    def configure_client_metrics(self, client_metrics: GroupConfigs) -> None:
        """Replace all subscriptions to the metrics of clients."""
        if client_metrics != self.client_metrics:
            self.client_metrics = client_metrics
            self.subscriptions = tuple(subscription_of(configs) for configs in client_metrics.values())

    def changed_at(self, name: str) -> int:
        """Return the `version` of the last change of a topic, also of a deleted one."""
        return self._changed_at.get(name, self._forgotten_at)

    def _count_change(self, name: str) -> None:
        self.version += 1
        self._changed_at[name] = self.version
        if len(self._changed_at) > 2 * (len(self.topics) + self._config.max_topics):
            self._changed_at = {each: at for each, at in self._changed_at.items() if each in self.topics}
            self._forgotten_at = self.version

    def by_id(self, topic_id: bytes) -> Topic | None:
        """Return the topic with this id."""
        return self._by_id.get(topic_id)

    def partition(self, topic: str, index: int) -> Partition | None:
        """Return one partition by topic name and number."""
        found = self.topics.get(topic)
        return found.partitions[index] if found is not None and 0 <= index < len(found.partitions) else None

    def colliding(self, name: str) -> str | None:
        """Return the existing topic of another name that `name` collides with."""
        other = self._collisions.get(collision_key(name))
        return other if other != name else None

    def document(
        self,
        *,
        add: Iterable[Topic] = (),
        without: Iterable[Topic] = (),
        partitions: Mapping[str, int] | None = None,
        assigned: Mapping[str, Mapping[int, int]] | None = None,
        configs: Mapping[str, Mapping[str, str]] | None = None,
        node_configs: Mapping[str, Mapping[str, str]] | None = None,
        group_configs: GroupConfigs | None = None,
        client_metrics: GroupConfigs | None = None,
        lineage: str | None = None,
        revision: int | None = None,
    ) -> str:
        """Return the document as it will be after a change."""
        add, without = tuple(add), tuple(without)
        removed = {topic.name for topic in without}
        added = {topic.name for topic in add}
        partitions, assigned, configs = partitions or {}, assigned or {}, configs or {}
        rows = []
        version = FORMAT_VERSION
        for topic in (*self.topics.values(), *add):
            if topic.is_view or topic.name in removed:
                continue
            nodes = assigned.get(topic.name, topic.assigned)
            if nodes:
                version = FORMAT_WITH_ASSIGNMENTS
            if topic.name in partitions or topic.name in configs:
                count = partitions.get(topic.name, len(topic.partitions))
                rows.append(
                    _topic_row(topic.name, topic.topic_id, count, configs.get(topic.name, topic.configs), nodes)
                )
            else:
                rows.append(topic.row())
        deleted = [row for row in self.deleted.values() if row.name not in added]
        deleted += [_deleted(topic) for topic in without]
        deleted_rows = [
            json.dumps({"name": row.name, "id": row.topic_id.hex(), "partitions": row.partitions}) for row in deleted
        ]
        node_configs = self.node_configs if node_configs is None else node_configs
        group_configs = self.group_configs if group_configs is None else group_configs
        settings = f'"nodes": {json.dumps(node_configs)},\n' if node_configs else ""
        settings += f'"groups": {json.dumps(group_configs)},\n' if group_configs else ""
        client_metrics = self.client_metrics if client_metrics is None else client_metrics
        settings += f'"client_metrics": {json.dumps(client_metrics)},\n' if client_metrics else ""
        lineage = json.dumps(self.lineage if lineage is None else lineage)
        revision = self.revision if revision is None else revision
        return (
            f'{{"version": {version}, "lineage": {lineage}, "revision": {revision},\n'
            f'{settings}"topics": [\n{_LINES.join(rows)}\n],\n'
            f'"deleted": [\n{_LINES.join(deleted_rows)}\n]}}\n'
        )


def _deleted(topic: Topic) -> DeletedTopic:
    return DeletedTopic(topic.name, topic.topic_id, len(topic.partitions))


def _topic_row(
    name: str, topic_id: bytes, partitions: int, configs: Mapping[str, str], assigned: Mapping[int, int]
) -> str:
    row: dict[str, Any] = {"name": name, "id": topic_id.hex(), "partitions": partitions, "configs": dict(configs)}
    if assigned:
        row["assigned"] = dict(assigned)
    return json.dumps(row)


def parse_document(text: str) -> Document:
    """Parse a document that `Catalogue.document` wrote. CatalogueError if it is damaged or of an unknown version."""
    try:
        content = json.loads(text)
        if content["version"] not in (FORMAT_VERSION, FORMAT_WITH_ASSIGNMENTS):
            raise CatalogueError(
                f"it has format version {content['version']}, this server knows {FORMAT_VERSION} and "
                f"{FORMAT_WITH_ASSIGNMENTS}"
            )
        topics = [
            TopicFacts(row["name"], bytes.fromhex(row["id"]), _count(row), _configs(row), _assigned(row))
            for row in content["topics"]
        ]
        deleted = [DeletedTopic(row["name"], bytes.fromhex(row["id"]), _count(row)) for row in content["deleted"]]
        node_configs, group_configs = _settings(content, "nodes"), _settings(content, "groups")
        client_metrics = _settings(content, "client_metrics")
        lineage, revision = content.get("lineage", ""), content.get("revision", 0)  # older documents have neither
        if not isinstance(lineage, str) or type(revision) is not int or not 0 <= revision < 2**63:
            raise CatalogueError(f"it is damaged (lineage {lineage!r}, revision {revision!r})")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        if isinstance(error, CatalogueError):
            raise
        raise CatalogueError(f"it is damaged ({error})") from None
    identities = [(row.name, row.topic_id) for row in topics] + [(row.name, row.topic_id) for row in deleted]
    for name, topic_id in identities:
        reason = why_invalid(name) if isinstance(name, str) else f"a topic has the name {name!r}"
        if reason is not None or len(topic_id) != 16:
            raise CatalogueError(f"it is damaged ({reason or 'a topic id is not 16 bytes long'})")
    if len({row.name for row in topics}) != len(topics) or len({row.topic_id for row in topics}) != len(topics):
        raise CatalogueError("it is damaged (a topic is in it twice)")
    return Document(topics, deleted, lineage, revision, node_configs, group_configs, client_metrics)


def _settings(content: Mapping[str, Any], kind: str) -> dict[str, dict[str, str]]:
    """Return the settings of nodes, groups or subscriptions by name."""
    return {
        each: {str(name): str(value) for name, value in configs.items()}
        for each, configs in content.get(kind, {}).items()
    }


def _count(row: Mapping[str, Any]) -> int:
    count = row["partitions"]
    if type(count) is not int or not 1 <= count <= MOST_PARTITIONS:
        raise CatalogueError(f"it is damaged (topic {row['name']!r} has {count!r} partitions)")
    return count


def _configs(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the settings of a topic. Those that this server reads must be valid; others may be of a later version."""
    configs = dict(row["configs"])
    for name, value in configs.items():
        if not isinstance(value, str):
            raise CatalogueError(f"it is damaged (topic {row['name']!r} has {name}={value!r})")
        key = TOPIC_KEYS.get(name)
        reason = key.why_invalid(value) if key is not None and key.effect is not Effect.NONE else None
        if reason is not None:
            raise CatalogueError(f"it is damaged (topic {row['name']!r}: {reason})")
    return configs


def _assigned(row: Mapping[str, Any]) -> Mapping[int, int]:
    assigned = {int(index): node for index, node in row.get("assigned", {}).items()}
    if not all(
        0 <= index < row["partitions"] and type(node) is int and 0 <= node < 2**31 for index, node in assigned.items()
    ):
        raise CatalogueError(f"it is damaged (topic {row['name']!r} has the assignment {row['assigned']!r})")
    return assigned
