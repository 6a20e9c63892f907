"""The partitions of the offsets log that a node owns: queues records, makes them durable together, calls back.

The transaction log is a second `OffsetsLog`. `append` only queues records and assigns their offsets at once. When a
flush round starts, the records queued for a partition become one batch. If they are many, a batch is encoded as soon as
it is full, so that a slow disk does not leave all of them to one event. After the sync `on_durable(partition,
high_watermark)` is called.
The records of one append are always in one batch, so a crash keeps all of them or none. A transactional append has its
own batch, because the batch header names the producer.
After a failure `on_failed(partition, from_offset, error)` is called: nothing from that offset on was kept, and the next
append gets it again. A refusal (queue full, disk still failing) is reported at the next loop iteration; until then all
appends to the partition are refused, because the caller has counted on the offsets. Callbacks run on the loop thread,
never within `append`. Errors are those of a Kafka log; the core maps them to errors for clients.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self

from coordinator.config.config import Config
from coordinator.core.topics.names import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.storage.log.flusher import EventLoop, Flusher, FlusherStats
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.recovery import FindEvidence, no_evidence
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import LogStoreError
from coordinator.storage.machine import THIS_MACHINE, Machine
from protocol.error_codes import ErrorCode
from protocol.record_batch import ControlType, build_batch, build_control_batch

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from coordinator.core.effects import Append, Producer
    from coordinator.storage.log.flusher import PendingRecords
    from coordinator.storage.store_flusher import StoreLog

OnFailed = Callable[[int, int, ErrorCode], None]  # partition, from_offset, error

LOG: Final = logging.getLogger("coordinator.offsets.offsets_log")

# The core maps NOT_ENOUGH_REPLICAS to COORDINATOR_NOT_AVAILABLE: clients retry at this node. It maps
# KAFKA_STORAGE_ERROR to NOT_COORDINATOR: clients look for the coordinator again
# (`CoordinatorOperationExceptionHelper`). Both are retriable.
ERROR_BY_ERRNO: Final[Mapping[int, ErrorCode]] = {
    errno.ENOSPC: ErrorCode.NOT_ENOUGH_REPLICAS,  # space may come back
    errno.EDQUOT: ErrorCode.NOT_ENOUGH_REPLICAS,
    errno.ENOBUFS: ErrorCode.NOT_ENOUGH_REPLICAS,  # log.max.queued.bytes: the disk does not keep up
    errno.ESHUTDOWN: ErrorCode.NOT_LEADER_OR_FOLLOWER,  # the partition is unloaded (Kafka's `CoordinatorRuntime`)
}


def error_code_of(error: Exception) -> ErrorCode:
    """Return the error code for an append that failed with `error`."""
    if isinstance(error, LogStoreError):  # the store may come back, and this node owns the partition as before
        return ErrorCode.NOT_ENOUGH_REPLICAS
    number = error.errno if isinstance(error, OSError) else None
    return ERROR_BY_ERRNO.get(number or 0, ErrorCode.KAFKA_STORAGE_ERROR)


class _Chunk:
    """Records that will become one batch."""

    __slots__ = ("base_offset", "bytes", "marker", "producer", "records", "timestamp_ms")

    def __init__(self, base_offset: int, producer: Producer | None, marker: bool | None) -> None:
        self.base_offset = base_offset
        self.records: list[tuple[bytes | None, bytes | None]] = []
        self.bytes = 0
        self.timestamp_ms = 0
        self.producer = producer
        self.marker = marker  # instead of records the end of the producer's transaction: True is commit

    def build(self, leader_epoch: int) -> Entry:
        base_offset, timestamp_ms, producer = self.base_offset, self.timestamp_ms, self.producer
        if producer is None:
            batch = build_batch(
                self.records, base_offset=base_offset, timestamp_ms=timestamp_ms, leader_epoch=leader_epoch
            )
        elif self.marker is None:
            batch = build_batch(
                self.records,
                base_offset=base_offset,
                timestamp_ms=timestamp_ms,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                base_sequence=0,  # as Kafka: each batch is its own, and no sequence is checked
                is_transactional=True,
            )
        else:
            batch = build_control_batch(
                ControlType.COMMIT if self.marker else ControlType.ABORT,
                base_offset=base_offset,
                timestamp_ms=timestamp_ms,
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                coordinator_epoch=producer.coordinator_epoch,
            )
        return Entry(batch, base_offset + max(len(self.records), 1) - 1, timestamp_ms)


class _Refusal(NamedTuple):
    """Refusal of the append at `offset` and of all later ones until the core was called back."""

    offset: int
    error: ErrorCode


class LogFlusher(Protocol):
    """Makes queued records durable: `log.flusher.Flusher` on this disk, `store_flusher.StoreFlusher` in a store."""

    stats: FlusherStats
    queued_bytes: int

    def submit_pending(
        self, partition: int, log: Any, pending: PendingRecords, size_bytes: int, /
    ) -> OSError | None: ...

    def forget(self, partition: int, /) -> None: ...

    def close(self) -> Awaitable[None] | None: ...


class _Partition:
    """One partition: its log, the next offset to assign, and the records queued since the last round."""

    __slots__ = (
        "_built",
        "_chunk",
        "_most_bytes",
        "_most_records",
        "leader_epoch",
        "log",
        "next_offset",
        "number",
        "refusing",
    )

    def __init__(self, number: int, log: Log | StoreLog, config: Config) -> None:
        self._most_bytes = config.offsets_batch_max_bytes  # of one batch
        self._most_records = config.offsets_batch_max_records
        self.number = number
        self.log = log
        self.next_offset = log.log_end_offset
        self.refusing: _Refusal | None = None
        self.leader_epoch = 0  # of records without a producer
        self._built: list[Entry] = []  # batches that were full before the round
        self._chunk: _Chunk | None = None

    def gather(self, append: Append, timestamp_ms: int) -> None:
        _, records, _, producer, marker, size = append
        chunk = self._chunk
        if (
            chunk is None
            or producer is not None
            or chunk.producer is not None
            or chunk.bytes + size > self._most_bytes
            or len(chunk.records) + len(records) > self._most_records
        ):
            if chunk is not None:
                self._built.append(chunk.build(self.leader_epoch))
            chunk = self._chunk = _Chunk(self.next_offset, producer, marker)
        chunk.records += records
        chunk.bytes += size
        chunk.timestamp_ms = timestamp_ms
        self.next_offset += len(records) if marker is None else 1

    def build(self) -> list[Entry]:
        entries, self._built = self._built, []
        chunk, self._chunk = self._chunk, None
        if chunk is not None:
            entries.append(chunk.build(self.leader_epoch))
        return entries

    def discard(self) -> None:
        self._built, self._chunk = [], None


class CoordinatorTopic(NamedTuple):
    """An internal topic to which a coordinator writes."""

    name: str
    partitions: int
    segment_bytes: int

    @classmethod
    def offsets(cls, config: Config) -> Self:
        """Return the topic of committed offsets and groups."""
        return cls(OFFSETS_TOPIC, config.offsets_topic_num_partitions, config.offsets_topic_segment_bytes)

    @classmethod
    def named(cls, name: str, config: Config) -> Self:
        """Return the topic with one of the names in `COMPACTED_TOPICS`."""
        return cls.offsets(config) if name == OFFSETS_TOPIC else cls.transactions(config)

    @classmethod
    def transactions(cls, config: Config) -> Self:
        """Return the topic of transactional ids."""
        return cls(
            TRANSACTIONS_TOPIC,
            config.transaction_state_log_num_partitions,
            config.transaction_state_log_segment_bytes,
        )


def open_logs(
    topic: CoordinatorTopic,
    data_dir: Path,
    config: Config,
    fs: FileSystem,
    owns: Callable[[int], bool],
    evidence: FindEvidence,
) -> dict[int, Log]:
    """Open or create the logs of the partitions that this node owns. Raises as `OffsetsLog.open` does."""
    log_config = LogConfig(
        segment_bytes=topic.segment_bytes,
        segment_ms=config.log_roll_ms,
        index_interval_bytes=config.log_index_interval_bytes,
    )
    logs: dict[int, Log] = {}
    try:
        for partition in filter(owns, range(topic.partitions)):
            directory = data_dir / f"{topic.name}-{partition}"
            log = logs[partition] = Log.open(directory, log_config, fs, evidence(fs, directory, partition))
            for message in log.recovery.messages():
                LOG.warning(message)
    except BaseException:
        for log in logs.values():
            log.abandon()
        raise
    return logs


class OffsetsLog:
    """The partitions of a `CoordinatorTopic` on one node, by number. Every method belongs to the loop thread."""

    def __init__(
        self,
        logs: Mapping[int, Log],
        config: Config,
        loop: EventLoop,
        on_durable: Callable[[int, int], None],
        on_failed: OnFailed,
        flusher: Callable[[Callable[..., None], Callable[..., None]], LogFlusher] | None = None,
        machine: Machine = THIS_MACHINE,
        writer: str = "offsets-writer",
    ) -> None:
        self.logs: Mapping[int, Log] = dict(logs)  # of the partitions on this disk
        self._config = config
        self._flusher: LogFlusher
        self._partitions = {number: _Partition(number, log, config) for number, log in logs.items()}
        self._loop = loop
        self._tell_durable = on_durable
        self._tell_failed = on_failed
        self._failed: dict[int, int] = {}  # by partition: failures since the last append that succeeded
        self._waiting: list[tuple[int | None, asyncio.Future[None]]] = []
        if flusher is not None:
            self._flusher = flusher(self._on_durable, self._on_failed)
            return
        self._flusher = Flusher(
            loop,
            self._on_durable,
            self._on_failed,
            policy=config.log_flush_policy,
            interval_ms=config.log_flush_interval_ms,
            max_queued_bytes=config.log_max_queued_bytes,
            name=writer,
            worker=machine.writer(writer),
            clock=machine.monotonic,
        )

    @classmethod
    def open(
        cls,
        data_dir: Path,
        config: Config,
        fs: FileSystem,
        *,
        loop: EventLoop,
        on_durable: Callable[[int, int], None],
        on_failed: OnFailed,
        owns: Callable[[int], bool] = lambda partition: True,
        evidence: FindEvidence = no_evidence,
        machine: Machine = THIS_MACHINE,
    ) -> Self:
        """Open or create the partitions that this node owns, and log what recovery did.

        `evidence` finds other files that show how far a log was on disk. CorruptLogError: durable records are damaged
        or gone. The directories of other partitions are not touched.
        """
        logs = open_logs(CoordinatorTopic.offsets(config), data_dir, config, fs, owns, evidence)
        return cls(logs, config, loop, on_durable, on_failed, machine=machine)

    def log(self, partition: int) -> Log:
        return self.logs[partition]

    def take(self, partition: int, log: StoreLog) -> None:
        """Begin to append to a partition that was claimed in a shared store."""
        self._partitions[partition] = _Partition(partition, log, self._config)

    def give_up(self, partition: int) -> None:
        """End a partition that was claimed: nothing is called back for it any more, and what is queued is dropped."""
        if self._partitions.pop(partition, None) is not None:
            self._flusher.forget(partition)
            self._failed.pop(partition, None)
            self._wake_waiting()

    def set_leader_epoch(self, partition: int, leader_epoch: int) -> None:
        """Set the leader epoch of the batches that follow. Those with a producer keep 0."""
        self._partitions[partition].leader_epoch = leader_epoch

    def next_offset(self, partition: int) -> int:
        """Return the offset of the next appended record."""
        return self._partitions[partition].next_offset

    @property
    def stats(self) -> FlusherStats:
        return self._flusher.stats

    @property
    def queued_bytes(self) -> int:
        """Bytes queued for the disk, bounded by log.max.queued.bytes."""
        return self._flusher.queued_bytes

    def append(self, append: Append, timestamp_ms: int) -> None:
        """Assign the partition's next offsets to these records and queue them for the next round."""
        part = self._partitions[append.partition]
        if part.refusing is not None:
            return
        refusal = self._flusher.submit_pending(part.number, part.log, part, append.size)
        if refusal is None:
            part.gather(append, timestamp_ms)
        else:
            part.refusing = _Refusal(part.next_offset, error_code_of(refusal))
            self._loop.call_soon(self._tell_refusal, part, part.refusing)

    def _tell_refusal(self, part: _Partition, refusal: _Refusal) -> None:
        is_here = self._partitions.get(part.number) is part
        if is_here and part.refusing is refusal:  # else a failure below this offset has reported it too
            part.refusing = None
            self._note_failure(part.number, refusal.offset, refusal.error)
            self._tell_failed(part.number, refusal.offset, refusal.error)
            self._wake_waiting()

    def _on_durable(self, durable: list[tuple[int, int]]) -> None:
        for partition, high_watermark in durable:
            if partition not in self._partitions:  # given up by a callback for another partition
                continue
            if self._failed:
                self._note_success(partition)
            try:
                self._tell_durable(partition, high_watermark)
            except Exception:  # a bug in the groups of one partition must not stop the others
                LOG.exception("partition %d: what is durable could not be applied", partition)
        self._wake_waiting()

    def _on_failed(self, partition: int, from_offset: int, error: Exception) -> None:
        part = self._partitions[partition]
        part.next_offset = from_offset
        part.refusing = None
        code = error_code_of(error)
        self._note_failure(partition, from_offset, code)
        self._tell_failed(partition, from_offset, code)
        self._wake_waiting()

    def _note_failure(self, partition: int, from_offset: int, error: ErrorCode) -> None:
        """Log one line when appends begin to fail; `_note_success` logs the end and the number of failures."""
        if partition not in self._failed:
            LOG.error(
                "append failed partition=%d from_offset=%d error=%s; nothing acknowledged is lost, clients retry. "
                "The next line about it comes when appends succeed again",
                partition, from_offset, error.name,
            )  # fmt: skip
        self._failed[partition] = self._failed.get(partition, 0) + 1

    def _note_success(self, partition: int) -> None:
        if failures := self._failed.pop(partition, 0):
            LOG.warning("appends succeed again partition=%d failures=%d", partition, failures)

    def run_in_writer(self, act: Callable[[], Any], then: Callable[[Any, Exception | None], None]) -> None:
        """Run `act` in the writer thread between two rounds, then `then(result, error)` on the loop."""
        assert isinstance(self._flusher, Flusher), "a log in a store is not written by a thread"
        self._flusher.run(act, then)

    async def drained(self, partition: int | None = None) -> None:
        """Return when no record of this partition (by default: of any) is on its way to the disk."""
        if self._is_idle(partition):
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((partition, future))
        await future

    def _is_idle(self, partition: int | None) -> bool:
        parts = [part for number, part in self._partitions.items() if partition in (None, number)]
        return all(part.next_offset == part.log.high_watermark and part.refusing is None for part in parts)

    def _wake_waiting(self) -> None:
        for waiting in self._waiting[:]:
            partition, future = waiting
            if future.done():
                self._waiting.remove(waiting)
            elif self._is_idle(partition):
                self._waiting.remove(waiting)
                future.set_result(None)

    async def close(self) -> None:
        """Make queued records durable, call back, and close the logs cleanly. Blocks until the disk is done."""
        closing = self._flusher.close()
        if closing is not None:
            await closing
        for log in self.logs.values():
            try:
                log.close()
            except OSError as error:  # the next start checks the log's end instead of trusting it
                LOG.warning("%s: not closed in order: %s", log.directory.name, error)
