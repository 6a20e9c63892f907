"""Creation of topics: by CreateTopics, and automatically when a client asks for the metadata of an unknown topic.

The checks are Kafka's, in its order: name twice in the request, name, collision, existence, settings, then counts and
assignments. Each partition is on one node, chosen by a manual assignment or else by the ownership rule. The replication
factor is therefore 1 or "default" (-1), and an assignment names one broker. `validate_only` checks without a change.
Source: Kafka's ReplicationControlManager.createTopics.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from coordinator.core.topics import names
from coordinator.core.topics.describe import creatable_configs
from coordinator.core.topics.settings import normal, why_invalid
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from coordinator.core.cluster import Cluster
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Topic
    from coordinator.core.topics.changes import Parts
    from coordinator.core.topics.effects import ChangeCatalogue, Changed, Outbox

DEFAULT: Final = -1
REPLICATION_FACTOR: Final = 1

Refusal = tuple[ErrorCode, str]


class CreateTopics:
    """One CreateTopics request."""

    def __init__(self, request: CreateTopicsRequest, ticket: Ticket) -> None:
        self._request = request
        self._ticket = ticket
        self._response = CreateTopicsResponse()
        self._made: list[tuple[Topic, CreatableTopicResult]] = []
        self._being_made: dict[str, str] = {}  # collision key -> name

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        times = Counter(asked.name for asked in self._request.topics)
        room = _Room(parts)
        for name, asked in {asked.name: asked for asked in self._request.topics}.items():
            result = CreatableTopicResult(name=name, error_message=None)
            self._response.topics.append(result)
            if times[name] > 1:
                result.error_code = ErrorCode.INVALID_REQUEST
                result.error_message = f"topic {name!r} is in the request {times[name]} times"
                continue
            self._begin_one(asked, result, parts, room)
        if self._request.validate_only or not self._made:
            out.reply(self._ticket, self._response)
            return None
        return parts.plan(add=[topic for topic, _ in self._made])

    def _begin_one(self, asked: CreatableTopic, result: CreatableTopicResult, parts: Parts, room: _Room) -> None:
        refusal = check_name(asked.name, parts, self._being_made) or _check_configs(asked)
        count, counted = partitions_asked_for(asked, parts)
        refusal = refusal or counted or room.take(count)
        if refusal:
            result.error_code, result.error_message = refusal
            return
        configs = {each.name: normal(each.name, each.value) for each in asked.configs if each.value is not None}
        assigned = {each.partition_index: each.broker_ids[0] for each in asked.assignments}
        topic = parts.catalogue.make(asked.name, parts.new_topic_id(), count, configs, assigned)
        result.num_partitions = count
        result.replication_factor = REPLICATION_FACTOR
        result.configs = creatable_configs(topic, parts.catalogue.dynamic)
        if not self._request.validate_only:
            result.topic_id = topic.topic_id
        self._made.append((topic, result))
        self._being_made[names.collision_key(asked.name)] = asked.name

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        for topic, _ in self._made:
            parts.catalogue.add(topic)
        out.reply(self._ticket, self._response)

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        for position, result in enumerate(self._response.topics):
            if result.error_code == ErrorCode.NONE:
                self._response.topics[position] = CreatableTopicResult(
                    name=result.name, error_code=error, error_message="the topic could not be written to disk"
                )
        out.reply(self._ticket, self._response)


class AutoCreateTopics:
    """Creates the topics that clients asked about. It has no response: clients ask again until they exist."""

    def __init__(self, in_flight: dict[str, None]) -> None:
        self._in_flight = in_flight
        self._names: list[str] = []
        self._made: list[Topic] = []

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        self._names = list(self._in_flight)  # all names that arrived while other changes ran, in one write
        room = _Room(parts)
        being_made: dict[str, str] = {}
        refused: list[tuple[str, str]] = []
        for name in self._names:
            count = parts.config.num_partitions
            refusal = check_name(name, parts, being_made) or room.take(count)
            if refusal is None:
                self._made.append(parts.catalogue.make(name, parts.new_topic_id(), count, {}))
                being_made[names.collision_key(name)] = name
            elif refusal[0] is not ErrorCode.TOPIC_ALREADY_EXISTS:
                refused.append((name, refusal[1]))
        if refused:
            name, reason = refused[0]
            more = f" (and {len(refused) - 1} others)" if len(refused) > 1 else ""
            out.note(f"topic {name} was not created automatically{more}: {reason}")
        if self._made:
            return parts.plan(add=self._made)
        self._forget()
        return None

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        for topic in self._made:
            parts.catalogue.add(topic)
        self._forget()

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        out.note(f"{len(self._made)} topics were not created automatically: {error.message}")
        self._forget()

    def _forget(self) -> None:
        for name in self._names:
            self._in_flight.pop(name, None)


class _Room:
    """Counts topics and partitions against the limits max.topics and max.partitions."""

    def __init__(self, parts: Parts) -> None:
        self._config = parts.config
        self._topics = parts.catalogue.user_topics
        self._partitions = parts.catalogue.user_partitions

    def take(self, partitions: int) -> Refusal | None:
        """Count one more topic, or return a refusal."""
        config = self._config
        if self._topics + 1 > config.max_topics:
            return (
                ErrorCode.POLICY_VIOLATION,
                f"there are {self._topics} topics, at most max.topics={config.max_topics}",
            )
        refusal = too_many_partitions(self._partitions, partitions, config.max_partitions)
        if refusal is None:
            self._topics += 1
            self._partitions += partitions
        return refusal


def too_many_partitions(present: int, more: int, limit: int) -> Refusal | None:
    """Return a refusal if `more` partitions exceed the limit of all topics together."""
    if present + more <= limit:
        return None
    return (
        ErrorCode.POLICY_VIOLATION,
        f"{more} partitions more than the present {present} are above max.partitions={limit}",
    )


def check_name(name: str, parts: Parts, being_made: Mapping[str, str]) -> Refusal | None:
    """Return a refusal if no topic may have this name. `being_made` are new topics by collision key."""
    reason = names.why_invalid(name)
    if reason is not None:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, reason
    if name in parts.catalogue.topics:
        return ErrorCode.TOPIC_ALREADY_EXISTS, f"topic '{name}' exists already"
    if names.is_internal(name):
        return ErrorCode.INVALID_TOPIC_EXCEPTION, f"'{name}' is the name of an internal topic"
    other = parts.catalogue.colliding(name)
    if other is None:
        other = being_made.get(names.collision_key(name))
    if other is not None:
        return (
            ErrorCode.INVALID_TOPIC_EXCEPTION,
            f"topic '{name}' collides with '{other}': they differ in '.' and '_' only",
        )
    return None


def _check_configs(asked: CreatableTopic) -> Refusal | None:
    for config in asked.configs:
        reason = why_invalid(config.name, config.value)
        if reason is not None:
            return ErrorCode.INVALID_CONFIG, reason
    return None


def partitions_asked_for(asked: CreatableTopic, parts: Parts) -> tuple[int, Refusal | None]:
    """Return the number of partitions of a new topic, and a refusal if it is not possible."""
    count, factor = asked.num_partitions, asked.replication_factor
    if asked.assignments:
        return len(asked.assignments), _check_assignments(asked, parts.cluster)
    if factor < DEFAULT or factor == 0:
        return 0, (
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "the replication factor must be positive, or -1 for the default",
        )
    if count < DEFAULT or count == 0:
        return 0, (ErrorCode.INVALID_PARTITIONS, "the number of partitions must be positive, or -1 for the default")
    if factor > REPLICATION_FACTOR:
        return 0, (
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"there is one {'broker' if parts.cluster.is_alone else 'copy of each partition'}, so a replication "
            f"factor of {factor} is not possible; use 1 or -1",
        )
    return (parts.config.num_partitions if count == DEFAULT else count), None


def _check_assignments(asked: CreatableTopic, cluster: Cluster) -> Refusal | None:
    if asked.replication_factor != DEFAULT:
        return ErrorCode.INVALID_REQUEST, "with assignments, the replication factor must be -1"
    if asked.num_partitions != DEFAULT:
        return ErrorCode.INVALID_REQUEST, "with assignments, the number of partitions must be -1"
    seen: set[int] = set()
    for assignment in asked.assignments:
        if assignment.partition_index in seen:
            return (
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"partition {assignment.partition_index} is assigned more than once",
            )
        seen.add(assignment.partition_index)
        refusal = check_replicas(assignment.broker_ids, assignment.partition_index, cluster)
        if refusal is not None:
            return refusal
    if seen != set(range(len(asked.assignments))):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, "the assigned partitions must be numbered from 0 without a gap"
    return None


def check_replicas(broker_ids: Sequence[int], partition: int, cluster: Cluster) -> Refusal | None:
    """Return a refusal unless these brokers are one node of this cluster: a partition has one copy."""
    if not broker_ids:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a partition needs a broker"
    if len(set(broker_ids)) != len(broker_ids):
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, "a broker is named twice for one partition"
    unknown = [broker for broker in broker_ids if broker not in cluster.nodes]
    if unknown:
        known = f"the only one is {cluster.node_id}" if cluster.is_alone else f"there are {sorted(cluster.nodes)}"
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"there is no broker {unknown[0]}; {known}"
    if len(broker_ids) > REPLICATION_FACTOR:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, (
            f"partition {partition} is assigned to {len(broker_ids)} brokers, but there is one copy of each partition; "
            "name one broker (docs/cluster.md, section Manual assignments)"
        )
    return None
