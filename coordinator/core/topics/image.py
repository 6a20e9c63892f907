"""The catalogue of topics as KIP-848 groups see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.consumer_group.topics import TopicImage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.topics.catalogue import Catalogue, Topic


class CatalogueImage:
    """Implements `coordinator.core.consumer_group.topics.TopicsImage`."""

    __slots__ = ("_catalogue",)

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue

    @property
    def version(self) -> int:
        return self._catalogue.version

    @property
    def new_topics_version(self) -> int:
        return self._catalogue.new_topics_version

    def changed_at(self, name: str) -> int:
        return self._catalogue.changed_at(name)

    def by_name(self, name: str) -> TopicImage | None:
        return _image(self._catalogue.topics.get(name))

    def by_id(self, topic_id: bytes) -> TopicImage | None:
        return _image(self._catalogue.by_id(topic_id))

    def names(self) -> Iterable[str]:
        return self._catalogue.topics


def _image(topic: Topic | None) -> TopicImage | None:
    return None if topic is None else TopicImage(topic.name, topic.topic_id, len(topic.partitions))
