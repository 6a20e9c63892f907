"""The decisions of CreateAcls, DescribeAcls and DeleteAcls (KIP-140, KIP-290).

Pure. Codes and texts are Kafka's. Kafka has no bound of rules, nor of the length of their texts. A number that Kafka
does not know is UNKNOWN; 0 itself, which is UNKNOWN as well, is no request in Kafka, which closes the connection.
Source: Kafka's `AclApis`, `AclControlManager`, `CreateAclsRequest`, `DescribeAclsRequest` and `DeleteAclsRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.security.acl.filter import AclBindingFilter
from coordinator.security.acl.hosts import parse_range
from coordinator.security.acl.model import (
    CLUSTER_NAME,
    AclBinding,
    AclBindings,
    AclOperation,
    PatternType,
    Permission,
    ResourceType,
)
from protocol.error_codes import ErrorCode
from protocol.messages.create_acls import AclCreation, AclCreationResult, CreateAclsRequest, CreateAclsResponse
from protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_CHARS: Final = 1024
MAX_DELETED: Final = 10_000  # QuorumController.MAX_RECORDS_PER_USER_OP
EXAMINED_PER_STEP: Final = 1_000  # about a millisecond


class _Refusal(NamedTuple):
    """The reason why nothing was changed."""

    code: ErrorCode
    message: str | None


NO_AUTHORIZER: Final = _Refusal(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured.")
_NOT_ONE_RULE: Final = _Refusal(ErrorCode.UNKNOWN_SERVER_ERROR, None)  # Java has no binding with ANY or MATCH
_TOO_MANY_DELETED: Final = _Refusal(
    ErrorCode.INVALID_REQUEST, f"Cannot remove more than {MAX_DELETED} acls in a single delete operation."
)


def create(request: CreateAclsRequest, max_acls: int, bindings: AclBindings) -> tuple[AclBindings, CreateAclsResponse]:
    """Return the rules after a request, and its answer. A request that adds no rule returns the same object."""
    wanted = [_binding_of(each) for each in request.creations]
    if any(map(_has_any, wanted)):
        return bindings, refuse_creations(request, *_NOT_ONE_RULE)
    after = dict(bindings)
    results = []
    for each in wanted:
        problem = problem_of(each)
        if problem is not None:
            results.append(AclCreationResult(ErrorCode.INVALID_REQUEST, problem))
        elif each not in after and len(after) >= max_acls:
            text = f"There are {len(after)} access rules already, and max.acls is {max_acls}; remove rules, or raise it"
            results.append(AclCreationResult(ErrorCode.POLICY_VIOLATION, text))
        else:
            after[each] = None
            results.append(AclCreationResult(error_message=""))
    return after if len(after) > len(bindings) else bindings, CreateAclsResponse(results=results)


def _binding_of(creation: AclCreation) -> AclBinding:
    return AclBinding(
        ResourceType(creation.resource_type),
        creation.resource_name,
        PatternType(creation.resource_pattern_type),
        creation.principal,
        creation.host,
        AclOperation(creation.operation),
        Permission(creation.permission_type),
    )


def _has_any(binding: AclBinding) -> bool:
    return (
        binding.resource_type == ResourceType.ANY
        or binding.pattern_type in (PatternType.ANY, PatternType.MATCH)
        or binding.operation == AclOperation.ANY
        or binding.permission == Permission.ANY
    )


def problem_of(binding: AclBinding) -> str | None:
    """Return why a rule cannot be added; None if it can."""
    if binding.resource_type == ResourceType.CLUSTER and binding.name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not binding.name:
        return "Invalid empty resource name"
    if binding.resource_type <= ResourceType.ANY:
        return f"Invalid resourceType {binding.resource_type.name}"
    if binding.pattern_type < PatternType.LITERAL:
        return f"Invalid patternType {binding.pattern_type.name}"
    if binding.operation <= AclOperation.ANY:
        return f"Invalid operation {binding.operation.name}"
    if binding.permission <= Permission.ANY:
        return f"Invalid permissionType {binding.permission.name}"
    if max(len(binding.name), len(binding.principal), len(binding.host)) > MAX_CHARS:
        return f"A name, principal or host has more than {MAX_CHARS} characters; use a shorter one"
    if ":" not in binding.principal:
        return (
            f"Could not parse principal from `{binding.principal}` (no colon is present separating the principal type "
            "from the principal name)"
        )
    return _problem_of_host(binding.host)


def _problem_of_host(host: str) -> str | None:
    if not host:
        return "Host pattern cannot be null or empty"
    if "/" in host:
        try:
            parse_range(host)
        except ValueError as error:
            return f"Invalid CIDR notation '{host}': {error}"
    return None


def refuse_creations(request: CreateAclsRequest, code: ErrorCode, message: str | None) -> CreateAclsResponse:
    """Return the answer that no rule was added."""
    return CreateAclsResponse(results=[AclCreationResult(code, message) for _ in request.creations])


def delete(request: DeleteAclsRequest, bindings: AclBindings) -> tuple[AclBindings, DeleteAclsResponse]:
    """Return the rules after a request, and its answer: for each filter the rules that there were before.

    A request that removes no rule returns the same object.
    """
    after = dict(bindings)
    response = DeleteAclsResponse()
    deleted = 0
    for each in request.filters:
        wanted = _filter_of(each)
        problem = _problem_of_filter(wanted)
        if problem is not None:
            response.filter_results.append(DeleteAclsFilterResult(ErrorCode.INVALID_REQUEST, problem))
            continue
        matching = []
        for binding in _matching(wanted, bindings):
            deleted += 1
            if deleted > MAX_DELETED:
                return bindings, refuse_deletions(request, *_TOO_MANY_DELETED)
            matching.append(_deleted(binding))
            after.pop(binding, None)
        response.filter_results.append(DeleteAclsFilterResult(error_message=None, matching_acls=matching))
    return after if len(after) < len(bindings) else bindings, response


def _filter_of(wanted: DeleteAclsFilter | DescribeAclsRequest) -> AclBindingFilter:
    return AclBindingFilter(
        ResourceType(wanted.resource_type_filter),
        wanted.resource_name_filter,
        PatternType(wanted.pattern_type_filter),
        wanted.principal_filter,
        wanted.host_filter,
        AclOperation(wanted.operation),
        Permission(wanted.permission_type),
    )


def _problem_of_filter(wanted: AclBindingFilter) -> str | None:
    if not wanted.resource_type or not wanted.pattern_type:
        return "Unknown patternFilter."
    if not wanted.operation or not wanted.permission:
        return "Unknown entryFilter."
    return None


def _matching(wanted: AclBindingFilter, bindings: AclBindings) -> Iterator[AclBinding]:
    only = wanted.only()
    if only is None:
        yield from filter(wanted.matches, bindings)
    elif only in bindings:
        yield only


def _deleted(binding: AclBinding) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message=None,
        resource_type=binding.resource_type,
        resource_name=binding.name,
        pattern_type=binding.pattern_type,
        principal=binding.principal,
        host=binding.host,
        operation=binding.operation,
        permission_type=binding.permission,
    )


def refuse_deletions(request: DeleteAclsRequest, code: ErrorCode, message: str | None) -> DeleteAclsResponse:
    """Return the answer that no rule was removed."""
    return DeleteAclsResponse(filter_results=[DeleteAclsFilterResult(code, message) for _ in request.filters])


def describe(request: DescribeAclsRequest, bindings: AclBindings, response: DescribeAclsResponse) -> Iterator[None]:
    """Fill in the answer, in steps: the matching rules, by the resources that they are for."""
    wanted = _filter_of(request)
    resources: dict[tuple[ResourceType, str, PatternType], DescribeAclsResource] = {}
    for number, each in enumerate(bindings, 1):
        if wanted.matches(each):
            pattern = each.resource_type, each.name, each.pattern_type
            if pattern not in resources:
                resources[pattern] = DescribeAclsResource(*pattern)
                response.resources.append(resources[pattern])
            resources[pattern].acls.append(AclDescription(each.principal, each.host, each.operation, each.permission))
        if number % EXAMINED_PER_STEP == 0:
            yield


def is_request(request: CreateAclsRequest | DescribeAclsRequest | DeleteAclsRequest) -> bool:
    """Return False for a request with a 0, for which Kafka closes the connection."""
    if isinstance(request, CreateAclsRequest):
        creations = request.creations
        return all(
            each.resource_type and each.resource_pattern_type and each.operation and each.permission_type
            for each in creations
        )
    filters = [request] if isinstance(request, DescribeAclsRequest) else request.filters
    return all(
        each.resource_type_filter and each.pattern_type_filter and each.operation and each.permission_type
        for each in filters
    )
