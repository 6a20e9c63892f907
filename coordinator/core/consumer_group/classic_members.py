"""Members of the classic protocol in a KIP-848 group: their JoinGroup, SyncGroup, Heartbeat and LeaveGroup.

A JoinGroup is answered at once: the member epoch is its generation, and no member leads. The next SyncGroup brings what
the server assigns. There is no common rebalance: the answer to a Heartbeat tells one member to rejoin, when there is a
newer target, when it must give up partitions, or when those that it waits for are free. Two timers limit how long
it may take to rejoin, and to sync after a join. Source: Kafka's `GroupMetadataManager.classicGroup*ToConsumerGroup`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED
from coordinator.core.consumer_group.change import ConsumerGroupChange
from coordinator.core.consumer_group.departure import depart
from coordinator.core.consumer_group.downgrade import downgrade, embedded_assignment, is_downgraded_by
from coordinator.core.consumer_group.errors import GroupError
from coordinator.core.consumer_group.heartbeat import check_owner, check_size, follow, replace_static, subscribe
from coordinator.core.consumer_group.held_classic_heartbeat import HeldClassicHeartbeat
from coordinator.core.consumer_group.incidents import record_refusal
from coordinator.core.consumer_group.member import UNRELEASED, UNREVOKED, ClassicProtocols, ConsumerMember
from coordinator.core.consumer_group.upgrade import partitions_by_id
from coordinator.core.events.model import LONGEST_REASON
from coordinator.core.group.group import CONSUMER, size_of
from coordinator.core.group.join import JoinGroup
from coordinator.core.group.parked_heartbeat import Release, parked_ms
from coordinator.core.group.protocols import protocols_of
from coordinator.core.group.responses import join_error, sync_error
from protocol.api_keys import ApiKey
from protocol.consumer import decode_subscription
from protocol.error_codes import ErrorCode
from protocol.errors import DecodeError
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.join_group import JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.groups import ConsumerGroups
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.member import Protocols
    from protocol.messages.consumer_protocol import Subscription
    from protocol.messages.join_group import JoinGroupRequest


DISABLED: Final = "disabled"  # a value of group.consumer.migration.policy


class ClassicMembers:
    """The requests of members of the classic protocol to the KIP-848 groups of a node."""

    def __init__(self, groups: ConsumerGroups) -> None:
        self._groups = groups

    # -- JoinGroup -----------------------------------------------------------------------------------------------

    def join(self, group: ConsumerGroup, command: JoinGroup, ticket: Ticket, context: Context) -> None:
        """Handle a JoinGroup for a group with members."""
        request = command.request
        change = ConsumerGroupChange(group)
        try:
            member_id = request.member_id or context.new_member_uuid()
            protocols = protocols_of(request)
            if group.is_dead:
                raise GroupError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            if context.config.group_consumer_migration_policy == DISABLED:
                raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            check_size(group, member_id, request.group_instance_id, context)
            if not group.supports_classic(request.protocol_type, protocols):
                raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            _check_metadata(group, request, protocols, context)
            if not request.member_id and request.group_instance_id is None and command.member_id_required:
                context.reply(ticket, join_error(ErrorCode.MEMBER_ID_REQUIRED, member_id))
                return
            joined = self._joined(change, command, member_id, protocols, ticket, context)
        except GroupError as refusal:
            change.roll_back()
            record_refusal(
                group,
                ApiKey.JOIN_GROUP,
                refusal.error,
                ticket,
                request.member_id,
                request.group_instance_id,
                context,
                offered=[each.name for each in request.protocols],
                reason=refusal.message,
            )
            context.reply(ticket, join_error(refusal.error))
            return
        except BaseException:
            change.roll_back()
            raise
        response = JoinGroupResponse(
            error_code=int(ErrorCode.NONE),
            generation_id=joined.epoch,
            protocol_type=CONSUMER,
            protocol_name=protocols[0][0],
            leader="",
            member_id=member_id,
            members=[],
        )
        self._groups.finish(change, ticket, response, join_error, context)

    def _joined(
        self,
        change: ConsumerGroupChange,
        command: JoinGroup,
        member_id: str,
        protocols: Protocols,
        ticket: Ticket,
        context: Context,
    ) -> ConsumerMember:
        """Add or update the member and take its next step. Raises GroupError."""
        request, group, groups = command.request, change.group, self._groups
        subscription = _subscription_of(protocols)
        is_downgrade = is_downgraded_by(group, request.group_instance_id, context)
        generation = group.epoch
        found = _find(change, request.member_id, request.group_instance_id, member_id)
        member = found._replace(
            instance_id=found.instance_id if request.group_instance_id is None else request.group_instance_id,
            rack_id=found.rack_id if subscription.rack_id is None else subscription.rack_id,
            client_id=ticket.client_id,
            client_host=ticket.client_host,
            topic_names=frozenset(subscription.topics),
            regex="",
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            classic=ClassicProtocols(request.session_timeout_ms, protocols),
        )
        owned = partitions_by_id(subscription.owned_partitions, groups.topics)
        changes = subscribe(groups, change, found, member, ticket, context)
        if is_downgrade:
            is_behind = group.epoch > group.assignment_epoch
            if not is_behind:
                member = follow(groups, change, member, owned, found, is_changed=changes.is_changed).member
            downgrade(change, (), generation, groups.topics, context, rebalances=is_behind)
            return member
        groups.update_target_if_behind(change, context, is_homogeneous=changes.is_homogeneous)
        outcome = follow(groups, change, member, owned, found, is_changed=changes.is_changed)
        session = groups.renew(group, member_id, ticket, context)
        session.end_rebalance()
        session.await_sync(outcome.member, context)
        return outcome.member

    # -- SyncGroup and Heartbeat ---------------------------------------------------------------------------------

    def sync(self, group: ConsumerGroup, request: SyncGroupRequest, ticket: Ticket, context: Context) -> None:
        """Handle a SyncGroup: it brings the assignment of the member epoch. What the request assigns is ignored."""
        try:
            member = _member_of(group, request.member_id, request.group_instance_id, request.generation_id)
            protocols = member.classic.protocols if member.classic is not None else ()
            if request.protocol_type not in {None, CONSUMER} or request.protocol_name not in {None, protocols[0][0]}:
                raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
            session = self._groups.session(group, member.member_id)
            if group.assignment_epoch > member.epoch and member.state != UNREVOKED:
                session.await_join(member, context)
                raise GroupError(ErrorCode.REBALANCE_IN_PROGRESS)
        except GroupError as refusal:
            _record(group, ApiKey.SYNC_GROUP, refusal, request, ticket, context)
            self._groups.answer(group, ticket, sync_error(refusal.error), sync_error, context)
            return
        session.end_sync()
        self._groups.renew(group, member.member_id, ticket, context)
        response = SyncGroupResponse(
            error_code=int(ErrorCode.NONE),
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=embedded_assignment(member.assigned, protocols[0][1], self._groups.topics),
        )
        self._groups.answer(group, ticket, response, sync_error, context)

    def heartbeat(self, group: ConsumerGroup, request: HeartbeatRequest, ticket: Ticket, context: Context) -> None:
        """Handle a Heartbeat. A valid one renews the session, also while the answer is REBALANCE_IN_PROGRESS."""
        error = ErrorCode.NONE
        former = group.held.get(request.member_id)
        if former is not None:
            former.release(Release.OTHER_CONNECTION, context)
        try:
            member = _member_of(group, request.member_id, request.group_instance_id, request.generation_id)
            session = self._groups.renew(group, member.member_id, ticket, context)
            self._assign_if_alone(group, context)
            if _must_rejoin(group, member):
                session.await_join(member, context)
                error = ErrorCode.REBALANCE_IN_PROGRESS
            elif ticket.may_be_held and group.last_append is None and member.classic is not None:
                name, timeout_ms = ticket.client_software.name, member.classic.session_timeout_ms
                for_ms = parked_ms(context.config, name, timeout_ms)
                if for_ms:
                    held = HeldClassicHeartbeat(self, group, request, ticket, context.now_ms)
                    group.held[request.member_id] = ticket.held = held
                    context.timers.hold(held, for_ms, context)
                    return
        except GroupError as refusal:
            error = refusal.error
            _record(group, ApiKey.HEARTBEAT, refusal, request, ticket, context)
        self._groups.answer(group, ticket, _heartbeat_answer(error), _heartbeat_answer, context)

    def has_news(self, group: ConsumerGroup, request: HeartbeatRequest) -> bool:
        """Return whether a Heartbeat that is held would be answered with anything but NONE."""
        try:
            member = _member_of(group, request.member_id, request.group_instance_id, request.generation_id)
        except GroupError:
            return True
        return _must_rejoin(group, member) or (
            group.epoch > group.assignment_epoch and group.classic_count == len(group.members)
        )

    def _assign_if_alone(self, group: ConsumerGroup, context: Context) -> None:
        """Compute the target if only members of the classic protocol are left. Kafka waits for the next join then."""
        if group.epoch > group.assignment_epoch and group.classic_count == len(group.members):
            change = ConsumerGroupChange(group)
            self._groups.update_target_if_behind(change, context, is_homogeneous=group.is_homogeneous)
            change.append(context)

    # -- LeaveGroup ----------------------------------------------------------------------------------------------

    def leave(self, group: ConsumerGroup, request: LeaveGroupRequest, ticket: Ticket, context: Context) -> None:
        """Handle a LeaveGroup of members of either protocol: all that are valid leave in one event."""
        entries: list[MemberResponse] = []
        leaving: dict[str, None] = {}
        reasons: dict[str, str] = {}
        for identity in request.members:
            error = ErrorCode.NONE
            try:
                member_id = _leaving(group, identity)
                leaving[member_id] = None
                reasons[member_id] = (identity.reason or "")[:LONGEST_REASON]
            except GroupError as refusal:
                error = refusal.error
            entries.append(
                MemberResponse(
                    member_id=identity.member_id,
                    group_instance_id=identity.group_instance_id,
                    error_code=int(error),
                )
            )
        change = ConsumerGroupChange(group)
        change.reasons = reasons
        if leaving:
            depart(change, list(leaving), self._groups.topics, context)
        self._groups.finish(change, ticket, LeaveGroupResponse(members=entries), _leave_error, context)


def _check_metadata(group: ConsumerGroup, request: JoinGroupRequest, protocols: Protocols, context: Context) -> None:
    """Refuse metadata that does not fit into the group, or into all groups, in place of the member's former one.

    Raises GroupError.
    """
    instance_id = request.group_instance_id
    former_id = request.member_id if instance_id is None else group.static_members.get(instance_id, "")
    former = group.members.get(former_id)
    more = size_of(protocols)
    if former is not None and former.classic is not None:
        more -= size_of(former.classic.protocols)
    config = context.config
    if more > 0 and (
        group.metadata_bytes + more > config.group_max_metadata_bytes
        or group.shard.totals.metadata_bytes + more > config.groups_max_metadata_bytes
    ):
        raise GroupError(ErrorCode.GROUP_MAX_SIZE_REACHED)


def _subscription_of(protocols: Protocols) -> Subscription:
    try:
        return decode_subscription(protocols[0][1])
    except DecodeError:
        raise GroupError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL) from None


def _find(change: ConsumerGroupChange, asked_id: str, instance_id: str | None, member_id: str) -> ConsumerMember:
    """Return the member that a JoinGroup is of; a fresh one if it is new. Raises GroupError."""
    group = change.group
    if instance_id is None:
        return group.members.get(member_id) or ConsumerMember(member_id)
    owner = group.static_members.get(instance_id)
    if asked_id:
        return check_owner(group, member_id, instance_id)
    if owner is None:
        return ConsumerMember(member_id)
    return replace_static(change, group.members[owner], member_id)


def _member_of(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> ConsumerMember:
    """Return the member of the classic protocol that a SyncGroup or Heartbeat is of. Raises GroupError."""
    if group.is_dead:
        raise GroupError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if instance_id is not None:
        check_owner(group, member_id, instance_id)
    member = group.members.get(member_id)
    if member is None or member.classic is None:
        raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
    if generation != member.epoch:
        raise GroupError(ErrorCode.ILLEGAL_GENERATION)
    return member


def _must_rejoin(group: ConsumerGroup, member: ConsumerMember) -> bool:
    if member.epoch < group.assignment_epoch or member.state == UNREVOKED:
        return True
    return member.state == UNRELEASED and not _waits(group, member)


def _waits(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Return whether another member still holds a partition of the target of this one."""
    return any(
        partition not in member.assigned.get(topic_id, ()) and group.holder_of(topic_id, partition) is not None
        for topic_id, partitions in group.targets.get(member.member_id, NOTHING_ASSIGNED).items()
        for partition in partitions
    )


def _record(
    group: ConsumerGroup,
    api: ApiKey,
    refusal: GroupError,
    request: SyncGroupRequest | HeartbeatRequest,
    ticket: Ticket,
    context: Context,
) -> None:
    """Record that a request of a member was refused."""
    member_id, instance_id = request.member_id, request.group_instance_id
    record_refusal(group, api, refusal.error, ticket, member_id, instance_id, context, request.generation_id)


def _leaving(group: ConsumerGroup, identity: MemberIdentity) -> str:
    member_id, instance_id = identity.member_id, identity.group_instance_id
    if group.is_dead:
        raise GroupError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    if instance_id is None:
        if member_id not in group.members:
            raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member_id
    owner = group.static_members.get(instance_id)
    if owner is None:
        raise GroupError(ErrorCode.UNKNOWN_MEMBER_ID)
    if member_id not in {"", owner}:
        raise GroupError(ErrorCode.FENCED_INSTANCE_ID)
    return owner


def _heartbeat_answer(error: ErrorCode) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=int(error))


def _leave_error(error: ErrorCode) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=int(error))
