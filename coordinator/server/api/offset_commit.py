"""OffsetCommit (key 8), handled by `coordinator.core.offsets.commit`.

Versions 0 and 1 stored offsets in ZooKeeper and are not served. An unknown group is GROUP_ID_NOT_FOUND from 9 on;
before, ILLEGAL_GENERATION tells the same to a member. Members of KIP-848 groups need 9 or later. From 10 on topics have
ids instead of names. Source: `KafkaApis.handleOffsetCommitRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from coordinator.core.offsets.commit import CommitWithoutEpochs
from coordinator.core.offsets.commit_template import RepeatedCommit
from coordinator.server.api.chunked_responses import TOPICS
from coordinator.server.api.handler import Api, Section
from coordinator.server.api.topic_ids import IdsOfTopics, add_names, amend_first, with_unknown_ids
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node
    from protocol.messages.offset_commit import OffsetCommitRequest

FIRST_WITH_GROUP_ID_NOT_FOUND: Final = 9
FIRST_WITH_MEMBER_EPOCHS: Final = 9
FIRST_WITH_TOPIC_IDS: Final = 10
_GROUP_ID_NOT_FOUND: Final = int(ErrorCode.GROUP_ID_NOT_FOUND)


def handle(node: Node, request: OffsetCommitRequest | RepeatedCommit, ticket: Ticket, now_ms: int) -> None:
    version = ticket.version
    command: Any = request
    if version < FIRST_WITH_MEMBER_EPOCHS:
        if not isinstance(request, RepeatedCommit):
            command = CommitWithoutEpochs(request)
    elif version >= FIRST_WITH_TOPIC_IDS:
        command = _by_names(node, request, ticket)
        if command is None:
            node.reply(ticket, OffsetCommitResponse())
            return
    node.execute(node.core.handle(command, ticket, now_ms), ticket)


def _by_names(
    node: Node, request: OffsetCommitRequest | RepeatedCommit, ticket: Ticket
) -> OffsetCommitRequest | RepeatedCommit | None:
    """Return what the core handles, without topics whose ids are not known; None if nothing is left.

    The ticket gets what completes the answer.
    """
    if isinstance(request, RepeatedCommit):
        amend_first(ticket, IdsOfTopics(request.topic_ids))
        return request
    unknown = add_names(request.topics, node.topics.catalogue)
    add_ids = IdsOfTopics({topic.name: topic.topic_id for topic in request.topics})
    if not unknown:
        amend_first(ticket, add_ids)
        return request
    types = OffsetCommitResponseTopic, OffsetCommitResponsePartition
    amend_first(ticket, lambda response: with_unknown_ids(request.topics, add_ids(response), *types))
    known = [topic for topic in request.topics if topic.name]
    return changed(request, topics=known) if known else None


def shape(response: OffsetCommitResponse, version: int) -> OffsetCommitResponse:
    if version < FIRST_WITH_GROUP_ID_NOT_FOUND:
        for topic in response.topics:
            for partition in topic.partitions:
                if partition.error_code == _GROUP_ID_NOT_FOUND:
                    partition.error_code = int(ErrorCode.ILLEGAL_GENERATION)
    return response


API = Api(
    ApiKey.OFFSET_COMMIT,
    2,
    10,
    handle,
    shape,
    max_elements=12_000,
    is_pipelined=True,
    waits_for_log=True,
    is_sampled=True,
    chunked=TOPICS,
    section=Section.GROUPS,
    does="With a group, and without one (generation -1); topics by id from 10 on.",
    refuses=(
        "A topic that does not exist here, unless `offsets.commit.topic.check=false`: "
        "UNKNOWN_TOPIC_OR_PARTITION; an id that is not known: UNKNOWN_TOPIC_ID. Metadata beyond "
        "`offset.metadata.max.bytes`: OFFSET_METADATA_TOO_LARGE."
    ),
)
