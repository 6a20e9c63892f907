"""The records of one group out of a whole segment: found in columns, so that only these few become Python objects.

The keys of a group's offsets and of its metadata begin alike, but for the version: with the length of its name and the
name. That is compared for all records at once.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from coordinator.columnar.kernel import read_batches, read_records
from protocol.offsets_records import encode_group_key
from protocol.record_batch import BatchHeader, Record, read_header

_VERSION_BYTES = 2


def records_of_group(data: bytes, group: str, *, path: Path) -> list[tuple[BatchHeader, Record]]:
    """Records whose keys look like the group's, with their batches, in log order: who decodes them will know.

    Raises CorruptBatchError if anything in the segment is not sound: the kernel's sentence, for all of it is read.
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
