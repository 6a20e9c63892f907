"""Partitions are moved to the directories of their owners, whatever the old and new numbers of workers are."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.core.cluster import StaticOwnership
from coordinator.storage.data_dir import DataDirError
from coordinator.storage.file_names import LOCK_NAME
from coordinator.storage.history_marks import NOT_EXTRACTED, Marks, write_marks
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.worker_dirs import arrange, homes, worker_dir

ASSIGNED = {"0": 2, "3": 4}  # manual assignments of partitions of orders to nodes
PARTITIONS = [("__consumer_offsets", number) for number in range(6)] + [("orders", number) for number in range(4)]


class PowerCutError(Exception):
    """Power cut in the middle of moving."""


class FailingFileSystem(RealFileSystem):
    """Raises PowerCutError after a number of renames."""

    def __init__(self, renames: int) -> None:
        self._left = renames

    def rename(self, old: Path, new: Path) -> None:
        if self._left == 0:
            raise PowerCutError
        self._left -= 1
        super().rename(old, new)


def fill(path: Path) -> None:
    """Fill the directory as a daemon without workers; each partition has a file with its name."""
    for topic, number in PARTITIONS:
        directory = path / f"{topic}-{number}"
        directory.mkdir(parents=True)
        (directory / "00000000000000000000.log").write_text(f"{topic} {number}")
    (path / "topics.json").write_text(catalogue(revision=3))
    (path / "topic-producers.json").write_text("{}")
    (path / "producer-ids.json").write_text('{"reserved_up_to": 1000}')
    (path / "compaction" / "jobs").mkdir(parents=True)


def catalogue(revision: int) -> str:
    orders = {"name": "orders", "id": "61" * 16, "partitions": 4, "configs": {}, "assigned": ASSIGNED}
    return json.dumps({"version": 2, "lineage": "a", "revision": revision, "topics": [orders], "deleted": []})


def home_of(data_dir: Path, ids: list[int], topic: str, number: int) -> Path:
    if len(ids) == 1:
        return data_dir
    rule = StaticOwnership(ids)
    owner = (
        rule.owner_of_offsets_partition(number)
        if topic == "__consumer_offsets"
        else rule.owner_of_topic_partition(topic, number, ASSIGNED.get(str(number)))
    )
    return worker_dir(data_dir, owner)


def check_all_home(data_dir: Path, ids: list[int]) -> None:
    for topic, number in PARTITIONS:
        directory = home_of(data_dir, ids, topic, number) / f"{topic}-{number}"
        assert (directory / "00000000000000000000.log").read_text() == f"{topic} {number}"
    copies = list(data_dir.rglob("*.log"))
    assert len(copies) == len(PARTITIONS)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 12)), min_size=1, max_size=5))
def test_every_partition_is_with_its_owner_after_any_changes_and_crashes(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[int, int]]
) -> None:
    data_dir = tmp_path_factory.mktemp("data")
    fill(data_dir)
    for workers, renames in history:
        ids = [1 + number for number in range(workers)]
        try:
            arrange(FailingFileSystem(renames), data_dir, ids)
        except PowerCutError:
            continue  # and the next start may have another number of workers
        check_all_home(data_dir, ids)
    arrange(RealFileSystem(), data_dir, [1, 2, 3])
    check_all_home(data_dir, [1, 2, 3])


def test_a_second_run_moves_nothing(tmp_path: Path) -> None:
    fill(tmp_path)
    assert arrange(RealFileSystem(), tmp_path, [1, 2]) == len(PARTITIONS)
    assert arrange(RealFileSystem(), tmp_path, [1, 2]) == 0


def test_a_daemon_that_never_had_workers_is_not_changed(tmp_path: Path) -> None:
    fill(tmp_path)
    assert arrange(RealFileSystem(), tmp_path, [1]) == 0
    assert (tmp_path / "topic-producers.json").exists()
    assert homes(RealFileSystem(), tmp_path) == {}


def test_the_controller_gets_the_newest_catalogue_and_the_others_keep_theirs(tmp_path: Path) -> None:
    fill(tmp_path)
    arrange(RealFileSystem(), tmp_path, [1, 2])
    assert json.loads((worker_dir(tmp_path, 1) / "topics.json").read_text())["revision"] == 3
    assert not (worker_dir(tmp_path, 2) / "topics.json").exists()
    (worker_dir(tmp_path, 1) / "topics.json").write_text(catalogue(revision=9))
    arrange(RealFileSystem(), tmp_path, [1])
    assert json.loads((tmp_path / "topics.json").read_text())["revision"] == 9


def test_files_about_moved_partitions_are_removed_and_producer_ids_stay(tmp_path: Path) -> None:
    fill(tmp_path)
    arrange(RealFileSystem(), tmp_path, [1, 2])
    assert not (tmp_path / "topic-producers.json").exists()
    assert not (tmp_path / "compaction").exists()
    assert (tmp_path / "producer-ids.json").exists()
    assert not (worker_dir(tmp_path, 1) / "producer-ids.json").exists()


def test_a_partition_that_exists_twice_is_refused_and_nothing_is_moved(tmp_path: Path) -> None:
    fill(tmp_path)
    (worker_dir(tmp_path, 2) / "__consumer_offsets-1").mkdir(parents=True)
    with pytest.raises(DataDirError, match="__consumer_offsets-1 is both in"):
        arrange(RealFileSystem(), tmp_path, [1, 2])
    assert len([path for path in tmp_path.iterdir() if path.name.startswith("__consumer_offsets-")]) == 6


def test_a_running_worker_is_waited_for_and_then_reported(tmp_path: Path) -> None:
    fill(tmp_path)
    arrange(RealFileSystem(), tmp_path, [1, 2])
    held = RealFileSystem().lock(worker_dir(tmp_path, 2) / LOCK_NAME)
    waited: list[float] = []
    with pytest.raises(DataDirError, match="a worker of an earlier start still uses"):
        arrange(RealFileSystem(), tmp_path, [1], sleep=waited.append)
    assert sum(waited) >= 19
    held.close()
    arrange(RealFileSystem(), tmp_path, [1], sleep=waited.append)
    check_all_home(tmp_path, [1])


def test_a_partition_with_a_history_is_not_moved_away_from_it(tmp_path: Path) -> None:
    fill(tmp_path)
    (tmp_path / "history").mkdir()
    write_marks(tmp_path / "history", Marks("c", 6, {1: replace(NOT_EXTRACTED, next_offset=10)}), RealFileSystem())
    with pytest.raises(DataDirError, match="its history is in"):
        arrange(RealFileSystem(), tmp_path, [1, 2])
    assert (tmp_path / "__consumer_offsets-0").is_dir()
