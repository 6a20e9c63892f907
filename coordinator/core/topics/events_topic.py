"""The topic of events: its creation by the controller, and its settings, which follow those of the server.

It has a partition for each partition of the offsets log, on the same node, so that every node writes the events of its
groups to its own disk. A change of the settings takes effect with the controller's next start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from coordinator.core.topics.names import EVENTS_TOPIC
from coordinator.core.topics.settings import events_configs

if TYPE_CHECKING:
    from coordinator.core.topics.catalogue import Topic
    from coordinator.core.topics.changes import Parts
    from coordinator.core.topics.effects import ChangeCatalogue, Changed, Outbox
    from protocol.error_codes import ErrorCode


class PrepareEventsTopic:
    """Creates the topic if there is none, or gives it the present settings. `then` is called when that has ended."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._made: Topic | None = None
        self._configs: dict[str, str] = {}

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        self._configs = events_configs(parts.config)
        topic = parts.catalogue.topics.get(EVENTS_TOPIC)
        if topic is None:
            count = parts.config.offsets_topic_num_partitions
            self._made = parts.catalogue.make(EVENTS_TOPIC, parts.new_topic_id(), count, self._configs)
            return parts.plan(add=[self._made])
        if topic.configs != self._configs:
            return parts.plan(configs={EVENTS_TOPIC: self._configs})
        self._then()
        return None

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        if self._made is not None:
            parts.catalogue.add(self._made)
        else:
            parts.catalogue.configure(parts.catalogue.topics[EVENTS_TOPIC], self._configs)
        self._then()

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        out.note(f"topic {EVENTS_TOPIC} was not written to the catalogue, and is tried again later: {error.message}")
        self._then()
