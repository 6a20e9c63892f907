"""ListGroups, DescribeGroups and FindCoordinator."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.describe_groups import DescribeGroupsRequest
from tests.support.cluster import Cluster

NOT_ASKED = -(2**31)


def test_stable_group_is_described_in_full(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=[None, "S0"], protocols=[("range", b"subscription")])
    group = cluster.describe("g")
    assert (group.error_code, group.error_message) == (ErrorCode.NONE, None)
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    assert [
        (m.member_id, m.group_instance_id, m.client_id, m.client_host, m.member_metadata, m.member_assignment)
        for m in group.members
    ] == [
        (a.member_id, None, "client", "/127.0.0.1", b"subscription", f"for {a.member_id}".encode()),
        (b.member_id, "S0", "client", "/127.0.0.1", b"subscription", f"for {b.member_id}".encode()),
    ]


def test_empty_group_keeps_its_protocol_type(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    group = cluster.describe("g")
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Empty", "consumer", "")


@pytest.mark.parametrize(
    ("version", "asked", "group_id", "operations"),
    [
        (6, True, "g", 3400),
        (6, False, "g", NOT_ASKED),
        (6, True, "unknown", NOT_ASKED),  # v6: an error
        (5, True, "unknown", 3400),  # v5: a Dead group
        (5, False, "unknown", NOT_ASKED),
    ],
)
def test_authorized_operations_are_shown_if_requested_and_without_an_error(
    cluster: Cluster, version: int, asked: bool, group_id: str, operations: int
) -> None:
    cluster.stable_group()
    assert cluster.describe(group_id, version=version, operations=asked).authorized_operations == operations


@pytest.mark.parametrize("version", range(7))
def test_every_version_describes_a_group(cluster: Cluster, version: int) -> None:
    cluster.stable_group()
    assert len(cluster.describe("g", version=version).members) == 2


@pytest.mark.parametrize("version", range(6))
def test_every_version_lists_groups_by_id(cluster: Cluster, version: int) -> None:
    for name in ("b", "c", "a"):
        cluster.commit(name, {("t", 0): 1})
    assert list(cluster.list_groups(version=version)) == ["a", "b", "c"]


def test_both_filters_must_match_and_unknown_names_match_no_group(cluster: Cluster) -> None:
    cluster.commit("empty", {("t", 0): 1})
    cluster.stable_group("stable")
    assert list(cluster.list_groups(states=["empty", "nonsense"], types=["CLASSIC", "share"])) == ["empty"]
    assert list(cluster.list_groups(states=["nonsense"])) == []
    assert list(cluster.list_groups(states=["Stable"], types=["consumer"])) == []
    assert list(cluster.list_groups(types=[" classic"])) == []  # types are not trimmed


def test_list_and_describe_get_load_in_progress_while_loading() -> None:
    cluster = Cluster(loaded=False)
    with pytest.raises(AssertionError):
        cluster.list_groups()
    assert cluster.calls[-1].error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    group = cluster.describe("g")
    assert (group.error_code, group.group_state) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "")


def test_one_loading_partition_refuses_the_list_and_descriptions_of_its_own_groups(cluster: Cluster) -> None:
    names = ["a", "b"]
    assert [cluster.core.partition_for(name) for name in names] == [1, 0]
    for name in names:
        cluster.commit(name, {("t", 0): 1})
    cluster.core.load_begin(1)
    assert [cluster.describe(name).error_code for name in names] == [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, 0]
    with pytest.raises(AssertionError):
        cluster.list_groups()


@pytest.mark.parametrize("version", range(7))
def test_single_node_coordinates_every_group(cluster: Cluster, version: int) -> None:
    answer = cluster.find_coordinator("g", version=version).answer
    found = answer.coordinators[0] if version >= 4 else answer
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, "coordinator.example", 9092)
    if version >= 1:
        assert found.error_message == ("" if version >= 4 else "NONE")


def test_keys_are_echoed_in_order_with_duplicates_and_the_empty_one(cluster: Cluster) -> None:
    answer = cluster.find_coordinator("b", "", "b").answer
    assert [(found.key, found.error_code) for found in answer.coordinators] == [("b", 0), ("", 0), ("b", 0)]
    assert cluster.find_coordinator().answer.coordinators == []


@pytest.mark.parametrize(
    ("key_type", "error"),
    [
        (1, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),
        (2, ErrorCode.INVALID_REQUEST),
        (3, ErrorCode.INVALID_REQUEST),
        (-1, ErrorCode.INVALID_REQUEST),
    ],
)
@pytest.mark.parametrize("version", [3, 6])
def test_key_types_other_than_groups_are_refused(
    cluster: Cluster, key_type: int, error: ErrorCode, version: int
) -> None:
    answer = cluster.find_coordinator("tx", key_type=key_type, version=version).answer
    found = answer.coordinators[0] if version >= 4 else answer
    assert (found.error_code, found.node_id, found.host, found.port) == (error, -1, "", -1)
    assert found.error_message


def test_coordinator_is_not_available_during_shutdown(cluster: Cluster) -> None:
    cluster.shutdown()
    (found,) = cluster.find_coordinator("g").answer.coordinators
    assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_long_request_describes_each_group_once(cluster: Cluster) -> None:
    """Kafka describes a group as often as it is named: gigabytes in response to a request of 100 KB."""
    cluster.stable_group("g", members=3)
    few = cluster.send("describe", DescribeGroupsRequest(groups=["g"] * 3), 6).answer.groups
    assert [(group.group_id, len(group.members)) for group in few] == [("g", 3)] * 3
    many = cluster.send("describe", DescribeGroupsRequest(groups=["g"] * 10_000 + ["h"]), 6).answer.groups
    assert [(group.group_id, len(group.members)) for group in many] == [("g", 3), ("h", 0)]
