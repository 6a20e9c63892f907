"""Classic groups, by records that the tests write: what follows from two records, and what does not."""

from __future__ import annotations

import pytest

from coordinator.core.events.model import Cause, ChangeKind, IncidentKind, RebalanceOutcome, Wait
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding
from tests.observe.written import GROUP, WrittenLog, member


@pytest.fixture
def log() -> WrittenLog:
    return WrittenLog()


def test_the_first_record_is_no_event_unless_it_is_the_first_generation(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), number=7)
    assert log.story().events == []
    other = WrittenLog()
    other.generation(member("web-1", [0, 1]))
    assert other.last.trigger.cause is Cause.MEMBER_JOINED and other.last.trigger.member.client_id == "web-1"


def test_of_members_that_join_an_empty_group_the_leader_was_first(log: WrittenLog) -> None:
    log.generation(member("web-2", [0]), member("web-1", [1]))
    assert log.last.trigger.member.client_id == "web-2" and log.last.counts == {"joined": 2}


def test_a_member_that_committed_within_its_session_timeout_left(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(100)
    log.commit(1)
    log.wait(40)
    log.generation(member("web-1", [0, 1]))
    assert log.last.trigger.cause is Cause.MEMBER_LEFT
    assert log.last.trigger.silent_ms == 40_000


def test_a_member_that_was_silent_for_longer_left_or_lost_its_session(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(100)
    log.commit(1)
    log.wait(46)
    log.commit(0)  # by another member
    log.generation(member("web-1", [0, 1]))
    assert log.last.trigger.cause is Cause.MEMBER_GONE
    assert (log.last.trigger.silent_ms, log.last.changes[0].kind) == (46_000, ChangeKind.GONE)
    sentence = explain(log.story())[0].sentence
    assert "46 s before, about its session timeout of 45 s, so it looks like an expired session" in sentence


def test_a_member_that_was_silent_for_its_max_poll_interval_looks_like_one_that_did_not_poll(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(302)
    log.generation(member("web-1", [0, 1]))
    assert log.last.trigger.cause is Cause.MEMBER_GONE
    verdict = explain(log.story())[0]
    assert verdict.code is Finding.POLL_INTERVAL and verdict.culprit.client_id == "web-2"


def test_a_commit_by_the_next_owner_is_no_trace_of_the_member_that_went(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(100)
    log.commit(1)
    log.wait(50)
    gone_ms = log.now_ms
    log.wait(1)
    log.commit(1)  # in the same answer to Fetch, but later
    log.now_ms = gone_ms
    log.generation(member("web-1", [0, 1]))
    assert log.last.trigger.cause is Cause.MEMBER_GONE and log.last.trigger.silent_ms == -1
    assert "looks" not in explain(log.story())[0].sentence


def test_if_one_client_left_and_came_back_its_leave_was_first(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(30)
    log.commit(1)
    log.wait(3)
    log.generation(member("web-1", [0]), member("web-2", [1], run=2))
    assert (log.last.trigger.cause, log.last.trigger.member.member_id) == (Cause.MEMBER_LEFT, "web-2-1")


def test_if_one_went_and_another_one_came_it_is_not_known_which_was_first(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(100)
    log.generation(member("web-1", [0]), member("web-3", [1]))
    assert log.last.trigger.cause is Cause.UNKNOWN and not log.last.trigger.member.is_known
    assert [(each.kind, each.member.client_id) for each in log.last.changes] == [
        (ChangeKind.GONE, "web-2"),
        (ChangeKind.JOINED, "web-3"),
    ]


def test_describe_groups_tells_which_was_first(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(100)
    log.described("PreparingRebalance", {"web-1-1": "web-1", "web-2-1": "web-2", "web-3-1": "web-3"})
    log.wait(4)
    log.generation(member("web-1", [0]), member("web-3", [1]))
    assert (log.last.trigger.cause, log.last.trigger.member.client_id) == (Cause.MEMBER_JOINED, "web-3")
    assert log.last.sync_ms == log.last.took_ms == 4_000


def test_a_member_that_is_missing_after_the_whole_rebalance_timeout_was_dropped(log: WrittenLog) -> None:
    log.generation(member("web-1", [0], rebalance_ms=60_000), member("web-2", [1], rebalance_ms=60_000))
    log.wait(100)
    for _ in range(31):
        log.described("PreparingRebalance", {"web-1-1": "web-1", "web-2-1": "web-2", "web-3-1": "web-3"})
        log.wait(2)
    log.wait(-1.9)
    log.generation(member("web-1", [0], rebalance_ms=60_000), member("web-3", [1]))
    assert {each.member.client_id: each.kind for each in log.last.changes} == {
        "web-2": ChangeKind.DROPPED,
        "web-3": ChangeKind.JOINED,
    }
    verdict = explain(log.story())[0]
    assert verdict.code is Finding.PAST_SLOW_REBALANCE and verdict.culprit.client_id == "web-2"


def test_of_a_rebalance_that_runs_the_member_that_it_waits_for_is_not_known(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(100)
    for _ in range(6):
        log.described("PreparingRebalance", {"web-1-1": "web-1", "web-2-1": "web-2", "web-3-1": "web-3"})
        log.wait(2)
    story = log.story()
    assert story.state is not None and story.state.rebalance is not None and story.state.waits is Wait.NOTHING
    verdict = explain(story)[0]
    assert verdict.code is Finding.SLOW_REBALANCE and not verdict.culprit.is_known
    assert verdict.sentence == (
        "Waiting at least 12 s for members to rejoin; which ones have not is not known; it began because a new member "
        "joined (web-3 (10.0.0.1))"
    )


def test_an_answer_of_describe_groups_grows_old(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]))
    log.described("PreparingRebalance", {"web-1-1": "web-1", "web-2-1": "web-2"})
    log.wait(31)
    story = log.story()
    assert story.state is not None and story.state.rebalance is None and story.state.state == "Stable"
    assert any("has not been answered lately" in sentence for sentence in story.unknown)


def test_a_leader_without_assignments_is_waited_for(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]))
    log.described("CompletingRebalance", {"web-1-1": "web-1", "web-2-1": "web-2"})
    log.wait(9)
    assert "Waiting at least 9 s for the assignments of its leader" in explain(log.story())[0].sentence


def test_the_leader_is_a_suspect_if_nothing_changed(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    for _ in range(3):
        log.wait(60)
        log.generation(member("web-1", [0]), member("web-2", [1]))
    assert log.last.trigger.cause is Cause.UNKNOWN and log.last.trigger.member.client_id == "web-1"
    verdict = explain(log.story())[0]
    assert verdict.code is Finding.LEADER_REJOINS and "probably because web-1" in verdict.sentence


def test_new_partitions_without_another_change_are_the_leaders_doing(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(60)
    log.generation(member("web-1", [0, 2]), member("web-2", [1, 3]))
    assert (log.last.trigger.cause, log.last.trigger.member.client_id) == (Cause.LEADER_REJOINED, "web-1")
    assert (log.last.partitions, log.last.partitions_moved) == (4, 0)


def test_another_subscription_is_a_change(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]), member("web-2", [1]))
    log.wait(60)
    log.generation(member("web-1", [0]), member("web-2", [1], topics=["refunds", "orders"]))
    assert (log.last.trigger.cause, log.last.trigger.member.client_id) == (Cause.PROTOCOLS_CHANGED, "web-2")
    assert log.last.trigger.subscription_changed


def test_a_static_member_that_is_replaced_is_an_incident_and_two_that_take_turns_are_known(log: WrittenLog) -> None:
    log.generation(member("pod-a", [0], instance_id="shop-1"))
    for run in range(2, 8):
        log.wait(2)
        name = "pod-a" if run % 2 else "pod-b"
        log.generation(member(name, [0], run=run, instance_id="shop-1"), number=1)
    (_, incident) = log.story().events
    assert incident.what is IncidentKind.STATIC_MEMBER_REPLACED and incident.times == 6  # type: ignore[union-attr]
    assert explain(log.story())[0].code is Finding.SHARED_INSTANCE_ID


def test_generations_that_are_missing_in_the_log_are_seen_by_their_numbers(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]))
    log.wait(60)
    log.generation(member("web-1", [0]), member("web-2", [1]), number=5)
    assert (log.last.previous_generation, log.last.generation) == (1, 5)


def test_an_empty_group_and_a_deleted_one(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]))
    log.wait(10)
    log.generation()
    assert log.last.outcome is RebalanceOutcome.EMPTY and log.story().state.state == "Empty"  # type: ignore[union-attr]
    assert explain(log.story())[0].code is Finding.EMPTY
    log.wait(10)
    log.delete()
    assert log.story().state is None and explain(log.story())[0].code is Finding.NO_SUCH_GROUP
    assert GROUP not in log.state.groups()


def test_a_group_of_offsets_alone_has_no_members(log: WrittenLog) -> None:
    log.commit(0, 1)
    story = log.story()
    assert story.state is not None and story.state.state == "Empty"
    assert "only offsets" in explain(story)[0].sentence
    log.commit(0, 1, offset=-1)
    assert log.state.story(GROUP, log.now_ms) is None and log.state.groups() == []


def test_a_group_of_another_protocol_has_unknown_owners(log: WrittenLog) -> None:
    log.generation(member("worker-1"), kind="connect")
    log.wait(60)
    log.generation(member("worker-1"), member("worker-2"), kind="connect")
    assert (log.last.partitions, log.last.partitions_moved) == (-1, -1)
    assert log.last.trigger.member.client_id == "worker-2"
    assert log.story().state.partitions == -1  # type: ignore[union-attr]


def test_rebalances_read_as_sentences(log: WrittenLog) -> None:
    log.generation(member("web-1", [0]))
    log.wait(100)
    log.generation(member("web-1", [0]), member("web-2", [1]))
    assert log.last.text().endswith(
        "because a new member joined (web-2-1, client web-2@/10.0.0.1); generation 2 has 2 members."
    )
