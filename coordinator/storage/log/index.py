"""The sparse indexes of a segment: offset -> position in the file, and timestamp -> offset.

Kafka's formats: `.index` holds pairs (int32 offset relative to the segment's base, int32 position in the file), and
`.timeindex` pairs (int64 timestamp, int32 relative offset), each in growing order, one pair for about every
`log.index.interval.bytes` of log. A lookup finds the last entry at or below the key; the segment then reads a few
kilobytes of log from there.

An index only saves time: it is held in memory, and is rebuilt from the log if its file is missing, torn, out of order
or points beyond the log. So it need not be durable.
Threads: one thread appends, any thread looks up; cutting replaces the buffer, so a lookup keeps the buffer it has.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Final, Self

from coordinator.storage.log.fs import FileSystem, read_whole

MAX_RELATIVE_OFFSET: Final = 2**31 - 1


class IndexDamagedError(Exception):
    """The file is not a valid index; rebuild it from the log."""


class EntryTable:
    """Pairs of integers in the layout of the file; both columns grow."""

    ENTRY: ClassVar[struct.Struct]

    __slots__ = ("_data", "_saved_bytes")

    def __init__(self, data: bytes | bytearray = b"", *, saved_bytes: int = 0) -> None:
        self._data = bytearray(data)
        self._saved_bytes = saved_bytes  # bytes of `_data` that are in the file

    def __len__(self) -> int:
        return len(self._data) // self.ENTRY.size

    def entry(self, number: int) -> tuple[int, int]:
        first, second = self.ENTRY.unpack_from(self._data, number * self.ENTRY.size)
        return first, second

    def last(self) -> tuple[int, int] | None:
        count = len(self)
        return self.entry(count - 1) if count else None

    def _append(self, first: int, second: int) -> None:
        self._data += self.ENTRY.pack(first, second)

    def _floor(self, column: int, value: int) -> tuple[int, int] | None:
        """Return the last entry whose `column` is at or below `value`."""
        data = self._data  # a cut replaces the buffer; this lookup keeps the old one
        width = self.ENTRY.size
        unpack = self.ENTRY.unpack_from
        number = bisect_right(range(len(data) // width), value, key=lambda i: unpack(data, i * width)[column]) - 1
        if number < 0:
            return None
        first, second = unpack(data, number * width)
        return first, second

    def _keep(self, count: int) -> None:
        self._data = self._data[: count * self.ENTRY.size]
        self._saved_bytes = min(self._saved_bytes, len(self._data))

    @property
    def unsaved_bytes(self) -> int:
        return len(self._data) - self._saved_bytes

    def save(self, fs: FileSystem, path: Path, *, durable: bool = False) -> None:
        """Write unsaved entries to the file; an empty table makes an empty file, as Kafka's tools expect."""
        file = fs.open(path, create=True)
        try:
            if file.size() != self._saved_bytes:
                file.truncate(self._saved_bytes)
            if self.unsaved_bytes:
                file.pwrite(bytes(self._data[self._saved_bytes :]), self._saved_bytes)
            self._saved_bytes = len(self._data)
            if durable:
                file.fsync()
        finally:
            file.close()

    @classmethod
    def load(cls, fs: FileSystem, path: Path, *, end: int) -> Self:
        """Read and check the file. IndexDamagedError names the fault; the second column must lie in 0..end-1."""
        if not fs.exists(path):
            raise IndexDamagedError(f"{path.name} is missing")
        data = read_whole(fs, path)
        if len(data) % cls.ENTRY.size:
            raise IndexDamagedError(f"{path.name} ends inside an entry")
        columns = list(cls.ENTRY.iter_unpack(data))
        for (a, b), (c, d) in pairwise(columns):
            if c <= a or d <= b:
                raise IndexDamagedError(f"{path.name} is out of order")
        if columns and (columns[-1][1] >= end or min(columns[0]) < 0):
            raise IndexDamagedError(f"{path.name} points outside the log")
        return cls(data, saved_bytes=len(data))


class OffsetIndex(EntryTable):
    """Maps offsets relative to the segment's base to positions in its file."""

    ENTRY = struct.Struct(">ii")

    __slots__ = ()

    def append(self, relative_offset: int, position: int) -> None:
        """Add an entry: the batch that ends at `relative_offset` begins at `position`."""
        self._append(relative_offset, position)

    def floor(self, relative_offset: int) -> tuple[int, int]:
        """Return the last entry at or below this offset; (0, 0), the start of the segment, if there is none."""
        return self._floor(0, relative_offset) or (0, 0)

    def floor_position(self, position: int) -> int:
        """Return the start of a batch at or shortly before this position."""
        found = self._floor(1, position)
        return found[1] if found else 0

    def cut(self, relative_offset: int, position: int) -> None:
        """Drop the entries at or beyond this offset or position."""
        count = len(self)
        while count and (self.entry(count - 1)[0] >= relative_offset or self.entry(count - 1)[1] >= position):
            count -= 1
        self._keep(count)


class TimeIndex(EntryTable):
    """Entries (timestamp, relative offset): no record up to that offset has a later timestamp."""

    ENTRY = struct.Struct(">qi")

    __slots__ = ()

    def maybe_append(self, timestamp: int, relative_offset: int) -> None:
        """Add an entry if both its timestamp and its offset are above the last entry's."""
        last = self.last()
        if (timestamp > last[0] and relative_offset > last[1]) if last else timestamp >= 0:  # -1: no timestamp
            self._append(timestamp, relative_offset)

    def floor(self, timestamp: int) -> tuple[int, int] | None:
        """Return the last entry at or below this timestamp."""
        return self._floor(0, timestamp)

    def cut(self, relative_offset: int) -> None:
        """Drop the entries at or beyond this offset."""
        count = len(self)
        while count and self.entry(count - 1)[1] >= relative_offset:
            count -= 1
        self._keep(count)
