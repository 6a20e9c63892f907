"""The purgatories of the core on one timing wheel.

Rebalance (join and sync phases) and Heartbeat (sessions) are Kafka's; a third holds the pending member ids, which are
limited over all groups, a fourth the appends, and parked heartbeats are in lists of their own. Watch keys exist only
where an event that does not know the operation may complete it: the joins of a group, the appends of a group or a
partition, and the oldest pending ids. Any other operation is held by its owner, which cancels it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Final, cast

from coordinator.core.context import Context
from coordinator.core.delayed_append import AppendTimeout, AwaitAppends, DelayedTask
from coordinator.core.group.delayed_operations import (
    DelayedHeartbeat,
    DelayedInitialJoin,
    DelayedJoin,
    DelayedSync,
    DelayedWarning,
    PendingMember,
)
from coordinator.core.group.heartbeat import HeartbeatTemplate, expire_pending
from coordinator.core.group.parked_heartbeat import ParkedHeartbeats, ParkedRequest
from coordinator.core.purgatory.purgatory import DelayedOperation, Purgatory
from coordinator.core.purgatory.timing_wheel import TimingWheel
from coordinator.core.work import OnFault, Steps, Work, WorkQueue

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.consumer_group.session import MemberTimer, SessionTimer
    from coordinator.core.effects import Ticket
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member
    from coordinator.core.shard import Shard
    from coordinator.core.waiting_request import WaitingRequest


_PENDING: Final = "pending"
FORGOTTEN_AT_ONCE: Final = 100  # pending ids; finding the oldest costs more than forgetting them
Contain = Callable[[Exception, Iterable[str], Context, "Shard | None"], None]


class GroupTimers:
    """Implements `coordinator.core.context.Timers`, and timers for the offsets."""

    __slots__ = (
        "appends",
        "contain",
        "heartbeats",
        "parked_heartbeats",
        "pending",
        "rebalances",
        "warnings",
        "wheel",
        "work",
    )

    def __init__(self, config: Config) -> None:
        self.wheel: TimingWheel[DelayedOperation[Context]] = TimingWheel()
        self.rebalances: Purgatory[Context] = Purgatory("Rebalance", self.wheel)
        self.warnings: Purgatory[Context] = Purgatory("Warning", self.wheel)
        self.heartbeats: Purgatory[Context] = Purgatory("Heartbeat", self.wheel)
        self.parked_heartbeats = ParkedHeartbeats(config, self.wheel)
        self.pending: Purgatory[Context] = Purgatory("PendingMember", self.wheel)
        self.appends: Purgatory[Context] = Purgatory("Append", self.wheel)
        self.work = WorkQueue(self.run_at)  # work that is too long for one event
        self.contain: Contain | None = None  # called with a fault in background work; set by the core

    # -- rebalances ----------------------------------------------------------------------------------------------

    def await_joins(self, group: Group, deadline_ms: int, context: Context) -> None:
        group.join_timer = operation = DelayedJoin(group, deadline_ms)
        self.rebalances.try_complete_else_watch(operation, (("join", group.group_id),), context)

    def await_first_joins(self, group: Group, delay_ms: int, remaining_ms: int, context: Context) -> None:
        group.join_timer = operation = DelayedInitialJoin(group, context.now_ms + delay_ms, delay_ms, remaining_ms)
        self.rebalances.watch(operation, (("join", group.group_id),))

    def check_joins(self, group: Group, context: Context) -> None:
        self.rebalances.check_and_complete(("join", group.group_id), context)

    def await_syncs(self, group: Group, deadline_ms: int) -> None:
        group.sync_timer = operation = DelayedSync(group, deadline_ms)
        self.rebalances.watch(operation)

    def warn_at(self, group: Group, deadline_ms: int) -> DelayedWarning:
        operation = DelayedWarning(group, deadline_ms)
        self.warnings.watch(operation)
        return operation

    # -- members -------------------------------------------------------------------------------------------------

    def make_room_for_pending(self, context: Context) -> None:
        if self.pending.waiting >= context.config.group_max_pending_members:
            for operation in self.pending.oldest(_PENDING, FORGOTTEN_AT_ONCE):
                member = cast("PendingMember", operation)
                context.counters.forgotten_members += 1
                expire_pending(member.group, member.member_id, context)

    def await_pending(self, group: Group, member_id: str, deadline_ms: int) -> PendingMember:
        operation = PendingMember(group, member_id, deadline_ms)
        self.pending.watch(operation, (_PENDING,))
        return operation

    def start_session(self, group: Group, member: Member) -> None:
        session = member.session
        if session is None:
            member.session = operation = DelayedHeartbeat(group, member)
            self.heartbeats.watch(operation)
        else:
            self.heartbeats.deadline_moved(cast("DelayedHeartbeat", session))

    def watch_member(self, timer: SessionTimer | MemberTimer) -> None:
        self.heartbeats.watch(timer)

    def member_deadline_moved(self, timer: SessionTimer) -> None:
        self.heartbeats.deadline_moved(timer)

    def park_heartbeat(self, template: HeartbeatTemplate, ticket: Ticket, context: Context) -> ParkedRequest | None:
        return self.parked_heartbeats.park(template, ticket, context.now_ms)

    def hold_sync(self, group: Group, member: Member, ticket: Ticket, context: Context) -> bool:
        return self.parked_heartbeats.hold_sync(group, member, ticket, context.now_ms)

    def hold(self, request: WaitingRequest, for_ms: int, context: Context) -> None:
        self.parked_heartbeats.hold(request, for_ms, context.now_ms)

    # -- appends -------------------------------------------------------------------------------------------------

    def watch_appends(self, shard: Shard) -> None:
        timeout = shard.append_timeout
        if timeout is None:
            shard.append_timeout = timeout = AppendTimeout(shard, shard.in_flight[-1].deadline_ms)
            self.appends.watch(timeout)
        elif not timeout.is_armed:
            self.wheel.start(timeout, shard.in_flight[-1].deadline_ms)

    def await_appends(
        self,
        keys: Iterable[Hashable],
        deadline_ms: int,
        is_over: Callable[[], bool],
        then: Callable[[Context], None],
        context: Context,
    ) -> None:
        """Run `then` once `is_over()`: now, when one of the keys changes, or at the latest at the deadline."""
        self.appends.try_complete_else_watch(AwaitAppends(deadline_ms, is_over, then), keys, context)

    def in_background(self, steps: Steps, shard: Shard | None) -> Work:
        """Queue long work that no request waits for. A fault in it unloads `shard`, if one is given."""
        return self.work.add_background(steps, self._unloads(shard))

    def in_turns(self, steps: Steps, shard: Shard | None, context: Context) -> None:
        """Take steps in turns with those of requests, the first one now. A fault in them unloads `shard`."""
        self.work.start(steps, self._unloads(shard), context)

    def _unloads(self, shard: Shard | None) -> OnFault:
        def on_fault(fault: Exception, later: Context) -> None:
            if self.contain is None:
                raise fault
            self.contain(fault, (), later, shard)

        return on_fault

    def run_at(self, deadline_ms: int, action: Callable[[Context], None], shard: Shard | None = None) -> DelayedTask:
        """Run `action` at the deadline. A fault in it unloads `shard`, if one is given. The caller may cancel it."""
        task = DelayedTask(deadline_ms, action, shard)
        self.appends.watch(task)
        return task
