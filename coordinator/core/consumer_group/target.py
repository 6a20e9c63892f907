"""The target assignment: which partitions each member shall own in the end.

It is computed when the group epoch is ahead of the assignment epoch, in the event of the heartbeat that finds so. In a
large group it is computed in slices with other events between them, and by an assignor of a user it is computed
elsewhere. Members follow the old target meanwhile, and the new one is written in several appends, the assignment epoch
last, so that a crash between them only means that it is computed again. If an assignor fails, the group keeps its
target, and the assignor is asked again by a later heartbeat. Source: Kafka's `TargetAssignmentBuilder`; KIP-1263
computes it in the background, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, Assignment
from coordinator.core.consumer_group.assignors.interface import GroupSpec, MemberSpec
from coordinator.core.consumer_group.assignors.plugin import AssignorError
from coordinator.core.consumer_group.change import ConsumerGroupChange
from coordinator.core.consumer_group.incidents import record_failed_assignor

if TYPE_CHECKING:
    from coordinator.core.consumer_group.assignors.interface import (
        AssignmentSteps,
        ConsumerGroupPartitionAssignor,
        TargetAssignments,
    )
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context
    from coordinator.core.work import Steps

# Values that tests change are not Final: mypyc would compile them into the code.
ASSIGNED_AT_ONCE = 4_000  # members and partitions; a group with more is assigned in slices
ASSIGNED_IN_UPGRADE = 1_000  # likewise in the event of an upgrade, which writes three records of each member
MEMBERS_PER_STEP: Final = 250
ASKED_AGAIN_MS: Final = 1_000  # after an assignor has failed


def size_of(group: ConsumerGroup, topics: TopicsImage) -> int:
    """Return the number of members, subscriptions and partitions that a target is computed from."""
    size = len(group.members) + sum(group.name_counts.values())
    for name in group.subscribed_names():
        topic = topics.by_name(name)
        if topic is not None:
            size += topic.partitions
    return size


def update_target(
    change: ConsumerGroupChange,
    assignor: ConsumerGroupPartitionAssignor,
    topics: TopicsImage,
    context: Context,
    *,
    is_homogeneous: bool,
) -> None:
    """Compute the target of all members now and write what has changed, then the assignment epoch."""
    group = change.group
    steps = _computing(group, assignor, topics, is_homogeneous=is_homogeneous)
    while True:
        try:
            next(steps)
        except StopIteration as result:
            target: TargetAssignments = result.value
            break
    for member_id in sorted(group.members):
        _write(change, member_id, target)
    change.assignor = assignor.name
    change.set_assignment_epoch(group.epoch, context.wall_ms)


def update_target_in_slices(
    group: ConsumerGroup,
    assignor: ConsumerGroupPartitionAssignor,
    topics: TopicsImage,
    context: Context,
    *,
    is_homogeneous: bool,
) -> Steps:
    """Compute the target of the group as it is at the second step, and write it. A later change needs another target.

    The caller has set `group.is_assigning`; it is cleared at the end.
    """
    try:
        yield None  # the event that needs the target is not over yet
        epoch = group.epoch
        if group.is_deleted:
            return
        try:
            target = yield from _computing(group, assignor, topics, is_homogeneous=is_homogeneous)
        except AssignorError as error:
            if not group.is_dead:
                group.assigns_after_ms = context.now_ms + ASKED_AGAIN_MS
                record_failed_assignor(group, str(error), context)
            return
        change = ConsumerGroupChange(group)
        for number, member_id in enumerate(sorted(target), 1):
            if group.is_dead:
                return
            if member_id in group.members:
                _write(change, member_id, target)
            if number % MEMBERS_PER_STEP == 0:
                change.append(context)
                yield from group.shard.let_others_run()
                change = ConsumerGroupChange(group)
        if group.is_dead or epoch <= group.assignment_epoch:
            return
        change.assignor = assignor.name
        change.set_assignment_epoch(epoch, context.wall_ms)
        change.append(context)
    finally:
        group.is_assigning = False


def _write(change: ConsumerGroupChange, member_id: str, target: TargetAssignments) -> None:
    wanted = target.get(member_id, NOTHING_ASSIGNED)
    if member_id not in change.group.targets or change.group.targets[member_id] != wanted:
        change.set_target(member_id, wanted)


def _first_subscription(group: ConsumerGroup) -> tuple[frozenset[str], str]:
    """Return the subscription that stands for all if the group was homogeneous before the event, as in Kafka.

    It is that of the first member in the order of the assignor `range`: static ones first.
    """
    members = group.members.values()
    first = min(members, key=lambda member: (member.instance_id is None, member.instance_id or member.member_id))
    return first.topic_names, first.regex


def _computing(
    group: ConsumerGroup, assignor: ConsumerGroupPartitionAssignor, topics: TopicsImage, *, is_homogeneous: bool
) -> AssignmentSteps:
    """Compute the target from the members as they are at the first step, whatever changes meanwhile."""
    members = sorted(group.members.items())
    targets: dict[str, Assignment] = dict(group.targets)
    regexes = dict(group.regexes)
    counts: dict[bytes, int] = {}
    ids: dict[str, bytes] = {}
    for name in group.subscribed_names():
        topic = topics.by_name(name)
        if topic is not None:
            counts[topic.topic_id] = topic.partitions
            ids[name] = topic.topic_id
    stale = _first_subscription(group) if is_homogeneous and not group.is_homogeneous else None
    subscribed: dict[tuple[frozenset[str], str], frozenset[bytes]] = {}
    specs: dict[str, MemberSpec] = {}
    for number, (member_id, member) in enumerate(members, 1):
        key = (member.topic_names, member.regex)
        if stale is not None:
            key = stale
        topic_ids = subscribed.get(key)
        if topic_ids is None:
            by_name, regex = key
            resolved = regexes.get(regex) if regex else None
            names = by_name if resolved is None else by_name.union(resolved.topics)
            topic_ids = subscribed[key] = frozenset([ids[name] for name in names if name in ids])
        target = targets.get(member_id, NOTHING_ASSIGNED)
        specs[member_id] = MemberSpec(member.instance_id, member.rack_id, topic_ids, target)
        if number % MEMBERS_PER_STEP == 0:
            yield None
    if stale is not None:
        counts = {topic_id: counts[topic_id] for topic_id in subscribed.get(stale, ())}
    result = yield from assignor.steps(GroupSpec(specs, counts, is_homogeneous))
    return {member_id: result.get(member_id, NOTHING_ASSIGNED) for member_id in specs}
