"""AlterConfigs: replace all settings of resources. Superseded by IncrementalAlterConfigs (KIP-339)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class AlterableConfig:
    name: str = field(STRING)
    value: str | None = field(NULLABLE_STRING)


@struct
class AlterConfigsResource:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[AlterableConfig] = field(array(AlterableConfig))


@message(ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible_since=2)
class AlterConfigsRequest:
    """Replace the settings of some resources."""

    resources: list[AlterConfigsResource] = field(array(AlterConfigsResource))
    validate_only: bool = field(BOOL)


@struct
class AlterConfigsResourceResponse:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)


@message(ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible_since=2)
class AlterConfigsResponse:
    """The outcome for each resource."""

    throttle_time_ms: int = field(INT32)
    responses: list[AlterConfigsResourceResponse] = field(array(AlterConfigsResourceResponse))
