"""Derives the changes of groups from their records, segment after segment of a partition.

A change is the difference between two states of a group, so the state at the end of a segment is kept for the next one:
as the newest record of each key that is no tombstone, which is a compacted log. It is in two Parquet files,

    states/lp=3/groups-<offset>.parquet, consumers-<offset>.parquet

with the log offset at which the next segment begins. They are written before the mark moves, and former ones removed
behind it. If they are missing, the state is derived again from the records in the history.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coordinator.columnar.consumer_columns import CONSUMERS
from coordinator.history.consumer_groups import KINDS_OF_GROUP, KINDS_OF_STATE, merged
from coordinator.history.layout import CONSUMERS_DIR, GROUPS_DIR, STATES_DIR, files_undivided
from coordinator.history.parquet import by_group, parquet_bytes, write_table
from coordinator.history.rebalances import GroupChange, changes
from coordinator.history.rows import GROUPS
from coordinator.history.tables import group_records
from coordinator.storage.log.fs import FileSystem, read_whole

_SCHEMAS: Final = {GROUPS_DIR: GROUPS, CONSUMERS_DIR: CONSUMERS}
_FILE: Final = re.compile(r"(groups|consumers)-(\d{20})\.parquet")
_STATE_BATCH: Final = -1  # the batch offset of a kept record, so that all of them are one state


@dataclass(slots=True)
class ChangeFold:
    """The newest records of the groups of a partition at a log offset."""

    next_offset: int
    groups: pa.Table
    consumers: pa.Table

    @classmethod
    def empty(cls) -> Self:
        return cls(0, GROUPS.empty_table(), CONSUMERS.empty_table())

    def add(
        self, groups: pa.Table, consumers: pa.Table, end: int, names: Mapping[str, str]
    ) -> list[tuple[str, GroupChange]]:
        """Take the records of the next segment, in any order, which ends below `end`. Return the changes of its groups.

        `names` are those of topics, by the texts of their ids.
        """
        begin, self.next_offset = self.next_offset, end
        if not groups.num_rows and not consumers.num_rows:
            return []
        touched = pc.unique(pa.chunked_array([*groups["group"].chunks, *consumers["group"].chunks], pa.string()))
        classic = _by_name(_with_state(self.groups, groups, touched))
        others = _by_name(_with_state(self.consumers, consumers, touched))
        found = []
        for group in touched.to_pylist():
            records = group_records(classic.get(group, GROUPS.empty_table()))
            if group in others:
                records = merged(records, others[group], names)
            # The records before `begin` are the state, and no news.
            found += [(group, change) for change in changes(records) if change.record.log_offset >= begin]
        self.groups = _newest(pa.concat_tables([self.groups, groups]), ["group"])
        of_state = consumers.filter(pc.is_in(consumers["kind"], pa.array(KINDS_OF_STATE)))
        left = _without_deleted(pa.concat_tables([self.consumers, of_state]))
        self.consumers = _one_batch(_newest(left, ["group", "kind", "name"]))
        return sorted(found, key=lambda each: each[1].record.log_offset)

    @classmethod
    def load(
        cls, history_dir: Path, partition: int, next_offset: int, names: Mapping[str, str], fs: FileSystem
    ) -> Self:
        """Return the groups at the mark of a partition, from the newest files of a state and the records behind it."""
        directory = history_dir / STATES_DIR / f"lp={partition}"
        starts = _starts(directory, fs)
        start = max((each for each in starts if each <= next_offset and starts[each] == len(_SCHEMAS)), default=None)
        fold = cls.empty()
        if start is not None:
            tables = [read_table(fs, state_path(history_dir, name, partition, start), name) for name in _SCHEMAS]
            fold = cls(start, *tables)
        behind = [
            pa.concat_tables(
                [
                    schema.empty_table(),
                    *(
                        read_table(fs, file.path, name)
                        for file in files_undivided(history_dir, name, partition, fs)
                        if fold.next_offset <= file.start < next_offset
                    ),
                ]
            )
            for name, schema in _SCHEMAS.items()
        ]
        fold.add(behind[0], behind[1], next_offset, names)
        fold.next_offset = next_offset
        return fold

    def save(self, history_dir: Path, partition: int, fs: FileSystem) -> None:
        """Write the files of this state; durable on return."""
        for name, table in ((GROUPS_DIR, self.groups), (CONSUMERS_DIR, self.consumers)):
            write_table(fs, state_path(history_dir, name, partition, self.next_offset), parquet_bytes(by_group(table)))


def state_path(history_dir: Path, table: str, partition: int, next_offset: int) -> Path:
    """Return the path of one of the two files of a state."""
    return history_dir / STATES_DIR / f"lp={partition}" / f"{table}-{next_offset:020d}.parquet"


def forget_other_states(history_dir: Path, partition: int, next_offset: int, fs: FileSystem) -> None:
    """Remove the files of all states but the newest one at or below the mark."""
    directory = history_dir / STATES_DIR / f"lp={partition}"
    starts = _starts(directory, fs)
    kept = max((start for start in starts if start <= next_offset), default=None)
    for start in starts:
        for name in _SCHEMAS if start != kept else ():
            path = state_path(history_dir, name, partition, start)
            if fs.exists(path):
                fs.unlink(path)
                fs.fsync_dir(directory)


def _starts(directory: Path, fs: FileSystem) -> dict[int, int]:
    """Return the log offsets of the states, and how many files each has."""
    found: dict[int, int] = {}
    for name in fs.listdir(directory) if fs.is_dir(directory) else []:
        if (parsed := _FILE.fullmatch(name)) is not None:
            found[int(parsed[2])] = found.get(int(parsed[2]), 0) + 1
    return found


def read_table(fs: FileSystem, path: Path | None, name: str) -> pa.Table:
    """Return the records in a file of `groups` or `consumers`; none without a path."""
    schema = _SCHEMAS[name]
    if path is None:
        return schema.empty_table()
    return pq.ParquetFile(pa.BufferReader(read_whole(fs, path))).read(schema.names, use_threads=False).cast(schema)


def _with_state(state: pa.Table, new: pa.Table, touched: pa.Array) -> pa.Table:
    """Return the kept records of some groups and their new ones, in log order."""
    return _in_order(pa.concat_tables([state.filter(pc.is_in(state["group"], touched)), new]))


def _in_order(table: pa.Table) -> pa.Table:
    return table.take(pa.array(np.argsort(table["log_offset"].to_numpy(), kind="stable")))


def _by_name(table: pa.Table) -> dict[str, pa.Table]:
    """Return the rows of each group, in their order."""
    table = by_group(table)
    names = table["group"].to_pylist()
    edges = [row for row in range(len(names)) if row == 0 or names[row] != names[row - 1]]
    return {names[begin]: table.slice(begin, end - begin) for begin, end in pairwise([*edges, len(names)])}


def _newest(table: pa.Table, key: list[str]) -> pa.Table:
    """Return the newest record of each key, without tombstones, in log order."""
    table = _in_order(table)
    numbered = table.select(key).append_column("row", pa.array(np.arange(table.num_rows)))
    last = numbered.group_by(key, use_threads=False).aggregate([("row", "max")])["row_max"].to_numpy()
    kept = table.take(pa.array(np.sort(last)))
    return kept.filter(pc.invert(kept["tombstone"])).combine_chunks()


def _without_deleted(table: pa.Table) -> pa.Table:
    """Remove the records of groups up to the batch in which their group was deleted."""
    gone = table.filter(pc.and_(pc.is_in(table["kind"], pa.array(KINDS_OF_GROUP)), table["tombstone"]))
    if not gone.num_rows:
        return table
    ends: dict[str, int] = {}
    for row in gone.select(["group", "batch_offset"]).to_pylist():
        ends[row["group"]] = max(ends.get(row["group"], _STATE_BATCH), row["batch_offset"])
    pairs = zip(table["group"].to_pylist(), table["batch_offset"].to_pylist(), strict=True)
    return table.filter(pa.array([batch > ends.get(group, _STATE_BATCH - 1) for group, batch in pairs], pa.bool_()))


def _one_batch(table: pa.Table) -> pa.Table:
    place = table.column_names.index("batch_offset")
    return table.set_column(place, "batch_offset", pa.array(np.full(table.num_rows, _STATE_BATCH, np.int64)))
