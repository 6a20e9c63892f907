"""Walk through a segment's file that may be damaged anywhere: its sound batches, and the gaps between them.

A start stops at the first unsound batch. This walk looks for the next sound one behind it, by its checksum. The base
offset of a batch is not covered by the checksum; a batch whose offset is beyond that of its successor is a gap as well,
and so is one that does not lie below the next segment. Memory is bounded by the largest batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.storage.log.index import MAX_RELATIVE_OFFSET
from coordinator.storage.log.recovery import BATCH_BEGINS
from coordinator.storage.log.segment import BATCH_HEADER_BYTES, SIZE_PREFIX_BYTES, fault_in_batch, whole_batches
from protocol.record_batch import BatchHeader, read_header

if TYPE_CHECKING:
    from coordinator.storage.log.fs import File

NO_LIMIT: Final = 1 << 63
_CHUNK: Final = 1 << 20
_PATTERN_BYTES: Final = 17


class SoundBatch(NamedTuple):
    """A batch with a right checksum, and an offset that fits."""

    position: int
    header: BatchHeader
    data: bytes


class Gap(NamedTuple):
    """Bytes that are no sound batch."""

    position: int
    size: int
    reason: str
    due_offset: int  # the offset behind the sound batches before it
    is_zero: bool


def walk(file: File, size: int, base_offset: int, limit: int = NO_LIMIT) -> Iterator[SoundBatch | Gap]:
    """Yield the sound batches of the first `size` bytes, and the gaps. Offsets must lie in base_offset..limit-1."""
    position, due, due_before = 0, base_offset, base_offset
    last: SoundBatch | None = None
    while position < size:
        reason = ""
        for found, buffer, at, batch_size in whole_batches(file, position, size):
            reason = _fault(buffer, at, batch_size, due, base_offset, limit)
            next_offset = read_header(buffer, at).base_offset
            if (
                reason
                and last is not None
                and next_offset < last.header.base_offset
                and not _fault(buffer, at, batch_size, due_before, base_offset, limit)
            ):
                why = f"its offset {last.header.base_offset} is beyond that of the batch behind it, {next_offset}"
                yield Gap(last.position, len(last.data), why, due_before, False)
                last, due, reason = None, due_before, ""
            if reason:
                break
            if last is not None:
                yield last
            header = read_header(buffer, at)
            last = SoundBatch(found, header, buffer[at : at + batch_size])
            due_before, due = due, header.last_offset + 1
            position = found + batch_size
        if last is not None:
            yield last
            last = None
        if position < size:
            behind = _next_sound(file, position + 1, size, due, base_offset, limit)
            is_zero = behind == size and _is_zero(file, position, size)
            yield Gap(position, behind - position, reason or "no whole batch", due, is_zero)
            position = behind


def _fault(buffer: bytes, at: int, size: int, due: int, base_offset: int, limit: int) -> str:
    fault = fault_in_batch(buffer, at, size, due)
    if fault:
        return fault
    header = read_header(buffer, at)
    if header.last_offset >= limit:
        return f"its last offset {header.last_offset} is not below {limit}, where the next segment begins"
    if header.last_offset - base_offset > MAX_RELATIVE_OFFSET:
        return f"offset {header.last_offset} is too far from the segment's first"
    if header.record_count < 0:
        return f"{header.record_count} records"
    return ""


def _next_sound(file: File, position: int, end: int, due: int, base_offset: int, limit: int) -> int:
    """Return the position of the next sound batch; `end` if there is none."""
    while end - position >= BATCH_HEADER_BYTES:
        chunk = file.pread(min(_CHUNK, end - position), position)
        for match in BATCH_BEGINS.finditer(chunk):
            begin = position + match.start()
            size = SIZE_PREFIX_BYTES + int.from_bytes(chunk[match.start() + 8 : match.start() + 12], "big")
            if BATCH_HEADER_BYTES <= size <= end - begin:
                batch = file.pread(size, begin)
                if len(batch) == size and not _fault(batch, 0, size, due, base_offset, limit):
                    return begin
        position += max(len(chunk) - _PATTERN_BYTES + 1, 1)
    return end


def _is_zero(file: File, position: int, end: int) -> bool:
    return not any(file.pread(min(_CHUNK, end - at), at).strip(b"\0") for at in range(position, end, _CHUNK))
