"""DeleteAcls: remove access rules."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class DeleteAclsFilter:
    resource_type_filter: int = field(INT8)
    resource_name_filter: str | None = field(NULLABLE_STRING)
    pattern_type_filter: int = field(INT8, since=1, default=3)
    principal_filter: str | None = field(NULLABLE_STRING)
    host_filter: str | None = field(NULLABLE_STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@message(ApiKey.DELETE_ACLS, versions=(0, 3), flexible_since=2)
class DeleteAclsRequest:
    """Remove the access rules that match any of some filters."""

    filters: list[DeleteAclsFilter] = field(array(DeleteAclsFilter))


@struct
class DeleteAclsMatchingAcl:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8, since=1, default=3)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@struct
class DeleteAclsFilterResult:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    matching_acls: list[DeleteAclsMatchingAcl] = field(array(DeleteAclsMatchingAcl))


@message(ApiKey.DELETE_ACLS, versions=(0, 3), flexible_since=2)
class DeleteAclsResponse:
    """The rules removed by each filter."""

    throttle_time_ms: int = field(INT32)
    filter_results: list[DeleteAclsFilterResult] = field(array(DeleteAclsFilterResult))
