"""JoinGroup: which members may enter a group, and what their joining starts.

A member id of "" comes from a new client: a dynamic member (which, from version 4 on, is given an id first and joins
again with it, KIP-394), a new static member, or the next run of a known one (static_member.py). Any other id must be a
member's or a pending one. A member that rejoins unchanged is answered at once. A member that changes, or the leader,
starts a rebalance. Source: Kafka's `GroupMetadataManager.classicGroupJoin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.events.model import Cause, ChangeKind
from coordinator.core.group.checks import check_member, has_room
from coordinator.core.group.group import size_of, topics_of
from coordinator.core.group.incidents import record_refusal
from coordinator.core.group.member import Member, Protocols
from coordinator.core.group.parked_heartbeat import Release, release_of
from coordinator.core.group.progress import client_of, trigger_of
from coordinator.core.group.protocols import protocols_of
from coordinator.core.group.rebalance import maybe_rebalance, prepare_rebalance, remove_member
from coordinator.core.group.rejoin import update_member
from coordinator.core.group.responses import join_error, join_success
from coordinator.core.group.session import NEW_MEMBER_JOIN_TIMEOUT_MS, restart_session
from coordinator.core.group.state import DEAD, EMPTY, PREPARING_REBALANCE, STABLE
from coordinator.core.group.static_member import replace_static_member
from protocol import consumer
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.errors import DecodeError
from protocol.messages.join_group import JoinGroupRequest  # at run time: a compiled tuple looks its types up

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group

MAX_TOPICS_COMPARED: Final = 1_000  # of all protocols of a member; more are not decoded


class JoinGroup(NamedTuple):
    """A JoinGroupRequest, with the consequences of its version."""

    request: JoinGroupRequest
    member_id_required: bool  # a dynamic member is given its id first (v4+)
    knows_skip_assignment: bool  # can be told that it leads but must not assign (v9+, KIP-814)


def join(group: Group, command: JoinGroup, ticket: Ticket, context: Context) -> None:
    """Handle a JoinGroup for an existing (perhaps just created) group. The ticket is answered or parked."""
    request = command.request
    member_id = request.member_id
    former_id = _former_id(group, request)
    # A static member that returns takes its own place: Kafka does so in consumer groups (KAFKA-20601).
    is_full = not has_room(group, member_id or former_id, context.config.group_max_size)
    if is_full or not _has_room_for(group, former_id, request, context):
        if is_full or member_id in group.pending_join:  # a member whose new metadata is refused keeps the former
            _expel(group, member_id, context)
        _record(group, request, ErrorCode.GROUP_MAX_SIZE_REACHED, ticket, context)
        context.reply(ticket, join_error(ErrorCode.GROUP_MAX_SIZE_REACHED))
        return
    protocols = _protocols(group, request)
    if group.state is DEAD:
        context.reply(ticket, join_error(ErrorCode.COORDINATOR_NOT_AVAILABLE, member_id))
    elif not group.supports(request.protocol_type, protocols):
        _record(group, request, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, ticket, context, protocols)
        context.reply(ticket, join_error(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, member_id))
    elif member_id == "":
        _join_unknown(group, command, protocols, ticket, context)
    else:
        _join_known(group, request, protocols, ticket, context)


def _former_id(group: Group, request: JoinGroupRequest) -> str:
    """Return the id of the member whose place this request takes; an id without a member if it takes none."""
    instance_id = request.group_instance_id
    return group.static_members.get(instance_id, "") if instance_id is not None else request.member_id


def _has_room_for(group: Group, former_id: str, request: JoinGroupRequest, context: Context) -> bool:
    """Return whether the metadata of a member fits into its group and into all groups, in place of `former_id`'s."""
    config, totals = context.config, group.shard.totals
    more = 0
    for protocol in request.protocols:
        more += len(protocol.name) + len(protocol.metadata)
    member = group.members.get(former_id)
    if member is not None:
        more -= size_of(member.protocols)
    fits = (
        group.metadata_bytes + more <= config.group_max_metadata_bytes
        and totals.metadata_bytes + more <= config.groups_max_metadata_bytes
        and (member is not None or totals.members < config.max_members)
    )
    return fits or (member is not None and more <= 0)


def _join_unknown(group: Group, command: JoinGroup, protocols: Protocols, ticket: Ticket, context: Context) -> None:
    request = command.request
    instance_id = request.group_instance_id
    prefix = instance_id if instance_id is not None else ticket.client_id
    new_id = f"{prefix[: context.config.client_id_max_chars]}-{context.new_member_uuid()}"
    if instance_id is not None and instance_id in group.static_members:
        replace_static_member(
            group, request, protocols, new_id, ticket, context, knows_skip_assignment=command.knows_skip_assignment
        )
    elif instance_id is None and command.member_id_required:
        context.timers.make_room_for_pending(context)
        deadline_ms = context.now_ms + request.session_timeout_ms
        group.pending_join[new_id] = context.timers.await_pending(group, new_id, deadline_ms)
        context.reply(ticket, join_error(ErrorCode.MEMBER_ID_REQUIRED, new_id))
    else:
        _add_member(group, new_id, request, protocols, ticket, context)


