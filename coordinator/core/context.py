"""The context of one event: its time, its configuration, and the effects that it asks for.

Operations on a group are functions of (group, request, context). They change the group and request effects by
`context.reply` and `context.append`; nothing is performed. An append comes with a `PendingAppend`, which handles its
outcome: durable, failed, or late. An append larger than `message.max.bytes` takes no offsets and fails at the end of
the event, before later appends are numbered. Timers are requested by `context.timers`, which the core implements.

Promise: `context.reply` is sent at once, so it must depend on nothing that is not durable. A reply that depends on an
append is sent by its `PendingAppend`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from coordinator.core.effects import NOTHING, Append, Effects, Producer, Reply, Ticket
from coordinator.core.log_errors import client_error
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.any_group import AnyGroup
    from coordinator.core.consumer_group.session import MemberTimer, SessionTimer
    from coordinator.core.events.recorder import FlightRecorder
    from coordinator.core.group.counters import Counters
    from coordinator.core.group.group import Group
    from coordinator.core.group.heartbeat import HeartbeatTemplate
    from coordinator.core.group.member import Member, Timer
    from coordinator.core.group.parked_heartbeat import ParkedRequest
    from coordinator.core.group.read_twice import TakeReadUpTo
    from coordinator.core.shard import Shard
    from coordinator.core.waiting_request import WaitingRequest
    from coordinator.core.work import Steps

Records = tuple[tuple[bytes, bytes | None], ...]
RECORD_OVERHEAD: Final = 16  # upper bound of the bytes beside key and value, if both are below 1 MiB


class InvariantError(Exception):
    """A broken invariant of a group. Its partition is loaded again from the log."""

    def __init__(self, group_id: str, message: str) -> None:
        super().__init__(f"group {group_id!r}: {message}")
        self.group_id = group_id


class PendingAppend:
    """An append in flight, with the actions for its outcome. It is the `then` of its `Append`."""

    __slots__ = ("deadline_ms", "group", "last_offset", "sequence")

    writes_group = False  # True if it consists of the record of its group
    group: AnyGroup | None
    sequence: int  # 1-based position of the append in its partition
    last_offset: int
    deadline_ms: int  # offsets.commit.timeout.ms after it began

    def durable(self, context: Context) -> None:
        """Apply the records, which are on disk, and answer."""

    def undo(self) -> None:
        """Undo the change in memory, if it was made before the records were durable. Newer appends are undone."""

    def failed(self, error: ErrorCode, context: Context) -> None:
        """Undo the change and answer; the log has none of the records. `error` is the log's, not the client's."""

    def timed_out(self, context: Context) -> None:
        """Answer with an error, because the append takes too long. Its outcome is still applied later."""
        self.abandoned(client_error(ErrorCode.REQUEST_TIMED_OUT), context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        """Answer the requests that wait for this append with `error`, and change nothing else."""


class Timers(Protocol):
    """Requests for timers, which the core turns into delayed operations."""

    def await_joins(self, group: Group, deadline_ms: int, context: Context) -> None:
        """Complete the join phase when all members have joined (perhaps now), at the latest at the deadline."""

    def await_first_joins(self, group: Group, delay_ms: int, remaining_ms: int, context: Context) -> None:
        """Complete the join phase at the end of the initial delay, and not before."""

    def check_joins(self, group: Group, context: Context) -> None:
        """Complete the join phase if all members have joined. Called when a member joined or was removed."""

    def await_syncs(self, group: Group, deadline_ms: int) -> None:
        """Remove at the deadline the members that have not sent their SyncGroup."""

    def warn_at(self, group: Group, deadline_ms: int) -> Timer:
        """Record at the deadline that the rebalance of the group takes long."""

    def in_background(self, steps: Steps, shard: Shard | None) -> object:
        """Queue long work that no request waits for. A fault in it unloads `shard`, if one is given."""

    def in_turns(self, steps: Steps, shard: Shard, context: Context) -> None:
        """Take steps in turns with those of requests, the first one now. A fault in them unloads `shard`."""

    def make_room_for_pending(self, context: Context) -> None:
        """Forget the oldest pending ids if all groups together have group.max.pending.members."""

    def await_pending(self, group: Group, member_id: str, deadline_ms: int) -> Timer:
        """Forget a pending member id at the deadline."""

    def start_session(self, group: Group, member: Member) -> None:
        """Arm the session timer for `member.session_deadline_ms`."""

    def watch_member(self, timer: SessionTimer | MemberTimer) -> None:
        """Arm a timer of a member of a KIP-848 group."""

    def member_deadline_moved(self, timer: SessionTimer) -> None:
        """Arm a timer again whose deadline has moved to an earlier time."""

    def park_heartbeat(self, template: HeartbeatTemplate, ticket: Ticket, context: Context) -> ParkedRequest | None:
        """Renew the session and park a repeated Heartbeat. None: it must be handled in full."""

    def hold_sync(self, group: Group, member: Member, ticket: Ticket, context: Context) -> bool:
        """Hold the SyncGroup of a member until the next rebalance, for a while. False: it must be answered now."""

    def hold(self, request: WaitingRequest, for_ms: int, context: Context) -> None:
        """Let a request wait for so long at most."""

    def watch_appends(self, shard: Shard) -> None:
        """Answer appends that are in flight for longer than offsets.commit.timeout.ms."""


class Context:
    """The current event: its time, and the effects so far. The core reuses one object for all events."""

    __slots__ = (
        "appends",
        "commit_timeout_ms",
        "config",
        "counters",
        "deadline_ms",
        "group_configs",
        "new_member_uuid",
        "now_ms",
        "on_too_large",
        "recorder",
        "replies",
        "take_read_up_to",
        "timers",
        "too_large",
        "wall_ms",
    )

    def __init__(
        self,
        config: Config,
        timers: Timers,
        counters: Counters,
        new_member_uuid: Callable[[], str],
        recorder: FlightRecorder,
        on_too_large: Callable[[str, int], None],
        take_read_up_to: TakeReadUpTo,
        group_configs: Mapping[str, Mapping[str, int]],
    ) -> None:
        self.config = config
        self.commit_timeout_ms = config.offsets_commit_timeout_ms
        self.timers = timers
        self.counters = counters
        self.new_member_uuid = new_member_uuid
        self.recorder = recorder
        self.on_too_large = on_too_large  # called with the group id and bytes of an append above message.max.bytes
        self.group_configs = group_configs  # group id -> setting -> value
        self.take_read_up_to = take_read_up_to  # of the topics: how far a client has read a partition
        self.now_ms = 0  # monotonic clock, for timers
        self.wall_ms = 0  # since the epoch, for records
        self.deadline_ms = 0  # the last deadline of a session, shared by equal ones
        self.replies: list[Reply] = []
        self.appends: list[Append] = []
        self.too_large: deque[PendingAppend] = deque()  # they fail at the end of the event

    def reply(self, ticket: Ticket, response: Any) -> None:
        """Send `response` now."""
        self.replies.append(Reply(ticket, response))

    def append(self, group: AnyGroup, records: Records, then: PendingAppend, producer: Producer | None = None) -> None:
        """Append `records` of `group` to the log; `then` handles the outcome. Offsets are assigned here, in order."""
        then.group = group
        if self.append_to(group.shard, records, then, producer):
            group.in_flight += 1

    def append_to(
        self,
        shard: Shard,
        records: Records,
        then: PendingAppend,
        producer: Producer | None = None,
        *,
        marker: bool | None = None,
    ) -> bool:
        """Append records that belong to a partition rather than to one group. A marker takes one offset.

        Returns False if the records are too large; `then` fails at the end of the event.
        """
        size = RECORD_OVERHEAD * len(records)
        for key, value in records:
            size += len(key)
            if value is not None:
                size += len(value)
        if size > self.config.message_max_bytes:
            self.too_large.append(then)
            self.on_too_large(then.group.group_id if then.group is not None else "", size)
            return False
        shard.next_offset += len(records) if marker is None else 1
        then.last_offset = shard.next_offset - 1
        then.deadline_ms = self.now_ms + self.commit_timeout_ms
        shard.appended = then.sequence = shard.appended + 1
        shard.in_flight.append(then)
        self.timers.watch_appends(shard)
        self.appends.append(Append(shard.partition, records, then, producer, marker, size))
        return True

    def effects(self) -> Effects:
        """Return the effects of the event and prepare the context for the next one."""
        if self.appends:
            effects = Effects(tuple(self.replies), tuple(self.appends))
            self.appends.clear()
        elif self.replies:
            effects = Effects(tuple(self.replies))
        else:
            return NOTHING
        self.replies.clear()
        return effects
