"""Check of one partition's directory, of this coordinator or of a Kafka. Files are only read.

Each batch is read once, in order: checksum, structure, offsets, the indexes, the records, and a replay as by a start.
Memory is that of a start: the newest record of each key. Beside a running daemon the end of the newest segment may be
a write that has not ended, and files may be replaced by a compaction; `ChangedMeanwhileError` then says to try again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from coordinator.core.offsets.consumer_records import newest_of_each_group
from coordinator.core.topics.names import TRANSACTIONS_TOPIC, parse_partition_directory
from coordinator.selfcheck.checkpoints import Known, check_checkpoint, check_kafka_files
from coordinator.selfcheck.findings import (
    REPAIR,
    CutBytes,
    LogFinding,
    PartitionReport,
    Reindex,
)
from coordinator.selfcheck.indexes import IndexCheck
from coordinator.selfcheck.records import RecordCheck
from coordinator.selfcheck.snapshots import SnapshotCheck
from coordinator.selfcheck.transactions import TransactionCheck
from coordinator.selfcheck.walk import NO_LIMIT, Gap, SoundBatch, walk
from coordinator.storage.file_names import offsets_partition
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.index import IndexDamagedError
from coordinator.storage.log.log import LogConfig
from coordinator.storage.log.recovery import segment_bases
from coordinator.storage.log.redo import is_needed
from coordinator.storage.log.segment import Segment, segment_path
from protocol.errors import ProtocolError
from protocol.group_records import KINDS
from protocol.record_batch import read_records

if TYPE_CHECKING:
    from pathlib import Path

Progress = Callable[[int], None]
NOT_STARTED: Final = "the daemon does not start"
NOT_LOADED: Final = (
    "the daemon starts, and cannot load this partition: its groups are answered NOT_COORDINATOR until it is mended"
)
TRANSACTIONS_NOT_LOADED: Final = (
    "the daemon starts, and cannot load this partition: its transactional ids are answered NOT_COORDINATOR until it is "
    "mended"
)
DEFAULTS: Final = LogConfig()
READ_FAILS: Final = "the daemon starts, and a consumer that comes to this place gets an error"


class ChangedMeanwhileError(Exception):
    """A compaction or retention replaced files during the check."""


def no_progress(size: int) -> None:
    """Do nothing with the number of bytes read."""


def check_partition(
    fs: FileSystem,
    directory: Path,
    *,
    is_served: bool = False,
    progress: Progress = no_progress,
    index_interval_bytes: int = DEFAULTS.index_interval_bytes,
) -> PartitionReport:
    """Check all files of a partition. `is_served`: a daemon is writing. `progress` gets the bytes read each time.

    The interval is that with which a daemon starts; it decides which damage a start notices.
    """
    return _Check(fs, directory, is_served, progress, index_interval_bytes).run()


class _Check:
    def __init__(self, fs: FileSystem, directory: Path, is_served: bool, progress: Progress, interval: int) -> None:
        self.fs = fs
        self.directory = directory
        self.is_served = is_served
        self.progress = progress
        self.interval = interval
        self.report = PartitionReport(directory)
        self.partition = offsets_partition(directory.name)
        self.records = None if self.partition is None else RecordCheck(self.report)
        topic, _ = parse_partition_directory(directory.name) or ("", 0)
        self.transactions = TransactionCheck(self.report) if topic == TRANSACTIONS_TOPIC else None
        if self.records is not None:
            self.unreadable = NOT_LOADED
        else:
            self.unreadable = READ_FAILS if self.transactions is None else TRANSACTIONS_NOT_LOADED
        self.snapshot = None if self.partition is None else SnapshotCheck(fs, self.report, self.partition)
        self.is_loadable = True

    def run(self) -> PartitionReport:
        report = self.report
        names = self.fs.listdir(self.directory)
        if is_needed(names) and not self.is_served:
            report.notes.append(
                "a swap of segments has begun: the next start, or `coordinator log repair`, finishes it; this check is "
                "of the files as they are"
            )
        bases = segment_bases(names)
        known = check_checkpoint(self.fs, report, bases)
        report.start_offset = max(known.start_offset, bases[0] if bases else 0)
        report.end_offset = report.start_offset
        for base, successor in pairwise([*bases, NO_LIMIT]):
            self._check_segment(base, successor, known)
        report.segments = len(bases)
        if report.end_offset < known.recovery_point:
            report.add(known.too_far(report.end_offset))
        self._finish()
        check_kafka_files(self.fs, report)
        if not self.is_served:
            return report
        if segment_bases(self.fs.listdir(self.directory))[: len(bases) - 1] != bases[:-1]:
            raise ChangedMeanwhileError(str(self.directory))
        return report

    def _check_segment(self, base: int, successor: int, known: Known) -> None:
        path = segment_path(self.directory, base)
        is_newest = successor == NO_LIMIT
        try:
            file = self.fs.open(path)
        except FileNotFoundError:
            raise ChangedMeanwhileError(str(path)) from None
        try:
            size = file.size()
            indexes = IndexCheck(self.fs, path, base)
            is_damaged = False
            for piece in walk(file, size, base, successor):
                if isinstance(piece, Gap):
                    is_damaged = self._note_gap(path, base, piece, size, known, is_newest=is_newest) or is_damaged
                    self.progress(piece.size)
                else:
                    indexes.add(piece.position, piece.header)
                    self._check_batch(path, base, piece)
                    self.progress(len(piece.data))
            self.report.size_bytes += size
        finally:
            file.close()
        if not is_damaged and not (is_newest and self.is_served):
            is_due = bool(size) and (not is_newest or known.is_clean(base, size))  # else a start builds them
            self._check_indexes(path, base, indexes, is_due=is_due)

    def _check_batch(self, path: Path, base: int, batch: SoundBatch) -> None:
        report, header = self.report, batch.header
        report.batches += 1
        report.records += header.record_count
        report.end_offset = header.last_offset + 1
        try:
            if self.records is not None:
                self.records.add(header, batch.data, path.name, base, batch.position)
            elif self.transactions is not None:
                self.transactions.add(header, batch.data, path.name, base, batch.position)
            else:
                read_records(batch.data, 0, header)
        except ProtocolError as error:
            self.is_loadable = False
            report.add(
                LogFinding(
                    path.name,
                    batch.position,
                    f"the batch of the offsets {header.base_offset} to {header.last_offset} has a right checksum, but "
                    f"its records cannot be read ({error})",
                    self.unreadable,
                    mend=CutBytes(base, batch.position, len(batch.data)),
                )
            )
            return
        if self.snapshot is not None:
            self.snapshot.add(header, batch.data)

    def _note_gap(self, path: Path, base: int, gap: Gap, size: int, known: Known, *, is_newest: bool) -> bool:
        """Report bytes that are no batch. False: they are a write of the daemon that has not ended."""
        is_end = gap.position + gap.size == size
        if is_newest and is_end and self.is_served:
            return False
        self.is_loadable = self.is_loadable and is_newest and is_end
        what = f"{gap.size} bytes are no sound batch: {gap.reason}"
        if gap.is_zero:
            what = f"{gap.size} zero bytes are no batch (preallocated by Kafka, or lost by a power cut)"
        advice = REPAIR
        if is_newest and is_end:
            is_cut = gap.due_offset >= known.recovery_point and not known.is_clean(base, size)
            start = "it is cut there, since nothing shows that more was on disk" if is_cut else NOT_STARTED
            advice = f"start the daemon, or {REPAIR}" if is_cut else REPAIR
        else:
            start = self._start_with(path, base, is_newest=is_newest and not known.is_clean(base, size))
            if is_end and start != NOT_STARTED and "is not below" in gap.reason:
                start = "it is cut there, since the next segment replaces it"
        self.report.add(
            LogFinding(path.name, gap.position, what, start, advice, CutBytes(base, gap.position, gap.size))
        )
        return True

    def _start_with(self, path: Path, base: int, *, is_newest: bool) -> str:
        """Return what a start does with damage before the end: it checks only what its indexes do not cover."""
        if is_newest:
            return (
                f"{NOT_STARTED}, or cuts the segment here and keeps what is behind in a file `.cut`, if nothing shows "
                "that it was on disk"
            )
        if not self._loads(path, after_scan=True):
            return NOT_STARTED
        return self.unreadable

    def _check_indexes(self, path: Path, base: int, indexes: IndexCheck, *, is_due: bool) -> None:
        for name, (position, what) in indexes.faults().items():
            self.report.add(LogFinding(name, position, what, self._start_with_index(path), mend=Reindex(base)))
        for name in indexes.missing if is_due else ():
            self.report.add(LogFinding(name, -1, "the file is missing", "it is built again", mend=Reindex(base)))

    def _start_with_index(self, path: Path) -> str:
        if not self._loads(path):
            return "the index is built again"
        return "it is not noticed, and a read by offset or time may begin at a wrong place"

    def _loads(self, path: Path, *, after_scan: bool = False) -> bool:
        """Return whether a start accepts a segment by its indexes, or after it has read it all."""
        segment = Segment.open(self.fs, path, self.interval)
        try:
            segment.load()
        except IndexDamagedError:
            return after_scan and segment.scan() is None
        finally:
            segment.file.close()
        return True

    def _finish(self) -> None:
        """Settle the replay, and compare the snapshot with it."""
        report, records = self.report, self.records
        if self.transactions is not None:
            self.transactions.finish(is_loadable=self.is_loadable)
        if records is None:
            return
        found, store = records.replay.settle()
        damaged = {key: records.replay.offsets[key] for key in records.replay.damaged}
        records.finish(damaged)
        for kind, count in sorted(report.unknown.items()):
            known = "share and streams groups" if kind in KINDS else "no protocol of Kafka 4.4"
            report.notes.append(f"{count} records with keys of type {kind} ({known}) are kept and not used")
        if self.is_loadable:
            consumer_groups = newest_of_each_group(records.replay.live)
            report.groups, report.offsets = len(found) + len(consumer_groups), store.count
        report.quarantined = len({*_groups_of(report)})
        for group_id, log_offset, reason in records.replay.ignored:
            report.notes.append(
                f"the record of the group {group_id!r} at log offset {log_offset} is not used: {reason}"
            )
        outlived = [one.group_id for one in found if one.value is None and one.record_offset >= 0]
        if outlived:
            report.notes.append(
                f"{len(outlived)} groups, the first of them {outlived[0]!r}, were deleted, but offsets older than that "
                "have no tombstone: they are served; `coordinator groups delete` removes them for good"
            )
        if self.snapshot is not None:
            self.snapshot.finish(records.replay, found, store, is_damaged=not self.is_loadable)


def _groups_of(report: PartitionReport) -> Iterator[str]:
    for finding in report.findings:
        if "is quarantined" in finding.start:
            yield finding.start
