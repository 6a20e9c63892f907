"""The table of lag has a row for each change of a partition's figures."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from coordinator.history.extract import extract
from coordinator.history.lag_table import LAG, LagTable
from coordinator.storage.log.fs import RealFileSystem
from tests.history.stories import Story
from tests.history.worlds import data_dir

DAY_MS = 86_400_000


class Ends:
    """The ends of the partitions, as a broker tells them."""

    def __init__(self, **ends: int) -> None:
        self.ends = {("t", int(name.removeprefix("p"))): end for name, end in ends.items()}
        self.asked: set[tuple[str, int]] = set()

    def __call__(self, partitions: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
        self.asked = set(partitions)
        return {key: end for key, end in self.ends.items() if key in partitions}


def rows(history_dir: Path) -> list[dict[str, Any]]:
    found = [
        row
        for path in sorted((history_dir / "lag").rglob("*.parquet"))
        for row in pq.ParquetFile(path).read().to_pylist()
    ]
    return sorted(found, key=lambda row: (row["at_ms"], row["partition"]))


def commits(story: Story, directory: Path) -> tuple[Path, list[str]]:
    source = data_dir(directory, story.segments())
    names = [name for each in extract(source) for name in each.names if name.startswith("commits")]
    return source.history_dir, names


def test_a_row_is_written_when_the_commit_or_the_end_moved(tmp_path: Path) -> None:
    history_dir, names = commits(Story().commit(t=5, t_1=7).commit(t=6), tmp_path)
    ends = Ends(p0=10, p1=7, p2=99)
    lag = LagTable(history_dir, ends, RealFileSystem())
    lag.take(names)
    assert lag.write(1000) == 2
    assert ends.asked == {("t", 0), ("t", 1)}
    assert lag.write(2000) == 0
    ends.ends["t", 1] = 9
    assert lag.write(3000) == 1
    assert [tuple(row[name] for name in LAG.names) for row in rows(history_dir)] == [
        (1000, "g", "t", 0, 6, 10, 4),
        (1000, "g", "t", 1, 7, 7, 0),
        (3000, "g", "t", 1, 7, 9, 2),
    ]


def test_a_deleted_offset_and_a_partition_without_an_end_have_no_row(tmp_path: Path) -> None:
    history_dir, names = commits(Story().commit(t=5, t_1=7, t_2=8).commit(t=None), tmp_path)
    lag = LagTable(history_dir, Ends(p0=10, p1=5), RealFileSystem())
    lag.take(names)
    assert lag.write(DAY_MS) == 1
    (row,) = rows(history_dir)
    assert (row["partition"], row["lag"]) == (1, 0), "a commit beyond the end has no lag"
    assert (history_dir / "lag" / "date=1970-01-02").is_dir()
