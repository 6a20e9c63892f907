"""Conformance to Kafka's group coordinator: offsets, administration of groups, retention, recovery."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.offsets_records import GroupKey, OffsetKey
from tests.support.call import Call
from tests.support.cluster import Cluster, Member, subscription

T0 = ("t", 0)
NONE = ErrorCode.NONE


def completing_group(cluster: Cluster) -> tuple[Member, Member]:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    assert cluster.state() == "CompletingRebalance"
    return a, b


def fetched(call: Call) -> dict[tuple[str, int], tuple[ErrorCode, int, int, str]]:
    (group,) = call.answer.groups
    assert group.error_code == NONE
    return {
        (topic.name, partition.partition_index): (
            ErrorCode(partition.error_code),
            partition.committed_offset,
            partition.committed_leader_epoch,
            partition.metadata,
        )
        for topic in group.topics
        for partition in topic.partitions
    }


def test_commit_without_a_generation_creates_a_simple_group(cluster: Cluster) -> None:
    assert cluster.commit("g", {T0: 5}).errors == {T0: NONE}
    listed = cluster.list_groups()["g"]
    assert (listed.group_state, listed.protocol_type, listed.group_type) == ("Empty", "", "classic")


def test_commit_with_a_generation_needs_a_group(cluster: Cluster) -> None:
    assert cluster.commit("g", {T0: 5}, generation=0).errors == {T0: ErrorCode.GROUP_ID_NOT_FOUND}
    assert cluster.commit("g", {T0: 5}, generation=0, version=8).errors == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert cluster.state() == "none"


def test_client_without_membership_can_commit_for_an_empty_group(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    assert cluster.commit("g", {T0: 5}).errors == {T0: NONE}


def test_commit_without_a_member_id_is_refused_in_a_group_with_members(cluster: Cluster) -> None:
    cluster.stable_group()
    assert cluster.commit("g", {T0: 5}).errors == {T0: ErrorCode.UNKNOWN_MEMBER_ID}


def test_commit_needs_a_member_and_its_generation(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    assert a.commit({T0: 5}, generation=0).errors == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert a.commit({T0: 5}, generation=-1).errors == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert cluster.commit("g", {T0: 5}, member_id="zzz", generation=1).errors == {T0: ErrorCode.UNKNOWN_MEMBER_ID}


def test_commit_while_completing_gets_rebalance_in_progress(cluster: Cluster) -> None:
    a, _ = completing_group(cluster)
    assert a.commit({T0: 5}).errors == {T0: ErrorCode.REBALANCE_IN_PROGRESS}


def test_commit_while_preparing_is_accepted_and_restarts_the_session(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    cluster.advance("9s")
    assert b.commit({T0: 5}, generation=1).errors == {T0: NONE}
    cluster.advance("9s")
    assert b.member_id in cluster.group().members


def test_too_long_metadata_refuses_only_its_partition(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    metadata: dict[tuple[str, int], str | None] = {T0: "x" * 4097, ("t", 1): "x" * 4096}
    assert a.commit({T0: 5, ("t", 1): 6}, metadata=metadata).errors == {
        T0: ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ("t", 1): NONE,
    }
    assert cluster.committed("g") == {("t", 1): 6}


def test_transactional_commit_is_accepted_while_completing(cluster: Cluster) -> None:
    a, _ = completing_group(cluster)
    assert cluster.txn_commit("g", {T0: 5}).errors == {T0: NONE}
    assert cluster.txn_commit("g", {T0: 5}, member_id=a.member_id, generation=2).errors == {T0: NONE}
    refused = cluster.txn_commit("g", {T0: 5}, member_id=a.member_id, generation=1)
    assert refused.errors == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert cluster.committed("g") == {}


def test_pending_offset_is_hidden_and_unstable_for_a_stable_fetch(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 5}, metadata="m")
    cluster.txn_commit("g", {T0: 9})
    stable = cluster.fetch("g", [T0], require_stable=True)
    assert fetched(stable) == {T0: (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1, -1, "")}
    assert fetched(cluster.fetch("g", [T0])) == {T0: (NONE, 5, -1, "m")}
    cluster.end_transaction("g", commit=True)
    assert fetched(cluster.fetch("g", [T0], require_stable=True)) == {T0: (NONE, 9, -1, "")}


def test_unknown_group_has_no_offsets(cluster: Cluster) -> None:
    assert fetched(cluster.fetch("g", [T0])) == {T0: (NONE, -1, -1, "")}
    assert fetched(cluster.fetch("g")) == {}


def test_offsets_of_subscribed_topics_cannot_be_deleted(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1, protocols=[("range", subscription("t"))])
    a.commit({T0: 5, ("u", 0): 6})
    call = cluster.delete_offsets("g", T0, ("u", 0))
    assert call.error is NONE
    assert call.errors == {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("u", 0): NONE}
    assert cluster.committed("g") == {T0: 5}


def test_offsets_of_a_live_group_of_another_protocol_type_cannot_be_deleted(cluster: Cluster) -> None:
    cluster.stable_group(protocol_type="connect", protocols=[("sessioned", b"")])
    call = cluster.delete_offsets("g", T0)
    assert (call.error, call.errors) == (ErrorCode.NON_EMPTY_GROUP, {})


def test_only_an_empty_group_is_deleted_together_with_its_offsets(cluster: Cluster) -> None:
    a, b = cluster.stable_group("live")
    (c,) = cluster.stable_group("left", members=1)
    c.commit({T0: 5})
    c.leave()
    results = cluster.delete_groups("none", "live", "left", "none").answer.results
    assert [(result.group_id, result.error_code) for result in results] == [
        ("none", ErrorCode.GROUP_ID_NOT_FOUND),
        ("live", ErrorCode.NON_EMPTY_GROUP),
        ("left", NONE),
    ]
    assert cluster.state("left") == "none"
    assert cluster.committed("left") == {}
    assert [(record.key, record.value) for record in cluster.written("left")[-2:]] == [
        (OffsetKey("left", "t", 0), None),
        (GroupKey("left"), None),
    ]
    assert a.heartbeat().error is b.heartbeat().error is NONE


def test_unknown_group_is_described_as_dead_or_not_found(cluster: Cluster) -> None:
    older, newer = cluster.describe("g", version=5), cluster.describe("g", version=6)
    assert (older.error_code, older.group_state) == (NONE, "Dead")
    assert (newer.error_code, newer.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert newer.error_message == "Group g not found."


def test_rebalancing_group_is_described_without_its_protocol(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    group = cluster.describe("g")
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [(m.member_id, m.member_metadata, m.member_assignment) for m in group.members] == [
        (a.member_id, b"", b""),
        (b.member_id, b"", b""),
    ]


def test_groups_are_listed_by_state_and_by_type(cluster: Cluster) -> None:
    cluster.commit("empty", {T0: 5})
    cluster.stable_group("stable")
    assert list(cluster.list_groups(states=[" STABLE "])) == ["stable"]
    assert list(cluster.list_groups(types=["Classic"])) == ["empty", "stable"]
    assert list(cluster.list_groups(types=["foo"])) == []


def test_group_empty_for_the_retention_time_expires_with_its_offsets(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    cluster.advance("1m", heartbeating=[a])
    a.commit({T0: 5})
    a.leave()
    cluster.advance("7d")
    cluster.advance("10m")
    assert cluster.state() == "none"
    assert [(record.key, record.value) for record in cluster.written("g")[-2:]] == [
        (OffsetKey("g", "t", 0), None),
        (GroupKey("g"), None),
    ]


def test_old_offset_of_a_simple_group_expires_alone(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 5})
    cluster.advance("6d")
    cluster.commit("g", {("t", 1): 6})
    cluster.advance("1d")
    cluster.advance("10m")
    assert cluster.committed("g") == {("t", 1): 6}
    assert cluster.state() == "Empty"


def test_last_stored_generation_is_restored_after_a_crash_while_completing(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    assert a.generation == 2
    cluster.crash_and_recover()
    assert cluster.state() == "Stable"
    assert cluster.group().generation == 1
    assert list(cluster.group().members) == [a.member_id, b.member_id]
    assert a.heartbeat(generation=2).error is ErrorCode.ILLEGAL_GENERATION
    assert a.heartbeat(generation=1).error is NONE


@pytest.mark.parametrize("recovered", [False, True], ids=["live", "recovered"])
def test_newer_record_wins_over_the_newer_marker(cluster: Cluster, recovered: bool) -> None:
    cluster.txn_commit("g", {T0: 5})
    cluster.commit("g", {T0: 7})
    cluster.end_transaction("g", commit=True)
    if recovered:
        cluster.crash_and_recover()
    assert cluster.committed("g") == {T0: 7}
