"""The table `lag`: how far committed offsets are behind the ends of their partitions, one row for each change.

    lag/date=2026-11-20/at-<ms>.parquet

A row is valid until the next one of its group and partition. The ends are asked once for a trigger of a stream, so a
row is as exact as the time between two triggers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.history.commits import TopicPartition
from coordinator.history.layout import LAG_DIR, day_directory, day_of
from coordinator.history.parquet import by_group, parquet_bytes, write_table
from coordinator.storage.log.fs import FileSystem

LAG: Final = pa.schema(
    [
        pa.field("at_ms", pa.int64()),
        pa.field("group", pa.string()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("committed_offset", pa.int64()),
        pa.field("end_offset", pa.int64()),
        pa.field("lag", pa.int64()),
    ]
)
Key: TypeAlias = tuple[str, str, int]  # group, topic, partition
Ends: TypeAlias = Callable[[Collection[TopicPartition]], Mapping[TopicPartition, int]]

_KEY: Final = ["group", "topic", "partition"]
_COMMIT_COLUMNS: Final = ["log_offset", *_KEY, "committed_offset", "tombstone"]
_LAST: Final = [("committed_offset", "last"), ("tombstone", "last")]


@dataclass(slots=True)
class LagTable:
    """The newest committed offset of each partition of each group, and what was written of it."""

    history_dir: Path
    ends: Ends
    fs: FileSystem
    _committed: dict[Key, int] = field(default_factory=dict)
    _written: dict[Key, tuple[int, int]] = field(default_factory=dict)

    def take(self, names: Collection[str]) -> None:
        """Take the commits in these files of the table `commits`, which are of one part of the log."""
        for name in names:
            table = pq.ParquetFile(self.history_dir / name).read(_COMMIT_COLUMNS, use_threads=False)
            newest = table.sort_by("log_offset").group_by(_KEY, use_threads=False).aggregate(_LAST).to_pydict()
            keys = zip(*(newest[each] for each in _KEY), strict=True)
            for key, offset, is_gone in zip(
                keys, newest["committed_offset_last"], newest["tombstone_last"], strict=True
            ):
                if is_gone:
                    self._committed.pop(key, None)
                    self._written.pop(key, None)
                else:
                    self._committed[key] = offset

    def forget_written(self) -> None:
        """Let the next rows be of all partitions, because older rows were removed."""
        self._written.clear()

    def write(self, at_ms: int) -> int:
        """Ask for the ends, and write a row for each partition whose figures changed. Return how many rows."""
        ends = self.ends({key[1:] for key in self._committed})
        rows = []
        for key, committed in self._committed.items():
            end = ends.get(key[1:])
            if end is None or self._written.get(key) == (committed, end):
                continue
            self._written[key] = (committed, end)
            rows.append(dict(zip(LAG.names, (at_ms, *key, committed, end, max(end - committed, 0)), strict=True)))
        if rows:
            path = self.history_dir / LAG_DIR / day_directory(day_of(at_ms)) / f"at-{at_ms:013d}.parquet"
            write_table(self.fs, path, parquet_bytes(by_group(pa.Table.from_pylist(rows, LAG))))
        return len(rows)
