"""TxnOffsetCommit (key 28): offsets of a group that become visible with a transaction.

The transaction coordinator is asked first, unless the producer has an open transaction in the partition of the group.
From version 5 on the partition becomes part of the transaction (KIP-890), and from 6 on topics have ids instead of
names (KIP-1319). Clients before version 4 do not know TRANSACTION_ABORTABLE and get INVALID_TXN_STATE; before 6 an
unknown group and an old member epoch are ILLEGAL_GENERATION. Source: `KafkaApis.handleTxnOffsetCommitRequest`, and
`CoordinatorRuntime.scheduleTransactionalWriteOperation`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.server.api.chunked_responses import TOPICS
from coordinator.server.api.handler import Api, Section
from coordinator.server.api.topic_ids import IdsOfTopics, add_names, amend_first, with_unknown_ids
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTransaction
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.server.api.node import Node

ABORTABLE_SINCE: Final = 4
ADDS_SINCE: Final = 5
FIRST_WITH_TOPIC_IDS: Final = 6
_ILLEGAL_GENERATION: Final = int(ErrorCode.ILLEGAL_GENERATION)
_BEFORE_6: Final[dict[int, int]] = {
    int(ErrorCode.GROUP_ID_NOT_FOUND): _ILLEGAL_GENERATION,
    int(ErrorCode.STALE_MEMBER_EPOCH): _ILLEGAL_GENERATION,
}
_BEFORE_4: Final[dict[int, int]] = {
    **_BEFORE_6,
    int(ErrorCode.TRANSACTION_ABORTABLE): int(ErrorCode.INVALID_TXN_STATE),
}


def handle(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket, now_ms: int) -> None:
    if ticket.version >= FIRST_WITH_TOPIC_IDS:
        known = _by_names(node, request, ticket)
        if known is None:
            node.reply(ticket, TxnOffsetCommitResponse())
            return
        request = known
    if node.transactions is None:
        node.reply(ticket, node.core.refused_commit(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED))
        return
    if (
        not node.core.may_commit(request)
        or node.core.is_in_transaction(request.group_id, request.producer_id, request.producer_epoch)
    ):  # fmt: skip
        node.execute(node.core.handle(request, ticket, now_ms), ticket)
        return

    def verified(error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            node.execute(node.core.handle(request, ticket, node.now_ms()), ticket)
        else:
            if error is ErrorCode.PRODUCER_FENCED:
                error = ErrorCode.INVALID_PRODUCER_EPOCH
            node.reply(ticket, node.core.refused_commit(request, error))

    transaction = AddPartitionsToTxnTransaction(
        request.transactional_id,
        request.producer_id,
        request.producer_epoch,
        verify_only=ticket.version < ADDS_SINCE,
    )
    node.transactions.verify_offsets(transaction, request.group_id, verified)


def _by_names(node: Node, request: TxnOffsetCommitRequest, ticket: Ticket) -> TxnOffsetCommitRequest | None:
    """Return the request without topics whose ids are not known; None if nothing is left.

    The ticket gets what completes the answer.
    """
    unknown = add_names(request.topics, node.topics.catalogue)
    add_ids = IdsOfTopics({topic.name: topic.topic_id for topic in request.topics})
    if not unknown:
        amend_first(ticket, add_ids)
        return request
    types = TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition
    amend_first(ticket, lambda response: with_unknown_ids(request.topics, add_ids(response), *types))
    known = [topic for topic in request.topics if topic.name]
    return changed(request, topics=known) if known else None


def shape(response: TxnOffsetCommitResponse, version: int) -> TxnOffsetCommitResponse:
    if version < FIRST_WITH_TOPIC_IDS:
        older = _BEFORE_4 if version < ABORTABLE_SINCE else _BEFORE_6
        for topic in response.topics:
            for partition in topic.partitions:
                partition.error_code = older.get(partition.error_code, partition.error_code)
    return response


API = Api(
    ApiKey.TXN_OFFSET_COMMIT,
    0,
    6,
    handle,
    shape,
    max_elements=12_000,
    chunked=TOPICS,
    section=Section.GROUPS,
    refuses="What OffsetCommit refuses.",
)
