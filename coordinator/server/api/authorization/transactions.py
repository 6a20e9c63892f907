"""Transactions: a right to the transactional id, and to what takes part. Source: the handlers of `KafkaApis`."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Final

from coordinator.core.pending_markers import markers_refused
from coordinator.core.topics.names import is_internal
from coordinator.core.transactions.add_partitions import partitions_of, topic_results
from coordinator.security.acl.model import CLUSTER, AclOperation, Resource, ResourceType
from coordinator.server.api.add_partitions_to_txn import OF_NODES_SINCE
from coordinator.server.api.authorization.offsets import commit_of_topics
from coordinator.server.api.authorization.verdict import PASS, TOPIC_DENIED, AnswerNow, Handle, Verdict, allowed, split
from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.api.txn_offset_commit import FIRST_WITH_TOPIC_IDS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicResponse,
)
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from protocol.messages.write_txn_markers import WriteTxnMarkersRequest
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

_REFUSED: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
_TOPIC_REFUSED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_name_of: Final = attrgetter("name")


def _may(access: Access, operation: AclOperation, transactional_id: str) -> bool:
    return access.may(operation, Resource(ResourceType.TRANSACTIONAL_ID, transactional_id))


def add_partitions(request: AddPartitionsToTxnRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check AddPartitionsToTxn. If one topic of a client is refused, the partitions of the others are not tried."""
    if version >= OF_NODES_SINCE:
        if access.may(AclOperation.CLUSTER_ACTION, CLUSTER):
            return PASS
        return AnswerNow(AddPartitionsToTxnResponse(error_code=int(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)))
    asked = request.v3_and_below_topics
    if not _may(access, AclOperation.WRITE, request.v3_and_below_transactional_id):
        errors = dict.fromkeys(partitions_of(asked), _REFUSED)
    else:
        names = allowed(
            access, AclOperation.WRITE, ResourceType.TOPIC, [each.name for each in asked if not is_internal(each.name)]
        )
        if names.issuperset(each.name for each in asked if not is_internal(each.name)):
            return PASS
        errors = {
            (topic, partition): _TOPIC_REFUSED
            if topic not in names
            else ErrorCode.OPERATION_NOT_ATTEMPTED
            if topics.partition_exists(topic, partition)
            else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for topic, partition in partitions_of(asked)
        }
    return AnswerNow(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topic_results(asked, errors)))


def add_offsets(request: AddOffsetsToTxnRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check AddOffsetsToTxn."""
    if not _may(access, AclOperation.WRITE, request.transactional_id):
        return AnswerNow(AddOffsetsToTxnResponse(error_code=int(_REFUSED)))
    if not access.may(AclOperation.READ, Resource(ResourceType.GROUP, request.group_id)):
        return AnswerNow(AddOffsetsToTxnResponse(error_code=int(ErrorCode.GROUP_AUTHORIZATION_FAILED)))
    return PASS


def end_txn(request: EndTxnRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check EndTxn."""
    if _may(access, AclOperation.WRITE, request.transactional_id):
        return PASS
    return AnswerNow(EndTxnResponse(error_code=int(_REFUSED)))


def txn_offset_commit(request: TxnOffsetCommitRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check TxnOffsetCommit. Refused topics come first in the answer, with those that do not exist."""
    refuse = ERROR_RESPONSES[ApiKey.TXN_OFFSET_COMMIT]
    if not _may(access, AclOperation.WRITE, request.transactional_id):
        return AnswerNow(refuse(request, _REFUSED))
    if not access.may(AclOperation.READ, Resource(ResourceType.GROUP, request.group_id)):
        return AnswerNow(refuse(request, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    types = TxnOffsetCommitResponse, TxnOffsetCommitResponseTopic, TxnOffsetCommitResponsePartition
    return commit_of_topics(request, access, topics, types, is_by_id=version >= FIRST_WITH_TOPIC_IDS)


def describe_transactions(
    request: DescribeTransactionsRequest, _version: int, access: Access, _topics: Topics
) -> Verdict:
    """Check DescribeTransactions. Refused ids keep their place; topics that may not be described are left out."""
    ids = request.transactional_ids
    names = allowed(access, AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, ids)

    def amend(response: DescribeTransactionsResponse) -> DescribeTransactionsResponse:
        found = {state.transactional_id: state for state in response.transaction_states}
        states = [
            found[each] if each in names else TransactionState(error_code=int(_REFUSED), transactional_id=each)
            for each in ids
            if each in found or each not in names
        ]
        shown = allowed(
            access,
            AclOperation.DESCRIBE,
            ResourceType.TOPIC,
            {topic.topic for state in states for topic in state.topics},
        )
        for state in states:
            state.topics = [topic for topic in state.topics if topic.topic in shown]
        return DescribeTransactionsResponse(transaction_states=states)

    kept = [each for each in ids if each in names]
    if not kept:
        return AnswerNow(amend(DescribeTransactionsResponse()))
    return Handle(changed(request, transactional_ids=kept), amend)


def list_transactions(_request: ListTransactionsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check ListTransactions. Ids that may not be described are left out."""

    def amend(response: ListTransactionsResponse) -> ListTransactionsResponse:
        ids = [each.transactional_id for each in response.transaction_states]
        names = allowed(access, AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, ids)
        response.transaction_states = [each for each in response.transaction_states if each.transactional_id in names]
        return response

    return Handle(_request, amend)


def describe_producers(request: DescribeProducersRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check DescribeProducers. Refused topics come last in the answer."""
    names = allowed(access, AclOperation.READ, ResourceType.TOPIC, map(_name_of, request.topics))
    kept, refused = split(request.topics, names, _name_of)
    if not refused:
        return PASS
    errors = [
        TopicResponse(
            topic.name, [PartitionResponse(each, int(_TOPIC_REFUSED), TOPIC_DENIED) for each in topic.partition_indexes]
        )
        for topic in refused
    ]

    def amend(response: DescribeProducersResponse) -> DescribeProducersResponse:
        response.topics += errors
        return response

    if not kept:
        return AnswerNow(amend(DescribeProducersResponse()))
    return Handle(changed(request, topics=kept), amend)


def write_txn_markers(request: WriteTxnMarkersRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check WriteTxnMarkers: of an admin client, or of a broker."""
    if access.may(AclOperation.ALTER, CLUSTER, is_logged=False) or access.may(AclOperation.CLUSTER_ACTION, CLUSTER):
        return PASS
    return AnswerNow(markers_refused(request, ErrorCode.CLUSTER_AUTHORIZATION_FAILED))
