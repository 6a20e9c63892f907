"""Sequence numbers of idempotent producers (KIP-98): which batches a partition has, and which one must come next.

A producer numbers the records it sends to a partition. For each producer the last five batches are kept, as many as a
client may have in flight. A repeated batch gets the offset of the first; a gap is refused, and so is an old epoch.
Numbers wrap from 2^31-1 to 0.

A batch counts from the moment it is accepted, before it is durable, so that pipelined batches can follow each other; if
its append fails, `undo` takes it back, and it is due again. State is bounded: silent producers expire, and beyond
partition.max.producers and max.producers the one that wrote longest ago is dropped; it may continue with any number.
A marker, which ends a transaction, counts as well: it may raise the epoch, and has that of its coordinator.
Source: Kafka's ProducerStateManager.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Container, Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from protocol.record_batch import BatchHeader

BATCHES_KEPT: Final = 5
ANY_SEQUENCE: Final = -1  # of a producer that was dropped
NO_EPOCH: Final = -1
NO_TIMESTAMP: Final = -1
_LAST_SEQUENCE: Final = 2**31 - 1
_LAST_EPOCH: Final = 2**15 - 1
_LAST_COORDINATOR_EPOCH: Final = 2**31 - 1
_LAST_OFFSET: Final = 2**63 - 1  # of offsets, timestamps and producer ids


def sequence_after(sequence: int, steps: int) -> int:
    """Return the sequence number `steps` after `sequence`, with the wrap of Kafka's clients: 0 follows 2^31-1."""
    return (sequence + steps) & _LAST_SEQUENCE


class SequencedBatch(NamedTuple):
    """A batch that a producer wrote."""

    first_sequence: int
    last_sequence: int
    base_offset: int
    last_offset: int


class _Producer:
    __slots__ = (
        "batches",
        "coordinator_epoch",
        "due",
        "epoch",
        "last_timestamp",
        "producer_id",
        "sequences",
        "written_ms",
    )

    def __init__(self, sequences: Sequences, producer_id: int, epoch: int) -> None:
        self.sequences = sequences
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: list[SequencedBatch] = []
        self.due = 0  # the sequence number that comes next if there is no batch
        self.coordinator_epoch = NO_EPOCH  # of the last marker
        self.last_timestamp = NO_TIMESTAMP  # of the last batch or marker
        self.written_ms = 0

    def copy(self) -> _Producer:
        copy = _Producer(self.sequences, self.producer_id, self.epoch)
        copy.batches = list(self.batches)
        copy.due, copy.written_ms = self.due, self.written_ms
        copy.coordinator_epoch, copy.last_timestamp = self.coordinator_epoch, self.last_timestamp
        return copy

    def take_back(self, undo: Undo | MarkerUndo) -> None:
        """Take back the newest batch or marker, which had the same epoch as what is before it."""
        self.last_timestamp = undo.last_timestamp
        if isinstance(undo, MarkerUndo):
            self.coordinator_epoch = undo.coordinator_epoch
            return
        if self.batches:
            self.batches.pop()
        if undo.dropped is not None:
            self.batches.insert(0, undo.dropped)
        if not self.batches and self.due == ANY_SEQUENCE:
            self.due = undo.first_sequence


class Verdict(NamedTuple):
    """The result of checking a batch: an error, or in `duplicate_of` the batch it repeats, or neither."""

    error: ErrorCode
    reason: str | None = None
    duplicate_of: SequencedBatch | None = None


class Undo(NamedTuple):
    """Data to take one recorded batch back: the producer before it, or the batch that was dropped from its five."""

    producer_id: int
    first_sequence: int
    before: _Producer | None  # None: there was no such producer
    same_epoch: bool
    dropped: SequencedBatch | None
    last_timestamp: int  # of the producer before it


class MarkerUndo(NamedTuple):
    """Data to take one recorded marker back."""

    producer_id: int
    before: _Producer | None  # None: there was no such producer
    same_epoch: bool
    coordinator_epoch: int
    last_timestamp: int


