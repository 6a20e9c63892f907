"""Appending, reading, rolling, cutting and deleting, on real files."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.log.errors import LogError, OffsetOutOfRangeError
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from protocol.record_batch import build_batch
from tests.storage.log.batches import append, bytes_of, entry, fill, stored

SMALL = LogConfig(segment_bytes=1000, index_interval_bytes=150)


def open_log(path: Path, config: LogConfig = SMALL) -> Log:
    return Log.open(path / "topic-0", config)


def in_memory(config: LogConfig = SMALL) -> Log:
    fs = LossyFileSystem()
    fs.mkdir(Path("/data"))
    fs.fsync_dir(Path("/"))
    return Log.open(Path("/data/topic-0"), config, fs)


def test_appended_batches_are_read_back_after_closing_and_reopening(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    written = fill(log, 50, count=2)
    assert len(log.segments) > 3
    log.close()

    log = open_log(tmp_path)
    assert stored(log) == bytes_of(written)
    assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (0, 100, 100)
    assert log.size_bytes == sum(len(one.batch) for one in written)
    assert log.recovery.clean
    assert log.recovery.messages() == []
    log.close()


def test_the_files_have_kafkas_names_and_contents(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    written = fill(log, 20)
    log.close()

    names = sorted(path.name for path in (tmp_path / "topic-0").iterdir())
    bases = [segment.base_offset for segment in log.segments]
    assert names == sorted([f"{base:020d}{suffix}" for base in bases for suffix in (".log", ".index", ".timeindex")]
                           + ["recovery-checkpoint"])  # fmt: skip
    first = (tmp_path / "topic-0" / names[1]).read_bytes()
    assert first == b"".join(bytes_of(written))[: len(first)]
    assert (tmp_path / "topic-0" / names[0]).stat().st_size % 8 == 0
    assert (tmp_path / "topic-0" / names[2]).stat().st_size % 12 == 0


def test_a_batch_must_carry_the_next_offset(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 1)
    with pytest.raises(LogError):
        log.append(*entry(5))
    log.abandon()


def test_several_batches_are_one_write_and_one_sync() -> None:
    log = in_memory(LogConfig())
    fs = log.fs
    assert isinstance(fs, LossyFileSystem)
    before = fs.counts.copy()
    append(log, [entry(offset) for offset in range(10)])
    assert fs.counts - before == {"pwrite": 1, "fdatasync": 1}


def test_a_segment_is_rolled_when_the_next_batch_would_make_it_too_large(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 40)
    assert all(segment.size_bytes <= 1000 for segment in log.segments)
    log.abandon()


def test_one_write_that_spans_segments_is_divided_at_batches(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    written = append(log, [entry(offset) for offset in range(40)])
    assert len(log.segments) > 2
    assert all(segment.size_bytes <= 1000 for segment in log.segments)
    assert stored(log) == bytes_of(written)
    log.abandon()


def test_a_batch_larger_than_a_segment_gets_one_of_its_own(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, [entry(0), entry(1, value=bytes(5000)), entry(2)])
    assert [segment.base_offset for segment in log.segments] == [0, 1, 2]
    log.abandon()


def test_a_segment_is_rolled_when_its_first_batch_is_too_old_in_record_time(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_ms=1000))
    append(log, [entry(0, timestamp=5000)])
    append(log, [entry(1, timestamp=6000)])
    append(log, [entry(2, timestamp=6001)])
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    log.close()
    log = open_log(tmp_path, LogConfig(segment_ms=1000))
    append(log, [entry(3, timestamp=7001), entry(4, timestamp=7002)])
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4]
    log.abandon()


def test_an_offset_too_far_from_the_first_of_its_segment_begins_a_new_one() -> None:
    log = in_memory(LogConfig())
    far = build_batch([(b"k", b"v")], base_offset=0, timestamp_ms=1)
    far[23:27] = (2**31 - 1).to_bytes(4, "big")  # a batch of which compaction left one record
    log.append(far, 2**31 - 1, 1)
    log.append(*entry(2**31))
    assert [segment.base_offset for segment in log.segments] == [0, 2**31]


def test_reading_begins_with_the_batch_that_holds_the_offset() -> None:
    log = in_memory()
    written = fill(log, 30, count=3)
    assert log.read(31, 1) == written[10].batch


def test_reading_returns_whole_batches_up_to_the_bytes_asked_for() -> None:
    log = in_memory(LogConfig(index_interval_bytes=150))
    written = fill(log, 30)
    size = len(written[0].batch)
    assert log.read(2, 3 * size + 10) == b"".join(bytes_of(written[2:5]))
    assert log.read(2, 3 * size) == b"".join(bytes_of(written[2:5]))
    assert log.read(2, 3 * size - 1) == b"".join(bytes_of(written[2:4]))


def test_reading_returns_at_least_one_batch_unless_min_one_is_off() -> None:
    log = in_memory()
    written = fill(log, 3, value=bytes(300))
    assert log.read(1, 10) == written[1].batch
    assert log.read(1, 10, min_one=False) == b""


def test_reading_stops_at_the_high_watermark_or_at_the_given_offset() -> None:
    log = in_memory(LogConfig())
    written = fill(log, 5)
    log.append(*entry(5))
    assert log.read(0, 10_000) == b"".join(bytes_of(written))
    assert log.read(5, 10_000) == b""
    assert log.read(6, 10_000) == b""
    assert log.read(5, 10_000, up_to_offset=6) == entry(5).batch
    assert log.read(0, 10_000, up_to_offset=2) == b"".join(bytes_of(written[:2]))


def test_reading_outside_the_log_is_refused() -> None:
    log = in_memory()
    fill(log, 5)
    for offset in (-1, 6):
        with pytest.raises(OffsetOutOfRangeError):
            log.read(offset, 100)


def test_reading_skips_a_gap_that_compaction_left(tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(entry(0).batch + entry(4).batch)
    (directory / f"{10:020d}.log").write_bytes(entry(12).batch)
    log = open_log(tmp_path)
    assert log.read(2, 1) == entry(4).batch
    assert log.read(5, 1) == log.read(10, 1) == entry(12).batch
    assert (log.log_start_offset, log.log_end_offset) == (0, 13)
    log.close()


@given(
    sizes=st.lists(st.integers(0, 400), min_size=1, max_size=40),
    counts=st.integers(1, 4),
    interval=st.sampled_from([0, 1, 150, 4096]),
    segment_bytes=st.sampled_from([300, 1000, 100_000]),
    data=st.data(),
)
def test_reads_agree_with_a_linear_search(
    sizes: list[int], counts: int, interval: int, segment_bytes: int, data: st.DataObject
) -> None:
    log = in_memory(LogConfig(segment_bytes=segment_bytes, index_interval_bytes=interval))
    written = [
        append(log, [entry(number * counts, count=counts, value=bytes(size))])[0] for number, size in enumerate(sizes)
    ]
    for _ in range(10):
        offset = data.draw(st.integers(0, log.log_end_offset - 1))
        max_bytes = data.draw(st.integers(0, 2000))
        limit = data.draw(st.integers(0, len(sizes))) * counts
        got = log.read(offset, max_bytes, up_to_offset=limit)

        segment = next(one for one in reversed(log.segments) if one.base_offset <= offset)
        due = [one for one in written if offset <= one.last_offset < min(limit, segment.next_offset)]
        expected = b""
        for one in due:
            if expected and len(expected) + len(one.batch) > max_bytes:
                break
            expected += one.batch
        assert got == expected


@given(st.lists(st.integers(0, 50), min_size=1, max_size=40), st.sampled_from([0, 100, 4096]), st.integers(-1, 51))
def test_the_first_record_at_or_after_a_time_agrees_with_a_linear_search(
    timestamps: list[int], interval: int, wanted: int
) -> None:
    log = in_memory(LogConfig(segment_bytes=600, index_interval_bytes=interval))
    for offset, timestamp in enumerate(timestamps):
        append(log, [entry(offset, timestamp=timestamp)])
    # Kafka skips segments whose highest timestamp is lower, and takes the first record with at least the timestamp.
    expected = next(((time, offset) for offset, time in enumerate(timestamps) if time >= wanted), None)
    assert log.offset_for_timestamp(wanted) == expected
    assert log.max_timestamp_offset() == (max(timestamps), timestamps.index(max(timestamps)))


def test_times_are_looked_up_within_batches_and_below_the_high_watermark() -> None:
    log = in_memory()
    append(log, [entry(0, count=3, timestamp=50)])
    log.append(*entry(3, timestamp=90))
    assert log.offset_for_timestamp(50) == (50, 0)
    assert log.offset_for_timestamp(51) is None


def test_the_time_of_a_batch_is_found_by_an_offset_in_it() -> None:
    log = in_memory()
    append(log, [entry(0, count=3, timestamp=50)])
    append(log, [entry(3, timestamp=-1)])
    log.roll()
    append(log, [entry(4, timestamp=90)])
    assert [log.batch_timestamp(offset) for offset in range(6)] == [50, 50, 50, -1, 90, -1]


def test_a_log_without_timestamps_has_no_record_of_highest_timestamp() -> None:
    log = in_memory()
    assert log.max_timestamp_offset() is None
    append(log, [entry(0, timestamp=-1)])
    assert log.max_timestamp_offset() is None


def test_deleted_records_do_not_reappear_after_reopening(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    written = fill(log, 50)
    bases = [segment.base_offset for segment in log.segments]
    assert log.delete_up_to(bases[2] + 1) == 2
    assert log.log_start_offset == bases[2] + 1
    with pytest.raises(OffsetOutOfRangeError):
        log.read(bases[2], 100)
    assert log.read(bases[2] + 1, 1) == written[bases[2] + 1].batch
    assert not (tmp_path / "topic-0" / f"{0:020d}.log").exists()
    assert not (tmp_path / "topic-0" / f"{0:020d}.index").exists()
    log.abandon()

    log = open_log(tmp_path)
    assert log.log_start_offset == bases[2] + 1
    assert stored(log)[0] == written[bases[2] + 1].batch
    log.close()


def test_deletion_stops_at_the_high_watermark_and_keeps_the_newest_segment() -> None:
    log = in_memory()
    fill(log, 10)
    log.append(*entry(10))
    log.delete_up_to(11)
    assert log.log_start_offset == 10
    assert log.delete_up_to(3) == 0
    assert log.log_start_offset == 10


def test_everything_can_be_deleted_after_a_roll() -> None:
    log = in_memory()
    fill(log, 10)
    log.roll()
    log.delete_up_to(10)
    assert [(segment.base_offset, segment.size_bytes) for segment in log.segments] == [(10, 0)]
    assert log.read(10, 100) == b""
    assert fill(log, 1)[0].batch == log.read(10, 100)


def test_an_active_reader_keeps_a_segment_that_is_deleted(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    written = fill(log, 50)
    reading = log.batches()
    first = next(reading)[1]
    log.roll()
    log.delete_up_to(50)
    assert [first, *(batch for _, batch in reading)] == bytes_of(written)
    log.abandon()


@given(st.integers(0, 20), st.integers(0, 3000))
def test_cutting_back_removes_every_batch_beyond_the_high_watermark(batches: int, segment_bytes: int) -> None:
    config = LogConfig(segment_bytes=segment_bytes, index_interval_bytes=100)
    log = in_memory(config)
    written = fill(log, 20, count=3)
    kept, end = written[:batches], 3 * batches
    log.high_watermark = end
    log.cut_back()
    assert stored(log) == bytes_of(kept)
    assert log.log_end_offset == log.high_watermark == end
    assert log.max_timestamp_offset() == ((kept[-1].max_timestamp, kept[-1].last_offset - 2) if kept else None)

    fs = log.fs
    assert isinstance(fs, LossyFileSystem)
    reopened = Log.open(log.directory, config, fs.crash())
    assert stored(reopened) == bytes_of(kept)
    more = append(reopened, [entry(end)])
    assert reopened.read(end, 1) == more[0].batch


def test_a_deleted_log_leaves_nothing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    fill(log, 30)
    log.delete()
    assert list(tmp_path.iterdir()) == []


def test_readers_in_other_threads_see_only_whole_acknowledged_batches(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=20_000, index_interval_bytes=200))
    written = [entry(offset, value=b"v" * (offset % 90)) for offset in range(1500)]
    wrong: list[str] = []
    finished = threading.Event()

    def read() -> None:
        offset = 0
        while offset < len(written) and not wrong:
            limit = log.high_watermark
            data = log.read(offset, 700)
            if not data and limit > offset:
                wrong.append(f"nothing at {offset}, high watermark {limit}")
            while data and offset < len(written):
                one = written[offset].batch
                if data[: len(one)] != one or offset >= log.high_watermark:
                    wrong.append(f"wrong bytes at {offset}")
                    break
                data = data[len(one) :]
                offset += 1
        finished.set()

    thread = threading.Thread(target=read)
    thread.start()
    for start in range(0, len(written), 10):
        log.append_all(written[start : start + 10])
        log.high_watermark = log.log_end_offset
    assert finished.wait(30)
    thread.join()
    log.close()
    assert wrong == []


def test_the_real_file_system_refuses_a_lock_that_is_held(tmp_path: Path) -> None:
    fs = RealFileSystem()
    held = fs.lock(tmp_path / "lock")
    with pytest.raises(BlockingIOError):
        fs.lock(tmp_path / "lock")
    held.close()
    fs.lock(tmp_path / "lock").close()
    assert fs.free_bytes(tmp_path) > 0
