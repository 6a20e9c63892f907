"""Logs that a real Kafka 4.4 wrote: the culprit and the cause of each rebalance, or that the cause is not known."""

from __future__ import annotations

import itertools
import re

import pytest

from coordinator.core.events.model import ChangeKind, IncidentKind, Rebalance, RebalanceOutcome, Wait
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding
from tests.observe.replay import Replay, recordings, told

FIRST = ("member_joined", "web-1")
SECOND = ("member_joined", "web-2")

# The events of each recording, as cause and culprit.
TOLD = {
    "classic-join": [FIRST, SECOND, ("member_joined", "web-3")],
    "classic-clean-leave": [FIRST, SECOND, ("member_left", "web-2")],
    "classic-leader-leaves": [FIRST, SECOND, ("member_left", "web-1")],
    "classic-killed": [FIRST, SECOND, ("member_gone", "web-2")],
    "classic-killed-idle": [FIRST, SECOND, ("member_gone", "web-2")],
    "classic-slow-poll": [FIRST, SECOND, ("member_gone", "web-2"), SECOND],
    "classic-subscription": [FIRST, SECOND, ("protocols_changed", "web-2")],
    "classic-static-restart": [FIRST, SECOND, ("static_member_replaced", "web-2")],
    "classic-static-gone": [FIRST, SECOND, ("member_gone", "web-2")],
    "classic-partitions": [FIRST, SECOND, ("leader_rejoined", "web-1")],
    "classic-cooperative": [FIRST, SECOND, ("protocols_changed", "web-1"), ("member_left", "web-2")],
    "classic-slow-rejoin": [FIRST, SECOND],
    "classic-dropped": [FIRST, SECOND, FIRST],
    "classic-interrupted": [FIRST, SECOND],
    "classic-emptied": [FIRST, ("member_left", "web-1")],
    "classic-upgraded": [FIRST, SECOND, ("member_joined", "web-3")],
    "classic-crash-loop": [FIRST, SECOND, SECOND, SECOND, SECOND],
    "classic-rolling": [
        FIRST,
        SECOND,
        ("member_joined", "web-3"),
        *((cause, f"web-{number}") for number in (1, 2, 3) for cause in ("member_left", "member_joined")),
    ],
    "consumer-join": [FIRST, SECOND, ("member_joined", "web-3")],
    "consumer-clean-leave": [FIRST, SECOND, ("member_left", "web-2")],
    "consumer-killed": [FIRST, SECOND, ("member_gone", "web-2")],
    "consumer-slow-poll": [FIRST, SECOND, ("member_gone", "web-2")],
    "consumer-subscription": [FIRST, SECOND, ("protocols_changed", "web-2")],
    "consumer-static-restart": [FIRST, SECOND, ("static_member_replaced", "web-2")],
    "consumer-static-gone": [FIRST, SECOND, ("member_gone", "web-2")],
    "consumer-partitions": [FIRST, SECOND, ("topics_changed", "")],
    "consumer-slow-revocation": [FIRST, SECOND],
    "consumer-dropped": [FIRST, SECOND, ("not_revoked", "web-1"), FIRST],
    "consumer-interrupted": [FIRST, SECOND, ("member_joined", "web-3")],
    "consumer-emptied": [FIRST, ("member_left", "web-1")],
    "consumer-crash-loop": [FIRST, SECOND, *[SECOND, ("member_gone", "web-2")] * 3],
    "consumer-rolling": [
        FIRST,
        SECOND,
        ("member_joined", "web-3"),
        *((cause, f"web-{number}") for number in (1, 2, 3) for cause in ("member_left", "member_joined")),
    ],
}

# What differs if DescribeGroups was never answered: who was first, of one that came and one that went?
TOLD_BY_THE_LOG_ALONE = {
    "classic-crash-loop": [FIRST, SECOND, *[("unknown", "web-2")] * 3],
    "classic-dropped": [FIRST, ("unknown", ""), FIRST],
}

