"""Committed offsets: a right to the group, and one to each topic. Source: `KafkaApis.handleOffsetCommitRequest` etc."""

from __future__ import annotations

from collections import deque
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.security.acl.model import AclOperation, Resource, ResourceType
from coordinator.server.api.authorization.verdict import PASS, AnswerNow, Handle, Verdict, allowed, split
from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.api.offset_commit import FIRST_WITH_TOPIC_IDS as COMMITS_BY_ID
from coordinator.server.api.offset_fetch import FIRST_WITH_GROUPS, without_offsets
from coordinator.server.api.offset_fetch import FIRST_WITH_TOPIC_IDS as FETCHES_BY_ID
from coordinator.server.api.refused_topics import refused_first
from coordinator.server.api.topic_ids import id_of
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
    OffsetFetchResponseTopics,
)
from protocol.schema import changed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

_TOPIC_REFUSED: Final = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
_name_of: Final = attrgetter("name")


def offset_commit(request: OffsetCommitRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check OffsetCommit. Refused topics come first in the answer, with those that do not exist.

    The handler refuses ids that are not known.
    """
    if not access.may(AclOperation.READ, Resource(ResourceType.GROUP, request.group_id)):
        refuse = ERROR_RESPONSES[ApiKey.OFFSET_COMMIT]
        return AnswerNow(refuse(request, ErrorCode.GROUP_AUTHORIZATION_FAILED))
    types = OffsetCommitResponse, OffsetCommitResponseTopic, OffsetCommitResponsePartition
    return commit_of_topics(request, access, topics, types, is_by_id=version >= COMMITS_BY_ID)


def commit_of_topics(
    request: Any, access: Access, topics: Topics, types: tuple[Any, Any, Any], *, is_by_id: bool
) -> Verdict:
    """Check the topics of a commit. `types`: the classes of its response, of a topic and of a partition in it."""
    response_type, topic_type, partition_type = types
    key_of, name_of = _ways(topics, is_by_id=is_by_id)
    asked = [(key_of(topic), name_of(topic)) for topic in request.topics]
    names = allowed(access, AclOperation.READ, ResourceType.TOPIC, [name for _, name in asked if name is not None])
    refused = {key for key, name in asked if name is not None and name not in names}
    if not refused:
        return PASS

    def amend(response: Any) -> Any:
        parts = refused_first(
            request.topics,
            response.topics,
            key_of,
            lambda topic: _TOPIC_REFUSED if key_of(topic) in refused else 0,
            partition_type,
        )
        field = "topic_id" if is_by_id else "name"
        response.topics = [topic_type(**{field: key}, partitions=some) for key, some in parts.items()]
        return response

    kept = [topic for topic in request.topics if key_of(topic) not in refused]
    return Handle(changed(request, topics=kept), amend) if kept else AnswerNow(amend(response_type()))


def _ways(topics: Topics, *, is_by_id: bool) -> tuple[Callable[[Any], Any], Callable[[Any], str | None]]:
    """Return the functions from a topic of a request to what names it, and to its name; None if its id is unknown."""
    if not is_by_id:
        return _name_of, _name_of

    def name_of(topic: Any) -> str | None:
        found = topics.catalogue.by_id(topic.topic_id)
        return None if found is None else found.name

    return id_of, name_of


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
            parts = refused_first(
                request.topics,
                response.topics,
                _name_of,
                lambda topic: 0 if topic.name in names else _TOPIC_REFUSED,
                OffsetDeleteResponsePartition,
            )
            response.topics = [OffsetDeleteResponseTopic(name=name, partitions=some) for name, some in parts.items()]
        return response

    return Handle(changed(request, topics=kept), amend)


class _Part(NamedTuple):
    """One group of an OffsetFetch. `error`: its answer if the group is refused."""

    group_id: str
    error: OffsetFetchResponseGroup | None
    is_all: bool
    refused: list[OffsetFetchResponseTopics]


def offset_fetch(request: OffsetFetchRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check OffsetFetch. Refused groups keep their place; refused topics and unknown ids come last in their group.

    A request for all topics leaves out those that may not be described.
    """
    asked: list[Any] = [request] if version < FIRST_WITH_GROUPS else request.groups
    _, name_of = _ways(topics, is_by_id=version >= FETCHES_BY_ID)
    parts, kept = list[_Part](), list[Any]()
    for group in asked:
        if not access.may(AclOperation.DESCRIBE, Resource(ResourceType.GROUP, group.group_id)):
            error = ErrorCode.GROUP_AUTHORIZATION_FAILED
            errors = without_offsets(group.topics or (), error)
            refusal = OffsetFetchResponseGroup(group_id=group.group_id, topics=errors, error_code=error)
            parts.append(_Part(group.group_id, refusal, False, []))
        elif group.topics is None:
            parts.append(_Part(group.group_id, None, True, []))
            kept.append(group)
        else:
            named = [(topic, name_of(topic)) for topic in group.topics]
            names = _describable(access, [name for _, name in named if name is not None])
            some = [topic for topic, name in named if name in names]
            parts.append(_Part(group.group_id, None, False, _errors(named, names)))
            kept.append(changed(group, topics=some) if len(some) < len(named) else group)
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
        names = _describable(access, map(_name_of, group.topics))
        group.topics = [topic for topic in group.topics if topic.name in names]
    elif group.error_code == ErrorCode.NONE:
        group.topics = group.topics + part.refused
    return group


def _describable(access: Access, names: Iterable[str]) -> set[str]:
    return allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, names)


def _errors(named: Iterable[tuple[Any, str | None]], names: set[str]) -> list[OffsetFetchResponseTopics]:
    """Return the errors of topics that may not be described, and of those without a name, whose ids are unknown."""
    errors = list[OffsetFetchResponseTopics]()
    for topic, name in named:
        if name not in names:
            error = ErrorCode.UNKNOWN_TOPIC_ID if name is None else ErrorCode.TOPIC_AUTHORIZATION_FAILED
            errors += without_offsets([topic], error)
    return errors
