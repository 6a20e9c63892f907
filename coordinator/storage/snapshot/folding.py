"""Makes a new snapshot from the last one and the later part of the log: in a child process, or when a daemon stops.

Nothing is taken from the coordinator's memory. The input are bytes of files that no longer change (batches that are on
disk), named by a `SnapshotOrder` that the daemon makes quickly; carrying it out needs neither its log objects nor its
loop. If the last snapshot does not match, all of the log is read, as at a start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.segment import fault_in_batch, whole_batches
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding, SnapshotError
from coordinator.storage.snapshot.loading import Loaded, beginning_of, follow, misfit
from protocol.record_batch import BatchHeader, read_header

if TYPE_CHECKING:
    from coordinator.storage.log.fs import FileSystem
    from coordinator.storage.log.log import Log
    from coordinator.storage.log.segment import Segment


_PARTS: Final = ("extents", "tail")


class FileExtent(NamedTuple):
    """A range of whole batches in a segment's file."""

    name: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SnapshotOrder:
    """Make a snapshot of a partition for everything below `end_offset`."""

    partition: int
    directory: str
    log_start_offset: int
    end_offset: int
    extents: tuple[FileExtent, ...]  # the log below `end_offset`
    base_offset: int  # offset below which the last snapshot covers the log; -1: none matches
    tail: tuple[FileExtent, ...]  # the log from `base_offset` on

    @property
    def tail_bytes(self) -> int:
        """Bytes to read if the last snapshot is valid."""
        return sum(extent.end - extent.start for extent in (self.tail if self.base_offset >= 0 else self.extents))

    def to_wire(self) -> dict[str, Any]:
        """Return the order as plain values for a child process."""
        parts = {name: [tuple(extent) for extent in getattr(self, name)] for name in _PARTS}
        return {**asdict(self), **parts}

    @classmethod
    def from_wire(cls, values: dict[str, Any]) -> SnapshotOrder:
        """Return the order that `to_wire` encoded."""
        parts = {name: tuple(FileExtent(*extent) for extent in values[name]) for name in _PARTS}
        return cls(**{**values, **parts})


def order_for(fs: FileSystem, log: Log, partition: int) -> tuple[SnapshotOrder, tuple[Segment, ...]]:
    """Return the order for a snapshot of all synced records, and the segments it refers to. Raises OSError."""
    segments = log.segments
    end_offset = min(log.high_watermark, log.synced_offset)
    base_offset = -1
    try:
        binding = file.read_binding(fs, log.directory)
        if binding.partition == partition and not misfit(log, binding) and binding.next_offset <= end_offset:
            base_offset = binding.next_offset
    except SnapshotError:
        pass
    start = beginning_of(log, segments)
    order = SnapshotOrder(
        partition,
        str(log.directory),
        start,
        end_offset,
        _extents(segments, start, end_offset),
        base_offset,
        _extents(segments, base_offset, end_offset) if base_offset >= 0 else (),
    )
    return order, segments


def _extents(segments: tuple[Segment, ...], offset: int, end_offset: int) -> tuple[FileExtent, ...]:
    found = []
    for segment in segments:
        if segment.next_offset > offset and segment.base_offset < end_offset:
            start, end = segment.locate(offset), segment.locate(end_offset)
            if start < end:
                found.append(FileExtent(segment.path.name, start, end))
    return tuple(found)


class Drafted(NamedTuple):
    """Result of an order: a draft beside the snapshot that it will replace."""

    offset: int
    size_bytes: int
    records: int  # read from the log
    from_offset: int  # end of the last snapshot; -1: the whole log was read
    groups: int
    offsets: int


def draft(fs: FileSystem, order: SnapshotOrder, *, check: Callable[[], None] = lambda: None) -> Drafted:
    """Carry out an order up to the last step, `file.promote`. `check` is called often and may raise.

    OSError, CorruptLogError, DecodeError, SnapshotError: no draft was made.
    """
    directory = Path(order.directory)
    loaded = _fold(fs, directory, order, check)
    if loaded.last is None:
        raise SnapshotError("the log is empty")
    binding = Binding(order.partition, order.log_start_offset, order.end_offset, loaded.last)
    size = file.draft(fs, directory, binding, loaded.contents(), check=check)
    return Drafted(
        order.end_offset, size, loaded.records, loaded.snapshot_offset, len(loaded.found), loaded.store.count
    )


def _fold(fs: FileSystem, directory: Path, order: SnapshotOrder, check: Callable[[], None]) -> Loaded:
    if order.base_offset >= 0:
        try:
            binding, base = file.read(fs, directory)
            if binding.next_offset == order.base_offset:
                batches = _batches(fs, directory, order.tail)
                return follow(batches, base, binding.last, end_offset=order.end_offset, check=check)
        except SnapshotError:
            pass  # the snapshot is damaged, or the log behind it was compacted
    batches = _batches(fs, directory, order.extents)
    return follow(batches, None, None, end_offset=order.end_offset, check=check)


def _batches(fs: FileSystem, directory: Path, extents: tuple[FileExtent, ...]) -> Iterator[tuple[BatchHeader, bytes]]:
    for name, start, end in extents:
        path = directory / name
        opened = fs.open(path)
        try:
            position, least_offset = start, 0
            for found, buffer, at, size in whole_batches(opened, start, end):
                fault = fault_in_batch(buffer, at, size, least_offset)
                if fault:
                    raise CorruptLogError(path, found, fault)
                header = read_header(buffer, at)
                least_offset = header.last_offset + 1
                yield header, buffer[at : at + size]
                position = found + size
            if position != end:
                raise CorruptLogError(path, position, f"{end - position} bytes that are no whole batch")
        finally:
            opened.close()
