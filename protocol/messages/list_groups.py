"""ListGroups: the groups that a node coordinates."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, STRING, array, field, message, struct


@message(ApiKey.LIST_GROUPS, versions=(0, 5), flexible_since=3)
class ListGroupsRequest:
    """Ask for the groups, by state and type if given."""

    states_filter: list[str] = field(array(STRING), since=4)
    types_filter: list[str] = field(array(STRING), since=5)


@struct
class ListedGroup:
    group_id: str = field(STRING)
    protocol_type: str = field(STRING)
    group_state: str = field(STRING, since=4)
    group_type: str = field(STRING, since=5)


@message(ApiKey.LIST_GROUPS, versions=(0, 5), flexible_since=3)
class ListGroupsResponse:
    """The groups found."""

    throttle_time_ms: int = field(INT32, since=1)
    error_code: int = field(INT16)
    groups: list[ListedGroup] = field(array(ListedGroup))
