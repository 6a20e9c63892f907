"""The follower at a cluster in memory: leaders that change, nodes that die, ranges that moved, missing rights."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from coordinator.observe import backoff, follower
from coordinator.observe.errors import LogRecreatedError
from coordinator.observe.fetching import NO_RIGHTS
from coordinator.observe.follower import Follower
from coordinator.observe.mirror import Mirror
from coordinator.observe.pipeline import Pipeline
from coordinator.observe.progress import FollowProgress
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.log.fs import RealFileSystem
from protocol.error_codes import ErrorCode
from tests.observe.fake_cluster import FakeCluster
from tests.observe.world import RememberingState, commits_from, log_bytes
from tests.support.eventually import eventually_async


class World:
    """A follower with a real mirror at a cluster in memory."""

    def __init__(self, path: Path, cluster: FakeCluster) -> None:
        self.path = path
        self.cluster = cluster
        self.progress = FollowProgress()
        self.state = RememberingState()
        self.mirror = Mirror.open(path, len(cluster.leaders), RealFileSystem())
        self.pipeline = Pipeline(self.mirror, self.state, self.progress)

        async def on_layout(_: object) -> Pipeline:
            return self.pipeline

        self.follower = Follower(cluster, self.progress, on_layout=on_layout, pace_s=0.001)  # type: ignore[arg-type]

    async def until(self, condition: Callable[[], bool], within_s: float = 10.0) -> None:
        await eventually_async(condition, "it happens", within_s=within_s)

    async def until_caught_up(self) -> None:
        await self.until(
            lambda: all(self.mirror.next_offset(each) == self.cluster.end(each) for each in self.cluster.leaders)
        )

    def same_bytes(self) -> None:
        for partition, data in self.cluster.logs.items():
            assert log_bytes(list(offsets_log_dir(self.path, partition).glob("*.log"))) == data


@asynccontextmanager
async def following(path: Path, cluster: FakeCluster) -> AsyncIterator[World]:
    world = World(path, cluster)
    task = asyncio.create_task(world.follower.run())
    try:
        yield world
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await world.pipeline.close()


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower, "TELL_PAUSE_S", 0.02)
    monkeypatch.setattr(backoff.Backoff.__init__, "__defaults__", (0.005, 0.05))


def three_nodes() -> FakeCluster:
    cluster = FakeCluster({0: 1, 1: 2, 2: 3, 3: 1})
    for partition in cluster.leaders:
        cluster.append(partition, commits_from(0, 40 + partition, 3, group=f"g{partition}"))
    return cluster


async def test_all_partitions_are_followed_with_one_request_in_flight_for_each_node(tmp_path: Path) -> None:
    async with following(tmp_path, three_nodes()) as world:
        await world.until_caught_up()
        await world.until(lambda: world.progress.caught_up)
        assert world.cluster.most_in_flight == 1
        assert world.state.caught_up_times == 1
        assert world.state.offsets == {(f"g{each}", "t", 0): 39 + each for each in range(4)}
        assert (world.progress.lag, world.progress.problem) == (0, "")
        assert world.progress.records == 40 + 41 + 42 + 43
        world.cluster.append(2, commits_from(42, 5, group="late"))
        await world.until_caught_up()
    world.same_bytes()


async def test_a_partition_that_has_another_leader_is_followed_there(tmp_path: Path) -> None:
    async with following(tmp_path, three_nodes()) as world:
        await world.until_caught_up()
        for number in range(6):
            world.cluster.leaders[0] = 1 + number % 3
            world.cluster.append(0, commits_from(world.cluster.end(0), 4, 2))
            await world.until_caught_up()
    world.same_bytes()


async def test_metadata_that_is_out_of_date_does_no_harm(tmp_path: Path) -> None:
    cluster = three_nodes()
    cluster.told_leaders = {0: 2, 1: -1, 2: 3, 3: 1}
    async with following(tmp_path, cluster) as world:
        await world.until(lambda: world.mirror.next_offset(2) == cluster.end(2))
        cluster.told_leaders = None
        await world.until_caught_up()
        await world.until(lambda: not world.progress.problem)
    world.same_bytes()


async def test_a_node_that_dies_and_returns_is_followed_again(tmp_path: Path) -> None:
    async with following(tmp_path, three_nodes()) as world:
        await world.until_caught_up()
        world.cluster.dead.add(2)
        await world.until(lambda: "node 2" in world.progress.problem)
        for partition in world.cluster.leaders:
            world.cluster.append(partition, commits_from(world.cluster.end(partition), 3))
        await world.until(lambda: world.mirror.next_offset(0) == world.cluster.end(0))
        assert world.mirror.next_offset(1) == 41
        world.cluster.dead.clear()
        await world.until_caught_up()
        await world.until(lambda: not world.progress.problem)
        assert world.progress.reconnects == 1
    world.same_bytes()


async def test_a_cluster_that_vanishes_is_asked_in_growing_pauses(tmp_path: Path) -> None:
    async with following(tmp_path, three_nodes()) as world:
        await world.until_caught_up()
        world.cluster.is_gone = True
        await world.until(lambda: world.progress.problem != "")
        await asyncio.sleep(0.3)
        before = world.cluster.asked["metadata"]
        await asyncio.sleep(0.3)
        assert world.cluster.asked["metadata"] - before < 20
        world.cluster.is_gone = False
        world.cluster.append(0, commits_from(world.cluster.end(0), 3))
        await world.until_caught_up()
        await world.until(lambda: not world.progress.problem)
    world.same_bytes()


async def test_a_log_that_begins_later_leaves_a_gap(tmp_path: Path) -> None:
    cluster = FakeCluster({0: 1})
    cluster.starts[0] = 1_000
    cluster.append(0, commits_from(1_000, 10))
    async with following(tmp_path, cluster) as world:
        await world.until_caught_up()
        assert world.progress.gaps == 1
    world.same_bytes()


async def test_a_log_that_ends_before_the_mirror_is_another_one(tmp_path: Path) -> None:
    world = World(tmp_path, three_nodes())
    task = asyncio.create_task(world.follower.run())
    await world.until_caught_up()
    world.cluster.logs[1] = commits_from(0, 5)
    with pytest.raises(LogRecreatedError, match="partition 1 ends at 5, before the mirror, which ends at 41"):
        await asyncio.wait_for(task, 10)
    await world.pipeline.close()


@pytest.mark.parametrize("where", ["metadata", "fetch"])
async def test_missing_rights_are_told_and_following_begins_when_they_are_given(tmp_path: Path, where: str) -> None:
    cluster = three_nodes()
    if where == "metadata":
        cluster.topic_error = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    else:
        cluster.errors = dict.fromkeys(cluster.leaders, int(ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    async with following(tmp_path, cluster) as world:
        await world.until(lambda: world.progress.problem == NO_RIGHTS)
        assert "Describe and Read on topic __consumer_offsets" in NO_RIGHTS
        cluster.topic_error, cluster.errors = 0, {}
        await world.until_caught_up()
        await world.until(lambda: not world.progress.problem)


async def test_a_topic_that_does_not_exist_yet_is_awaited(tmp_path: Path) -> None:
    cluster = three_nodes()
    cluster.topic_error = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    async with following(tmp_path, cluster) as world:
        await world.until(lambda: "no topic __consumer_offsets yet" in world.progress.problem)
        cluster.topic_error = 0
        await world.until_caught_up()


async def test_damaged_bytes_are_told_and_fetched_again(tmp_path: Path) -> None:
    cluster = FakeCluster({0: 1})
    good = commits_from(0, 3)
    cluster.logs[0] = good[:-2] + bytes([good[-2] ^ 1]) + good[-1:]
    async with following(tmp_path, cluster) as world:
        await world.until(lambda: "arrived damaged" in world.progress.problem)
        cluster.logs[0] = good
        await world.until_caught_up()
        await world.until(lambda: not world.progress.problem)
    world.same_bytes()


async def test_a_disk_that_fails_for_a_while_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from coordinator.storage.log.fs import RealFile

    async with following(tmp_path, three_nodes()) as world:
        await world.until_caught_up()
        write = RealFile.pwrite

        def failing(self: RealFile, data: bytes, position: int) -> None:
            write(self, data[:5], position)
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(RealFile, "pwrite", failing)
        for partition in world.cluster.leaders:
            world.cluster.append(partition, commits_from(world.cluster.end(partition), 30, group="full"))
        await world.until(lambda: "No space left" in world.progress.problem)
        monkeypatch.setattr(RealFile, "pwrite", write)
        await world.until_caught_up()
        await world.until(lambda: not world.progress.problem)
    world.same_bytes()
