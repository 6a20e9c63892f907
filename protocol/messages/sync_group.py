"""SyncGroup: the leader sends all assignments, and each member gets its own."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BYTES, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class SyncGroupRequestAssignment:
    member_id: str = field(STRING)
    assignment: bytes = field(BYTES)


@message(ApiKey.SYNC_GROUP, versions=(0, 5), flexible_since=4)
class SyncGroupRequest:
    """Ask for the assignment of this generation; the leader sends those of all members."""

    group_id: str = field(STRING)
    generation_id: int = field(INT32)
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, since=3, default=None)
    protocol_type: str | None = field(NULLABLE_STRING, since=5, default=None)
    protocol_name: str | None = field(NULLABLE_STRING, since=5, default=None)
    assignments: list[SyncGroupRequestAssignment] = field(array(SyncGroupRequestAssignment))


@message(ApiKey.SYNC_GROUP, versions=(0, 5), flexible_since=4)
class SyncGroupResponse:
    """The assignment of the member."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16)
    protocol_type: str | None = field(NULLABLE_STRING, since=5, default=None)
    protocol_name: str | None = field(NULLABLE_STRING, since=5, default=None)
    assignment: bytes = field(BYTES)
