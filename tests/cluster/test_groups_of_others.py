"""A group has one node: every other node names that node, and answers NOT_COORDINATOR to other requests about the
group."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.values import Address
from coordinator.core.cluster import Cluster as Nodes
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster

ADDRESSES = {number: Address(f"node-{number}", 9092) for number in (1, 2, 3)}
PARTITIONS = 8
NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR


def node(number: int) -> Cluster:
    """The core of one of three nodes."""
    return Cluster(partitions=PARTITIONS, nodes=Nodes.of(ADDRESSES, number))


@pytest.fixture
def second() -> Cluster:
    return node(2)


def group_of(cluster: Cluster, owner: int) -> str:
    """A group that this node coordinates."""
    names = (f"group-{number}" for number in range(1000))
    return next(name for name in names if cluster.cluster.coordinator(cluster.core.partition_for(name)).id == owner)


@pytest.mark.parametrize("version", range(7))
def test_every_node_names_the_same_coordinator_for_a_group(version: int) -> None:
    for group in ("a", "shop", "", "payments-7"):
        found = set()
        for number in ADDRESSES:
            answer = node(number).find_coordinator(group, version=version).answer
            one = answer.coordinators[0] if version >= 4 else answer
            found.add((one.error_code, one.node_id, one.host, one.port))
        assert len(found) == 1
        ((error, owner, host, port),) = found
        assert (error, host, port) == (0, f"node-{owner}", 9092)


def test_a_group_of_each_node_is_found_there_when_one_request_asks_for_several(second: Cluster) -> None:
    groups = [group_of(second, owner) for owner in (3, 1, 2)]
    answer = second.find_coordinator(*groups).answer
    assert [(found.key, found.node_id) for found in answer.coordinators] == list(zip(groups, (3, 1, 2), strict=True))


def requests(cluster: Cluster, group: str) -> dict[str, Any]:
    """The error that each request about a group is answered with."""
    join = cluster.member(group).join()
    delete = cluster.delete_groups(group).answer.results
    fetched = cluster.fetch(group, [("t", 0)], version=9).answer.groups
    return {
        "join": None if join.is_parked else join.error,
        "sync": cluster.sync(group, "m", 1).error,
        "heartbeat": cluster.heartbeat(group, "m", 1).error,
        "leave": cluster.leave(group, "m").error,
        "commit": cluster.commit(group, {("t", 0): 1}).errors["t", 0],
        "fetch": ErrorCode(fetched[0].error_code),
        "old fetch": cluster.fetch(group, [("t", 0)], version=5).error,
        "delete offsets": cluster.delete_offsets(group, ("t", 0)).error,
        "delete group": ErrorCode(delete[0].error_code),
        "describe": ErrorCode(cluster.describe(group).error_code),
    }


def test_every_request_about_a_group_of_another_node_is_answered_not_coordinator(second: Cluster) -> None:
    for owner in (1, 3):
        answers = requests(second, group_of(second, owner))
        assert set(answers.values()) == {NOT_COORDINATOR}, answers
    assert second.core.group_count == 0
    assert not any(second.log.partitions[number].next_offset for number in range(PARTITIONS))


def test_no_request_about_a_group_of_its_own_is(second: Cluster) -> None:
    assert NOT_COORDINATOR not in requests(second, group_of(second, 2)).values()


def test_a_node_lists_its_own_groups_and_describes_those_of_others_as_elsewhere(second: Cluster) -> None:
    own, foreign = group_of(second, 2), group_of(second, 3)
    second.commit(own, {("t", 0): 5})
    second.commit(foreign, {("t", 0): 5})
    assert list(second.list_groups()) == [own]
    assert second.describe(own).error_code == 0
    assert second.describe(foreign).error_code == NOT_COORDINATOR


def test_a_node_is_loaded_when_its_own_partitions_are(second: Cluster) -> None:
    assert second.core.partitions_by_state == {"active": 3, "not-owned": 5, "loading": 0, "failed": 0}
    second.list_groups()  # and not "loading in progress"


def test_after_a_crash_a_node_still_knows_which_groups_are_not_its_own(second: Cluster) -> None:
    own, foreign = group_of(second, 2), group_of(second, 1)
    second.commit(own, {("t", 0): 5})
    second.crash_and_recover()
    assert second.committed(own) == {("t", 0): 5}
    assert second.heartbeat(foreign, "m", 1).error is NOT_COORDINATOR


def test_members_of_three_groups_on_three_nodes_live_side_by_side() -> None:
    nodes = {number: node(number) for number in ADDRESSES}
    for number, cluster in nodes.items():
        members = cluster.stable_group(group_of(cluster, number), members=2)
        cluster.advance("30s", heartbeating=members)
        assert cluster.state(members[0].group_id) == "Stable"
    assert [cluster.core.group_count for cluster in nodes.values()] == [1, 1, 1]
