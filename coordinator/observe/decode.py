"""Record batches of the offsets log, decoded for the state: the last commit of each key, and all other records.

Nearly all records are commits, and of those only the last one of each group, topic and partition matters. All batches
of a fetch are decoded at once as columns (`coordinator.columnar.kernel`); keys are made unique by Arrow; only what is
left becomes Python values. The names in a key are remembered, because the same keys come again and again.

Commits in a transaction count when its marker comes (`transactions.py`). While a transaction is open, commits are
handled one by one. Damaged records are counted in `undecodable` and left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from coordinator.columnar.batches import Batches, CorruptBatchError, Int64s
from coordinator.columnar.kernel import Records, read_records
from coordinator.observe.transactions import OpenTransactions
from protocol.errors import DecodeError
from protocol.offsets_records import OffsetKey, decode_key
from protocol.record_batch import ControlType

MOST_NAMES: Final = 200_000  # remembered keys, about 300 bytes each
DELETED: Final = -1

_COMMITS: Final = (0, 1)  # key versions of commits
_OFFSET_END: Final = 10  # a commit's value begins with its version and the offset, in every version
_COMMIT_MARKER: Final = int(ControlType.COMMIT)
_MARKERS: Final = (int(ControlType.ABORT), _COMMIT_MARKER)  # other control records end no transaction


class ObservedState(Protocol):
    """The state that is built from the log."""

    def commits(
        self, groups: list[str], topics: list[str], partitions: list[int], offsets: list[int], at_ms: list[int]
    ) -> None:
        """Take some commits, one of each key; offset -1: it was deleted."""

    def record(self, at_ms: int, key: bytes, value: bytes | None) -> None:
        """Take a record that is no commit."""

    def caught_up(self) -> None:
        """Every partition has been read to the end that it had at the start."""


@dataclass(slots=True)
class Decoded:
    """The content of some batches. The five lists of commits have one element for each key."""

    groups: list[str] = field(default_factory=list)
    topics: list[str] = field(default_factory=list)
    partitions: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    at_ms: list[int] = field(default_factory=list)
    records: list[tuple[int, int, bytes, bytes | None]] = field(default_factory=list)  # log offset, ms, key, value
    count: int = 0  # of all records
    undecodable: int = 0


@dataclass(frozen=True, slots=True)
class PartitionBatches:
    """Some batches of one partition of the log, and the bytes that they are positions in."""

    partition: int
    data: bytes
    batches: Batches


class Decoder:
    """Decodes the batches of all partitions, each partition's in log order. Used by one thread at a time."""

    def __init__(self) -> None:
        self.transactions = OpenTransactions()
        self._names: dict[bytes, OffsetKey | None] = {}

    def decode(self, parts: Sequence[PartitionBatches]) -> Decoded:
        """Decode the batches of some partitions, each of them at most once."""
        joined = _joined(parts)
        decoded = Decoded()
        if joined is None:
            return decoded
        batches = joined.batches
        while True:
            try:
                records = read_records(joined.data, batches, path="a fetched batch")
                break
            except CorruptBatchError as error:  # the checksum is right, but a record is malformed
                bad = batches.position == error.position
                decoded.undecodable += int(bad.sum())
                batches = batches[~bad]
        which = np.searchsorted(joined.first_position, batches.position, "right") - 1
        shift, partition = joined.shift[which], joined.partition[which]
        self._fill(decoded, batches, records, shift, partition)
        return decoded

    def decode_records(self, partition: int, batches: Batches, records: Records) -> Decoded:
        """Decode records of one partition that were read already."""
        decoded = Decoded()
        zeros = np.zeros(len(batches), np.int64)
        self._fill(decoded, batches, records, zeros, np.full(len(batches), partition, np.int64))
        return decoded

    def _fill(self, decoded: Decoded, batches: Batches, records: Records, shift: Int64s, partition: Int64s) -> None:
        decoded.count += len(records)
        if not len(records):
            return
        source = np.frombuffer(records.data, np.uint8)
        is_control = batches.is_control[records.batch]
        version = _int16(source, records.key_at)
        has_key = ~is_control & (records.key_len >= 2)
        is_commit = has_key & (version >= _COMMITS[0]) & (version <= _COMMITS[1])
        is_decided = batches.is_transactional[records.batch]  # by a marker; the markers themselves, too
        rows = np.flatnonzero(is_commit)
        if self.transactions or is_decided.any():
            found = self._one_by_one(
                decoded, batches, records, np.flatnonzero(is_commit | is_control), shift, partition
            )
        else:
            found = self._last_of_each(records, rows)
        self._add_commits(decoded, found)
        for row in np.flatnonzero(has_key & ~is_commit).tolist():
            offset = int(records.offset[row] - shift[records.batch[row]])
            key, value = _key_and_value(records, row)
            decoded.records.append((offset, int(records.timestamp[row]), key, value))

    def _last_of_each(self, records: Records, rows: Int64s) -> Iterator[tuple[bytes, int, int]]:
        """Yield (key, offset, time) of the last commit of each key."""
        if not len(rows):
            return
        encoded = records.keys(rows).dictionary_encode()
        last = np.empty(len(encoded.dictionary), np.int64)
        last[np.asarray(encoded.indices)] = rows  # the last assignment to an index wins
        offsets = _offsets(records, last)
        yield from zip(encoded.dictionary.to_pylist(), offsets.tolist(), records.timestamp[last].tolist(), strict=True)

    def _one_by_one(
        self,
        decoded: Decoded,
        batches: Batches,
        records: Records,
        rows: Int64s,
        shift: Int64s,
        partition: Int64s,
    ) -> Iterator[tuple[bytes, int, int]]:
        """Yield (key, offset, time) of the last commit of each key that counts, where transactions are about."""
        found: dict[bytes, tuple[int, int]] = {}
        offsets = _offsets(records, rows).tolist()
        of = records.batch[rows]
        columns = zip(
            rows.tolist(),
            offsets,
            (records.offset[rows] - shift[of]).tolist(),
            records.timestamp[rows].tolist(),
            partition[of].tolist(),
            batches.producer_id[of].tolist(),
            batches.is_transactional[of].tolist(),
            batches.is_control[of].tolist(),
            strict=True,
        )
        transactions = self.transactions
        for row, offset, log_offset, at_ms, number, producer, is_transactional, is_control in columns:
            key = _bytes(records, records.key_at, records.key_len, row)
            if is_control:
                marker = int.from_bytes(key[2:4], "big") if len(key) >= 4 else -1
                if marker in _MARKERS:
                    found.update(transactions.end(number, producer, is_commit=marker == _COMMIT_MARKER))
            elif is_transactional and offset != DELETED:  # a deletion counts at once, as in Kafka
                transactions.add(number, producer, key, log_offset, (offset, at_ms))
            else:
                transactions.supersede(key)
                found[key] = (offset, at_ms)
        return ((key, offset, at_ms) for key, (offset, at_ms) in found.items())

    def _add_commits(self, decoded: Decoded, found: Iterable[tuple[bytes, int, int]]) -> None:
        names = self._names
        if len(names) > MOST_NAMES:
            names.clear()
        groups, topics, partitions = decoded.groups.append, decoded.topics.append, decoded.partitions.append
        offsets, at_ms = decoded.offsets.append, decoded.at_ms.append
        for key, offset, time_ms in found:
            try:
                name = names[key]
            except KeyError:
                name = names[key] = _name(key)
            if name is None or offset < DELETED:
                decoded.undecodable += 1
                continue
            groups(name[0])
            topics(name[1])
            partitions(name[2])
            offsets(offset)
            at_ms(time_ms)


