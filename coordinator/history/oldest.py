"""Keeps of the time before the retention what questions about later times need.

The extracted segments that are too old become one, the oldest segment: the last commit of each partition, the last
record of each group, and the commits of transactions without an end. What was deleted goes. So the state at any later
time is exact, as in a log that was compacted. The commits are in the directory of the day 0001-01-01, which every
question reads, whatever its times.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.columnar.consumer_columns import CONSUMERS
from coordinator.history.duckdb_views import DuckdbViews
from coordinator.history.file_list import ExtractedSegment
from coordinator.history.layout import (
    COMMITS_DIR,
    CONSUMERS_DIR,
    GROUPS_DIR,
    TRANSACTIONS_DIR,
    path_by_day,
    path_undivided,
)
from coordinator.history.parquet import by_group, parquet_bytes, write_table
from coordinator.history.rows import COMMITS, GROUPS
from coordinator.history.views import Stand, needed
from coordinator.storage.log.fs import FileSystem

BEFORE_ALL_DAYS: Final = -719_162  # 0001-01-01

# A commit of a transaction without an end may count later, before a deletion that is kept for that reason.
_LAST_COMMITS: Final = """
WITH numbered AS (
    SELECT
        d.log_offset, d.tombstone, d.outcome,
        row_number() OVER (
            PARTITION BY d.group, d.topic, d.partition, coalesce(d.outcome, '') = 'open' ORDER BY d.log_offset DESC
        ) AS age,
        bool_or(coalesce(d.outcome, '') = 'open') OVER (PARTITION BY d.group, d.topic, d.partition) AS has_open
    FROM decided_commits AS d
    WHERE coalesce(d.outcome, '') <> 'aborted'
)
SELECT log_offset, coalesce(outcome, '') = 'open' AS is_open
FROM numbered
WHERE outcome = 'open' OR (age = 1 AND (has_open OR NOT tombstone))
"""
_LAST_RECORDS: Final = """
SELECT log_offset FROM (
    SELECT
        r.log_offset, r.tombstone, row_number() OVER (PARTITION BY r.group{key} ORDER BY r.log_offset DESC) AS age
    FROM {table} AS r
)
WHERE age = 1 AND NOT tombstone
"""
_RECORDS: Final = {GROUPS_DIR: (GROUPS, ""), CONSUMERS_DIR: (CONSUMERS, ", r.kind, r.name")}


class OldestSegment:
    """The segment that takes the place of `run`, the first segments of a partition, none of whose files is missing."""

    def __init__(self, history_dir: Path, partition: int, run: Sequence[ExtractedSegment]) -> None:
        self.run = list(run)
        self._history_dir = history_dir
        self._files = [name for line in run for name in line.files]
        start = run[0].start
        self._tables = {path_by_day(history_dir, COMMITS_DIR, BEFORE_ALL_DAYS, partition, start): self._commits()}
        for table, (schema, key) in _RECORDS.items():
            path = path_undivided(history_dir, table, partition, start)
            self._tables[path] = self._last_records(table, schema, key)

    @property
    def line(self) -> ExtractedSegment:
        names = tuple(str(path.relative_to(self._history_dir)) for path, rows in self._tables.items() if rows.num_rows)
        return ExtractedSegment(self.run[0].start, self.run[-1].end, self.newest_ms, names)

    @property
    def is_thinner(self) -> bool:
        return True

    @property
    def newest_ms(self) -> int:
        return max(line.newest_ms for line in self.run)

    def write(self, fs: FileSystem) -> None:
        for path, rows in self._tables.items():
            if rows.num_rows:
                write_table(fs, path, parquet_bytes(rows))

    def remove_others(self, fs: FileSystem) -> None:
        for name in set(self._files) - set(self.line.files):
            path = self._history_dir / name
            fs.unlink(path)
            with suppress(OSError):  # they have other files
                fs.rmdir(path.parent)
                fs.rmdir(path.parent.parent)

    def _commits(self) -> pa.Table:
        kept = self._ask(_LAST_COMMITS, (COMMITS_DIR, TRANSACTIONS_DIR))
        rows = self._rows(COMMITS_DIR, COMMITS, kept["log_offset"].to_numpy())
        is_open = np.isin(rows["log_offset"].to_numpy(), kept.filter(kept["is_open"])["log_offset"].to_numpy())
        # The markers of the others go, and their commits count.
        decided = rows["producer_id"].to_numpy(zero_copy_only=False)
        column = pa.array(decided, rows.schema.field("producer_id").type, mask=~is_open)
        return rows.set_column(rows.schema.get_field_index("producer_id"), "producer_id", column).cast(COMMITS)

    def _last_records(self, table: str, schema: pa.Schema, key: str) -> pa.Table:
        kept = self._ask(_LAST_RECORDS.format(table=table, key=key), (table,))
        return self._rows(table, schema, kept["log_offset"].to_numpy())

    def _ask(self, text: str, tables: Sequence[str]) -> pa.Table:
        stand = Stand((), {table: [str(self._history_dir / name) for name in self._of(table)] for table in tables}, ())
        views = DuckdbViews.of_sources([], stand, needed(text))
        return views.connection.sql(text).to_arrow_table()

    def _rows(self, table: str, schema: pa.Schema, kept: npt.NDArray[np.int64]) -> pa.Table:
        """Return the rows at these log offsets, file by file, so that memory holds what is kept and one file."""
        found = [schema.empty_table()]
        for name in self._of(table):
            rows = pq.ParquetFile(self._history_dir / name).read().cast(schema)
            found.append(rows.filter(pa.array(np.isin(rows["log_offset"].to_numpy(), kept))))
        rows = pa.concat_tables(found).combine_chunks()
        offsets, first = np.unique(rows["log_offset"].to_numpy(), return_index=True)
        return by_group(rows if len(offsets) == rows.num_rows else rows.take(pa.array(first)))

    def _of(self, table: str) -> list[str]:
        return [name for name in self._files if name.startswith(f"{table}/")]