# The headline at the end of each recording, and its culprit.
HEADLINES = {
    "classic-clean-leave": (Finding.MEMBER_LOST, "web-2"),
    "classic-leader-leaves": (Finding.MEMBER_LOST, "web-1"),
    "classic-killed": (Finding.MEMBER_LOST, "web-2"),
    "classic-killed-idle": (Finding.MEMBER_LOST, "web-2"),
    "classic-static-gone": (Finding.MEMBER_LOST, "web-2"),
    "classic-cooperative": (Finding.MEMBER_LOST, "web-2"),
    "classic-slow-poll": (Finding.POLL_INTERVAL, "web-2"),
    "classic-slow-rejoin": (Finding.PAST_SLOW_REBALANCE, "web-1"),
    "classic-dropped": (Finding.PAST_SLOW_REBALANCE, "web-1"),
    "classic-interrupted": (Finding.PAST_SLOW_REBALANCE, "web-1"),
    "classic-crash-loop": (Finding.COMES_AND_GOES, "web-2"),
    "classic-rolling": (Finding.ROLLING_DEPLOY, "web-3"),
    "classic-emptied": (Finding.EMPTY, "web-1"),
    "consumer-clean-leave": (Finding.MEMBER_LOST, "web-2"),
    "consumer-killed": (Finding.MEMBER_LOST, "web-2"),
    "consumer-static-gone": (Finding.MEMBER_LOST, "web-2"),
    "consumer-slow-poll": (Finding.POLL_INTERVAL, "web-2"),
    "consumer-slow-revocation": (Finding.PAST_SLOW_REVOCATION, "web-1"),
    "consumer-dropped": (Finding.NOT_REVOKED, "web-1"),
    "consumer-crash-loop": (Finding.COMES_AND_GOES, "web-2"),
    "consumer-rolling": (Finding.ROLLING_DEPLOY, "web-3"),
    "consumer-emptied": (Finding.EMPTY, "web-1"),
}


def test_each_recording_is_tested() -> None:
    assert set(TOLD) == set(recordings())


@pytest.mark.parametrize("name", TOLD)
def test_the_culprit_and_the_cause_of_each_rebalance_are_told(name: str) -> None:
    replay = Replay(name).play()
    assert [told(event) for event in replay.story().events] == TOLD[name]
    assert not replay.state.undecodable and not replay.state.unknown_kinds


@pytest.mark.parametrize("name", [name for name in TOLD if name.startswith("classic-")])
def test_the_log_alone_tells_no_cause_that_it_cannot_know(name: str) -> None:
    replay = Replay(name, is_polled=False).play()
    assert [told(event) for event in replay.story().events] == TOLD_BY_THE_LOG_ALONE.get(name, TOLD[name])


@pytest.mark.parametrize("name", TOLD)
def test_the_headline_names_the_culprit(name: str) -> None:
    verdict = Replay(name).play().verdict()
    code, client_id = HEADLINES.get(name, (Finding.HEALTHY, ""))
    assert (verdict.code, verdict.culprit.client_id) == (code, client_id), verdict.sentence


@pytest.mark.parametrize("name", TOLD)
def test_at_every_moment_there_is_a_verdict_without_a_gap(name: str) -> None:
    replay = Replay(name)
    for _, batch in itertools.groupby(replay.lines, key=lambda line: line["at_ms"]):
        for line in batch:
            replay.hand_in(line)
        story = replay.state.story(name, line["at_ms"] + 1)
        if story is None:
            continue
        for verdict in explain(story):
            words = f"{verdict.sentence} {verdict.advice}"
            assert not re.search(r"  |None|unknown time|(?<!\w)-1| \(\)", words), words
            assert all(0 <= position <= len(story.events) for position in verdict.evidence)


@pytest.mark.parametrize("name", TOLD)
def test_questions_in_between_change_nothing(name: str) -> None:
    asked, quiet = Replay(name), Replay(name).play()
    for line in asked.lines:
        asked.hand_in(line)
        asked.state.story(name, asked.ended_ms)
    asked.state.caught_up()
    assert asked.story() == quiet.story()


@pytest.mark.parametrize("name", TOLD)
def test_each_partition_has_one_owner_at_the_end(name: str) -> None:
    replay = Replay(name).play()
    owned = [
        (topic, number)
        for partitions in replay.state.owned_now(name).values()
        for topic, numbers in partitions.items()
        for number in numbers
    ]
    assert len(owned) == len(set(owned))
    state = replay.story().state
    assert state is not None and len(owned) == state.partitions
    by_changes: dict[str, object] = {}
    for change in replay.state.ownership(name):
        by_changes[change.key] = change.partitions
    now = {key: partitions for key, partitions in replay.state.owned_now(name).items() if partitions}
    assert {key: each for key, each in by_changes.items() if each} == now
    assert {topic for topic, _ in owned} <= {"orders", "refunds", "idle", "growing", "growing-too"}


def departure(name: str, client_id: str) -> Rebalance:
    return next(
        event
        for event in Replay(name).play().rebalances
        for change in event.changes
        if change.kind in (ChangeKind.LEFT, ChangeKind.GONE, ChangeKind.DROPPED)
        and change.member.client_id == client_id
    )


