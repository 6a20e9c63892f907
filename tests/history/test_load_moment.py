"""A page of a moment reads the newest files first, and finds the offsets and records that all files would give."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.history.commits import Cut, standing
from coordinator.history.group_rows import rows_of_group
from coordinator.history.rebalances import GroupRecord
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group, load_moment
from tests.compaction.logs import OFFSETS, LogWriter, seeded
from tests.history.test_point_in_time import extract_some
from tests.history.worlds import GROUPS, data_dir, effects, records_of, replay, until

ALL_MS = 10**15


@pytest.mark.parametrize(("seed", "extracted"), [(0, 1000), (1, 3), (2, 1000), (3, 0), (4, 1000), (5, 2)])
def test_the_offsets_are_those_of_a_replay_up_to_the_moment(tmp_path: Path, seed: int, extracted: int) -> None:
    log = LogWriter().write(seeded(seed, 60, OFFSETS))
    source = data_dir(tmp_path, log.segments)
    extract_some(source, extracted)
    times = sorted({record.timestamp_ms + step for _, record in records_of(log.segments) for step in (-1, 0)})
    for group in GROUPS:
        found = [effect for effect in effects(log.segments) if effect.key.group == group]
        records = load_group(source, group).records
        for at_ms in times[::5]:
            for range_ms in (1_000, 3_600_000):
                past = load_moment(source, group, at_ms, range_ms=range_ms, committed_within_ms=ALL_MS)
                assert standing(past.commits, Cut(until_ms=at_ms)) == replay(found, group, until(at_ms))
                assert shown(past.records, at_ms, range_ms) == shown(records, at_ms, range_ms)


def shown(records: list[GroupRecord], at_ms: int, range_ms: int) -> list[GroupRecord]:
    """Return the records in the range and the last one before it."""
    records = [record for record in records if record.timestamp_ms <= at_ms]
    before = [number for number, record in enumerate(records) if record.timestamp_ms <= at_ms - range_ms]
    return records[before[-1] :] if before else records


def test_commits_of_other_days_are_not_read(tmp_path: Path) -> None:
    log = LogWriter().write(seeded(0, 60, OFFSETS))
    source: HistorySource = data_dir(tmp_path, log.segments)
    extract_some(source, 1000)
    newest_ms = max(record.timestamp_ms for _, record in records_of(log.segments))
    later = load_moment(source, "g", newest_ms + 10 * 86_400_000, range_ms=1_000, committed_within_ms=86_400_000)
    beyond = [record.offset for _, record in records_of(log.segments[-1:])]
    assert set(later.commits.log_offset.tolist()) <= set(beyond)


def test_a_file_of_another_version_has_nulls_where_it_has_no_column(tmp_path: Path) -> None:
    path = tmp_path / "file.parquet"
    pq.write_table(pa.table({"group": ["a", "b", "b"], "n": [1, 2, 3]}), path, row_group_size=1)
    schema = pa.schema([("group", pa.string()), ("n", pa.int64()), ("more", pa.int32())])
    assert rows_of_group(path, schema, "b").to_pylist() == [
        {"group": "b", "n": 2, "more": None},
        {"group": "b", "n": 3, "more": None},
    ]
    assert rows_of_group(path, schema, "c").num_rows == 0
    assert rows_of_group(path, schema, None).num_rows == 3
