"""CreatePartitions: adds partitions to topics. Their number cannot decrease, as the records would be lost."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from coordinator.core.topics.create_topics import check_replicas, too_many_partitions
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Topic
    from coordinator.core.topics.changes import Parts
    from coordinator.core.topics.create_topics import Refusal
    from coordinator.core.topics.effects import ChangeCatalogue, Changed, Outbox
    from coordinator.core.topics.partition import Partition


class CreatePartitions:
    """One CreatePartitions request."""

    def __init__(self, request: CreatePartitionsRequest, ticket: Ticket) -> None:
        self._request = request
        self._ticket = ticket
        self._response = CreatePartitionsResponse()
        self._growing: list[tuple[Topic, list[Partition], Mapping[int, int]]] = []

    def begin(self, parts: Parts, out: Outbox) -> ChangeCatalogue | None:
        times = Counter(asked.name for asked in self._request.topics)
        total = parts.catalogue.user_partitions
        seen: set[str] = set()
        for asked in self._request.topics:
            if asked.name in seen:
                continue
            seen.add(asked.name)
            result = CreatePartitionsTopicResult(name=asked.name)
            self._response.results.append(result)
            topic = parts.catalogue.topics.get(asked.name)
            refusal: Refusal | None
            if times[asked.name] > 1:
                refusal = ErrorCode.INVALID_REQUEST, f"topic '{asked.name}' is in the request more than once"
            elif topic is None:
                refusal = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no topic '{asked.name}'"
            else:
                refusal = _check(asked, topic, parts, total)
            if refusal is not None:
                result.error_code, result.error_message = refusal
            elif topic is not None:
                total += asked.count - len(topic.partitions)
                present = len(topic.partitions)
                named = {index: each.broker_ids[0] for index, each in enumerate(asked.assignments or (), present)}
                assigned = {**topic.assigned, **named}
                self._growing.append((topic, parts.catalogue.more_partitions(topic, asked.count, assigned), assigned))
        if self._request.validate_only or not self._growing:
            out.reply(self._ticket, self._response)
            return None
        return parts.plan(
            partitions={topic.name: len(topic.partitions) + len(more) for topic, more, _ in self._growing},
            assigned={topic.name: assigned for topic, _, assigned in self._growing},
            create=[partition for _, more, _ in self._growing for partition in more],
        )

    def succeeded(self, parts: Parts, changed: Changed, out: Outbox) -> None:
        for topic, more, assigned in self._growing:
            parts.catalogue.extend(topic, more, assigned)
        out.reply(self._ticket, self._response)

    def failed(self, parts: Parts, error: ErrorCode, out: Outbox) -> None:
        for result in self._response.results:
            if result.error_code == ErrorCode.NONE:
                result.error_code = error
                result.error_message = "the partitions could not be written to disk"
        out.reply(self._ticket, self._response)


def _check(asked: CreatePartitionsTopic, topic: Topic, parts: Parts, total: int) -> Refusal | None:
    present = len(topic.partitions)
    if topic.is_internal:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, f"'{topic.name}' is internal: its number of partitions is fixed"
    if asked.count == present:
        return ErrorCode.INVALID_PARTITIONS, f"topic '{topic.name}' has {present} partitions already"
    if asked.count < present:
        return (
            ErrorCode.INVALID_PARTITIONS,
            f"topic '{topic.name}' has {present} partitions, and {asked.count} would be fewer",
        )
    more = asked.count - present
    if asked.assignments is not None:
        if len(asked.assignments) != more:
            return (
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"{more} new partitions need {more} assignments, not {len(asked.assignments)}",
            )
        for index, assignment in enumerate(asked.assignments, present):
            refusal = check_replicas(assignment.broker_ids, index, parts.cluster)
            if refusal is not None:
                return refusal
    return too_many_partitions(total, more, parts.config.max_partitions)
