"""The response to a request that only contains one error, at the level where the API has a field for it.

Counterpart of Kafka's `AbstractRequest.getErrorResponse`. Used to answer a request that was not handled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from coordinator.core.consumer_group.describe import refused as consumer_group_refused
from coordinator.core.consumer_group.heartbeat import refused as heartbeat_refused
from coordinator.core.group.describe import describe_error
from coordinator.core.group.responses import join_error, sync_error
from coordinator.core.pending_markers import markers_refused
from coordinator.core.transactions.add_partitions import partitions_of, topic_results
from coordinator.server.api.offset_fetch import without_offsets
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from protocol.messages.api_versions import ApiVersionsResponse
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from protocol.messages.describe_groups import DescribeGroupsResponse
from protocol.messages.describe_transactions import DescribeTransactionsResponse, TransactionState
from protocol.messages.end_txn import EndTxnResponse
from protocol.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData
from protocol.messages.find_coordinator import Coordinator, FindCoordinatorResponse
from protocol.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsResponse
from protocol.messages.heartbeat import HeartbeatResponse
from protocol.messages.init_producer_id import InitProducerIdResponse
from protocol.messages.leave_group import LeaveGroupResponse
from protocol.messages.list_groups import ListGroupsResponse
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.list_transactions import ListTransactionsResponse
from protocol.messages.metadata import MetadataResponse, MetadataResponseTopic
from protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.offset_delete import OffsetDeleteResponse
from protocol.messages.offset_fetch import OffsetFetchResponse, OffsetFetchResponseGroup
from protocol.messages.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from protocol.messages.push_telemetry import PushTelemetryResponse
from protocol.messages.sasl_handshake import SaslHandshakeResponse
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)

SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
ErrorResponse = Callable[[Any, ErrorCode], Any]


def _find_coordinator(request: Any, error: ErrorCode) -> FindCoordinatorResponse:
    keys = request.coordinator_keys or [request.key]
    return FindCoordinatorResponse(
        coordinators=[
            Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=error.message)
            for key in keys
        ]
    )


def _metadata(request: Any, error: ErrorCode) -> MetadataResponse:
    topics = [
        MetadataResponseTopic(error_code=error, name=topic.name or "", topic_id=topic.topic_id, partitions=[])
        for topic in request.topics or ()
    ]
    return MetadataResponse(brokers=[], topics=topics, error_code=error)


def _fetch(request: Any, error: ErrorCode) -> FetchResponse:
    """Put an error of the session at the top, without partitions as Kafka does, and any other at the partitions."""
    if error in SESSION_ERRORS:
        return FetchResponse(error_code=error, responses=[])
    responses = [
        FetchableTopicResponse(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[
                PartitionData(partition_index=each.partition, error_code=error, high_watermark=-1, records=None)
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    return FetchResponse(responses=responses)


def _produce(request: Any, error: ErrorCode) -> ProduceResponse | None:
    if not request.acks:
        return None  # nothing is answered, whatever happens
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(index=each.index, error_code=error, base_offset=-1)
                    for each in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _list_offsets(request: Any, error: ErrorCode) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_commit(request: Any, error: ErrorCode) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=error)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _txn_offset_commit(request: Any, error: ErrorCode) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                topic.name,
                topic.topic_id,
                [TxnOffsetCommitResponsePartition(each.partition_index, int(error)) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _add_partitions_to_txn(request: Any, error: ErrorCode) -> AddPartitionsToTxnResponse:
    """Put the error at both levels: from version 4 on it is that of the request, before that of each partition."""
    topics = request.v3_and_below_topics
    return AddPartitionsToTxnResponse(
        error_code=error,
        results_by_topic_v3_and_below=topic_results(topics, dict.fromkeys(partitions_of(topics), error)),
    )


def _offset_fetch(request: Any, error: ErrorCode) -> OffsetFetchResponse:
    """Put the error at both levels; the shape of a version takes the one that it has. Before 8 there is one group."""
    groups = [(group.group_id, group.topics) for group in request.groups] or [(request.group_id, request.topics)]
    return OffsetFetchResponse(
        groups=[
            OffsetFetchResponseGroup(
                group_id=group_id,
                topics=without_offsets(topics or (), error),
                error_code=error,
            )
            for group_id, topics in groups
        ]
    )


def _create_topics(request: Any, error: ErrorCode) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name=topic.name, error_code=error) for topic in request.topics]
    )


def _delete_topics(request: Any, error: ErrorCode) -> DeleteTopicsResponse:
    topics = [(topic.name, topic.topic_id) for topic in request.topics] or [
        (name, bytes(16)) for name in request.topic_names
    ]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name=name, topic_id=topic_id, error_code=error, error_message=None)
            for name, topic_id in topics
        ]
    )


ERROR_RESPONSES: Final[Mapping[int, ErrorResponse]] = MappingProxyType(
    {
        ApiKey.PRODUCE: _produce,
        ApiKey.FETCH: _fetch,
        ApiKey.LIST_OFFSETS: _list_offsets,
        ApiKey.METADATA: _metadata,
        ApiKey.OFFSET_COMMIT: _offset_commit,
        ApiKey.OFFSET_FETCH: _offset_fetch,
        ApiKey.FIND_COORDINATOR: _find_coordinator,
        ApiKey.JOIN_GROUP: lambda request, error: join_error(error, request.member_id),
        ApiKey.HEARTBEAT: lambda _, error: HeartbeatResponse(error_code=error),
        ApiKey.LEAVE_GROUP: lambda _, error: LeaveGroupResponse(error_code=error),
        ApiKey.SYNC_GROUP: lambda _, error: sync_error(error),
        ApiKey.DESCRIBE_GROUPS: lambda request, error: DescribeGroupsResponse(
            groups=[describe_error(group_id, error) for group_id in request.groups]
        ),
        ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda _, error: heartbeat_refused(error),
        ApiKey.CONSUMER_GROUP_DESCRIBE: lambda request, error: ConsumerGroupDescribeResponse(
            groups=[consumer_group_refused(group_id, error) for group_id in request.group_ids]
        ),
        ApiKey.LIST_GROUPS: lambda _, error: ListGroupsResponse(error_code=error),
        ApiKey.API_VERSIONS: lambda _, error: ApiVersionsResponse(error_code=error, api_keys=[]),
        ApiKey.CREATE_TOPICS: _create_topics,
        ApiKey.DELETE_TOPICS: _delete_topics,
        ApiKey.INIT_PRODUCER_ID: lambda _, error: InitProducerIdResponse(
            error_code=error, producer_id=-1, producer_epoch=-1
        ),
        ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
        ApiKey.ADD_OFFSETS_TO_TXN: lambda _, error: AddOffsetsToTxnResponse(error_code=error),
        ApiKey.END_TXN: lambda _, error: EndTxnResponse(error_code=error),
        ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
        ApiKey.WRITE_TXN_MARKERS: markers_refused,
        ApiKey.LIST_TRANSACTIONS: lambda _, error: ListTransactionsResponse(error_code=error),
        ApiKey.DESCRIBE_TRANSACTIONS: lambda request, error: DescribeTransactionsResponse(
            transaction_states=[TransactionState(error, each) for each in request.transactional_ids]
        ),
        ApiKey.DELETE_GROUPS: lambda request, error: DeleteGroupsResponse(
            results=[DeletableGroupResult(group_id=name, error_code=error) for name in request.groups_names]
        ),
        ApiKey.SASL_HANDSHAKE: lambda _, error: SaslHandshakeResponse(error_code=error),
        ApiKey.GET_TELEMETRY_SUBSCRIPTIONS: lambda _, error: GetTelemetrySubscriptionsResponse(error_code=error),
        ApiKey.PUSH_TELEMETRY: lambda _, error: PushTelemetryResponse(error_code=error),
        ApiKey.OFFSET_DELETE: lambda _, error: OffsetDeleteResponse(error_code=error, topics=[]),
    }
)
