"""The timers of a member: its session, and the deadline for giving up partitions.

A heartbeat moves the deadline of the session only; the timer reads it when it fires. The deadline for a revocation
(the member's rebalance timeout) remembers the member epoch: it does nothing once the member has got on. Members of the
classic protocol have two more: to rejoin when they are told to, and to send a SyncGroup after a join.
Source: Kafka's `GroupMetadataManager.scheduleConsumerGroup*`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from coordinator.core.consumer_group.member import UNREVOKED, ConsumerMember
from coordinator.core.context import Context
from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.effects import ClientSoftware


class SessionTimer(DelayedOperation[Context]):
    """Ends the session of a member when its deadline has passed."""

    __slots__ = ("_session",)

    def __init__(self, session: MemberSession) -> None:
        super().__init__(session.deadline_ms)
        self._session = session

    def deadline_now_ms(self) -> int:
        return self._session.deadline_ms

    def on_expiration(self, context: Context) -> None:
        session = self._session
        session.on_expired(session.group, session.member_id, context)


class MemberTimer(DelayedOperation[Context]):
    """Removes a member at a deadline that no heartbeat moves."""

    __slots__ = ("_action",)

    def __init__(self, deadline_ms: int, action: Callable[[Context], None]) -> None:
        super().__init__(deadline_ms)
        self._action = action

    def on_expiration(self, context: Context) -> None:
        self._action(context)


class MemberSession:
    """The facts of this process about one member, beside its records."""

    __slots__ = (
        "deadline_ms",
        "group",
        "heard_ms",
        "join_timer",
        "may_be_held",
        "member_id",
        "on_expired",
        "on_no_request",
        "on_not_revoked",
        "rebalance_timer",
        "software",
        "stepped_ms",
        "sync_timer",
        "timer",
        "told_ms",
        "unheld",
        "waiting_since_ms",
    )

    def __init__(
        self,
        group: ConsumerGroup,
        member_id: str,
        deadline_ms: int,
        on_expired: Callable[[ConsumerGroup, str, Context], None],
        on_not_revoked: Callable[[ConsumerGroup, str, int, Context], None],
        on_no_request: Callable[[ConsumerGroup, str, Context], None],
    ) -> None:
        self.group = group
        self.member_id = member_id
        self.deadline_ms = deadline_ms
        self.may_be_held = False  # its client is one of those whose heartbeats may be
        self.unheld = 0  # heartbeats in a row that were not held, or not for long
        self.told_ms = -1  # the heartbeat interval in its last answer; -1: none since the start
        self.heard_ms = -1  # monotonic time of its last heartbeat; -1: none since the start
        self.stepped_ms = -1  # monotonic time of its last step towards its target that is durable; -1: not known
        self.waiting_since_ms = -1  # monotonic; for partitions that others hold; -1: it has its target
        self.on_expired = on_expired
        self.on_not_revoked = on_not_revoked
        self.on_no_request = on_no_request
        self.software: ClientSoftware | None = None
        self.timer: SessionTimer | None = None
        self.rebalance_timer: MemberTimer | None = None
        self.join_timer: MemberTimer | None = None
        self.sync_timer: MemberTimer | None = None

    def start(self, timeout_ms: int, context: Context) -> None:
        """Move the deadline of the session to `timeout_ms` from now."""
        self.deadline_ms = context.now_ms + timeout_ms
        timer = self.timer
        if timer is None or timer.is_completed:
            self.timer = timer = SessionTimer(self)
            context.timers.watch_member(timer)
        elif timer.fires_at_ms > self.deadline_ms:
            context.timers.member_deadline_moved(timer)

    def start_rebalance(self, member: ConsumerMember, context: Context) -> None:
        """Start the deadline for giving up partitions, in place of a running one."""
        self.end_rebalance()
        deadline_ms = context.now_ms + max(member.rebalance_timeout_ms, 0)
        action = partial(self.on_not_revoked, self.group, self.member_id, member.epoch)
        self.rebalance_timer = timer = MemberTimer(deadline_ms, action)
        context.timers.watch_member(timer)

    def restore(self, member: ConsumerMember, context: Context) -> None:
        """Set the timers for the value of a member before an event, which was undone."""
        self.start(session_timeout_ms(self.group, self.member_id, context), context)
        if member.state == UNREVOKED and member.classic is None:
            self.start_rebalance(member, context)
        else:
            self.end_rebalance()

    def await_join(self, member: ConsumerMember, context: Context) -> None:
        """Expect a member of the classic protocol to join again within its rebalance timeout, counted from the first
        answer that told it to.
        """
        if self.join_timer is None or self.join_timer.is_completed:
            self.join_timer = self._watch(member, context)

    def await_sync(self, member: ConsumerMember, context: Context) -> None:
        """Expect a member of the classic protocol, which has joined, to send a SyncGroup."""
        self.end_join()
        self.end_sync()
        self.sync_timer = self._watch(member, context)

    def _watch(self, member: ConsumerMember, context: Context) -> MemberTimer:
        deadline_ms = context.now_ms + max(member.rebalance_timeout_ms, 0)
        timer = MemberTimer(deadline_ms, partial(self.on_no_request, self.group, self.member_id))
        context.timers.watch_member(timer)
        return timer

    def end_join(self) -> None:
        timer, self.join_timer = self.join_timer, None
        if timer is not None:
            timer.cancel()

    def end_sync(self) -> None:
        timer, self.sync_timer = self.sync_timer, None
        if timer is not None:
            timer.cancel()

    def end_rebalance(self) -> None:
        timer, self.rebalance_timer = self.rebalance_timer, None
        if timer is not None:
            timer.cancel()

    def cancel(self) -> None:
        """Cancel all timers of the member."""
        for timer in (self.timer, self.rebalance_timer, self.join_timer, self.sync_timer):
            if timer is not None:
                timer.cancel()
        self.timer = self.rebalance_timer = self.join_timer = self.sync_timer = None


def session_timeout_ms(group: ConsumerGroup, member_id: str, context: Context) -> int:
    """Return the session timeout of a member: its own one under the classic protocol, else the group's."""
    return timeout_of(group, group.members.get(member_id), context)


def timeout_of(group: ConsumerGroup, member: ConsumerMember | None, context: Context) -> int:
    """Return the session timeout of a member, which need not be in the group any more."""
    if member is not None and member.classic is not None:
        return member.classic.session_timeout_ms
    own = context.group_configs.get(group.group_id)
    timeout_ms = None if own is None else own.get("consumer.session.timeout.ms")
    return context.config.group_consumer_session_timeout_ms if timeout_ms is None else timeout_ms
