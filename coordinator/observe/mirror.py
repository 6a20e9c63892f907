"""The mirror of the offsets log: a log on disk for each partition, with the bytes and offsets of the cluster.

Fetched batches are checked (format, order, CRC-32C) and appended as they are. Nothing is promised for a single record,
so files are flushed about once a second. After a stop or a crash the end of each log is where fetching goes on: what
the crash tore off is cut by checksum and fetched again, so nothing is missing and nothing is there twice.

All methods belong to one writer thread.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from coordinator.columnar.batches import Batches, CorruptBatchError, read_batches
from coordinator.columnar.log_reader import Reading, read_range
from coordinator.observe.decode import Decoded, Decoder, PartitionBatches
from coordinator.observe.errors import ClusterProblem, LogRecreatedError, ObserveError
from coordinator.observe.fetching import FetchedPart
from coordinator.observe.mirror_log import MirrorLog
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.log import LogConfig
from coordinator.storage.log.segment import Entry
from coordinator.storage.log.writer import HelperPool
from protocol.record_batch import HEADER_BYTES, LENGTH_END

SEGMENT_BYTES: Final = 32 << 20
# In record time. A compacted log has few records of many days, so this must not be short.
SEGMENT_MS: Final = 30 * 86_400_000
SYNC_HELPERS: Final = 3  # threads that flush several logs at once


@dataclass(frozen=True, slots=True)
class TakenPart:
    """The batches that were appended to one partition."""

    partition: int
    next_offset: int
    newest_ms: int
    size_bytes: int
    records: int


@dataclass(slots=True)
class Taken:
    """The outcome of appending an answer. `error`: a write failed; the parts before it were appended."""

    parts: list[TakenPart] = field(default_factory=list)
    to_decode: list[PartitionBatches] = field(default_factory=list)
    error: OSError | None = None
    problem: ClusterProblem | None = None  # some bytes arrived damaged; they are fetched again


class Mirror:
    """The logs of all partitions."""

    def __init__(self, path: Path, logs: dict[int, MirrorLog], fs: FileSystem, config: LogConfig) -> None:
        self.path = path
        self.logs = logs
        self._fs = fs
        self.config = config
        self._decoded_to = dict.fromkeys(logs, 0)  # records below were given to the state
        self._helpers = HelperPool(SYNC_HELPERS, "observe-sync")

    @classmethod
    def open(cls, path: Path, partitions: int, fs: FileSystem, config: LogConfig | None = None) -> Self:
        """Open or create the log of each partition. ObserveError: one is damaged or cannot be used."""
        config = config or LogConfig(SEGMENT_BYTES, SEGMENT_MS)
        mirror = cls(path, {}, fs, config)
        try:
            mirror.extend(partitions)
        except BaseException:
            mirror.abandon()
            raise
        return mirror

    def extend(self, partitions: int) -> None:
        """Open or create the logs of partitions that are not open yet."""
        for partition in range(partitions):
            if partition in self.logs:
                continue
            directory = offsets_log_dir(self.path, partition)
            try:
                self.logs[partition] = MirrorLog.open(directory, self.config, self._fs)
            except CorruptLogError as error:
                raise ObserveError(
                    f"the mirror is damaged: {error}; restore the file from a copy, or remove {directory} to fetch "
                    "this partition again from the cluster"
                ) from None
            except OSError as error:
                raise ObserveError(
                    f"{directory} cannot be used ({error.strerror or error}); mend it, then start again"
                ) from None
            self._decoded_to[partition] = 0

    @property
    def size_bytes(self) -> int:
        return sum(log.size_bytes for log in self.logs.values())

    def recovery_messages(self) -> list[str]:
        """Return sentences on what opening the logs found."""
        return [message for log in self.logs.values() for message in log.recovery.messages()]

    def next_offset(self, partition: int) -> int:
        """Return the offset to fetch next."""
        return self.logs[partition].log_end_offset

    # writing

    def take(self, fetched: Iterable[FetchedPart]) -> Taken:
        """Append the whole batches of an answer. LogRecreatedError: they cannot belong to the mirrored log.

        A part that was fetched from another offset than the end of its log is left out: it is out of date.
        """
        taken = Taken()
        for part in fetched:
            log = self.logs[part.partition]
            if part.from_offset != log.log_end_offset or not part.data:
                continue
            try:
                batches = _whole_batches(part)
            except ClusterProblem as problem:
                taken.problem = problem
                continue
            if not len(batches):
                continue
            try:
                log.take(_entries(part.data, batches))
            except OSError as error:
                taken.error = error
                break
            taken.parts.append(
                TakenPart(
                    part.partition,
                    log.log_end_offset,
                    int(batches.max_timestamp[-1]),
                    int(batches.size.sum()),
                    int(batches.count.sum()),
                )
            )
            new = batches[batches.last_offset >= self._decoded_to[part.partition]]
            self._decoded_to[part.partition] = max(self._decoded_to[part.partition], log.log_end_offset)
            taken.to_decode.append(PartitionBatches(part.partition, part.data, new))
        return taken

    def skip_to(self, partition: int, offset: int) -> None:
        """Leave a gap up to an offset: the cluster has removed what was before it."""
        self.logs[partition].skip_to(offset)

    def repair(self) -> None:
        """Cut back the logs whose last write or flush failed. OSError: the disk still fails."""
        for log in self.logs.values():
            if log.is_suspect:
                log.cut_back()

    def sync(self) -> None:
        """Flush every log that has new batches. OSError: one failed, and needs `repair`."""
        dirty = [log for log in self.logs.values() if not log.is_synced and not log.is_suspect]
        if dirty:
            errors = [error for error in self._helpers.run([log.sync for log in dirty]) if error is not None]
            if errors:
                raise errors[0]

    def save_checkpoints(self) -> None:
        """Note how far each log is durable, so that the next start checks only what is behind."""
        for log in self.logs.values():
            if not log.is_suspect:
                log.save_checkpoint()

    def roll(self, partitions: Iterable[int]) -> None:
        """Close the newest segments of these partitions, so that they can be extracted and compacted."""
        for partition in partitions:
            self.logs[partition].sync()
            self.logs[partition].roll()
            self.logs[partition].acknowledge()

    # reading

    def replay(self, decoder: Decoder) -> Iterator[Decoded]:
        """Yield the content of the mirrored logs, slice by slice."""
        for partition, log in self.logs.items():
            start, end = log.log_start_offset, log.log_end_offset
            try:
                for part in read_range(log.directory, start, end, Reading(skip_corrupt=True)):
                    decoded = decoder.decode_records(partition, part.batches, part.records)
                    decoded.undecodable += len(part.damages)
                    yield decoded
            except OSError as error:
                raise ObserveError(f"{log.directory} cannot be read ({error.strerror or error}); mend it") from None
            self._decoded_to[partition] = end

    # the end

    def close(self) -> None:
        """Flush and close every log; then raise the first error."""
        failed: OSError | None = None
        for log in self.logs.values():
            try:
                log.close()
            except OSError as error:
                failed = failed or error
        self._helpers.close()
        if failed is not None:
            raise failed

    def abandon(self) -> None:
        """Close the files without writing."""
        for log in self.logs.values():
            log.abandon()
        self._helpers.close()


def _whole_batches(part: FetchedPart) -> Batches:
    """Return the whole batches of a part from its offset on. The last of an answer may be cut off, and is left out.

    ClusterProblem: they are damaged. LogRecreatedError: one begins before the offset and ends behind it.
    """
    where = f"partition {part.partition} at offset {part.from_offset}"
    end = _whole_end(part.data)
    if not end:
        raise ClusterProblem(
            f"the records of {where} are no whole batch of a known format; trying again, and if that repeats, look at "
            "the cluster's own log with kafka-dump-log"
        )
    try:
        batches, _ = read_batches(part.data, path=f"the answer for {where}", end=end)
    except CorruptBatchError as error:
        raise ClusterProblem(f"the records of {where} arrived damaged ({error.reason}); trying again") from None
    batches = batches[batches.last_offset >= part.from_offset]
    if len(batches) and batches.base_offset[0] < part.from_offset:
        raise LogRecreatedError(f"a batch of the cluster crosses the end of the mirror ({where})")
    return batches


def _whole_end(data: bytes) -> int:
    """Return the end of the last whole batch, by lengths alone."""
    position, end = 0, len(data)
    while position + LENGTH_END <= end:
        size = LENGTH_END + int.from_bytes(data[position + 8 : position + LENGTH_END], "big")
        if size < HEADER_BYTES or position + size > end:
            break
        position += size
    return position


def _entries(data: bytes, batches: Batches) -> Sequence[Entry]:
    ends = (batches.position + batches.size).tolist()
    columns = zip(
        batches.position.tolist(), ends, batches.last_offset.tolist(), batches.max_timestamp.tolist(), strict=True
    )
    return [Entry(data[start:end], last_offset, max_timestamp) for start, end, last_offset, max_timestamp in columns]
