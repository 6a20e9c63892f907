"""LeaveGroup: members leave without waiting for their sessions to end. Several at once from version 3 on."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class MemberIdentity:
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, default=None)
    reason: str | None = field(NULLABLE_STRING, since=5, default=None)


@message(ApiKey.LEAVE_GROUP, versions=(0, 5), flexible_since=4)
class LeaveGroupRequest:
    """Remove one member, or a list of them, from a group."""

    group_id: str = field(STRING)
    member_id: str = field(STRING, until=2)  # before v3; afterwards `members`
    members: list[MemberIdentity] = field(array(MemberIdentity), since=3)


@struct
class MemberResponse:
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING)
    error_code: int = field(INT16)


@message(ApiKey.LEAVE_GROUP, versions=(0, 5), flexible_since=4)
class LeaveGroupResponse:
    """The outcome, from version 3 on for each member."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16)
    members: list[MemberResponse] = field(array(MemberResponse), since=3)
