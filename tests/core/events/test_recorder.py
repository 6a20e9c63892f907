"""The flight recorder has bounds in every direction, and counts incidents that repeat."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.core.events.model import (
    AnyEvent,
    Cause,
    ClientInfo,
    Incident,
    IncidentKind,
    Rebalance,
    RebalanceOutcome,
    Trigger,
    decode_event,
    encode,
)
from coordinator.core.events.recorder import REPEATS_WITHIN_MS, FlightRecorder
from tests.support.cluster import Cluster

A = ClientInfo("a-1", "", "a", "10.0.0.1")
B = ClientInfo("b-1", "", "b", "10.0.0.2")


def rebalance(group: str = "g", generation: int = 1, cause: Cause = Cause.MEMBER_LEFT) -> Rebalance:
    return Rebalance(
        group=group,
        at_ms=generation,
        trigger=Trigger(cause),
        outcome=RebalanceOutcome.STABLE,
        previous_generation=generation - 1,
        generation=generation,
        join_ms=30,
        sync_ms=12,
    )


def incident(
    member: ClientInfo = A,
    *,
    group: str = "g",
    what: IncidentKind = IncidentKind.UNKNOWN_MEMBER,
    at_ms: int = 0,
    **more: Any,
) -> Incident:
    return Incident(group=group, at_ms=at_ms, what=what, member=member, error="UNKNOWN_MEMBER_ID", **more)


class Recorder:
    """A recorder and what it published, as consumers of the topic see it."""

    def __init__(self, per_group: int = 32, total: int = 1_000, groups: int = 100, alike: int = 8) -> None:
        self.published: list[AnyEvent] = []
        self.recorder = FlightRecorder(per_group, total, groups, self._publish, alike)
        self.events = self.recorder.events

    def _publish(self, event: AnyEvent) -> None:
        self.published.append(decode_event(encode(event)))

    @property
    def times(self) -> list[int]:
        return [event.times for event in self.published if isinstance(event, Incident)]

    @property
    def kept(self) -> int:
        return sum(len(record.events) for record in self.recorder.groups.values())


def test_newest_events_of_a_group_are_kept() -> None:
    it = Recorder(per_group=3)
    for generation in range(1, 4):
        it.recorder.rebalance(rebalance(generation=generation))
    assert [event.at_ms for event in it.events("g")] == [1, 2, 3]
    for generation in range(4, 6):
        it.recorder.rebalance(rebalance(generation=generation))
    assert [event.at_ms for event in it.events("g")] == [3, 4, 5]
    assert it.recorder.groups["g"].rebalances == 5
    assert it.events("other") == []


def test_least_active_group_is_forgotten_when_all_groups_have_too_many_events() -> None:
    it = Recorder(total=5)
    for group in ("idle", "busy", "busy", "busy", "third"):
        it.recorder.rebalance(rebalance(group))
    assert (it.kept, len(it.recorder.groups)) == (5, 3)
    it.recorder.rebalance(rebalance("busy"))
    assert list(it.recorder.groups) == ["third", "busy"]
    assert it.kept == 5


def test_ring_of_one_group_is_no_longer_than_all_rings_together() -> None:
    it = Recorder(per_group=100, total=10)
    for generation in range(1, 30):
        it.recorder.rebalance(rebalance(generation=generation))
    assert [event.at_ms for event in it.events("g")] == list(range(20, 30))


def test_least_active_groups_are_forgotten_when_there_are_too_many() -> None:
    it = Recorder(groups=2)
    for group in ("a", "b", "a", "c"):
        it.recorder.rebalance(rebalance(group))
    assert list(it.recorder.groups) == ["a", "c"]
    assert "3 events of 2 groups" in repr(it.recorder)


def test_100_000_rebalances_and_incidents_stay_within_the_bounds() -> None:
    recorder = FlightRecorder(32, 2_000, 500)
    for number in range(100_000):
        group = f"g{number * 7919 % 1_000}"
        recorder.rebalance(rebalance(group, number))
        recorder.incident(incident(ClientInfo(client_id=f"c{number}"), group=group, at_ms=number))
    kept = [record.events for record in recorder.groups.values()]
    assert len(kept) <= 500 and sum(map(len, kept)) <= 2_000 and max(map(len, kept)) <= 32
    assert f"{sum(map(len, kept))} events" in repr(recorder)


def test_a_group_that_rebalances_all_the_time_keeps_as_many_records_as_set() -> None:
    cluster = Cluster(Config(group_max_rebalance_history=5))
    (a,) = cluster.stable_group(members=1)
    for _ in range(200):
        a.join()
        a.sync()
    assert len(cluster.core.recorder.events("g")) == 5
    assert len(cluster.rebalances) == 201


def test_rebalances_are_counted_by_cause_with_their_time() -> None:
    it = Recorder()
    it.recorder.rebalance(rebalance(cause=Cause.MEMBER_LEFT))
    it.recorder.rebalance(rebalance(cause=Cause.MEMBER_LEFT))
    it.recorder.rebalance(rebalance(cause=Cause.NO_SYNC))
    record = it.recorder.groups["g"]
    assert (record.rebalances_by_cause, record.rebalance_ms) == ({"member_left": 2, "no_sync": 1}, 3 * 42)


def test_incident_that_repeats_is_counted_and_published_when_its_number_doubles() -> None:
    it = Recorder()
    for number in range(20):
        it.recorder.incident(incident(ClientInfo(f"a-{number}", "", "a", "10.0.0.1"), at_ms=number))
    (event,) = it.events("g")
    assert isinstance(event, Incident)
    assert (event.times, event.at_ms, event.last_ms, event.others) == (20, 0, 19, 0)
    assert it.times == [1, 2, 4, 8, 16]


@pytest.mark.parametrize(
    "other",
    [
        incident(B),
        incident(ClientInfo("a-1", "", "a", "10.0.0.9")),
        incident(ClientInfo("a-1", "i", "a", "10.0.0.1")),
        incident(what=IncidentKind.STALE_GENERATION),
        incident(api="HEARTBEAT"),
        incident(group="h"),
        incident(at_ms=REPEATS_WITHIN_MS + 1),
    ],
)
def test_incident_that_differs_is_an_event_of_its_own(other: Incident) -> None:
    it = Recorder()
    it.recorder.incident(incident())
    it.recorder.incident(other)
    assert it.times == [1, 1]


def test_repetition_is_counted_from_the_last_time() -> None:
    it = Recorder()
    for number in range(4):
        it.recorder.incident(incident(at_ms=number * REPEATS_WITHIN_MS))
    assert len(it.events("g")) == 1


def test_as_many_incidents_that_differ_in_the_client_as_allowed_are_kept_and_one_more_is_counted_in_the_newest() -> (
    None
):
    it = Recorder(alike=3)
    for number in range(3):
        it.recorder.incident(incident(ClientInfo(client_id=f"c{number}")))
    assert it.kept == 3
    it.recorder.incident(incident(ClientInfo(client_id="c3")))
    assert it.kept == 3
    assert it.times == [1, 1, 1, 2], "it is published again as one that happened twice"


def test_incidents_of_many_clients_are_counted_in_a_few() -> None:
    """A rebalance of 200 members, whose late commits are all refused, must not cost the memory of a group."""
    it = Recorder()
    it.recorder.rebalance(rebalance())
    for _ in range(2):
        for number in range(200):
            it.recorder.incident(incident(ClientInfo(client_id=f"c{number}"), what=IncidentKind.COMMIT_REFUSED))
    first, *others = it.events("g")
    assert isinstance(first, Rebalance) and len(others) == 8
    assert sum(event.times for event in others if isinstance(event, Incident)) == 400
    assert sum(event.others for event in others if isinstance(event, Incident)) == 2 * (200 - 8)
    assert it.recorder.groups["g"].commits_refused == 400
    assert len(it.published) < 40


def test_incidents_do_not_drive_rebalances_out() -> None:
    it = Recorder(per_group=8)
    for number in range(4):
        it.recorder.rebalance(rebalance(generation=number))
    for number in range(100):
        it.recorder.incident(incident(at_ms=number * 2 * REPEATS_WITHIN_MS))
    assert [type(event) for event in it.events("g")] == [Rebalance] * 4 + [Incident] * 4
    assert it.kept == 8 and "8 events" in repr(it.recorder)


def test_each_slow_rebalance_is_published() -> None:
    it = Recorder()
    for number in range(3):
        it.recorder.incident(incident(what=IncidentKind.REBALANCE_SLOW, at_ms=number))
    assert it.times == [1, 1, 1]


def test_without_a_memory_only_rebalances_and_slow_ones_are_published() -> None:
    it = Recorder(per_group=0)
    it.recorder.rebalance(rebalance())
    it.recorder.incident(incident(what=IncidentKind.REBALANCE_SLOW))
    for _ in range(5):
        it.recorder.incident(incident(what=IncidentKind.FENCED))
    assert len(it.published) == 2 and it.events("g") == []
    assert it.recorder.groups["g"].fencings == 5


def test_events_of_an_earlier_run_are_taken_over_silently() -> None:
    it = Recorder()
    it.recorder.rebalance(rebalance())
    for number in range(9):
        it.recorder.incident(incident(at_ms=number))
    again = Recorder()
    again.recorder.restore(it.published)
    first, second = again.events("g")
    assert first == it.events("g")[0]
    assert isinstance(second, Incident)
    assert (second.times, second.last_ms) == (8, 7), "as published last"
    assert again.published == []
    again.recorder.incident(incident(at_ms=100))
    assert second.times == 9


def test_restored_events_obey_the_bounds() -> None:
    it = Recorder(per_group=3, total=5, groups=2)
    it.recorder.restore([rebalance(f"g{number % 4}", number) for number in range(100)])
    assert len(it.recorder.groups) <= 2 and it.kept <= 5
