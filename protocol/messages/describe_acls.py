"""DescribeAcls: list access rules."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@message(ApiKey.DESCRIBE_ACLS, versions=(0, 3), flexible_since=2)
class DescribeAclsRequest:
    """Ask for the access rules that match a filter."""

    resource_type_filter: int = field(INT8)
    resource_name_filter: str | None = field(NULLABLE_STRING)
    pattern_type_filter: int = field(INT8, since=1, default=3)
    principal_filter: str | None = field(NULLABLE_STRING)
    host_filter: str | None = field(NULLABLE_STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@struct
class AclDescription:
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@struct
class DescribeAclsResource:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    pattern_type: int = field(INT8, since=1, default=3)
    acls: list[AclDescription] = field(array(AclDescription))


@message(ApiKey.DESCRIBE_ACLS, versions=(0, 3), flexible_since=2)
class DescribeAclsResponse:
    """The rules found."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    resources: list[DescribeAclsResource] = field(array(DescribeAclsResource))