@pytest.mark.parametrize("name", ["classic-killed", "classic-static-gone", "consumer-killed", "consumer-static-gone"])
def test_a_killed_member_looks_like_an_expired_session_and_is_not_called_one(name: str) -> None:
    event = departure(name, "web-2")
    assert event.changes[0].kind is ChangeKind.GONE and 6_000 <= event.trigger.silent_ms <= 9_000
    sentence = Replay(name).play().verdict().sentence
    assert "which left or lost its session" in sentence and "looks like an expired session" in sentence


def test_an_idle_member_that_was_killed_gives_no_clue() -> None:
    sentence = Replay("classic-killed-idle").play().verdict().sentence
    assert "looks" not in sentence and "the last that the log has of it was 18 s before" in sentence


def test_what_cannot_be_told_is_said() -> None:
    unknown = " ".join(Replay("classic-killed").play().story().unknown)
    assert "left by itself or lost its session" in unknown and "which member it waited for" in unknown
    assert "left by itself" not in " ".join(Replay("classic-clean-leave").play().story().unknown)
    assert "has not been answered lately" in " ".join(Replay("classic-join", is_polled=False).play().story().unknown)
    replay = Replay("classic-join")
    for line in replay.lines:
        replay.hand_in(line)
    assert "is still being read" in replay.story().unknown[0]


def test_a_member_that_does_not_rejoin_in_time_was_dropped() -> None:
    event = departure("classic-dropped", "web-1")
    assert event.changes[0].kind is ChangeKind.DROPPED and event.trigger.member.client_id == "web-2"
    assert departure("consumer-dropped", "web-1").changes[0].kind is ChangeKind.DROPPED


def test_a_slow_revocation_is_told_while_it_lasts() -> None:
    replay = Replay("consumer-slow-revocation")
    at_ms = replay.at("start web-2") + 8_000
    story = replay.play(at_ms).story(at_ms)
    assert story.state is not None and story.state.state == "Reconciling" and story.state.waits is Wait.REVOCATION
    verdict = explain(story)[0]
    assert verdict.code is Finding.SLOW_REVOCATION and verdict.culprit.client_id == "web-1"
    assert "to give up 3 partitions, at most 52 s more" in verdict.sentence


def test_a_slow_rejoin_is_told_while_it_lasts_and_names_the_only_former_member() -> None:
    replay = Replay("classic-slow-rejoin")
    at_ms = replay.at("start web-2") + 8_000
    story = replay.play(at_ms).story(at_ms)
    assert story.state is not None and story.state.state == "PreparingRebalance"
    verdict = explain(story)[0]
    assert verdict.code is Finding.SLOW_REBALANCE and verdict.culprit.client_id == "web-1"
    assert verdict.sentence.startswith("Waiting at least 7.7 s for web-1 (127.0.0.1), the only former member")
    assert "because a new member joined (web-2 (127.0.0.1))" in verdict.sentence
    assert "is alive, because its session would have ended" in verdict.advice


def test_without_describe_groups_a_running_rebalance_is_not_seen_and_that_is_said() -> None:
    replay = Replay("classic-slow-rejoin", is_polled=False)
    at_ms = replay.at("start web-2") + 8_000
    story = replay.play(at_ms).story(at_ms)
    assert story.state is not None and story.state.rebalance is None
    assert any("has not been answered lately" in sentence for sentence in story.unknown)


def test_the_last_member_that_leaves_empties_the_group() -> None:
    for name in ("classic-emptied", "consumer-emptied"):
        replay = Replay(name).play()
        state = replay.story().state
        assert state is not None and state.state == "Empty" and not state.member_count
        assert replay.rebalances[-1].outcome is RebalanceOutcome.EMPTY
        assert replay.state.owned_now(name) == {}


def test_an_online_upgrade_makes_the_group_a_consumer_group_and_keeps_its_members() -> None:
    replay = Replay("classic-upgraded").play()
    assert replay.state.type_of("classic-upgraded") == "consumer"
    last = replay.rebalances[-1]
    assert (last.members_before, last.members_after, last.counts) == (2, 3, {"joined": 1})


def test_a_static_member_that_comes_back_moves_no_partition() -> None:
    for name in ("classic-static-restart", "consumer-static-restart"):
        (incident,) = Replay(name).play().incidents
        assert incident.what is IncidentKind.STATIC_MEMBER_REPLACED
        assert incident.member.instance_id == incident.other.instance_id == "two"
        assert incident.member.member_id != incident.other.member_id


def test_phases_of_a_consumer_group_are_exact() -> None:
    event = Replay("consumer-slow-revocation").play().rebalances[-1]
    assert (event.join_ms, event.sync_ms) == (0, 9_005)
    assert event.last_to_revoke.client_id == "web-1" and event.last_revoke_ms == 8_889
    assert event.partitions_moved == 3 and event.unowned_partition_ms == 348
