"""Replication of the controller's catalogue: the change that makes a received catalogue that of this node.

The change is the difference between the two catalogues, by topic id: topics that are new, deleted, larger or have other
settings. It is durable before it takes effect. Waiting fetches and committed offsets of deleted topics are handled as
on the controller. With its first catalogue a node adopts the partition directories that the operator moved to it;
later, a directory in the way of a new partition is moved aside.

A topic that was deleted and created again under its name needs two passes, since both have the same directories: the
first pass only deletes and keeps the old revision.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.delete_topics import forget_topics
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue, Document, Topic, TopicFacts
    from coordinator.core.topics.changes import Parts
    from coordinator.core.topics.effects import ChangeCatalogue, Changed, Outbox
    from coordinator.core.topics.partition import Partition


# Values that tests change are not Final: mypyc would compile them into the code.
PARTITIONS_PER_STEP = 250


def make_new(received: Document, catalogue: Catalogue, made: dict[bytes, Topic]) -> Generator[None, None, None]:
    """Make the topics of a document that neither a catalogue nor `made` has, into `made`, in steps.

    A node meets ten thousand partitions at once when it follows a controller for the first time.
    """
    partitions = 0
    for facts in received.topics:
        if facts.topic_id not in made and catalogue.by_id(facts.topic_id) is None:
            topic = made[facts.topic_id] = _topic_of(facts, catalogue)
            topic.row()  # cached, for the document that will be written
            partitions += facts.partitions
            if partitions >= PARTITIONS_PER_STEP:
                partitions = 0
                yield


def _topic_of(facts: TopicFacts, catalogue: Catalogue) -> Topic:
    return catalogue.make(facts.name, facts.topic_id, facts.partitions, facts.configs, facts.assigned)


class Replicate:
    """One document of the controller. The reply is an error code: NONE if this pass is durable."""

    def __init__(self, received: Document, ticket: Ticket, made: Mapping[bytes, Topic]) -> None:
        self._received = received
        self._made = made
        self._ticket = ticket
        self._new: list[Topic] = []
        self._deleted: list[Topic] = []
        self._growing: list[tuple[Topic, list[Partition], Mapping[int, int]]] = []
        self._altered: list[tuple[Topic, dict[str, str]]] = []

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        catalogue, received = parts.catalogue, self._received
        if (catalogue.lineage, catalogue.revision) == (received.lineage, received.revision):
            out.reply(self._ticket, ErrorCode.NONE)
            return None
        wanted = {facts.topic_id: facts for facts in received.topics}
        names = {facts.name for facts in received.topics}
        self._deleted = [
            topic for topic in catalogue.topics.values() if not topic.is_view and topic.topic_id not in wanted
        ]
        if any(topic.name in names for topic in self._deleted):
            return parts.plan(without=self._deleted, revision=catalogue.revision)
        for facts in received.topics:
            topic = catalogue.by_id(facts.topic_id)
            if topic is None:
                self._new.append(self._made.get(facts.topic_id) or _topic_of(facts, catalogue))
                continue
            if facts.partitions > len(topic.partitions):
                more = catalogue.more_partitions(topic, facts.partitions, facts.assigned)
                self._growing.append((topic, more, facts.assigned))
            if facts.configs != topic.configs:
                self._altered.append((topic, facts.configs))
        return parts.plan(
            add=self._new,
            without=self._deleted,
            partitions={topic.name: len(topic.partitions) + len(more) for topic, more, _ in self._growing},
            assigned={topic.name: assigned for topic, _, assigned in self._growing},
            configs={topic.name: configs for topic, configs in self._altered},
            node_configs=received.node_configs,
            group_configs=received.group_configs,
            client_metrics=received.client_metrics,
            create=[partition for _, more, _ in self._growing for partition in more],
            lineage=received.lineage,
            revision=received.revision,
            adopts=not catalogue.lineage,
        )

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        forget_topics(self._deleted, parts, changed, out)
        reason = parts.catalogue.configure_nodes(self._received.node_configs)
        parts.catalogue.configure_groups(self._received.group_configs)
        parts.catalogue.configure_client_metrics(self._received.client_metrics)
        if reason is not None:
            out.note(f"settings changed at run time are ignored: {reason}")
        for topic in self._new:
            parts.catalogue.add(topic)
        for topic, more, assigned in self._growing:
            parts.catalogue.extend(topic, more, assigned)
        for topic, configs in self._altered:
            parts.catalogue.configure(topic, configs)
        out.reply(self._ticket, ErrorCode.NONE)

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        out.reply(self._ticket, error)
