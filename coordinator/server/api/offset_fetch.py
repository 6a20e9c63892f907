"""OffsetFetch (key 9), handled by `coordinator.core.offsets.fetch`.

Versions 1 to 7 ask about one group: a list of one, whose answer moves to the top. Version 1 has no field for an error
of the group, so every partition carries it. In later versions the error of a group comes without partitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.offsets.quarantine import QUARANTINE_ERROR
from coordinator.server.api.chunked_responses import PARTITIONS, Array
from coordinator.server.api.handler import Api, Section, handle_in_core
from protocol.api_keys import ApiKey
from protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponseGroup

FIRST_WITH_GROUP_ERROR: Final = 2
FIRST_WITH_GROUPS: Final = 8


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
    handle_in_core(node, request, ticket, now_ms)


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
    9,
    handle,
    shape,
    max_elements=12_000,
    is_sampled=True,
    chunked=LONG_GROUPS,
    amplifies=True,
    section=Section.GROUPS,
    does="One group, or many from 8 on; `require_stable` (KIP-447).",
)
