"""DeleteGroups: delete groups that have no members, with their offsets."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@message(ApiKey.DELETE_GROUPS, versions=(0, 3), flexible_since=2)
class DeleteGroupsRequest:
    """Delete some groups."""

    groups_names: list[str] = field(array(STRING))


@struct
class DeletableGroupResult:
    group_id: str = field(STRING)
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, since=3, default=None)


@message(ApiKey.DELETE_GROUPS, versions=(0, 3), flexible_since=2)
class DeleteGroupsResponse:
    """The outcome for each group."""

    throttle_time_ms: int = field(INT32)
    results: list[DeletableGroupResult] = field(array(DeletableGroupResult))
