"""A stream writes in many small pieces the rows that extraction writes of whole segments, in few files."""

from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest

from coordinator.columnar.kernel import read_batches
from coordinator.columnar.row_columns import ROWS
from coordinator.history import file_list
from coordinator.history.commits import NEVER, Cut, standing
from coordinator.history.extract import extract, locked
from coordinator.history.joining import AT_ONCE
from coordinator.history.layout import BY_DAY, UNDIVIDED, all_files
from coordinator.history.retention import Limits
from coordinator.history.source import HistorySource
from coordinator.history.stream_writer import StreamWriter, write_rows
from coordinator.history.tables import load_group
from coordinator.storage.log.fs import RealFileSystem
from tests.columnar.test_row_columns import rows_of_segment
from tests.compaction.logs import ANYTHING, LogWriter, Segment, Wait, seeded
from tests.history.worlds import GROUPS, data_dir, tables


def rows_of_log(segments: list[Segment]) -> pa.Table:
    table = pa.concat_tables([rows_of_segment(each, knows_batches=True)[0] for each in segments])
    column = pa.array([0] * table.num_rows, pa.int32())
    return table.set_column(0, "log_partition", column).cast(ROWS)


def closed(seed: int, count: int) -> list[Segment]:
    """Return a log of one day, behind which an empty segment is active."""
    steps = [step for step in seeded(seed, count, ANYTHING) if not isinstance(step, Wait)]
    segments = LogWriter().write(steps).segments
    batches, _ = read_batches(bytes(segments[-1].data), path=Path("last"))
    end = int(batches.last_offset[-1]) + 1 if len(batches) else segments[-1].base_offset
    return [*(each for each in segments if len(each.data)), Segment(end)]


def pieces(rows: pa.Table, dice: random.Random, most: int) -> list[pa.Table]:
    found = []
    while rows.num_rows:
        size = dice.randint(1, most)
        found.append(rows.slice(0, size))
        rows = rows.slice(size)
    return found


def write(source: HistorySource, parts: list[pa.Table], old_before_ms: int = NEVER) -> None:
    """Write each part in a trigger of its own, as one run."""
    with locked(source, RealFileSystem()):
        writer = StreamWriter(source, dict)
        for part in parts:
            batches = part.combine_chunks().to_batches(max_chunksize=7)
            reports = list(write_rows(source.history_dir, batches, writer.next_offsets, old_before_ms, {}))
            writer.enter(reports, old_before_ms)


def test_a_stream_goes_on_behind_what_retention_removed(tmp_path: Path) -> None:
    segments = closed(2, 120)
    source = data_dir(tmp_path / "data", segments)
    streamed = HistorySource.of(source.data_dir, tmp_path / "streamed")
    parts = pieces(rows_of_log(segments[:-1]), random.Random(2), 9)
    with locked(streamed, RealFileSystem()):
        writer = StreamWriter(streamed, dict)
        for number, part in enumerate(parts):
            batches = part.combine_chunks().to_batches()
            writer.enter(write_rows(streamed.history_dir, batches, writer.next_offsets, NEVER, {}), NEVER)
            if number % 20 == 0:
                writer.forget_old(Limits(0), 1 << 42)
    alone = HistorySource.of(tmp_path / "none", streamed.history_dir)
    for group in GROUPS:
        now, there = load_group(alone, group), load_group(source, group)
        assert len(now.commits) < len(there.commits)
        assert standing(now.commits, Cut()) == standing(there.commits, Cut())


@pytest.mark.parametrize("seed", range(3))
def test_many_small_pieces_become_the_same_rows_in_few_files(seed: int, tmp_path: Path) -> None:
    segments = closed(seed, 120)
    source = data_dir(tmp_path / "data", segments)
    expected = HistorySource.of(source.data_dir, tmp_path / "extracted")
    extract(expected)
    streamed = HistorySource.of(source.data_dir, tmp_path / "streamed")
    parts = pieces(rows_of_log(segments[:-1]), random.Random(seed), 9)
    assert len(parts) > 3 * AT_ONCE
    cut = len(parts) // 2
    write(streamed, parts[:cut])
    write(streamed, parts[cut:])
    assert tables(streamed.history_dir) == tables(expected.history_dir)
    lines = file_list.read(streamed.history_dir, 0)
    assert len(lines) < 2 * AT_ONCE + len(parts) // AT_ONCE
    listed = {name for line in lines for name in line.files}
    there = {str(file.path.relative_to(streamed.history_dir)) for file in all_files(streamed.history_dir, 0)}
    assert listed == there
    alone = HistorySource.of(tmp_path / "none", streamed.history_dir)
    for group in GROUPS:
        assert load_group(alone, group).records == load_group(expected, group).records


def test_rows_that_are_there_are_not_added_again(tmp_path: Path) -> None:
    segments = closed(1, 40)
    streamed = HistorySource.of(data_dir(tmp_path / "data", segments).data_dir, tmp_path / "streamed")
    rows = rows_of_log(segments[:-1])
    write(streamed, [rows.slice(0, 50), rows, rows.slice(20)])
    found = tables(streamed.history_dir)
    offsets = [row["log_offset"] for name in ("commits", "groups", "consumers") for row in found[name]]
    assert len(offsets) == len(set(offsets))
    assert sum(len(found[name]) for name in (*BY_DAY, *UNDIVIDED)) > len(offsets)


def test_a_gap_before_a_fresh_record_is_no_compaction(tmp_path: Path) -> None:
    segments = closed(2, 30)
    rows = rows_of_log(segments[:-1])
    gappy = [rows.slice(0, 10), rows.slice(12)]
    source = data_dir(tmp_path / "data", segments)
    compacted = HistorySource.of(source.data_dir, tmp_path / "compacted")
    write(compacted, gappy)
    fresh = HistorySource.of(source.data_dir, tmp_path / "fresh")
    write(fresh, gappy, old_before_ms=0)
    alone = tmp_path / "none"
    assert load_group(HistorySource.of(alone, compacted.history_dir), "g").whole_since_ms > 0
    assert load_group(HistorySource.of(alone, fresh.history_dir), "g").whole_since_ms == -1


def test_files_of_a_run_that_was_killed_are_removed(tmp_path: Path) -> None:
    segments = closed(1, 40)
    streamed = HistorySource.of(data_dir(tmp_path / "data", segments).data_dir, tmp_path / "streamed")
    rows = rows_of_log(segments[:-1])
    write(streamed, [rows.slice(0, 50)])
    left = list(write_rows(streamed.history_dir, rows.slice(50, 7).combine_chunks().to_batches(), {}, NEVER, {}))
    assert left[0].names
    write(streamed, [rows.slice(50)])
    offsets = [row["log_offset"] for row in tables(streamed.history_dir)["commits"]]
    assert len(offsets) == len(set(offsets))
