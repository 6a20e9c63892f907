"""The topics as KIP-848 groups see them: names, ids and numbers of partitions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final, NamedTuple, Protocol


class TopicImage(NamedTuple):
    """One topic."""

    name: str
    topic_id: bytes
    partitions: int


class TopicsImage(Protocol):
    """All topics of the cluster."""

    @property
    def version(self) -> int:
        """A number that changes whenever a topic is created or deleted, or gets partitions."""

    @property
    def new_topics_version(self) -> int:
        """The `version` at which a topic was created last, and so a regular expression may match more."""

    def changed_at(self, name: str) -> int:
        """Return the `version` at which a topic was created, deleted or extended last; 0 if it never was there."""

    def by_name(self, name: str) -> TopicImage | None:
        """Return a topic; None if it does not exist."""

    def by_id(self, topic_id: bytes) -> TopicImage | None:
        """Return a topic; None if it does not exist."""

    def names(self) -> Iterable[str]:
        """Return the names of all topics."""


class NoTopics:
    """A cluster without topics."""

    version = 0
    new_topics_version = 0

    def changed_at(self, name: str) -> int:
        return 0

    def by_name(self, name: str) -> TopicImage | None:
        return None

    def by_id(self, topic_id: bytes) -> TopicImage | None:
        return None

    def names(self) -> Iterable[str]:
        return ()


NO_TOPICS: Final[TopicsImage] = NoTopics()


def metadata_hash(topics: Iterable[TopicImage]) -> int:
    """Return a signed 64-bit hash of the topics that a group subscribes to; 0 if there are none.

    A group compares it with the stored one to see whether its topics have changed. Kafka (KIP-1101) stores another
    hash in this place: a group that moves between the two is rebalanced once.
    """
    digest = hashlib.blake2b(digest_size=8)
    is_empty = True
    for topic in sorted(topics):
        is_empty = False
        digest.update(f"{len(topic.name)}:{topic.name}:{topic.partitions}:".encode("utf-8", "surrogatepass"))
        digest.update(topic.topic_id)
    return 0 if is_empty else int.from_bytes(digest.digest(), "big", signed=True)
