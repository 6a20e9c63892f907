"""Topics of a scripted cluster, as KIP-848 groups see them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from coordinator.core.consumer_group.topics import TopicImage


class ScriptedTopics:
    """Topics that a test creates, extends and deletes. The id of the first one is 00..01, and so on."""

    def __init__(self, topics: Mapping[str, int] | None = None) -> None:
        self.version = 0
        self.new_topics_version = 0
        self._topics: dict[str, TopicImage] = {}
        self._changed_at: dict[str, int] = {}
        self._made = 0
        for name, partitions in (topics or {}).items():
            self.create(name, partitions)

    def create(self, name: str, partitions: int) -> None:
        self._made += 1
        self._change(name)
        self.new_topics_version = self.version
        self._topics[name] = TopicImage(name, self._made.to_bytes(16, "big"), partitions)

    def _change(self, name: str) -> None:
        self.version += 1
        self._changed_at[name] = self.version

    def extend(self, name: str, partitions: int) -> None:
        self._change(name)
        self._topics[name] = self._topics[name]._replace(partitions=partitions)

    def delete(self, name: str) -> None:
        self._change(name)
        del self._topics[name]

    def changed_at(self, name: str) -> int:
        return self._changed_at.get(name, 0)

    def by_name(self, name: str) -> TopicImage | None:
        return self._topics.get(name)

    def by_id(self, topic_id: bytes) -> TopicImage | None:
        return next((topic for topic in self._topics.values() if topic.topic_id == topic_id), None)

    def names(self) -> Iterable[str]:
        return self._topics
