"""Held heartbeats: that of a member with nothing to do waits, so that its answer brings the next step at once.

A member of a stable group hears of a new target by its next heartbeat, 2.5 s late on average. A held heartbeat is that
next one, there already. It is handled when the group has changed so that its member has a step to take, when its time
is over, or when bytes arrive behind it. Its arrival renews the session, and the answer does not. librdkafka counts the
interval from the heartbeat before, and takes one without an answer for lost when it has passed: it is held for a little
less, so that the next one comes at its usual time, and a stable group sends no more than with Kafka. Java and
franz-go wait longer than an interval for an answer, whatever the interval is, and are held for longer than the usual
one. Which interval each is told, so that a heartbeat waits at nearly all times: `next_interval_ms`.

Held are those of clients that send their departure while a heartbeat has no answer yet; others would leave late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.consumer_group.interval import DEFAULT_INTERVAL_MS
from coordinator.core.consumer_group.member import STABLE
from coordinator.core.consumer_group.session import session_timeout_ms
from coordinator.core.group.parked_heartbeat import SESSION_PARTS, STEP_MS, Release
from coordinator.core.waiting_request import WaitingRequest

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.consumer_group.groups import ConsumerGroupHeartbeat, ConsumerGroups
    from coordinator.core.consumer_group.session import MemberSession
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.counters import Counters
    from coordinator.core.work import Steps
    from protocol.error_codes import ErrorCode

# Clients that are on the list of those whose heartbeats may wait, but that have no such groups.
NOT_HELD: Final = frozenset({"kafka-python"})
# Clients that wait for an answer for longer than an interval, and begin the next interval with it.
SENDS_AGAIN_SOON: Final = frozenset({"apache-kafka-java", "kgo"})
EARLY_MS: Final = 4_000  # a hold that the client's next request has ended before does not count as one
COUNTED: Final = frozenset({Release.NEXT_BYTES, Release.TIME_OVER})
RELEASED_AT_ONCE: Final = 50


class HeldHeartbeat(WaitingRequest):
    """One held heartbeat. A member has one at most."""

    __slots__ = ("group", "member_id", "since_ms")

    def __init__(self, group: ConsumerGroup, member_id: str, ticket: Ticket, now_ms: int) -> None:
        super().__init__(ticket)
        self.group = group
        self.member_id = member_id
        self.since_ms = now_ms

    def drop(self, why: Release, counters: Counters) -> bool:
        if not self.leave():
            return False
        self.group.held.pop(self.member_id, None)
        self.ticket.held = None
        self.counts(counters)[why.value] += 1
        return True

    def counts(self, counters: Counters) -> dict[str, int]:
        """Return the counts of such requests by why they ended."""
        return counters.released_consumer_heartbeats

    def expired(self, context: Context) -> None:
        self.release(Release.TIME_OVER, context)

    def has_step(self) -> bool:
        """Return whether its member has a step to take, or is refused."""
        raise NotImplementedError


class HeldConsumerHeartbeat(HeldHeartbeat):
    """One held ConsumerGroupHeartbeat."""

    __slots__ = ("_groups", "command")

    def __init__(
        self, groups: ConsumerGroups, group: ConsumerGroup, command: ConsumerGroupHeartbeat, ticket: Ticket, now_ms: int
    ) -> None:
        super().__init__(group, command.request.member_id, ticket, now_ms)
        self._groups = groups
        self.command = command

    def release(self, why: Release, context: Context, error: ErrorCode | None = None) -> None:
        if self.drop(why, context.counters):
            session = self.group.sessions.get(self.member_id)
            if session is not None and why in COUNTED:
                is_early = context.now_ms - self.since_ms < EARLY_MS
                session.unheld = session.unheld + 1 if is_early else 0
            self._groups.handle_held(self, context, error)

    def has_step(self) -> bool:
        return has_step(self.group, self.member_id)


def hold_ms(group: ConsumerGroup, session: MemberSession, ticket: Ticket, context: Context) -> int:
    """Return for how long a heartbeat may be held; 0: it is answered now."""
    if not ticket.may_be_held or group.last_append is not None:
        return 0
    return longest_hold_ms(group, session, ticket, context)


def longest_hold_ms(group: ConsumerGroup, session: MemberSession, ticket: Ticket, context: Context) -> int:
    """Return for how long a heartbeat of this client may be held when it has nothing to do; 0: not at all."""
    if not is_held(group, ticket, context):
        return 0
    longest_ms = session_timeout_ms(group, session.member_id, context) // SESSION_PARTS
    if ticket.client_software.name not in SENDS_AGAIN_SOON:
        told_ms = session.told_ms if session.told_ms >= 0 else DEFAULT_INTERVAL_MS
        longest_ms = min(longest_ms, told_ms - STEP_MS)
    return max(0, min(context.config.group_heartbeat_park_ms, longest_ms) // STEP_MS * STEP_MS)


def is_held(group: ConsumerGroup, ticket: Ticket, context: Context) -> bool:
    """Return whether heartbeats of this client are held in this group."""
    config = context.config
    is_off = (
        config.group_heartbeat_park_ms < STEP_MS
        or config.group_consumer_heartbeat_interval_ms != DEFAULT_INTERVAL_MS
        or not config.group_consumer_waiting_heartbeat_interval_ms
        or "consumer.heartbeat.interval.ms" in context.group_configs.get(group.group_id, ())
    )
    return not is_off and ticket.client_software.name not in NOT_HELD


def has_step(group: ConsumerGroup, member_id: str) -> bool:
    """Return whether a heartbeat of a member would change something, or is refused."""
    member = group.members.get(member_id)
    return (
        group.is_dead
        or member is None
        or member.state != STABLE
        or not member.epoch == group.assignment_epoch == group.epoch
    )


def release_changed(group: ConsumerGroup, context: Context) -> Steps:
    """Handle the held heartbeats of the members that have a step to take, some in each step."""
    yield None
    group.is_releasing = False
    released = 0
    for held in list(group.held.values()):
        if held.is_waiting and held.has_step():
            held.release(Release.REBALANCE, context)
            released += 1
            if released % RELEASED_AT_ONCE == 0:
                yield None
