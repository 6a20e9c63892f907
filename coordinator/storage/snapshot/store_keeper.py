"""Loads partitions from a shared store, and has new snapshots made there: the sibling of `keeper.Snapshots`.

A snapshot and the deletion of the batches below it are the compaction of a log in a store. A child process computes
the snapshot from the last one and the batches behind it (`fold_child.py`), so that the event loop is not delayed and
nothing is taken from the memory of the coordinator. The store accepts it only while the claim holds.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar, overload

from coordinator.core.loading import LoadedState
from coordinator.storage.log.errors import LogError
from coordinator.storage.log_store import LogStore, LogStoreError, StoredSnapshot
from coordinator.storage.machine import THIS_MACHINE, Machine
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import OlderSnapshotError, SnapshotError
from coordinator.storage.snapshot.keeper import SnapshotCounters
from coordinator.storage.snapshot.loading import Loaded, TailReplay
from coordinator.storage.snapshot.transaction_tail import LoadedTransactions, TransactionTail
from coordinator.storage.store_partitions import StorePartitions
from protocol.errors import ProtocolError
from protocol.record_batch import read_header, verify

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.shard import Shard
    from coordinator.processes.child_process import Children
    from coordinator.storage.store_flusher import StoreLog

LOG: Final = logging.getLogger("coordinator.snapshot")

LOOK_S: Final = 5.0
CHILD: Final = (sys.executable, "-m", "coordinator.storage.snapshot.fold_child")
CHILD_TIMEOUT_S: Final = 3600.0
PIECE_BYTES: Final = 1 << 20
CHUNK_BYTES: Final = 2 << 20  # read from the store while the chunk before is replayed
Tail = TailReplay | TransactionTail
InThread = Callable[..., Any]  # awaitable: `run(function, *arguments)`
T = TypeVar("T")


class StoreSnapshots:
    """Loads the partitions of one node from the store, and looks after their snapshots."""

    def __init__(
        self,
        config: Config,
        store: LogStore,
        logs: Mapping[int, StoreLog],
        machine: Machine = THIS_MACHINE,
    ) -> None:
        self.counters = SnapshotCounters()
        self._config = config
        self._store = store
        self._logs = logs  # of the partitions that this node serves
        self._partitions = StorePartitions.of(config)
        self._monotonic = machine.monotonic
        self._children: Children | None = None
        self._making: set[int] = set()  # partitions
        self._is_stopping = False
        self._life: asyncio.Task[None] | None = None

    def inspection(self, partition: int) -> str:
        """Return the commands that say what is damaged in a partition, for messages."""
        return f"`coordinator log verify` on what `coordinator log export` has written of partition {partition}"

    def remedy(self, partition: int) -> str:
        """Return a sentence about a partition that cannot be loaded, for messages."""
        return (
            f"it is claimed and loaded again; if that goes on, {self.inspection(partition)} says what is damaged in "
            f"{self._store.name}"
        )

    async def load(
        self, loop: asyncio.AbstractEventLoop, shard: Shard, wall_ms: int, *, use_snapshot: bool
    ) -> tuple[LoadedState, int]:
        """Read a claimed partition. Returns its state, and the offset behind its last record.

        Raises LogStoreError, LogError.
        """
        log = self._logs[shard.partition]
        in_thread = in_threads_of(loop)
        loaded = await read_partition(self._store, shard.partition, log.high_watermark, in_thread)
        self._note(log, loaded)
        return await in_thread(_restored, loaded, shard, wall_ms)  # type: ignore[no-any-return]

    async def load_transactions(self, loop: asyncio.AbstractEventLoop, log: StoreLog) -> LoadedTransactions:
        """Read a claimed partition of the transaction log. Raises LogStoreError, LogError."""
        loaded = await read_partition(
            self._store, log.claim.partition, log.high_watermark, in_threads_of(loop), TransactionTail
        )
        self._note(log, loaded)
        return loaded

    async def read(self, partition: int, end_offset: int, in_thread: InThread) -> Loaded | LoadedTransactions:
        """Read a partition of either topic. Raises LogStoreError, LogError."""
        if self._partitions.transaction_partition(partition) is None:
            return await read_partition(self._store, partition, end_offset, in_thread)
        return await read_partition(self._store, partition, end_offset, in_thread, TransactionTail)

    def _note(self, log: StoreLog, loaded: Loaded | LoadedTransactions) -> None:
        self.counters.replayed_records += loaded.records
        if loaded.snapshot_offset >= 0:
            self.counters.from_snapshot += 1
        else:
            self.counters.from_log += 1
        log.tail_bytes = loaded.tail_bytes

    # -- while it serves -----------------------------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the periodic check."""
        if self._config.offsets_snapshot_tail_bytes:
            self._life = loop.create_task(self._live())

    async def _live(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for partition in list(self._logs):
                if (log := self._logs.get(partition)) is not None and self._is_due(log):
                    await self.make(partition, log)

    def _is_due(self, log: StoreLog) -> bool:
        least = max(self._config.offsets_snapshot_tail_bytes, self._config.offsets_snapshot_min_bytes)
        return log.tail_bytes >= least

    async def make(self, partition: int, log: StoreLog) -> None:
        """Have a new snapshot made. A failure is logged, and tried again when the log has grown by as much."""
        if partition in self._making:
            return
        started, bytes_before = self._monotonic(), log.tail_bytes
        self._making.add(partition)
        try:
            offset = await self._made(log)
        except Exception as error:  # the log has everything
            self.counters.failed += 1
            LOG.warning(
                "no snapshot partition=%d: %s; the log has everything, the next load reads more of it", partition, error
            )
        else:
            self.counters.written += 1
            LOG.info(
                "snapshot partition=%d offset=%d ms=%d", partition, offset, int((self._monotonic() - started) * 1000)
            )
        finally:
            self._making.discard(partition)
        log.tail_bytes -= bytes_before

    async def before_hand_over(self, partition: int) -> None:
        """Make a snapshot if the next owner would read much of the log. At a stop `before_stop` has done that."""
        log = self._logs.get(partition)
        if log is not None and self._is_worth_it(log) and not self._is_stopping:
            await self.make(partition, log)

    async def before_stop(self) -> None:
        """Make snapshots of the partitions with the longest tails, for `offsets.snapshot.stop.ms` at most."""
        self._is_stopping = True
        worth = sorted((log.tail_bytes, partition) for partition, log in self._logs.items() if self._is_worth_it(log))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._config.offsets_snapshot_stop_ms / 1000):
                for _, partition in reversed(worth):
                    if (log := self._logs.get(partition)) is not None:
                        await self.make(partition, log)

    def _is_worth_it(self, log: StoreLog) -> bool:
        is_long = log.tail_bytes >= max(self._config.offsets_snapshot_min_bytes, 1)
        return is_long and self._config.offsets_snapshot_stop_ms > 0

    async def _made(self, log: StoreLog) -> int:
        """Fold what is durable now, save it under the claim, and delete what need not be kept any more."""
        claim, end_offset = log.claim, log.high_watermark
        pieces = await self._folded(claim.partition, end_offset)
        await self._store.save_snapshot(claim, end_offset, pieces)
        try:
            await self._store.trim(claim, end_offset, self._config.ha_log_keep_ms)
        except Exception as error:  # the snapshot is there
            LOG.warning(
                "old batches stay partition=%d: %s; they are deleted after the next snapshot", claim.partition, error
            )
        return end_offset

    async def _folded(self, partition: int, end_offset: int) -> list[bytes]:
        """Return the pieces of a new snapshot, which a child process makes."""
        from coordinator.processes.child_process import Children  # late: a start does not need it

        if self._children is None:
            self._children = Children()
        loop = asyncio.get_running_loop()

        def converse(stdin: IO[bytes], stdout: IO[bytes]) -> list[bytes]:
            return self._folded_by(stdin, stdout, loop, partition, end_offset)

        def run() -> list[bytes]:
            assert self._children is not None
            return self._children.run(CHILD, converse, timeout_s=CHILD_TIMEOUT_S, name="the maker of a snapshot")

        return await loop.run_in_executor(None, run)

    def _folded_by(
        self, stdin: IO[bytes], stdout: IO[bytes], loop: asyncio.AbstractEventLoop, partition: int, end_offset: int
    ) -> list[bytes]:
        """Send the child, in a thread, the last snapshot and the batches behind it; return the new snapshot."""
        from coordinator.processes import frames

        def on_loop(work: Coroutine[Any, Any, T]) -> T:
            return asyncio.run_coroutine_threadsafe(work, loop).result()

        stored = on_loop(self._store.load_snapshot(partition))
        if stored is not None and self._needs_all(stored):
            stored = None
        order = {
            "partition": partition,
            "end_offset": end_offset,
            "has_base": stored is not None,
            "is_whole": self._store.deletes_below_snapshots,
            "is_of_transactions": self._partitions.transaction_partition(partition) is not None,
        }
        frames.write(stdin, order)
        if stored is not None:
            for start in range(0, len(stored.data), PIECE_BYTES):
                frames.write(stdin, stored.data[start : start + PIECE_BYTES])
            frames.write(stdin, None)
        chunks = aiter(self._store.batches(partition, 0 if stored is None else stored.next_offset, joined=True))
        while (chunk := on_loop(_next_of(chunks))) is not None:
            frames.write(stdin, chunk)
        frames.write(stdin, None)
        pieces: list[bytes] = []
        while (piece := frames.read(stdout)) is not None:
            if isinstance(piece, str):
                raise SnapshotError(piece)
            pieces.append(piece)
        return pieces

    def _needs_all(self, stored: StoredSnapshot) -> bool:
        """Return whether a snapshot lacks records that the store still has. Raises SnapshotError."""
        return not self._store.deletes_below_snapshots and file.lacks_consumer_groups(stored.data)

    async def close(self) -> None:
        """Stop the periodic check, and end a running child."""
        if self._children is not None:
            self._children.close()
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])

    def prepare_stop(self) -> None:
        """Do nothing: the partitions are handed over by now."""

    async def at_stop(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do nothing, as `prepare_stop`."""


def _restored(loaded: Loaded, shard: Shard, wall_ms: int) -> tuple[LoadedState, int]:
    loaded_state = LoadedState.replayed(loaded.found, loaded.replay, loaded.store, shard, wall_ms)
    loaded.let_go()
    return loaded_state, loaded.next_offset


def in_threads_of(loop: asyncio.AbstractEventLoop) -> InThread:
    """Return a function that calls another one in a thread."""

    async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
        return await loop.run_in_executor(None, function, *arguments)

    return in_thread


@overload
async def read_partition(store: LogStore, partition: int, end_offset: int, in_thread: InThread) -> Loaded: ...


@overload
async def read_partition(
    store: LogStore, partition: int, end_offset: int, in_thread: InThread, tails: type[TransactionTail]
) -> LoadedTransactions: ...


async def read_partition(
    store: LogStore, partition: int, end_offset: int, in_thread: InThread, tails: type[Tail] = TailReplay
) -> Loaded | LoadedTransactions:
    """Read a partition up to `end_offset`: its newest snapshot and the batches behind it.

    `tails` replays them, and depends on the topic. All batches are read instead if the snapshot does not fit and they
    are complete without it. Raises LogStoreError, LogError.
    """
    try:
        return await _read_newest(store, partition, end_offset, in_thread, tails)
    except (LogError, SnapshotError) as error:
        if store.deletes_below_snapshots:
            raise LogStoreError(
                f"partition {partition} of {store.name} cannot be read: {error}; restore the store from its backup",
                may_pass=False,
            ) from None
        LOG.warning("partition=%d is read from its first record on: the snapshot cannot be used: %s", partition, error)
    return await _read_batches(store, partition, 0, end_offset, tails(None, None), in_thread)


async def _read_newest(
    store: LogStore, partition: int, end_offset: int, in_thread: InThread, tails: type[Tail]
) -> Loaded | LoadedTransactions:
    """Read the newest snapshot and the batches behind it. SnapshotError: it does not fit, or records are missing."""
    stored = await store.load_snapshot(partition)
    if stored is None:
        tail, from_offset = tails(None, None, is_whole=store.deletes_below_snapshots), 0
    else:
        if not store.deletes_below_snapshots and file.lacks_consumer_groups(stored.data):
            raise OlderSnapshotError
        tail, from_offset = await in_thread(tail_behind, stored.data, partition, tails), stored.next_offset
    return await _read_batches(store, partition, from_offset, end_offset, tail, in_thread)


@overload
def tail_behind(data: bytes, partition: int) -> TailReplay: ...


@overload
def tail_behind(data: bytes, partition: int, tails: type[Tail]) -> Tail: ...


def tail_behind(data: bytes, partition: int, tails: type[Tail] = TailReplay) -> Tail:
    """Return an empty tail behind a snapshot. Raises SnapshotError."""
    binding, base = file.decode(data)
    if binding.partition != partition:
        raise SnapshotError(f"it is of partition {binding.partition}")
    return tails(base, binding.last)


async def _read_batches(
    store: LogStore, partition: int, from_offset: int, end_offset: int, tail: Tail, in_thread: InThread
) -> Loaded | LoadedTransactions:
    """Replay each chunk while the next one is read."""
    chunks = aiter(store.batches(partition, from_offset, CHUNK_BYTES, joined=True))
    reading = _begin_reading(chunks)
    try:
        while (chunk := await reading) is not None:
            reading = _begin_reading(chunks)
            await in_thread(add_chunk, tail, chunk, end_offset)
    finally:
        reading.cancel()
    return await in_thread(tail.settle, end_offset)  # type: ignore[no-any-return]


async def _next_of(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)


def _begin_reading(chunks: AsyncIterator[bytes]) -> asyncio.Task[bytes | None]:
    reading = asyncio.get_running_loop().create_task(_next_of(chunks))
    reading.add_done_callback(lambda done: done.cancelled() or done.exception())  # a replay that fails leaves it behind
    return reading


def add_chunk(tail: Tail, chunk: bytes, end_offset: int) -> None:
    """Replay a chunk of whole batches, up to the end of the partition when it was claimed."""
    position = 0
    while position < len(chunk):
        try:
            header = read_header(chunk, position)
            verify(chunk, position, header)
        except ProtocolError as error:
            raise LogError(f"a batch of the store cannot be read: {error}") from None
        size = header.size_bytes
        if header.base_offset >= end_offset:
            return
        tail.add(header, chunk[position : position + size])
        position += size
