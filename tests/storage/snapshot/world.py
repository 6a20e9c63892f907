"""A log on a disk in memory, written by the operations of `tests.compaction.logs`, and the state that a start loads."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.log import Log
from coordinator.storage.snapshot.loading import Loaded, binding_of, keep, load
from tests.compaction import oracle
from tests.compaction.logs import LogWriter, Op, Segment, compacted

DIRECTORY = Path("/data/__consumer_offsets-0")
State = tuple[dict[str, Any], dict[str, Any], Any, Any, int, int]


class World:
    """One partition. Each `open` is a start of a daemon; its open files are dropped."""

    def __init__(self, fs: FileSystem | None = None) -> None:
        self.fs: FileSystem = fs if fs is not None else LossyFileSystem()
        self.writer = LogWriter()
        for path in (DIRECTORY.parent, DIRECTORY):
            if not self.fs.is_dir(path):
                self.fs.mkdir(path)
                self.fs.fsync_dir(path.parent)
        self.put(self.writer.segments)

    def write(self, ops: Iterable[Op]) -> None:
        """Append these operations to the log."""
        self.writer.write(ops)
        self.put(self.writer.segments)

    def put(self, segments: Iterable[Segment]) -> None:
        """Replace the log's segments."""
        for name in self.fs.listdir(DIRECTORY):
            if name[0].isdigit() or name == "recovery-checkpoint":
                self.fs.unlink(DIRECTORY / name)
        for segment in segments:
            file = self.fs.open(DIRECTORY / segment.name, create=True)
            file.pwrite(bytes(segment.data), 0)
            file.fsync()
            file.close()
        self.fs.fsync_dir(DIRECTORY)

    def compact(self) -> None:
        """Compact every closed segment, and remove tombstones at once."""
        writer = self.writer
        writer.roll()
        clean_up_to = writer.active.base_offset
        if writer.in_transaction or not writer.closed:
            return
        for _ in range(2):  # the first round only says when the tombstones may go
            closed, _ = compacted(
                oracle.compact_partition, writer.closed, clean_up_to, writer.now_ms, delete_retention_ms=0
            )
            writer.segments = [*closed, writer.active]
            writer.now_ms += 10
        self.put(writer.segments)

    def open(self) -> Log:
        return Log.open(DIRECTORY, fs=self.fs)

    def load(self, *, use_snapshot: bool = True) -> Loaded:
        log = self.open()
        try:
            return load(self.fs, log, 0, chunk_bytes=1 << 16, use_snapshot=use_snapshot)
        finally:
            log.abandon()

    def keep(self, *, use_snapshot: bool = True) -> int:
        """Start, write a snapshot of the loaded state, stop. Returns its offset; -1 if the log is empty."""
        log = self.open()
        try:
            loaded = load(self.fs, log, 0, chunk_bytes=1 << 16, use_snapshot=use_snapshot)
            binding = binding_of(log, 0, loaded)
            if binding is None:
                return -1
            keep(self.fs, DIRECTORY, binding, loaded)
            return binding.next_offset
        finally:
            log.abandon()


def state_of(loaded: Loaded, *, with_ghosts: bool = True) -> State:
    """Return everything that was loaded: groups and their records, offsets, pending offsets, KIP-848 records, counts.

    Ghosts are groups of which the log only shows that they once had an offset: they are listed as Empty and have no
    offsets. Compaction drops them, and also whether a group was deleted before its present offsets, which decides
    whether it becomes a ghost without them.
    """
    store = loaded.store
    offsets = {group_id: {topic: dict(found) for topic, found in store.peek(group_id).items()}
               for group_id in store.group_ids()}  # fmt: skip
    pending = {producer: groups for producer, groups in store._pending.items() if groups}
    groups = {
        found.group_id: (found.value, found.record_offset if with_ghosts or found.value is not None else -1)
        for found in loaded.found
        if with_ghosts or found.value is not None or found.group_id in offsets or store.has_pending(found.group_id)
    }
    assert len({found.group_id for found in loaded.found}) == len(loaded.found), "each group once"
    assert store.count == sum(len(each) for topics in offsets.values() for each in topics.values())
    consumer = (loaded.replay.consumer, loaded.replay.live)
    return groups, offsets, pending, consumer, loaded.replay.unknown if with_ghosts else 0, loaded.next_offset
