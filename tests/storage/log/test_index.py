"""The sparse indexes: lookups compared with a linear search, and the content of their files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.index import EntryTable, IndexDamagedError, OffsetIndex, TimeIndex

GROWING = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 50)), max_size=30)


def running(steps: list[tuple[int, int]]) -> list[tuple[int, int]]:
    entries, first, second = [], 0, 0
    for a, b in steps:
        first, second = first + a, second + b
        entries.append((first, second))
    return entries


def entries_of(table: EntryTable) -> list[tuple[int, int]]:
    return [table.entry(number) for number in range(len(table))]


@given(GROWING, st.integers(0, 1600))
def test_offset_lookups_find_the_last_entry_at_or_below(steps: list[tuple[int, int]], wanted: int) -> None:
    entries = running(steps)
    index = OffsetIndex()
    for offset, position in entries:
        index.append(offset, position)
    assert entries_of(index) == entries
    at_or_below = [entry for entry in entries if entry[0] <= wanted]
    assert index.floor(wanted) == max(at_or_below, default=(0, 0))
    assert index.floor_position(wanted) == max((position for _, position in entries if position <= wanted), default=0)


@given(GROWING, st.integers(-1, 1600))
def test_time_lookups_find_the_last_entry_at_or_before(steps: list[tuple[int, int]], wanted: int) -> None:
    entries = running(steps)
    index = TimeIndex()
    for timestamp, offset in entries:
        index.maybe_append(timestamp, offset)
    assert index.floor(wanted) == max((each for each in entries if each[0] <= wanted), default=None)


@given(GROWING, st.integers(0, 1600))
def test_a_cut_drops_the_entries_beyond_it(steps: list[tuple[int, int]], at: int) -> None:
    entries = running(steps)
    index, times = OffsetIndex(), TimeIndex()
    for offset, position in entries:
        index.append(offset, position)
        times.maybe_append(position, offset)
    index.cut(at, 800)
    times.cut(at)
    assert entries_of(index) == [(offset, position) for offset, position in entries if offset < at and position < 800]
    assert entries_of(times) == [(position, offset) for offset, position in entries if offset < at]


def test_a_time_entry_is_added_only_if_timestamp_and_offset_grow() -> None:
    index = TimeIndex()
    for timestamp, offset in ((-1, 0), (5, 1), (5, 2), (4, 3), (6, 3), (7, 3)):
        index.maybe_append(timestamp, offset)
    assert entries_of(index) == [(5, 1), (6, 3)]


def test_the_files_are_kafkas_big_endian_pairs(tmp_path: Path) -> None:
    fs = RealFileSystem()
    index, times = OffsetIndex(), TimeIndex()
    index.append(7, 4100)
    times.maybe_append(1700000000000, 7)
    index.save(fs, tmp_path / "a.index")
    times.save(fs, tmp_path / "a.timeindex", durable=True)
    assert (tmp_path / "a.index").read_bytes().hex() == "0000000700001004"
    assert (tmp_path / "a.timeindex").read_bytes().hex() == "0000018bcfe5680000000007"


@given(GROWING, st.integers(0, 30), GROWING)
def test_saving_in_several_steps_gives_the_same_file(
    tmp_path_factory: pytest.TempPathFactory, first: list[tuple[int, int]], keep: int, more: list[tuple[int, int]]
) -> None:
    fs = RealFileSystem()
    path = tmp_path_factory.getbasetemp() / "bit-by-bit.index"
    path.unlink(missing_ok=True)
    index = OffsetIndex()
    for offset, position in running(first):
        index.append(offset, position)
    index.save(fs, path)
    index.cut(entries_of(index)[keep][0] if keep < len(index) else 1 << 30, 1 << 30)
    last = index.last() or (0, 0)
    for offset, position in running(more):
        index.append(last[0] + offset, last[1] + position)
    index.save(fs, path)
    index.save(fs, path)
    assert entries_of(OffsetIndex.load(fs, path, end=1 << 30)) == entries_of(index)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\0" * 7, "inside an entry"),
        (b"\0" * 16, "out of order"),
        (b"\0\0\0\1\0\0\0\x09\0\0\0\2\0\0\0\x08", "out of order"),
        (b"\0\0\0\1\0\0\x10\0", "outside the log"),
        (b"\xff\xff\xff\xff\0\0\0\x08", "outside the log"),
    ],
)
def test_a_damaged_file_is_rejected(tmp_path: Path, content: bytes, what: str) -> None:
    (tmp_path / "a.index").write_bytes(content)
    with pytest.raises(IndexDamagedError, match=what):
        OffsetIndex.load(RealFileSystem(), tmp_path / "a.index", end=4096)
    with pytest.raises(IndexDamagedError, match="missing"):
        OffsetIndex.load(RealFileSystem(), tmp_path / "b.index", end=4096)
