"""Members that leave, are away for a while, or are removed. Source: Kafka's `consumerGroupLeave` and `...FenceMember`.

The target is not computed when a member goes: the group is Assigning until the next heartbeat of any member.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED
from coordinator.core.consumer_group.change import ConsumerGroupChange
from coordinator.core.consumer_group.downgrade import downgrade, is_downgraded_without
from coordinator.core.consumer_group.errors import GroupError
from coordinator.core.consumer_group.heartbeat import check_owner
from coordinator.core.consumer_group.member import NO_EPOCHS, STATIC_LEAVE_EPOCH
from coordinator.core.consumer_group.subscription import hash_of_topics
from protocol.error_codes import ErrorCode

NO_TIMESTAMP: Final = 0

if TYPE_CHECKING:
    from collections.abc import Sequence

    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context
    from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest


def depart(change: ConsumerGroupChange, member_ids: Sequence[str], topics: TopicsImage, context: Context) -> None:
    """Remove members. If only members of the classic protocol are left, the group becomes classic."""
    if is_downgraded_without(change.group, member_ids, context):
        downgrade(change, member_ids, change.group.epoch, topics, context, rebalances=True)
    else:
        remove(change, member_ids, topics)


def leaving_member(group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest) -> str:
    """Return the id of the member that a heartbeat with epoch -1 or -2 is of. Raises GroupError."""
    member_id, instance_id = request.member_id, request.instance_id
    if instance_id is None:
        if member_id not in group.members:
            raise GroupError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}."
            )
        return member_id
    return check_owner(group, member_id, instance_id).member_id


def pause(change: ConsumerGroupChange, member_id: str) -> None:
    """Mark a static member as away. It keeps what it is assigned, and its session runs on."""
    member = change.group.members[member_id]
    member = member._replace(
        epoch=STATIC_LEAVE_EPOCH,
        pending=NOTHING_ASSIGNED,
        assigned_epochs={topic_id: (0,) * len(some) for topic_id, some in member.assigned.items()},  # as in Kafka
        pending_epochs=NO_EPOCHS,
    )
    change.put(member)
    change.write_current(member)


def remove(change: ConsumerGroupChange, member_ids: Sequence[str], topics: TopicsImage) -> None:
    """Remove members, with what only they used, and raise the group epoch."""
    group = change.group
    regexes = {group.members[member_id].regex for member_id in member_ids} - {""}
    for member_id in member_ids:
        change.remove_member(member_id)
    for regex in sorted(regexes):
        if regex not in group.regex_counts:
            change.drop_regex(regex)
    change.set_epoch(group.epoch + 1, hash_of_topics(group, topics))
    if not group.members:
        change.set_assignment_epoch(group.epoch, NO_TIMESTAMP)  # there is nothing to compute
