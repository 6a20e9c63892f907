"""Groups as administrators see them: ListGroups and DescribeGroups.

Metadata and assignments are shown only of a Stable group: in the other states they are those of a generation that is
over, or not known yet (spec C.10). Source: spec 8.2, 8.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.group.state import STABLE
from protocol.error_codes import ErrorCode
from protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember
from protocol.messages.list_groups import ListedGroup

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from coordinator.group.group import Group

CLASSIC: Final = "classic"
DEAD: Final = "Dead"
OPERATIONS_NOT_ASKED: Final = -(2**31)
# READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: bits 3, 6, 8, 10, 11. Without an authorizer, all of them.
ALL_GROUP_OPERATIONS: Final = 3400


def list_groups(groups: Iterable[Group], states: Sequence[str], types: Sequence[str]) -> list[ListedGroup]:
    """Those in one of the states and of one of the types (an empty list means any), by group id."""
    if types and CLASSIC not in {name.lower() for name in types}:
        return []
    wanted = {name.strip().lower() for name in states}
    return [
        ListedGroup(
            group_id=group.group_id,
            protocol_type=group.protocol_type or "",
            group_state=group.state.value,
            group_type=CLASSIC,
        )
        for group in sorted(groups, key=lambda group: group.group_id)
        if group.is_recorded and (not wanted or group.state.value.lower() in wanted)
    ]


def describe_error(group_id: str, error: ErrorCode) -> DescribedGroup:
    """The partition of the group cannot answer."""
    return DescribedGroup(
        error_code=int(error),
        error_message=None,
        group_id=group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
        authorized_operations=OPERATIONS_NOT_ASKED,
    )


def describe_unknown(group_id: str, *, is_an_error: bool, with_operations: bool) -> DescribedGroup:
    """There is no such group: an error to newer clients (v6+), a group that is Dead to the others."""
    return DescribedGroup(
        error_code=int(ErrorCode.GROUP_ID_NOT_FOUND if is_an_error else ErrorCode.NONE),
        error_message=f"Group {group_id} not found." if is_an_error else None,
        group_id=group_id,
        group_state=DEAD,
        protocol_type="",
        protocol_data="",
        authorized_operations=_operations(with_operations and not is_an_error),
    )


def describe(group: Group, *, with_operations: bool) -> DescribedGroup:
    stable = group.state is STABLE
    return DescribedGroup(
        error_code=int(ErrorCode.NONE),
        error_message=None,
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol_name) if stable else b"",
                member_assignment=member.assignment if stable else b"",
            )
            for member in group.members.values()
        ],
        authorized_operations=_operations(with_operations),
    )


def _operations(asked: bool) -> int:
    return ALL_GROUP_OPERATIONS if asked else OPERATIONS_NOT_ASKED
