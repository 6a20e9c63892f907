"""Finds the records of one group in a segment in columns, so that only these few become Python objects.

The keys of a group's offsets and of its metadata begin alike, behind the version: with the length of the name and the
name. That prefix is compared for all records at once.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from coordinator.columnar.kernel import read_batches, read_records
from protocol.offsets_records import encode_group_key
from protocol.record_batch import BatchHeader, Record, read_header

_VERSION_BYTES = 2


def records_of_group(data: bytes, group: str, *, path: Path) -> list[tuple[BatchHeader, Record]]:
    """Return records whose keys begin like the group's, with their batches, in log order; the caller decodes them.

    Raises CorruptBatchError if any batch of the segment is not sound.
    """
    name = encode_group_key(group)[_VERSION_BYTES:]
    batches, _ = read_batches(data, path=path)
    records = read_records(data, batches, path=path)
    rows = np.flatnonzero(records.key_len >= _VERSION_BYTES + len(name))
    if not len(rows):
        return []
    source = np.frombuffer(records.data, np.uint8)
    windows = np.ndarray((len(source) - len(name) + 1,), f"V{len(name)}", source, strides=(1,))
    rows = rows[windows[records.key_at[rows] + _VERSION_BYTES] == np.void(name)]
    columns = zip(
        batches.position[records.batch[rows]].tolist(),
        records.offset[rows].tolist(),
        records.timestamp[rows].tolist(),
        records.keys(rows).to_pylist(),
        records.values(rows).to_pylist(),
        strict=True,
    )
    return [(read_header(data, at), Record(offset, time, key, value)) for at, offset, time, key, value in columns]
