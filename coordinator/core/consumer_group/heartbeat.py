"""ConsumerGroupHeartbeat with an epoch of 0 or more: join a group, stay in it, and take the next step.

One heartbeat is one event: the member is found or made, its subscription is updated, the group epoch raised if that
changes what there is to assign, the target computed if it is behind, and this one member reconciled. All records of it
are one batch. Source: Kafka's `GroupMetadataManager.consumerGroupHeartbeat`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.consumer_group.assignors.assignment import Assignment, assignment_of, contains
from coordinator.core.consumer_group.change import ConsumerGroupChange
from coordinator.core.consumer_group.errors import GroupError
from coordinator.core.consumer_group.member import STABLE, ConsumerMember
from coordinator.core.consumer_group.next_interval import StepTaken
from coordinator.core.consumer_group.reconciliation import Facts, reconcile
from coordinator.core.consumer_group.subscription import (
    Resolved,
    bump_epoch,
    have_topics_changed,
    topic_ids_of,
    update_regex,
    wants_resolution,
)
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import (
    Assignment as WireAssignment,
)
from protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.groups import ConsumerGroups
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

NONE: Final = int(ErrorCode.NONE)


class HeartbeatOutcome(NamedTuple):
    """The outcome of a heartbeat."""

    found: ConsumerMember  # as it was
    updated: ConsumerMember  # with what its client told
    member: ConsumerMember  # reconciled

    def is_told(self, request: ConsumerGroupHeartbeatRequest) -> bool:
        """Return whether the answer has the assignment: if the client joins, asks in full, or it has changed."""
        return request.member_epoch == 0 or is_full(request) or self.member.assigned != self.found.assigned

    def step(self, request: ConsumerGroupHeartbeatRequest) -> StepTaken:
        """Return what the heartbeat has changed."""
        if self.member == self.found:
            return StepTaken.NONE
        return StepTaken.TOLD if self.member.assigned and self.is_told(request) else StepTaken.UNTOLD


def is_plain(
    group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest, ticket: Ticket, topics: TopicsImage, context: Context
) -> bool:
    """Return whether a heartbeat changes nothing but the session: most do, and need none of the steps.

    What the client owns does not matter to a member that has its target.
    """
    member = group.members.get(request.member_id)
    return (
        member is not None
        and member.epoch == request.member_epoch
        and request.member_epoch > 0
        and member.epoch == group.assignment_epoch
        and member.state == STABLE
        and group.epoch == group.assignment_epoch
        and group.seen_topics_version == topics.version
        and request.subscribed_topic_names is None
        and request.subscribed_topic_regex is None
        and request.rebalance_timeout_ms == -1
        and request.server_assignor is None
        and request.rack_id is None
        and (request.instance_id is None or request.instance_id == member.instance_id)
        and member.client_id == ticket.client_id
        and member.client_host == ticket.client_host
        and member.classic is None
        and (
            not group.regex_counts
            or not wants_resolution(group, Resolved.of(group), topics, context, needs_refresh=False)
        )
    )


def find_member(change: ConsumerGroupChange, request: ConsumerGroupHeartbeatRequest, member_id: str) -> ConsumerMember:
    """Return the member that a heartbeat is of, a fresh one if it joins. Raises GroupError."""
    group, is_join = change.group, request.member_epoch == 0
    member = group.members.get(member_id)
    instance_id = request.instance_id
    if instance_id is None:
        if member is None:
            if is_join:
                return ConsumerMember(member_id)
            raise _unknown(group, member_id)
        _check_epoch(member, request)
        return member
    if is_join:
        owner = group.static_members.get(instance_id)
        if owner is None:
            return member if member is not None else ConsumerMember(member_id)
        former = group.members[owner]
        if former.classic is None and not former.is_away:
            raise GroupError(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance "
                f"id is owned by member {owner}.",
            )
        return replace_static(change, former, member_id)
    member = check_owner(group, member_id, instance_id)
    _check_epoch(member, request)
    return member


def check_owner(group: ConsumerGroup, member_id: str, instance_id: str) -> ConsumerMember:
    """Return the member with an instance id; GroupError if that is not `member_id`."""
    owner = group.static_members.get(instance_id)
    if owner is None:
        raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if owner != member_id:
        raise GroupError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member {owner}.",
        )
    return group.members[owner]


def _unknown(group: ConsumerGroup, member_id: str) -> GroupError:
    return GroupError(ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")


def _check_epoch(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest) -> None:
    """Fence a client whose epoch is not its member's. One step behind is fine if the last answer was lost."""
    epoch = request.member_epoch
    if epoch in {0, member.epoch}:
        return
    if epoch > member.epoch:
        raise GroupError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a greater member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
        )
    owned = owned_of(request)
    if epoch != member.previous_epoch or owned is None or not contains(member.assigned, owned):
        raise GroupError(
            ErrorCode.FENCED_MEMBER_EPOCH,
            f"The consumer group member has a smaller member epoch ({epoch}) than the one known by the group "
            f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
        )


def replace_static(change: ConsumerGroupChange, former: ConsumerMember, member_id: str) -> ConsumerMember:
    """Give the place of a static member to its next run. The group epoch stays: its assignment is the same."""
    group = change.group
    target = group.target_of(former.member_id)
    change.remove_member(former.member_id)
    member = former._replace(member_id=member_id, epoch=0, previous_epoch=0)
    change.put(member)
    change.write_member(member)
    change.set_target(member_id, target)
    change.write_current(member)
    return member


