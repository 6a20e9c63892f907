"""`coordinator groups` and `coordinator topics` against three nodes, and what they say when one of them is down."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from coordinator.cli.main import main
from coordinator.core.topics.names import EVENTS_TOPIC, OFFSETS_TOPIC
from tests.support.admin import topic_metadata
from tests.support.nodes import Nodes
from tests.support.questions import commit_offsets, produce

pytestmark = pytest.mark.integration


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with Nodes(tmp_path / "nodes", topics=("orders:6",)) as running:
        running.know("orders", 6)
        yield running


def shown(capsys: pytest.CaptureFixture[str], address: str, *words: str, code: int = 0) -> tuple[list[Any], str]:
    """The rows that a command tells a program, and what it says to the person."""
    assert main([*words, "--bootstrap-server", address, "--json"]) == code
    said = capsys.readouterr()
    return json.loads(said.out) if said.out else [], said.err


def test_the_commands_are_given_any_node_and_tell_of_all(nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    groups = {number: nodes.group_of(number) for number in nodes}
    for number, group in groups.items():
        commit_offsets(nodes[number].port, group, {("orders", index): 1 for index in range(6)})
    for number in nodes:
        address = nodes[number].address
        rows, _ = shown(capsys, address, "groups", "list")
        assert [row["group"] for row in rows] == sorted(groups.values())
        for owner, group in groups.items():
            rows, _ = shown(capsys, address, "groups", "describe", group)
            assert [(row["partition"], row["current_offset"], row["log_end_offset"]) for row in rows] == [
                (index, 1, 0) for index in range(6)
            ]
            (row,), _ = shown(capsys, address, "groups", "describe", group, "--state")
            assert row["coordinator_id"] == f"{nodes[owner].address} ({owner})"
        rows, _ = shown(capsys, address, "topics", "create", f"new-{number}:3")
        assert [(row["topic"], row["partitioncount"]) for row in rows] == [(f"new-{number}", 3)]
        nodes.know(f"new-{number}", 3)


def test_what_a_node_that_is_down_would_have_told_is_missed_by_name(
    nodes: Nodes, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = {number: nodes.group_of(number) for number in nodes}
    for number, group in groups.items():
        commit_offsets(nodes[number].port, group, {("orders", index): 0 for index in range(6)})
    produce(nodes[2].port, "orders", led_by(nodes, 2), [b"one"])
    nodes[3].kill()
    rows, said = shown(capsys, nodes.bootstrap, "groups", "list", code=1)
    assert [row["group"] for row in rows] == sorted((groups[1], groups[2]))
    assert "the groups of one node are not listed: node 3 is down, or advertises an address" in said
    rows, said = shown(capsys, nodes[2].address, "groups", "describe", groups[1])
    ends = [row["log_end_offset"] for row in rows]
    assert (ends.count(None), ends.count(0), ends.count(1)) == (2, 3, 1), "an end that no node can tell is left open"
    assert "node 3 is down" in said
    _, said = shown(capsys, nodes[1].address, "groups", "describe", groups[3], code=2)
    assert "node 3 is down" in said
    nodes[1].kill()
    _, said = shown(capsys, nodes[2].address, "topics", "create", "later:1", code=2)
    assert "node 1 is down" in said


def test_the_nodes_are_described_up_or_down(nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    commit_offsets(nodes[2].port, nodes.group_of(2), {("orders", 0): 0})
    nodes.know(EVENTS_TOPIC, 8)
    rows, _ = shown(capsys, nodes[3].address, "cluster", "describe")
    assert [(row["node"], row["address"], row["controller"], row["up"], row["groups"]) for row in rows] == [
        (number, nodes[number].address, number == 1, True, int(number == 2)) for number in nodes
    ]
    assert [row["leads"] for row in rows] == [8, 8, 6], "of six partitions of orders, eight of offsets, eight of events"
    nodes[2].kill()
    rows, said = shown(capsys, nodes[3].address, "cluster", "describe", code=1)
    assert [(row["up"], row["groups"]) for row in rows] == [(True, 0), (False, None), (True, 0)]
    assert "node 2 is down" in said


def test_the_owner_of_each_directory_is_told_for_any_list_of_nodes(
    nodes: Nodes, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes.know(EVENTS_TOPIC, 8)
    for number in nodes:
        nodes[number].stop()
        for ids, owners in (("1,2,3", {number}), ("7", {7})):
            assert main(["cluster", "owners", str(nodes[number].data_dir), "--nodes", ids, "--json"]) == 0
            rows = json.loads(capsys.readouterr().out)
            assert {row["owner"] for row in rows} == owners
            assert {row["directory"].rpartition("-")[0] for row in rows} == {"orders", OFFSETS_TOPIC, EVENTS_TOPIC}
    assert main(["cluster", "owners", str(nodes[1].data_dir), "--nodes", "1,x"]) == 2
    assert "must be the ids of the nodes" in capsys.readouterr().err
    assert main(["cluster", "owners", str(nodes[1].data_dir / "nowhere"), "--nodes", "1"]) == 2
    capsys.readouterr()
    assert main(["cluster", "owners", str(nodes[1].data_dir / "__consumer_offsets-0"), "--nodes", "1"]) == 1
    assert "holds no directory of a partition" in capsys.readouterr().err


def led_by(nodes: Nodes, number: int) -> int:
    partitions = topic_metadata(nodes[1].port, "orders").partitions
    return next(int(each.partition_index) for each in partitions if each.leader_id == number)


def test_a_node_that_is_frozen_is_passed_over_for_the_next(nodes: Nodes, capsys: pytest.CaptureFixture[str]) -> None:
    nodes.freeze(1)
    rows, _ = shown(capsys, nodes.bootstrap, "topics", "list", "--timeout", "2")
    assert "orders" in [row["topic"] for row in rows]
