"""Ranges of a log are read by offset, whatever happens to its files between listing and reading."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.columnar import log_reader
from coordinator.columnar.kernel import CorruptBatchError
from coordinator.columnar.log_reader import (
    LogNotFoundError,
    Reading,
    SegmentFile,
    find_partitions,
    log_end,
    read_range,
    segments,
)
from tests.compaction.segments import BatchOf, RecordOf, segment_of, with_payload

STRICT = Reading()
SKIPPING = Reading(skip_corrupt=True)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Three segments from the offsets 0, 30 and 60, each with ten batches of three records; key = offset."""
    directory = tmp_path / "__consumer_offsets-4"
    directory.mkdir()
    for base in (0, 30, 60):
        write(directory, base, list(range(base, base + 30)))
    return directory


def name(base: int, suffix: str = ".log") -> str:
    return f"{base:020d}{suffix}"


def write(directory: Path, base: int, offsets: list[int], suffix: str = ".log") -> None:
    """Batches of up to three records each."""
    batches, following = [], base
    for first in range(0, len(offsets), 3):
        some = offsets[first : first + 3]
        gap, previous, records = some[0] - following, some[0] - 1, []
        for offset in some:
            records.append(RecordOf(b"%d" % offset, b"v", gap=offset - previous - 1))
            previous = offset
        batches.append(BatchOf(records, gap=gap))
        following = some[-1] + 1
    (directory / name(base, suffix)).write_bytes(segment_of(batches, base).data)


def swap(directory: Path) -> None:
    """Compact: the segments 0 and 30 become one, with every second record left."""
    write(directory, 0, list(range(0, 60, 2)), ".log.cleaned")
    (directory / name(0, ".log.cleaned")).rename(directory / name(0))
    (directory / name(30)).unlink(missing_ok=True)


def offsets(directory: Path, start: int = 0, end: int | None = None, reading: Reading = STRICT) -> list[int]:
    found: list[int] = []
    for piece in read_range(directory, start, end, reading):
        inside = piece.records.offset[piece.rows].tolist()
        assert [int(key) for key in piece.records.keys().to_numpy(zero_copy_only=False)[piece.rows]] == inside
        found += inside
    return found


@settings(max_examples=60, deadline=None)
@given(start=st.integers(0, 100), end=st.none() | st.integers(0, 100), portion=st.sampled_from((1, 7, 1000)))
def test_a_range_has_its_records_and_no_others(
    start: int, end: int | None, portion: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("log") / "t-0"
    directory.mkdir()
    for base in (6, 30, 60):
        write(directory, base, list(range(base, base + 24)))
    written = [*range(6, 54), *range(60, 84)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_reader, "SLICE_RECORDS", portion)
        assert offsets(directory, start, end) == [
            each for each in written if start <= each and (end is None or each < end)
        ]


def test_an_empty_directory_has_no_records(tmp_path: Path) -> None:
    assert offsets(tmp_path) == []
    assert log_end(tmp_path, STRICT).offset == 0


# --- files that change ----------------------------------------------------------------------------------------------


def change_after_look(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None], looks: int = 1) -> None:
    """Make a change between the listing of the directory and the opening of a file."""
    real = log_reader.segments
    left = [looks]

    def look(directory: Path) -> list[SegmentFile]:
        found = real(directory)
        left[0] -= 1
        if not left[0]:
            change()
        return found

    monkeypatch.setattr(log_reader, "segments", look)


@pytest.mark.parametrize("looks", [1, 2])
def test_a_swap_while_a_range_is_read_neither_repeats_nor_loses_a_record(
    log: Path, monkeypatch: pytest.MonkeyPatch, looks: int
) -> None:
    change_after_look(monkeypatch, lambda: swap(log), looks)
    read_before = 30 if looks == 2 else 0  # then the first segment was read as it was
    expected = [*range(read_before), *range(read_before, 60, 2), *range(60, 90)]
    assert offsets(log) == expected


def test_ranges_planned_before_a_swap_are_read_from_the_new_segments(log: Path) -> None:
    planned = [(0, 30), (30, 60), (60, 90)]
    swap(log)
    assert [offsets(log, *each) for each in planned] == [
        list(range(0, 30, 2)),
        list(range(30, 60, 2)),
        list(range(60, 90)),
    ]


def test_files_that_kafkas_cleaner_is_about_to_rename_count_as_segments(log: Path) -> None:
    write(log, 0, list(range(0, 60, 3)), ".log.swap")
    assert offsets(log) == list(range(90)), "as long as the old ones are there, they will do"
    for base in (0, 30):
        (log / name(base)).rename(log / name(base, ".log.deleted"))
    assert offsets(log) == [*range(0, 60, 3), *range(60, 90)]


