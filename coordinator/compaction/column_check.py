"""Fast check in columns that a result holds what its inputs hold: for `validate`, with numpy and without a daemon.

If it cannot prove that, it raises NotProvenError, and the record-by-record check of `validate` decides and explains. It
leaves out what is rare: transactions, keys of the oldest version. It proves that

* each record of the outputs stands in the inputs at the same offset, in a batch with the same header. The bytes of
  records are compared at once where neither codec nor base timestamp changed, else batch by batch (`kept_batch.py`);
* the newest record of every key has the same offset in both. Records with the same offset are equal by the first
  point, so their values are not compared again.

The records are decoded by the kernel that the job uses too; the newest ones are determined independently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.columnar.batches import Batches, Bools, CorruptBatchError, Int64s, read_batches
from coordinator.columnar.kernel import Records, array_of, numbers_of, read_records
from coordinator.compaction.kept_batch import NOT_BYTEWISE, check_kept
from coordinator.compaction.plan import InputSegment, OutputSegment, PartitionPlan, PartitionResult
from coordinator.compaction.segment_scan import STRETCH_BYTES, stretches
from coordinator.storage.log.index import MAX_RELATIVE_OFFSET
from coordinator.storage.log.segment import fault_in_batch
from protocol.offsets_records import GROUP_KEY_VERSION
from protocol.record_batch import read_header

GATHERED_BYTES: Final = 64 << 20  # of keys that are collected before they are merged with those already known
_SPECIAL: Final = 0x30  # attributes of a batch: transactional, control
_GROUP_AT: Final = 4  # position in a key: behind its version and the length of the group's name
_COMPARED: Final = ("last_offset", "leader_epoch", "producer_id", "producer_epoch", "base_sequence")


class NotProvenError(Exception):
    """The result is wrong, or of a kind that this module does not handle."""


def prove(
    part: PartitionPlan,
    result: PartitionResult,
    inputs: Iterable[tuple[InputSegment, bytes]],
    read_output: Callable[[OutputSegment], bytes],
    *,
    is_offsets_log: bool = True,
) -> None:
    """Raise NotProvenError unless the outputs may be swapped for the inputs. `read_output` compares their hashes.

    In the offsets log two keys may mean the same offset or group; in others keys are compared as bytes.
    """
    ends = [*(output.base_offset for output in result.outputs), part.clean_up_to][1:]
    places = {each.base_offset: (each, end) for each, end in zip(result.outputs, ends, strict=True)}
    _demand(len(places) == len(result.outputs))
    before, after = _Newest(is_offsets_log), _Newest(is_offsets_log)
    output, found = _Output.none(), 0
    try:
        for segment, data in inputs:
            if segment.base_offset in places:
                chosen, end = places[segment.base_offset]
                output = _Output.read(chosen, end, read_output(chosen))
            sound = _whole(data, segment.name, segment.base_offset, segment.next_offset, verify_crc=False)
            for batches in stretches(sound, STRETCH_BYTES):
                records = read_records(data, batches, path=segment.name)
                before.add(records)
                some = output.between(int(batches.base_offset[0]), int(batches.last_offset[-1]))
                if len(some):
                    kept = read_records(output.data, some, path=segment.name)
                    _check_kept(data, batches, records, output.data, some, kept)
                    after.add(kept)
                    found += len(some)
    except CorruptBatchError as error:
        raise NotProvenError from error
    _demand(found == sum(each.batches for each in result.outputs))
    _demand(np.array_equal(before.alive(), after.alive()))


def _demand(condition: object) -> None:
    if not condition:
        raise NotProvenError


def _whole(data: bytes, name: str, first: int, end: int, *, verify_crc: bool) -> Batches:
    """Return all batches of a segment that has nothing else, with offsets from `first` up to `end`."""
    batches, _ = read_batches(data, path=name, verify_crc=verify_crc)
    _demand(not (batches.attributes & _SPECIAL).any())
    if len(batches):
        _demand(batches.position[-1] + batches.size[-1] == len(data))
        _demand(first <= batches.base_offset[0] and batches.last_offset[-1] < end)
    else:
        _demand(not data)
    return batches


@dataclass(frozen=True, slots=True)
class _Output:
    """One file of the result."""

    data: bytes
    batches: Batches

    @classmethod
    def none(cls) -> _Output:
        return cls(b"", read_batches(b"", path="")[0])

    @classmethod
    def read(cls, output: OutputSegment, end: int, data: bytes) -> _Output:
        """Read an output that holds what the manifest says, with offsets below `end`."""
        batches = _whole(data, output.file, output.base_offset, end, verify_crc=True)
        _demand(len(batches))
        first, last = int(batches.base_offset[0]), int(batches.last_offset[-1])
        _demand(last - output.base_offset <= MAX_RELATIVE_OFFSET)
        said = (output.batches, output.records, output.first_offset, output.next_offset, output.max_timestamp_ms)
        records, youngest = int(batches.count.sum(dtype=np.int64)), int(batches.max_timestamp.max())
        _demand(said == (len(batches), records, first, last + 1, max(youngest, -1)))
        return cls(data, batches)

    def between(self, first: int, last: int) -> Batches:
        """Return the batches that begin in a range of offsets."""
        low, high = np.searchsorted(self.batches.base_offset, (first, last + 1)).tolist()
        return self.batches[low:high]


def _check_kept(
    old_data: bytes, old_batches: Batches, old_records: Records, data: bytes, batches: Batches, records: Records
) -> None:
    """Raise unless each of these batches is what is left of an old one; the rules are those of `check_kept`."""
    which = np.searchsorted(old_batches.base_offset, batches.base_offset).clip(max=len(old_batches) - 1)
    old = old_batches[which]
    _demand((old.base_offset == batches.base_offset).all())
    _demand(all((getattr(old, name) == getattr(batches, name)).all() for name in _COMPARED))
    extents = [slice(at, at + size) for at, size in zip(old.position.tolist(), old.size.tolist(), strict=True)]
    for extent in extents:
        _demand(fault_in_batch(old_data, extent.start, extent.stop - extent.start, 0) is None)

    is_proven = ((old.attributes | batches.attributes) & NOT_BYTEWISE) == 0
    is_proven &= old.base_timestamp == batches.base_timestamp
    is_proven[records.batch[~_are_same(old_records, records)]] = False
    for number in np.flatnonzero(~is_proven).tolist():
        at, was = int(batches.position[number]), old_data[extents[number]]
        batch = data[at : at + int(batches.size[number])]
        _demand(check_kept(read_header(batch), batch, read_header(was), was) is None)


def _are_same(old: Records, records: Records) -> Bools:
    """Return a mask of the records that stand among the old ones, byte for byte."""
    if not len(old):
        return np.zeros(len(records), np.bool_)
    which = np.searchsorted(old.offset, records.offset).clip(max=len(old) - 1)
    was, now = old.slices(old.start, old.size, which), records.slices(records.start, records.size)
    same: Bools = old.offset[which] == records.offset
    if not was.equals(now):
        bits = np.frombuffer(pc.equal(was, now).buffers()[1], np.uint8)  # as `to_numpy`, without pandas
        same &= np.unpackbits(bits, count=len(records), bitorder="little").astype(np.bool_)
    return same


class _Newest:
    """The place of every key's newest record: its offset n, or ~n (negative) for a tombstone."""

    def __init__(self, is_offsets_log: bool) -> None:
        self._is_offsets_log = is_offsets_log
        self._pieces: list[tuple[pa.LargeBinaryArray, Int64s]] = []  # in the order of the log; the first is merged
        self._waiting = 0  # bytes of the others

    def add(self, records: Records) -> None:
        """Add the next records of the log."""
        _demand((records.key_len >= 0).all())
        keys = records.keys().cast(pa.large_binary())
        places = np.where(records.value_len < 0, ~records.offset, records.offset)
        keys, places = _last_of_each(keys, places)
        _demand(not self._is_offsets_log or _have_one_form(keys))
        self._pieces.append((keys, places))
        self._waiting += keys.nbytes
        if self._waiting > max(GATHERED_BYTES, self._pieces[0][0].nbytes):
            self._merge()

    def alive(self) -> Int64s:
        """Return the offsets of all newest records that are no tombstones, ascending."""
        self._merge()
        return np.sort(self._pieces[0][1])

    def _merge(self) -> None:
        if not self._pieces:
            self._pieces = [(pa.nulls(0, pa.large_binary()), np.empty(0, np.int64))]
        keys, places = _last_of_each(
            pa.concat_arrays([keys for keys, _ in self._pieces]), np.concatenate([places for _, places in self._pieces])
        )
        alive = np.flatnonzero(places >= 0)  # a tombstone leaves nothing of its key
        self._pieces = [(keys.take(array_of(alive)), places[alive])]
        self._waiting = 0


def _last_of_each(keys: pa.LargeBinaryArray, places: Int64s) -> tuple[pa.LargeBinaryArray, Int64s]:
    """Return each key once, with the last of its places."""
    coded = keys.dictionary_encode()
    last = np.empty(len(coded.dictionary), np.int64)
    last[numbers_of(coded.indices)] = places  # where one element is written twice, the last value stands
    return coded.dictionary, last


def _have_one_form(keys: pa.LargeBinaryArray) -> bool:
    """Return whether different keys always name different groups or offsets (`raw_records.state_key`)."""
    _, starts, data = keys.buffers()
    edges = np.frombuffer(starts, np.int64)[keys.offset : keys.offset + len(keys) + 1]
    at, size = edges[:-1], np.diff(edges)
    if not len(size):
        return True
    source = np.frombuffer(data, np.uint8)
    first, second, *length = [source.take(at + place, mode="clip").astype(np.int64) for place in range(_GROUP_AT)]
    version = first << 8 | second
    is_group = version == GROUP_KEY_VERSION
    return bool(
        (size >= 2).all()
        and (version != 0).all()
        and (size[is_group] == (_GROUP_AT + (length[0] << 8 | length[1]))[is_group]).all()
    )
