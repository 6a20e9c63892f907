"""Writes the Parquet files of a history: order of rows, days, encodings, and files that appear whole."""

from __future__ import annotations

import io
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coordinator.history.layout import TEMPORARY, day_of
from coordinator.storage.log.fs import FileSystem, write_atomically

ROWS_PER_GROUP: Final = 16_384  # rows of a Parquet row group, the least that a question reads

# Numbers that grow within a group: as differences they take a sixth. All are encodings that Spark reads.
_NUMBERS: Final = {
    "log_offset": "DELTA_BINARY_PACKED",
    "timestamp_ms": "DELTA_BINARY_PACKED",
    "committed_ms": "DELTA_BINARY_PACKED",
    "since_ms": "DELTA_BINARY_PACKED",
    "at_ms": "DELTA_BINARY_PACKED",
    "batch_offset": "DELTA_BINARY_PACKED",
    "committed_offset": "PLAIN",
}


def by_day(table: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each UTC day, with the day as `path_by_day` takes it."""
    days = day_of(table["timestamp_ms"].to_numpy())
    # Days outside the calendar share the file of the nearest day in it.
    days = np.clip(days, _FIRST_DAY, _LAST_DAY)
    found = np.unique(days)
    for day in found.tolist():
        yield day, table if len(found) == 1 else table.filter(pa.array(days == day))


_FIRST_DAY: Final = -719_162  # 0001-01-01
_LAST_DAY: Final = 2_932_896  # 9999-12-31


def by_group(table: pa.Table) -> pa.Table:
    """Return the rows in the order of their groups' names; those of a group stay in their order."""
    if not table.num_rows:
        return table
    names = table["group"].combine_chunks().dictionary_encode()
    names = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    rank = np.empty(len(names.dictionary), np.int64)
    rank[pc.sort_indices(names.dictionary).to_numpy()] = np.arange(len(names.dictionary))
    order = np.argsort(rank[names.indices.to_numpy()], kind="stable")
    return table.take(pa.array(order)).combine_chunks()


def parquet_bytes(table: pa.Table) -> bytes:
    """Return a Parquet file. The same rows give the same bytes with one version of pyarrow."""
    data = io.BytesIO()
    texts = [field.name for field in table.schema if field.name not in _NUMBERS]
    # The Arrow schema is left out: Parquet's own types are enough, and it would name a version.
    pq.write_table(
        table,
        data,
        compression="zstd",
        row_group_size=ROWS_PER_GROUP,
        store_schema=False,
        use_dictionary=texts,
        column_encoding={name: encoding for name, encoding in _NUMBERS.items() if name in table.column_names},
    )
    return data.getvalue()


def write_table(fs: FileSystem, path: Path, data: bytes) -> None:
    """Write a file that appears whole, or not at all; two tasks may write the same one. Durable on return."""
    make_directory(fs, path.parent)
    write_atomically(fs, path, data, f".{secrets.token_hex(4)}{TEMPORARY}")


def make_directory(fs: FileSystem, path: Path) -> None:
    """Create a directory and its parents; durable on return."""
    if fs.is_dir(path):
        return
    if path.parent != path:
        make_directory(fs, path.parent)
    try:
        fs.mkdir(path)
    except FileExistsError:  # another task created it
        return
    fs.fsync_dir(path.parent)