def test_a_listing_during_a_renaming_is_repeated(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = log_reader._names
    looks = iter([{name(60)}, {name(30), name(60)}])
    monkeypatch.setattr(log_reader, "_names", lambda directory: next(looks, None) or real(directory))
    assert [each.base_offset for each in segments(log)] == [0, 30, 60]


def test_a_directory_that_keeps_changing_raises_an_error(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_reader, "segments", lambda directory: [SegmentFile(0, directory / "gone.log")])
    with pytest.raises(LogNotFoundError, match="changes faster"):
        offsets(log)
    with pytest.raises(LogNotFoundError, match="changes faster"):
        log_end(log, STRICT)


# --- the end of a log that grows ------------------------------------------------------------------------------------


def test_the_end_is_behind_the_last_whole_batch(log: Path) -> None:
    path = log / name(60)
    whole = path.read_bytes()
    assert log_end(log, STRICT).offset == 90
    for cut in (2, 40, 70):
        path.write_bytes(whole[:-cut])
        assert log_end(log, STRICT).offset == 87
        path.write_bytes(whole[:-cut] + bytes(500))  # space allocated ahead
        assert log_end(log, STRICT).offset == 87
        assert offsets(log)[-1] == 86
    write(log, 90, [])
    path.write_bytes(whole)
    assert log_end(log, STRICT).offset == 90


def test_reading_starts_at_a_known_position(log: Path) -> None:
    path = log / name(60)
    known = log_end(log, STRICT)
    more = segment_of([BatchOf([RecordOf(b"90", b"v")])], 90).data
    with path.open("r+b") as file:
        file.write(b"\xff" * 100)  # to see whether it is looked at
        file.seek(0, 2)
        file.write(more)
    end = log_end(log, STRICT, known)
    assert (end.offset, end.position) == (91, known.position + len(more))
    assert log_end(log, STRICT, end) == end
    found = [piece.records.offset.tolist() for piece in read_range(log, 90, 91, STRICT, known)]
    assert found == [[90]]
    with pytest.raises(CorruptBatchError):
        log_end(log, STRICT)


def test_a_known_position_in_a_truncated_or_replaced_file_is_ignored(log: Path) -> None:
    path = log / name(60)
    known = log_end(log, STRICT)
    cut = segment_of([BatchOf([RecordOf(b"60", b"another" * 500)])], 60).data
    path.write_bytes(cut)  # the same inode: cut and written anew, and longer than it was
    assert len(cut) > known.position
    assert log_end(log, STRICT, known).offset == 61
    path.write_bytes(cut[:10])
    assert log_end(log, STRICT, known).offset == 60
    shutil.copy(log / name(30), log / "copy")
    (log / "copy").rename(path)
    assert log_end(log, STRICT, known).offset == 60


def test_a_segment_that_is_read_while_it_is_written_is_read_once_more(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pages may be seen in any order: a hole with sound batches behind it need not be damage."""
    path = log / name(60)
    whole = path.read_bytes()
    path.write_bytes(bytes(100) + whole[100:])
    real = log_reader.read_batches
    calls: list[int] = []

    def read(data: bytes, **options: object) -> object:
        calls.append(len(data))
        try:
            return real(data, **options)  # type: ignore[arg-type]
        finally:
            path.write_bytes(whole)

    monkeypatch.setattr(log_reader, "read_batches", read)
    assert log_end(log, STRICT).offset == 90
    assert len(calls) == 2


# --- damage ---------------------------------------------------------------------------------------------------------


def test_damage_is_named_with_file_and_byte_or_skipped_and_reported(log: Path) -> None:
    path = log / name(30)
    data = bytearray(path.read_bytes())
    size = len(data) // 10
    data[4 * size - 2] ^= 1  # in a value
    path.write_bytes(data)
    with pytest.raises(CorruptBatchError) as refused:
        offsets(log)
    assert (refused.value.path, refused.value.position) == (path, 3 * size)
    pieces = list(read_range(log, 0, None, SKIPPING))
    assert [(each.position, each.size) for piece in pieces for each in piece.damages] == [(3 * size, size)]
    assert offsets(log, reading=SKIPPING) == [each for each in range(90) if each not in (39, 40, 41)]
    assert offsets(log, reading=Reading(verify_crc=False)) == list(range(90))


def test_malformed_records_with_a_right_checksum_are_skipped(log: Path) -> None:
    bad = with_payload(BatchOf([]), 90, 0, b"\x0c\0\0\0\x0c\x01\0", 1)
    known = log_end(log, STRICT)
    with (log / name(60)).open("ab") as file:
        file.write(bad)
    for place in (None, known):
        with pytest.raises(CorruptBatchError) as refused:
            list(read_range(log, 90, None, STRICT, place))
        assert refused.value.position == known.position
        (piece,) = read_range(log, 90, None, SKIPPING, place)
        assert [(each.position, each.size) for each in piece.damages] == [(known.position, len(bad))]
    assert offsets(log, reading=SKIPPING) == list(range(90))


def test_damage_alone_is_reported_too(log: Path) -> None:
    path = log / name(0)
    path.write_bytes(b"\xff" * 500)
    pieces = list(read_range(log, 0, 30, SKIPPING))
    assert [(len(piece.records), len(piece.damages)) for piece in pieces] == [(0, 1)]


# --- finding it -----------------------------------------------------------------------------------------------------


def test_partitions_are_found_in_a_data_directory_and_by_their_own_name(log: Path) -> None:
    data_dir = log.parent
    (data_dir / "__consumer_offsets-12").mkdir()
    (data_dir / "orders-0").mkdir()
    (data_dir / "__consumer_offsets-7.0f3a-delete").mkdir()
    assert [each.number for each in find_partitions([data_dir])] == [4, 12]
    assert [each.number for each in find_partitions([log])] == [4]
    assert [each.directory for each in find_partitions([data_dir], "orders")] == [data_dir / "orders-0"]
    assert [each.number for each in find_partitions([data_dir], numbers=frozenset({12}))] == [12]


def test_a_missing_log_is_reported_in_a_sentence(log: Path, tmp_path: Path) -> None:
    with pytest.raises(LogNotFoundError, match=r"no partition 3 of __consumer_offsets in .*; give a data directory"):
        find_partitions([log.parent], numbers=frozenset({3, 4}))
    with pytest.raises(LogNotFoundError, match="no partition of"):
        find_partitions([tmp_path / "nothing"])
    other = tmp_path / "other" / log.name
    other.mkdir(parents=True)
    with pytest.raises(LogNotFoundError, match="are both partition 4"):
        find_partitions([log.parent, tmp_path / "other"])
