"""JoinGroup: enter a group, or rejoin it while it rebalances."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, BYTES, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@struct
class JoinGroupRequestProtocol:
    name: str = field(STRING)
    metadata: bytes = field(BYTES)


@message(ApiKey.JOIN_GROUP, versions=(0, 9), flexible_since=6)
class JoinGroupRequest:
    """Ask to enter a group, or to re-enter it while it rebalances."""

    group_id: str = field(STRING)
    session_timeout_ms: int = field(INT32)
    rebalance_timeout_ms: int = field(
        INT32, since=1, default=-1
    )  # absent in v0, where the session timeout serves for both
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, since=5, default=None)  # set by static members
    protocol_type: str = field(STRING)
    protocols: list[JoinGroupRequestProtocol] = field(array(JoinGroupRequestProtocol))
    reason: str | None = field(NULLABLE_STRING, since=8, default=None)


@struct
class JoinGroupResponseMember:
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, since=5, default=None)
    metadata: bytes = field(BYTES)


@message(ApiKey.JOIN_GROUP, versions=(0, 9), flexible_since=6)
class JoinGroupResponse:
    """The generation the member is in now; the leader also gets the list of members."""

    throttle_time_ms: int = field(INT32, since=2)
    error_code: int = field(INT16)
    generation_id: int = field(INT32, default=-1)
    protocol_type: str | None = field(NULLABLE_STRING, since=7, default=None)
    protocol_name: str | None = field(STRING, nullable_since=7)  # before v7 an error must carry "", not null
    leader: str = field(STRING)
    skip_assignment: bool = field(BOOL, since=9)
    member_id: str = field(STRING)
    members: list[JoinGroupResponseMember] = field(array(JoinGroupResponseMember))
