"""The tables that history keeps of the offsets log, each a selection of the reader's columns.

They hold commits and deletions of offsets, states of classic groups, the records of KIP-848 groups, and the ends of
transactions, which decide whether a transactional commit counts. Names and units are those of
`coordinator.columnar.columns`. Other records and records that cannot be decoded are left out.

For one group, its records are selected by the bytes of their keys before they are decoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.columnar.batches import Batches, Int64s, SkippedBytes
from coordinator.columnar.columns import SCHEMA, offsets_table
from coordinator.columnar.consumer_columns import CONSUMERS, consumers_table
from coordinator.columnar.group_columns import GROUP_FIELDS
from coordinator.columnar.kernel import Records
from coordinator.columnar.log_reader import Reading, read_range

_COMMON: Final = ("log_offset", "timestamp_ms")


def _fields(*names: str) -> list[pa.Field]:
    return [SCHEMA.field(name) for name in names]


COMMITS: Final = pa.schema(
    [
        *_fields(*_COMMON, "group", "topic", "partition", "committed_offset", "leader_epoch", "metadata"),
        *_fields("committed_ms", "expires_ms", "tombstone"),
        pa.field("producer_id", pa.int64()),  # null: not transactional
    ]
)
GROUPS: Final = pa.schema([*_fields(*_COMMON, "group", "tombstone"), *GROUP_FIELDS])
TRANSACTIONS: Final = pa.schema(
    [*_fields(*_COMMON, "producer_id", "producer_epoch"), pa.field("committed", pa.bool_())]
)


@dataclass(frozen=True, slots=True)
class Rows:
    """The tables, each in log order."""

    commits: pa.Table
    groups: pa.Table
    transactions: pa.Table
    consumers: pa.Table


def rows_of(batches: Batches, records: Records, *, log_partition: int) -> Rows:
    """Return the rows of these records that history keeps."""
    table = offsets_table(batches, records, log_partition=log_partition)
    commits = table.filter(pc.equal(table["kind"], "offset"))
    producer = pc.if_else(commits["transactional"], commits["producer_id"], pa.scalar(None, pa.int64()))
    commits = commits.set_column(commits.column_names.index("producer_id"), "producer_id", producer)
    markers = table.filter(
        pc.and_(pc.equal(table["kind"], "marker"), pc.is_in(table["marker"], pa.array(["commit", "abort"])))
    )
    return Rows(
        commits.select(COMMITS.names).cast(COMMITS),
        table.filter(pc.equal(table["kind"], "group")).select(GROUPS.names).cast(GROUPS),
        markers.append_column("committed", pc.equal(markers["marker"], "commit"))
        .select(TRANSACTIONS.names)
        .cast(TRANSACTIONS),
        consumers_table(batches, records),
    )


def joined(parts: Iterable[Rows]) -> Rows:
    """Concatenate the rows of consecutive blocks."""
    tables = (COMMITS, GROUPS, TRANSACTIONS, CONSUMERS)
    all_parts = [Rows(*(schema.empty_table() for schema in tables)), *parts]
    return Rows(
        pa.concat_tables([part.commits for part in all_parts]),
        pa.concat_tables([part.groups for part in all_parts]),
        pa.concat_tables([part.transactions for part in all_parts]),
        pa.concat_tables([part.consumers for part in all_parts]),
    )


@dataclass(frozen=True, slots=True)
class RowBlock:
    """The rows of a piece of the log, and the log offset and timestamp of each of its records, kept or not."""

    rows: Rows
    offsets: Int64s
    timestamps_ms: Int64s
    size_bytes: int  # in the log
    damages: tuple[SkippedBytes, ...]


def read_blocks(
    directory: Path,
    log_partition: int,
    start: int,
    end: int | None,
    *,
    group: str | None = None,
    skip_corrupt: bool = False,
) -> Iterator[RowBlock]:
    """Yield the log from offset `start` to below `end` (None: its end): of `group` with all markers, or all of it.

    Raises CorruptBatchError, LogNotFoundError, OSError.
    """
    for piece in read_range(directory, start, end, Reading(skip_corrupt=skip_corrupt)):
        records = piece.records if isinstance(piece.rows, slice) else some(piece.records, piece.rows)
        chosen = records if group is None else of_group(piece.batches, records, group)
        rows = rows_of(piece.batches, chosen, log_partition=log_partition)
        yield RowBlock(rows, records.offset, records.timestamp, int(piece.batches.size.sum()), piece.damages)


def some(records: Records, which: npt.NDArray[Any]) -> Records:
    """Return the records selected by a mask or by ascending indexes."""
    taken = {each.name: getattr(records, each.name)[which] for each in fields(Records) if each.name != "data"}
    return replace(records, **taken)


def of_group(batches: Batches, records: Records, group: str) -> Records:
    """Return the records of one group, and all control records."""
    name = group.encode()
    prefix = len(name).to_bytes(2, "big") + name  # follows the version of the key
    is_control = batches.is_control[records.batch]
    rows = np.flatnonzero((records.key_len >= 2 + len(prefix)) & ~is_control)
    if len(rows):
        kind = f"V{len(prefix)}"
        windows = np.ndarray((len(records.data) - len(prefix) + 1,), kind, records.data, strides=(1,))
        rows = rows[windows[records.key_at[rows] + 2] == np.void(prefix)]
    wanted = is_control.copy()
    wanted[rows] = True
    return some(records, wanted)
