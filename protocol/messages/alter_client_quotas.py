"""AlterClientQuotas: set and remove quotas of users, client ids and addresses (KIP-546)."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, FLOAT64, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class EntityData:
    entity_type: str = field(STRING)
    entity_name: str | None = field(NULLABLE_STRING)


@struct
class OpData:
    key: str = field(STRING)
    value: float = field(FLOAT64)
    remove: bool = field(BOOL)


@struct
class EntryData:
    entity: list[EntityData] = field(array(EntityData))
    ops: list[OpData] = field(array(OpData))


@message(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible_since=1)
class AlterClientQuotasRequest:
    """Set some quotas, and remove some."""

    entries: list[EntryData] = field(array(EntryData))
    validate_only: bool = field(BOOL)


@struct
class EntryResult:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING)
    entity: list[EntityData] = field(array(EntityData))


@message(ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible_since=1)
class AlterClientQuotasResponse:
    """The outcome for each entity."""

    throttle_time_ms: int = field(INT32)
    entries: list[EntryResult] = field(array(EntryResult))
