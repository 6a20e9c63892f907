"""One segment: a file of record batches named after its first offset, with its two sparse indexes beside it.

A segment knows where batches begin and end, but not their records. One thread appends; any thread may read, because a
batch is visible only after `size_bytes` and `next_offset` include it, and bytes below them never change. Offsets within
a segment grow but may have gaps: compaction keeps the offsets of the surviving batches.

After a crash `scan` checks each batch (size, format, order of offsets, CRC-32C) up to the first invalid one.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import google_crc32c

from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import File, FileSystem
from coordinator.storage.log.index import MAX_RELATIVE_OFFSET, IndexDamagedError, OffsetIndex, TimeIndex
from coordinator.storage.log.transaction_index import SUFFIX as TRANSACTION_INDEX
from coordinator.storage.log.transaction_index import ask_to_build, is_transactional
from protocol.record_batch import TRANSACTIONAL

BATCH_HEADER_BYTES: Final = 61
SIZE_PREFIX_BYTES: Final = 12  # base offset and length, which the length field does not count
_CRC_FROM: Final = 21  # the checksum covers everything from the attributes on
_NO_TIMESTAMP: Final = -1
_SCAN_CHUNK: Final = 1 << 20
_WALK_CHUNK: Final = 8 << 10

_PREFIX = struct.Struct(">qi")  # base offset, length
_EXTENT = struct.Struct(">qi11xi")  # base offset, length, last offset delta
_FACTS = struct.Struct(">qi4xbIHi8xq")  # base offset, length, magic, crc, attributes, last offset delta, max timestamp


class Entry(NamedTuple):
    """A batch to append, with the values the log needs, so that it need not parse the batch."""

    batch: bytes | bytearray
    last_offset: int
    max_timestamp: int


class Damage(NamedTuple):
    """Position at which a scan stopped before the end of the file, and the reason."""

    position: int
    reason: str


class BatchExtent(NamedTuple):
    """Position and offsets of one whole batch in a file."""

    position: int
    size: int
    base_offset: int
    last_offset: int


def segment_path(directory: Path, base_offset: int, suffix: str = ".log") -> Path:
    """Return Kafka's name for a segment file, such as `00000000000000000042.log`."""
    return directory / f"{base_offset:020d}{suffix}"


def whole_batches(
    file: File, position: int, end: int, chunk_bytes: int = _SCAN_CHUNK
) -> Iterator[tuple[int, bytes, int, int]]:
    """Yield (position in the file, buffer, position in the buffer, size) of each whole batch before `end`."""
    chunk_bytes = max(chunk_bytes, _WALK_CHUNK)
    buffer = b""
    start = position  # position of `buffer` in the file
    while end - position >= SIZE_PREFIX_BYTES:
        at = position - start
        if at + SIZE_PREFIX_BYTES > len(buffer):
            buffer, start, at = file.pread(min(chunk_bytes, end - position), position), position, 0
            if len(buffer) < SIZE_PREFIX_BYTES:
                return
        size = SIZE_PREFIX_BYTES + int(_PREFIX.unpack_from(buffer, at)[1])
        if size < BATCH_HEADER_BYTES or position + size > end:
            return
        if at + size > len(buffer):
            buffer, start, at = file.pread(min(max(chunk_bytes, size), end - position), position), position, 0
            if len(buffer) < size:
                return
        yield position, buffer, at, size
        position += size


def fault_in_batch(buffer: bytes, at: int, size: int, least_offset: int) -> str | None:
    """Return why these bytes are not a valid batch with offsets from `least_offset` on; None if they are."""
    base_offset, _, magic, crc, _, last_delta, _ = _FACTS.unpack_from(buffer, at)
    if magic != 2:
        return f"record batch format {magic} (only format 2 is known)"
    if base_offset < least_offset:
        return f"offset {base_offset} where {least_offset} or more is due"
    if last_delta < 0:
        return f"last offset delta {last_delta}"
    if google_crc32c.value(buffer[at + _CRC_FROM : at + size]) != crc:
        return "checksum does not match"
    return None


