"""OffsetFetch (key 9), handled by `coordinator.core.offsets.fetch`.

Versions 1 to 7 ask about one group: a list of one, whose answer moves to the top. Version 1 has no field for an error
of the group, so every partition carries it. In later versions the error of a group comes without partitions. From 9 on
the member and its epoch are named (KIP-848), from 10 on topics have ids instead of names. An id that is not known is an
error of its partitions, at the end of the group; a request for all topics leaves out those without an id.
Source: `KafkaApis.fetchOffsetsForGroup` and `fetchAllOffsetsForGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.offsets.quarantine import QUARANTINE_ERROR
from coordinator.server.api.chunked_responses import PARTITIONS, Array
from coordinator.server.api.handler import Api, Section, handle_in_core
from coordinator.server.api.topic_ids import add_names, amend_first
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from protocol.primitives import ZERO_UUID
from protocol.schema import changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coordinator.core.effects import Ticket
    from coordinator.core.topics.catalogue import Catalogue
    from coordinator.server.api.node import Node
    from protocol.messages.offset_fetch import (
        OffsetFetchRequest,
        OffsetFetchRequestTopic,
        OffsetFetchResponseGroup,
    )

FIRST_WITH_GROUP_ERROR: Final = 2
FIRST_WITH_GROUPS: Final = 8
FIRST_WITH_TOPIC_IDS: Final = 10


def handle(node: Node, request: OffsetFetchRequest, ticket: Ticket, now_ms: int) -> None:
    if ticket.version < FIRST_WITH_GROUPS:
        topics = request.topics
        request.groups = [
            OffsetFetchRequestGroup(
                group_id=request.group_id,
                topics=None
                if topics is None
                else [
                    OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
                    for topic in topics
                ],
            )
        ]
    elif ticket.version >= FIRST_WITH_TOPIC_IDS:
        request = _by_names(request, ticket, node.topics.catalogue)
    handle_in_core(node, request, ticket, now_ms)


class _Part(NamedTuple):
    """One group of a request by ids: whether it asks for all topics, and its ids that are not known."""

    group_id: str
    is_all: bool
    unknown: list[OffsetFetchRequestTopics]


def _by_names(request: OffsetFetchRequest, ticket: Ticket, catalogue: Catalogue) -> OffsetFetchRequest:
    """Return the request by names, without ids that are not known. The ticket gets what completes the answer."""
    ids = dict[str, bytes]()
    parts = list[_Part]()
    groups = list[OffsetFetchRequestGroup]()
    for group in request.groups:
        topics = group.topics
        unknown = [] if topics is None else add_names(topics, catalogue)
        parts.append(_Part(group.group_id, topics is None, unknown))
        if topics is not None:
            known = [topic for topic in topics if topic.name] if unknown else topics
            ids.update((topic.name, topic.topic_id) for topic in known)
            group = changed(group, topics=known) if unknown else group
        groups.append(group)

    def amend(response: OffsetFetchResponse) -> OffsetFetchResponse:
        for group in response.groups:
            _add_ids(group, ids, catalogue)
        for group, part in zip(response.groups, _answered(parts, len(response.groups)), strict=False):
            if part.unknown and not group.error_code:
                group.topics = group.topics + without_offsets(part.unknown, ErrorCode.UNKNOWN_TOPIC_ID)
        return response

    amend_first(ticket, amend)
    return changed(request, groups=groups)


def _add_ids(group: OffsetFetchResponseGroup, ids: dict[str, bytes], catalogue: Catalogue) -> None:
    """Give topics their ids: those of the request, or those of now. A topic without one cannot be named: it goes."""
    topics = []
    for topic in group.topics:
        topic_id = ids.get(topic.name)
        if topic_id is None and (found := catalogue.topics.get(topic.name)) is not None:
            topic_id = found.topic_id
        if topic_id is not None:
            topic.topic_id = topic_id
            topics.append(topic)
    group.topics = topics


def _answered(parts: list[_Part], count: int) -> Iterator[_Part]:
    """Return the groups that are answered. If not all are, a request for all offsets of a group was not repeated."""
    seen = set[str]()
    for part in parts:
        if not (part.is_all and part.group_id in seen and count < len(parts)):
            yield part
        seen.add(part.group_id)


def without_offsets(
    topics: Iterable[OffsetFetchRequestTopics | OffsetFetchRequestTopic], error: ErrorCode
) -> list[OffsetFetchResponseTopics]:
    """Return the answer to partitions that are refused."""
    return [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=topic.topic_id if isinstance(topic, OffsetFetchRequestTopics) else ZERO_UUID,
            partitions=[
                OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="", error_code=error)
                for index in topic.partition_indexes
            ],
        )
        for topic in topics
    ]


def shape(response: OffsetFetchResponse, version: int) -> OffsetFetchResponse:
    if version >= FIRST_WITH_GROUPS:
        for group in response.groups:
            if group.error_code and not _tells_partitions(group):
                group.topics = []
        return response
    (group,) = response.groups
    if group.error_code and version >= FIRST_WITH_GROUP_ERROR and not _tells_partitions(group):
        group.topics = []
    return OffsetFetchResponse(topics=_topics(group), error_code=group.error_code)


def _tells_partitions(group: OffsetFetchResponseGroup) -> bool:
    """Return whether the error of a group is repeated for its partitions, which Kafka does not do.

    aiokafka reads the errors of partitions only. It takes a partition that is left out for one without an offset, and
    resets it; a quarantined group would lose its place.
    """
    return group.error_code == QUARANTINE_ERROR


def _topics(group: OffsetFetchResponseGroup) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=partition.partition_index,
                    committed_offset=partition.committed_offset,
                    committed_leader_epoch=partition.committed_leader_epoch,
                    metadata=partition.metadata,
                    error_code=partition.error_code,
                )
                for partition in topic.partitions
            ],
        )
        for topic in group.topics
    ]


LONG_GROUPS: Final = (
    (0, Array("topics", of=PARTITIONS, within="groups")),
    (FIRST_WITH_GROUP_ERROR, Array("topics", tail_bytes=2, of=PARTITIONS, within="groups")),
    (FIRST_WITH_GROUPS, Array("groups", of=Array("topics", tail_bytes=2, of=PARTITIONS))),
)

API = Api(
    ApiKey.OFFSET_FETCH,
    1,
    10,
    handle,
    shape,
    max_elements=12_000,
    is_sampled=True,
    chunked=LONG_GROUPS,
    amplifies=True,
    section=Section.GROUPS,
    does="One group, or many from 8 on; topics by id from 10 on; `require_stable` (KIP-447).",
)
