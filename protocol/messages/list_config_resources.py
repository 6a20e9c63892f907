"""ListConfigResources (version 0: ListClientMetricsResources): the resources that have settings."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT8, INT16, INT32, STRING, array, field, message, struct


@message(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), flexible_since=0)
class ListConfigResourcesRequest:
    """Ask for the resources of some types; an empty list asks for all types."""

    resource_types: list[int] = field(array(INT8), since=1)


@struct
class ConfigResource:
    resource_name: str = field(STRING)
    resource_type: int = field(INT8, since=1, default=16)


@message(ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), flexible_since=0)
class ListConfigResourcesResponse:
    """The resources."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    config_resources: list[ConfigResource] = field(array(ConfigResource))
