"""One append-only log of record batches: a directory of segments in Kafka's layout.

`log_start_offset` is the first offset and `log_end_offset` the next one to be assigned. Records below `high_watermark`
are acknowledged and visible to readers; records between it and the end are on their way to the disk. Only the flusher
moves it.

Threads: appending, flushing, cutting, rolling and deleting belong to one writer thread at a time. Any thread may read
at the same time. The tuple of segments is replaced, never changed: a reader keeps the tuple it began with, and the file
of a deleted segment stays open until its last reader is done.
Guarantees: records survive a power cut once `flush` returned. After a failed write or sync nothing is accepted until
`cut_back` has removed everything beyond the high watermark, from memory and disk, and begun a new segment.
"""

from __future__ import annotations

import errno
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple, Self

from coordinator.storage.log import swap
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, Checkpoint
from coordinator.storage.log.errors import LogError, OffsetOutOfRangeError
from coordinator.storage.log.fs import NO_ROOM, FileSystem, RealFileSystem
from coordinator.storage.log.inventory import inventory
from coordinator.storage.log.recovery import NO_EVIDENCE, Evidence, RecoveryReport, recover, segment_bases
from coordinator.storage.log.segment import Entry, Segment, segment_path
from coordinator.storage.log.staging import PreparedSwap, Replaced, SwapRefusedError
from protocol.record_batch import HEADER_BYTES, BatchHeader, read_header, read_records

_base_offset = attrgetter("base_offset")


class LogConfig(NamedTuple):
    """Limits of a segment (Kafka's segment.bytes and segment.ms), and the density of its indexes."""

    segment_bytes: int = 100 << 20
    segment_ms: int = 7 * 24 * 3600 * 1000  # in record time: between a segment's first batch and the new one
    index_interval_bytes: int = 4096


