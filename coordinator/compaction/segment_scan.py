"""The first pass over one segment: verifies it, and finds the newest record of each key and the batches of producers.

Only the newest record of every key matters, so only its offset leaves the segment: an offsets log repeats its keys, and
a few percent remain. Data of transactions that were aborted here is ignored. Data of a transaction that is open at the
end of the segment is kept apart, by producer, until all segments have been scanned and its marker is known.

The work is done in stretches of some megabytes, so that the memory for columns does not grow with the segment. Every
byte is verified by the plan's SHA-256, every batch by its own CRC-32C.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coordinator.columnar.batches import Batches, CorruptBatchError, Int64s, read_batches
from coordinator.columnar.kernel import Records, array_of, numbers_of, read_records
from coordinator.compaction.boundaries import SurveyedBatch, digest, open_at_end, surveyed
from coordinator.compaction.plan import InputError, InputSegment
from coordinator.compaction.rules import Fate
from protocol.errors import ProtocolError
from protocol.record_batch import ControlType, Record, control_type, read_header

STRETCH_BYTES: Final = 16 << 20  # of a segment, whose records are decoded at the same time
_MAX_BINARY_BYTES: Final = 2**31 - 1  # of an Arrow column with offsets of four bytes
_CONTROL_TYPE_BYTES: Final = 4  # version and type, two bytes each

Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Newest:
    """Keys, each once, and the offset of the newest record of each."""

    keys: pa.BinaryArray
    offsets: Int64s

    def __len__(self) -> int:
        return len(self.offsets)

    @classmethod
    def none(cls) -> Self:
        return cls(pa.nulls(0, pa.binary()), np.empty(0, np.int64))


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """The keys, in one segment, of a transaction that is open at the end of that segment."""

    first_batch: int  # base offset
    newest: Newest
    first_offsets: Int64s  # of the oldest record of each key


@dataclass(frozen=True, slots=True)
class Scan:
    """The result of the scan of one segment."""

    newest: Newest  # of records outside open transactions
    pending: dict[int, OpenTransaction] = field(default_factory=dict)  # by producer
    events: list[SurveyedBatch] = field(default_factory=list)  # the digest for the partition's Survey

    def without_newest(self) -> Self:
        """Return a copy without the keys."""
        return replace(self, newest=Newest.none())


def scan_segment(segment: InputSegment, path: Path) -> Scan:
    """Scan a segment. InputError: it is not the file of the plan, or damaged. OSError: it cannot be read."""
    data = read_planned(segment, path, verify=True)
    batches = batches_of(data, path, verify_crc=True)
    events = events_of(data, batches, path)
    counts = ~batches.is_control
    pending: dict[int, OpenTransaction] = {}
    if events:
        fates = surveyed(events).round(now_ms=0, delete_retention_ms=0, clean_up_to=0).fates
        ignored = [base for base, fate in fates.items() if fate & (Fate.ABORTED | Fate.UNDECIDED)]
        counts &= ~_begins_at(batches, ignored)
        for producer_id, bases in open_at_end(events).items():
            pending[producer_id] = _pending(data, batches[_begins_at(batches, bases)], path)
    return Scan(newest_of(data, batches[counts], path), pending, digest(events))


def _pending(data: bytes, batches: Batches, path: Path) -> OpenTransaction:
    records = records_of(data, batches, path)
    which = np.flatnonzero(records.key_len >= 0)
    keys, offsets = records.keys(which), records.offset[which]
    newest = _distinct(keys, offsets)
    codes = numbers_of(keys.dictionary_encode().indices)  # in the order of `newest.keys`: that of first appearance
    first_offsets = np.empty(len(newest), np.int64)
    first_offsets[codes[::-1]] = offsets[::-1]
    return OpenTransaction(int(batches.base_offset[0]), newest, first_offsets)


def read_planned(segment: InputSegment, path: Path, *, verify: bool) -> bytes:
    """Return the segment's bytes. InputError unless they are those of the plan; `verify` compares the hash too."""
    data = path.read_bytes()
    if len(data) != segment.size_bytes or (verify and hashlib.sha256(data).hexdigest() != segment.sha256):
        raise InputError(f"{path.name} is not the file that the plan names; make a new plan")
    return data


def batches_of(data: bytes, path: Path, *, verify_crc: bool) -> Batches:
    """Return all batches of a segment. InputError if it has anything else."""
    try:
        batches, _ = read_batches(data, path=path, verify_crc=verify_crc)
    except CorruptBatchError as error:
        raise _damaged(path, error) from None
    end = int(batches.position[-1] + batches.size[-1]) if len(batches) else 0
    if end != len(data):
        raise InputError(f"{path.name} at byte {end}: {len(data) - end} bytes that are no whole batch")
    return batches


