"""Events of an earlier run are taken over behind those of this run, within the bounds of the recorder."""

from __future__ import annotations

from coordinator.config.config import Config
from coordinator.core.events.model import Incident, IncidentKind
from coordinator.core.events.recorder import FlightRecorder
from tests.support.cluster import Cluster


def incident(group: str, at_ms: int, *, times: int = 1, last_ms: int = 0) -> Incident:
    return Incident(group=group, at_ms=at_ms, what=IncidentKind.FENCED, times=times, last_ms=last_ms, api=str(at_ms))


def kept(recorder: FlightRecorder, group: str) -> list[int]:
    return [event.at_ms for event in recorder.events(group)]


def test_events_of_an_earlier_run_come_before_those_of_this_one() -> None:
    recorder = FlightRecorder(10, 100, 10)
    recorder.incident(incident("g", 50))
    recorder.restore([incident("g", 30), incident("h", 35), incident("g", 40)])
    recorder.restore([incident("g", 10), incident("g", 20)])
    assert (kept(recorder, "g"), kept(recorder, "h")) == ([10, 20, 30, 40, 50], [35])


def test_restoring_drops_no_event_of_this_run() -> None:
    recorder = FlightRecorder(3, 4, 2)
    for at_ms in (50, 60):
        recorder.incident(incident("g", at_ms))
    recorder.restore([incident("g", 10), incident("h", 15), incident("g", 20), incident("i", 25), incident("j", 30)])
    assert kept(recorder, "g") == [20, 50, 60], "three of a group"
    assert (kept(recorder, "j"), kept(recorder, "i"), kept(recorder, "h")) == ([30], [], []), "two groups, the newest"


def test_the_number_of_all_restored_events_is_bounded() -> None:
    recorder = FlightRecorder(32, 100, 1000)
    recorder.restore([incident(f"g{number % 20}", number) for number in range(500)])
    assert "100 events of 20 groups" in repr(recorder)
    assert kept(recorder, "g19") == [419, 439, 459, 479, 499]


def test_an_incident_that_was_written_again_comes_once_with_its_last_count() -> None:
    recorder = FlightRecorder(10, 100, 10)
    recorder.restore([incident("g", 10, times=n, last_ms=10 * n) for n in (1, 2, 4)])
    assert [(event.times, event.last_ms) for event in recorder.events("g") if isinstance(event, Incident)] == [(4, 40)]


def test_a_restored_group_is_forgotten_before_an_active_one() -> None:
    recorder = FlightRecorder(10, 100, 2)
    recorder.incident(incident("active", 50))
    recorder.restore([incident("old", 10)])
    recorder.incident(incident("new", 60))
    assert list(recorder.groups) == ["active", "new"]


def test_the_load_of_each_group_with_members_is_an_event(cluster: Cluster) -> None:
    cluster.stable_group()
    cluster.commit("no-members", {("orders", 0): 1})
    before = len(cluster.events)
    cluster.crash_and_recover()
    loaded = [event for event in cluster.events[before:] if isinstance(event, Incident)]
    assert [(event.group, event.what, event.generation) for event in loaded] == [("g", IncidentKind.GROUP_LOADED, 1)]


def test_loads_take_an_eighth_of_the_recorder_at_most() -> None:
    config = Config(group_initial_rebalance_delay_ms=0, group_max_events=24, offsets_topic_num_partitions=1)
    cluster = Cluster(config, partitions=1)
    for number in range(5):
        cluster.stable_group(f"g{number}", members=1)
    before = len(cluster.events)
    cluster.crash_and_recover()
    assert len(cluster.events) - before == 3
