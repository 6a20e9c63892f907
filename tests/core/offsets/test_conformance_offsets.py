"""Conformance vectors 65 - 85 of the specification (section 15): offsets, administration, retention, recovery."""

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


def test_vector_65_a_commit_without_a_generation_makes_a_simple_group(cluster: Cluster) -> None:
    assert cluster.commit("g", {T0: 5}).errors == {T0: NONE}
    listed = cluster.list_groups()["g"]
    assert (listed.group_state, listed.protocol_type, listed.group_type) == ("Empty", "", "classic")


def test_vector_66_a_commit_of_a_generation_needs_a_group(cluster: Cluster) -> None:
    assert cluster.commit("g", {T0: 5}, generation=0).errors == {T0: ErrorCode.GROUP_ID_NOT_FOUND}
    assert cluster.commit("g", {T0: 5}, generation=0, version=8).errors == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert cluster.state() == "none"


def test_vector_67_anybody_may_commit_for_an_empty_group(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    assert cluster.commit("g", {T0: 5}).errors == {T0: NONE}


def test_vector_68_nobody_commits_for_a_group_with_members_without_being_one(cluster: Cluster) -> None:
    cluster.stable_group()
    assert cluster.commit("g", {T0: 5}).errors == {T0: ErrorCode.UNKNOWN_MEMBER_ID}


def test_vector_69_a_commit_must_be_of_a_member_and_its_generation(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    assert a.commit({T0: 5}, generation=0).errors == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert a.commit({T0: 5}, generation=-1).errors == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert cluster.commit("g", {T0: 5}, member_id="zzz", generation=1).errors == {T0: ErrorCode.UNKNOWN_MEMBER_ID}


def test_vector_70_a_commit_while_completing_is_sent_back_to_join(cluster: Cluster) -> None:
    a, _ = completing_group(cluster)
    assert a.commit({T0: 5}).errors == {T0: ErrorCode.REBALANCE_IN_PROGRESS}


def test_vector_71_a_commit_while_preparing_is_taken_and_keeps_the_member_alive(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    cluster.advance("9s")
    assert b.commit({T0: 5}, generation=1).errors == {T0: NONE}
    cluster.advance("9s")
    assert b.member_id in cluster.group().members


def test_vector_72_metadata_that_is_too_long_refuses_its_own_partition(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    metadata: dict[tuple[str, int], str | None] = {T0: "x" * 4097, ("t", 1): "x" * 4096}
    assert a.commit({T0: 5, ("t", 1): 6}, metadata=metadata).errors == {
        T0: ErrorCode.OFFSET_METADATA_TOO_LARGE,
        ("t", 1): NONE,
    }
    assert cluster.committed("g") == {("t", 1): 6}


def test_vector_73_a_transactional_commit_is_taken_while_completing(cluster: Cluster) -> None:
    a, _ = completing_group(cluster)
    assert cluster.txn_commit("g", {T0: 5}).errors == {T0: NONE}
    assert cluster.txn_commit("g", {T0: 5}, member_id=a.member_id, generation=2).errors == {T0: NONE}
    refused = cluster.txn_commit("g", {T0: 5}, member_id=a.member_id, generation=1)
    assert refused.errors == {T0: ErrorCode.ILLEGAL_GENERATION}
    assert cluster.committed("g") == {}


def test_vector_74_a_pending_offset_is_hidden_and_makes_a_stable_fetch_wait(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 5}, metadata="m")
    cluster.txn_commit("g", {T0: 9})
    stable = cluster.fetch("g", [T0], require_stable=True)
    assert fetched(stable) == {T0: (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1, -1, "")}
    assert fetched(cluster.fetch("g", [T0])) == {T0: (NONE, 5, -1, "m")}
    cluster.end_transaction("g", commit=True)
    assert fetched(cluster.fetch("g", [T0], require_stable=True)) == {T0: (NONE, 9, -1, "")}


def test_vector_75_a_group_that_nobody_knows_has_no_offsets(cluster: Cluster) -> None:
    assert fetched(cluster.fetch("g", [T0])) == {T0: (NONE, -1, -1, "")}
    assert fetched(cluster.fetch("g")) == {}


def test_vector_76_offsets_of_topics_in_use_cannot_be_deleted(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1, protocols=[("range", subscription("t"))])
    a.commit({T0: 5, ("u", 0): 6})
    call = cluster.delete_offsets("g", T0, ("u", 0))
    assert call.error is NONE
    assert call.errors == {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, ("u", 0): NONE}
    assert cluster.committed("g") == {T0: 5}


def test_vector_77_nor_any_offsets_of_members_that_are_not_consumers(cluster: Cluster) -> None:
    cluster.stable_group(protocol_type="connect", protocols=[("sessioned", b"")])
    call = cluster.delete_offsets("g", T0)
    assert (call.error, call.errors) == (ErrorCode.NON_EMPTY_GROUP, {})


def test_vector_78_only_an_empty_group_can_be_deleted_and_then_all_of_it_is(cluster: Cluster) -> None:
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


def test_vector_79_an_unknown_group_is_dead_or_not_found(cluster: Cluster) -> None:
    older, newer = cluster.describe("g", version=5), cluster.describe("g", version=6)
    assert (older.error_code, older.group_state) == (NONE, "Dead")
    assert (newer.error_code, newer.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert newer.error_message == "Group g not found."


def test_vector_80_a_group_that_rebalances_is_described_without_its_protocol(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    group = cluster.describe("g")
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("PreparingRebalance", "consumer", "")
    assert [(m.member_id, m.member_metadata, m.member_assignment) for m in group.members] == [
        (a.member_id, b"", b""),
        (b.member_id, b"", b""),
    ]


def test_vector_81_groups_are_listed_by_state_and_by_type(cluster: Cluster) -> None:
    cluster.commit("empty", {T0: 5})
    cluster.stable_group("stable")
    assert list(cluster.list_groups(states=[" STABLE "])) == ["stable"]
    assert list(cluster.list_groups(types=["Classic"])) == ["empty", "stable"]
    assert list(cluster.list_groups(types=["foo"])) == []


def test_vector_82_a_group_empty_for_the_retention_time_goes_with_all_its_offsets(cluster: Cluster) -> None:
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


def test_vector_83_an_old_offset_of_a_simple_group_goes_alone(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 5})
    cluster.advance("6d")
    cluster.commit("g", {("t", 1): 6})
    cluster.advance("1d")
    cluster.advance("10m")
    assert cluster.committed("g") == {("t", 1): 6}
    assert cluster.state() == "Empty"


def test_vector_84_after_a_crash_while_completing_the_last_stored_generation_is_back(cluster: Cluster) -> None:
    a, b = completing_group(cluster)
    assert a.generation == 2
    cluster.crash_and_recover()
    assert cluster.state() == "Stable"
    assert cluster.group().generation == 1
    assert list(cluster.group().members) == [a.member_id, b.member_id]
    assert a.heartbeat(generation=2).error is ErrorCode.ILLEGAL_GENERATION
    assert a.heartbeat(generation=1).error is NONE


@pytest.mark.parametrize("recovered", [False, True], ids=["live", "recovered"])
def test_vector_85_of_two_commits_the_newer_record_wins_not_the_newer_marker(cluster: Cluster, recovered: bool) -> None:
    cluster.txn_commit("g", {T0: 5})
    cluster.commit("g", {T0: 7})
    cluster.end_transaction("g", commit=True)
    if recovered:
        cluster.crash_and_recover()
    assert cluster.committed("g") == {T0: 7}
