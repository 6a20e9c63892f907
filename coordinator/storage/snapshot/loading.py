"""Loads a partition: from its snapshot and the records behind it, or from all records of its log.

A snapshot is used if the log still holds the very batch that it ends with, and no record behind it is missing.
Compaction removes records, tombstones among them: a snapshot together with a compacted tail would bring back deleted
offsets. Offsets are assigned without gaps, so a removed record leaves a gap; a tail without gaps is complete.

All functions belong into a thread: they read, and take long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

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
    """State of a partition after all records below `next_offset`."""

    replay: Replay
    found: list[ReplayedGroup]
    store: OffsetStore
    next_offset: int
    last: LastBatch | None  # the batch right below `next_offset`; None: the log is empty
    snapshot_offset: int  # end of the snapshot that was used; -1: none was
    why_replayed: str  # why no snapshot was used; empty: one was
    tail_bytes: int  # size of the batches that were read

    @property
    def records(self) -> int:
        """Number of records that were read."""
        return self.replay.records

    def let_go(self) -> None:
        """Free the records in small steps. Freeing 100,000 offsets at once would hold the interpreter for 15 ms."""
        self.replay.let_go()
        while self.found:
            del self.found[-1000:]

    def contents(self) -> Contents:
        """Return the content of a snapshot. Valid while `store` is unchanged, and before `let_go`."""
        replay, found, store = self.replay, self.found, self.store
        blocks = replay.blocks(found, store)
        damaged = {key: replay.offsets[key] for key in replay.damaged}
        return Contents(
            blocks,
            replay.open_transactions,
            damaged,
            replay.consumer,
            replay.unknown,
            len(found) + len(replay.apart),
            store.count,
        )


def load(
    fs: FileSystem,
    log: Log,
    partition: int,
    *,
    chunk_bytes: int,
    use_snapshot: bool = True,
    check: Callable[[], None] = lambda: None,
) -> Loaded:
    """Read a partition while its log gets no appends. `check` is called for each batch and may raise.

    LogError: the log cannot be read.
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
    """Return the start offset the log will have when reopened: compaction may have removed its first segments."""
    return max(log.log_start_offset, segments[0].base_offset)


def misfit(log: Log, binding: Binding) -> str:
    """Return why a snapshot does not match this log below its offset; empty if it matches."""
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


class BatchReplay(Protocol):
    """Collects the records of a partition."""

    def add_batch(self, header: BatchHeader, batch: bytes, /) -> None:
        """Collect those of the next batch. Raises ProtocolError."""


R = TypeVar("R", bound=BatchReplay)


class BatchTail(Generic[R]):
    """Replays the batches behind a base, one after the other; without a base they are the whole log.

    `is_whole`: no cleaner compacts this log, so that no record of it may be missing, as none may behind a base.
    """

    def __init__(self, replay: R, base: Base | None, last: LastBatch | None, *, is_whole: bool) -> None:
        self._replay = replay
        self._base = base
        self._last = last
        self._is_whole = is_whole or base is not None
        self._due = 0 if base is None else base.next_offset
        self._header: BatchHeader | None = None
        self._bytes = 0

    def add(self, header: BatchHeader, batch: bytes) -> None:
        """Replay the next batch. SnapshotError: records before it are missing. LogError: it cannot be read."""
        if self._is_whole:
            if header.base_offset != self._due or header.record_count != header.last_offset_delta + 1:
                raise self._missing()
            self._due = header.last_offset + 1
        self._header = header
        try:
            self._replay.add_batch(header, batch)
        except ProtocolError as error:  # its checksum is right, so this program cannot read what another wrote
            raise LogError(f"the batch at offset {header.base_offset} cannot be read: {error}") from None
        self._bytes += len(batch)

    def _ended(self, end_offset: int) -> tuple[LastBatch | None, int]:
        """Return the last batch, and the end of the snapshot or -1. SnapshotError: records are missing."""
        base, header = self._base, self._header
        if self._is_whole and self._due != end_offset:  # the newest segment begins later than the last record ends
            raise self._missing()
        if header is not None:
            self._last = LastBatch(header.base_offset, header.crc, header.partition_leader_epoch)
        return self._last, -1 if base is None else base.next_offset

    def _missing(self) -> SnapshotError:
        why = "were compacted since" if self._base is not None else "are missing"
        return SnapshotError(f"records behind offset {self._due} {why}")


class TailReplay(BatchTail[Replay]):
    """The tail of a partition of the offsets log."""

    def __init__(self, base: Base | None, last: LastBatch | None, *, is_whole: bool = False) -> None:
        super().__init__(Replay(base), base, last, is_whole=is_whole)

    def settle(self, end_offset: int) -> Loaded:
        """Return the state behind the last batch. SnapshotError: records below `end_offset` are missing."""
        last, snapshot_offset = self._ended(end_offset)
        found, store = self._replay.settle()
        return Loaded(self._replay, found, store, end_offset, last, snapshot_offset, "", self._bytes)


def follow(
    batches: Batches,
    base: Base | None,
    last: LastBatch | None,
    *,
    end_offset: int,
    check: Callable[[], None] = lambda: None,
) -> Loaded:
    """Replay these batches onto a base; without one they are the whole log.

    SnapshotError: records are missing. LogError: a batch cannot be read.
    """
    tail = TailReplay(base, last)
    for header, batch in batches:
        check()
        tail.add(header, batch)
    return tail.settle(end_offset)


def keep(fs: FileSystem, directory: Path, binding: Binding, loaded: Loaded) -> int:
    """Replace the partition's snapshot by the loaded state, durably; returns its size in bytes. Raises OSError."""
    size = file.draft(fs, directory, binding, loaded.contents())
    file.promote(fs, directory)
    return size


def binding_of(log: Log, partition: int, loaded: Loaded) -> Binding | None:
    """Return the binding of a snapshot of `loaded`; None if the log is empty."""
    last = loaded.last
    if last is None:
        return None
    return Binding(partition, beginning_of(log, log.segments), loaded.next_offset, last)
