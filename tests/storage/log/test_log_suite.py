"""One suite for two logs: the real one, and the one in memory that replaces it in tests of the topics."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.log.errors import LogError, OffsetOutOfRangeError
from coordinator.storage.log.log import Log, LogConfig
from protocol.record_batch import build_batch, iter_batches
from tests.support.memory_log import MemoryLog

AnyLog = Log | MemoryLog
Make = Callable[[int], AnyLog]


@pytest.fixture(params=["real", "memory"])
def make(request: pytest.FixtureRequest) -> Make:
    if request.param == "memory":
        return lambda segment_bytes: MemoryLog(LogConfig(segment_bytes=segment_bytes))
    fs = LossyFileSystem()
    fs.mkdir(Path("/data"))
    return lambda segment_bytes: Log.open(Path("/data/orders-0"), LogConfig(segment_bytes=segment_bytes), fs)


def append(log: AnyLog, count: int = 1, timestamp: int = 1000, *, durable: bool = True) -> int:
    base_offset = log.log_end_offset
    batch = bytes(build_batch([(None, b"v")] * count, base_offset=base_offset, timestamp_ms=timestamp))
    log.append(batch, base_offset + count - 1, timestamp)
    if durable:
        log.flush()
        log.high_watermark = log.log_end_offset
    return len(batch)


def bases(data: bytes) -> list[int]:
    return [header.base_offset for _, header in iter_batches(data)]


def test_appends_continue_at_the_next_offset(make: Make) -> None:
    log = make(1 << 20)
    append(log, 3)
    append(log, 2)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 5, 5)
    with pytest.raises(LogError):
        log.append(bytes(build_batch([(None, b"v")], base_offset=9, timestamp_ms=1)), 9, 1)


def test_a_read_begins_with_the_batch_that_holds_the_offset(make: Make) -> None:
    log = make(1 << 20)
    append(log, 3)
    append(log, 3)
    assert bases(log.read(1, 1 << 20)) == [0, 3]
    assert bases(log.read(3, 1 << 20)) == [3]
    assert log.read(6, 1 << 20) == b""


def test_a_read_stays_within_its_limit_except_for_the_first_batch(make: Make) -> None:
    log = make(1 << 20)
    size = append(log)
    for _ in range(4):
        append(log)
    assert bases(log.read(1, 2 * size)) == [1, 2]
    assert bases(log.read(1, 2 * size + size - 1)) == [1, 2]
    assert bases(log.read(1, 1)) == [1]
    assert bases(log.read(1, 0)) == [1]
    assert log.read(1, size - 1, min_one=False) == b""


def test_a_read_stops_at_the_high_watermark_or_earlier(make: Make) -> None:
    log = make(1 << 20)
    append(log)
    append(log)
    append(log, durable=False)
    assert bases(log.read(0, 1 << 20)) == [0, 1]
    assert bases(log.read(0, 1 << 20, up_to_offset=1)) == [0]
    assert log.read(2, 1 << 20) == b""


def test_a_read_outside_the_log_is_an_error(make: Make) -> None:
    log = make(1 << 20)
    append(log)
    for offset in (-1, 2):
        with pytest.raises(OffsetOutOfRangeError):
            log.read(offset, 100)


def test_segments_end_when_they_are_full(make: Make) -> None:
    log = make(200)
    for _ in range(6):
        append(log)
    assert len(log.segments) > 1
    assert log.segments[0].size_bytes <= 200
    assert log.size_bytes == sum(segment.size_bytes for segment in log.segments)
    assert [bases(log.read(segment.base_offset, 1 << 20)) for segment in log.segments] == [
        list(range(segment.base_offset, segment.next_offset)) for segment in log.segments
    ]


def test_whole_segments_are_dropped_when_the_start_moves(make: Make) -> None:
    log = make(200)
    for _ in range(6):
        append(log)
    second = log.segments[1].base_offset
    assert log.delete_up_to(second + 1) == 1
    assert (log.log_start_offset, log.segments[0].base_offset) == (second + 1, second)
    with pytest.raises(OffsetOutOfRangeError):
        log.read(second, 100)
    assert log.delete_up_to(1) == 0
    log.roll()
    log.delete_up_to(log.log_end_offset)
    assert (log.log_start_offset, log.size_bytes) == (6, 0)
    append(log)
    assert bases(log.read(6, 100)) == [6]


def test_records_beyond_the_high_watermark_can_be_cut(make: Make) -> None:
    log = make(1 << 20)
    append(log)
    append(log, durable=False)
    log.cut_back()
    assert log.log_end_offset == 1
    append(log)
    assert bases(log.read(0, 1 << 20) + log.read(1, 1 << 20)) in ([0, 1], [0, 1, 1])


def test_timestamps_are_found(make: Make) -> None:
    log = make(200)
    for timestamp in (1000, 1010, 1005, 1030):
        append(log, timestamp=timestamp)
    assert log.offset_for_timestamp(0) == (1000, 0)
    assert log.offset_for_timestamp(1001) == (1010, 1)
    assert log.offset_for_timestamp(1011) == (1030, 3)
    assert log.offset_for_timestamp(1031) is None
    assert log.max_timestamp_offset() == (1030, 3)
    append(log, timestamp=1020)
    assert log.max_timestamp_offset() == (1030, 3)


def test_an_empty_log_has_no_timestamps(make: Make) -> None:
    log = make(200)
    assert log.offset_for_timestamp(0) is None
    assert log.max_timestamp_offset() is None


def test_batches_are_replayed_from_an_offset(make: Make) -> None:
    log = make(200)
    for _ in range(5):
        append(log, 2)
    assert [header.base_offset for header, _ in log.batches(5)] == [4, 6, 8]
    assert len(list(log.batches())) == 5
