"""Nodes that do not know the same cluster: they do not start, or do not talk, and a sentence says where they differ."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.cli.main import main
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.admin import assign_topic
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.nodes import CLUSTER_ID, Nodes, free_ports
from tests.support.questions import commit_offsets, committed_offsets, list_groups, produce
from tests.support.wire import call

pytestmark = pytest.mark.integration

CANNOT_START = 2


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with Nodes(tmp_path_factory.mktemp("nodes"), topics=("orders:6",)) as nodes:
        nodes.know("orders", 6)
        yield nodes


@pytest.fixture
def nodes(running: Nodes) -> Iterator[Nodes]:
    """All three are up before a test, and again after it."""
    yield running
    for number in running:
        if not running[number].is_running:
            running[number].start()


def refusal(daemon: Daemon) -> str:
    """Return the error of a daemon that does not start."""
    daemon.log_file.unlink(missing_ok=True)
    code = daemon.spawn().wait(timeout=30)
    daemon._process = None  # it ended as it should: nothing to be stopped
    said = daemon.log_lines()[-1]
    assert code == CANNOT_START, said
    return said


def in_the_place_of(nodes: Nodes, number: int, directory: Path, *different: str) -> Daemon:
    """A node is stopped, and what would start at its address has other settings and an empty directory."""
    old = nodes[number]
    old.stop()
    keys = tuple(setting.partition("=")[0] + "=" for setting in different)
    daemon = Daemon(directory, overrides=(*(each for each in old._overrides if not each.startswith(keys)), *different))
    daemon.port = old.port
    return daemon


@pytest.mark.parametrize("number", [1, 3], ids=["the controller", "another node"])
def test_a_node_with_another_cluster_id_does_not_start(nodes: Nodes, tmp_path: Path, number: int) -> None:
    said = refusal(in_the_place_of(nodes, number, tmp_path, "cluster.id=other"))
    assert re.search(f"cluster.id is '{CLUSTER_ID}' on node [123] and 'other' on node {number}", said)
    assert "every node of a cluster must have the same settings" in said


@pytest.mark.parametrize("number", [1, 3], ids=["the controller", "another node"])
def test_a_node_with_another_list_of_nodes_does_not_start(nodes: Nodes, tmp_path: Path, number: int) -> None:
    listed = ",".join(f"{each}@{nodes[each].address}" for each in nodes)
    said = refusal(in_the_place_of(nodes, number, tmp_path, f"cluster.nodes={listed},4@127.0.0.1:9"))
    assert re.search(f"cluster.nodes has the nodes 1, 2, 3 on node [123] and 1, 2, 3, 4 on node {number}", said)


def test_a_node_with_another_number_of_offsets_partitions_does_not_start_and_the_others_say_why(
    nodes: Nodes, tmp_path: Path
) -> None:
    said = refusal(in_the_place_of(nodes, 3, tmp_path, "offsets.topic.num.partitions=50"))
    assert re.search("offsets.topic.num.partitions is 8 on node [12] and 50 on node 3", said)
    for number in (1, 2):
        sentence = f"offsets.topic.num.partitions is 8 on node {number} and 50 on node 3"
        assert f"node refused node=3 reason={sentence}" in nodes[number].log_text()
        assert nodes.partitions(number, "orders") == 6


def test_a_second_process_with_the_same_id_does_not_start(nodes: Nodes, tmp_path: Path) -> None:
    twin = Daemon(tmp_path / "twin", overrides=nodes[2]._overrides)
    (twin.port,) = free_ports(1)
    assert "node 2 runs already" in refusal(twin)


def test_a_cluster_needs_a_name(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "node", overrides=("cluster.nodes=1@127.0.0.1:9,2@127.0.0.1:10",))
    assert "belongs to no cluster yet; set cluster.id to a name of your choice" in refusal(daemon)


def test_a_controller_that_lost_its_disk_is_not_followed_and_no_topic_is_lost(nodes: Nodes) -> None:
    produce(nodes[2].port, "orders", next(iter(led_by(nodes, 2))), [b"kept"])
    controller = nodes[1]
    controller.kill()
    shutil.rmtree(controller.data_dir)
    controller._topics = ()  # it would make the topic anew, under another id
    controller.start()
    for number in (2, 3):
        eventually(lambda number=number: "did not come from node 1" in nodes[number].log_text(), "it is said")
        assert nodes.partitions(number, "orders") == 6
    nodes[2].terminate()
    assert "copy topics.json to node 1 from the node whose topics are right" in refusal(nodes[2])
    # What the sentence says to do.
    controller.terminate()
    shutil.copy(nodes[3].data_dir / "topics.json", controller.data_dir / "topics.json")
    controller.start()
    nodes[2].start()
    nodes.know("orders", 6)


def led_by(nodes: Nodes, number: int) -> list[int]:
    """The partitions of `orders` that a node leads."""
    (topic,) = call(nodes[1].port, MetadataRequest(topics=[MetadataRequestTopic(name="orders")]), 9).topics
    return [each.partition_index for each in topic.partitions if each.leader_id == number]


def test_records_that_belong_to_another_node_are_not_left_behind_when_a_cluster_grows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = [f"g-{number}" for number in range(12)]
    with Daemon(tmp_path / "alone", topics=("orders:3",)) as alone:
        for group in groups:
            commit_offsets(alone.port, group, {("orders", 0): 7})
        assert assign_topic(alone.port, "kept", 1, 1, 1) is ErrorCode.NONE
        for topic in ("orders", "kept"):
            for index in range(3):
                produce(alone.port, topic, index, [b"before"])
    meta = (alone.data_dir / "meta.properties").read_text()
    cluster_id = next(line.partition("=")[2] for line in meta.splitlines() if line.startswith("cluster.id="))
    grown = Nodes(tmp_path / "grown", overrides=(f"cluster.id={cluster_id}",)).prepare()
    shutil.copytree(alone.data_dir, grown[1].data_dir)
    said = refusal(grown[1])
    assert "holds records of" in said and "docs/cluster.md says how" in said
    # What docs/cluster.md says: the directories to their owners.
    assert main(["cluster", "owners", str(grown[1].data_dir), "--nodes", "1,2,3", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["owner"] for row in rows if row["directory"].startswith("kept-")} == {1}, "assigned by hand"
    for row in rows:
        home = grown[row["owner"]].data_dir
        home.mkdir(exist_ok=True)
        if home != grown[1].data_dir:
            shutil.move(grown[1].data_dir / row["directory"], home / row["directory"])
    for number in grown:
        grown[number].spawn()
    try:
        for number in grown:
            grown[number].await_ready()
        for group in groups:
            owner = next(number for number in grown if group in list_groups(grown[number].port))
            assert committed_offsets(grown[owner].port, group) == {("orders", 0): 7}
        assert {len(list_groups(grown[number].port)) > 0 for number in grown} == {True}
        grown.know("orders", 3)  # who was ready before the controller served hears of topics a moment later
        for number in grown:
            for index in led_by(grown, number):
                assert produce(grown[number].port, "orders", index, [b"after"]) == 1, "behind what was there before"
        assert [produce(grown[1].port, "kept", index, [b"after"]) for index in range(3)] == [1, 1, 1]
    finally:
        for number in grown:
            grown[number].stop()
