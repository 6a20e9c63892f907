"""DescribeClientQuotas: list the quotas of users, client ids and addresses (KIP-546)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import (
    BOOL,
    FLOAT64,
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
class ComponentData:
    entity_type: str = field(STRING)
    match_type: int = field(INT8)
    match: str | None = field(NULLABLE_STRING)


@message(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible_since=1)
class DescribeClientQuotasRequest:
    """Describe the entities that match all components."""

    components: list[ComponentData] = field(array(ComponentData))
    strict: bool = field(BOOL)


@struct
class EntityData:
    entity_type: str = field(STRING)
    entity_name: str | None = field(NULLABLE_STRING)


@struct
class ValueData:
    key: str = field(STRING)
    value: float = field(FLOAT64)


@struct
class EntryData:
    entity: list[EntityData] = field(array(EntityData))
    values: list[ValueData] = field(array(ValueData))


@message(ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible_since=1)
class DescribeClientQuotasResponse:
    """The entities with their quotas; None after an error."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    entries: list[EntryData] | None = field(nullable_array(EntryData))
