"""DescribeConfigs: the settings of topics, brokers and groups."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    NULLABLE_STRING,
    STRING,
    array,
    field,
    message,
    nullable_array,
    struct,
)


@struct
class DescribeConfigsResource:
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configuration_keys: list[str] | None = field(nullable_array(STRING))


@message(ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), flexible_since=4)
class DescribeConfigsRequest:
    """Ask for the settings of some resources."""

    resources: list[DescribeConfigsResource] = field(array(DescribeConfigsResource))
    include_synonyms: bool = field(BOOL, since=1)
    include_documentation: bool = field(BOOL, since=3)


@struct
class DescribeConfigsSynonym:
    name: str = field(STRING)
    value: str | None = field(NULLABLE_STRING)
    source: int = field(INT8)


@struct
class DescribeConfigsResourceResult:
    name: str = field(STRING)
    value: str | None = field(NULLABLE_STRING)
    read_only: bool = field(BOOL)
    config_source: int = field(INT8, since=1, default=-1)
    is_default: bool = field(BOOL, until=0)
    is_sensitive: bool = field(BOOL)
    synonyms: list[DescribeConfigsSynonym] = field(array(DescribeConfigsSynonym), since=1)
    config_type: int = field(INT8, since=3)
    documentation: str | None = field(NULLABLE_STRING, since=3)


@struct
class DescribeConfigsResult:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    resource_type: int = field(INT8)
    resource_name: str = field(STRING)
    configs: list[DescribeConfigsResourceResult] = field(array(DescribeConfigsResourceResult))


@message(ApiKey.DESCRIBE_CONFIGS, versions=(0, 4), flexible_since=4)
class DescribeConfigsResponse:
    """The settings of each resource."""

    throttle_time_ms: int = field(INT32)
    results: list[DescribeConfigsResult] = field(array(DescribeConfigsResult))
