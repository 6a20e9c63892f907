"""Settings: each resource needs a right of its own, and nodes one on the cluster.

Source: `ConfigHelper` and `ConfigAdminManager` of Kafka's server, and `ControllerApis.authorizeAlterResource`.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.topics.alter_configs import RESPONSES, AnyRequest
from coordinator.core.topics.client_metrics import CLIENT_METRICS
from coordinator.core.topics.config_operations import check_form, operations
from coordinator.core.topics.describe import BROKER, BROKER_LOGGER, TOPIC
from coordinator.core.topics.group_configs import GROUP
from coordinator.security.acl.model import CLUSTER, AclOperation, Resource, ResourceType
from coordinator.server.api.authorization.verdict import (
    CLUSTER_DENIED,
    GROUP_DENIED,
    PASS,
    TOPIC_DENIED,
    AnswerNow,
    Handle,
    Verdict,
)
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResponse, DescribeConfigsResult
from protocol.schema import changed

if TYPE_CHECKING:
    from coordinator.core.topics.topics import Topics
    from coordinator.security.acl.access import Access

_OF_CLUSTER: Final = (ResourceType.CLUSTER, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, CLUSTER_DENIED)
# Type of the config resource -> type of the resource of rules, error, message.
_KINDS: Final = {
    TOPIC: (ResourceType.TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED, TOPIC_DENIED),
    GROUP: (ResourceType.GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED, GROUP_DENIED),
    BROKER: _OF_CLUSTER,
    BROKER_LOGGER: _OF_CLUSTER,
    CLIENT_METRICS: _OF_CLUSTER,
}
_WITHOUT_MESSAGE: Final = frozenset({BROKER, BROKER_LOGGER})  # in answers to changes
_Key = tuple[int, str]


def _refused(access: Access, operation: AclOperation, keys: list[_Key]) -> set[_Key]:
    """Return those of the config resources on which the operation is not allowed; the handler refuses unknown types."""
    resources = {key: _resource_of(key) for key in keys if key[0] in _KINDS}
    times = Counter(resources[key] for key in keys if key in resources)
    denied = {each for each, count in times.items() if not access.may(operation, each, count=count)}
    return {key for key, resource in resources.items() if resource in denied}


def _resource_of(key: _Key) -> Resource:
    kind = _KINDS[key[0]][0]
    return CLUSTER if kind is ResourceType.CLUSTER else Resource(kind, key[1])


def describe_configs(request: DescribeConfigsRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check DescribeConfigs. Refused resources come last in the answer."""
    keys = [_key_of(each) for each in request.resources]
    refused = _refused(access, AclOperation.DESCRIBE_CONFIGS, keys)
    if not refused:
        return PASS
    errors = list[DescribeConfigsResult]()
    for kind, name in keys:
        if (kind, name) in refused:
            _, error, message = _KINDS[kind]
            errors.append(
                DescribeConfigsResult(
                    error_code=error, error_message=message, resource_type=kind, resource_name=name, configs=[]
                )
            )
    if len(errors) == len(keys):
        return AnswerNow(DescribeConfigsResponse(results=errors))

    def amend(response: DescribeConfigsResponse) -> DescribeConfigsResponse:
        response.results += errors
        return response

    return Handle(_without(request, refused), amend)


def alter_configs(request: AnyRequest, _version: int, access: Access, _topics: Topics) -> Verdict:
    """Check IncrementalAlterConfigs and AlterConfigs. Refused resources keep their place in the answer.

    The handler refuses what Kafka checks first: a resource that is named twice, and settings without a value.
    """
    times = Counter(_key_of(each) for each in request.resources)
    valid = [_key_of(each) for each in request.resources if check_form(operations(each.configs)) is None]
    refused = _refused(access, AclOperation.ALTER_CONFIGS, [key for key in valid if times[key] == 1])
    if not refused:
        return PASS
    response_class, result_class = RESPONSES[type(request)]
    errors = dict[_Key, Any]()
    for kind, name in refused:
        _, error, message = _KINDS[kind]
        errors[kind, name] = result_class(
            error_code=error,
            error_message=None if kind in _WITHOUT_MESSAGE else message,
            resource_type=kind,
            resource_name=name,
        )
    if len(errors) == len(times):
        return AnswerNow(response_class(responses=[errors[key] for key in times]))

    def amend(response: Any) -> Any:
        found = {_key_of(each): each for each in response.responses} | errors
        response.responses = [found[key] for key in times if key in found]
        return response

    return Handle(_without(request, refused), amend)


def _key_of(resource: Any) -> _Key:
    return resource.resource_type, resource.resource_name


def _without(request: Any, refused: set[_Key]) -> Any:
    return changed(request, resources=[each for each in request.resources if _key_of(each) not in refused])
