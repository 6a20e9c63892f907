"""A log in memory with the interface of `coordinator.storage.log.log.Log`, for tests of its users.

It passes the same suite as the real one (tests/storage/log/test_log_suite.py). A segment is a list of batches; nothing
is durable, and operations fail only while `failing` is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from coordinator.storage.log.errors import LogError, OffsetOutOfRangeError
from coordinator.storage.log.log import LogConfig
from coordinator.storage.log.segment import Entry
from protocol.record_batch import BatchHeader, read_header, read_records


@dataclass
class MemorySegment:
    base_offset: int
    next_offset: int
    batches: list[tuple[BatchHeader, bytes]] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        return sum(len(batch) for _, batch in self.batches)

    @property
    def max_timestamp(self) -> int:
        return max((header.max_timestamp for header, _ in self.batches), default=-1)


class MemoryLog:
    def __init__(self, config: LogConfig | None = None) -> None:
        self.config = config or LogConfig()
        self.segments: tuple[MemorySegment, ...] = (MemorySegment(0, 0),)
        self.log_start_offset = 0
        self.high_watermark = 0
        self.failing: OSError | None = None

    @property
    def log_end_offset(self) -> int:
        return self.segments[-1].next_offset

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    def append(self, batch: bytes | bytearray, last_offset: int, max_timestamp: int) -> None:
        self.append_all((Entry(batch, last_offset, max_timestamp),))

    def append_all(self, entries: Sequence[Entry]) -> None:
        if self.failing is not None:
            raise self.failing
        for batch, last_offset, _ in entries:
            header = read_header(bytes(batch))
            if header.base_offset != self.log_end_offset or last_offset != header.last_offset:
                raise LogError(f"a batch {header.base_offset}..{last_offset}, due is {self.log_end_offset}")
            newest = self.segments[-1]
            if newest.batches and newest.size_bytes + len(batch) > self.config.segment_bytes:
                newest = self.roll()
            newest.batches.append((header, bytes(batch)))
            newest.next_offset = last_offset + 1

    def flush(self) -> None:
        if self.failing is not None:
            raise self.failing

    def roll(self) -> MemorySegment:
        newest = self.segments[-1]
        if not newest.batches:
            return newest
        segment = MemorySegment(newest.next_offset, newest.next_offset)
        self.segments = (*self.segments, segment)
        return segment

    def cut_back(self) -> None:
        offset = self.high_watermark
        while len(self.segments) > 1 and self.segments[-1].base_offset > offset:
            self.segments = self.segments[:-1]
        newest = self.segments[-1]
        while newest.batches and newest.batches[-1][0].last_offset >= offset:
            header, _ = newest.batches.pop()
            newest.next_offset = header.base_offset
        self.roll()

    def delete_up_to(self, offset: int) -> int:
        offset = min(offset, self.high_watermark)
        if offset <= self.log_start_offset:
            return 0
        self.log_start_offset = offset
        before = len(self.segments)
        while len(self.segments) > 1 and self.segments[1].base_offset <= offset:
            self.segments = self.segments[1:]
        return before - len(self.segments)

    def read(self, offset: int, max_bytes: int, *, min_one: bool = True, up_to_offset: int | None = None) -> bytes:
        if not self.log_start_offset <= offset <= self.log_end_offset:
            raise OffsetOutOfRangeError(offset, self.log_start_offset, self.log_end_offset)
        limit = self.high_watermark if up_to_offset is None else min(up_to_offset, self.log_end_offset)
        found: list[bytes] = []
        for segment in self.segments:
            for header, batch in segment.batches:
                if header.last_offset < offset:
                    continue
                if header.last_offset >= limit or sum(map(len, found)) + len(batch) > max_bytes:
                    if not found and min_one and header.last_offset < limit:
                        return batch
                    return b"".join(found)
                found.append(batch)
            if found:  # one segment at a time, like the real log
                return b"".join(found)
        return b""

    def batches(self, from_offset: int = 0) -> Iterator[tuple[BatchHeader, bytes]]:
        for segment in self.segments:
            for header, batch in segment.batches:
                if header.last_offset >= max(from_offset, self.log_start_offset):
                    yield header, batch

    def offset_for_timestamp(self, timestamp: int) -> tuple[int, int] | None:
        for header, batch in self.batches():
            if header.base_offset >= self.high_watermark:
                return None
            for record in read_records(batch, 0, header):
                if record.timestamp_ms >= timestamp and self.log_start_offset <= record.offset:
                    return record.timestamp_ms, record.offset
        return None

    def max_timestamp_offset(self) -> tuple[int, int] | None:
        youngest = max((segment.max_timestamp for segment in self.segments), default=-1)
        return None if youngest < 0 else self.offset_for_timestamp(youngest)

    def close(self) -> None:
        self.flush()

    def abandon(self) -> None:
        pass
