"""LeaveGroup beyond the vectors: batches, pending ids, parked requests, versions."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster


def test_batch_starts_one_rebalance(cluster: Cluster) -> None:
    members = cluster.stable_group(members=4)
    cluster.leave("g", members[1].member_id, members[2].member_id)
    members[0].join()
    members[3].join()
    assert members[0].generation == members[3].generation == 2
    assert len(cluster.rebalances) == 1  # the first one; the next is not complete
    running = cluster.group().rebalance
    assert running is not None
    assert running.trigger.member.member_id == members[1].member_id


def test_pending_id_that_is_given_back_starts_no_rebalance(cluster: Cluster) -> None:
    cluster.stable_group()
    pending_id = cluster.join().answer.member_id
    assert cluster.leave("g", pending_id).error is ErrorCode.NONE
    assert cluster.state() == "Stable"


def test_second_entry_for_a_member_is_unknown(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    entries = cluster.leave("g", a.member_id, a.member_id).answer.members
    assert [entry.error_code for entry in entries] == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]


def test_empty_list_changes_nothing(cluster: Cluster) -> None:
    cluster.stable_group()
    answer = cluster.leave("g").answer
    assert (answer.error_code, answer.members) == (ErrorCode.NONE, [])
    assert cluster.state() == "Stable"


@pytest.mark.parametrize("instance_id", [None, "S9"])
def test_entry_without_a_known_id_is_unknown(cluster: Cluster, instance_id: str | None) -> None:
    cluster.stable_group(instance_ids=["S0"])
    (entry,) = cluster.leave("g", ("", instance_id)).answer.members
    assert entry.error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_parked_join_of_a_leaving_member_is_answered(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    a.join()
    a_id = cluster.group().leader_id
    assert a_id is not None
    cluster.leave("g", a_id)
    assert (a.last_join.error, a.last_join.answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


def test_parked_sync_of_a_leaving_member_is_answered(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    b.sync()
    b.leave()
    assert b.last_sync.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert b.last_sync.answer.assignment == b""


def test_leadership_passes_to_the_member_that_joined_first(cluster: Cluster) -> None:
    a, b, _ = cluster.stable_group(members=3)
    a.leave()
    assert cluster.group().leader_id == b.member_id


@pytest.mark.parametrize("version", range(6))
def test_every_version_removes_the_member(cluster: Cluster, version: int) -> None:
    a, _ = cluster.stable_group()
    assert cluster.leave("g", a.member_id, version=version).error is ErrorCode.NONE
    assert len(cluster.group().members) == 1


def test_first_failing_check_is_the_answer(cluster: Cluster) -> None:
    cluster.stable_group(instance_ids=["S0"])
    assert cluster.leave("", "x").error is ErrorCode.INVALID_GROUP_ID
    entries = cluster.leave("g", ("x", "S9"), ("x", "S0"), ("x", None)).answer.members
    assert [entry.error_code for entry in entries] == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]


def test_response_while_loading_has_no_entries() -> None:
    answer = Cluster(loaded=False).leave("g", "x").answer
    assert (answer.error_code, answer.members) == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, [])
