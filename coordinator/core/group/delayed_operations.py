"""The delayed operations of a group: the join phase, the sync phase, sessions and pending member ids.

Each holds its group and calls the rule that its completion or its deadline triggers (rebalance.py, heartbeat.py);
`coordinator.core.timers` puts them into the purgatories. They correspond to Kafka's DelayedJoin, InitialDelayedJoin,
DelayedSync and DelayedHeartbeat.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import Context
from coordinator.core.group.heartbeat import expire_pending, expire_session
from coordinator.core.group.incidents import record_slow_rebalance
from coordinator.core.group.rebalance import complete_join_phase, expire_unsynced, initial_delay_over
from coordinator.core.group.session import is_awaiting_response
from coordinator.core.purgatory.purgatory import DelayedOperation

if TYPE_CHECKING:
    from coordinator.core.group.group import Group
    from coordinator.core.group.member import Member


class DelayedJoin(DelayedOperation[Context]):
    """Completes the join phase of a group when all members have joined, or at the deadline."""

    __slots__ = ("group",)

    def __init__(self, group: Group, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group

    def try_complete(self, context: Context) -> bool:
        return self.group.all_joined and self.force_complete(context)

    def on_complete(self, context: Context) -> None:
        self.group.join_timer = None
        complete_join_phase(self.group, context)


class DelayedInitialJoin(DelayedOperation[Context]):
    """Ends the initial delay of an empty group after `delay_ms`; extensions may add `remaining_ms` at most.

    Joining does not complete it, so that members that start together enter the same generation (KIP-134).
    """

    __slots__ = ("delay_ms", "group", "remaining_ms")

    def __init__(self, group: Group, deadline_ms: int, delay_ms: int, remaining_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms

    def on_complete(self, context: Context) -> None:
        self.group.join_timer = None
        initial_delay_over(self.group, self.delay_ms, self.remaining_ms, context)


class DelayedSync(DelayedOperation[Context]):
    """Removes the members of one generation that send no SyncGroup within the rebalance timeout.

    It is cancelled when all members have sent theirs, or when another rebalance begins.
    """

    __slots__ = ("generation", "group")

    def __init__(self, group: Group, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.generation = group.generation

    def on_expiration(self, context: Context) -> None:
        if self.group.sync_timer is self:
            self.group.sync_timer = None
        expire_unsynced(self.group, self.generation, context)


class DelayedHeartbeat(DelayedOperation[Context]):
    """Ends the session of one member when `member.session_deadline_ms` has passed.

    A member has one for as long as it lives. A heartbeat moves the deadline and does not touch the operation; when the
    timer fires early, it goes back on the wheel for the rest. A member with a parked request need not send heartbeats:
    its timer ends without effect, and `restart_session` arms it again with the response.
    """

    __slots__ = ("group", "member")

    def __init__(self, group: Group, member: Member) -> None:
        super().__init__(0)  # `deadline_now_ms` reads the deadline from the member
        self.group = group
        self.member = member

    def deadline_now_ms(self) -> int:
        return self.member.session_deadline_ms

    def timer_fired(self, now_ms: int, context: Context) -> None:
        if self.member.session_deadline_ms <= now_ms and is_awaiting_response(self.member):
            return  # not on the wheel any more, and not completed: restart_session arms it again
        super().timer_fired(now_ms, context)

    def on_expiration(self, context: Context) -> None:
        expire_session(self.group, self.member, context)


class DelayedWarning(DelayedOperation[Context]):
    """Records that a rebalance waits for longer than group.rebalance.warn.ms. Its end cancels this."""

    __slots__ = ("group",)

    def __init__(self, group: Group, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group

    def on_expiration(self, context: Context) -> None:
        record_slow_rebalance(self.group, context)


class PendingMember(DelayedOperation[Context]):
    """Forgets a member id that was handed out with MEMBER_ID_REQUIRED and not used in time (KIP-394).

    Until then the id keeps the join phase open, because its client is about to send its second JoinGroup.
    """

    __slots__ = ("group", "member_id")

    def __init__(self, group: Group, member_id: str, deadline_ms: int) -> None:
        super().__init__(deadline_ms)
        self.group = group
        self.member_id = member_id

    def on_expiration(self, context: Context) -> None:
        expire_pending(self.group, self.member_id, context)
