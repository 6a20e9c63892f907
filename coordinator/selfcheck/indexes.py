"""Check of a segment's two indexes against its batches, of this coordinator and of Kafka.

An entry of `.index` says that no record with its offset or a later one lies before its position, which is the start of
a batch. An entry of `.timeindex` says that its timestamp is the latest of the batches up to its offset. Kafka
preallocates the indexes of the newest segment, so zeros at the end are no entries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from coordinator.storage.log.fs import FileSystem, read_whole
from coordinator.storage.log.index import OffsetIndex, TimeIndex

if TYPE_CHECKING:
    from pathlib import Path

    from protocol.record_batch import BatchHeader


class IndexCheck:
    """Compares the indexes of one segment. Call `add` for each batch, in order, then `faults`."""

    def __init__(self, fs: FileSystem, log_path: Path, base_offset: int) -> None:
        self._base = base_offset
        self._faults: dict[str, tuple[int, str]] = {}  # file -> byte, first fault
        self.missing: list[str] = []
        self._offsets = self._entries(fs, log_path.with_suffix(".index"), OffsetIndex.ENTRY.size)
        self._times = self._entries(fs, log_path.with_suffix(".timeindex"), TimeIndex.ENTRY.size)
        self._index, self._time_index = log_path.with_suffix(".index").name, log_path.with_suffix(".timeindex").name
        self._next_offset, self._next_time = next(self._offsets, None), next(self._times, None)
        self._end = base_offset  # behind the last batch so far
        self._latest = -1

    def _entries(self, fs: FileSystem, path: Path, width: int) -> Iterator[tuple[int, int, int]]:
        """Yield (byte, first, second) of each entry."""
        if not fs.exists(path):
            self.missing.append(path.name)
            return
        data = read_whole(fs, path)
        if len(data) % width:
            self._note(path.name, len(data) // width * width, "it ends inside an entry")
        end = (len(data.rstrip(b"\0")) + width - 1) // width * width
        before = (-1, -1)
        for at in range(0, min(end, len(data) // width * width), width):
            first = int.from_bytes(data[at : at + width - 4], "big", signed=True)
            second = int.from_bytes(data[at + width - 4 : at + width], "big", signed=True)
            if first <= before[0] or second <= before[1]:
                self._note(path.name, at, "its entries are out of order")
                return
            before = (first, second)
            yield at, first, second

    def _note(self, name: str, position: int, what: str) -> None:
        self._faults.setdefault(name, (position, what))

    def add(self, position: int, header: BatchHeader) -> None:
        """Compare the entries that concern the next sound batch."""
        while self._next_offset is not None and self._next_offset[2] <= position:
            at, relative, points_to = self._next_offset
            if points_to != position:
                self._note(self._index, at, f"an entry points to byte {points_to}, where no batch begins")
            elif self._base + relative < self._end:
                self._note(
                    self._index, at, f"an entry says that offset {self._base + relative} is not before {position}"
                )
            self._next_offset = next(self._offsets, None)
        while self._next_time is not None and self._base + self._next_time[2] < header.base_offset:
            self._check_time(self._next_time)
        self._end = header.last_offset + 1
        self._latest = max(self._latest, header.max_timestamp)

    def _check_time(self, entry: tuple[int, int, int]) -> None:
        at, timestamp, relative = entry
        if timestamp != self._latest:
            offset = self._base + relative
            self._note(
                self._time_index, at, f"an entry says {timestamp} for offset {offset}, the batches say {self._latest}"
            )
        self._next_time = next(self._times, None)

    def faults(self) -> dict[str, tuple[int, str]]:
        """Return the first fault of each file, after the last batch."""
        if self._next_offset is not None:
            at, _, points_to = self._next_offset
            self._note(self._index, at, f"an entry points to byte {points_to}, beyond the last batch")
        while self._next_time is not None:
            if self._base + self._next_time[2] >= self._end:
                self._note(self._time_index, self._next_time[0], "an entry is beyond the last batch")
            self._check_time(self._next_time)
        return self._faults