def records_of(data: bytes, batches: Batches, path: Path) -> Records:
    """Return the records of some batches, by `kernel.read_records`. InputError: a record is damaged."""
    try:
        return read_records(data, batches, path=path)
    except CorruptBatchError as error:
        raise _damaged(path, error) from None


def _damaged(path: Path, error: CorruptBatchError) -> InputError:
    return InputError(f"{path.name} at byte {error.position}: {error.reason}")


def events_of(data: bytes, batches: Batches, path: Path) -> list[SurveyedBatch]:
    """Return the batches that a Survey needs, with the types of control batches. Most segments have none."""
    concerned = (batches.producer_id >= 0) | batches.is_transactional | batches.is_control
    if not concerned.any():
        return []
    where = np.flatnonzero(concerned)
    markers = _markers(data, batches, np.flatnonzero(batches.is_control & (batches.count > 0)), path)
    return [
        SurveyedBatch(read_header(data, position), markers.get(index))
        for index, position in zip(where.tolist(), batches.position[where].tolist(), strict=True)
    ]


def _markers(data: bytes, batches: Batches, which: Int64s, path: Path) -> dict[int, ControlType]:
    """Return the type of the first record of each of these control batches, by the index of the batch."""
    if not len(which):
        return {}
    records = records_of(data, batches[which], path)
    first = np.searchsorted(records.batch, np.arange(len(which)))
    found: dict[int, ControlType] = {}
    for index, number in zip(which.tolist(), first.tolist(), strict=True):
        at, size = int(records.key_at[number]), int(records.key_len[number])
        key = None if size < 0 else bytes(records.data[at : at + min(size, _CONTROL_TYPE_BYTES)])
        try:
            found[index] = control_type(Record(0, 0, key, None))
        except ProtocolError as error:
            raise InputError(f"{path.name} at byte {batches.position[index]}: {error}") from None
    return found


def _begins_at(batches: Batches, base_offsets: Sequence[int]) -> Mask:
    return np.isin(batches.base_offset, np.array(sorted(base_offsets), np.int64))


def newest_of(data: bytes, batches: Batches, path: Path) -> Newest:
    """Return the newest record of each key in some batches of a segment."""
    found = Newest.none()
    for stretch in stretches(batches, STRETCH_BYTES):
        records = records_of(data, stretch, path)
        which = None if (records.key_len >= 0).all() else np.flatnonzero(records.key_len >= 0)
        here = _distinct(records.keys(which), records.offset if which is None else records.offset[which])
        found = merged([found, here]) if len(found) else here
    return found


def stretches(batches: Batches, limit_bytes: int) -> Iterator[Batches]:
    """Yield pieces of at most `limit_bytes`, a larger batch alone. A compressed batch counts four times its size."""
    if not len(batches):
        return
    weight = np.where(batches.codec == 0, batches.size, batches.size * 4).astype(np.int64)
    piece = (np.cumsum(weight) - 1) // limit_bytes
    edges = [0, *(np.flatnonzero(np.diff(piece)) + 1).tolist(), len(batches)]
    for begin, end in pairwise(edges):
        yield batches[begin:end]


def merged(parts: Iterable[Newest]) -> Newest:
    """Return the newest record of each key among all of these, which may come in any order."""
    some = [part for part in parts if len(part)]
    if len(some) < 2:
        return some[0] if some else Newest.none()
    keys = [part.keys for part in some]
    if sum(each.nbytes for each in keys) > _MAX_BINARY_BYTES:
        keys = [each.cast(pa.large_binary()) for each in keys]
    joined, offsets = pa.concat_arrays(keys), np.concatenate([part.offsets for part in some])
    if any(after.offsets.min() < before.offsets.max() for before, after in pairwise(some)):
        order = np.argsort(offsets, kind="stable")
        joined, offsets = joined.take(array_of(order)), offsets[order]
    return _distinct(joined, offsets)


def _distinct(keys: pa.BinaryArray, offsets: Int64s) -> Newest:
    """Return each key once, with the last of its offsets. The offsets of one key ascend."""
    coded = keys.dictionary_encode()
    newest = np.empty(len(coded.dictionary), np.int64)
    newest[numbers_of(coded.indices)] = offsets  # where one place is written twice, the last stands
    return Newest(coded.dictionary, newest)
