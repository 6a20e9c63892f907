"""A static member of an observed classic group that is replaced again and again: two processes, or one that crashes."""

from __future__ import annotations

import pytest

from coordinator.core.events.model import ClientInfo, Incident, IncidentKind, LiveGroup, Story
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.observe.unknown import READ_TWICE

AT_MS = 1_700_000_000_000


def replaced(times: int, within_ms: int, unknown: list[str]) -> GroupVerdict:
    """Return the headline about a member whose runs have one client id and one host, as Kafka's records have it."""
    run, former = (ClientInfo(f"shop-1-{number}", "shop-1", "web", "127.0.0.1") for number in (2, 1))
    incident = Incident(
        group="g",
        at_ms=AT_MS,
        what=IncidentKind.STATIC_MEMBER_REPLACED,
        member=run,
        other=former,
        times=times,
        last_ms=AT_MS + within_ms,
    )
    at_ms = AT_MS + within_ms + 50
    state = LiveGroup(group="g", at_ms=at_ms, state="Stable", since_ms=AT_MS, member_count=1)
    return explain(Story(at_ms=at_ms, state=state, events=[incident], unknown=unknown))[0]


def test_replacements_that_are_faster_than_a_start_look_like_two_processes() -> None:
    verdict = replaced(20, 3_000, [READ_TWICE])
    assert verdict.code is Finding.SHARED_INSTANCE_ID and verdict.culprit.instance_id == "shop-1"
    assert verdict.sentence == (
        "Two processes seem to have the group.instance.id shop-1: both web on 127.0.0.1, which replaced each other 20 "
        "times within 3 s"
    )


@pytest.mark.parametrize(("within_ms", "unknown"), [(60_000, [READ_TWICE]), (3_000, [])])
def test_slower_ones_are_restarts_and_our_own_coordinator_knows_without_a_guess(
    within_ms: int, unknown: list[str]
) -> None:
    assert replaced(20, within_ms, unknown).code is Finding.RESTART_LOOP
