"""Groups and their members. Source: the handlers of Kafka's `KafkaApis` with these names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.consumer_group.describe import refused as consumer_group_refused
from coordinator.core.consumer_group.heartbeat import refused as heartbeat_refused
from coordinator.core.group.describe import describe_error
from coordinator.core.group.responses import join_error, sync_error
from coordinator.security.acl.model import CLUSTER, AclOperation, Resource, ResourceType
from coordinator.server.api.authorization.verdict import (
    CLUSTER_DENIED,
    GROUP_DENIED,
    PASS,
    TRANSACTIONAL_ID_DENIED,
    AnswerNow,
    Check,
    Handle,
    HandleInSteps,
    Verdict,
    allowed,
    on_group,
    split,
)
from coordinator.server.api.find_coordinator import FIRST_WITH_KEYS, GROUP
from coordinator.server.api.sync_group import FIRST_WITH_PROTOCOL
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from protocol.messages.describe_owners import DescribeOwnersResponse
from protocol.messages.explain_group import ExplainGroupResponse
from protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.heartbeat import HeartbeatResponse
from protocol.messages.leave_group import LeaveGroupResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.sync_group import SyncGroupRequest
from protocol.schema import changed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from coordinator.core.effects import Describable
    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

REFUSED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
GROUPS_PER_STEP = 200  # about a millisecond; not Final, because tests change it and mypyc inlines Final constants
_TRANSACTION: Final = 1  # key types of FindCoordinator, beside GROUP
_SHARE: Final = 2
_FIRST_WITH_SHARE_GROUPS: Final = 6
# Key type -> type of the resource, error, and its message in the versions with one key.
_KEYS: Final = {
    GROUP: (ResourceType.GROUP, REFUSED, GROUP_DENIED),
    _TRANSACTION: (
        ResourceType.TRANSACTIONAL_ID,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        TRANSACTIONAL_ID_DENIED,
    ),
}

join_group: Final[Check] = on_group(AclOperation.READ, lambda _: join_error(REFUSED))
heartbeat: Final[Check] = on_group(AclOperation.READ, lambda _: HeartbeatResponse(error_code=REFUSED))
leave_group: Final[Check] = on_group(AclOperation.READ, lambda _: LeaveGroupResponse(error_code=REFUSED))
explain_group: Final[Check] = on_group(AclOperation.DESCRIBE, lambda _: ExplainGroupResponse(error_code=REFUSED))
describe_owners: Final[Check] = on_group(AclOperation.DESCRIBE, lambda _: DescribeOwnersResponse(error_code=REFUSED))
_consumer_group_heartbeat: Final[Check] = on_group(AclOperation.READ, lambda _: heartbeat_refused(REFUSED))
_TOPIC_IN_GROUP_DENIED: Final = "The group has described topic(s) that the client is not authorized to describe."
_sync_group: Final[Check] = on_group(AclOperation.READ, lambda _: sync_error(REFUSED))


def sync_group(request: SyncGroupRequest, version: int, access: Access, topics: Topics) -> Verdict:
    """Check SyncGroup. The handler refuses a request without its protocol, which Kafka checks first."""
    if version >= FIRST_WITH_PROTOCOL and (request.protocol_type is None or request.protocol_name is None):
        return PASS
    return _sync_group(request, version, access, topics)


def describe_groups(request: DescribeGroupsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check DescribeGroups. Refused groups come first in the answer."""
    names = allowed(access, AclOperation.DESCRIBE, ResourceType.GROUP, request.groups)
    kept, refused = split(request.groups, names, str)
    if not refused and not request.include_authorized_operations:
        return PASS
    errors = [describe_error(group_id, REFUSED) for group_id in refused]
    if not kept:
        return AnswerNow(DescribeGroupsResponse(groups=errors))

    def amend(response: DescribeGroupsResponse) -> Iterator[None]:
        if request.include_authorized_operations:
            for number, group in enumerate(response.groups, 1):
                if group.error_code == ErrorCode.NONE:
                    group.authorized_operations = access.operations(Resource(ResourceType.GROUP, group.group_id))
                if number % GROUPS_PER_STEP == 0:
                    yield
        response.groups = errors + response.groups

    return HandleInSteps(changed(request, groups=kept), amend)


def consumer_group_heartbeat(
    request: ConsumerGroupHeartbeatRequest, version: int, access: Access, topics: Topics
) -> Verdict:
    """Check ConsumerGroupHeartbeat: the group, then all topics that it names, whether they exist or not."""
    verdict = _consumer_group_heartbeat(request, version, access, topics)
    names = request.subscribed_topic_names
    if (
        verdict is PASS
        and names
        and len(allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, names)) < len(set(names))
    ):
        return AnswerNow(heartbeat_refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    return verdict


def describable_topics(access: Access) -> Describable:
    """Return the filter of the topics that a client may describe. It writes no audit log, as in Kafka."""
    return partial(_describable, access)


def _describable(access: Access, names: Iterable[str]) -> set[str]:
    return allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, names, is_logged=False)


