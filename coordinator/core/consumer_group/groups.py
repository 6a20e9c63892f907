"""All KIP-848 groups of a node: requests in, effects out, and the timers of members.

This is the part of `GroupCoordinator` that serves ConsumerGroupHeartbeat. A request finds its group here, or makes it;
what it changes is in heartbeat.py and departure.py, and each event ends with one append and the answer behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.consumer_group.append import ConsumerGroupAppend
from coordinator.core.consumer_group.change import ConsumerGroupChange
from coordinator.core.consumer_group.departure import depart, leaving_member, pause
from coordinator.core.consumer_group.describe import describe_consumer_groups
from coordinator.core.consumer_group.errors import GroupError
from coordinator.core.consumer_group.group import ConsumerGroup
from coordinator.core.consumer_group.heartbeat import beat, is_plain, refused, success
from coordinator.core.consumer_group.held_heartbeat import HeldConsumerHeartbeat, hold_ms
from coordinator.core.consumer_group.incidents import record_load, record_refusal, record_refused_upgrade
from coordinator.core.consumer_group.member import STATIC_LEAVE_EPOCH, UNREVOKED
from coordinator.core.consumer_group.next_interval import StepTaken, next_interval_ms
from coordinator.core.consumer_group.session import MemberSession, session_timeout_ms
from coordinator.core.consumer_group.subscription import Resolved, resolve, wants_resolution
from coordinator.core.consumer_group.target import (
    ASSIGNED_AT_ONCE,
    ASSIGNED_IN_UPGRADE,
    size_of,
    update_target,
    update_target_in_slices,
)
from coordinator.core.consumer_group.undo import FORGOTTEN, Inverse
from coordinator.core.consumer_group.upgrade import check_upgrade, dismiss, resume, take_members
from coordinator.core.consumer_group.validation import check_request
from coordinator.core.events.model import Cause, ChangeKind, shortened
from coordinator.core.group.incidents import loads_recorded
from coordinator.core.group.parked_heartbeat import Release
from coordinator.core.group.state import EMPTY, STABLE
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from coordinator.core.consumer_group.assignors.interface import ConsumerGroupPartitionAssignor
    from coordinator.core.consumer_group.heartbeat import HeartbeatOutcome
    from coordinator.core.consumer_group.topics import TopicsImage
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.registry import GroupRegistry
    from coordinator.core.timers import GroupTimers
    from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest, DescribedGroup

NOT_ENABLED: Final = "The consumer protocol is off here (group.coordinator.rebalance.protocols, topics.storage)."
RETRY_FENCING_MS: Final = 500  # if the append of a removal has failed


class ConsumerGroupHeartbeat(NamedTuple):
    """A request, and whether its version lets the client make its member id (v1+)."""

    request: ConsumerGroupHeartbeatRequest
    needs_member_id: bool


class ConsumerGroups:
    """The KIP-848 groups of one node."""

    def __init__(
        self,
        registry: GroupRegistry,
        timers: GroupTimers,
        topics: TopicsImage,
        assignors: Mapping[str, ConsumerGroupPartitionAssignor],
        *,
        is_enabled: bool,
    ) -> None:
        self._registry = registry
        self._timers = timers
        self.topics = topics
        self.assignors = assignors
        self.names = tuple(assignors)
        self._is_enabled = is_enabled

    # -- ConsumerGroupHeartbeat ----------------------------------------------------------------------------------

    def heartbeat(
        self, command: ConsumerGroupHeartbeat, ticket: Ticket, context: Context, *, was_held: bool = False
    ) -> None:
        """Handle a ConsumerGroupHeartbeat of any epoch."""
        request = command.request
        group = self._registry.consumer_groups.get(request.group_id)
        if group is not None and (former := group.held.get(request.member_id)) is not None:
            former.release(Release.OTHER_CONNECTION, context)
        if group is not None and is_plain(group, request, ticket, self.topics, context) and not group.is_dead:
            session = self.renew(group, request.member_id, ticket, context)
            for_ms = hold_ms(group, session, ticket, context)
            if for_ms:
                self.hold(group, command, ticket, for_ms, context)
                return
            if not was_held:
                session.unheld += 1
            member = group.members[request.member_id]
            response = ConsumerGroupHeartbeatResponse(
                error_code=0,
                member_id=member.member_id,
                member_epoch=member.epoch,
                heartbeat_interval_ms=next_interval_ms(group, member, session, ticket, StepTaken.NONE, context),
            )
            self.answer(group, ticket, response, refused, context)
            return
        try:
            if not self._is_enabled:
                raise GroupError(ErrorCode.UNSUPPORTED_VERSION, NOT_ENABLED)
            if self._registry.is_down:
                raise GroupError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            check_request(request, self.names, needs_member_id=command.needs_member_id)
            error = self._registry.refusal(request.group_id)
            if error is not ErrorCode.NONE:
                raise GroupError(error)
            if request.member_epoch < 0:
                self._leave(request, ticket, context)
            else:
                self._beat(request, ticket, context)
        except GroupError as refusal:
            if group is not None and request.member_epoch >= 0:
                record_refusal(
                    group,
                    ApiKey.CONSUMER_GROUP_HEARTBEAT,
                    refusal.error,
                    ticket,
                    request.member_id,
                    request.instance_id,
                    context,
                    request.member_epoch,
                    offered=(request.server_assignor,) if request.server_assignor else (),
                    reason=refusal.message,
                )
            context.reply(ticket, refused(refusal.error, refusal.message))

    def group_of(self, command: ConsumerGroupHeartbeat) -> ConsumerGroup | None:
        """Return the group of a heartbeat, if it is here."""
        return self._registry.consumer_groups.get(command.request.group_id)

    def hold(
        self, group: ConsumerGroup, command: ConsumerGroupHeartbeat, ticket: Ticket, for_ms: int, context: Context
    ) -> HeldConsumerHeartbeat:
        """Let a heartbeat of a member with nothing to do wait, for so long at most."""
        held = HeldConsumerHeartbeat(self, group, command, ticket, context.now_ms)
        group.held[held.member_id] = ticket.held = held
        context.timers.hold(held, for_ms, context)
        return held

    def handle_held(self, held: HeldConsumerHeartbeat, context: Context, error: ErrorCode | None) -> None:
        """Handle a heartbeat that was held. It renews no session: it has done so on arrival."""
        if error is not None:
            context.reply(held.ticket, refused(error))
            return
        group, member_id = held.group, held.command.request.member_id
        session = group.sessions.get(member_id)
        deadline_ms = 0 if session is None else session.deadline_ms
        held.ticket.may_be_held = False
        try:
            self.heartbeat(held.command, held.ticket, context, was_held=True)
        except BaseException:
            context.reply(held.ticket, refused(ErrorCode.UNKNOWN_SERVER_ERROR))
            raise
        if session is not None and group.sessions.get(member_id) is session:
            session.deadline_ms = min(session.deadline_ms, deadline_ms)

    def _beat(self, request: ConsumerGroupHeartbeatRequest, ticket: Ticket, context: Context) -> None:
        change, classic = self._change_of(request, context)
        group = change.group
        member_id = request.member_id or context.new_member_uuid()
        try:
            if classic is not None and classic.state is not EMPTY:
                self._take_members(change, classic, request, ticket, context)
            outcome = beat(self, change, request, member_id, ticket, context)
        except BaseException:
            change.roll_back()
            raise
        on_failed = None
        if group.shard.consumer_groups.get(group.group_id) is not group:
            if classic is not None:
                on_failed = partial(self._resume_classic, group.group_id, classic.state is STABLE)
                dismiss(classic, context)
            change.begin_group(classic)
            if classic is not None:
                group.seen_topics_version = -1  # as in Kafka, which compares the topics again after a conversion
            for each in group.members:
                if each != member_id:
                    self.session(group, each).start(session_timeout_ms(group, each, context), context)
        session = self.renew(group, member_id, ticket, context)
        session.end_join()
        session.end_sync()
        step = outcome.step(request)
        session.unheld = session.unheld + 1 if step is StepTaken.NONE else 0
        self._time_revocation(session, outcome, context)
        interval_ms = next_interval_ms(group, outcome.member, session, ticket, step, context)
        response = success(request, outcome, interval_ms)
        self.finish(change, ticket, response, refused, context, on_failed)

    def _take_members(
        self,
        change: ConsumerGroupChange,
        classic: Group,
        request: ConsumerGroupHeartbeatRequest,
        ticket: Ticket,
        context: Context,
    ) -> None:
        """Give the members of a classic group to its new group. Raises GroupError, which is recorded."""
        try:
            check_upgrade(classic, context)
            take_members(change, classic, self.topics)
        except GroupError as refusal:
            record_refused_upgrade(request.group_id, ticket, request.member_id, refusal.message or "", context)
            raise

    def _resume_classic(self, group_id: str, was_stable: bool, context: Context) -> None:
        """Go on with the classic group: the append of its upgrade has failed."""
        classic = self._registry.groups.get(group_id)
        if classic is not None:
            resume(classic, was_stable=was_stable, context=context)

    def _change_of(
        self, request: ConsumerGroupHeartbeatRequest, context: Context
    ) -> tuple[ConsumerGroupChange, Group | None]:
        """Return a change of the group of a heartbeat, which is a new one if a client joins the first time.

        The classic group in whose place a new one is put comes with it; it is not changed yet. Raises GroupError.
        """
        group_id = request.group_id
        group = self._registry.consumer_groups.get(group_id)
        if group is not None:
            if group.is_dead:
                raise GroupError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
            return ConsumerGroupChange(group), None
        not_found = GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {group_id} not found.")
        if request.member_epoch != 0:
            raise not_found
        classic = self._registry.groups.get(group_id)
        if classic is None and self._registry.group_count >= context.config.max_groups:
            context.counters.refused_groups += 1
            raise GroupError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if classic is not None and classic.is_dead:
            raise GroupError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        change = ConsumerGroupChange(ConsumerGroup(group_id, self._registry.shard_of(group_id), context.wall_ms))
        if classic is not None:
            change.records += classic.tombstones()
        return change, classic

    def _leave(self, request: ConsumerGroupHeartbeatRequest, ticket: Ticket, context: Context) -> None:
        group = self._registry.consumer_groups.get(request.group_id)
        if group is None or group.is_dead:
            raise GroupError(ErrorCode.GROUP_ID_NOT_FOUND, f"Consumer group {request.group_id} not found.")
        member_id = leaving_member(group, request)
        change = ConsumerGroupChange(group)
        if request.member_epoch == STATIC_LEAVE_EPOCH and request.instance_id is not None:
            pause(change, member_id)
        else:
            depart(change, [member_id], self.topics, context)
        response = ConsumerGroupHeartbeatResponse(
            error_code=0, member_id=request.member_id, member_epoch=request.member_epoch, heartbeat_interval_ms=0
        )
        self.finish(change, ticket, response, refused, context)

    # -- answers -------------------------------------------------------------------------------------------------

    def finish(
        self,
        change: ConsumerGroupChange,
        ticket: Ticket,
        response: Any,
        refusal: Callable[[ErrorCode], Any],
        context: Context,
        on_failed: Callable[[Context], None] | None = None,
    ) -> None:
        """Append what the event has changed; the answer follows the append, `refusal` makes it if that fails."""
        append = self._append(change, context, on_failed)
        if append is not None:
            append.answer(ticket, response, refusal)
        else:
            self.answer(change.group, ticket, response, refusal, context)

    def answer(
        self,
        group: ConsumerGroup,
        ticket: Ticket,
        response: Any,
        refusal: Callable[[ErrorCode], Any],
        context: Context,
    ) -> None:
        """Answer now, or behind the last append in flight: the answer must not tell of what may be undone."""
        if group.last_append is None:
            context.reply(ticket, response)
        else:
            group.last_append.answer(ticket, response, refusal)

    def _append(
        self, change: ConsumerGroupChange, context: Context, on_failed: Callable[[Context], None] | None
    ) -> ConsumerGroupAppend | None:
        if change.classic is not None:
            for held in list(change.group.held.values()):
                held.release(Release.MEMBER_REMOVED, context)
            on_failed = partial(self._resume, change.group, change.classic, on_failed)
        return change.append(context, on_failed)

    def _resume(
        self, group: ConsumerGroup, classic: Group, on_failed: Callable[[Context], None] | None, context: Context
    ) -> None:
        """Go on with a KIP-848 group whose downgrade was not written, and refuse what waits in the classic group."""
        dismiss(classic, context)
        for member in list(group.members.values()):
            self.session(group, member.member_id).restore(member, context)
        if on_failed is not None:
            on_failed(context)

    # -- other requests ------------------------------------------------------------------------------------------

    def describe(self, request: ConsumerGroupDescribeRequest) -> Generator[None, None, list[DescribedGroup]]:
        """Describe the groups of a ConsumerGroupDescribe, in steps."""
        return describe_consumer_groups(request, self._registry, self.topics, self.names, is_enabled=self._is_enabled)

    def give_way(self, group_id: str, context: Context) -> bool:
        """Delete an Empty group, because a client joins by the classic protocol. Its committed offsets stay.

        False if the group has members.
        """
        group = self._registry.consumer_groups[group_id]
        if group.members or group.is_dead:
            return False
        group.shard.forget_consumer_group(group)
        records = group.tombstones()
        append = ConsumerGroupAppend(group, records, [Inverse(FORGOTTEN, "", None)], [], None)
        context.append(group, records, append)
        return True

    # -- steps that heartbeat.py asks for ------------------------------------------------------------------------

    def update_target_if_behind(self, change: ConsumerGroupChange, context: Context, *, is_homogeneous: bool) -> None:
        """Compute the target if the group epoch is ahead of it: now, in slices if the group is large, or elsewhere."""
        group = change.group
        if group.epoch <= group.assignment_epoch or group.is_assigning or context.now_ms < group.assigns_after_ms:
            return
        assignor = self.assignors[group.assignor_name(self.names)]
        most = ASSIGNED_AT_ONCE if change.upgraded is None else ASSIGNED_IN_UPGRADE
        if not assignor.is_offloaded and size_of(group, self.topics) <= most:
            update_target(change, assignor, self.topics, context, is_homogeneous=is_homogeneous)
            return
        group.is_assigning = True
        steps = update_target_in_slices(group, assignor, self.topics, context, is_homogeneous=is_homogeneous)
        if assignor.is_offloaded:  # other work would wait for it in the background
            self._timers.in_turns(steps, group.shard, context)
        else:
            self._timers.in_background(steps, group.shard)

    def resolve_if_due(
        self, group: ConsumerGroup, before: Resolved, ticket: Ticket, context: Context, *, needs_refresh: bool
    ) -> None:
        """Start to resolve the regular expressions of a group if one is new, or topics were created."""
        if wants_resolution(group, before, self.topics, context, needs_refresh=needs_refresh):
            group.resolving = True
            self._timers.in_background(resolve(group, self.topics, ticket.describable, context), group.shard)

    # -- timers --------------------------------------------------------------------------------------------------

    def start_sessions(self, groups: list[ConsumerGroup], context: Context) -> Iterator[None]:
        """Start the timers of the members of loaded groups, one member in each step, but for those that have them.

        Of the first groups with members, the load is recorded as an event.
        """
        recorded = loads_recorded(context)
        for group in groups:
            if not group.is_dead:
                context.recorder.member_owners.forget(shortened(group.group_id))
                if group.progress.running is None:
                    group.progress.loaded(group, context)
                if group.members and recorded > 0:
                    recorded -= 1
                    record_load(group, context)
            if not group.members:
                yield
            for member_id in list(group.members):
                member = group.members.get(member_id)
                if member is not None and not group.is_dead:
                    session = self.session(group, member_id)
                    if session.timer is None:
                        session.start(session_timeout_ms(group, member_id, context), context)
                    if member.state == UNREVOKED and member.classic is None and session.rebalance_timer is None:
                        session.start_rebalance(member, context)
                yield

    def session(self, group: ConsumerGroup, member_id: str) -> MemberSession:
        session = group.sessions.get(member_id)
        if session is None:
            session = MemberSession(group, member_id, 0, self._expired, self._not_revoked, self._silent)
            group.sessions[member_id] = session
        return session

    def renew(self, group: ConsumerGroup, member_id: str, ticket: Ticket, context: Context) -> MemberSession:
        """Move the deadline of a member's session: a request of it has come."""
        session = self.session(group, member_id)
        session.heard_ms = context.now_ms
        session.software = ticket.client_software
        session.may_be_held = session.may_be_held or ticket.may_be_held
        session.start(session_timeout_ms(group, member_id, context), context)
        return session

    def _time_revocation(self, session: MemberSession, outcome: HeartbeatOutcome, context: Context) -> None:
        if outcome.member is outcome.updated or outcome.member == outcome.updated:
            return
        if outcome.member.state == UNREVOKED:
            session.start_rebalance(outcome.member, context)
        else:
            session.end_rebalance()

    def _expired(self, group: ConsumerGroup, member_id: str, context: Context) -> None:
        """Remove a member whose session has ended, also a static one that is away."""
        if group.is_dead or member_id not in group.members:
            return
        context.counters.expired_sessions += 1
        self._fence(group, member_id, context, ChangeKind.EXPIRED)

    def _not_revoked(self, group: ConsumerGroup, member_id: str, epoch: int, context: Context) -> None:
        """Remove a member that did not give up its partitions within its rebalance timeout."""
        member = group.members.get(member_id)
        if group.is_dead or member is None or member.epoch != epoch or member.state != UNREVOKED:
            return
        context.counters.fenced_members += 1
        self._fence(group, member_id, context, ChangeKind.DROPPED, Cause.NOT_REVOKED, epoch)

    def _silent(self, group: ConsumerGroup, member_id: str, context: Context) -> None:
        """Remove a member of the classic protocol that did not rejoin or sync within its rebalance timeout."""
        member = group.members.get(member_id)
        if group.is_dead or member is None or member.classic is None:
            return
        context.counters.fenced_members += 1
        session = group.sessions.get(member_id)
        cause = Cause.NO_REJOIN if session is not None and session.join_timer is not None else Cause.NO_SYNC
        self._fence(group, member_id, context, ChangeKind.DROPPED, cause)

    def _fence(
        self,
        group: ConsumerGroup,
        member_id: str,
        context: Context,
        how: ChangeKind,
        cause: Cause | None = None,
        epoch: int | None = None,
    ) -> None:
        change = ConsumerGroupChange(group)
        change.how, change.cause = how, cause
        depart(change, [member_id], self.topics, context)
        self._append(change, context, partial(self._fence_later, group, member_id, epoch))

    def _fence_later(self, group: ConsumerGroup, member_id: str, epoch: int | None, context: Context) -> None:
        """Try again: the append of a removal has failed."""
        if epoch is None:
            action: Callable[[Context], None] = partial(self._expired, group, member_id)
        else:
            action = partial(self._not_revoked, group, member_id, epoch)
        self._timers.run_at(context.now_ms + RETRY_FENCING_MS, action, group.shard)
