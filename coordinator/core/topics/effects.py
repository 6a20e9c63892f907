"""Effects of the embedded topics, as values: replies, appends, reads and jobs.

They are performed by `coordinator.storage.topic_logs`.

A reply is ready to be sent. The outcome of an append, a read or a job comes back as an event, and the replies that
depend on it follow then: `Topics.appended` and `append_failed`, `read_done`, `lookup_done`, `transaction_verified`, and
the method named beside each job. A reply of None means that the request has no response (Produce with acks=0); closing
the connection is the only way to report an error to such a producer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from coordinator.core.effects import Reply

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.partition import Partition
    from coordinator.core.topics.retention import Policy
    from protocol.error_codes import ErrorCode
    from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest


class TopicAppend(NamedTuple):
    """Write one batch, which already carries its offsets, at the end of a partition's log."""

    partition: Partition
    batch: bytes
    last_offset: int
    max_timestamp: int


class ReadItem(NamedTuple):
    """Whole batches of one partition from the one that holds `offset`, none at or above `up_to_offset`."""

    partition: Partition
    offset: int
    max_bytes: int
    up_to_offset: int


@dataclass(slots=True, eq=False)
class Read:
    """Data from disk for one fetch, in this order and at most `max_bytes` in all. Done: `Topics.read_done`.

    With `at_least_one`, the first batch is read whole even if it is larger than every limit.
    """

    items: tuple[ReadItem, ...]
    max_bytes: int
    at_least_one: bool
    fetch: Any  # the operation that waits for it, opaque to the executor


class ReadFailure(NamedTuple):
    """The executor's result for an item that could not be read."""

    error: ErrorCode


class LookupItem(NamedTuple):
    """The first offset at or after a timestamp; `MAX_TIMESTAMP` asks for the newest record by timestamp."""

    partition: Partition
    timestamp: int


MAX_TIMESTAMP: Final = -3


@dataclass(slots=True, eq=False)
class Lookup:
    """Offsets by timestamp. Done: `Topics.lookup_done`."""

    items: tuple[LookupItem, ...]
    request: Any


class Opened(NamedTuple):
    """The extent of a partition's log."""

    log_start_offset: int
    log_end_offset: int
    size_bytes: int


@dataclass(slots=True, eq=False)
class ChangeCatalogue:
    """Make `document` the durable catalogue, then create or remove directories. Done: `Topics.catalogue_changed`.

    `previous` is restored if the logs of `create` cannot be opened. The directories of `remove` are renamed before the
    response and their files deleted later; one that cannot be renamed is listed in `Changed.left_over`. With `adopts`,
    existing directories are opened: the operator moved them here from another node.
    """

    document: str
    previous: str
    create: tuple[Partition, ...]
    remove: tuple[Partition, ...]
    lineage: str
    revision: int
    adopts: bool = False


class Changed(NamedTuple):
    """The outcome of a `ChangeCatalogue` that succeeded."""

    opened: Mapping[Partition, Opened]
    left_over: tuple[Partition, ...] = ()


@dataclass(slots=True, eq=False)
class ReserveProducerIds:
    """Record durably that every producer id below `up_to` may be in use. Done: `Topics.producer_ids_reserved`."""

    up_to: int


@dataclass(slots=True, eq=False)
class TrimLog:
    """Delete the records before `offset` (DeleteRecords). Done: `Topics.log_trimmed`."""

    partition: Partition
    offset: int
    request: Any


@dataclass(slots=True, eq=False)
class EnforceRetention:
    """Drop the segments that are past their retention policy. Done: `Topics.retention_enforced`."""

    items: tuple[tuple[Partition, Policy], ...]


class DiskSpace(NamedTuple):
    """The directory of all logs, and the size of its file system."""

    path: str
    total_bytes: int
    usable_bytes: int


@dataclass(slots=True, eq=False)
class MeasureDisk:
    """Measure disk space (DescribeLogDirs). `then` receives it, or None if the directory cannot be used."""

    then: Callable[[DiskSpace | None], None]


Job: TypeAlias = "ChangeCatalogue | ReserveProducerIds | TrimLog | EnforceRetention | MeasureDisk"


class Disconnect(NamedTuple):
    """Close the connection of a ticket."""

    ticket: Ticket
    reason: str


class DeletedPartitions(NamedTuple):
    """Partitions that no longer exist. The group coordinator deletes the offsets committed for them."""

    topic: str
    partitions: tuple[int, ...]


class VerifyTransaction(NamedTuple):
    """Ask the transaction coordinator of the request's transactional id. Done: `Topics.transaction_verified`.

    It says whether partitions are in a transaction, or adds them to it.
    """

    request: AddPartitionsToTxnRequest
    ticket: Ticket  # of the produce
    then: Any  # the produce that waits for it, opaque to the executor


class TopicEffects(NamedTuple):
    """All effects of one event. `notes` are log lines for the operator.

    `wanted` are unknown topics that a client asked for: the controller is asked to create them.
    """

    replies: tuple[Reply, ...] = ()
    appends: tuple[TopicAppend, ...] = ()
    reads: tuple[Read | Lookup, ...] = ()
    jobs: tuple[Job, ...] = ()
    disconnects: tuple[Disconnect, ...] = ()
    deleted: tuple[DeletedPartitions, ...] = ()
    notes: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()
    verifications: tuple[VerifyTransaction, ...] = ()


NOTHING: Final = TopicEffects()


class Outbox:
    """Collects the effects of one event, and carries its time."""

    __slots__ = (
        "_appends",
        "_deleted",
        "_disconnects",
        "_jobs",
        "_notes",
        "_reads",
        "_replies",
        "_verifications",
        "now_ms",
    )

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self._replies: list[Reply] = []
        self._appends: list[TopicAppend] = []
        self._reads: list[Read | Lookup] = []
        self._jobs: list[Job] = []
        self._disconnects: list[Disconnect] = []
        self._deleted: list[DeletedPartitions] = []
        self._notes: list[str] = []
        self._verifications: tuple[VerifyTransaction, ...] = ()

    def reply(self, ticket: Ticket, response: Any) -> None:
        """Reply to a request; None: it has no response."""
        self._replies.append(Reply(ticket, response))

    def append(self, append: TopicAppend) -> None:
        """Add an append."""
        self._appends.append(append)

    def read(self, read: Read | Lookup) -> None:
        """Add a read or a lookup."""
        self._reads.append(read)

    def do(self, job: Job) -> None:
        """Add a job."""
        self._jobs.append(job)

    def disconnect(self, ticket: Ticket, reason: str) -> None:
        """Close a connection."""
        self._disconnects.append(Disconnect(ticket, reason))

    def deleted(self, topic: str, partitions: tuple[int, ...]) -> None:
        """Report deleted partitions."""
        self._deleted.append(DeletedPartitions(topic, partitions))

    def note(self, text: str) -> None:
        """Add a log line for the operator."""
        self._notes.append(text)

    def verify(self, verification: VerifyTransaction) -> None:
        """Ask a transaction coordinator."""
        self._verifications += (verification,)

    def effects(self) -> TopicEffects:
        """Return all effects."""
        return TopicEffects(
            tuple(self._replies),
            tuple(self._appends),
            tuple(self._reads),
            tuple(self._jobs),
            tuple(self._disconnects),
            tuple(self._deleted),
            tuple(self._notes),
            (),
            self._verifications,
        )
