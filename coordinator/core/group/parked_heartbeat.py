"""Parked heartbeats: a Heartbeat of a Stable group that is answered when something happens to its member.

A member hears of a rebalance in the answer to its next Heartbeat, up to an interval late. A parked Heartbeat is that
answer, ready to be sent: at the start of a rebalance, at any other change that touches the member, or when its time is
over. Its code is that of `check_heartbeat` at the release. Arrival renews the session, and the release does not.

Each waits for the same part of its session timeout, so the operations are in one list for each such time, with one
timer. Which clients may be parked is decided at the edge, because some stop consuming meanwhile
(docs/parked-heartbeats.md). A group has parked heartbeats in Stable only (`Group.check_invariants`).
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from coordinator.core.context import Context
from coordinator.core.effects import UNKNOWN_SOFTWARE
from coordinator.core.group.checks import check_heartbeat
from coordinator.core.group.responses import sync_error, sync_success
from coordinator.core.group.state import STABLE
from coordinator.core.purgatory.deadline_list import DeadlineList
from coordinator.core.purgatory.purgatory import DelayedOperation
from coordinator.core.purgatory.timing_wheel import TimingWheel
from coordinator.core.waiting_request import WaitingRequest
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatResponse

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.effects import Ticket
    from coordinator.core.group.counters import Counters
    from coordinator.core.group.group import Group
    from coordinator.core.group.heartbeat import HeartbeatTemplate
    from coordinator.core.group.member import Member

STEP_MS: Final = 250  # the times are multiples of it (WITHIN_INTERVAL_MS is the exception), so that the lists are few
SESSION_PARTS: Final = 3  # a heartbeat is parked for at most this part of the session timeout
# Clients that count their interval from the answer have nothing parked for one interval after it (franz-go). They wait
# twice as long, so that this is the smaller part of the time; franz-go gives its connection up after 10 s.
COUNTS_FROM_ANSWER: Final = frozenset({"kgo"})
LONGEST_MS: Final = 9_000
# Clients that poll without a pause once their interval has passed and the last heartbeat has no answer yet.
WAITS_BUSILY: Final = frozenset({"kafka-python"})
INTERVAL_MS: Final = 3_000  # of heartbeats, by default in all clients
WITHIN_INTERVAL_MS: Final = 2_900


class Release(Enum):
    """The reason why a parked heartbeat ended. The value is a label in the metrics."""

    TIME_OVER = "time_over"
    REBALANCE = "rebalance"
    MEMBER_REMOVED = "member_removed"
    MEMBER_REPLACED = "member_replaced"  # a static member, by its next run
    OTHER_CONNECTION = "other_connection"  # a request of the same member on another connection
    NEXT_BYTES = "next_bytes"  # on its own connection
    UNLOADED = "unloaded"
    CONNECTION_LOST = "connection_lost"  # not answered


class ParkedRequest(WaitingRequest):
    """A request of a member in a Stable group that is answered late. A member has one at most."""

    __slots__ = ("_generation", "_group", "_group_instance_id", "_member")

    def __init__(
        self, group: Group, member: Member, group_instance_id: str | None, generation: int, ticket: Ticket
    ) -> None:
        super().__init__(ticket)
        self._group = group
        self._member = member
        self._group_instance_id = group_instance_id
        self._generation = generation

    def release(self, why: Release, context: Context, error: ErrorCode | None = None) -> None:
        if self.drop(why, context.counters):
            if error is None:
                member_id = self._member.member_id
                error = check_heartbeat(self._group, member_id, self._group_instance_id, self._generation)
            self.answer(error, context)

    def drop(self, why: Release, counters: Counters) -> bool:
        if not self.leave():
            return False
        self._member.parked = None
        self.ticket.held = None
        self.counts(counters)[why.value] += 1
        return True

    def expired(self, context: Context) -> None:
        self.release(Release.TIME_OVER, context)

    def is_of(self, group: Group, member: Member) -> bool:
        """Return whether it waits for this member in the current generation."""
        return (
            self.is_waiting and self._group is group and self._member is member and self._generation == group.generation
        )

    def answer(self, error: ErrorCode, context: Context) -> None:
        """Send the answer."""
        context.reply(self.ticket, HeartbeatResponse(error_code=int(error)))

    def counts(self, counters: Counters) -> dict[str, int]:
        """Return the counts of such requests by why they ended."""
        return counters.released_heartbeats


class HeldSync(ParkedRequest):
    """A SyncGroup of a Stable group that waits for the next rebalance (first_round.py)."""

    __slots__ = ()

    def answer(self, error: ErrorCode, context: Context) -> None:
        is_valid = error is ErrorCode.NONE
        context.reply(self.ticket, sync_success(self._group, self._member) if is_valid else sync_error(error))

    def counts(self, counters: Counters) -> dict[str, int]:
        return counters.released_syncs


def parked_ms(config: Config, software_name: str, session_timeout_ms: int) -> int:
    """Return for how long a Heartbeat of a client may be parked; 0: not at all."""
    asked_ms = config.group_heartbeat_park_ms
    if software_name in COUNTS_FROM_ANSWER:
        asked_ms = min(2 * asked_ms, LONGEST_MS)
    allowed_ms = session_timeout_ms // SESSION_PARTS
    if INTERVAL_MS <= allowed_ms < asked_ms:  # then just below a multiple of the interval, as the default is
        asked_ms = allowed_ms // INTERVAL_MS * INTERVAL_MS - STEP_MS
    for_ms = max(min(asked_ms, allowed_ms) // STEP_MS * STEP_MS, 0)
    return min(for_ms, WITHIN_INTERVAL_MS) if software_name in WAITS_BUSILY else for_ms


class ParkedHeartbeats:
    """All requests of a node that wait in Stable groups, by how long they wait. Counted as a purgatory."""

    __slots__ = ("_config", "_lists", "_wheel", "name")

    def __init__(self, config: Config, wheel: TimingWheel[DelayedOperation[Context]]) -> None:
        self.name = "ParkedHeartbeat"
        self._config = config
        self._wheel = wheel
        self._lists: dict[int, DeadlineList[Context]] = {}

    @property
    def waiting(self) -> int:
        return sum(each.waiting for each in list(self._lists.values()))  # a copy: the HTTP thread asks, too

    def park(self, template: HeartbeatTemplate, ticket: Ticket, now_ms: int) -> ParkedRequest | None:
        """Renew the session and park a repetition of a Heartbeat that succeeded. None: it must be handled in full."""
        group, member = template.group, template.member
        if member.client_software is UNKNOWN_SOFTWARE:  # after a start, because the log does not know it
            member.client_software = ticket.client_software
        for_ms = self._time_of(member)
        if not for_ms or group.state is not STABLE or not template.renew(now_ms):
            return None
        parked = ParkedRequest(group, member, template.group_instance_id, template.generation, ticket)
        self._add(parked, member, for_ms, now_ms)
        return parked

    def hold_sync(self, group: Group, member: Member, ticket: Ticket, now_ms: int) -> bool:
        """Hold a SyncGroup of a group that is Stable now. False: it must be answered now."""
        for_ms = self._time_of(member)
        if for_ms:
            ticket.held = held = HeldSync(group, member, member.group_instance_id, group.generation, ticket)
            self._add(held, member, for_ms, now_ms)
        return for_ms > 0

    def _time_of(self, member: Member) -> int:
        """Return for how long requests of a member wait; 0: none does."""
        return parked_ms(self._config, member.client_software.name, member.session_timeout_ms)

    def _add(self, parked: ParkedRequest, member: Member, for_ms: int, now_ms: int) -> None:
        member.parked = parked
        self.hold(parked, for_ms, now_ms)

    def hold(self, request: WaitingRequest, for_ms: int, now_ms: int) -> None:
        """Let a request wait for so long at most."""
        waiting = self._lists.get(for_ms)
        if waiting is None:
            waiting = self._lists[for_ms] = DeadlineList(for_ms, self._wheel)
        waiting.add(request, now_ms)


def release_of(member: Member, why: Release, context: Context) -> None:
    """Answer the request of a member that waits, if there is one."""
    parked = member.parked
    if parked is not None:
        parked.release(why, context)


def release_all(group: Group, why: Release, context: Context, error: ErrorCode | None = None) -> None:
    """Answer the requests of all members that wait."""
    for member in group.members.values():
        parked = member.parked
        if parked is not None:
            parked.release(why, context, error)
