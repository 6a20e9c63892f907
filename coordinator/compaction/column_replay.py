"""Fast replay of a compaction's inputs: the state that a start would load from them, for `validate` with numpy.

Most records of a log are superseded within a few segments. A record with a value has no lasting effect if another
record of its key follows outside of transactions. So of neighbouring segments only these are replayed, in their order:
the newest record of each key, all tombstones (they end what open transactions hold for a key), all records of
transactions, and all markers. The replay itself is `coordinator.core.offsets.replay`, and of the
transaction log `newest_records`.

The kernel that the job also used decides which records are superseded. A daemon compares with its memory instead, and
a log of a few megabytes is read record by record.
"""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from coordinator.columnar.batches import Batches, Bools, CorruptBatchError, Int64s, read_batches
from coordinator.columnar.kernel import Records
from coordinator.columnar.kernel import read_records as read_columns
from coordinator.compaction.newest_records import NewestRecords
from coordinator.core.offsets.replay import Replay
from protocol.errors import DecodeError
from protocol.record_batch import BatchHeader, Record, read_header, read_records


def add_segments(outcome: Replay | NewestRecords, data: bytes, name: str) -> None:
    """Replay the next segments of a partition, concatenated; `name` appears in the message of an error.

    DecodeError: a batch cannot be read. The checksums are not verified: the files were hashed.
    """
    try:
        batches, _ = read_batches(data, path=name, verify_crc=False)
        records = read_columns(data, batches, path=name)
    except CorruptBatchError as error:
        raise DecodeError(str(error)) from None
    _replay_segment(outcome, data, batches, records)


def _plainly(data: bytes, batches: Batches, number: int) -> tuple[BatchHeader, list[Record]]:
    position = int(batches.position[number])
    header = read_header(data, position)
    return header, read_records(data, position, header)


def _replay_segment(outcome: Replay | NewestRecords, data: bytes, batches: Batches, records: Records) -> None:
    is_special = batches.is_control | batches.is_transactional
    needed = _needed(records, ~is_special[records.batch])
    behind = 0
    for number in np.flatnonzero(is_special).tolist():
        before = int(np.searchsorted(records.batch[needed], number))
        _feed(outcome, records, needed[behind:before])
        behind = before
        outcome.add(*_plainly(data, batches, number))
    _feed(outcome, records, needed[behind:])


def _needed(records: Records, is_plain: Bools) -> Int64s:
    """Return the indexes of the records outside transactions that have a lasting effect, ascending."""
    plain = np.flatnonzero(is_plain)
    keep = (records.value_len[plain] < 0) | (records.key_len[plain] < 0)
    keys = records.keys(plain).dictionary_encode()
    no_key = len(keys.dictionary)
    newest = np.full(no_key + 1, -1, np.int64)
    newest[pc.fill_null(keys.indices, no_key).to_numpy()] = np.arange(len(plain))  # of several the last one stays
    keep[newest[newest >= 0]] = True
    return plain[keep]


def _feed(outcome: Replay | NewestRecords, records: Records, which: Int64s) -> None:
    data = records.data
    columns = (records.offset, records.key_at, records.key_len, records.value_at, records.value_len)
    add = outcome.add_record
    for offset, key_at, key_len, value_at, value_len in zip(
        *(column[which].tolist() for column in columns), strict=True
    ):
        key = None if key_len < 0 else data[key_at : key_at + key_len]
        add(key, None if value_len < 0 else data[value_at : value_at + value_len], offset)