class Log:
    """A directory of segments with its offsets. `recovery` reports what opening the log found."""

    def __init__(
        self,
        directory: Path,
        config: LogConfig,
        fs: FileSystem,
        segments: Sequence[Segment],
        checkpoint: Checkpoint,
        leader_epochs: int,
        recovery: RecoveryReport,
    ) -> None:
        self.directory = directory
        self.config = config
        self.fs = fs
        self.recovery = recovery
        self.segments: tuple[Segment, ...] = tuple(segments)
        self.log_start_offset = max(checkpoint.log_start_offset, segments[0].base_offset)
        self.log_end_offset = max(segments[-1].next_offset, self.log_start_offset)
        self.high_watermark = self.log_end_offset  # recovered records are durable, and there is no other replica
        self._synced_offset = self.log_end_offset  # everything below is on the device
        self._synced_position = segments[-1].size_bytes  # end of the synced bytes in the newest segment's file
        self._checkpoint = checkpoint
        self._leader_epochs = leader_epochs
        self.owes_checkpoint = False  # the file lacks a new segment, or there was no room to write it
        self._closed = False
        self._is_suspect = False  # a write or sync failed: nothing is written before `cut_back`
        self._swap: swap.Intent | None = None  # committed, and its file not yet removed
        self._swap_is_applied = False
        self._swap_in_doubt = False  # a withdrawn intent may still be on disk, so a crash could carry it out

    def __repr__(self) -> str:
        return (
            f"<Log {self.directory.name} {self.log_start_offset}..{self.high_watermark}..{self.log_end_offset} "
            f"{len(self.segments)} segments>"
        )

    @classmethod
    def open(
        cls,
        directory: Path,
        config: LogConfig | None = None,
        fs: FileSystem | None = None,
        evidence: Evidence = NO_EVIDENCE,
    ) -> Self:
        """Open or create a log. CorruptLogError: durable records are damaged or gone (`recovery.py`)."""
        config = config or LogConfig()
        fs = fs or RealFileSystem()
        found = recover(directory, config.index_interval_bytes, fs, evidence)
        log = cls(directory, config, fs, found.segments, found.checkpoint, found.leader_epochs, found.report)
        if log.log_end_offset:
            try:
                log.save_checkpoint()  # recovered records are on the device now, so the next start need not check them
            except OSError as error:
                if error.errno not in NO_ROOM:
                    log.abandon()
                    raise
                log.owes_checkpoint = True
                found.report.unsaved.append(RECOVERY_CHECKPOINT_NAME)
            except BaseException:
                log.abandon()
                raise
        return log

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self.segments)

    @property
    def synced_offset(self) -> int:
        """Offset below which every record is on the device."""
        return self._synced_offset

    # writing: the writer thread

    def append(self, batch: bytes | bytearray, last_offset: int, max_timestamp: int) -> None:
        """Write one batch with the next offsets. Durable after `flush`; on OSError call `cut_back`."""
        self.append_all((Entry(batch, last_offset, max_timestamp),))

    def append_all(self, entries: Sequence[Entry]) -> None:
        """Write these batches in order, rolling when a segment is full; one system call per segment."""
        with self._suspect_if_it_fails():
            self._append_all(entries)

    @property
    def is_suspect(self) -> bool:
        """True after a failed write, sync or roll, until `cut_back` succeeds."""
        return self._is_suspect

    @contextmanager
    def _suspect_if_it_fails(self) -> Iterator[None]:
        """Refuse writes after a failure: after a failed sync the next one would succeed without saving anything."""
        if self._is_suspect:
            raise OSError(errno.EIO, "an earlier write failed and was not cut back yet", str(self.directory))
        try:
            yield
        except BaseException:
            self._is_suspect = True
            raise

    def _append_all(self, entries: Sequence[Entry]) -> None:
        config = self.config
        segment = self.segments[-1]
        run: list[Entry] = []
        run_bytes = 0
        next_offset = self.log_end_offset
        for entry in entries:
            batch, last_offset, _ = entry
            base_offset = int.from_bytes(batch[:8], "big")
            if base_offset != next_offset or last_offset < base_offset:
                raise LogError(f"{self.directory.name}: a batch {base_offset}..{last_offset}, due is {next_offset}")
            if segment.must_roll(run, run_bytes, entry, config.segment_bytes, config.segment_ms):
                self._write(segment, run)
                run, run_bytes = [], 0
                segment = self._roll()
            run.append(entry)
            run_bytes += len(batch)
            next_offset = last_offset + 1
        self._write(segment, run)

    def _write(self, segment: Segment, run: Sequence[Entry]) -> None:
        if run:
            segment.append(run)
            self.log_end_offset = segment.next_offset

    def flush(self) -> None:
        """Return when every record appended so far is on the device."""
        with self._suspect_if_it_fails():
            if self._synced_offset != self.log_end_offset:
                self.segments[-1].file.fdatasync()  # the older ones were synced when they were finished
                self._note_synced()

    def _note_synced(self) -> None:
        self._synced_offset = self.log_end_offset
        self._synced_position = self.segments[-1].size_bytes

    def roll(self) -> Segment:
        """Finish the newest segment and return a new one. An empty newest segment is returned as it is.

        After an OSError the log is suspect: the flusher cuts it back before the next write.
        """
        with self._suspect_if_it_fails():
            return self._roll()

    def _roll(self) -> Segment:
        newest = self.segments[-1]
        if newest.size_bytes == 0:
            return newest
        newest.finish()
        self._note_synced()
        segment = Segment.create(self.fs, self.directory, self.log_end_offset, self.config.index_interval_bytes)
        self.fs.fsync_dir(self.directory)
        self.segments = (*self.segments, segment)
        self._synced_position = 0
        self.owes_checkpoint = True
        return segment

    def cut_back(self) -> None:
        """Remove everything beyond the high watermark after a failed write or sync, then begin a new segment.

        Raises OSError while the disk still fails; call it again later, and append nothing before it returns. Bytes
        below the high watermark that are not synced (policy `interval`) are checked and written once more.
        """
        self._remove_from(self.high_watermark)
        newest = self.segments[-1]
        position = min(self._synced_position, newest.size_bytes)
        if position < newest.size_bytes:
            newest.check_from(position)
            newest.rewrite(position)
        newest.file.fsync()
        kept = {segment.base_offset for segment in self.segments}
        for base in segment_bases(self.fs.listdir(self.directory)):
            if base not in kept and base > newest.base_offset:  # a roll that failed half-way
                self.fs.unlink(segment_path(self.directory, base))
        self.fs.fsync_dir(self.directory)
        self._note_synced()
        self._roll()
        self._is_suspect = False

    def _remove_from(self, offset: int) -> None:
        """Drop segments that begin beyond `offset` and cut the one that holds it."""
        while len(self.segments) > 1 and self.segments[-1].base_offset > offset:
            gone = self.segments[-1]
            self.segments = self.segments[:-1]
            gone.delete()
            self._synced_position = self.segments[-1].size_bytes  # finished, hence synced, before its successor
        newest = self.segments[-1]
        position = newest.locate(offset)
        next_offset = self._end_before(newest, position, offset)
        newest.cut(position, next_offset)
        self._synced_position = min(self._synced_position, position)
        self._synced_offset = min(self._synced_offset, next_offset)
        self.log_end_offset = next_offset

    def _end_before(self, segment: Segment, position: int, offset: int) -> int:
        """Return the next offset of a segment cut at `position`: `offset`, or the start of the batch that holds it."""
        if position == segment.size_bytes:
            return offset
        return min(offset, int.from_bytes(segment.file.pread(8, position), "big"))

    def delete_up_to(self, offset: int) -> int:
        """Move the start to `offset` (at most the high watermark), durably, and drop segments that end before it.

        Returns the number of dropped segments. The newest stays: call `roll` first to drop all of them.
        """
        offset = min(offset, self.high_watermark)
        if offset <= self.log_start_offset:
            return 0
        self.finish_swap()  # redoing the swap later would miss the segments dropped now
        self._write_checkpoint(log_start_offset=offset)  # first, so that a crash here brings no record back
        self.log_start_offset = offset
        segments = self.segments
        count = 0
        while count + 1 < len(segments) and segments[count + 1].base_offset <= offset:
            count += 1
        self.segments = segments[count:]
        for segment in segments[:count]:
            segment.delete()
        if count:
            self.fs.fsync_dir(self.directory)
        return count

    def replace_segments(self, prepared: PreparedSwap, at_step: swap.AtStep = swap.no_step) -> None:
        """Swap the log's first segments for prepared ones, durably; then call `finish_swap`.

        Active readers go on with the segments they have. SwapRefusedError: the log's first segments have changed, or
        reach beyond the high watermark. An OSError before the commit point leaves everything as it was; after it the
        error is raised too, but the swap is committed (`is_swapping`), and `finish_swap` completes it.
        """
        if self._is_suspect:
            raise OSError(errno.EIO, "an earlier write failed and was not cut back yet", str(self.directory))
        self.finish_swap()
        count = len(prepared.replaces)
        old = self.segments
        facts = tuple([Replaced(one.base_offset, one.next_offset, one.size_bytes) for one in old[:count]])
        if not count or facts != prepared.replaces or len(old) == count or old[count].base_offset > self.high_watermark:
            raise SwapRefusedError(f"{self.directory.name} has changed since the swap of segments was prepared")
        try:
            swap.commit(self.fs, self.directory, at_step)
        except OSError:
            self._swap_in_doubt = True
            self._give_up_swap()
            raise
        self._swap, self._swap_is_applied = prepared.intent, False
        self.segments = (*prepared.segments, *old[count:])
        self._apply_swap(prepared.intent, at_step)

    def _apply_swap(self, intent: swap.Intent, at_step: swap.AtStep) -> None:
        if not self._swap_is_applied:
            swap.apply(self.fs, self.directory, intent, at_step, verify=False)
            self._swap_is_applied = True

    @property
    def is_swapping(self) -> bool:
        """True while a committed swap waits for `finish_swap`."""
        return self._swap is not None

    @property
    def owes_swap(self) -> bool:
        """True if `finish_swap` has work: a committed swap, or one whose withdrawal is not durable yet."""
        return self._swap is not None or self._swap_in_doubt

    def finish_swap(self, at_step: swap.AtStep = swap.no_step) -> None:
        """Complete a swap and remove its intent; does nothing if there is none."""
        if self._swap is not None:
            self._apply_swap(self._swap, at_step)
            self._write_checkpoint()
            swap.finish(self.fs, self.directory, at_step)
            self._swap = None
        if self._swap_in_doubt:
            swap.withdraw(self.fs, self.directory)
            self._swap_in_doubt = False

    def _give_up_swap(self) -> None:
        with suppress(OSError):  # `finish_swap` tries again
            swap.withdraw(self.fs, self.directory)
            self._swap_in_doubt = False

    def save_checkpoint(self) -> None:
        """Write durably how far the log is synced: a later start recognises damage below. Called periodically."""
        if self._closed:
            return
        self.owes_checkpoint = False
        if self._checkpoint_now() != self._checkpoint._replace(clean_segment=-1, clean_size=-1):
            self._write_checkpoint()
        self.segments[-1].save_indexes()

    def _checkpoint_now(self, *, log_start_offset: int | None = None, clean: bool = False) -> Checkpoint:
        newest = self.segments[-1]
        start = self.log_start_offset if log_start_offset is None else log_start_offset
        point = min(self._synced_offset, self.high_watermark)  # synced records beyond it may yet be cut back
        clean_facts = (newest.base_offset, newest.size_bytes) if clean else (-1, -1)
        return Checkpoint(start, point, *clean_facts, self._leader_epochs, inventory(self.segments, start, point))

    def _write_checkpoint(self, *, log_start_offset: int | None = None, clean: bool = False) -> None:
        checkpoint = self._checkpoint_now(log_start_offset=log_start_offset, clean=clean)
        checkpoint.write(self.fs, self.directory)
        self._checkpoint = checkpoint

    def close(self) -> None:
        """Flush, record a clean end, and close the files. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        try:
            self.flush()
            self.segments[-1].save_indexes(durable=True, final=True)
            self._write_checkpoint(clean=True)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the files without writing: the disk fails, or a test crashes. The next start recovers the log."""
        self._closed = True
        for segment in self.segments:
            segment.file.close()

    def delete(self) -> None:
        """Remove the log with its directory, which is first renamed durably to `<name>-delete`."""
        self.abandon()
        gone = self.directory.with_name(self.directory.name + "-delete")
        if self.fs.is_dir(gone):
            remove_tree(self.fs, gone)
        self.fs.rename(self.directory, gone)
        self.fs.fsync_dir(gone.parent)
        remove_tree(self.fs, gone)

    # reading: any thread

    def read(self, offset: int, max_bytes: int, *, min_one: bool = True, up_to_offset: int | None = None) -> bytes:
        """Return whole batches from the one that holds `offset` on, as in a Fetch response; empty at the end.

        All lie below `up_to_offset` (by default the high watermark) and in one segment. At most `max_bytes` are
        returned; with `min_one` at least the first batch, however large.
        """
        end = self.log_end_offset
        if not self.log_start_offset <= offset <= end:
            raise OffsetOutOfRangeError(offset, self.log_start_offset, end)
        limit = self.high_watermark if up_to_offset is None else min(up_to_offset, end)
        segments = self.segments
        for number in range(max(0, bisect_right(segments, offset, key=_base_offset) - 1), len(segments)):
            if offset >= limit or segments[number].base_offset >= limit:
                break
            data = segments[number].read(offset, max_bytes, min_one=min_one, limit_offset=limit)
            if data is not None:
                return data
        return b""

    def batches(self, from_offset: int = 0, *, chunk_bytes: int = 1 << 20) -> Iterator[tuple[BatchHeader, bytes]]:
        """Yield every batch from the one that holds `from_offset` on. CorruptLogError if a checksum does not match."""
        from_offset = max(from_offset, self.log_start_offset)
        for segment in self.segments:
            if segment.next_offset > from_offset:
                for batch in segment.batches(from_offset, segment.size_bytes, chunk_bytes):
                    yield read_header(batch), batch

    def batch_timestamp(self, offset: int) -> int:
        """Return the time of the batch with the first record from `offset` on; -1 if there is no batch or no time."""
        segments = self.segments
        for number in range(max(0, bisect_right(segments, offset, key=_base_offset) - 1), len(segments)):
            segment = segments[number]
            header = segment.file.pread(HEADER_BYTES, segment.locate(offset))
            if len(header) == HEADER_BYTES:
                return read_header(header).earliest_timestamp
        return -1

    def offset_for_timestamp(self, timestamp: int) -> tuple[int, int] | None:
        """Return (timestamp, offset) of the first record below the high watermark with at least this timestamp."""
        for segment in self.segments:
            if segment.max_timestamp >= timestamp:
                found = self._first_record(segment, segment.offset_before(timestamp), timestamp)
                if found:
                    return found
        return None

    def max_timestamp_offset(self) -> tuple[int, int] | None:
        """Return (timestamp, offset) of the record with the highest timestamp; of the first one if several share it."""
        youngest = max(self.segments, key=attrgetter("max_timestamp"))  # max() keeps the first of equals
        if youngest.max_timestamp < 0:
            return None
        return self.offset_for_timestamp(youngest.max_timestamp)

    def _first_record(self, segment: Segment, offset: int, timestamp: int) -> tuple[int, int] | None:
        start, limit = self.log_start_offset, self.high_watermark
        for batch in segment.batches(offset, segment.size_bytes, 64 << 10):
            header = read_header(batch)
            if header.base_offset >= limit:
                return None
            if header.max_timestamp < timestamp:
                continue
            for record in read_records(batch, 0, header):
                if record.timestamp_ms >= timestamp and start <= record.offset < limit:
                    return record.timestamp_ms, record.offset
        return None


def remove_tree(fs: FileSystem, directory: Path) -> None:
    """Remove a log's directory and the files in it; it has no subdirectories."""
    for name in fs.listdir(directory):
        fs.unlink(directory / name)
    fs.rmdir(directory)
    fs.fsync_dir(directory.parent)
