"""DescribeGroups: the state and the members of groups."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, BYTES, INT16, INT32, NULLABLE_STRING, STRING, array, field, message, struct


@message(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible_since=5)
class DescribeGroupsRequest:
    """Ask for the description of some groups."""

    groups: list[str] = field(array(STRING))
    include_authorized_operations: bool = field(BOOL, since=3)


@struct
class DescribedGroupMember:
    member_id: str = field(STRING)
    group_instance_id: str | None = field(NULLABLE_STRING, since=4, default=None)
    client_id: str = field(STRING)
    client_host: str = field(STRING)
    member_metadata: bytes = field(BYTES)
    member_assignment: bytes = field(BYTES)


@struct
class DescribedGroup:
    error_code: int = field(INT16)
    error_message: str | None = field(NULLABLE_STRING, since=6, default=None)
    group_id: str = field(STRING)
    group_state: str = field(STRING)
    protocol_type: str = field(STRING)
    protocol_data: str = field(STRING)
    members: list[DescribedGroupMember] = field(array(DescribedGroupMember))
    authorized_operations: int = field(INT32, since=3, default=-2147483648)


@message(ApiKey.DESCRIBE_GROUPS, versions=(0, 6), flexible_since=5)
class DescribeGroupsResponse:
    """A description for each group."""

    throttle_time_ms: int = field(INT32, since=1)
    groups: list[DescribedGroup] = field(array(DescribedGroup))
