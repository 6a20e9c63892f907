"""What history keeps of the records of the offsets log: three tables, each a selection of the reader's columns.

Commits and deletions of offsets, states of groups, and the ends of transactions, without which a commit in a
transaction cannot be told from one that was rolled back. Names and units are those of `kafka-log`, the reader for
Spark (`coordinator.compaction.columns`). Records of other protocols, and what cannot be decoded, are left out.

Where only one group is asked for, its records are found by the bytes of their keys before anything is decoded.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from coordinator.compaction.batches import Batches
from coordinator.compaction.columns import SCHEMA, offsets_table
from coordinator.compaction.group_columns import GROUP_FIELDS
from coordinator.compaction.kernel import Records

_COMMON: Final = ("log_offset", "timestamp_ms")


def _fields(*names: str) -> list[pa.Field]:
    return [SCHEMA.field(name) for name in names]


COMMITS: Final = pa.schema(
    [
        *_fields(*_COMMON, "group", "topic", "partition", "committed_offset", "leader_epoch", "metadata"),
        *_fields("committed_ms", "expires_ms", "tombstone"),
        pa.field("producer_id", pa.int64()),  # null: not in a transaction
    ]
)
GROUPS: Final = pa.schema([*_fields(*_COMMON, "group", "tombstone"), *GROUP_FIELDS])
TRANSACTIONS: Final = pa.schema(
    [*_fields(*_COMMON, "producer_id", "producer_epoch"), pa.field("committed", pa.bool_())]
)


@dataclass(frozen=True, slots=True)
class Rows:
    """The three tables, each in log order."""

    commits: pa.Table
    groups: pa.Table
    transactions: pa.Table


def rows_of(batches: Batches, records: Records, *, log_partition: int, from_offset: int = 0) -> Rows:
    """What history keeps of these records, from a log offset on."""
    if from_offset and len(records) and records.offset[0] < from_offset:
        records = some(records, records.offset >= from_offset)
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
    )


def some(records: Records, which: npt.NDArray[Any]) -> Records:
    """Some of the records, by a mask or by ascending indexes."""
    taken = {each.name: getattr(records, each.name)[which] for each in fields(Records) if each.name != "data"}
    return replace(records, **taken)


def of_group(batches: Batches, records: Records, group: str) -> Records:
    """The records of one group, and all control records."""
    name = group.encode()
    prefix = np.frombuffer(len(name).to_bytes(2, "big") + name, np.uint8)  # behind the version of the key
    source = np.frombuffer(records.data, np.uint8)
    is_control = batches.is_control[records.batch]
    rows = np.flatnonzero((records.key_len >= 2 + len(prefix)) & ~is_control)
    for first in range(0, len(prefix), 8):  # most keys are of other groups: few bytes tell
        part = prefix[first : first + 8]
        at = records.key_at[rows, None] + 2 + np.arange(first, first + len(part))
        rows = rows[(source[at] == part).all(axis=1)]
    wanted = is_control.copy()
    wanted[rows] = True
    return some(records, wanted)
