"""Start, wait and end of a rebalance: initial delay, dropped members, records, and differences from Kafka."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from protocol.error_codes import ErrorCode
from protocol.messages.offsets_log import GroupValue
from tests.support.cluster import Cluster, subscription


def test_join_phase_without_an_initial_delay_ends_in_the_next_event() -> None:
    cluster = Cluster(Config(group_initial_rebalance_delay_ms=0))
    call = cluster.join(version=3)
    assert call.is_parked
    assert cluster.core.next_deadline_ms() == cluster.clock.now_ms
    cluster.tick()
    assert call.answer.generation_id == 1


def test_initial_delay_is_not_ended_by_the_last_join(cluster: Cluster) -> None:
    calls = [cluster.join(version=3) for _ in range(3)]
    cluster.advance(2_999)
    assert all(call.is_parked for call in calls)


def test_rebalance_timeout_shorter_than_the_initial_delay_allows_no_extension(cluster: Cluster) -> None:
    first = cluster.join(version=3, rebalance_timeout="2s")
    cluster.advance("1s")
    cluster.join(version=3, rebalance_timeout="2s")
    cluster.advance("2s")
    assert not first.is_parked


def test_session_timeout_during_the_initial_delay_does_not_end_the_delay() -> None:
    cluster = Cluster(Config(group_initial_rebalance_delay_ms=20_000))
    first = cluster.join(version=3)
    cluster.join(session_timeout="6s")  # an id that is never used; without it, all have joined
    cluster.advance("6s")
    assert first.is_parked
    assert cluster.group().all_joined
    cluster.advance("13s")
    assert first.is_parked
    cluster.advance("1s")
    assert first.answer.generation_id == 1


def test_pending_id_does_not_extend_the_initial_delay(cluster: Cluster) -> None:
    first = cluster.join(version=3)
    pending_id = cluster.join().answer.member_id
    cluster.advance("3s")
    assert first.answer.generation_id == 1
    assert cluster.join(member_id=pending_id).is_parked
    assert cluster.state() == "PreparingRebalance"


def test_group_is_empty_after_the_initial_delay_if_all_members_left(cluster: Cluster) -> None:
    member = cluster.member()
    member.join()
    (member_id,) = cluster.group().members
    cluster.leave("g", member_id)
    assert member.last_join.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert cluster.state() == "PreparingRebalance"
    cluster.advance("3s")
    assert (cluster.state(), cluster.group().generation) == ("Empty", 1)


def test_group_that_became_empty_gets_its_initial_delay_and_extensions_again(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    first = cluster.join(version=3)
    cluster.advance("1s")
    cluster.join(version=3)
    cluster.advance("2s")
    assert first.is_parked
    cluster.advance("3s")
    assert first.answer.generation_id == 3


def test_unused_extension_is_not_kept_when_the_group_becomes_empty(cluster: Cluster) -> None:
    cluster.join(version=3, rebalance_timeout="2s")
    cluster.advance("1s")
    late = cluster.join(version=3, rebalance_timeout="2s")  # too late for an extension: no time remains
    cluster.advance("2s")
    for member_id in list(cluster.group().members):
        cluster.leave("g", member_id)
    assert not late.is_parked
    assert cluster.state() == "Empty"
    first = cluster.join(version=3)
    cluster.advance("3s")
    assert first.answer.generation_id == 3


def test_loaded_empty_group_has_an_initial_delay(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    cluster.crash_and_recover()
    call = cluster.join(version=3)
    cluster.advance(2_999)
    assert call.is_parked
    cluster.advance(1)
    assert call.answer.generation_id == 3


def test_second_trigger_while_preparing_changes_nothing(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3)
    a.join()
    cluster.advance("30s", heartbeating=[b, c])
    b.join(protocols=[("range", b"other")])
    cluster.advance("30s", heartbeating=[c])
    assert a.generation == b.generation == 2
    assert c.heartbeat().error is ErrorCode.UNKNOWN_MEMBER_ID


def test_rebalance_while_completing_clears_the_assignments(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    a.leave()
    assert cluster.group().members[b.member_id].assignment == b""


def test_members_of_a_stable_group_keep_their_assignments_while_preparing(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    assert cluster.group().members[b.member_id].assignment == f"for {b.member_id}".encode()


def test_new_generation_is_not_written_before_the_sync_of_the_leader(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    before = len(cluster.written("g"))
    a.join()
    b.join()
    assert len(cluster.written("g")) == before


def test_group_with_a_pending_id_is_empty_in_the_next_event_after_its_last_members_leave(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    cluster.join(session_timeout="100s")
    a.leave()
    assert cluster.state() == "PreparingRebalance"
    cluster.tick()
    assert (cluster.state(), cluster.group().generation) == ("Empty", 2)
    assert len(cluster.group().pending_join) == 1


def test_lost_record_of_an_empty_group_changes_nothing(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    with cluster.log_held():
        left = a.leave()
        cluster.fail_appends()
    assert left.error is ErrorCode.NONE
    assert (cluster.state(), cluster.group().generation) == ("Empty", 2)
    cluster.crash_and_recover()  # the old record is the last one, and the session of the member that left ends
    assert (cluster.state(), cluster.group().generation) == ("Stable", 1)
    cluster.advance("10s")
    assert (cluster.state(), cluster.group().generation) == ("Empty", 2)


def test_join_phase_without_a_leader_and_with_a_timeout_of_zero_does_not_spin(cluster: Cluster) -> None:
    _, b = cluster.stable_group(instance_ids=["S0", None], session_timeout="60s")
    for member in cluster.group().members.values():
        member.rebalance_timeout_ms = 0
    b.leave()
    ticks = 0
    end_ms = cluster.clock.now_ms + 60_000
    while cluster.state() == "PreparingRebalance":
        deadline = cluster.core.next_deadline_ms()
        assert deadline is not None
        cluster.clock.now_ms = max(cluster.clock.now_ms, deadline)
        cluster.tick()
        ticks += 1
    assert cluster.clock.now_ms == end_ms
    assert ticks < 2_000


def test_absent_static_member_gets_an_assignment_like_the_others(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=[None, "S0"], session_timeout="120s")
    a.join()
    cluster.advance("60s")
    assert a.sync().error is ErrorCode.NONE
    value = cluster.written("g")[-1].value
    assert isinstance(value, GroupValue)
    assert {member.member_id for member in value.members} == {a.member_id, b.member_id}
    assert b.sync(generation=2).answer.assignment == f"for {b.member_id}".encode()


@pytest.mark.parametrize("members", [1, 3])
def test_group_is_empty_if_the_sync_timer_removes_all_members(cluster: Cluster, members: int) -> None:
    joined = [cluster.member(session_timeout="100s") for _ in range(members)]
    for member in joined:
        member.join()
    cluster.advance("6s")
    generation = cluster.group().generation
    cluster.advance("60s")
    assert (cluster.state(), cluster.group().generation) == ("Empty", generation + 1)


def test_too_many_subscribed_topics_are_not_decoded_and_the_offsets_are_kept(cluster: Cluster) -> None:
    """A generation begins in one event, so the topic names decoded for it are bounded over all subscriptions."""
    topics = [f"t{number}" for number in range(cluster.config.group_max_subscribed_topics)]
    cluster.stable_group("just", members=1, protocols=[("range", subscription(*topics))])
    assert cluster.core.groups["just"].subscribed_topics == frozenset(topics)
    cluster.stable_group("over", members=1, protocols=[("range", subscription(*topics, "one more"))])
    assert cluster.core.groups["over"].subscribed_topics is None
    assert cluster.core.groups["over"].is_subscribed_to("any")
