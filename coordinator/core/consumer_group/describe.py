"""ConsumerGroupDescribe: members with what they have and what they shall have, as the log has it."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.consumer_group.append import ConsumerGroupAppend
from coordinator.core.consumer_group.assignors.assignment import merged
from coordinator.core.consumer_group.member import ConsumerMember
from coordinator.core.consumer_group.undo import DurableView
from coordinator.core.group.describe import ALL_GROUP_OPERATIONS, DESCRIBED_PER_STEP, OPERATIONS_NOT_ASKED
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_describe import (
    Assignment as WireAssignment,
)
from protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    DescribedGroup,
    Member,
    TopicPartitions,
)

if TYPE_CHECKING:
    from collections.abc import Generator

    from coordinator.core.consumer_group.assignors.assignment import Assignment
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.registry import GroupRegistry

CLASSIC_MEMBER: Final = 0
CONSUMER_MEMBER: Final = 1


class DescribeConsumerGroups(NamedTuple):
    """A ConsumerGroupDescribe."""

    request: ConsumerGroupDescribeRequest


def describe_consumer_groups(
    request: ConsumerGroupDescribeRequest,
    registry: GroupRegistry,
    topics: TopicsImage,
    assignors: tuple[str, ...],
    *,
    is_enabled: bool,
) -> Generator[None, None, list[DescribedGroup]]:
    """Describe the groups of a request, each once, in steps."""
    described: list[DescribedGroup] = []
    looked = 0
    for group_id in dict.fromkeys(request.group_ids):
        if looked >= DESCRIBED_PER_STEP:
            looked = 0
            yield
        looked += 1
        error = ErrorCode.INVALID_GROUP_ID if group_id == "" else registry.refusal(group_id)
        if not is_enabled:
            error = ErrorCode.UNSUPPORTED_VERSION
        elif registry.is_down:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE
        if error is not ErrorCode.NONE:
            described.append(refused(group_id, error))
            continue
        group = registry.consumer_groups.get(group_id)
        if group is None or group.is_dead or not group.is_recorded:
            described.append(refused(group_id, ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} not found."))
            continue
        looked += len(group.members)
        of_group = yield from _describe(group, topics, assignors)
        of_group.authorized_operations = (
            ALL_GROUP_OPERATIONS if request.include_authorized_operations else OPERATIONS_NOT_ASKED
        )
        described.append(of_group)
    return described


def refused(group_id: str, error: ErrorCode, message: str | None = None) -> DescribedGroup:
    """Describe a group that cannot be described."""
    return DescribedGroup(
        error_code=int(error),
        error_message=message,
        group_id=group_id,
        group_state="",
        group_epoch=0,
        assignment_epoch=0,
        assignor_name="",
        members=[],
        authorized_operations=OPERATIONS_NOT_ASKED,
    )


def durable_view(group: ConsumerGroup) -> DurableView:
    """Return the group without what its appends in flight have changed."""
    view = DurableView(group)
    if group.in_flight:
        for append in list(group.shard.in_flight)[::-1]:
            if isinstance(append, ConsumerGroupAppend) and append.consumer_group is group:
                for inverse in append.inverses[::-1]:
                    view.restore(inverse)
    return view


def state_of(view: DurableView) -> str:
    """Return the name of the state that follows from the epochs and members of a view."""
    if not view.members:
        return "Empty"
    if view.epoch > view.assignment_epoch:
        return "Assigning"
    if all(member.is_reconciled(view.assignment_epoch) for member in view.members.values()):
        return "Stable"
    return "Reconciling"


def _describe(
    group: ConsumerGroup, topics: TopicsImage, assignors: tuple[str, ...]
) -> Generator[None, None, DescribedGroup]:
    view = durable_view(group)
    described = DescribedGroup(
        error_code=int(ErrorCode.NONE),
        error_message=None,
        group_id=group.group_id,
        group_state=state_of(view),
        group_epoch=view.epoch,
        assignment_epoch=view.assignment_epoch,
        assignor_name=group.assignor_name(assignors),
        members=[],
        authorized_operations=OPERATIONS_NOT_ASKED,
    )
    members = iter(sorted(view.members.values()))
    while some := list(islice(members, DESCRIBED_PER_STEP)):
        if described.members:
            yield
        described.members += [_member(member, view, topics) for member in some]
    return described


def _member(member: ConsumerMember, view: DurableView, topics: TopicsImage) -> Member:
    return Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.regex,
        assignment=_assignment(merged(member.assigned, member.pending), topics),  # also what it still has
        target_assignment=_assignment(view.targets.get(member.member_id, {}), topics),
        member_type=CONSUMER_MEMBER if member.classic is None else CLASSIC_MEMBER,
    )


def _assignment(assignment: Assignment, topics: TopicsImage) -> WireAssignment:
    """Return an assignment with the names of its topics; those that are deleted are left out."""
    parts = []
    for topic_id, partitions in assignment.items():
        topic = topics.by_id(topic_id)
        if topic is not None:
            parts.append(TopicPartitions(topic_id=topic_id, topic_name=topic.name, partitions=list(partitions)))
    return WireAssignment(topic_partitions=parts)
