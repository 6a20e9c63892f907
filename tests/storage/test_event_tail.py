"""The newest events at the ends of logs: what is damaged or foreign is skipped, and no more is read than is wanted."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.core.events.model import AnyEvent, Incident, IncidentKind, encode
from coordinator.storage import event_tail
from coordinator.storage.event_tail import read_events
from coordinator.storage.log.log import Log, LogConfig
from protocol.record_batch import build_batch


def event(at_ms: int) -> Incident:
    return Incident(group="g", at_ms=at_ms, what=IncidentKind.GROUP_LOADED)


def append(log: Log, *values: bytes | None) -> None:
    batch = build_batch([(b"g", value) for value in values], base_offset=log.log_end_offset, timestamp_ms=1)
    log.append(bytes(batch), log.log_end_offset + len(values) - 1, 1)
    log.flush()
    log.high_watermark = log.log_end_offset


def times(events: list[AnyEvent]) -> list[int]:
    return [each.at_ms for each in events]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    opened = Log.open(tmp_path / "events-0", LogConfig(segment_bytes=2000))
    yield opened
    opened.close()


def test_events_of_all_logs_come_oldest_first(log: Log, tmp_path: Path) -> None:
    other = Log.open(tmp_path / "events-1")
    append(log, encode(event(10)), encode(event(30)))
    append(other, encode(event(20)), encode(event(40)))
    tail = read_events([(log, 2), (other, 2)], 100)
    assert (times(tail.events), tail.skipped, tail.failed) == ([10, 20, 30, 40], 0, [])
    assert times(read_events([(log, 2), (other, 2)], 3).events) == [20, 30, 40]
    other.close()


def test_events_of_this_run_are_not_read(log: Log) -> None:
    append(log, encode(event(10)))
    append(log, encode(event(20)))
    assert times(read_events([(log, 1)], 100).events) == [10]


@pytest.mark.parametrize(
    "foreign",
    [
        b"",
        b"no json",
        b"[1]",
        b'{"kind":"other"}',
        b'{"kind":"incident","group":"g"}',
        b"\xff\xfe",
        None,
        b'{"kind":1}',
    ],
)
def test_what_is_no_event_is_skipped(log: Log, foreign: bytes | None) -> None:
    append(log, encode(event(10)), foreign, encode(event(20)))
    tail = read_events([(log, 3)], 100)
    assert (times(tail.events), tail.skipped, tail.failed) == ([10, 20], 1, [])


def test_a_damaged_batch_is_skipped(log: Log) -> None:
    for at_ms in (10, 20, 30):
        append(log, encode(event(at_ms)))
    path = log.segments[0].path
    data = path.read_bytes()
    with path.open("r+b") as file:
        os.pwrite(file.fileno(), b"?", data.index(b'"at_ms":20'))
    tail = read_events([(log, 3)], 100)
    assert (times(tail.events), tail.skipped, tail.failed) == ([10, 30], 1, [])


def test_a_log_that_cannot_be_read_does_not_hide_the_others(log: Log, tmp_path: Path) -> None:
    other = Log.open(tmp_path / "events-1")
    append(other, encode(event(20)))
    append(log, encode(event(10)))
    path = log.segments[0].path
    path.write_bytes(b"\0" * path.stat().st_size)
    tail = read_events([(log, 1), (other, 1)], 100)
    assert times(tail.events) == [20]
    assert [reason.startswith("events-0 (") for reason in tail.failed] == [True]
    other.close()


def test_only_the_newest_segments_are_read(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_tail, "TAIL_BYTES", 3000)
    for at_ms in range(100):
        append(log, encode(event(at_ms)))
    assert len(log.segments) > 5
    found = times(read_events([(log, 100)], 1000).events)
    assert found == list(range(found[0], 100)) and 10 < len(found) < 50
