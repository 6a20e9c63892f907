"""The catalogue of topics: Metadata, and the requests that create, grow and delete topics.

Source: `KafkaApis.handleTopicMetadataRequest`, `DescribeTopicPartitionsRequestHandler`, and `ControllerApis`.
"""

from __future__ import annotations

from collections import Counter
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from coordinator.core.topics.describe import missing_topic
from coordinator.security.acl.model import CLUSTER, AclOperation, Resource, ResourceType
from coordinator.server.api.authorization.verdict import (
    PASS,
    TOPIC_DENIED,
    AnswerNow,
    Handle,
    Verdict,
    allowed,
    cluster_operations,
    split,
)
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    TopicRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse, MetadataResponseTopic
from protocol.primitives import ZERO_UUID
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

REFUSED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED
_METADATA_BY_ID: Final = 12
_DELETE_BY_ID: Final = 6
_CREATION_DENIED: Final = "Authorization failed."
_UNKNOWN_TOPIC: Final = "This server does not host this topic-partition."
_CLUSTER_METADATA: Final = "__cluster_metadata"  # the handler refuses it
_name_of: Final = attrgetter("name")


def metadata(request: MetadataRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check Metadata. A request for all topics leaves out those that may not be described; others name them as errors.

    A topic that would be created needs CREATE on the cluster or on the topic.
    """
    asked = request.topics
    if asked is not None and version < _METADATA_BY_ID and any(_is_by_id(each) for each in asked):
        return PASS  # it is invalid
    is_all = asked is None or (version == 0 and not asked)
    if asked is None or is_all:
        kept, errors = asked, list[MetadataResponseTopic]()
    elif any(each.topic_id != ZERO_UUID for each in asked):
        kept, errors = _metadata_by_id(asked, access, topics)
    else:
        kept, errors = _metadata_by_name(request, asked, access, topics)
    if not (is_all or errors or request.include_topic_authorized_operations) and (
        not request.include_cluster_authorized_operations
    ):
        return PASS

    def amend(response: MetadataResponse) -> MetadataResponse:
        described = response.topics
        if is_all:
            names = (topic.name or "" for topic in described)
            visible = allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, names, is_logged=False)
            described = [topic for topic in described if topic.name in visible]
        elif not kept:
            described = []  # of version 0, in which an empty list asks for all
        if request.include_topic_authorized_operations:
            for topic in described:
                if topic.name is not None:
                    resource = Resource(ResourceType.TOPIC, topic.name)
                    topic.topic_authorized_operations = access.operations(resource)
        response.topics = described + errors
        if request.include_cluster_authorized_operations:
            response.cluster_authorized_operations = cluster_operations(access)
        return response

    return Handle(changed(request, topics=kept), amend)


def _is_by_id(asked: MetadataRequestTopic) -> bool:
    return asked.name is None or asked.topic_id != ZERO_UUID


def _metadata_by_id(
    asked: list[MetadataRequestTopic], access: Access, topics: Topics
) -> tuple[list[MetadataRequestTopic], list[MetadataResponseTopic]]:
    """Return what is kept, and the errors of the others, without their names. Ids are no secret."""
    ids = dict.fromkeys(each.topic_id for each in asked)
    named = {topic_id: topic.name for topic_id in ids if (topic := topics.catalogue.by_id(topic_id)) is not None}
    names = allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, named.values())
    refused = {topic_id for topic_id, name in named.items() if name not in names}
    return (
        [each for each in asked if each.topic_id not in refused],
        [missing_topic(None, REFUSED, topic_id) for topic_id in ids if topic_id in refused],
    )


def _metadata_by_name(
    request: MetadataRequest, asked: list[MetadataRequestTopic], access: Access, topics: Topics
) -> tuple[list[MetadataRequestTopic], list[MetadataResponseTopic]]:
    """Return what is kept, and the errors of the others, which do not tell whether a topic exists."""
    names = dict.fromkeys(each.name or "" for each in asked)
    kept = allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, names)
    new = [name for name in names if name in kept and name not in topics.catalogue.topics]
    uncreatable = list[str]()
    if new and request.allow_auto_topic_creation and topics.config.auto_create_topics_enable:
        uncreatable = split(new, _creatable(new, access), str)[1]
    errors = [missing_topic(name, REFUSED) for name in uncreatable]
    errors += [MetadataResponseTopic(error_code=REFUSED, name=name) for name in names if name not in kept]
    kept.difference_update(uncreatable)
    return [each for each in asked if (each.name or "") in kept], errors


def _creatable(names: list[str], access: Access) -> set[str]:
    if access.may(AclOperation.CREATE, CLUSTER, is_logged=False):
        return set(names)
    return allowed(access, AclOperation.CREATE, ResourceType.TOPIC, names)


def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, _version: int, access: Access, topics: Topics
) -> Verdict:
    """Check DescribeTopicPartitions. Pages are cut from the topics that may be described; errors come behind them."""
    cursor = request.cursor
    is_all = not request.topics
    named = list(topics.catalogue.topics) if is_all else [each.name for each in request.topics]
    first = "" if cursor is None else cursor.topic_name
    if cursor is not None and (cursor.partition_index < 0 or not (is_all or first in named)):
        return PASS  # it is invalid
    asked = dict.fromkeys(name for name in named if name >= first)
    names = allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, asked)
    refused = [] if is_all else sorted(asked.keys() - names)
    errors = [DescribeTopicPartitionsResponseTopic(error_code=REFUSED, name=name) for name in refused]
    if not names:
        return AnswerNow(DescribeTopicPartitionsResponse(topics=errors))

    def amend(response: DescribeTopicPartitionsResponse) -> DescribeTopicPartitionsResponse:
        for topic in response.topics:
            resource = Resource(ResourceType.TOPIC, topic.name or "")
            topic.topic_authorized_operations = access.operations(resource)
        response.topics += errors
        return response

    if len(names) < len(asked):
        kept = [TopicRequest(name=name) for name in asked if name in names]
        request = changed(request, topics=kept, cursor=cursor if first in names else None)
    return Handle(request, amend)


def create_topics(request: CreateTopicsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check CreateTopics: CREATE on the cluster or on the topic, and DESCRIBE_CONFIGS to be told the settings.

    The handler refuses a topic that is named twice. Refused topics come last in the answer.
    """
    times = Counter(map(_name_of, request.topics))
    once = [name for name, count in times.items() if count == 1 and name != _CLUSTER_METADATA]
    creatable = _creatable(once, access)
    shown = allowed(access, AclOperation.DESCRIBE_CONFIGS, ResourceType.TOPIC, once, is_logged=False)
    refused = [name for name in once if name not in creatable]
    if len(shown) == len(once) and not refused:
        return PASS
    errors = [CreatableTopicResult(name=name, error_code=REFUSED, error_message=_CREATION_DENIED) for name in refused]
    if len(refused) == len(times):
        return AnswerNow(CreateTopicsResponse(topics=errors))

    def amend(response: CreateTopicsResponse) -> CreateTopicsResponse:
        for topic in response.topics:
            if topic.error_code == ErrorCode.NONE and topic.name not in shown:
                topic.topic_config_error_code = REFUSED
                topic.num_partitions = topic.replication_factor = -1
                topic.configs = []
        response.topics += errors
        return response

    excluded = set(refused)
    return Handle(changed(request, topics=[each for each in request.topics if each.name not in excluded]), amend)


def create_partitions(request: CreatePartitionsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check CreatePartitions. The handler refuses a topic that is named twice. Refused topics come first."""
    times = Counter(map(_name_of, request.topics))
    once = [name for name, count in times.items() if count == 1]
    refused = split(once, allowed(access, AclOperation.ALTER, ResourceType.TOPIC, once), str)[1]
    if not refused:
        return PASS
    errors = [CreatePartitionsTopicResult(name=name, error_code=REFUSED) for name in refused]
    if len(refused) == len(times):
        return AnswerNow(CreatePartitionsResponse(results=errors))

    def amend(response: CreatePartitionsResponse) -> CreatePartitionsResponse:
        response.results = errors + response.results
        return response

    excluded = set(refused)
    return Handle(changed(request, topics=[each for each in request.topics if each.name not in excluded]), amend)


def delete_topics(request: DeleteTopicsRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check DeleteTopics: DELETE on the cluster or on the topic. The name of an id is told to who may describe it.

    The handler refuses invalid elements and unknown ids. Kafka shuffles its answer; here refused topics come last.
    """
    if access.may(AclOperation.DELETE, CLUSTER, is_logged=False):
        return PASS
    by_id = version >= _DELETE_BY_ID
    asked = request.topics if by_id else [DeleteTopicState(name=name) for name in request.topic_names]
    times = Counter((each.name, each.topic_id) for each in asked)
    named = dict[tuple[str | None, bytes], str]()  # each valid element with the name of its topic
    for (name, topic_id), count in times.items():
        if count > 1 or (name is not None and topic_id != ZERO_UUID):
            continue
        topic = topics.catalogue.by_id(topic_id) if name is None else None
        found = name if topic is None else topic.name
        if found is not None:
            named[name, topic_id] = found
    names = dict.fromkeys(named.values())
    described = allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, names)
    deletable = allowed(access, AclOperation.DELETE, ResourceType.TOPIC, names)
    refused = dict[tuple[str | None, bytes], DeletableTopicResult]()
    for key, topic_name in named.items():
        is_named, is_described = key[0] is not None, topic_name in described
        if topic_name in deletable and (is_described or not is_named):
            continue
        shown = topic_name if is_named or is_described else None
        error, message = REFUSED, TOPIC_DENIED
        if is_described and topic_name not in topics.catalogue.topics:
            error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _UNKNOWN_TOPIC
        refused[key] = DeletableTopicResult(name=shown, topic_id=key[1], error_code=error, error_message=message)
    if not refused:
        return PASS
    errors = list(refused.values())
    if len(refused) == len(times):
        return AnswerNow(DeleteTopicsResponse(responses=errors))

    def amend(response: DeleteTopicsResponse) -> DeleteTopicsResponse:
        response.responses += errors
        return response

    kept = [each for each in asked if (each.name, each.topic_id) not in refused]
    if by_id:
        return Handle(changed(request, topics=kept), amend)
    return Handle(changed(request, topic_names=[each.name for each in kept]), amend)
