"""What a partition's log leaves: from its snapshot and the records behind that, or from all records.

A snapshot counts if the log still holds the very batch that it ends with, and nothing is missing behind it. Both are
looked at. Compaction takes records away, tombstones among them: a snapshot and a log whose tail has been compacted
would together bring back what was deleted. But it cannot take a record away without leaving a gap, for offsets are
given out one after another; so a tail in which each offset has its record is all there is to be replayed.

Everything here belongs into a thread: it reads, and takes long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordinator.core.offsets.replay import Base, Replay, ReplayedGroup
from coordinator.core.offsets.store import OffsetStore
from coordinator.storage.log.errors import LogError
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding, Contents, LastBatch, NoSnapshotError, SnapshotError
from protocol.errors import ProtocolError
from protocol.record_batch import BatchHeader, read_header, verify

if TYPE_CHECKING:
    from pathlib import Path

    from coordinator.storage.log.fs import FileSystem
    from coordinator.storage.log.log import Log
    from coordinator.storage.log.segment import Segment

Batches = Iterable[tuple[BatchHeader, bytes]]


@dataclass(slots=True)
class Loaded:
    """A partition as its log leaves it up to `next_offset`."""

    replay: Replay
    found: list[ReplayedGroup]
    store: OffsetStore
    next_offset: int
    last: LastBatch | None  # the batch right below; None: the log is empty
    snapshot_offset: int  # from where on records were read because the rest came from a snapshot; -1: all were
    why_replayed: str  # why there was no snapshot to start from; empty: there was one
    tail_bytes: int  # of the batches that were read

    @property
    def records(self) -> int:
        """How many records were read."""
        return self.replay.records

    def let_go(self) -> None:
        """Free what was read, a little at a time. All at once, nobody else would get the interpreter meanwhile: for
        100,000 offsets that is 15 ms."""
        self.replay.let_go()
        while self.found:
            del self.found[-1000:]

    def contents(self) -> Contents:
        """What a snapshot of it holds. Only while nobody has touched `store`, and before `let_go`."""
        replay, found, store = self.replay, self.found, self.store
        blocks = replay.blocks(found, store)
        return Contents(blocks, replay.open_transactions, replay.unknown, len(found), store.count)


def load(
    fs: FileSystem,
    log: Log,
    partition: int,
    *,
    chunk_bytes: int,
    use_snapshot: bool = True,
    check: Callable[[], None] = lambda: None,
) -> Loaded:
    """Read a partition whose log nobody appends to meanwhile. `check` is called with each batch and may raise.

    CorruptLogError, DecodeError: the log cannot be read, or not be understood.
    """
    why = "it is not wanted"
    if use_snapshot:
        try:
            binding, base = file.read(fs, log.directory)
            if binding.partition != partition:
                raise SnapshotError(f"it is of partition {binding.partition}")
            if trouble := misfit(log, binding):
                raise SnapshotError(trouble)
            batches = log.batches(base.next_offset, chunk_bytes=chunk_bytes)
            return follow(batches, base, binding.last, end_offset=log.log_end_offset, check=check)
        except (SnapshotError, OSError, LogError, ProtocolError) as error:
            why = str(error)
            if not isinstance(error, NoSnapshotError):
                why = f"the snapshot cannot be used: {why}"
    batches = log.batches(chunk_bytes=chunk_bytes)
    loaded = follow(batches, None, None, end_offset=log.log_end_offset, check=check)
    loaded.why_replayed = why
    return loaded


def beginning_of(log: Log, segments: tuple[Segment, ...]) -> int:
    """Where a log begins at its next start: a compaction may have taken its first segments away, which a log that is
    open does not call its beginning."""
    return max(log.log_start_offset, segments[0].base_offset)


def misfit(log: Log, binding: Binding) -> str:
    """Why a snapshot is not of this log, as far as the log below it tells; empty if it is."""
    offset, last = binding.next_offset, binding.last
    start = beginning_of(log, log.segments)
    if binding.log_start_offset != start:
        return f"the log begins at offset {start} and began at {binding.log_start_offset} then"
    if not start <= last.base_offset < offset <= log.log_end_offset:
        return f"it stands for the log up to offset {offset}, which ends at {log.log_end_offset} now"
    data = log.read(last.base_offset, 1, up_to_offset=log.log_end_offset)
    try:
        header = read_header(data)
        verify(data, 0, header)
    except ProtocolError as error:
        return f"the last batch below offset {offset} cannot be read ({error})"
    if (header.base_offset, header.crc, header.partition_leader_epoch) != last or header.last_offset >= offset:
        return f"the log has another batch below offset {offset}: it was compacted, or is another log"
    return ""


def follow(
    batches: Batches,
    base: Base | None,
    last: LastBatch | None,
    *,
    end_offset: int,
    check: Callable[[], None] = lambda: None,
) -> Loaded:
    """What these batches leave of a base; with none, they are all there are. SnapshotError: some are missing."""
    replay = Replay(base)
    due = -1 if base is None else base.next_offset
    header = None
    tail_bytes = 0
    for header, batch in batches:
        check()
        if base is not None:
            if header.base_offset != due or header.record_count != header.last_offset_delta + 1:
                raise SnapshotError(f"records behind offset {due} were compacted since")
            due = header.last_offset + 1
        replay.add_batch(header, batch)
        tail_bytes += len(batch)
    if base is not None and due != end_offset:  # the newest segment begins later than the last record ends
        raise SnapshotError(f"records behind offset {due} were compacted since")
    if header is not None:
        last = LastBatch(header.base_offset, header.crc, header.partition_leader_epoch)
    found, store = replay.settle()
    snapshot_offset = -1 if base is None else base.next_offset
    return Loaded(replay, found, store, end_offset, last, snapshot_offset, "", tail_bytes)


def keep(
    fs: FileSystem, directory: Path, binding: Binding, loaded: Loaded, *, check: Callable[[], None] = lambda: None
) -> int:
    """Make what was loaded the partition's snapshot; returns its size in bytes. OSError, and what `check` raises."""
    return file.write(fs, directory, binding, loaded.contents(), check=check)


def binding_of(log: Log, partition: int, loaded: Loaded) -> Binding | None:
    """What a snapshot of it would be bound to; None if there is nothing to snapshot."""
    last = loaded.last
    if last is None:
        return None
    return Binding(partition, beginning_of(log, log.segments), loaded.next_offset, last)