def updated(member: ConsumerMember, request: ConsumerGroupHeartbeatRequest, ticket: Ticket) -> ConsumerMember:
    """Return the member with what its client tells. A field that is null is unchanged."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    return member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        client_id=ticket.client_id,
        client_host=ticket.client_host,
        topic_names=member.topic_names if names is None else frozenset(names),
        regex=member.regex if regex is None else regex,
        assignor=member.assignor if request.server_assignor is None else request.server_assignor,
        rebalance_timeout_ms=member.rebalance_timeout_ms
        if request.rebalance_timeout_ms == -1
        else request.rebalance_timeout_ms,
        classic=None,
    )


def beat(
    groups: ConsumerGroups,
    change: ConsumerGroupChange,
    request: ConsumerGroupHeartbeatRequest,
    member_id: str,
    ticket: Ticket,
    context: Context,
) -> HeartbeatOutcome:
    """Run the steps of one heartbeat. Raises GroupError; the caller rolls back then."""
    check_size(change.group, member_id, request.instance_id, context)
    found = find_member(change, request, member_id)
    member = updated(found, request, ticket)
    changes = subscribe(groups, change, found, member, ticket, context)
    groups.update_target_if_behind(change, context, is_homogeneous=changes.is_homogeneous)
    return follow(groups, change, member, owned_of(request), found, is_changed=changes.is_changed)


def check_size(group: ConsumerGroup, member_id: str, instance_id: str | None, context: Context) -> None:
    """Raise GroupError if there is no room for a member."""
    config = context.config
    if member_id in group.members or instance_id in group.static_members:
        return
    if len(group.members) >= config.group_consumer_max_size:
        raise GroupError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"The consumer group has reached its maximum capacity of {config.group_consumer_max_size} members.",
        )
    if group.shard.totals.members >= config.max_members:
        raise GroupError(
            ErrorCode.GROUP_MAX_SIZE_REACHED,
            f"All groups together have max.members = {config.max_members} members.",
        )


class SubscriptionChanges(NamedTuple):
    """The changes that a request makes to the subscriptions of a group."""

    is_changed: bool  # those of the member
    is_homogeneous: bool  # the subscription type, as the target is to be computed


def subscribe(
    groups: ConsumerGroups,
    change: ConsumerGroupChange,
    found: ConsumerMember,
    member: ConsumerMember,
    ticket: Ticket,
    context: Context,
) -> SubscriptionChanges:
    """Put `member` in the place of `found` and raise the group epoch if need be. Raises GroupError."""
    group, member_id = change.group, member.member_id
    is_new = member_id not in group.members
    names_changed = found.topic_names != member.topic_names
    regex = update_regex(group, found, member)
    assignor = group.assignor_name(groups.names)
    resolved = Resolved.of(group)
    was_homogeneous = group.was_homogeneous
    have_changed = have_topics_changed(group, groups.topics)
    if is_new or member != found:
        change.put(member)
        change.write_member(member)
    if found.regex and found.regex not in group.regex_counts:
        change.drop_regex(found.regex)
    groups.resolve_if_due(group, resolved, ticket, context, needs_refresh=regex.needs_refresh)
    has_new_assignor = member.classic is None and group.assignor_name(groups.names) != assignor
    is_input_changed = names_changed or regex.is_resolved or has_new_assignor
    has_looked = bump_epoch(
        change, groups.topics, context, is_changed=is_input_changed, have_topics_changed=have_changed
    )
    is_homogeneous = group.is_homogeneous if has_looked else was_homogeneous
    return SubscriptionChanges(names_changed or regex.is_changed, is_homogeneous)


def follow(
    groups: ConsumerGroups,
    change: ConsumerGroupChange,
    member: ConsumerMember,
    owned: Assignment | None,
    found: ConsumerMember,
    *,
    is_changed: bool,
) -> HeartbeatOutcome:
    """Take the next step of a member towards its target, and write it."""
    group = change.group
    if not is_changed and member.is_reconciled(group.assignment_epoch):
        return HeartbeatOutcome(found, member, member)
    facts = Facts(
        target=group.target_of(member.member_id),
        target_epoch=group.assignment_epoch,
        owned=owned,
        topic_ids=topic_ids_of(group.topics_of_member(member), groups.topics),
        is_changed=is_changed,
        holder_of=group.holder_of,
    )
    after = reconcile(member, facts)
    if after != member:
        change.put(after)
        change.write_current(after)
    return HeartbeatOutcome(found, member, after)


def owned_of(request: ConsumerGroupHeartbeatRequest) -> Assignment | None:
    """Return what the client says it owns; None if it does not say."""
    if request.topic_partitions is None:
        return None
    return assignment_of((each.topic_id, each.partitions) for each in request.topic_partitions)


def is_full(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a client sent all its fields, as it does when it has lost an answer."""
    return (
        request.rebalance_timeout_ms != -1
        and (request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None)
        and request.topic_partitions is not None
    )


def success(
    request: ConsumerGroupHeartbeatRequest, outcome: HeartbeatOutcome, interval_ms: int
) -> ConsumerGroupHeartbeatResponse:
    """Return the answer to a heartbeat that is accepted."""
    member = outcome.member
    return ConsumerGroupHeartbeatResponse(
        error_code=NONE,
        member_id=member.member_id,
        member_epoch=member.epoch,
        heartbeat_interval_ms=interval_ms,
        assignment=to_wire(member.assigned) if outcome.is_told(request) else None,
    )


def to_wire(assignment: Assignment) -> WireAssignment:
    return WireAssignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=list(partitions))
            for topic_id, partitions in assignment.items()
        ]
    )


def refused(error: ErrorCode, message: str | None = None) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(
        error_code=int(error), error_message=message, member_id=None, member_epoch=0, heartbeat_interval_ms=0
    )
