"""Rows of records as the kernel's columns, so that records of any source are decoded by the same functions.

A row has the keys and values of a record as bytes, as Spark's sources for Kafka and for log files give them. A source
that does not tell the batches of records has nulls there: records of one event are then recognised by their time, since
a coordinator stamps all records of an append alike.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from coordinator.columnar.batches import Batches
from coordinator.columnar.kernel import NULL, Records
from protocol.record_batch import ControlType

ROWS: Final = pa.schema(
    [
        pa.field("log_partition", pa.int32()),
        pa.field("log_offset", pa.int64()),
        pa.field("timestamp_ms", pa.int64()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field("batch_offset", pa.int64()),  # null: not known
        pa.field("producer_id", pa.int64()),  # of a record in a transaction, and of a marker; else null
        pa.field("producer_epoch", pa.int16()),
        pa.field("marker", pa.string()),  # commit or abort, of the end of a transaction; else null
    ]
)
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20
_MARKERS: Final = {"commit": ControlType.COMMIT, "abort": ControlType.ABORT}


def records_of_rows(rows: pa.Table) -> tuple[Batches, Records]:
    """Return rows of one partition, in log order, as batches (one for each record) and records."""
    rows = rows.combine_chunks()
    count = rows.num_rows
    offset = rows["log_offset"].to_numpy()
    timestamp = rows["timestamp_ms"].to_numpy()
    markers = rows["marker"].to_pylist()
    keys, key_at, key_len = _bytes(_with_markers(rows["key"], markers))
    values, value_at, value_len = _bytes(rows["value"])
    is_control = np.array([each is not None for each in markers], np.bool_)
    in_transaction = ~is_control & np.asarray(rows["producer_id"].is_valid())
    zeros = np.zeros(count, np.int64)
    batches = Batches(
        position=zeros,
        size=zeros.astype(np.int32),
        base_offset=_batch_offsets(rows["batch_offset"], offset, timestamp),
        last_offset=offset,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        attributes=np.where(is_control, _CONTROL | _TRANSACTIONAL, np.where(in_transaction, _TRANSACTIONAL, 0)).astype(
            np.int16
        ),
        leader_epoch=zeros.astype(np.int32),
        producer_id=rows["producer_id"].fill_null(NULL).to_numpy(),
        producer_epoch=rows["producer_epoch"].fill_null(NULL).to_numpy(),
        base_sequence=(zeros + NULL).astype(np.int32),
        count=np.ones(count, np.int32),
    )
    records = Records(
        data=keys + values,
        batch=np.arange(count, dtype=np.int32),
        offset=offset,
        timestamp=timestamp,
        start=zeros,
        size=zeros.astype(np.int32),
        key_at=key_at,
        key_len=key_len,
        value_at=value_at + len(keys),
        value_len=value_len,
    )
    return batches, records


def _with_markers(keys: pa.ChunkedArray, markers: list[str | None]) -> pa.ChunkedArray:
    """Return the keys, with those of markers as they are in a log: version and type, two bytes each."""
    if not any(markers):
        return keys
    texts = keys.to_pylist()
    for row, marker in enumerate(markers):
        if marker is not None:
            texts[row] = bytes(2) + int(_MARKERS[marker]).to_bytes(2, "big") if marker in _MARKERS else None
    return pa.chunked_array([pa.array(texts, pa.binary())])


def _bytes(column: pa.ChunkedArray) -> tuple[bytes, npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """Return a column's bytes, and the position and size of each row in them; a null has size -1."""
    array = pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)
    _, edges, data = array.buffers()
    edge = np.frombuffer(edges, np.int32)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    size = np.diff(edge).astype(np.int32)
    size[np.asarray(array.is_null())] = NULL
    begin, end = (int(edge[0]), int(edge[-1])) if len(edge) else (0, 0)
    taken = b"" if data is None else data[begin:end].to_pybytes()
    return taken, edge[:-1] - begin, size


def _batch_offsets(
    column: pa.ChunkedArray, offset: npt.NDArray[Any], timestamp: npt.NDArray[Any]
) -> npt.NDArray[np.int64]:
    """Return the base offset of each row's batch; where that is null, of its run of one time without a gap."""
    begins = np.ones(len(offset), np.bool_)
    begins[1:] = (np.diff(offset) != 1) | (np.diff(timestamp) != 0)
    runs: npt.NDArray[np.int64] = offset[np.flatnonzero(begins)][np.cumsum(begins) - 1]
    if column.null_count == len(column):
        return runs
    told: npt.NDArray[np.int64] = column.fill_null(NULL).to_numpy()
    return np.where(told == NULL, runs, told)
