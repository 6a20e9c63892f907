"""Ownership is the same on every node, complete and even, and no partition has two owners."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.config.values import MAX_NODE_ID, Address
from coordinator.core.cluster import PRODUCER_ID_BITS, Cluster, ClusterIdentity, ClusterNode, why_different

ids = st.sets(st.integers(0, MAX_NODE_ID), min_size=1, max_size=9)
SECONDS_IN_2105 = 4_270_000_000


def clusters(numbers: set[int]) -> list[Cluster]:
    """The cluster of these nodes, as each of them sees it."""
    addresses = {number: Address(f"node-{number}", 9092) for number in numbers}
    return [Cluster.of(addresses, number) for number in numbers]


@given(ids, st.integers(0, 9999))
def test_every_offsets_partition_has_one_owner_on_which_all_nodes_agree(numbers: set[int], partition: int) -> None:
    views = clusters(numbers)
    assert len({view.coordinator(partition) for view in views}) == 1
    assert [view.owns_offsets_partition(partition) for view in views].count(True) == 1


@given(ids, st.text("abcxyz.-_", min_size=1), st.integers(0, 9999))
def test_every_topic_partition_has_one_leader_on_which_all_nodes_agree(
    numbers: set[int], topic: str, partition: int
) -> None:
    leaders = {view.ownership.owner_of_topic_partition(topic, partition) for view in clusters(numbers)}
    assert len(leaders) == 1 and leaders <= numbers


def test_the_rule_is_round_robin_and_never_changes() -> None:
    """A change of the rule would leave records on nodes that no longer look for them."""
    rule = clusters({1, 2, 3})[0].ownership
    assert [rule.owner_of_offsets_partition(number) for number in range(8)] == [1, 2, 3, 1, 2, 3, 1, 2]
    assert [rule.owner_of_topic_partition("orders", number) for number in range(4)] == [3, 1, 2, 3]
    assert [rule.owner_of_topic_partition("payments", number) for number in range(4)] == [1, 2, 3, 1]
    assert [rule.owner_of_topic_partition("payments", 0, assigned) for assigned in (1, 2, 3, 4)] == [1, 2, 3, 1]


def test_topics_of_one_partition_are_spread_over_the_nodes() -> None:
    rule = clusters({1, 2, 3})[0].ownership
    shares = Counter(rule.owner_of_topic_partition(f"topic-{number}", 0) for number in range(300))
    assert min(shares.values()) > 60


@given(ids)
def test_the_controller_is_the_lowest_id(numbers: set[int]) -> None:
    views = clusters(numbers)
    assert {view.controller.id for view in views} == {min(numbers)}
    assert [view.node_id for view in views if view.is_controller] == [min(numbers)]


def test_a_node_alone_owns_everything() -> None:
    alone = Cluster.alone(7, "here", 9092)
    assert alone.is_alone and alone.is_controller and not alone.others()
    assert alone.me == alone.controller == alone.coordinator(5) == ClusterNode(7, "here", 9092)
    assert all(alone.owns_offsets_partition(number) for number in range(50))


@given(ids.filter(lambda numbers: len(numbers) > 1), st.integers(0, SECONDS_IN_2105), st.integers(0, SECONDS_IN_2105))
def test_producer_ids_of_two_nodes_never_meet_whenever_they_began(numbers: set[int], one: int, other: int) -> None:
    views = sorted(clusters(numbers), key=lambda view: view.node_id)
    for lower, higher in pairwise(views):
        assert lower.first_producer_id(one) >= 1 << PRODUCER_ID_BITS  # what a Kafka gives
        last_of_the_lower = ((lower.node_id + 2) << PRODUCER_ID_BITS) - 1
        assert lower.first_producer_id(one) <= last_of_the_lower < higher.first_producer_id(other) < 1 << 63


def test_a_node_that_lost_its_disk_begins_above_the_producer_ids_it_gave_before() -> None:
    view = clusters({1, 2})[0]
    assert view.first_producer_id(2_000) - view.first_producer_id(1_000) == 256 * 1_000


A, B = ClusterNode(1, "a", 9092), ClusterNode(2, "b", 9092)
SAME = ClusterIdentity("shop", (A, B), 8)


@pytest.mark.parametrize(
    ("theirs", "sentence"),
    [
        (SAME, None),
        (ClusterIdentity("shop", (B, A), 8), None),
        (ClusterIdentity("bank", (A, B), 8), "cluster.id is 'shop' on node 1 and 'bank' on node 2"),
        (ClusterIdentity("shop", (A,), 8), "cluster.nodes has the nodes 1, 2 on node 1 and 1 on node 2"),
        (
            ClusterIdentity("shop", (A, B._replace(port=1)), 8),
            "cluster.nodes has 2@b:9092 on node 1 and 2@b:1 on node 2",
        ),
        (ClusterIdentity("shop", (A, B), 50), "offsets.topic.num.partitions is 8 on node 1 and 50 on node 2"),
    ],
    ids=["same", "order", "cluster id", "nodes", "address", "partitions"],
)
def test_a_difference_between_nodes_is_told_in_one_sentence(theirs: ClusterIdentity, sentence: str | None) -> None:
    assert why_different(SAME, theirs, ("node 1", "node 2")) == sentence
