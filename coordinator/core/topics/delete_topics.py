"""DeleteTopics, by name or by id.

Once a topic is removed from the durable catalogue its partitions do not exist any more: producers and waiting fetches
get UNKNOWN_TOPIC_OR_PARTITION, and the groups' offsets of it are deleted (Kafka's
`OffsetMetadataManager.onPartitionsDeleted`).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.primitives import ZERO_UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Topic
    from coordinator.core.topics.changes import Parts
    from coordinator.core.topics.effects import ChangeCatalogue, Changed, Outbox


class DeleteTopics:
    """One DeleteTopics request; its topics are in `request.topics`, whatever the version."""

    def __init__(self, request: DeleteTopicsRequest, ticket: Ticket) -> None:
        self._request = request
        self._ticket = ticket
        self._response = DeleteTopicsResponse()
        self._topics: list[Topic] = []

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        found = [_find(asked, parts) for asked in self._request.topics]
        # Counted by topic too: the name and the id of one topic name it twice.
        times = Counter(topic.name for topic in found if topic is not None)
        asked_often = {each for each, n in Counter((a.name, a.topic_id) for a in self._request.topics).items() if n > 1}
        seen: set[tuple[str | None, bytes]] = set()
        for asked, topic in zip(self._request.topics, found, strict=True):
            key = (asked.name, asked.topic_id)
            if key in seen:
                continue
            seen.add(key)
            result = DeletableTopicResult(name=asked.name, topic_id=asked.topic_id)
            self._response.responses.append(result)
            is_twice = key in asked_often or (topic is not None and times[topic.name] > 1)
            error, result.error_message = _check(asked, topic, is_twice)
            result.error_code = error
            if error is ErrorCode.NONE and topic is not None:
                result.name, result.topic_id = topic.name, topic.topic_id
                self._topics.append(topic)
        if not self._topics:
            out.reply(self._ticket, self._response)
            return None
        return parts.plan(without=self._topics)

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        forget_topics(self._topics, parts, changed, out)
        out.reply(self._ticket, self._response)

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        for result in self._response.responses:
            if result.error_code == ErrorCode.NONE:
                result.error_code = error
                result.error_message = "the deletion could not be written to disk"
        out.reply(self._ticket, self._response)


def forget_topics(topics: Iterable[Topic], parts: Parts, changed: Changed, out: Outbox) -> None:
    """Remove deleted topics from memory: fail what waits for them, and report their partitions as deleted."""
    left_over = {partition.topic for partition in changed.left_over}
    for topic in topics:
        parts.catalogue.remove(topic)
        if topic in left_over and not parts.catalogue.keep_deleted(topic):
            out.note(
                f"directories of the deleted topic {topic.name} stay on the disk: those of max.topics others could not "
                f"be renamed either; stop the server and remove {topic.name}-0 to {topic.name}-"
                f"{len(topic.partitions) - 1}, unless {topic.name} was created again"
            )
        for partition in topic.partitions:
            partition.is_deleted = True
            partition.tail.clear()
            parts.producing.deleted(partition, out)
            partition.sequences.partition_deleted()
            parts.fetching.changed(partition, out)
        out.deleted(topic.name, tuple(range(len(topic.partitions))))


def _find(asked: DeleteTopicState, parts: Parts) -> Topic | None:
    if asked.name is not None:
        return parts.catalogue.topics.get(asked.name)
    return parts.catalogue.by_id(asked.topic_id)


def _check(asked: DeleteTopicState, topic: Topic | None, is_twice: bool) -> tuple[ErrorCode, str | None]:
    if asked.name is None and asked.topic_id == ZERO_UUID:
        return ErrorCode.INVALID_REQUEST, "a topic to delete needs a name or an id"
    if asked.name is not None and asked.topic_id != ZERO_UUID:
        return ErrorCode.INVALID_REQUEST, "a topic to delete is named by its name or by its id, not by both"
    if is_twice:
        return ErrorCode.INVALID_REQUEST, "the topic is in the request more than once"
    if topic is None:
        if asked.name is None:
            return ErrorCode.UNKNOWN_TOPIC_ID, None
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
    if topic.is_internal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, f"'{topic.name}' is internal and cannot be deleted"
    return ErrorCode.NONE, None