class Segment:
    """A segment file in use. Only the newest of a log is appended to."""

    __slots__ = (
        "_bytes_since_index",
        "_fs",
        "_has_transactions",
        "_index_interval",
        "_is_marked",
        "_rolling_timestamp",
        "base_offset",
        "file",
        "index",
        "max_timestamp",
        "max_timestamp_offset",
        "next_offset",
        "path",
        "size_bytes",
        "time_index",
    )

    def __init__(self, fs: FileSystem, path: Path, file: File, index_interval_bytes: int) -> None:
        self._fs = fs
        self.path = path
        self.file = file
        self._index_interval = index_interval_bytes
        self.base_offset = int(path.stem)
        self._reset()

    def _reset(self) -> None:
        self.index = OffsetIndex()
        self.time_index = TimeIndex()
        self.size_bytes = 0
        self.next_offset = self.base_offset
        self.max_timestamp = _NO_TIMESTAMP
        self.max_timestamp_offset = self.base_offset
        self._rolling_timestamp = _NO_TIMESTAMP  # of the first batch, from which the segment's age counts
        self._bytes_since_index = 0
        self._has_transactions = False  # as far as batches were read or appended
        self._is_marked = False  # its transaction index is known to be marked as to be built

    def __repr__(self) -> str:
        return f"<Segment {self.path.name} {self.base_offset}..{self.next_offset} {self.size_bytes} bytes>"

    @property
    def first_timestamp(self) -> int:
        """Highest timestamp of the first batch, from which the segment's age counts; -1 if there is none."""
        return self._rolling_timestamp

    # opening

    @classmethod
    def create(cls, fs: FileSystem, directory: Path, base_offset: int, index_interval_bytes: int) -> Segment:
        """Create an empty segment; its name is durable after a sync of the directory."""
        path = segment_path(directory, base_offset)
        file = fs.open(path, create=True)
        try:
            if file.size():
                file.truncate(0)  # a leftover that was never part of the log
                file.fsync()
        except OSError:
            file.close()
            raise
        return cls(fs, path, file, index_interval_bytes)

    @classmethod
    def open(cls, fs: FileSystem, path: Path, index_interval_bytes: int) -> Segment:
        """Open an existing file unchecked: call `load` or `scan` next."""
        return cls(fs, path, fs.open(path), index_interval_bytes)

    @classmethod
    def open_staged(cls, fs: FileSystem, path: Path, suffix: str, index_interval_bytes: int) -> Segment:
        """Open and load a finished file that will become `path`; its name and those of its indexes end in `suffix`.

        Raises the errors of `load`.
        """
        segment = cls(fs, path, fs.open(path.with_name(path.name + suffix)), index_interval_bytes)
        try:
            segment.load(suffix)
        except BaseException:
            segment.file.close()
            raise
        return segment

    def load(self, suffix: str = "") -> None:
        """Load a file that was synced when it was finished: its indexes, and the few batches after their last entries.

        IndexDamagedError: an index does not match, because it or the log is damaged; `scan` rebuilds it or reports it.
        """
        self._reset()
        size = self.file.size()
        if size == 0:
            return
        index = OffsetIndex.load(self._fs, self.path.with_suffix(".index" + suffix), end=size)
        last = index.last()
        start = last[1] if last else 0

        def note(position: int, *_: int) -> None:
            if position - start > self._index_interval:
                raise IndexDamagedError(f"{self.path.stem}.index stops short of the end of the log")

        end, damage = self._check_batches(start, size, self.base_offset, note)
        if damage:
            raise IndexDamagedError(f"{self.path.stem}.index does not fit the log")  # or the log is: see `scan`
        last_offset = self._last_offset_before(start, end)
        time_index = TimeIndex.load(
            self._fs, self.path.with_suffix(".timeindex" + suffix), end=last_offset + 1 - self.base_offset
        )
        youngest = time_index.last()
        if youngest is None:
            raise IndexDamagedError(f"{self.path.stem}.timeindex is empty")
        self.index, self.time_index = index, time_index
        self.max_timestamp, self.max_timestamp_offset = youngest[0], self.base_offset + youngest[1]
        self._rolling_timestamp = int(_FACTS.unpack(self.file.pread(_FACTS.size, 0))[-1])
        self._bytes_since_index = size - start
        self.next_offset = last_offset + 1
        self.size_bytes = size
        if not self._has_time(*youngest):  # retention goes by it
            raise IndexDamagedError(f"{self.path.stem}.timeindex does not fit the log")

    def _has_time(self, timestamp: int, relative_offset: int) -> bool:
        """Return whether the batch that holds an offset has this highest timestamp, as the time index says."""
        try:
            head = self.file.pread(_FACTS.size, self.locate(self.base_offset + relative_offset))
        except CorruptLogError:
            return False
        return len(head) == _FACTS.size and bool(_FACTS.unpack(head)[-1] == timestamp)

    def scan(self) -> Damage | None:
        """Read the whole file, rebuild the indexes, and stop at the first invalid batch.

        The segment ends there afterwards; the file is not changed. Returns the damage, None if it reached the end.
        """
        self._reset()
        _, damage = self._check_batches(0, self.file.size(), self.base_offset, self._note)
        return damage

    def _check_batches(
        self, position: int, size: int, least_offset: int, note: Callable[[int, int, int, int], None]
    ) -> tuple[int, Damage | None]:
        """Check each batch from `position` on. Returns (end of the valid ones, damage if that is not `size`)."""
        for found, buffer, at, batch_size in whole_batches(self.file, position, size):
            fault = fault_in_batch(buffer, at, batch_size, least_offset)
            if fault:
                return found, Damage(found, fault)
            base_offset, _, _, _, attributes, last_delta, max_timestamp = _FACTS.unpack_from(buffer, at)
            if attributes & TRANSACTIONAL:
                self._has_transactions = True
            last_offset = base_offset + last_delta
            if last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
                return found, Damage(found, f"offset {last_offset} is too far from the segment's first")
            note(found, batch_size, last_offset, max_timestamp)
            least_offset = last_offset + 1
            position = found + batch_size
        if position == size:
            return position, None
        return position, Damage(position, f"{size - position} bytes that are no whole batch")

    def _last_offset_before(self, position: int, end: int) -> int:
        last_offset = self.base_offset - 1
        for _, buffer, at, _ in whole_batches(self.file, position, end):
            base_offset, _, last_delta = _EXTENT.unpack_from(buffer, at)
            last_offset = base_offset + last_delta
        return last_offset

    # writing: one thread

    def append(self, entries: Sequence[Entry]) -> None:
        """Write these batches in one call. After an OSError the bytes from `size_bytes` on are undefined: cut them."""
        if not self._is_marked and any(is_transactional(entry.batch) for entry in entries):
            self._has_transactions = True
            self._mark_transaction_index()  # first: a crash must not leave the batches alone
        if len(entries) == 1:
            self.file.pwrite(entries[0].batch, self.size_bytes)
        else:
            self.file.pwrite(b"".join([entry.batch for entry in entries]), self.size_bytes)
        position = self.size_bytes
        for batch, last_offset, max_timestamp in entries:
            self._note(position, len(batch), last_offset, max_timestamp)
            position = self.size_bytes

    def _note(self, position: int, size: int, last_offset: int, max_timestamp: int) -> None:
        if position == 0:
            self._rolling_timestamp = max_timestamp
        if max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = max_timestamp, last_offset
        if self._bytes_since_index > self._index_interval:
            self.index.append(last_offset - self.base_offset, position)
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
            self._bytes_since_index = 0
        self._bytes_since_index += size
        self.next_offset = last_offset + 1
        self.size_bytes = position + size  # last, because it makes the batch visible to readers

    def must_roll(
        self, run: Sequence[Entry], run_bytes: int, entry: Entry, segment_bytes: int, segment_ms: int
    ) -> bool:
        """Return True if `entry` belongs into the next segment, when `run` is about to be written to this one.

        Limits are the size, the age in record time, and the range of the index. An empty segment takes any batch.
        """
        if run:
            oldest = self._rolling_timestamp if self.size_bytes else run[0].max_timestamp
        elif self.size_bytes:
            oldest = self._rolling_timestamp
        else:
            return False
        return (
            self.size_bytes + run_bytes + len(entry.batch) > segment_bytes
            or entry.last_offset - self.base_offset > MAX_RELATIVE_OFFSET
            or (oldest >= 0 and entry.max_timestamp - oldest > segment_ms)
        )

    def finish(self) -> None:
        """Make the file and its indexes durable; the segment is not written afterwards."""
        self.file.fdatasync()
        self.save_indexes(durable=True, final=True)

    def save_indexes(self, *, durable: bool = False, final: bool = False, suffix: str = "") -> None:
        """Update the index files. The last time entry of a finished segment is its highest timestamp."""
        if self._has_transactions:
            self._mark_transaction_index(suffix)
        if final and self.size_bytes:
            self.time_index.maybe_append(self.max_timestamp, self.max_timestamp_offset - self.base_offset)
        self.index.save(self._fs, self.path.with_suffix(".index" + suffix), durable=durable)
        self.time_index.save(self._fs, self.path.with_suffix(".timeindex" + suffix), durable=durable)

    def _mark_transaction_index(self, suffix: str = "") -> None:
        if not self._is_marked:
            ask_to_build(self._fs, self.path.with_suffix(TRANSACTION_INDEX + suffix))
            self._is_marked = True

    @property
    def index_suffixes(self) -> tuple[str, ...]:
        """Suffixes of the files that `save_indexes` writes."""
        return (".index", ".timeindex", TRANSACTION_INDEX) if self._has_transactions else (".index", ".timeindex")

    def cut(self, position: int, next_offset: int) -> None:
        """Drop every batch from `position` on, in memory and in the file; durable after `file.fsync`."""
        self.file.truncate(position)
        relative = next_offset - self.base_offset
        self.index.cut(relative, position)
        self.time_index.cut(relative)
        last = self.index.last()
        start = last[1] if last else 0
        youngest = self.time_index.last()
        if youngest:
            self.max_timestamp, self.max_timestamp_offset = youngest[0], self.base_offset + youngest[1]
        else:
            self.max_timestamp, self.max_timestamp_offset = _NO_TIMESTAMP, self.base_offset
        for _, buffer, at, _ in whole_batches(self.file, start, position):  # batches that the indexes do not cover yet
            base_offset, _, _, _, _, last_delta, max_timestamp = _FACTS.unpack_from(buffer, at)
            if max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = max_timestamp, base_offset + last_delta
        if position == 0:
            self._rolling_timestamp = _NO_TIMESTAMP
        self._bytes_since_index = position - start
        self.next_offset = next_offset
        self.size_bytes = position

    def check_from(self, position: int) -> None:
        """Raise CorruptLogError unless the bytes from `position` on, as the kernel has them, are valid batches."""
        _, damage = self._check_batches(position, self.size_bytes, self.base_offset, lambda *_: None)
        if damage:
            raise CorruptLogError(self.path, damage.position, damage.reason)

    def rewrite(self, position: int) -> None:
        """Write the bytes from `position` on once more, so that the next sync writes them to the device.

        A failed sync may leave pages in the kernel's memory that are marked clean but are not on the device.
        """
        for start in range(position, self.size_bytes, _SCAN_CHUNK):
            self.file.pwrite(self.file.pread(min(_SCAN_CHUNK, self.size_bytes - start), start), start)

    def delete(self) -> None:
        """Remove the files, the log file first, since an index alone is ignored. Active readers keep the open file."""
        self._fs.unlink(self.path)
        for suffix in (".index", ".timeindex", TRANSACTION_INDEX):
            path = self.path.with_suffix(suffix)
            if self._fs.exists(path):
                self._fs.unlink(path)

    # reading: any thread

    def offset_before(self, timestamp: int) -> int:
        """Return an offset before which every record of this segment is older than `timestamp`."""
        found = self.time_index.floor(timestamp)
        if found is None or not self._has_time(*found):
            return self.base_offset
        return self.base_offset + found[1]

    def locate(self, offset: int) -> int:
        """Return the position of the first batch that holds `offset` or a later one; `size_bytes` if there is none."""
        end = self.size_bytes
        if offset >= self.next_offset:
            return end
        extent = self._first_extent(end, offset)
        return extent.position if extent else end

    def _first_extent(self, end: int, offset: int) -> BatchExtent | None:
        """Return the first batch before `end` whose last offset is at least `offset`. Reads headers only.

        CorruptLogError if a batch before it has an impossible size.
        """
        relative_offset, position = self.index.floor(offset - self.base_offset)
        if position and not self._is_batch(position, self.base_offset + relative_offset):
            position = 0  # the index is damaged
        buffer = b""
        start = position
        while end - position >= BATCH_HEADER_BYTES:
            at = position - start
            if at + _EXTENT.size > len(buffer):
                buffer, start, at = self.file.pread(min(_WALK_CHUNK, end - position), position), position, 0
                if len(buffer) < _EXTENT.size:
                    return None  # it was cut meanwhile
            base_offset, length, last_delta = _EXTENT.unpack_from(buffer, at)
            if base_offset + last_delta >= offset:
                return BatchExtent(position, SIZE_PREFIX_BYTES + length, base_offset, base_offset + last_delta)
            if SIZE_PREFIX_BYTES + length < BATCH_HEADER_BYTES:
                if position >= self.size_bytes:
                    return None  # it was cut meanwhile
                raise CorruptLogError(self.path, position, f"a batch of {SIZE_PREFIX_BYTES + length} bytes")
            position += SIZE_PREFIX_BYTES + length
        return None

    def _is_batch(self, position: int, at_most_offset: int) -> bool:
        """Return whether a batch begins at a position that an index names, at an offset up to `at_most_offset`.

        Loading an index checks its order and its last entry only. A lookup that began behind its batch would skip
        records, and one that began inside of a batch would find none.
        """
        head = self.file.pread(_FACTS.size, position)
        if len(head) < _FACTS.size:
            return False
        base_offset, length, magic, _, _, last_delta, _ = _FACTS.unpack(head)
        is_whole = BATCH_HEADER_BYTES <= SIZE_PREFIX_BYTES + length <= self.size_bytes - position
        return bool(magic == 2 and last_delta >= 0 and is_whole and self.base_offset <= base_offset <= at_most_offset)

    def read(self, offset: int, max_bytes: int, *, min_one: bool, limit_offset: int) -> bytes | None:
        """Return whole batches below `limit_offset`, from the one that holds `offset` on; None if there are none.

        At most `max_bytes`; with `min_one` at least the first, however large, because a consumer must get past it.
        """
        end = self.size_bytes  # read before `next_offset`, which the writer moves first
        if limit_offset < self.next_offset:
            end = self.locate(limit_offset)
        if offset >= self.next_offset:
            return None
        first = self._first_extent(end, offset)
        if first is None:
            return None
        start = first.position
        if end - start <= max_bytes:
            return self.file.pread(end - start, start)
        if first.size > max_bytes:
            return self.file.pread(first.size, start) if min_one else b""
        position = max(start, self.index.floor_position(start + max_bytes))
        if position > start and not self._is_batch(position, self.next_offset):
            position = start  # the index is damaged
        stop = self._last_boundary(position, start + max_bytes)
        return self.file.pread(stop - start, start)

    def _last_boundary(self, position: int, limit: int) -> int:
        """Return the last start of a batch at or before `limit`; `position` is a start."""
        buffer = self.file.pread(limit - position, position) if limit - position <= _WALK_CHUNK else b""
        start = position
        while True:
            at = position - start
            if at + SIZE_PREFIX_BYTES > len(buffer):
                buffer, start, at = self.file.pread(_WALK_CHUNK, position), position, 0
                if len(buffer) < SIZE_PREFIX_BYTES:
                    return position
            size = SIZE_PREFIX_BYTES + int(_PREFIX.unpack_from(buffer, at)[1])
            if position + size > limit or size < BATCH_HEADER_BYTES:
                return position
            position += size

    def batches(self, offset: int, end: int, chunk_bytes: int) -> Iterator[bytes]:
        """Yield each batch from the one that holds `offset` on. CorruptLogError if one is not valid."""
        position = self.locate(offset)
        least_offset = self.base_offset
        for found, buffer, at, size in whole_batches(self.file, position, end, chunk_bytes):
            fault = fault_in_batch(buffer, at, size, least_offset)
            if fault:
                raise CorruptLogError(self.path, found, fault)
            base_offset, _, last_delta = _EXTENT.unpack_from(buffer, at)
            least_offset = base_offset + last_delta + 1
            yield buffer[at : at + size]
            position = found + size
        if position < end:
            raise CorruptLogError(self.path, position, f"{end - position} bytes that are no whole batch")
