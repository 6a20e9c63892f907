"""The observer as a whole, at our own daemon over real sockets and at a cluster in memory."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from pathlib import Path

import pytest

from coordinator.cli.main import main
from coordinator.observe.errors import ObserveError
from coordinator.observe.observer import Observer, ObserverSettings
from tests.observe.fake_cluster import FakeCluster
from tests.observe.follow import Following
from tests.observe.world import RememberingState, commits_from, log_bytes
from tests.support.daemon import Daemon
from tests.support.eventually import eventually, eventually_async
from tests.support.questions import commit_offsets
from tests.support.wire import ConnectionEnded

PARTITIONS = 3
ROUND = 250  # commits between two kills


def observer_at(cluster: FakeCluster, directory: Path, fresh: list[RememberingState] | None = None) -> Observer:
    """Return an observer that has not been started, at a cluster in memory."""

    def fresh_state() -> RememberingState:
        assert fresh is not None
        fresh.append(RememberingState())
        return fresh[-1]

    settings = ObserverSettings("fake:1", directory, housekeeping_s=0)
    observer = Observer(settings, RememberingState(), fresh_state=fresh_state if fresh is not None else None)
    observer._cluster = cluster  # type: ignore[assignment]
    return observer


def small() -> FakeCluster:
    cluster = FakeCluster({0: 1, 1: 1})
    cluster.append(0, commits_from(0, 20, 3))
    cluster.append(1, commits_from(0, 7, 3, group="h"))
    return cluster


async def mirror(cluster: FakeCluster, directory: Path) -> None:
    """Follow the cluster until all of it is in the mirror."""
    observer = observer_at(cluster, directory)
    await observer.start()
    await eventually_async(lambda: observer.progress.caught_up, "it has caught up")
    await observer.stop()


async def test_a_second_start_goes_on_where_the_first_ended(tmp_path: Path) -> None:
    cluster = small()
    first = observer_at(cluster, tmp_path)
    await first.start()
    await eventually_async(lambda: first.progress.caught_up, "it has caught up")
    assert (first.progress.records, first.partitions, first.cluster_id) == (27, 2, "fake")
    await first.stop()
    cluster.append(0, commits_from(20, 3))
    second = observer_at(cluster, tmp_path)
    await second.start()
    await eventually_async(lambda: second.progress.caught_up, "it has caught up")
    assert (second.progress.replayed_records, second.progress.records) == (27, 3)
    assert second.state.offsets == {("g", "t", 0): 22, ("h", "t", 0): 6}  # type: ignore[attr-defined]
    await second.stop()


async def test_another_cluster_in_the_same_directory_is_refused(tmp_path: Path) -> None:
    first = observer_at(small(), tmp_path)
    await first.start()
    await eventually_async(lambda: first.progress.caught_up, "it has caught up")
    await first.stop()
    other = small()
    other.cluster_id = "other"
    with pytest.raises(ObserveError, match="mirrors the cluster fake, but --bootstrap-server leads to other"):
        await observer_at(other, tmp_path).start()


async def test_a_cluster_that_turns_into_another_one_ends_the_observation(tmp_path: Path) -> None:
    cluster = small()
    observer = observer_at(cluster, tmp_path)
    await observer.start()
    await eventually_async(lambda: observer.progress.caught_up, "it has caught up")
    cluster.cluster_id = "other"
    cluster.leaders[0] = 2
    with pytest.raises(ObserveError, match="leads to other"):
        await asyncio.wait_for(observer.wait(), 20)
    await observer.stop()


@pytest.mark.parametrize("when", ["running", "stopped"])
async def test_a_topic_that_was_created_again_is_mirrored_anew(tmp_path: Path, when: str) -> None:
    cluster, fresh = small(), []  # type: ignore[var-annotated]
    observer = observer_at(cluster, tmp_path, fresh)
    await observer.start()
    await eventually_async(lambda: observer.progress.caught_up, "it has caught up")
    if when == "stopped":
        await observer.stop()
    cluster.topic_id = b"\2" * 16
    cluster.logs = {0: commits_from(0, 2, group="new"), 1: b""}
    if when == "stopped":
        observer = observer_at(cluster, tmp_path, fresh)
        await observer.start()
    await eventually_async(lambda: observer.progress.restarts == 1 and observer.progress.caught_up, "it began anew")
    assert observer.state is fresh[-1]
    assert fresh[-1].offsets == {("new", "t", 0): 1}
    await observer.stop()
    (aside,) = list(tmp_path.glob("set-aside-*"))  # noqa: ASYNC240 - nothing else runs any more
    assert log_bytes(list((aside / "__consumer_offsets-0").glob("*.log"))) == commits_from(0, 20, 3)
    assert log_bytes(list((tmp_path / "__consumer_offsets-0").glob("*.log"))) == commits_from(0, 2, group="new")


async def test_a_mirror_is_shown_while_the_cluster_cannot_be_reached(tmp_path: Path) -> None:
    cluster = small()
    cluster.is_gone = True
    with pytest.raises(ObserveError, match="nothing listens"):
        await observer_at(cluster, tmp_path).start()
    cluster.is_gone = False
    await mirror(cluster, tmp_path)
    cluster.is_gone = True
    second = observer_at(cluster, tmp_path)
    await second.start()
    await eventually_async(lambda: second.progress.replayed_records == 27, "the state is built")
    assert "nothing listens" in second.progress.problem
    cluster.is_gone = False
    await eventually_async(lambda: second.progress.caught_up and not second.progress.problem, "it goes on")
    await second.stop()


async def test_a_cluster_that_is_back_before_it_is_asked_again_has_no_problem_left(tmp_path: Path) -> None:
    cluster = small()
    await mirror(cluster, tmp_path)
    cluster.is_gone = True
    second = observer_at(cluster, tmp_path)
    await second.start()
    assert "nothing listens" in second.progress.problem
    cluster.is_gone = False  # the first question of the follower is answered
    await eventually_async(lambda: second.progress.caught_up and not second.progress.problem, "it goes on")
    await second.stop()


async def test_partitions_that_were_added_are_followed(tmp_path: Path) -> None:
    cluster = small()
    observer = observer_at(cluster, tmp_path)
    await observer.start()
    await eventually_async(lambda: observer.progress.caught_up, "it has caught up")
    cluster.leaders[2], cluster.starts[2] = 1, 0
    cluster.logs[2] = commits_from(0, 4, group="added")
    cluster.leaders[0] = 2  # so that Metadata is asked again
    await eventually_async(lambda: ("added", "t", 0) in observer.state.offsets, "it is followed")  # type: ignore[attr-defined]
    assert observer.partitions == 3
    await observer.stop()


@pytest.mark.integration
def test_an_observer_of_our_own_daemon_survives_kills_of_both(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "daemon", overrides=[f"offsets.topic.num.partitions={PARTITIONS}"], topics=["orders:2"])
    mirror = tmp_path / "mirror"
    stopping = threading.Event()

    def work() -> None:
        number = 0
        while not stopping.is_set():
            number += 1
            try:
                for group in ("one", "two", "three", "four"):
                    commit_offsets(daemon.port, group, {("orders", 0): number, ("orders", 1): number})
            except (OSError, AssertionError, ConnectionEnded):
                time.sleep(0.1)  # it is being restarted

    with daemon, Following(daemon.address, mirror) as following:
        working = threading.Thread(target=work)
        working.start()
        for round_ in range(5):
            time.sleep(0.6)
            following.kill()
            if round_ % 2:
                daemon.restart()
            following.start()
        time.sleep(0.5)
        stopping.set()
        working.join()
        for group in ("one", "two", "three", "four"):
            commit_offsets(daemon.port, group, {("orders", 0): 1_000_000})
        wanted = {f"{group}|orders|0": 1_000_000 for group in ("one", "two", "three", "four")}
        eventually(
            lambda: wanted.items() <= following.said.get("offsets", {}).items(), "all commits arrived", within_s=40
        )
        assert following.stop() == 0
        daemon.stop()
        for number in range(PARTITIONS):
            name = f"__consumer_offsets-{number}"
            theirs = log_bytes(list((daemon.data_dir / name).glob("*.log")))
            assert log_bytes(list((mirror / name).glob("*.log"))) == theirs, name


@pytest.mark.integration
def test_kills_during_extraction_and_compaction_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OBSERVE_SMALL", "1")
    mirror, number = tmp_path / "mirror", 0
    daemon = Daemon(tmp_path / "daemon", overrides=["offsets.topic.num.partitions=2"], topics=["orders:2"])
    with daemon, Following(daemon.address, mirror) as following:
        compactions = 0
        for round_ in range(6):
            first, deadline = number, time.monotonic() + 60.0
            after_one = round_ % 2  # every second kill comes after a compaction, the others at any moment
            while number < first + ROUND + 37 * round_ or (
                following.said.get("compactions", 0) < after_one and time.monotonic() < deadline
            ):
                number += 1
                for group in ("one", "two", "three"):
                    commit_offsets(daemon.port, group, {("orders", 0): number})
                time.sleep(0.005)
            compactions += following.said.get("compactions", 0)
            following.kill()
            following.start()
        wanted = {f"{group}|orders|0": number for group in ("one", "two", "three")}
        eventually(lambda: wanted.items() <= following.said.get("offsets", {}).items(), "all commits arrived")
        assert following.said["housekeeping"] == ""
        assert following.stop() == 0
    assert compactions >= 3
    for group in ("one", "two", "three"):
        capsys.readouterr()
        words = ["history", "commits", group, "--data-dir", str(mirror), "--json", "--limit", "100000"]
        assert main(words) == 0, capsys.readouterr().err
        assert [each["offset"] for each in json.loads(capsys.readouterr().out)] == list(range(1, number + 1))


@pytest.mark.integration
def test_an_address_without_a_broker_is_one_sentence(tmp_path: Path) -> None:
    with Following("127.0.0.1:1", tmp_path / "mirror") as following:
        eventually(lambda: "failed" in following.said, "it has failed")
        assert "nothing listens on 127.0.0.1:1" in following.said["failed"]
