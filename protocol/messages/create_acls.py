"""CreateAcls: add access rules."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class AclCreation:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    resource_pattern_type: int = field(INT8, since=1, default=3)
    principal: str = field(STRING)
    host: str = field(STRING)
    operation: int = field(INT8)
    permission_type: int = field(INT8)


@message(ApiKey.CREATE_ACLS, versions=(0, 3), flexible_since=2)
class CreateAclsRequest:
    """Add some access rules."""

    creations: list[AclCreation] = field(array(AclCreation))


@struct
class AclCreationResult:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)


@message(ApiKey.CREATE_ACLS, versions=(0, 3), flexible_since=2)
class CreateAclsResponse:
    """The outcome for each rule."""

    throttle_time_ms: int = field(INT32)
    results: list[AclCreationResult] = field(array(AclCreationResult))
