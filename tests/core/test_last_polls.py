"""A member of a KIP-848 group tells that it does not poll. tests/explain/test_polls.py has the classic ones."""

from __future__ import annotations

from coordinator.core.events.model import Incident, IncidentKind
from coordinator.core.last_polls import LEAST_MS, LastPoll
from tests.explain.consumer_play import ConsumerPlay


def told_of(play: ConsumerPlay, member_id: str, unpolled_ms: int) -> list[Incident]:
    world = play.world
    world.core.last_polled(LastPoll("g", member_id, "slow", "pod-slow", unpolled_ms), world.clock.now_ms)
    events = play.story().events
    return [each for each in events if isinstance(each, Incident) and each.what is IncidentKind.NOT_POLLING]


def test_it_is_an_incident_from_half_of_its_rebalance_timeout_on() -> None:
    play = ConsumerPlay()
    [slow] = play.join("slow", rebalance_timeout_ms=300_000)
    assert told_of(play, slow.member_id, 149_999) == []
    [incident] = told_of(play, slow.member_id, 150_000)
    assert (incident.member.client_id, incident.generation, incident.at_most_ms) == ("slow", slow.epoch, 150_000)


def test_a_short_rebalance_timeout_is_no_reason_to_complain_at_once() -> None:
    play = ConsumerPlay()
    [slow] = play.join("slow", rebalance_timeout_ms=1_000)
    assert told_of(play, slow.member_id, LEAST_MS - 1) == []
    [incident] = told_of(play, slow.member_id, LEAST_MS)
    assert incident.at_most_ms == 0
