"""IncrementalAlterConfigs: change single settings of resources."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT8, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class AlterableConfig:
    name: str = field(STRING)
    config_operation: int = field(INT8)
    value: str | None = field(NULLABLE_STRING)


@struct
class AlterConfigsResource:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[AlterableConfig] = field(array(AlterableConfig))


@message(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible_since=1)
class IncrementalAlterConfigsRequest:
    """Set, remove, extend or shorten some settings."""

    resources: list[AlterConfigsResource] = field(array(AlterConfigsResource))
    validate_only: bool = field(BOOL)


@struct
class AlterConfigsResourceResponse:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)


@message(ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible_since=1)
class IncrementalAlterConfigsResponse:
    """The outcome for each resource."""

    throttle_time_ms: int = field(INT32)
    responses: list[AlterConfigsResourceResponse] = field(array(AlterConfigsResourceResponse))