class ActiveProducer(NamedTuple):
    """A producer as DescribeProducers shows it; -1 stands for what is not known."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int


_FINE: Final = Verdict(ErrorCode.NONE)


class ProducerBudget:
    """Limits the producers of all partitions together, by max.producers."""

    __slots__ = ("_by_age", "_deleted", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._deleted: list[Sequences] = []  # of deleted partitions, which still have producers
        self._by_age: OrderedDict[_Producer, None] = OrderedDict()  # the one that wrote longest ago first

    def __len__(self) -> int:
        return len(self._by_age)

    def __repr__(self) -> str:
        return f"<ProducerBudget {len(self._by_age)} of {self._most} producers>"

    def written(self, producer: _Producer) -> None:
        """Note that `producer` wrote. It is the youngest now; have the oldest one forgotten if there are too many."""
        by_age = self._by_age
        if producer in by_age:
            by_age.move_to_end(producer)
            return
        by_age[producer] = None
        if len(by_age) > self._most:
            oldest = next(iter(by_age))
            oldest.sequences.forget(oldest.producer_id)

    def forgotten(self, producer: _Producer) -> None:
        """Note that `producer` is no longer remembered."""
        self._by_age.pop(producer, None)

    def deleted(self, sequences: Sequences) -> None:
        """Have `forget_deleted` forget the producers of a deleted partition."""
        self._deleted.append(sequences)

    @property
    def has_deleted(self) -> bool:
        """True if there is something for `forget_deleted`."""
        return bool(self._deleted)

    def forget_deleted(self, at_most: int) -> None:
        """Forget some producers of deleted partitions."""
        while self._deleted and at_most > 0:
            at_most -= self._deleted[-1].forget_some(at_most)
            if not self._deleted[-1]:
                self._deleted.pop().leave()


class Sequences:
    """The producers of one partition."""

    __slots__ = ("_budget", "_most", "_producers")

    def __init__(self, most: int = 10_000) -> None:
        self._most = most
        self._budget: ProducerBudget | None = None
        self._producers: dict[int, _Producer] = {}  # the one that wrote longest ago first

    def __len__(self) -> int:
        return len(self._producers)

    def __contains__(self, producer_id: int) -> bool:
        """Return True if something is known of a producer."""
        return producer_id in self._producers

    def __repr__(self) -> str:
        return f"<Sequences of {len(self._producers)} producers>"

    def check(self, header: BatchHeader) -> Verdict:
        """Check that the batch is the one that must come next. Kafka's order: duplicate, epoch, sequence."""
        producer = self._producers.get(header.producer_id)
        if producer is None:
            return _FINE
        epoch, first = header.producer_epoch, header.base_sequence
        if epoch == producer.epoch:
            last = sequence_after(first, header.last_offset_delta)
            for batch in producer.batches:
                if batch.first_sequence == first and batch.last_sequence == last:
                    return Verdict(ErrorCode.NONE, None, batch)
            expected = sequence_after(producer.batches[-1].last_sequence, 1) if producer.batches else producer.due
            if first != expected:
                if expected == ANY_SEQUENCE:
                    return _FINE
                return Verdict(
                    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"producer {header.producer_id} sent sequence {first} where {expected} comes next",
                )
            return _FINE
        if epoch < producer.epoch:
            return Verdict(
                ErrorCode.INVALID_PRODUCER_EPOCH,
                f"producer {header.producer_id} has epoch {producer.epoch} by now, not {epoch}",
            )
        if first != 0:
            return Verdict(
                ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"producer {header.producer_id} begins epoch {epoch} with sequence {first} instead of 0",
            )
        return _FINE

    def record(self, header: BatchHeader, base_offset: int, now_ms: int) -> Undo:
        """Record a batch that `check` accepted, with its offsets."""
        producer_id, epoch, first = header.producer_id, header.producer_epoch, header.base_sequence
        delta = header.last_offset_delta
        batch = SequencedBatch(first, sequence_after(first, delta), base_offset, base_offset + delta)
        before = self._producers.get(producer_id)
        dropped = None
        last_timestamp = NO_TIMESTAMP
        if before is not None and before.epoch == epoch:
            producer = before
            last_timestamp = before.last_timestamp
            if len(producer.batches) >= BATCHES_KEPT:
                dropped = producer.batches.pop(0)
        else:
            producer = _Producer(self, producer_id, epoch)
            if before is not None:
                producer.coordinator_epoch = before.coordinator_epoch
        producer.batches.append(batch)
        producer.last_timestamp = header.max_timestamp
        producer.written_ms = now_ms
        self._put(producer)
        return Undo(producer_id, first, before, producer is before, dropped, last_timestamp)

    def check_marker(self, producer_id: int, epoch: int, coordinator_epoch: int) -> ErrorCode:
        """Check that neither the producer nor the transaction coordinator of a marker is fenced."""
        producer = self._producers.get(producer_id)
        if producer is None:
            return ErrorCode.NONE
        if epoch < producer.epoch:
            return ErrorCode.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < producer.coordinator_epoch:
            return ErrorCode.TRANSACTION_COORDINATOR_FENCED
        return ErrorCode.NONE

    def record_marker(
        self, producer_id: int, epoch: int, coordinator_epoch: int, timestamp: int, now_ms: int, *, due: int
    ) -> MarkerUndo:
        """Record a marker that `check_marker` accepted. `due` is the next sequence number of an unknown producer.

        A higher epoch begins with sequence number 0. The same epoch continues where it was.
        """
        before = self._producers.get(producer_id)
        if before is not None and epoch <= before.epoch:
            producer = before
            undo = MarkerUndo(producer_id, before, True, before.coordinator_epoch, before.last_timestamp)
        else:
            producer = _Producer(self, producer_id, epoch)
            producer.due = due if before is None else 0
            undo = MarkerUndo(producer_id, before, False, NO_EPOCH, NO_TIMESTAMP)
        producer.coordinator_epoch = coordinator_epoch
        producer.last_timestamp = timestamp
        producer.written_ms = now_ms
        self._put(producer)
        return undo

    def _put(self, producer: _Producer) -> None:
        """Remember a producer as the one that wrote last, in place of one with its id; forget the oldest one for it."""
        before = self._producers.pop(producer.producer_id, None)
        if before is None and len(self._producers) >= self._most:
            self.forget(next(iter(self._producers)))
        self._producers[producer.producer_id] = producer
        if self._budget is not None:
            if before is not None and before is not producer:
                self._budget.forgotten(before)
            self._budget.written(producer)

    def forget(self, producer_id: int) -> None:
        """Forget a producer. Nothing happens if it is not known."""
        producer = self._producers.pop(producer_id, None)
        if producer is not None and self._budget is not None:
            self._budget.forgotten(producer)

    def share(self, budget: ProducerBudget) -> None:
        """Count the producers among those of all partitions from now on. Another thread may use them until then."""
        self._budget = budget
        for producer in list(self._producers.values()):
            budget.written(producer)

    def partition_deleted(self) -> None:
        """Have the producers forgotten, some at a time: there may be very many."""
        if self._budget is not None:
            self._budget.deleted(self)

    def leave(self) -> None:
        """Count no producers among those of all partitions any more. One may come back by `undo`."""
        self._budget = None

    def forget_some(self, at_most: int) -> int:
        """Forget the producers that wrote longest ago. Return their number."""
        some = list(islice(self._producers, at_most))
        for producer_id in some:
            self.forget(producer_id)
        return len(some)

    def undo(self, undo: Undo | MarkerUndo) -> None:
        """Take back a batch or marker whose append failed. They are undone in the reverse order of recording."""
        if undo.before is not None:
            if undo.same_epoch:
                undo.before.take_back(undo)
            else:
                self._put(undo.before)
        elif isinstance(undo, MarkerUndo):
            self.forget(undo.producer_id)
        else:
            # Batches behind it may be on their way. Of an unknown producer any would be accepted, before this one.
            producer = self._producers.get(undo.producer_id)
            if producer is not None:
                producer.batches.clear()
                producer.due = undo.first_sequence
                producer.last_timestamp = NO_TIMESTAMP

    def active(self) -> Iterator[ActiveProducer]:
        """Yield the producers, the one that wrote longest ago first."""
        for producer in self._producers.values():
            last_sequence = producer.batches[-1].last_sequence if producer.batches else ANY_SEQUENCE
            yield ActiveProducer(
                producer.producer_id, producer.epoch, last_sequence, producer.last_timestamp, producer.coordinator_epoch
            )

    def replay(self, header: BatchHeader, now_ms: int) -> None:
        """Record a batch that was read from the log at start."""
        if header.producer_id >= 0 and header.base_sequence >= 0 and not header.is_control:
            self.record(header, header.base_offset, now_ms)

    def expire(self, not_after_ms: int, kept: Container[int] = ()) -> int:
        """Drop the producers that wrote nothing after `not_after_ms`, except those of `kept`. Return their number."""
        expired = []
        for producer_id, producer in self._producers.items():
            if producer.written_ms > not_after_ms:
                break  # producers are in the order of their last batch
            if producer_id not in kept:
                expired.append(producer_id)
        for producer_id in expired:
            self.forget(producer_id)
        return len(expired)

    def to_rows(self, up_to_offset: int, undos: Iterable[Undo | MarkerUndo] = ()) -> list[list[Any]]:
        """Return a checkpoint of what is below an offset. `undos`, the newest first, are those of what is above it.

        A row is [producer id, epoch, [[first, last, base, last], ...], due, coordinator epoch, last timestamp].
        """
        earlier = self._before(undos)
        rows = []
        for producer_id, newest in self._producers.items():
            producer = earlier.get(producer_id, newest)
            if producer is None:
                continue
            batches = [list(batch) for batch in producer.batches if batch.last_offset < up_to_offset]
            if batches or (not producer.batches and producer.coordinator_epoch != NO_EPOCH):
                rows.append(
                    [
                        producer_id,
                        producer.epoch,
                        batches,
                        producer.due,
                        producer.coordinator_epoch,
                        producer.last_timestamp,
                    ]
                )
        return rows

    def _before(self, undos: Iterable[Undo | MarkerUndo]) -> dict[int, _Producer | None]:
        """Return the producers as they were before these batches and markers; None for one that was not known."""
        found: dict[int, _Producer | None] = {}
        for undo in undos:
            producer_id = undo.producer_id
            producer = found.get(producer_id)
            if producer is None:
                newest = self._producers.get(producer_id)
                if producer_id in found or newest is None:
                    continue
                producer = newest.copy()
            if undo.before is None:
                found[producer_id] = None
            elif not undo.same_epoch:
                found[producer_id] = undo.before.copy()
            else:
                producer.take_back(undo)
                found[producer_id] = producer
        return found

    def restore(self, rows: Iterable[list[Any]], now_ms: int) -> None:
        """Restore the rows of `to_rows`. ValueError or TypeError if they are malformed."""
        producers = []
        for producer_id, epoch, batches, due, coordinator_epoch, last_timestamp in rows:
            producer = _Producer(self, checked(producer_id, _LAST_OFFSET), checked(epoch, _LAST_EPOCH))
            producer.batches = [_restored(*batch) for batch in batches]
            producer.due = checked(due, _LAST_SEQUENCE, first=ANY_SEQUENCE)
            producer.coordinator_epoch = checked(coordinator_epoch, _LAST_COORDINATOR_EPOCH, first=NO_EPOCH)
            producer.last_timestamp = checked(last_timestamp, _LAST_OFFSET, first=-_LAST_OFFSET)
            producer.written_ms = now_ms
            producers.append(producer)
        for known in list(self._producers):
            self.forget(known)
        for producer in producers:
            self._put(producer)


def _restored(first_sequence: int, last_sequence: int, base_offset: int, last_offset: int) -> SequencedBatch:
    batch = SequencedBatch(
        checked(first_sequence, _LAST_SEQUENCE),
        checked(last_sequence, _LAST_SEQUENCE),
        checked(base_offset, _LAST_OFFSET),
        checked(last_offset, _LAST_OFFSET),
    )
    if batch.base_offset > batch.last_offset:
        raise ValueError(f"a batch from offset {base_offset} to {last_offset}")
    return batch


def checked(number: object, last: int, *, first: int = 0) -> int:
    """Return a number of a checkpoint. ValueError unless it is an int from `first` to `last`."""
    if type(number) is not int or not first <= number <= last:
        raise ValueError(f"{number!r} is not from {first} to {last}")
    return number
