"""Names of topics: records of KIP-848 groups hold topic ids, and Metadata responses tell the names."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from collections.abc import Iterable, Mapping
from typing import Final

from coordinator.observe.moves import Partitions

ID_CHARS: Final = 32  # of a topic id in hexadecimal
MOST_MISSING: Final = 1_000


class TopicNames:
    """Names by topic id, kept current by the caller. An id without a name is shown as Kafka shows it, in base64."""

    __slots__ = ("_names", "missing")

    def __init__(self, names: Mapping[bytes, str]) -> None:
        self._names = names
        self.missing: set[bytes] = set()  # ids that occurred and had no name

    def note(self, topic_ids: Iterable[bytes]) -> None:
        """Note ids that occur, so that their names can be asked for."""
        for topic_id in topic_ids:
            if topic_id not in self._names and len(self.missing) < MOST_MISSING:
                self.missing.add(topic_id)

    def of(self, topic: str) -> str:
        """Return the name of a topic id in hexadecimal."""
        try:
            topic_id = bytes.fromhex(topic)
        except ValueError:
            return topic
        if len(topic) != ID_CHARS:
            return topic
        return self._names.get(topic_id) or urlsafe_b64encode(topic_id).decode().rstrip("=")

    def named(self, partitions: Partitions) -> Partitions:
        """Return partitions by topic name. The order of the partitions stays."""
        return {self.of(topic): numbers for topic, numbers in partitions.items()}
