"""A node that is away: the others go on, and it has everything that happened meanwhile when it is back."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from tests.support.admin import (
    create_topic,
    delete_topic,
    grow_topic,
    replace_topic_configs,
    set_topic_config,
    topic_metadata,
)
from tests.support.eventually import eventually
from tests.support.nodes import Nodes
from tests.support.questions import commit_offsets, committed_offsets, produce

pytestmark = pytest.mark.integration

LOST, FOUND = "controller not reached", "following node=1"
OVERRIDES = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with Nodes(tmp_path / "nodes", overrides=OVERRIDES, topics=("orders:6",)) as running:
        running.know("orders", 6)
        yield running


def led_by(nodes: Nodes, number: int, topic: str) -> list[int]:
    partitions = topic_metadata(nodes[1].port, topic).partitions
    return [each.partition_index for each in partitions if each.leader_id == number]


def ids(nodes: Nodes, topic: str) -> set[bytes]:
    return {topic_metadata(nodes[number].port, topic).topic_id for number in nodes}


def test_a_node_that_was_down_has_everything_when_it_is_ready(nodes: Nodes) -> None:
    controller, third = nodes[1].port, nodes[3]
    for name in ("gone", "again", "grown"):
        create_topic(controller, name, 3)
        nodes.know(name, 3)
    group = nodes.group_of(3)
    commit_offsets(third.port, group, {("gone", 0): 5, ("again", 0): 5, ("grown", 0): 5})
    (index, *_) = led_by(nodes, 3, "again")
    produce(third.port, "again", index, [b"of the first topic of this name"])
    third.kill()
    delete_topic(controller, "gone")
    delete_topic(controller, "again")
    create_topic(controller, "again", 3)
    grow_topic(controller, "grown", 7)
    set_topic_config(controller, "grown", "retention.ms", "1234567")
    create_topic(controller, "new", 9)
    third.start()
    # Now, and not eventually: it asked before it served any client.
    assert {name: nodes.partitions(3, name) for name in ("gone", "again", "grown", "new")} == {
        "gone": None,
        "again": 3,
        "grown": 7,
        "new": 9,
    }
    assert len(ids(nodes, "again")) == len(ids(nodes, "grown")) == 1
    assert produce(third.port, "again", index, [b"of the second"]) == 0
    eventually(
        lambda: committed_offsets(third.port, group) == {("grown", 0): 5},
        "what was committed for topics that are gone is gone",
    )
    commit_offsets(third.port, group, {("again", 0): 1})
    third.restart()
    assert committed_offsets(third.port, group) == {("again", 0): 1, ("grown", 0): 5}


def test_without_the_controller_the_others_serve_what_they_own(nodes: Nodes) -> None:
    nodes[1].kill()
    for number in (2, 3):
        eventually(lambda number=number: LOST in nodes[number].log_text(), f"node {number} notices")
    for number in (2, 3):
        port, group = nodes[number].port, nodes.group_of(number)
        commit_offsets(port, group, {("orders", 0): 1})
        nodes[number].restart()  # and from what is on its own disk
        assert nodes.partitions(number, "orders") == 6
        assert committed_offsets(port, group) == {("orders", 0): 1}
        assert create_topic(port, "later") is ErrorCode.NOT_CONTROLLER
        assert set_topic_config(port, "orders", "retention.ms", "5000") is ErrorCode.NOT_CONTROLLER
        assert replace_topic_configs(port, "orders", retention_ms="5000") is ErrorCode.NOT_CONTROLLER
        topic_metadata(port, "wanted", may_create=True)
    nodes[1].start()
    assert nodes.partitions(1, "wanted") is None, "what could not be passed on is dropped"
    for number in (2, 3):
        eventually(lambda number=number: nodes[number].log_lines()[-1].count(FOUND), f"node {number} follows again")
    topic_metadata(nodes[2].port, "wanted", may_create=True)
    nodes.know("wanted", 1)


def test_each_change_of_the_link_is_one_line(nodes: Nodes) -> None:
    second = nodes[2]
    eventually(lambda: FOUND in second.log_text(), "the controller is followed")

    def told(line: str) -> int:
        return second.log_text().count(line) - at_start[line]

    at_start = {line: second.log_text().count(line) for line in (LOST, FOUND)}  # it may have started first
    for outage in range(1, 4):
        nodes[1].kill()
        eventually(lambda outage=outage: told(LOST) == outage, "the controller is missed")
        nodes[1].start()
        eventually(lambda outage=outage: told(FOUND) == outage, "it is followed again")
    assert told(LOST) == told(FOUND) == 3


def test_a_controller_that_is_stopped_holds_up_no_other_node(nodes: Nodes) -> None:
    nodes.freeze(1)
    second = nodes[2]
    group = nodes.group_of(2)
    for number in range(1, 30):
        commit_offsets(second.port, group, {("orders", 0): number})
    eventually(lambda: LOST in second.log_text(), "the controller is missed", within_s=30)
    assert set_topic_config(second.port, "orders", "retention.ms", "5000") in (
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
    )
    nodes.unfreeze(1)
    create_topic(nodes[1].port, "after", 3)
    nodes.know("after", 3)
    assert committed_offsets(second.port, group) == {("orders", 0): 29}


def test_all_nodes_down_and_up_in_any_order_know_the_same(nodes: Nodes) -> None:
    create_topic(nodes[1].port, "more", 4)
    nodes.know("more", 4)
    for order in ((3, 2, 1), (2, 1, 3)):
        for number in nodes:
            nodes[number].stop()
        for number in order:
            nodes[number].start()
        nodes.know("more", 4)
        assert len(ids(nodes, "more")) == 1
