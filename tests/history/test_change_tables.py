"""The tables of changes hold what the records of the groups tell, wherever segments and runs of the extraction end."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from coordinator.history.change_rows import CHANGE_SCHEMAS, ROW_NAMES, change_tables
from coordinator.history.extract import extract
from coordinator.history.layout import COMMITS_DIR, GROUPS_DIR, STATES_DIR
from coordinator.history.rebalances import changes
from coordinator.history.source import HistorySource
from coordinator.history.tables import load_group
from coordinator.storage.file_names import MARKS_NAME
from tests.compaction.logs import ANYTHING, LogWriter, Segment, seeded
from tests.history.stories import Story
from tests.history.test_consumer_groups import random_life, there_and_back
from tests.history.worlds import GROUPS, data_dir, write_segments

Tables = dict[str, list[dict[str, Any]]]


def stored(history_dir: Path) -> Tables:
    """Return the rows of all files of each table."""
    found: Tables = {}
    for name, schema in CHANGE_SCHEMAS.items():
        files = sorted((history_dir / name).rglob("*.parquet"))
        tables = [pq.ParquetFile(path).read(schema.names).cast(schema) for path in files]
        found[name] = pa.concat_tables([schema.empty_table(), *tables]).to_pylist()
    return sorted_rows(found)


def sorted_rows(tables: Tables) -> Tables:
    return {
        name: sorted(rows, key=lambda row: [row[key] for key in ("log_offset", *ROW_NAMES.get(name, ()))])
        for name, rows in tables.items()
    }


def told(source: HistorySource, groups: Iterable[str]) -> Tables:
    """Return the rows that the records of the groups give, all at once and from the log alone."""
    found = []
    for group in groups:
        past = load_group(source, group)
        found += [(group, change) for change in changes(past.records)]
    return sorted_rows({name: table.to_pylist() for name, table in change_tables(found).items()})


def in_pieces(directory: Path, segments: list[Segment], source: HistorySource, dice: random.Random) -> None:
    """Extract while the log grows; sometimes without what former runs kept."""
    for count in range(2, len(segments) + 1):
        write_segments(directory / "__consumer_offsets-0", segments[:count])
        if dice.random() < 0.6:
            extract(source)
        if dice.random() < 0.3:
            shutil.rmtree(source.history_dir / STATES_DIR, ignore_errors=True)
    extract(source)


def check(directory: Path, source: HistorySource, segments: list[Segment], groups: Iterable[str], seed: int) -> Tables:
    """Compare both for the closed segments."""
    closed = [*segments[:-1], Segment(segments[-1].base_offset)]
    write_segments(directory / "__consumer_offsets-0", closed)
    expected = told(source, groups)
    in_pieces(directory, closed, source, random.Random(seed))
    assert stored(source.history_dir) == expected
    return expected


@pytest.mark.parametrize("seed", range(6))
def test_a_random_log_gives_the_changes_of_its_records(seed: int, tmp_path: Path) -> None:
    segments = LogWriter().write(seeded(seed, 150, ANYTHING)).segments
    source = data_dir(tmp_path, segments)
    assert len(segments) > 3
    expected = check(tmp_path, source, segments, (*GROUPS, "alone"), seed)
    assert expected["rebalances"]


@pytest.mark.parametrize("seed", range(4))
def test_a_random_life_of_a_consumer_group_gives_the_changes_of_its_records(seed: int, tmp_path: Path) -> None:
    watched = random_life(seed)
    source = watched.source(tmp_path)
    expected = check(tmp_path, source, watched.segments(), ["g"], seed)
    assert len(expected["moves"]) > 10


def test_a_group_that_changed_its_protocol_gives_them_too(tmp_path: Path) -> None:
    watched, _ = there_and_back()
    watched.world.beat("A", 0, topics=["t"])
    watched.look()
    source = watched.source(tmp_path)
    expected = check(tmp_path, source, [*watched.segments(), Segment(max(watched.seen))], ["g"], 1)
    assert {row["type"] for row in expected["rebalances"]} == {"classic", "consumer"}


def test_a_row_names_members_and_partitions_with_their_clients(tmp_path: Path) -> None:
    owning = {"a": {"t": [0, 1]}, "b": {"t": [1]}}
    story = Story().members("a", owning=owning)
    owning["a"] = {"t": [0]}
    story.members("a", "b", owning=owning)
    source = data_dir(tmp_path, story.segments())
    extract(source)
    found = stored(source.history_dir)
    last = found["rebalances"][-1]
    assert [last[name] for name in ("type", "what", "members", "came", "moved")] == ["classic", "rebalanced", 2, 1, 1]
    assert [(row["client_id"], row["change"], row["partitions"]) for row in found["members"][-2:]] == [
        ("a", "stayed", 1),
        ("b", "came", 1),
    ]
    move = found["moves"][-1]
    assert (move["topic"], move["partition"], move["from_client_id"], move["to_client_id"]) == ("t", 1, "a", "b")
    assert move["to_member_id"] == found["members"][-1]["member_id"]


def test_changes_lie_in_the_directory_of_their_day(tmp_path: Path) -> None:
    story = Story().members("a").roll().wait(86_400).members("a", "b")
    source = data_dir(tmp_path, story.segments())
    extract(source)
    days = sorted(path.name for path in (source.history_dir / "rebalances").iterdir())
    assert len(days) == 2
    assert all(day.startswith("date=") for day in days)


def test_a_history_that_was_begun_without_them_has_them_from_there_on(tmp_path: Path) -> None:
    story = Story().members("a").commit(t=1).roll()
    source = data_dir(tmp_path, [*story.closed, story.active])
    extract(source)
    for name in (*CHANGE_SCHEMAS, STATES_DIR):
        shutil.rmtree(source.history_dir / name, ignore_errors=True)
    _forget_in_list(source.history_dir)
    source = data_dir(tmp_path, story.members("a", "b").segments())
    extract(source)
    found = stored(source.history_dir)
    assert [(row["came"], row["members"]) for row in found["rebalances"]] == [(1, 2)], "the first state is known"


def _forget_in_list(history_dir: Path) -> None:
    """Leave only the names of files that an older version wrote."""
    import json

    path = history_dir / "files" / "lp=0.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        line["files"] = [name for name in line["files"] if name.startswith((COMMITS_DIR, GROUPS_DIR))]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert (history_dir / MARKS_NAME).exists()


def test_one_state_is_kept_for_each_partition(tmp_path: Path) -> None:
    watched = random_life(0)
    source = watched.source(tmp_path)
    segments = watched.segments()
    in_pieces(tmp_path, segments, source, random.Random(3))
    names = sorted(path.name for path in (source.history_dir / STATES_DIR / "lp=0").iterdir())
    assert len(names) == 2
    assert names[0].startswith("consumers-") and names[1].startswith("groups-")
