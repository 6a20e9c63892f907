"""The records of topics: Produce, Fetch and the requests for offsets. Source: the handlers of Kafka's `KafkaApis`."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from coordinator.security.acl.model import CLUSTER, AclOperation, Resource, ResourceType
from coordinator.server.api.authorization.verdict import PASS, AnswerNow, Handle, Verdict, allowed, split
from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.api.produce import IDS_SINCE as PRODUCE_BY_ID
from coordinator.server.api.topic_ids import id_of
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, FetchTopic, PartitionData
from protocol.messages.init_producer_id import InitProducerIdRequest
from protocol.messages.list_offsets import ListOffsetsRequest
from protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from protocol.messages.produce import ProduceRequest, ProduceResponse
from protocol.schema import changed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

T = TypeVar("T")
REFUSED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_FETCH_BY_ID: Final = 13
_FETCH_WITH_REPLICA_STATE: Final = 15
_FULL_FETCH_EPOCHS: Final = frozenset({0, -1})
_MAGIC_AT: Final = 16  # in a batch
_ATTRIBUTES_AT: Final = 22  # the low byte
_TRANSACTIONAL: Final = 0x10
_name_of: Final = attrgetter("name")
_topic_of: Final = attrgetter("topic")


def produce(request: ProduceRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check Produce. Refused topics come last in the answer; a refusal without an answer closes the connection.

    The handler refuses unknown ids.
    """
    if any(_is_transactional(each.records) for topic in request.topic_data for each in topic.partition_data) and (
        request.transactional_id is None
        or not access.may(AclOperation.WRITE, Resource(ResourceType.TRANSACTIONAL_ID, request.transactional_id))
    ):
        return _refused_produce(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if version < PRODUCE_BY_ID:
        names = allowed(access, AclOperation.WRITE, ResourceType.TOPIC, map(_name_of, request.topic_data))
        kept, refused = split(request.topic_data, names, _name_of)
    else:
        kept, refused = _split_by_id(request.topic_data, AclOperation.WRITE, access, topics)
    if not refused:
        return PASS
    errors = _refused_produce(changed(request, topic_data=refused), REFUSED)
    if not kept:
        return errors

    def amend(response: ProduceResponse) -> ProduceResponse:
        response.responses += errors.response.responses
        return response

    return Handle(changed(request, topic_data=kept), amend, errors.disconnect)


def _refused_produce(request: ProduceRequest, error: ErrorCode) -> AnswerNow:
    disconnect = "" if request.acks else f"a batch sent with acks=0 was refused: {error.name}"
    return AnswerNow(ERROR_RESPONSES[ApiKey.PRODUCE](request, error), disconnect)


def _is_transactional(records: bytes | None) -> bool:
    """Return whether the first batch belongs to a transaction (RequestUtils.hasTransactionalRecords)."""
    if records is None or len(records) <= _ATTRIBUTES_AT or records[_MAGIC_AT] < 2:
        return False
    return bool(records[_ATTRIBUTES_AT] & _TRANSACTIONAL)


def fetch(request: FetchRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check Fetch. A follower needs CLUSTER_ACTION, a consumer READ. Refused topics come last in the answer.

    The handler refuses a request in a session, which Kafka does before it looks at the topics, and unknown ids.
    """
    if request.session_epoch not in _FULL_FETCH_EPOCHS:
        return PASS
    replica = request.replica_state.replica_id if version >= _FETCH_WITH_REPLICA_STATE else request.replica_id
    if replica >= 0:
        if access.may(AclOperation.CLUSTER_ACTION, CLUSTER):
            return PASS
        return AnswerNow(FetchResponse(responses=[_refused_fetch(topic) for topic in request.topics]))

    if version < _FETCH_BY_ID:
        known: list[FetchTopic] = request.topics
        names = allowed(access, AclOperation.READ, ResourceType.TOPIC, map(_topic_of, known))
        kept, refused = split(known, names, _topic_of)
    else:
        kept, refused = _split_by_id(request.topics, AclOperation.READ, access, topics)
    if not refused:
        return PASS
    errors = [_refused_fetch(topic) for topic in refused]
    if not kept:
        return AnswerNow(FetchResponse(responses=errors))

    def amend(response: FetchResponse) -> FetchResponse:
        if response.error_code == ErrorCode.NONE:
            response.responses += errors
        return response

    return Handle(changed(request, topics=kept), amend)


def _split_by_id(
    asked: Sequence[T], operation: AclOperation, access: Access, topics: Topics
) -> tuple[list[T], list[T]]:
    """Return the topics on which the operation is allowed or whose ids are unknown, and the others."""
    ids = list(map(id_of, asked))
    named = {topic_id: topic.name for topic_id in ids if (topic := topics.catalogue.by_id(topic_id)) is not None}
    names = allowed(access, operation, ResourceType.TOPIC, (named[each] for each in ids if each in named))
    refused = {topic_id for topic_id, name in named.items() if name not in names}
    return (
        [each for each, topic_id in zip(asked, ids, strict=True) if topic_id not in refused],
        [each for each, topic_id in zip(asked, ids, strict=True) if topic_id in refused],
    )


def _refused_fetch(topic: FetchTopic) -> FetchableTopicResponse:
    return FetchableTopicResponse(
        topic=topic.topic,
        topic_id=topic.topic_id,
        partitions=[
            PartitionData(partition_index=each.partition, error_code=REFUSED, high_watermark=-1, records=b"")
            for each in topic.partitions
        ],
    )


def list_offsets(request: ListOffsetsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check ListOffsets. Refused topics come last in the answer."""
    names = allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, map(_name_of, request.topics))
    kept, refused = split(request.topics, names, _name_of)
    errors = ERROR_RESPONSES[ApiKey.LIST_OFFSETS](changed(request, topics=refused), REFUSED)
    return _with_topics_last(request, kept, errors)


def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, _version: int, access: Access, _topics: Topics
) -> Verdict:
    """Check OffsetForLeaderEpoch, for followers and for consumers. Refused topics come last in the answer."""
    if access.may(AclOperation.CLUSTER_ACTION, CLUSTER, is_logged=False):
        return PASS
    names = allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, map(_topic_of, request.topics))
    kept, refused = split(request.topics, names, _topic_of)
    errors = OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[EpochEndOffset(error_code=REFUSED, partition=each.partition) for each in topic.partitions],
            )
            for topic in refused
        ]
    )
    return _with_topics_last(request, kept, errors)


