"""What the embedded topics ask for, as values: replies, appends, reads and jobs. `coordinator.storage.topic_logs`
performs them.

A reply is ready to be sent. An append, a read or a job comes back as an event, on which the replies that depend on it
are given: `Topics.appended` and `append_failed`, `read_done`, `lookup_done`, and the method named beside each job. A
reply of None means that the request gets no answer (Produce with acks=0); a disconnect is the only way to tell such a
producer that something went wrong.
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
    """Cold data for one fetch, in this order and at most `max_bytes` in all. Done: `Topics.read_done`.

    While nothing was read yet, and `at_least_one`, a batch larger than every limit is still read whole.
    """

    items: tuple[ReadItem, ...]
    max_bytes: int
    at_least_one: bool
    fetch: Any  # the operation that waits for it, opaque to the executor


class ReadFailure(NamedTuple):
    """What the executor puts in the place of something that could not be read."""

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
    """What the log of a partition holds."""

    log_start_offset: int
    log_end_offset: int
    size_bytes: int


@dataclass(slots=True, eq=False)
class ChangeCatalogue:
    """Make `document` the durable catalogue, then make or remove directories. Done: `Topics.catalogue_changed`.

    `previous` is put back if the logs of `create` cannot be opened. The directories of `remove` are renamed before the
    answer and their files deleted some time later; one that cannot be renamed is named in `Changed.left_over`. A node
    that `adopts` opens directories that are there already: they came from another node, as its first catalogue says.
    """

    document: str
    previous: str
    create: tuple[Partition, ...]
    remove: tuple[Partition, ...]
    lineage: str
    revision: int
    adopts: bool = False


class Changed(NamedTuple):
    """The outcome of a `ChangeCatalogue` that worked."""

    opened: Mapping[Partition, Opened]
    left_over: tuple[Partition, ...] = ()


@dataclass(slots=True, eq=False)
class ReserveProducerIds:
    """Remember durably that every producer id below `up_to` may be in use. Done: `Topics.producer_ids_reserved`."""

    up_to: int


@dataclass(slots=True, eq=False)
class TrimLog:
    """Forget what lies before `offset` (DeleteRecords). Done: `Topics.log_trimmed`."""

    partition: Partition
    offset: int
    request: Any


@dataclass(slots=True, eq=False)
class EnforceRetention:
    """Drop the segments that `policy` no longer keeps. Done: `Topics.retention_enforced`."""

    items: tuple[tuple[Partition, Policy], ...]


class DiskSpace(NamedTuple):
    """The directory of all logs, and the file system that it is on."""

    path: str
    total_bytes: int
    usable_bytes: int


@dataclass(slots=True, eq=False)
class MeasureDisk:
    """Look how much space there is (DescribeLogDirs). `then` gets it, or None if the directory cannot be used."""

    then: Callable[[DiskSpace | None], None]


Job: TypeAlias = "ChangeCatalogue | ReserveProducerIds | TrimLog | EnforceRetention | MeasureDisk"


class Disconnect(NamedTuple):
    """Close the connection of a ticket."""

    ticket: Ticket
    reason: str


class DeletedPartitions(NamedTuple):
    """Partitions that no longer exist: whoever holds offsets of them forgets those (classic-groups spec, 11.4)."""

    topic: str
    partitions: tuple[int, ...]


class TopicEffects(NamedTuple):
    """Everything one event asks for. `notes` are for the log: what an operator should know and no client is told.

    `wanted` are topics that a client would have created by asking for them: the controller is to hear of it.
    """

    replies: tuple[Reply, ...] = ()
    appends: tuple[TopicAppend, ...] = ()
    reads: tuple[Read | Lookup, ...] = ()
    jobs: tuple[Job, ...] = ()
    disconnects: tuple[Disconnect, ...] = ()
    deleted: tuple[DeletedPartitions, ...] = ()
    notes: tuple[str, ...] = ()
    wanted: tuple[str, ...] = ()


NOTHING: Final = TopicEffects()


class Outbox:
    """Gathers what one event asks for, and carries the moment of the event."""

    __slots__ = ("_appends", "_deleted", "_disconnects", "_jobs", "_notes", "_reads", "_replies", "now_ms")

    def __init__(self, now_ms: int) -> None:
        self.now_ms = now_ms
        self._replies: list[Reply] = []
        self._appends: list[TopicAppend] = []
        self._reads: list[Read | Lookup] = []
        self._jobs: list[Job] = []
        self._disconnects: list[Disconnect] = []
        self._deleted: list[DeletedPartitions] = []
        self._notes: list[str] = []

    def reply(self, ticket: Ticket, response: Any) -> None:
        """Answer a request; None: it gets no answer."""
        self._replies.append(Reply(ticket, response))

    def append(self, append: TopicAppend) -> None:
        """Write a batch."""
        self._appends.append(append)

    def read(self, read: Read | Lookup) -> None:
        """Look something up in logs."""
        self._reads.append(read)

    def do(self, job: Job) -> None:
        """Change something on disk."""
        self._jobs.append(job)

    def disconnect(self, ticket: Ticket, reason: str) -> None:
        """Close a connection."""
        self._disconnects.append(Disconnect(ticket, reason))

    def deleted(self, topic: str, partitions: tuple[int, ...]) -> None:
        """These partitions are gone."""
        self._deleted.append(DeletedPartitions(topic, partitions))

    def note(self, text: str) -> None:
        """Tell the operator."""
        self._notes.append(text)

    def effects(self) -> TopicEffects:
        """Everything gathered."""
        return TopicEffects(
            tuple(self._replies),
            tuple(self._appends),
            tuple(self._reads),
            tuple(self._jobs),
            tuple(self._disconnects),
            tuple(self._deleted),
            tuple(self._notes),
        )
