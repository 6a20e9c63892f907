"""Following the controller: the change that makes this node's catalogue the one that was received.

It is the difference between the two catalogues, by topic id: topics that are new, gone, larger or set differently. Like
any change it is durable before it holds, and what a topic that is gone leaves behind, waiting fetches and committed
offsets, is taken care of as on the controller.

The first catalogue that a node ever gets explains what lies in its directory: partitions that a person moved there when
the cluster grew. They are adopted; later, what lies in the way of a new partition is moved aside as everywhere.

A topic that was deleted and made again under its name cannot go and come in one step, since both have the same
directories: then this pass only deletes and keeps the old revision, and the same document is given in once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.delete_topics import forget_topics
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Document, Topic
    from coordinator.core.topics.changes import Parts
    from coordinator.core.topics.effects import ChangeCatalogue, Changed, Outbox
    from coordinator.core.topics.partition import Partition


class Replicate:
    """One document of the controller's. The answer is an error code: whether this pass is durable."""

    def __init__(self, received: Document, ticket: Ticket) -> None:
        self._received = received
        self._ticket = ticket
        self._new: list[Topic] = []
        self._gone: list[Topic] = []
        self._growing: list[tuple[Topic, list[Partition], Mapping[int, int]]] = []
        self._altered: list[tuple[Topic, dict[str, str]]] = []

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        catalogue, received = parts.catalogue, self._received
        if (catalogue.lineage, catalogue.revision) == (received.lineage, received.revision):
            out.reply(self._ticket, ErrorCode.NONE)
            return None
        wanted = {facts.topic_id: facts for facts in received.topics}
        names = {facts.name for facts in received.topics}
        self._gone = [
            topic for topic in catalogue.topics.values() if not topic.is_internal and topic.topic_id not in wanted
        ]
        if any(topic.name in names for topic in self._gone):
            return parts.plan(without=self._gone, revision=catalogue.revision)
        for facts in received.topics:
            topic = catalogue.by_id(facts.topic_id)
            if topic is None:
                self._new.append(
                    catalogue.make(facts.name, facts.topic_id, facts.partitions, facts.configs, facts.assigned)
                )
                continue
            if facts.partitions > len(topic.partitions):
                more = catalogue.more_partitions(topic, facts.partitions, facts.assigned)
                self._growing.append((topic, more, facts.assigned))
            if facts.configs != topic.configs:
                self._altered.append((topic, facts.configs))
        return parts.plan(
            add=self._new,
            without=self._gone,
            partitions={topic.name: len(topic.partitions) + len(more) for topic, more, _ in self._growing},
            assigned={topic.name: assigned for topic, _, assigned in self._growing},
            configs={topic.name: configs for topic, configs in self._altered},
            node_configs=received.node_configs,
            create=[partition for _, more, _ in self._growing for partition in more],
            lineage=received.lineage,
            revision=received.revision,
            adopts=not catalogue.lineage,
        )

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        forget_topics(self._gone, parts, changed, out)
        reason = parts.catalogue.configure_nodes(self._received.node_configs)
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
