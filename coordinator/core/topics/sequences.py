"""Sequence numbers of idempotent producers (KIP-98): which batches a partition has, and which one must come next.

A producer numbers the records it sends to a partition. For each producer the last five batches are kept, as many as a
client may have in flight. A repeated batch gets the offset of the first; a gap is refused, and so is an old epoch.
Numbers wrap from 2^31-1 to 0.

A batch counts from the moment it is accepted, before it is durable, so that pipelined batches can follow each other; if
its append fails, `undo` takes it back, and it is due again. State is bounded: silent producers expire, and beyond
partition.max.producers and max.producers the one that wrote longest ago is dropped; it may continue with any number.
Source: Kafka's ProducerStateManager.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from protocol.record_batch import BatchHeader

BATCHES_KEPT: Final = 5
_LAST_SEQUENCE: Final = 2**31 - 1
_LAST_EPOCH: Final = 2**15 - 1
_LAST_OFFSET: Final = 2**63 - 1  # of offsets and producer ids


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
    __slots__ = ("batches", "due", "epoch", "producer_id", "sequences", "written_ms")

    def __init__(self, sequences: Sequences, producer_id: int, epoch: int) -> None:
        self.sequences = sequences
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: list[SequencedBatch] = []
        self.due = 0  # the sequence number that comes next if there is no batch
        self.written_ms = 0


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
        if before is not None and before.epoch == epoch:
            producer = before
            if len(producer.batches) >= BATCHES_KEPT:
                dropped = producer.batches.pop(0)
        else:
            producer = _Producer(self, producer_id, epoch)
        producer.batches.append(batch)
        producer.written_ms = now_ms
        self._put(producer)
        return Undo(producer_id, first, before, producer is before, dropped)

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

    def undo(self, undo: Undo) -> None:
        """Take back a batch whose append failed. Batches are undone in the reverse order of recording."""
        if undo.before is None:
            # Batches behind it may be on their way. Of an unknown producer any would be accepted, before this one.
            producer = self._producers.get(undo.producer_id)
            if producer is not None:
                producer.batches.clear()
                producer.due = undo.first_sequence
        elif undo.same_epoch:
            batches = undo.before.batches
            if batches:
                batches.pop()
            if undo.dropped is not None:
                batches.insert(0, undo.dropped)
        else:
            self._put(undo.before)

    def replay(self, header: BatchHeader, now_ms: int) -> None:
        """Record a batch that was read from the log at start."""
        if header.producer_id >= 0 and header.base_sequence >= 0 and not header.is_control:
            self.record(header, header.base_offset, now_ms)

    def expire(self, not_after_ms: int) -> int:
        """Drop the producers that wrote nothing after `not_after_ms`. Return their number."""
        expired = []
        for producer_id, producer in self._producers.items():
            if producer.written_ms > not_after_ms:
                break  # producers are in the order of their last batch
            expired.append(producer_id)
        for producer_id in expired:
            self.forget(producer_id)
        return len(expired)

    def to_rows(self, up_to_offset: int) -> list[list[Any]]:
        """Return a checkpoint of batches below an offset: [producer id, epoch, [[first, last, base, last], ...]]."""
        rows = []
        for producer_id, producer in self._producers.items():
            batches = [list(batch) for batch in producer.batches if batch.last_offset < up_to_offset]
            if batches:
                rows.append([producer_id, producer.epoch, batches])
        return rows

    def restore(self, rows: Iterable[list[Any]], now_ms: int) -> None:
        """Restore the rows of `to_rows`. ValueError or TypeError if they are malformed."""
        producers = []
        for producer_id, epoch, batches in rows:
            producer = _Producer(self, _checked(producer_id, _LAST_OFFSET), _checked(epoch, _LAST_EPOCH))
            producer.batches = [_restored(*batch) for batch in batches]
            producer.written_ms = now_ms
            producers.append(producer)
        for known in list(self._producers):
            self.forget(known)
        for producer in producers:
            self._put(producer)


def _restored(first_sequence: int, last_sequence: int, base_offset: int, last_offset: int) -> SequencedBatch:
    batch = SequencedBatch(
        _checked(first_sequence, _LAST_SEQUENCE),
        _checked(last_sequence, _LAST_SEQUENCE),
        _checked(base_offset, _LAST_OFFSET),
        _checked(last_offset, _LAST_OFFSET),
    )
    if batch.base_offset > batch.last_offset:
        raise ValueError(f"a batch from offset {base_offset} to {last_offset}")
    return batch


def _checked(number: object, last: int) -> int:
    if type(number) is not int or not 0 <= number <= last:
        raise ValueError(f"{number!r} is not from 0 to {last}")
    return number
