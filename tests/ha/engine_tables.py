"""`coordinator tables` from an engine, whichever it is: the life of a node, and tables that are added to meanwhile."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from coordinator.cli.history import stream
from coordinator.cli.main import main
from coordinator.config.sources import load
from coordinator.core.live_cluster import OwnedPartition
from coordinator.engine.log_reading import reading
from coordinator.history.source import HistorySource
from coordinator.history.stream_writer import StreamWriter
from coordinator.history.tables import load_group
from coordinator.storage.history_marks import read_marks
from tests.ha.asking import GROUPS, commit_where_it_is_led
from tests.ha.engines import SharedEngine
from tests.ha.nodes import OVERRIDES, EngineNodes
from tests.history.worlds import tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LONGEST_S = 240  # on a busy machine
# Each stop makes snapshots of all partitions, and deletes what they cover.
DELETING = ("ha.log.keep.ms=0", "offsets.snapshot.min.bytes=0", "offsets.snapshot.stop.ms=60000")


class World:
    """A node of an engine, and what was acknowledged to its clients."""

    def __init__(self, directory: Path, engine: SharedEngine, nodes: EngineNodes) -> None:
        self.directory = directory
        self.nodes = nodes
        self.acknowledged: list[tuple[str, int]] = []  # group and offset
        settings = [*OVERRIDES, *engine.overrides(engine.targets, [])]
        self.config = directory / "server.properties"
        self.config.write_text("\n".join(settings))

    async def commit(self, times: int) -> None:
        for _ in range(times):
            for partition, group in GROUPS.items():
                offset = len(self.acknowledged)
                await commit_where_it_is_led(self.nodes, 1, partition, offset)
                self.acknowledged.append((group, offset))

    async def stream(self, name: str) -> int:
        """Add what exists now to some tables; returns the exit code."""
        words = ["tables", "--tables-dir", str(self.directory / name), "--config", str(self.config)]
        return await asyncio.to_thread(main, [*words, "--available-now", "--max-offsets-per-trigger", "24"])

    def commits(self, name: str) -> list[tuple[str, int]]:
        rows = tables(self.directory / name)["commits"]
        assert len({(row["group"], row["log_offset"]) for row in rows}) == len(rows)
        return sorted((row["group"], row["committed_offset"]) for row in rows)

    async def owners(self) -> dict[int, OwnedPartition]:
        async with reading(load(self.config.read_text())) as engine:
            return dict((await engine.directory.view()).owners)


def compacted(tables_dir: Path) -> list[int]:
    """Return for each partition up to which offset its tables may lack records; 0: they lack none."""
    marks = read_marks(tables_dir)
    assert marks is not None
    return [mark.compacted_to for mark in marks.partitions.values()]


class KilledError(Exception):
    """The end of a run."""


async def each_commit_is_in_the_tables_once(
    engine: SharedEngine, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run the scenario: commits, a node that is killed, runs that are killed, and batches that are deleted."""
    monkeypatch.setattr(stream, "_spark", lambda *_: nullcontext(spark))
    enter = StreamWriter.enter
    kills: list[bool] = []  # whether the marks move before the end of a run

    def killed(self: StreamWriter, *rest: Any) -> Any:
        if not kills:
            return enter(self, *rest)
        if kills.pop():
            enter(self, *rest)
        raise KilledError

    monkeypatch.setattr(StreamWriter, "enter", killed)
    async with asyncio.timeout(LONGEST_S), EngineNodes(tmp_path, engine, 1, overrides=DELETING) as nodes:
        world = World(tmp_path, engine, nodes)
        await world.commit(3)
        owners = await world.owners()
        assert await world.stream("all") == 0
        assert await world.owners() == owners, "the tables claim nothing"
        assert world.commits("all") == sorted(world.acknowledged)
        nodes.nodes[1].kill()
        await nodes.nodes[1].start()
        await world.commit(2)
        for moves in (False, True):
            kills[:] = [moves]
            with pytest.raises(Exception, match="KilledError"):
                await world.stream("all")
        for _ in range(2):
            assert await world.stream("all") == 0
            assert world.commits("all") == sorted(world.acknowledged)
        before = dict(world.acknowledged)
        assert await nodes.nodes[1].terminate() == 0
        await nodes.nodes[1].start()
        await world.commit(1)
        for name in ("all", "late"):
            assert await world.stream(name) == 0
        assert world.commits("all") == sorted(world.acknowledged)
        later = world.acknowledged[-len(GROUPS) :]
        assert world.commits("late") == sorted([*before.items(), *later]), "a snapshot has the newest commits"
        assert not nodes.complaints()
    assert not any(compacted(tmp_path / "all"))
    assert all(compacted(tmp_path / "late"))
    for group, offset in later:
        past = load_group(HistorySource.of(tmp_path / "none", tmp_path / "all"), group)
        assert past.commits.offset.tolist()[-1] == offset, "they answer the questions of `coordinator history`"
