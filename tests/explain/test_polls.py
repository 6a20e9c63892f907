"""Rules about members that do not poll: their clients tell it (KIP-714), and it stands before their departure."""

from __future__ import annotations

import pytest

from coordinator.core.events.model import Incident, IncidentKind, Story
from coordinator.core.last_polls import LastPoll
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.telemetry.figures import LAST_POLL, ClientFigures
from coordinator.telemetry.instances import ClientFacts
from coordinator.telemetry.metrics_data import decode
from coordinator.telemetry.polls import last_poll_of, with_polls
from tests.explain.consumer_play import ConsumerPlay
from tests.explain.play import Play
from tests.support.scripted_member import Member
from tests.telemetry.otlp import metrics_data


class Told:
    """The figures of members, as they would come over the wire."""

    def __init__(self, play: Play) -> None:
        self._play = play
        self._figures: list[ClientFigures] = []

    def push(self, member: Member, unpolled_s: float, *, host: str | None = None) -> None:
        """Let the client of a member push that it has not polled for so long."""
        client = ClientFacts(member.client_id, "java", "4.4.0", (host or member.host).lstrip("/"), "50000")
        figures = ClientFigures(member.member_id, client)
        labels = {"group_id": "g", "group_member_id": member.member_id}
        message = metrics_data(labels=labels, gauges={LAST_POLL: unpolled_s})
        figures.take(decode(message.SerializeToString()), self._play.cluster.clock.now_ms)
        self._figures = [each for each in self._figures if each.instance_id != member.member_id] + [figures]
        told = last_poll_of(figures)
        assert told is not None
        self._play.cluster.core.last_polled(told, self._play.cluster.clock.now_ms)

    def verdict(self) -> GroupVerdict:
        story = with_polls(self._play.story(), self._figures, self._play.cluster.clock.now_ms)
        return explain(story)[0]


@pytest.fixture
def told(play: Play) -> Told:
    return Told(play)


def incidents(story: Story) -> list[Incident]:
    return [each for each in story.events if isinstance(each, Incident) and each.what is IncidentKind.NOT_POLLING]


def test_a_member_that_does_not_poll_is_named_before_it_is_evicted(play: Play, told: Told) -> None:
    slow, web = play.clients("slow-1", "web-2", rebalance_timeout="5m")
    play.wait("250s", slow, web)
    told.push(slow, 249.0)
    told.push(web, 0.0)
    play.wait("20s", slow, web)
    verdict = told.verdict()
    assert verdict.code is Finding.NOT_POLLING
    assert verdict.sentence == (
        "Stable, but slow-1 (pod-slow-1, librdkafka 2.16) last polled 4 m 29 s ago; "
        "it leaves the group in 31 s unless it polls"
    )
    assert "Its 3 partitions stand still" in verdict.advice
    assert verdict.culprit.client_id == "slow-1" and verdict.at_most_ms == 31_000
    [incident] = incidents(play.story())
    assert verdict.evidence == [play.story().events.index(incident)]
    assert incident.text() == (
        "Group g: slow-1 (pod-slow-1, librdkafka 2.16) last polled 4 m 9 s ago; it leaves in 51 s unless it polls."
    )


def test_a_member_that_polled_within_half_of_its_interval_is_not_named(play: Play, told: Told) -> None:
    slow, web = play.clients("slow-1", "web-2", rebalance_timeout="5m")
    play.wait("250s", slow, web)
    told.push(slow, 149.0)
    assert told.verdict().code is Finding.HEALTHY
    assert incidents(play.story()) == []


def test_what_was_told_long_ago_is_not_the_present(play: Play, told: Told) -> None:
    slow, web = play.clients("slow-1", "web-2", rebalance_timeout="5m")
    play.wait("250s", slow, web)
    told.push(slow, 200.0)
    play.wait("61s", slow, web)
    assert told.verdict().code is Finding.HEALTHY


def test_pushes_of_one_stall_are_one_incident_with_the_newest_time(play: Play, told: Told) -> None:
    slow, web = play.clients("slow-1", "web-2", rebalance_timeout="5m")
    for seconds in (160, 190, 220):
        play.wait("30s", slow, web)
        told.push(slow, seconds)
    [incident] = incidents(play.story())
    assert (incident.times, incident.waited_ms, incident.at_most_ms) == (3, 220_000, 80_000)


def test_a_departure_after_it_exceeded_its_poll_interval_whatever_reason_it_gave(play: Play, told: Told) -> None:
    slow, web = play.clients("slow-1", "web-2", rebalance_timeout="5m")
    play.wait("281s", slow, web)
    told.push(slow, 281.0)
    play.wait("19s", slow, web)
    slow.leave(reason="")
    play.rebalance([web])
    verdict = told.verdict()
    assert verdict.code is Finding.POLL_INTERVAL
    assert "it exceeded its max.poll.interval.ms, as it had last polled 5 m before" in verdict.sentence


def test_who_is_waited_for_says_when_it_polled_last(play: Play, told: Told) -> None:
    slow, web = play.clients("slow-1", "web-2", rebalance_timeout="5m")
    play.client("web-3").join()
    web.join()
    play.wait("38s", slow)
    told.push(slow, 38.0)
    verdict = told.verdict()
    assert verdict.code is Finding.SLOW_JOINER
    assert verdict.sentence.endswith("; it last polled 38 s ago")


def test_the_word_of_another_client_counts_for_nothing(play: Play, told: Told) -> None:
    slow, web = play.clients("slow-1", "web-2", rebalance_timeout="5m")
    play.wait("250s", slow, web)
    told.push(slow, 249.0, host="/elsewhere")
    assert told.verdict().code is Finding.HEALTHY
    for stranger in (
        LastPoll("g", "unknown", "slow-1", "pod-slow-1", 249_000),
        LastPoll("nothing", slow.member_id, "slow-1", "pod-slow-1", 249_000),
        LastPoll("g", slow.member_id, "other", "pod-slow-1", 249_000),
    ):
        play.cluster.core.last_polled(stranger, play.cluster.clock.now_ms)
    assert incidents(play.story()) == []


def test_who_keeps_partitions_of_a_consumer_group_says_when_it_polled_last() -> None:
    stage = ConsumerPlay()
    [busy] = stage.join("busy-1", rebalance_timeout_ms=300_000)
    busy.is_busy = True
    stage.join("other-1")
    stage.wait(40)
    client = ClientFacts("busy-1", "librdkafka", "2.16", "pod-busy-1", "50000")
    figures = ClientFigures("instance", client)
    labels = {"group_id": "g", "group_member_id": busy.member_id}
    now_ms = stage.world.clock.now_ms
    figures.take(decode(metrics_data(labels=labels, gauges={LAST_POLL: 41.0}).SerializeToString()), now_ms)
    verdict = explain(with_polls(stage.story(), [figures], now_ms))[0]
    assert verdict.code is Finding.SLOW_REVOCATION
    assert "; it last polled 41 s ago" in verdict.sentence
