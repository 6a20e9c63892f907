"""ListGroups and DescribeGroups.

Member metadata and assignments are shown for a Stable group only: in other states they belong to the previous
generation or are not known yet. Kafka shows them in every state.
"""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.group.state import STABLE, GroupState
from protocol.error_codes import ErrorCode
from protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsRequest
from protocol.messages.list_groups import ListedGroup

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Sequence

    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.group.group import Group
    from coordinator.core.registry import GroupRegistry

# Not Final, because tests change it and mypyc inlines Final constants.
GROUPS_PER_STEP = 500
DESCRIBED_PER_STEP = 200  # groups and members
REPEATED_AT_MOST: Final = 20  # above, DescribeGroups describes each group once; Kafka repeats them
HASHED_PER_UNIT: Final = 7  # as a shift: hashing 128 characters of a group id counts as one more group
CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
DEAD: Final = "Dead"
QUARANTINED: Final = "Quarantined"  # clients show a state that they do not know as Unknown
_NO_GROUPS: Final[dict[str, Group]] = {}
_NO_CONSUMER_GROUPS: Final[dict[str, ConsumerGroup]] = {}
OPERATIONS_NOT_ASKED: Final = -(2**31)
# READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: bits 3, 6, 8, 10, 11. There is no authorizer, so all are set.
ALL_GROUP_OPERATIONS: Final = 3400


class DescribeGroups(NamedTuple):
    """A DescribeGroupsRequest, and whether a group that does not exist is an error in its version (v6+)."""

    request: DescribeGroupsRequest
    unknown_is_an_error: bool


def list_groups(
    registry: GroupRegistry, states: Sequence[str], types: Sequence[str]
) -> Generator[None, None, list[ListedGroup]]:
    """List the groups in one of the states and of one of the types (an empty list means any), by group id.

    The work is done in steps. A group that is created or deleted meanwhile may or may not be in the list. Kafka, which
    iterates over a map that other threads change, promises no more.
    """
    listed: list[ListedGroup] = []
    kinds = {name.lower() for name in types}
    names = {name.strip().lower() for name in states}
    classic = registry.groups if not kinds or CLASSIC in kinds else _NO_GROUPS
    newer = registry.consumer_groups if not kinds or CONSUMER in kinds else _NO_CONSUMER_GROUPS
    wanted = {state for state in GroupState if not names or state.value.lower() in names}
    ids = [*classic, *newer]
    runs = []  # sorted in parts, because sorting a hundred thousand ids takes too long for one step
    for start in range(0, len(ids), GROUPS_PER_STEP):
        if start:
            yield
        runs.append(sorted(ids[start : start + GROUPS_PER_STEP]))
    ordered = merge(*runs) if len(runs) > 1 else iter(runs[0] if runs else ())
    while some := list(islice(ordered, GROUPS_PER_STEP)):
        if len(runs) > 1:
            yield
        for group_id in some:
            group = classic.get(group_id)
            if group is not None:
                if group.is_recorded and group.state in wanted:
                    listed.append(_listed(group_id, group.protocol_type or "", group.state.value, CLASSIC))
                continue
            consumer_group = newer.get(group_id)
            if consumer_group is not None and consumer_group.is_recorded:
                state = consumer_group.state.value
                if not names or state.lower() in names:
                    listed.append(_listed(group_id, CONSUMER, state, CONSUMER))
    if kinds and CLASSIC not in kinds:
        return listed
    if not names or QUARANTINED.lower() in names:
        listed += [
            _listed(group_id, "", QUARANTINED, CLASSIC)
            for shard in registry.partitions
            for group_id in shard.quarantine.groups
        ]
    return listed


def _listed(group_id: str, protocol_type: str, state: str, group_type: str) -> ListedGroup:
    return ListedGroup(group_id=group_id, protocol_type=protocol_type, group_state=state, group_type=group_type)


def describe_groups(command: DescribeGroups, registry: GroupRegistry) -> Generator[None, None, list[DescribedGroup]]:
    """Describe the groups of a request, in steps."""
    request = command.request
    with_operations = request.include_authorized_operations
    described = []
    looked = 0  # groups and members in this step
    asked: Iterable[str] = request.groups
    if len(request.groups) > REPEATED_AT_MOST:
        asked = dict.fromkeys(asked)  # each once, which bounds the response to a short request
    for group_id in asked:
        group = registry.groups.get(group_id)
        # The first step runs at once with the request, so it has no long work: ten requests may arrive together.
        if looked >= DESCRIBED_PER_STEP or (group is not None and len(group.members) > DESCRIBED_PER_STEP):
            looked = 0
            yield
            group = registry.groups.get(group_id)
        error = registry.refusal(group_id) if group is None else ErrorCode.NONE
        if group is not None:
            of_group = yield from describe(group, with_operations=with_operations)
            described.append(of_group)
            looked += len(of_group.members)
        elif error is not ErrorCode.NONE:
            quarantined = registry.quarantined(group_id)
            described.append(describe_error(group_id, error, None if quarantined is None else quarantined.message))
        else:
            described.append(
                describe_unknown(group_id, is_an_error=command.unknown_is_an_error, with_operations=with_operations)
            )
        looked += 1 + (len(group_id) >> HASHED_PER_UNIT)
    return described


def describe_error(group_id: str, error: ErrorCode, message: str | None = None) -> DescribedGroup:
    """Describe a group that cannot be served."""
    return DescribedGroup(
        error_code=int(error),
        error_message=message,
        group_id=group_id,
        group_state="",
        protocol_type="",
        protocol_data="",
        authorized_operations=OPERATIONS_NOT_ASKED,
    )


def describe_unknown(group_id: str, *, is_an_error: bool, with_operations: bool) -> DescribedGroup:
    """Describe a group that does not exist: an error from version 6 on, a Dead group before."""
    return DescribedGroup(
        error_code=int(ErrorCode.GROUP_ID_NOT_FOUND if is_an_error else ErrorCode.NONE),
        error_message=f"Group {group_id} not found." if is_an_error else None,
        group_id=group_id,
        group_state=DEAD,
        protocol_type="",
        protocol_data="",
        authorized_operations=_operations(with_operations and not is_an_error),
    )


def describe(group: Group, *, with_operations: bool) -> Generator[None, None, DescribedGroup]:
    """Describe a group as it is now, its members in steps."""
    stable = group.state is STABLE
    name = group.protocol_name
    described = DescribedGroup(
        error_code=int(ErrorCode.NONE),
        error_message=None,
        group_id=group.group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if stable else "",
        authorized_operations=_operations(with_operations),
    )
    # What may change between two steps is taken now.
    members = list(group.members.values())
    metadata = [member.metadata(name) for member in members] if stable else []
    assignments = [member.assignment for member in members] if stable else []
    for start in range(0, len(members), DESCRIBED_PER_STEP):
        if start:
            yield
        described.members += [
            DescribedGroupMember(
                member_id=members[place].member_id,
                group_instance_id=members[place].group_instance_id,
                client_id=members[place].client_id,
                client_host=members[place].client_host,
                member_metadata=metadata[place] if stable else b"",
                member_assignment=assignments[place] if stable else b"",
            )
            for place in range(start, min(start + DESCRIBED_PER_STEP, len(members)))
        ]
    return described


def _operations(asked: bool) -> int:
    return ALL_GROUP_OPERATIONS if asked else OPERATIONS_NOT_ASKED
