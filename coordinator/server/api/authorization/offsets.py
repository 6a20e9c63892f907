"""Committed offsets: a right to the group, and one to each topic. Source: `KafkaApis.handleOffsetCommitRequest` etc."""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.security.acl.model import AclOperation, Resource, ResourceType
from coordinator.server.api.authorization.verdict import PASS, AnswerNow, Handle, Verdict, allowed, split
from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.api.offset_fetch import FIRST_WITH_GROUPS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from protocol.schema import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

_TOPIC_REFUSED: Final = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_UNKNOWN: Final = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_name_of: Final = attrgetter("name")


def offset_commit(request: OffsetCommitRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check OffsetCommit. Refused topics come first in the answer, with those that do not exist."""
    if not access.may(AclOperation.READ, Resource(ResourceType.GROUP, request.group_id)):
        refuse = ERROR_RESPONSES[ApiKey.OFFSET_COMMIT]
        return AnswerNow(refuse(request, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    names = allowed(access, AclOperation.READ, ResourceType.TOPIC, map(_name_of, request.topics))
    kept, refused = split(request.topics, names, _name_of)
    if not refused:
        return PASS

    def amend(response: OffsetCommitResponse) -> OffsetCommitResponse:
        parts = _with_refused(request.topics, names, response.topics, OffsetCommitResponsePartition)
        response.topics = [OffsetCommitResponseTopic(name=name, partitions=some) for name, some in parts.items()]
        return response

    return Handle(changed(request, topics=kept), amend) if kept else AnswerNow(amend(OffsetCommitResponse()))


def offset_delete(request: OffsetDeleteRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check OffsetDelete. Refused topics are as in OffsetCommit, unless the group itself is an error."""
    if not access.may(AclOperation.DELETE, Resource(ResourceType.GROUP, request.group_id)):
        return AnswerNow(OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED))
    names = allowed(access, AclOperation.READ, ResourceType.TOPIC, map(_name_of, request.topics))
    kept, refused = split(request.topics, names, _name_of)
    if not refused:
        return PASS

    def amend(response: OffsetDeleteResponse) -> OffsetDeleteResponse:
        if response.error_code == ErrorCode.NONE:
            parts = _with_refused(request.topics, names, response.topics, OffsetDeleteResponsePartition)
            response.topics = [OffsetDeleteResponseTopic(name=name, partitions=some) for name, some in parts.items()]
        return response

    return Handle(changed(request, topics=kept), amend)


def _with_refused(
    asked: list[Any], names: set[str], answered: list[Any], partition: Callable[[int, int], Any]
) -> dict[str, list[Any]]:
    """Return the partitions by topic: those refused or unknown as they were asked for, then those of the handler.

    `names` are allowed. A topic has one entry, even if it was named twice (OffsetCommitResponse.Builder).
    """
    unknown = {
        (topic.name, each.partition_index)
        for topic in answered
        for each in topic.partitions
        if each.error_code == _UNKNOWN
    }
    without_partitions = {topic.name for topic in answered if not topic.partitions}
    parts = dict[str, list[Any]]()
    for topic in asked:
        indexes = [each.partition_index for each in topic.partitions]
        if topic.name not in names:
            parts.setdefault(topic.name, []).extend(partition(index, _TOPIC_REFUSED) for index in indexes)
            continue
        missing = [partition(index, _UNKNOWN) for index in indexes if (topic.name, index) in unknown]
        if missing or topic.name in without_partitions:
            parts.setdefault(topic.name, []).extend(missing)
    for topic in answered:
        served = [each for each in topic.partitions if each.error_code != _UNKNOWN]
        if served:
            parts.setdefault(topic.name, []).extend(served)
    return parts


class _Part(NamedTuple):
    """One group of an OffsetFetch. `error`: its answer if the group is refused."""

    group_id: str
    error: OffsetFetchResponseGroup | None
    is_all: bool
    refused: list[OffsetFetchResponseTopics]


def offset_fetch(request: OffsetFetchRequest, version: int, access: Access, _topics: Topics) -> Verdict:
    """Check OffsetFetch. Refused groups keep their place, and refused topics come last in their group.

    A request for all topics leaves out those that may not be described.
    """
    asked: list[Any] = [request] if version < FIRST_WITH_GROUPS else request.groups
    parts, kept = list[_Part](), list[Any]()
    for group in asked:
        if not access.may(AclOperation.DESCRIBE, Resource(ResourceType.GROUP, group.group_id)):
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED
            topics = _errors(group.topics or (), error)
            refusal = OffsetFetchResponseGroup(group_id=group.group_id, topics=topics, error_code=error)
            parts.append(_Part(group.group_id, refusal, False, []))
        elif group.topics is None:
            parts.append(_Part(group.group_id, None, True, []))
            kept.append(group)
        else:
            names = _describable(access, group.topics)
            some, refused = split(group.topics, names, _name_of)
            parts.append(_Part(group.group_id, None, False, _errors(refused, ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
            kept.append(changed(group, topics=some) if refused else group)
    if not any(part.error or part.is_all or part.refused for part in parts):
        return PASS
    if not kept:
        return AnswerNow(OffsetFetchResponse(groups=[part.error for part in parts if part.error is not None]))

    def amend(response: OffsetFetchResponse) -> OffsetFetchResponse:
        found = deque(response.groups)
        groups = []
        for part in parts:
            if part.error is not None:
                groups.append(part.error)
            elif found and found[0].group_id == part.group_id:  # a group that is named twice may have one answer
                groups.append(_complete(found.popleft(), part, access))
        response.groups = groups
        return response

    return Handle(kept[0] if version < FIRST_WITH_GROUPS else changed(request, groups=kept), amend)


def _complete(group: OffsetFetchResponseGroup, part: _Part, access: Access) -> OffsetFetchResponseGroup:
    if group.error_code == ErrorCode.NONE and part.is_all:
        group.topics = split(group.topics, _describable(access, group.topics), _name_of)[0]
    elif group.error_code == ErrorCode.NONE:
        group.topics = group.topics + part.refused
    return group


def _describable(access: Access, topics: Iterable[Any]) -> set[str]:
    return allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, map(_name_of, topics))


def _errors(topics: Iterable[Any], error: ErrorCode) -> list[OffsetFetchResponseTopics]:
    return [
        OffsetFetchResponseTopics(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="", error_code=error)
                for index in topic.partition_indexes
            ],
        )
        for topic in topics
    ]