@dataclass(frozen=True, slots=True)
class _Joined:
    """The batches of several partitions as if they were one log. `shift` is by part: what was added to its offsets."""

    data: bytes
    batches: Batches
    first_position: Int64s
    shift: Int64s
    partition: Int64s


def _joined(parts: Sequence[PartitionBatches]) -> _Joined | None:
    """Join the batches of some partitions. The kernel wants growing offsets, so those of each part are shifted."""
    parts = [part for part in parts if len(part.batches)]
    if not parts:
        return None
    columns: dict[str, list[npt.NDArray[Any]]] = {each.name: [] for each in fields(Batches)}
    first, shifts = [], []
    position = end = 0
    for part in parts:
        own = part.batches
        shift = end - int(own.base_offset[0])
        moved = {
            "position": own.position + position,
            "base_offset": own.base_offset + shift,
            "last_offset": own.last_offset + shift,
        }
        for name, column in columns.items():
            column.append(moved[name] if name in moved else getattr(own, name))
        first.append(position)
        shifts.append(shift)
        position += len(part.data)
        end = int(moved["last_offset"][-1]) + 1
    data = parts[0].data if len(parts) == 1 else b"".join([part.data for part in parts])
    return _Joined(
        data,
        Batches(**{name: np.concatenate(column) for name, column in columns.items()}),
        np.array(first, np.int64),
        np.array(shifts, np.int64),
        np.array([part.partition for part in parts], np.int64),
    )


def _name(key: bytes) -> OffsetKey | None:
    """Return the names in a key; None if it is malformed."""
    try:
        found = decode_key(key)
    except DecodeError:
        return None
    if not isinstance(found, OffsetKey):
        return None
    return OffsetKey(sys.intern(found.group), sys.intern(found.topic), found.partition)


def _int16(source: npt.NDArray[np.uint8], at: Int64s) -> npt.NDArray[np.int16]:
    high = source.take(at, mode="clip").astype(np.int16)
    return (high << 8) | source.take(at + 1, mode="clip")


def _offsets(records: Records, rows: Int64s) -> Int64s:
    """Return the committed offset of each row: -1 for a tombstone, -2 for a value that is too short."""
    size, at = records.value_len[rows], records.value_at[rows] + 2
    found = np.where(size < 0, DELETED, DELETED - 1).astype(np.int64)
    whole = size >= _OFFSET_END
    windows = np.ndarray((max(len(records.data) - 7, 0),), "V8", records.data, strides=(1,))
    found[whole] = windows[at[whole]].view(">i8")
    return found


def _bytes(records: Records, at: Int64s, length: npt.NDArray[np.int32], row: int) -> bytes:
    start = int(at[row])
    return bytes(records.data[start : start + max(int(length[row]), 0)])


def _key_and_value(records: Records, row: int) -> tuple[bytes, bytes | None]:
    key = _bytes(records, records.key_at, records.key_len, row)
    return key, None if records.value_len[row] < 0 else _bytes(records, records.value_at, records.value_len, row)
