"""Shard: one partition of the offsets log in the core, with its groups, their offsets and its appends in flight.

Each record takes the next offset here, the same as in the log. Appends in flight wait in order; `take_durable` removes
them from the front and `fail` from the end, because the log also drops everything behind a failed append.

A partition is loading until its log has been read, then active. It is failed if the log cannot be decoded, and not
owned if it belongs to another node or the process is ending. While it is not active, it has no groups and requests get
its error. Source: Kafka's `CoordinatorRuntime` and its states.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.consumer_group.group import ConsumerGroup
from coordinator.core.group.group import Group
from coordinator.core.group.parked_heartbeat import Release
from coordinator.core.group.responses import refuse_parked_join, refuse_parked_sync
from coordinator.core.group.state import DEAD, GroupState
from coordinator.core.log_errors import client_error
from coordinator.core.offsets.quarantine import Quarantine
from coordinator.core.offsets.store import OffsetStore
from coordinator.core.totals import Totals
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.any_group import AnyGroup
    from coordinator.core.context import Context, PendingAppend
    from coordinator.core.purgatory.purgatory import DelayedOperation
    from coordinator.core.waiting_request import WaitingRequest
    from coordinator.core.work import Steps, Work


# Long work that appends pauses while many records are in flight, because the writer encodes all of them in one round on
# the event loop.
MUCH_IN_FLIGHT: Final = 1000  # records
ANSWERED_AT_ONCE: Final = 250  # appends or members that wait, after which other events may run
PAUSE_MS: Final = 2
MOST_PAUSES: Final = 50  # then the work continues, because other appends may keep the disk busy all the time


class PartitionState(Enum):
    """State of a partition. The value is its name in metrics."""

    NOT_OWNED = "not-owned"
    LOADING = "loading"
    ACTIVE = "active"
    FAILED = "failed"


STATE_ERROR = {
    PartitionState.NOT_OWNED: ErrorCode.NOT_COORDINATOR,
    PartitionState.LOADING: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    PartitionState.ACTIVE: ErrorCode.NONE,
    PartitionState.FAILED: ErrorCode.NOT_COORDINATOR,
}


class Shard:
    """One partition of the offsets log and its groups."""

    __slots__ = (
        "_all_consumer_groups",
        "_all_groups",
        "_late",
        "append_timeout",
        "appended",
        "consumer_groups",
        "deleted_topics",
        "failed",
        "groups",
        "groups_by_state",
        "in_flight",
        "loaded_at_ms",
        "max_subscribed_topics",
        "next_offset",
        "offsets",
        "partition",
        "producers",
        "quarantine",
        "scan",
        "state",
        "totals",
    )

    def __init__(
        self,
        partition: int,
        all_groups: dict[str, Group],
        groups_by_state: dict[GroupState, int],
        totals: Totals | None = None,
        max_subscribed_topics: int = 50_000,
        all_consumer_groups: dict[str, ConsumerGroup] | None = None,
    ) -> None:
        self.partition = partition
        self.totals = totals or Totals()
        self.max_subscribed_topics = max_subscribed_topics  # of one group; bounds the time in which a generation begins
        self.state = PartitionState.LOADING
        self.groups: dict[str, Group] = {}
        self.consumer_groups: dict[str, ConsumerGroup] = {}
        self.offsets = OffsetStore(self.totals)
        self.quarantine = Quarantine.empty()
        # Epochs by id, of producers that have committed offsets in a transaction since the load, until its marker.
        self.producers: dict[int, int] = {}
        self.next_offset = 0
        self.loaded_at_ms = -1  # since the epoch; -1: not loaded yet
        self.in_flight: deque[PendingAppend] = deque()
        self.failed: deque[tuple[PendingAppend, ErrorCode]] = deque()  # not in the log; to be answered, in steps
        self.appended = 0  # number of appends so far
        self.groups_by_state = groups_by_state
        self.deleted_topics: dict[tuple[str, frozenset[int]], None] = {}  # with their partitions, while loading
        self.append_timeout: DelayedOperation[Context] | None = None
        self.scan: DelayedOperation[Context] | Work | None = (
            None  # the current scan for expired offsets, else the next one
        )
        self._all_groups = all_groups  # of all partitions, for a lookup without the partition
        self._all_consumer_groups = {} if all_consumer_groups is None else all_consumer_groups
        self._late = 0  # appends in flight that were answered as timed out; they are the oldest

    @property
    def error(self) -> ErrorCode:
        """Error of requests for its groups; NONE if it is active."""
        return STATE_ERROR[self.state]

    def find(self, group_id: str) -> AnyGroup | None:
        """Return the classic or KIP-848 group with this id."""
        group = self.groups.get(group_id)
        return self.consumer_groups.get(group_id) if group is None else group

    # -- groups --------------------------------------------------------------------------------------------------

    def add(self, group: Group) -> None:
        """Add a group, in place of one with the same id."""
        former = self.groups.get(group.group_id)
        if former is not None:
            self.forget(former)
        self.groups_by_state[group.state] += 1
        self.groups[group.group_id] = group
        self._all_groups[group.group_id] = group

    def install(
        self,
        groups: dict[str, Group],
        by_state: dict[GroupState, int],
        with_members: Iterable[Group],
        offsets: OffsetStore,
    ) -> None:
        """Add what was loaded of an empty partition: its groups by id, their numbers by state, and its offsets."""
        self.groups = groups
        self._all_groups.update(groups)
        totals = self.totals
        for group in with_members:
            totals.members += len(group.members)
            totals.metadata_bytes += group.metadata_bytes
        totals.offsets += offsets.count
        offsets.totals = totals
        self.offsets = offsets
        for state, count in by_state.items():
            self.groups_by_state[state] += count

    def install_consumer_groups(self, groups: dict[str, ConsumerGroup]) -> None:
        """Add the KIP-848 groups that were loaded of an empty partition, by id."""
        self.consumer_groups = groups
        self._all_consumer_groups.update(groups)
        totals = self.totals
        for group in groups.values():
            group.totals = totals
            totals.members += len(group.members)
            totals.metadata_bytes += group.metadata_bytes

    def forget(self, group: Group) -> None:
        """Remove a group: its timers are cancelled and its state is Dead, for code that still refers to it."""
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            del self._all_groups[group.group_id]
        group.cancel_timers()
        if group.state is not DEAD:
            self._count_out(group)
            group.transition(DEAD, group.state_timestamp_ms)
        self.groups_by_state[DEAD] -= 1

    def add_consumer_group(self, group: ConsumerGroup) -> None:
        """Add a KIP-848 group. There is no classic group with its id."""
        self.consumer_groups[group.group_id] = group
        self._all_consumer_groups[group.group_id] = group

    def forget_consumer_group(self, group: ConsumerGroup) -> None:
        """Remove a KIP-848 group, which is Dead then, and cancel its timers."""
        if self.consumer_groups.get(group.group_id) is group:
            del self.consumer_groups[group.group_id]
            del self._all_consumer_groups[group.group_id]
            self.totals.members -= len(group.members)
            self.totals.metadata_bytes -= group.metadata_bytes
        group.is_deleted = True
        group.cancel_timers()

    def recall_consumer_group(self, group: ConsumerGroup) -> None:
        """Add a KIP-848 group again that was forgotten, with its members. Their sessions are not started."""
        group.is_deleted = False
        self.add_consumer_group(group)
        self.totals.members += len(group.members)
        self.totals.metadata_bytes += group.metadata_bytes

    def hand_over(self, former: AnyGroup, group: AnyGroup) -> None:
        """Let the commits in flight of a group belong to the one that takes its place."""
        if former.in_flight:
            for append in self.in_flight:
                if append.group is former and not append.writes_group:
                    append.group = group
                    former.in_flight -= 1
                    group.in_flight += 1

    def forget_any(self, group: AnyGroup) -> None:
        """Remove a group of either protocol."""
        if isinstance(group, Group):
            self.forget(group)
        elif isinstance(group, ConsumerGroup):
            self.forget_consumer_group(group)

    def _count_out(self, group: Group) -> None:
        self.totals.members -= len(group.members)
        self.totals.metadata_bytes -= group.metadata_bytes

    # -- appends -------------------------------------------------------------------------------------------------

    def take_durable(self, high_watermark: int) -> PendingAppend | None:
        """Remove and return the oldest append if it is below the high watermark; the caller applies its outcome."""
        in_flight = self.in_flight
        if not in_flight or in_flight[0].last_offset >= high_watermark:
            return None
        if self._late:
            self._late -= 1
        return in_flight.popleft()

    def fail(self, from_offset: int, error: ErrorCode) -> None:
        """Move the appends from an offset on to `failed`, oldest first. The next append takes that offset."""
        in_flight = self.in_flight
        failed: list[tuple[PendingAppend, ErrorCode]] = []
        while in_flight and in_flight[-1].last_offset >= from_offset:
            append = in_flight.pop()
            append.undo()  # the newest first
            failed.append((append, error))
        failed.reverse()
        self.failed.extend(failed)
        self._late = min(self._late, len(in_flight))
        self.next_offset = min(self.next_offset, from_offset)

    def is_settled(self, sequence: int) -> bool:
        """Return whether the outcome of each append up to the `sequence`th is known."""
        return not self.in_flight or self.in_flight[0].sequence > sequence

    def time_out_appends(self, now_ms: int, context: Context) -> int | None:
        """Answer appends whose deadline has passed. Returns the next deadline, None if there is none.

        If very many are late, the rest is due at once.
        """
        in_flight = self.in_flight
        for _ in range(ANSWERED_AT_ONCE):
            if self._late >= len(in_flight):
                return None
            oldest = in_flight[self._late]
            if oldest.deadline_ms > now_ms:
                return oldest.deadline_ms
            self._late += 1
            oldest.timed_out(context)
        return now_ms

    def let_others_run(self) -> Steps:
        """Yield for long work: once to end the step, and pauses while too many records are in flight."""
        yield None
        for _ in range(MOST_PAUSES):
            in_flight = self.in_flight
            if not in_flight or in_flight[-1].last_offset - in_flight[0].last_offset < MUCH_IN_FLIGHT:
                return
            yield PAUSE_MS

    # -- unloading -----------------------------------------------------------------------------------------------

    def unload(self, state: PartitionState, error: ErrorCode, context: Context) -> Steps:
        """Remove all groups, which are Dead then, and offsets. The steps answer waiting requests with `error`."""
        appends: deque[tuple[PendingAppend, ErrorCode]] = deque()
        for append in self.in_flight:
            if append.writes_group:
                append.abandoned(error, context)  # its answer depends on the group as it is now
            else:
                appends.append((append, error))
        appends.extend((append, client_error(own)) for append, own in self.failed)
        self.in_flight.clear()
        self.failed.clear()
        self.producers.clear()
        self._late = 0
        for timer in (self.append_timeout, self.scan):
            if timer is not None:
                timer.cancel()
        self.append_timeout = self.scan = None
        self.state = state
        counts, all_groups = self.groups_by_state, self._all_groups
        for group_id, group in self.groups.items():
            del all_groups[group_id]
            counts[group.state] -= 1
            if group.members or group.metadata_bytes:  # a broken invariant may have left bytes without members
                self._count_out(group)
            group.state = DEAD  # now, because a timer or a request may meet it before its step comes
            group.in_flight = 0
        held: deque[WaitingRequest] = deque()
        for consumer_group in list(self.consumer_groups.values()):
            self.forget_consumer_group(consumer_group)
            held.extend(consumer_group.held.values())
        groups = deque(self.groups.values())
        offsets = self.offsets
        self.totals.offsets -= offsets.count
        offsets.totals = None
        self.groups, self.offsets = {}, OffsetStore(self.totals)
        self.quarantine = Quarantine.empty()
        return _let_go(appends, held, groups, offsets, error, context)

    def __repr__(self) -> str:
        return (
            f"<Shard {self.partition} {self.state.value}: {len(self.groups)} groups,"
            f" {self.offsets.count} offsets, next offset {self.next_offset}, {len(self.in_flight)} in flight>"
        )


def _let_go(
    appends: deque[tuple[PendingAppend, ErrorCode]],
    held: deque[WaitingRequest],
    groups: deque[Group],
    offsets: OffsetStore,
    error: ErrorCode,
    context: Context,
) -> Steps:
    """Answer the requests that wait in an unloaded partition, and free it in steps, since very much takes long."""
    done = 0
    while appends:
        append, own_error = appends.popleft()
        append.abandoned(own_error, context)
        done += 1
        if done >= ANSWERED_AT_ONCE:
            done = 0
            yield None
    while held:
        held.popleft().release(Release.UNLOADED, context, error)
        done += 1
        if done >= ANSWERED_AT_ONCE:
            done = 0
            yield None
    while groups:
        group = groups.popleft()
        for member in list(group.members.values()):
            refuse_parked_join(group, member, error, context, member.member_id)
            refuse_parked_sync(member, error, context)
            if member.parked is not None:
                member.parked.release(Release.UNLOADED, context, error)
            done += 1
            if done >= ANSWERED_AT_ONCE:
                done = 0
                yield None
        group.cancel_timers()
        done += 1
        if done >= ANSWERED_AT_ONCE:
            done = 0
            yield None
    yield from offsets.free()


def partition_for(group_id: str, partitions: int) -> int:
    """Return the partition of a group, from Java's String.hashCode: Kafka's `GroupCoordinatorService.partitionFor`."""
    number = 0
    if group_id.isascii():
        for unit in group_id.encode("ascii"):
            number = (31 * number + unit) & 0xFFFFFFFF
    else:
        units: Any = memoryview(group_id.encode("utf-16-le", "surrogatepass"))
        for low, high in zip(units[::2], units[1::2], strict=True):
            number = (31 * number + (high << 8 | low)) & 0xFFFFFFFF
    if number >= 0x80000000:
        number = 0x100000000 - number  # the absolute value of a negative int32,
        if number == 0x80000000:
            number = 0  # except for -2**31, which has none
    return number % partitions
