"""The offsets log in files, as a `LogStore`: what `coordinator log export` writes and `coordinator log import` reads.

It lies over the same `Log` that a daemon serves, in the same layout, so a daemon and all commands work on the files. A
daemon itself does not use this store: its flusher writes in a thread of its own, without an epoch for each batch.

Epochs of claims are kept in memory: the lock of the data directory, which the caller holds, keeps other processes away.
The work runs in threads, one at a time.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from coordinator.storage.cleaner_checkpoint import write_checkpoint
from coordinator.storage.file_names import SNAPSHOT_NAME, log_dir
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import FileSystem, RealFileSystem, read_whole, write_atomically
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry, Segment
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    Claim,
    ClaimLostError,
    LogStoreError,
    StoredExtent,
    StoredSnapshot,
)
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding
from coordinator.storage.snapshot.loading import Loaded, load
from coordinator.storage.snapshot.transaction_tail import LoadedTransactions, TransactionTail
from coordinator.storage.store_partitions import ONLY_OFFSETS, StorePartitions
from protocol.record_batch import BatchHeader

_LOAD_BYTES: Final = 1 << 20


class FileLogStore:
    """`LogStore` over the partitions of the offsets log in a data directory."""

    concurrent_appends = 1
    deletes_below_snapshots = False

    def __init__(
        self,
        data_dir: Path,
        config: LogConfig | None = None,
        fs: FileSystem | None = None,
        partitions: StorePartitions = ONLY_OFFSETS,
    ) -> None:
        """`partitions`: those of the shared store, whose numbers name the logs."""
        self.name = f"files {data_dir}"
        self._data_dir = data_dir
        self._config = config or LogConfig()
        self._fs = fs or RealFileSystem()
        self._partitions = partitions
        self._logs: dict[int, Log] = {}
        self._epochs: Counter[int] = Counter()  # by partition: of the newest claim
        self._one_at_a_time = threading.Lock()  # a cancelled call goes on in its thread

    async def claim(self, partition: int, seen_epoch: int) -> Claim:
        """Claim a partition, and open its log: what is damaged at its end is cut off, as at the start of a daemon."""
        return await asyncio.to_thread(self._in_thread_claim, partition, seen_epoch)

    def _in_thread_claim(self, partition: int, seen_epoch: int) -> Claim:
        with self._one_at_a_time, _as_store_error():
            if self._epochs[partition] != seen_epoch:
                raise ClaimLostError(f"partition {partition} was claimed meanwhile; claim it again")
            end_offset = self._log(partition).log_end_offset
            self._epochs[partition] += 1
            return Claim(partition, self._epochs[partition], end_offset)

    async def append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> Sequence[AppendOutcome]:
        return await asyncio.to_thread(self._in_thread_append, rows)

    def _in_thread_append(self, rows: Sequence[tuple[Claim, Sequence[Entry]]]) -> list[AppendOutcome]:
        with self._one_at_a_time:
            return [self._append(claim, entries) for claim, entries in rows]

    def _append(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        if self._epochs[claim.partition] != claim.epoch:
            return AppendFenced()
        base_offset = _base_offset(entries[0])
        try:
            log = self._log(claim.partition)
            if base_offset and not log.log_end_offset:
                log = self._begin(claim.partition, base_offset, ())
            if log.is_suspect:
                log.cut_back()
            try:
                log.append_all(entries)
                log.flush()
            except (OSError, LogError):
                log.cut_back()
                raise
        except (OSError, LogError) as error:
            return AppendFailed(error)
        log.high_watermark = log.log_end_offset
        return AppendDurable(log.high_watermark)

    async def begin(
        self, claim: Claim, start_offset: int, head: Sequence[Entry] = (), clean_up_to: int | None = None
    ) -> None:
        """Let an empty partition go on at an offset, behind the batches of a compacted log.

        The offsets of `head` are below `start_offset`, in order, with gaps. It may lack records that later ones below
        `clean_up_to` have replaced, which is noted where a cleaner notes it. Raises ClaimLostError, LogStoreError.
        """
        await asyncio.to_thread(self._in_thread_begin, claim, start_offset, head, clean_up_to)

    def _in_thread_begin(self, claim: Claim, start_offset: int, head: Sequence[Entry], clean_up_to: int | None) -> None:
        with self._one_at_a_time, _as_store_error():
            self._check(claim)
            if self._log(claim.partition).log_end_offset:
                raise LogStoreError(f"partition {claim.partition} is not empty; export to a new directory")
            self._begin(claim.partition, start_offset, head)
            if clean_up_to is not None:
                topic, partition = self._partitions.place(claim.partition)
                write_checkpoint(self._fs, self._data_dir, {partition: clean_up_to}, topic=topic)

    def _begin(self, partition: int, start_offset: int, head: Sequence[Entry]) -> Log:
        """Write the segments of a compacted log, which no `Log` appends, and open it."""
        empty = self._logs.pop(partition)
        empty.delete()
        fs, directory, config = self._fs, empty.directory, self._config
        fs.mkdir(directory)
        segment: Segment | None = None
        for entry in head:
            if segment is None or segment.must_roll((), 0, entry, config.segment_bytes, config.segment_ms):
                _finish(segment)
                segment = Segment.create(fs, directory, _base_offset(entry), config.index_interval_bytes)
            segment.append((entry,))
        _finish(segment)
        Segment.create(fs, directory, start_offset, config.index_interval_bytes).file.close()
        fs.fsync_dir(directory)
        fs.fsync_dir(directory.parent)
        return self._log(partition)

    async def resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        return await asyncio.to_thread(self._in_thread_resolve, claim, entries)

    def _in_thread_resolve(self, claim: Claim, entries: Sequence[Entry]) -> AppendOutcome:
        with self._one_at_a_time:
            log = self._logs.get(claim.partition)
            if log is not None and entries[-1].last_offset < log.high_watermark:
                return AppendDurable(entries[-1].last_offset + 1)
            return self._append(claim, entries)

    async def extents(self, partitions: Iterable[int]) -> Mapping[int, StoredExtent]:
        return await asyncio.to_thread(self._in_thread_extents, list(partitions))

    def _in_thread_extents(self, partitions: list[int]) -> dict[int, StoredExtent]:
        with self._one_at_a_time, _as_store_error():
            return {each: self._extent(each) for each in partitions}

    def _extent(self, partition: int) -> StoredExtent:
        log, snapshot = self._log(partition), self._snapshot(partition)
        covered = snapshot.next_offset if snapshot is not None else 0
        return StoredExtent(log.log_start_offset, log.log_end_offset, covered)

    async def batches(
        self, partition: int, from_offset: int, chunk_bytes: int = 8 << 20, *, joined: bool = False
    ) -> AsyncIterator[bytes]:
        with _as_store_error():
            found = await asyncio.to_thread(self._in_thread_read, partition, from_offset)
            while chunk := await asyncio.to_thread(_next_chunk, found, chunk_bytes):
                yield chunk

    def _in_thread_read(self, partition: int, from_offset: int) -> Iterator[tuple[BatchHeader, bytes]]:
        with self._one_at_a_time:
            return self._log(partition).batches(from_offset)

    async def load_snapshot(self, partition: int) -> StoredSnapshot | None:
        with _as_store_error():
            return await asyncio.to_thread(self._snapshot, partition)

    def _snapshot(self, partition: int) -> StoredSnapshot | None:
        directory = self._directory(partition)
        try:
            next_offset = file.read_binding(self._fs, directory).next_offset
        except file.SnapshotError:  # the log has everything
            return None
        return StoredSnapshot(next_offset, read_whole(self._fs, directory / SNAPSHOT_NAME))

    async def save_snapshot(self, claim: Claim, next_offset: int, pieces: Iterable[bytes]) -> None:
        await asyncio.to_thread(self._in_thread_save_snapshot, claim, b"".join(pieces))

    def _in_thread_save_snapshot(self, claim: Claim, data: bytes) -> None:
        with self._one_at_a_time, _as_store_error():
            self._check(claim)
            if self._partitions.transaction_partition(claim.partition) is not None:
                return  # nothing reads it: the log has everything
            directory = self._log(claim.partition).directory
            write_atomically(self._fs, directory / SNAPSHOT_NAME, data)

    async def trim(self, claim: Claim, below: int, keep_ms: int = 0) -> int:
        """Delete nothing: a log in files is complete without its snapshot, and `coordinator compact` makes it small."""
        self._check(claim)
        return 0

    async def release(self, claim: Claim) -> None:
        """Return at once: the next claim needs no release."""

    async def close(self) -> None:
        await asyncio.to_thread(self._in_thread_close)

    def _in_thread_close(self) -> None:
        with self._one_at_a_time, _as_store_error():
            for log in self._logs.values():
                log.close()
            self._logs.clear()

    def fold(self, partition: int) -> StoredSnapshot | None:
        """Make a snapshot of all records; None if there are none. For a thread. Raises LogError, OSError."""
        with self._one_at_a_time:
            loaded = self._loaded(partition)
            if loaded.last is None:
                return None
            binding = Binding(partition, 0, loaded.next_offset, loaded.last)
            return StoredSnapshot(loaded.next_offset, b"".join(file.encode(binding, loaded.contents())))

    def _loaded(self, partition: int) -> Loaded | LoadedTransactions:
        log = self._log(partition)
        if self._partitions.transaction_partition(partition) is None:
            return load(self._fs, log, partition, chunk_bytes=_LOAD_BYTES)
        tail = TransactionTail(None, None)
        for header, batch in log.batches(chunk_bytes=_LOAD_BYTES):
            tail.add(header, batch)
        return tail.settle(log.log_end_offset)

    def _log(self, partition: int) -> Log:
        log = self._logs.get(partition)
        if log is None:
            directory = self._directory(partition)
            evidence = file.evidence(self._fs, directory, partition)
            log = self._logs[partition] = Log.open(directory, self._config, self._fs, evidence)
        return log

    def _directory(self, partition: int) -> Path:
        return log_dir(self._data_dir, *self._partitions.place(partition))

    def _check(self, claim: Claim) -> None:
        if self._epochs[claim.partition] != claim.epoch:
            raise ClaimLostError(f"partition {claim.partition} was claimed meanwhile; claim it again")


def _base_offset(entry: Entry) -> int:
    return int.from_bytes(entry.batch[:8], "big")


def _finish(segment: Segment | None) -> None:
    if segment is not None:
        segment.finish()
        segment.file.close()


def _next_chunk(batches: Iterator[tuple[BatchHeader, bytes]], chunk_bytes: int) -> bytes:
    """Return the next batches until `chunk_bytes` are reached; nothing at the end."""
    parts: list[bytes] = []
    size = 0
    for _, batch in batches:
        parts.append(batch)
        size += len(batch)
        if size >= chunk_bytes:
            break
    return b"".join(parts)


@contextmanager
def _as_store_error() -> Iterator[None]:
    """Turn errors of the log and of the disk into LogStoreErrors."""
    try:
        yield
    except LogError as error:
        raise LogStoreError(f"{error}; `coordinator log verify` says what to do", may_pass=False) from None
    except OSError as error:
        raise LogStoreError(f"the disk refused ({error}); make room or mend it, then run this again") from None
