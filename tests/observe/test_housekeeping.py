"""Rounds of housekeeping beside a mirror that goes on: extraction, compaction, retention, interruptions."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.compaction.swap_protocol import recover
from coordinator.history.retention import DAY_MS, Limits, forget_old
from coordinator.history.source import HistorySource
from coordinator.observe.decode import Decoder
from coordinator.observe.directory import ObservedDirectory, ObservedLog
from coordinator.observe.housekeeping import Housekeeper
from coordinator.observe.mirror import Mirror
from coordinator.observe.pipeline import Pipeline
from coordinator.observe.progress import FollowProgress
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.history_marks import read_marks
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import LogConfig
from tests.observe.world import NOW_MS, RememberingState, commits_from, part

pytestmark = pytest.mark.integration

FS = RealFileSystem()
SMALL = LogConfig(segment_bytes=4_000)
FOREVER = Limits(-1, thins=False)


class World:
    """A directory with a mirror of one partition, and a housekeeper."""

    def __init__(self, path: Path, limits: Limits = FOREVER) -> None:
        self.path = path
        self.directory = ObservedDirectory.open(path, FS)
        self.directory.belongs_to(ObservedLog("foreign", b"\1" * 16, 1))
        self.state, self.progress = RememberingState(), FollowProgress()
        self.mirror = Mirror.open(path, 1, FS, SMALL)
        self.pipeline = Pipeline(self.mirror, self.state, self.progress)
        self.keeper = Housekeeper(self.pipeline, self.progress, FS, limits, roll_bytes=1)

    async def commits(self, count: int) -> None:
        position = self.mirror.next_offset(0)
        await self.pipeline.take([part(0, position, commits_from(position, count, 3))])

    async def close(self) -> None:
        self.keeper.close()
        await self.pipeline.close()
        self.directory.close()

    def segments(self) -> int:
        return sum(path.stat().st_size for path in offsets_log_dir(self.path, 0).glob("*.log"))


async def test_a_round_extracts_everything_and_leaves_the_live_records(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    await world.commits(3_000)
    before = world.segments()
    await world.keeper.round()
    assert world.progress.housekeeping_problem == ""
    assert (world.progress.extracted_segments > 3, world.progress.compactions) == (True, 1)
    assert world.segments() < before // 20
    await world.commits(30)
    await world.close()

    # Nothing of the past is lost, and a restart finds the same state.
    assert main(["history", "commits", "g", "--data-dir", str(tmp_path), "--json", "--limit", "5000"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [each["offset"] for each in found] == list(range(3_030))
    again, state = Mirror.open(tmp_path, 1, FS, SMALL), RememberingState()
    for decoded in again.replay(Decoder()):
        state.commits(decoded.groups, decoded.topics, decoded.partitions, decoded.offsets, decoded.at_ms)
    assert state.offsets == {("g", "t", 0): 3_029}
    assert again.next_offset(0) == 3_030
    again.close()


async def test_following_goes_on_while_a_round_is_at_work(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.commits(600)
    work = asyncio.create_task(world.keeper.round())
    taken = 0
    while not work.done():
        await world.commits(3)
        taken += 3
        await asyncio.sleep(0.01)
    await work
    assert taken > 30
    assert world.progress.housekeeping_problem == ""
    await world.keeper.round()
    assert world.progress.compactions == 2
    end = 600 + taken
    assert world.state.offsets == {("g", "t", 0): end - 1}
    await world.close()
    again, state = Mirror.open(tmp_path, 1, FS, SMALL), RememberingState()
    for decoded in again.replay(Decoder()):
        state.commits(decoded.groups, decoded.topics, decoded.partitions, decoded.offsets, decoded.at_ms)
    assert (state.offsets, again.next_offset(0)) == ({("g", "t", 0): end - 1}, end)
    again.close()


async def test_a_plan_that_a_crash_left_is_given_up_at_the_next_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.commits(600)
    await world.keeper._roll()
    await world.keeper._extract()
    assert (await world.keeper._plan()).plan is not None
    world.keeper.close()
    world.mirror.abandon()
    world.directory.close()

    assert "was given up" in " ".join(recover(FS, tmp_path, epoch="another", now_ms=NOW_MS))
    again = World(tmp_path)
    await again.keeper.round()
    assert again.progress.housekeeping_problem == ""
    assert again.progress.compactions == 1
    await again.close()


async def test_a_round_that_fails_is_told_and_the_next_one_mends_it(tmp_path: Path) -> None:
    world = World(tmp_path)
    await world.commits(300)
    (tmp_path / "history").write_text("a file in the way")
    await world.keeper.round()
    assert "history" in world.progress.housekeeping_problem
    (tmp_path / "history").unlink()
    await world.keeper.round()
    assert world.progress.housekeeping_problem == ""
    await world.close()


@pytest.mark.parametrize("by", ["age", "size"])
async def test_old_parquet_is_removed_and_counts_as_compacted(
    tmp_path: Path, by: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(tmp_path)
    await world.commits(600)
    await world.keeper._roll()
    await world.keeper._extract()
    files = sorted((tmp_path / "history").rglob("seg-*.parquet"))
    source = HistorySource.of(tmp_path)
    size = sum(path.stat().st_size for path in files)
    limits = {
        "age": (Limits(DAY_MS), NOW_MS + 3 * DAY_MS),
        "size": (Limits(-1, max_bytes=size // 2), NOW_MS),
    }[by]
    removed = forget_old(source, *limits, FS)
    left = sorted((tmp_path / "history").rglob("seg-*.parquet"))
    marks = read_marks(tmp_path / "history")
    assert marks is not None
    assert 0 < len(left) < len(files)
    assert sum(path.stat().st_size for path in left) == removed.left_bytes == size - removed.bytes
    if by == "age":
        assert len(left) == 2, "the last commit of each partition, and the newest segment"
    else:
        assert removed.left_bytes <= size // 2
    # No file counts as missing, and the next extraction goes on.
    capsys.readouterr()
    assert main(["history", "commits", "g", "--data-dir", str(tmp_path), "--json"]) == 0, capsys.readouterr().err
    offsets = [each["offset"] for each in json.loads(capsys.readouterr().out)]
    assert offsets[-1] == 599 and len(offsets) < 600
    assert 0 < marks.of(0).compacted_to < 600
    assert forget_old(source, *limits, FS).segments == 0
    await world.commits(300)
    await world.keeper.round()
    assert world.progress.housekeeping_problem == ""
    await world.close()
