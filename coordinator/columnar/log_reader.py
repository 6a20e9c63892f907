"""Reads ranges of offsets of a live log, whose segments may be appended, rolled and swapped meanwhile.

A range is read by offset, never by file or byte: the records come from the segment that holds an offset at that moment,
and records outside the range are left out. So a compaction between planning and reading, which merges segments and
removes others, neither repeats a record nor loses one that it kept. If a segment has been removed, the directory is
listed again.

Kafka's cleaner leaves files under `.swap` names for a moment in which no other file has their records: they count as
segments. The newest segment is read up to its last whole batch with the right checksum, which may not be flushed yet.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from coordinator.columnar.batches import Batches, CorruptBatchError, SkippedBytes, read_batches
from coordinator.columnar.kernel import Records, read_records
from coordinator.core.topics.names import OFFSETS_TOPIC

SLICE_RECORDS: Final = 32_768  # decoded at once: some megabytes of columns
SLICE_BYTES: Final = 16 << 20

_SEGMENT: Final = re.compile(r"(\d{20})\.log(\.swap)?")
_NO_END: Final = 2**63 - 1
_MOST_LOOKS: Final = 50  # listings of a directory that keeps changing


class LogNotFoundError(Exception):
    """There is no log at the given path. One sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class LogPartition:
    """A partition's directory."""

    number: int
    directory: Path


@dataclass(frozen=True, slots=True)
class SegmentFile:
    base_offset: int
    path: Path


@dataclass(frozen=True, slots=True)
class FilePosition:
    """The position of an offset in a file, valid as long as the file is the same."""

    name: str
    inode: int
    position: int
    offset: int


@dataclass(frozen=True, slots=True)
class Reading:
    """Options: whether checksums are verified, and whether damage is skipped."""

    verify_crc: bool = True
    skip_corrupt: bool = False


def find_partitions(
    paths: Iterable[Path], topic: str = OFFSETS_TOPIC, numbers: frozenset[int] | None = None
) -> list[LogPartition]:
    """Return the partitions of a topic in some data directories or partition directories; all, or those in `numbers`.

    Raises LogNotFoundError if there are none, or one of `numbers` is missing.
    """
    named = re.compile(rf"{re.escape(topic)}-(\d{{1,9}})")
    found: dict[int, Path] = {}
    for path in paths:
        inside = [path] if named.fullmatch(path.resolve().name) else sorted(path.glob(f"{topic}-*"))
        for directory in inside:
            match = named.fullmatch(directory.resolve().name)
            if match is None or not directory.is_dir():
                continue
            if found.setdefault(int(match[1]), directory) != directory:
                raise LogNotFoundError(
                    f"{found[int(match[1])]} and {directory} are both partition {match[1]}; give one of them"
                )
    missing = sorted(numbers - found.keys()) if numbers is not None else []
    if missing or not found:
        what = f"partition {missing[0]}" if missing else "partition"
        raise LogNotFoundError(
            f"no {what} of {topic} in {', '.join(map(str, paths))}; give a data directory or directories of partitions"
        )
    return [LogPartition(number, found[number]) for number in sorted(found) if numbers is None or number in numbers]


def segments(directory: Path) -> list[SegmentFile]:
    """Return the segments of a partition, ascending. The directory is listed until two listings are the same."""
    names = _names(directory)
    for _ in range(_MOST_LOOKS):
        before, names = names, _names(directory)
        if names == before:
            break
    found: dict[int, Path] = {}
    for name in sorted(names):  # `.log` before `.log.swap`: while both exist, either has the records
        match = _SEGMENT.fullmatch(name)
        if match is not None:
            found.setdefault(int(match[1]), directory / name)
    return [SegmentFile(base, found[base]) for base in sorted(found)]


def _names(directory: Path) -> set[str]:
    return {name for name in os.listdir(directory) if _SEGMENT.fullmatch(name)}  # noqa: PTH208 - a set of names


def log_end(directory: Path, reading: Reading, known: FilePosition | None = None) -> FilePosition:
    """Return the end of the last whole batch: the position of the next one, and its offset.

    `known` is an earlier result; reading starts there if the file is still the same.
    """
    for _ in range(_MOST_LOOKS):
        files = segments(directory)
        if not files:
            return FilePosition("", -1, 0, 0)
        last = files[-1]
        try:
            chunk = _read(last.path, reading, growing=True, known=known)
        except FileNotFoundError:
            continue
        batches = chunk.batches
        if len(batches):
            behind = chunk.origin + int(batches.position[-1] + batches.size[-1])
            return FilePosition(last.path.name, chunk.inode, behind, int(batches.last_offset[-1]) + 1)
        if chunk.origin and known is not None:
            return known
        return FilePosition(last.path.name, chunk.inode, 0, last.base_offset)
    raise LogNotFoundError(f"{directory} changes faster than it can be read; try again")


