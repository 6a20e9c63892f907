"""Events of an observation on disk: written once, restored by the next run, and bounded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from coordinator.core.events.model import Cause, Rebalance, RebalanceOutcome, Trigger
from coordinator.core.events.recorder import FlightRecorder
from coordinator.history.events import load_events
from coordinator.observe import event_log
from coordinator.observe.event_log import ObservedEvents
from coordinator.storage.log.fs import RealFileSystem
from tests.history.stories import Story


def event(number: int, group: str = "g") -> Rebalance:
    return Rebalance(
        group=group,
        at_ms=number,
        trigger=Trigger(Cause.MEMBER_JOINED),
        outcome=RebalanceOutcome.STABLE,
        previous_generation=number - 1,
        generation=number,
    )


def events_in(directory: Path, partitions: int = 1, *, is_replaying: bool = False) -> ObservedEvents:
    return ObservedEvents(directory, RealFileSystem(), lambda: partitions, lambda: is_replaying)


async def test_events_are_where_history_finds_them_and_the_next_run_goes_on(tmp_path: Path) -> None:
    source = Story().members("a").source(tmp_path)
    first = events_in(tmp_path)
    first.publish(event(1))
    first.publish(event(2))
    await first.write()
    first.publish(event(3))
    await first.close()
    assert [each.event.at_ms for each in load_events(source, "g")] == [1, 2, 3]
    recorder = FlightRecorder(10, 100, 10)
    recorder.rebalance(event(3))  # from the mirror
    second = events_in(tmp_path)
    await second.restore(recorder)
    assert [each.at_ms for each in recorder.events("g")] == [1, 2, 3]
    second.publish(event(4))
    await second.close()
    assert [each.event.at_ms for each in load_events(source, "g")] == [1, 2, 3, 4]


async def test_what_the_mirror_gives_at_a_start_is_not_written_again(tmp_path: Path) -> None:
    events = events_in(tmp_path, is_replaying=True)
    events.publish(event(1))
    await events.close()
    assert not await asyncio.to_thread(lambda: list(tmp_path.iterdir()))


async def test_what_the_disk_refuses_is_written_with_the_next_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Story().members("a").source(tmp_path)
    events = events_in(tmp_path)
    events.publish(event(1))
    await events.write()
    events.publish(event(2))
    with monkeypatch.context() as failing:
        failing.setattr("coordinator.storage.log.log.Log.append", _refuse)
        await events.write()
    events.publish(event(3))
    await events.close()
    assert [each.event.at_ms for each in load_events(source, "g")] == [1, 2, 3]


def _refuse(*_: object) -> None:
    raise OSError(28, "No space left on device")


def test_as_many_events_wait_as_allowed_and_one_more_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "MOST_QUEUED", 2)
    events = events_in(tmp_path, 0)
    for number in range(3):
        events.publish(event(number))
    assert events.dropped == 1


async def test_as_many_segments_are_kept_as_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_log, "SEGMENT_BYTES", 300)
    monkeypatch.setattr(event_log, "MOST_SEGMENTS", 3)
    events = events_in(tmp_path)
    for number in range(1, 10):
        events.publish(event(number))
        await events.write()
    await events.close()
    assert len(list((tmp_path / "__group_events-0").glob("*.log"))) == 3