def consumer_group_describe(
    request: ConsumerGroupDescribeRequest, _version: int, access: Access, _topics: Topics
) -> Verdict:
    """Check ConsumerGroupDescribe. A group with a topic that the client may not describe is refused as a whole."""
    names = allowed(access, AclOperation.DESCRIBE, ResourceType.GROUP, request.group_ids)
    kept, refused = split(request.group_ids, names, str)
    errors = [consumer_group_refused(group_id, REFUSED) for group_id in refused]
    if not kept:
        return AnswerNow(ConsumerGroupDescribeResponse(groups=errors)) if errors else PASS

    def amend(response: ConsumerGroupDescribeResponse) -> Iterator[None]:
        groups = errors[:]
        for number, group in enumerate(response.groups, 1):
            of_group = {
                part.topic_name
                for member in group.members
                for some in (member.assignment, member.target_assignment)
                for part in some.topic_partitions
            }
            if len(allowed(access, AclOperation.DESCRIBE, ResourceType.TOPIC, of_group)) < len(of_group):
                error = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                group = consumer_group_refused(group.group_id, error, _TOPIC_IN_GROUP_DENIED)
            elif request.include_authorized_operations and group.error_code == ErrorCode.NONE:
                group.authorized_operations = access.operations(Resource(ResourceType.GROUP, group.group_id))
            groups.append(group)
            if number % GROUPS_PER_STEP == 0:
                yield
        response.groups = groups

    return HandleInSteps(changed(request, group_ids=kept), amend)


def list_groups(request: ListGroupsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check ListGroups. Groups without the right to describe them are left out."""
    if access.may(AclOperation.DESCRIBE, CLUSTER, is_logged=False):
        return PASS

    def amend(response: ListGroupsResponse) -> Iterator[None]:
        listed = list[ListedGroup]()
        for number, group in enumerate(response.groups, 1):
            resource = Resource(ResourceType.GROUP, group.group_id)
            if access.may(AclOperation.DESCRIBE, resource, is_logged=False):
                listed.append(group)
            if number % GROUPS_PER_STEP == 0:
                yield
        response.groups = listed

    return HandleInSteps(request, amend)


def delete_groups(request: DeleteGroupsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check DeleteGroups. Refused groups come last in the answer."""
    asked = list(dict.fromkeys(request.groups_names))
    kept, refused = split(asked, allowed(access, AclOperation.DELETE, ResourceType.GROUP, asked), str)
    if not refused:
        return PASS
    errors = [DeletableGroupResult(group_id=group_id, error_code=REFUSED) for group_id in refused]
    if not kept:
        return AnswerNow(DeleteGroupsResponse(results=errors))

    def amend(response: DeleteGroupsResponse) -> DeleteGroupsResponse:
        response.results += errors
        return response

    return Handle(changed(request, groups_names=kept), amend)


def find_coordinator(request: FindCoordinatorRequest, version: int, access: Access, _topics: Topics) -> Verdict:
    """Check FindCoordinator. Refused keys keep their place in the answer."""
    keys = request.coordinator_keys if version >= FIRST_WITH_KEYS else [request.key]
    if request.key_type == _SHARE and version >= _FIRST_WITH_SHARE_GROUPS:
        if access.may(AclOperation.CLUSTER_ACTION, CLUSTER):
            return PASS
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        return AnswerNow(_coordinators([_no_coordinator(key, error, CLUSTER_DENIED) for key in keys]))
    if request.key_type not in _KEYS:
        return PASS
    kind, error, message = _KEYS[request.key_type]
    names = allowed(access, AclOperation.DESCRIBE, kind, keys)
    if names.issuperset(keys):
        return PASS
    if version >= FIRST_WITH_KEYS:
        message = ""
    refused = {key: _no_coordinator(key, error, message) for key in keys if key not in names}
    if not names:
        return AnswerNow(_coordinators([refused[key] for key in keys]))

    def amend(response: FindCoordinatorResponse) -> FindCoordinatorResponse:
        found = iter(response.coordinators)
        response.coordinators = [refused[key] if key in refused else next(found) for key in keys]
        return response

    return Handle(changed(request, coordinator_keys=[key for key in keys if key in names]), amend)


def _coordinators(coordinators: list[Any]) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(coordinators=coordinators)


def _no_coordinator(key: str, error: ErrorCode, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=message)