def read_range(
    directory: Path, start: int, end: int | None, reading: Reading, known: FilePosition | None = None
) -> Iterator[Slice]:
    """Yield the records with offsets from `start` to below `end` (None: to the end of the log), in log order.

    `known` is the position of an offset at or below `start`. Raises CorruptBatchError and OSError.
    """
    position = start
    looks = 0
    while end is None or position < end:
        files = segments(directory)
        index = max((at for at, each in enumerate(files) if each.base_offset <= position), default=0)
        if not files or (end is not None and files[index].base_offset >= end):
            return
        following = files[index + 1].base_offset if index + 1 < len(files) else None
        try:
            chunk = _read(files[index].path, reading, growing=following is None, known=known)
        except FileNotFoundError:
            looks += 1
            if looks > _MOST_LOOKS:
                raise LogNotFoundError(f"{directory} changes faster than it can be read; try again") from None
            continue
        looks = 0
        stop = min(each for each in (end, following, _NO_END) if each is not None)
        yield from chunk.slices(position, stop, reading)
        if following is None:
            return
        position = max(following, position)


@dataclass(frozen=True, slots=True)
class Slice:
    """Some records of a range, and the damages that were skipped before them."""

    batches: Batches
    records: Records
    rows: slice | npt.NDArray[np.int64]  # of the records that are in the range
    damages: tuple[SkippedBytes, ...]


@dataclass(slots=True)
class _Chunk:
    """The end of a file, from the byte `origin` on. Positions in `batches` count from there."""

    path: Path
    inode: int
    origin: int
    data: bytes
    batches: Batches
    damages: list[SkippedBytes]

    def slices(self, start: int, end: int, reading: Reading) -> Iterator[Slice]:
        """Yield some batches at a time, so that columns take some megabytes however large the segment is."""
        batches = self.batches[(self.batches.last_offset >= start) & (self.batches.base_offset < end)]
        damages = list(self.damages)
        for first, behind in _portions(batches):
            some, records = self._records(batches[first:behind], reading, damages)
            inside = (records.offset >= start) & (records.offset < end)
            rows = slice(None) if inside.all() else np.flatnonzero(inside)
            yield Slice(some, records, rows, tuple(damages))
            damages.clear()
        if damages:
            nothing = batches[:0]
            yield Slice(nothing, read_records(self.data, nothing, path=self.path), slice(None), tuple(damages))

    def _records(self, batches: Batches, reading: Reading, damages: list[SkippedBytes]) -> tuple[Batches, Records]:
        while True:
            try:
                return batches, read_records(self.data, batches, path=self.path)
            except CorruptBatchError as error:  # the checksum is right, but a record is malformed
                if not reading.skip_corrupt:
                    raise CorruptBatchError(self.path, self.origin + error.position, error.reason) from None
                bad = batches.position == error.position
                damages.append(SkippedBytes(self.origin + error.position, int(batches.size[bad][0]), error.reason))
                batches = batches[~bad]


def _portions(batches: Batches) -> Iterator[tuple[int, int]]:
    """Yield ranges of batches that are decoded at once: at least one batch each."""
    records = np.cumsum(batches.count, dtype=np.int64)
    size = np.cumsum(batches.size, dtype=np.int64)
    first = 0
    while first < len(batches):
        before = (int(records[first - 1]), int(size[first - 1])) if first else (0, 0)
        behind = min(
            int(np.searchsorted(records, before[0] + SLICE_RECORDS, "right")),
            int(np.searchsorted(size, before[1] + SLICE_BYTES, "right")),
        )
        behind = max(behind, first + 1)
        yield first, behind
        first = behind


def _read(path: Path, reading: Reading, *, growing: bool, known: FilePosition | None) -> _Chunk:
    """Read the batches of a file, from `known` on if that is a position in it."""
    attempts = 2 if growing else 1  # while the file is written, its pages may appear in any order
    while True:
        with path.open("rb") as file:
            facts = os.fstat(file.fileno())
            origin = 0
            if known is not None and (known.name, known.inode) == (path.name, facts.st_ino):
                origin = known.position if known.position <= facts.st_size else 0
            file.seek(origin)
            data = file.read()
        try:
            batches, damages = read_batches(
                data,
                path=path,
                verify_crc=reading.verify_crc,
                skip_corrupt=reading.skip_corrupt,
                growing=growing,
            )
        except CorruptBatchError:
            attempts -= 1
            if origin:
                known = None
            elif attempts <= 0:
                raise
            continue
        if origin and not len(batches) and data.strip(b"\0"):
            known = None  # the file's end may have been cut and written anew: no batch begins there any more
            continue
        moved = [SkippedBytes(origin + each.position, each.size, each.reason) for each in damages]
        return _Chunk(path, facts.st_ino, origin, data, batches, moved)