def delete_records(request: DeleteRecordsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check DeleteRecords. Refused topics come last in the answer."""
    names = allowed(access, AclOperation.DELETE, ResourceType.TOPIC, map(_name_of, request.topics))
    kept, refused = split(request.topics, names, _name_of)
    errors = DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    DeleteRecordsPartitionResult(each.partition_index, low_watermark=-1, error_code=REFUSED)
                    for each in topic.partitions
                ],
            )
            for topic in refused
        ]
    )
    return _with_topics_last(request, kept, errors)


def _with_topics_last(request: Any, kept: list[Any], errors: Any) -> Verdict:
    """Return the verdict on a request of which only these topics are kept; `errors` answers the others."""
    if not errors.topics:
        return PASS
    if not kept:
        return AnswerNow(errors)

    def amend(response: Any) -> Any:
        response.topics += errors.topics
        return response

    return Handle(changed(request, topics=kept), amend)


def init_producer_id(request: InitProducerIdRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check InitProducerId. Idempotence needs IDEMPOTENT_WRITE, or WRITE on any topic (KIP-679)."""
    if request.transactional_id is not None:
        resource = Resource(ResourceType.TRANSACTIONAL_ID, request.transactional_id)
        is_allowed = access.may(AclOperation.WRITE, resource)
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    else:
        is_allowed = access.may(AclOperation.IDEMPOTENT_WRITE, CLUSTER, is_logged=False) or access.may_on_any(
            AclOperation.WRITE, ResourceType.TOPIC
        )
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    return PASS if is_allowed else AnswerNow(ERROR_RESPONSES[ApiKey.INIT_PRODUCER_ID](request, error))
