"""One event while it is being decided: its moment, what it may consult, and what it asks for so far.

Operations on a group are functions of (group, request, event). They change the group, and say what must happen by
`context.reply` and `context.append`; nothing is performed. An append is handed over together with an `PendingAppend`:
data that knows what to do when the append is durable, failed, or late. An append that is larger than
`message.max.bytes` takes no offsets and fails at the end of the event, before others are numbered behind it. Timers are
asked for by `context.timers`, which the core implements with its purgatories.

Promise: `context.reply` sends at once, so it must promise nothing that is not durable; what depends on an append is
replied by its `PendingAppend`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from coordinator.core.effects import NOTHING, Append, Effects, Producer, Reply, Ticket
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.group.counters import Counters
    from coordinator.core.group.group import Group
    from coordinator.core.group.history import Rebalance
    from coordinator.core.group.member import Member, Timer
    from coordinator.core.shard import Shard

Records = tuple[tuple[bytes, bytes | None], ...]
RECORD_OVERHEAD: Final = 16  # bytes of a record beside key and value, at most, for keys and values below 1 MiB


class InvariantError(Exception):
    """Something that must hold for a group does not. Its partition is loaded again from the log."""

    def __init__(self, group_id: str, message: str) -> None:
        super().__init__(f"group {group_id!r}: {message}")
        self.group_id = group_id


class PendingAppend:
    """An append on its way to the disk, and what its fate decides. Data of the core's own (`Append.then`)."""

    __slots__ = ("deadline_ms", "group", "last_offset", "sequence")

    writes_group = False  # whether it is the record of its group, alone
    group: Group | None
    sequence: int  # the how manieth append of its partition
    last_offset: int
    deadline_ms: int  # offsets.commit.timeout.ms after it began

    def durable(self, context: Context) -> None:
        """The records are on disk: apply them, answer."""

    def failed(self, error: ErrorCode, context: Context) -> None:
        """The records never happened: undo, answer. `error` is the log's, not yet the client's."""

    def timed_out(self, context: Context) -> None:
        """Too late for an answer of success. The append goes on and its outcome is still applied."""
        self.abandoned(client_error(ErrorCode.REQUEST_TIMED_OUT), context)

    def abandoned(self, error: ErrorCode, context: Context) -> None:
        """Answer `error` to whoever waits for this append; nothing else."""


class Timers(Protocol):
    """What may be waited for. The core makes delayed operations of these."""

    def await_joins(self, group: Group, deadline_ms: int, context: Context) -> None:
        """Complete the join phase when all have joined (perhaps now), at the latest at the deadline."""

    def await_first_joins(self, group: Group, delay_ms: int, remaining_ms: int, context: Context) -> None:
        """The initial delay: the join phase completes when it has run out, and no sooner."""

    def check_joins(self, group: Group, context: Context) -> None:
        """A member joined or is gone: complete the join phase if that was the last one missing."""

    def await_syncs(self, group: Group, deadline_ms: int) -> None:
        """At the deadline, remove the members that have not sent their SyncGroup."""

    def make_room_for_pending(self, context: Context) -> None:
        """One more id will be handed out: forget the oldest if there are group.max.pending.members in all groups."""

    def await_pending(self, group: Group, member_id: str, deadline_ms: int) -> Timer:
        """Forget, at the deadline, an id that was handed out and not used."""

    def start_session(self, group: Group, member: Member) -> None:
        """Arm the session timer for `member.session_deadline_ms`."""

    def watch_appends(self, shard: Shard) -> None:
        """Notice when the oldest append in flight becomes too old."""


class Context:
    """See the module. The core owns one and uses it for one event after the other."""

    __slots__ = (
        "appends",
        "commit_timeout_ms",
        "config",
        "counters",
        "deadline_ms",
        "new_member_uuid",
        "now_ms",
        "on_rebalance",
        "on_too_large",
        "replies",
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
        on_rebalance: Callable[[Rebalance], None],
        on_too_large: Callable[[str, int], None],
    ) -> None:
        self.config = config
        self.commit_timeout_ms = config.offsets_commit_timeout_ms
        self.timers = timers
        self.counters = counters
        self.new_member_uuid = new_member_uuid
        self.on_rebalance = on_rebalance
        self.on_too_large = on_too_large  # called with group and bytes of an append that is larger than that
        self.now_ms = 0  # monotonic: for timers
        self.wall_ms = 0  # since the epoch: for records
        self.deadline_ms = 0  # the last one that a session was given
        self.replies: list[Reply] = []
        self.appends: list[Append] = []
        self.too_large: deque[PendingAppend] = deque()  # to be told so at the end of the event

    def reply(self, ticket: Ticket, response: Any) -> None:
        """Send `response` now."""
        self.replies.append(Reply(ticket, response))

    def append(self, group: Group, records: Records, then: PendingAppend, producer: Producer | None = None) -> None:
        """Append `records` of `group` to the log; `then` decides by the outcome. Offsets are given here, in order."""
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
        """The same for something that belongs to a partition rather than to one group. A marker takes one offset.

        False: the records are too large, and `then` will be told so.
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
        """What the event asked for; the event is then ready for the next one."""
        if self.appends:
            effects = Effects(tuple(self.replies), tuple(self.appends))
            self.appends.clear()
        elif self.replies:
            effects = Effects(tuple(self.replies))
        else:
            return NOTHING
        self.replies.clear()
        return effects


# What a client hears of a failed append: errors that make it look for the coordinator and try again. Spec 4.6.
_CLIENT_ERROR = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.NETWORK_EXCEPTION: ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
}


def client_error(error: ErrorCode) -> ErrorCode:
    """The error of the log as a client of a group should hear it."""
    return _CLIENT_ERROR.get(error, error)
