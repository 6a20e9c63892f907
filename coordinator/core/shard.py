"""One partition of the offsets log as the core sees it: its groups, their offsets, and what is on its way to the disk.

Appends are numbered here: each record takes the next offset, as it will in the log. What is in flight waits in order;
`appended` and `append_failed` take it off the front or cut it off the end, and each `PendingAppend` says what follows.
A failure takes everything behind it along, since the log drops it too.

States: loading until its log has been read, then active; failed if the log cannot be understood; not owned if it is
another node's, or the process is ending. While it is not active it has no groups, and every request hears why.
Sources: spec 0.3, 12.4 - 12.7.
"""

from __future__ import annotations

from collections import deque
from enum import Enum
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.group.responses import refuse_parked_join, refuse_parked_sync
from coordinator.core.group.state import DEAD, GroupState
from coordinator.core.offsets.store import OffsetStore
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection

    from coordinator.core.context import Context, PendingAppend
    from coordinator.core.group.group import Group
    from coordinator.core.purgatory.purgatory import DelayedOperation
    from coordinator.core.work import Steps, Work


# Long work that appends: from how many records in flight on it waits for the disk, and for how long at most. A round of
# the writer makes batches of all that has gathered, on the event loop.
MUCH_IN_FLIGHT: Final = 1000
PAUSE_MS: Final = 2
MOST_PAUSES: Final = 50  # then it goes on: others may keep the disk busy all the time


class PartitionState(Enum):
    """Whether its groups can be served. The value is the state's name in metrics."""

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
    """See the module. Implements `coordinator.core.context.Shard`."""

    __slots__ = (
        "_all_groups",
        "_late",
        "append_timeout",
        "appended",
        "deleted_topics",
        "groups",
        "groups_by_state",
        "in_flight",
        "next_offset",
        "offsets",
        "partition",
        "scan",
        "state",
    )

    def __init__(self, partition: int, all_groups: dict[str, Group], groups_by_state: dict[GroupState, int]) -> None:
        self.partition = partition
        self.state = PartitionState.LOADING
        self.groups: dict[str, Group] = {}
        self.offsets = OffsetStore()
        self.next_offset = 0
        self.in_flight: deque[PendingAppend] = deque()
        self.appended = 0  # appends so far
        self.groups_by_state = groups_by_state
        self.deleted_topics: list[tuple[str, Collection[int]]] = []  # and their partitions, while loading
        self.append_timeout: DelayedOperation[Context] | None = None
        self.scan: DelayedOperation[Context] | Work | None = (
            None  # the look for expired offsets that goes on, else the next one
        )
        self._all_groups = all_groups  # of all partitions, so that a request finds its group in one look
        self._late = 0  # how many of those in flight have been answered as timed out; they stand in front

    @property
    def error(self) -> ErrorCode:
        """Why its groups cannot be served; NONE if they can."""
        return STATE_ERROR[self.state]

    # -- groups --------------------------------------------------------------------------------------------------

    def add(self, group: Group) -> None:
        """A group begins, or takes the place of one with the same id."""
        former = self.groups.get(group.group_id)
        if former is not None:
            self.forget(former)
        self.groups_by_state[group.state] += 1
        self.groups[group.group_id] = group
        self._all_groups[group.group_id] = group

    def add_all(self, groups: dict[str, Group], by_state: dict[GroupState, int]) -> None:
        """Groups of a partition that has none, by id, and how many there are in each state. Takes the dict over."""
        self.groups = groups
        self._all_groups.update(groups)
        for state, count in by_state.items():
            self.groups_by_state[state] += count

    def forget(self, group: Group) -> None:
        """The group is no more. Nothing of it fires, and whoever still holds it sees that it is Dead."""
        if self.groups.get(group.group_id) is group:
            del self.groups[group.group_id]
            del self._all_groups[group.group_id]
        group.cancel_timers()
        if group.state is not DEAD:
            group.transition(DEAD, group.state_timestamp_ms)
        self.groups_by_state[DEAD] -= 1

    # -- appends -------------------------------------------------------------------------------------------------

    def take_durable(self, high_watermark: int) -> PendingAppend | None:
        """The oldest append, if it lies below the high watermark; its outcome is then the caller's to apply."""
        in_flight = self.in_flight
        if not in_flight or in_flight[0].last_offset >= high_watermark:
            return None
        if self._late:
            self._late -= 1
        return in_flight.popleft()

    def take_failed(self, from_offset: int) -> list[PendingAppend]:
        """Everything in flight from an offset on, oldest first. The next append takes that offset."""
        in_flight = self.in_flight
        failed: list[PendingAppend] = []
        while in_flight and in_flight[-1].last_offset >= from_offset:
            failed.append(in_flight.pop())
        failed.reverse()
        self._late = min(self._late, len(in_flight))
        self.next_offset = min(self.next_offset, from_offset)
        return failed

    def is_settled(self, sequence: int) -> bool:
        """Whether the outcome of every append up to the `sequence`th is known."""
        return not self.in_flight or self.in_flight[0].sequence > sequence

    def time_out_appends(self, now_ms: int, context: Context) -> int | None:
        """Answer for appends that take too long. Returns when the next one will, None if there is none."""
        in_flight = self.in_flight
        while self._late < len(in_flight):
            oldest = in_flight[self._late]
            if oldest.deadline_ms > now_ms:
                return oldest.deadline_ms
            self._late += 1
            oldest.timed_out(context)
        return None

    def let_others_run(self) -> Steps:
        """For long work: ends this step, and waits a while if the disk has not taken what earlier ones appended."""
        yield None
        for _ in range(MOST_PAUSES):
            in_flight = self.in_flight
            if not in_flight or in_flight[-1].last_offset - in_flight[0].last_offset < MUCH_IN_FLIGHT:
                return
            yield PAUSE_MS

    # -- unloading -----------------------------------------------------------------------------------------------

    def unload(self, state: PartitionState, error: ErrorCode, context: Context) -> list[Group]:
        """Forget everything, answering `error` to whoever waits. Returns the groups that were there (now Dead)."""
        in_flight, self.in_flight = self.in_flight, deque()
        self._late = 0
        for timer in (self.append_timeout, self.scan):
            if timer is not None:
                timer.cancel()
        self.append_timeout = self.scan = None
        self.state = state
        for append in in_flight:
            append.abandoned(error, context)
        groups = list(self.groups.values())
        for group in groups:
            for member in group.members.values():
                refuse_parked_join(group, member, error, context, member.member_id)
                refuse_parked_sync(member, error, context)
            group.in_flight = 0
            self.forget(group)
        self.offsets = OffsetStore()
        return groups

    def __repr__(self) -> str:
        return (
            f"<OffsetsPartition {self.partition} {self.state.value}: {len(self.groups)} groups,"
            f" {self.offsets.count} offsets, next offset {self.next_offset}, {len(self.in_flight)} in flight>"
        )


def partition_for(group_id: str, partitions: int) -> int:
    """Which partition of the offsets log a group belongs to: Java's String.hashCode, as Kafka uses it (spec 9.3)."""
    number = 0
    if group_id.isascii():
        for unit in group_id.encode("ascii"):
            number = (31 * number + unit) & 0xFFFFFFFF
    else:
        units: Any = memoryview(group_id.encode("utf-16-le", "surrogatepass"))
        for low, high in zip(units[::2], units[1::2], strict=True):
            number = (31 * number + (high << 8 | low)) & 0xFFFFFFFF
    if number >= 0x80000000:
        number = 0x100000000 - number  # the absolute value of a negative int32 ...
        if number == 0x80000000:
            number = 0  # ... but for the one that has none
    return number % partitions