def _join_known(
    group: Group, request: JoinGroupRequest, protocols: Protocols, ticket: Ticket, context: Context
) -> None:
    member_id = request.member_id
    if member_id in group.pending_join:
        if request.group_instance_id is not None:
            # Ids are handed out to dynamic members only, so a client with an instance id cannot have received one.
            context.reply(ticket, join_error(ErrorCode.UNKNOWN_SERVER_ERROR))
        else:
            _add_member(group, member_id, request, protocols, ticket, context)
        return
    error = check_member(group, member_id, request.group_instance_id)
    if error is ErrorCode.NONE and group.state is EMPTY:
        error = ErrorCode.UNKNOWN_MEMBER_ID
    if error is not ErrorCode.NONE:
        _record(group, request, error, ticket, context)
        context.reply(ticket, join_error(error, member_id))
        return
    member = group.members[member_id]
    changed = member.protocols != protocols
    if group.state is PREPARING_REBALANCE:
        if changed and group.rebalance is not None and subscription_of(member.protocols) != subscription_of(protocols):
            group.rebalance.changed(ChangeKind.RESUBSCRIBED, client_of(member), context)
        update_member(group, member, request, protocols, ticket, context)
        context.timers.check_joins(group, context)
    elif changed:
        resubscribed = subscription_of(member.protocols) != subscription_of(protocols)
        update_member(group, member, request, protocols, ticket, context)
        trigger = trigger_of(Cause.PROTOCOLS_CHANGED, member, request.reason, subscription_changed=resubscribed)
        prepare_rebalance(group, trigger, context)
    elif group.state is STABLE and member_id == group.leader_id:
        # Even if nothing changed: a leader rejoins to ask for a new assignment, because topics have changed.
        update_member(group, member, request, protocols, ticket, context)
        prepare_rebalance(group, trigger_of(Cause.LEADER_REJOINED, member, request.reason), context)
    else:
        # The member lost the response, or rejoins needlessly. Nothing changes, not even a timer.
        release_of(member, Release.OTHER_CONNECTION, context)
        context.reply(ticket, join_success(group, member))


def _record(
    group: Group,
    request: JoinGroupRequest,
    error: ErrorCode,
    ticket: Ticket,
    context: Context,
    offered: Protocols = (),
) -> None:
    member_id, instance_id = request.member_id, request.group_instance_id
    record_refusal(group, ApiKey.JOIN_GROUP, error, ticket, member_id, instance_id, context, offered=offered)


def _add_member(
    group: Group, member_id: str, request: JoinGroupRequest, protocols: Protocols, ticket: Ticket, context: Context
) -> None:
    """Add a new member with its JoinGroup parked, and rebalance."""
    member = Member(
        member_id,
        request.group_instance_id,
        ticket.client_id,
        ticket.client_host,
        request.rebalance_timeout_ms,
        request.session_timeout_ms,
        request.protocol_type,
        protocols,
        is_new=True,
        client_software=ticket.client_software,
    )
    member.parked_join = ticket
    if group.state is PREPARING_REBALANCE and group.previous_state is EMPTY:
        group.new_member_added = True
    group.add(member)
    restart_session(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS, context)
    if group.rebalance is not None:
        group.rebalance.member_joined(member, context)
    maybe_rebalance(group, trigger_of(Cause.MEMBER_JOINED, member, request.reason), context)


def _expel(group: Group, member_id: str, context: Context) -> None:
    """Remove a member that has not rejoined, or a pending id, because the group is full.

    Unlike Kafka, this may complete the join phase.
    """
    member = group.members.get(member_id)
    if member is not None:
        remove_member(group, member, context)
        if group.rebalance is not None:
            group.rebalance.changed(ChangeKind.EXPELLED, client_of(member), context)
    elif not group.remove_pending(member_id):
        return
    if group.state is PREPARING_REBALANCE:
        context.timers.check_joins(group, context)


def _protocols(group: Group, request: JoinGroupRequest) -> Protocols:
    """Return the member's protocols. An equal list of the leader is reused to save memory."""
    protocols = protocols_of(request)
    leader = group.leader
    return leader.protocols if leader is not None and leader.protocols == protocols else protocols


def subscription_of(protocols: Protocols) -> tuple[tuple[str, frozenset[str]], ...] | None:
    """Return the assignors and topics of a consumer, without its user data and owned partitions; None if unknown."""
    if sum(consumer.topic_count(metadata) for _, metadata in protocols) > MAX_TOPICS_COMPARED:
        return None
    try:
        return tuple((name, topics_of(metadata)) for name, metadata in protocols)
    except DecodeError:
        return None
