"""The daemon's side of snapshots: loads partitions with their help, and decides when to make new ones.

New snapshots are made on three occasions. A start that read much of a log saves the result. While the daemon serves, a
thread checks every few seconds how much each log has grown since its last snapshot, and whether a compaction made that
one useless; a child process then makes a new one. At a stop, after the logs are closed, as many are made as
`offsets.snapshot.stop.ms` allows; for the others the next start reads more.

All methods belong into threads, except `start`, `close` and the counters.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

from coordinator.core.loading import LoadedState
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.machine import THIS_MACHINE, Machine
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import GivenUpError, SnapshotError
from coordinator.storage.snapshot.folding import Drafted, SnapshotOrder, draft, order_for
from coordinator.storage.snapshot.loading import Loaded, binding_of, keep, load

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from coordinator.config.config import Config
    from coordinator.core.shard import Shard
    from coordinator.processes.child_process import Children
    from coordinator.storage.log.fs import FileSystem
    from coordinator.storage.log.log import Log
    from coordinator.storage.log.segment import Segment
    from coordinator.storage.offsets_log import OffsetsLog

LOG: Final = logging.getLogger("coordinator.snapshot")

LOOK_S: Final = 5.0
CHILD: Final = (sys.executable, "-m", "coordinator.storage.snapshot.child")
CHILD_TIMEOUT_S: Final = 3600.0

SegmentFacts = tuple[tuple[int, int, int], ...]  # (base offset, next offset, size), without an open file


@dataclass(slots=True)
class SnapshotCounters:
    """Counters for metrics."""

    from_snapshot: int = 0  # partitions that were loaded from a snapshot and the log behind it
    from_log: int = 0  # partitions whose whole log was read
    replayed_records: int = 0
    written: int = 0
    failed: int = 0


def _is_changed(log: Log, segments: tuple[Segment, ...]) -> bool:
    """Return True if a compaction or a retention replaced files meanwhile: the next look makes the snapshot."""
    return log.is_swapping or log.segments[: len(segments)] != segments


class Snapshots:
    """Loads and makes the snapshots of one node."""

    def __init__(
        self,
        config: Config,
        fs: FileSystem,
        offsets_log: OffsetsLog,
        *,
        child: Sequence[str] = CHILD,
        machine: Machine = THIS_MACHINE,
    ) -> None:
        self.counters = SnapshotCounters()
        self._config = config
        self._fs = fs
        self._offsets_log = offsets_log
        self._child = tuple(child)
        self._monotonic = machine.monotonic
        self._children: Children | None = None
        self._life: asyncio.Task[None] | None = None
        self._look: asyncio.Future[None] | None = None
        self._is_closing = False
        self._failed_at: dict[int, int] = {}  # by partition: bytes the log must grow before a retry
        self._seen: dict[int, SegmentFacts] = {}  # by partition: its closed segments at the last check
        self._compacted: set[int] = set()  # partitions whose closed segments were swapped since their last snapshot
        self._orders: list[SnapshotOrder] = []  # for the stop

    # -- loading -------------------------------------------------------------------------------------------------

    def inspection(self, partition: int) -> str:
        """Return the command that says what is damaged in a partition, for messages."""
        return f"`coordinator log verify {self._offsets_log.log(partition).directory}`"

    def remedy(self, partition: int) -> str:
        """Return a sentence about a partition that cannot be loaded, for messages."""
        return (
            f"{self.inspection(partition)} says what is damaged; then stop the daemon and run `coordinator log repair` "
            "on that directory"
        )

    async def load(
        self, loop: asyncio.AbstractEventLoop, shard: Shard, wall_ms: int, *, use_snapshot: bool
    ) -> tuple[LoadedState, int]:
        """Read a partition in a thread, as `in_thread_load` does. If this is cancelled, the thread stops soon."""
        given_up = threading.Event()
        read = partial(self.in_thread_load, shard.partition, shard, wall_ms, given_up, use_snapshot=use_snapshot)
        try:
            return await loop.run_in_executor(None, read)
        except asyncio.CancelledError:
            given_up.set()
            raise

    def in_thread_load(
        self, partition: int, shard: Shard, wall_ms: int, given_up: threading.Event, *, use_snapshot: bool
    ) -> tuple[LoadedState, int]:
        """Read a partition. Returns its state, and the offset behind its last record.

        Raises LogError, ProtocolError, and GivenUpError if `given_up` is set.
        """

        def check() -> None:
            if given_up.is_set():
                raise GivenUpError

        log = self._offsets_log.log(partition)
        loaded = load(
            self._fs,
            log,
            partition,
            chunk_bytes=self._config.offsets_load_buffer_size,
            use_snapshot=use_snapshot,
            check=check,
        )
        self.counters.replayed_records += loaded.records
        if loaded.snapshot_offset >= 0:
            self.counters.from_snapshot += 1
        else:
            self.counters.from_log += 1
            if loaded.why_replayed.startswith("the snapshot"):
                LOG.warning("partition=%d is read from its first record on: %s", partition, loaded.why_replayed)
        tail_bytes = self._config.offsets_snapshot_tail_bytes
        if (
            use_snapshot
            and tail_bytes
            and loaded.tail_bytes >= max(tail_bytes // 4, self._config.offsets_snapshot_min_bytes)
        ):
            self._keep(partition, loaded)
        check()
        loaded_state = LoadedState.replayed(loaded.found, loaded.replay, loaded.store, shard, wall_ms)
        loaded.let_go()
        return loaded_state, loaded.next_offset

    def _keep(self, partition: int, loaded: Loaded) -> None:
        log = self._offsets_log.log(partition)
        binding = binding_of(log, partition, loaded)
        if binding is None:
            return
        started = self._monotonic()
        try:
            size = keep(self._fs, log.directory, binding, loaded)
        except OSError as error:
            self._note_failure(partition, error)
            return
        self._note_written(partition, binding.next_offset, size, loaded.records, started)

    # -- while it serves -----------------------------------------------------------------------------------------

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start the periodic check, after all partitions were loaded."""
        for partition, log in self._offsets_log.logs.items():
            self._note_compaction(partition, log)
        if self._config.offsets_snapshot_tail_bytes:
            self._life = loop.create_task(self._live(loop))

    async def _live(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._look = loop.run_in_executor(None, self.in_thread_look)
            try:
                await asyncio.shield(self._look)
            except Exception:  # a bug here must not end the checks or the daemon
                LOG.exception("snapshots could not be looked after; please report this")

    async def close(self) -> None:
        """Stop the periodic check and end a running child; its draft is not used."""
        self._is_closing = True
        if self._children is not None:
            self._children.close()
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])
        if self._look is not None:  # it may be about to rename its child's draft
            await asyncio.wait([self._look])

    def _note_compaction(self, partition: int, log: Log) -> bool:
        """Return True if closed segments of a partition were swapped since its last snapshot.

        The snapshot may then no longer match the log, or the log behind it may have gaps; only reading would tell.
        """
        closed = tuple([(one.base_offset, one.next_offset, one.size_bytes) for one in log.segments[:-1]])
        seen = self._seen.get(partition, ())
        if closed[: len(seen)] != seen:
            self._compacted.add(partition)
        self._seen[partition] = closed
        return partition in self._compacted

    def in_thread_look(self) -> None:
        """Make a new snapshot of each partition that was compacted, or whose log has grown enough."""
        least = max(self._config.offsets_snapshot_tail_bytes, self._config.offsets_snapshot_min_bytes)
        for partition, log in self._offsets_log.logs.items():
            if self._is_closing:
                return
            if log.is_swapping:
                continue
            failed_at = self._failed_at.get(partition, 0)
            was_compacted = self._note_compaction(partition, log) and not failed_at
            if log.size_bytes < (self._config.offsets_snapshot_min_bytes if was_compacted else least):
                continue
            segments = log.segments
            try:
                order, segments = order_for(self._fs, log, partition)
                if order.tail_bytes < least + failed_at and not was_compacted:
                    continue
                started = self._monotonic()
                drafted = self._drafted(order)
                if _is_changed(log, segments):  # the child may have read old and new segments
                    continue
                file.promote(self._fs, log.directory)
            except Exception as error:
                if not self._is_closing and not _is_changed(log, segments):
                    self._failed_at[partition] = self._failed_at.get(partition, 0) + least
                    self._note_failure(partition, error)
                continue
            self._failed_at.pop(partition, None)
            self._compacted.discard(partition)
            self._note_written(partition, drafted.offset, drafted.size_bytes, drafted.records, started)

    def _drafted(self, order: SnapshotOrder) -> Drafted:
        """Have a child process make a draft, or make it here if other processes cannot read the files."""
        if isinstance(self._fs, RealFileSystem):
            return self._in_child(order)
        return draft(self._fs, order, check=self._check_open)

    def _check_open(self) -> None:
        if self._is_closing:
            raise GivenUpError

    def _in_child(self, order: SnapshotOrder) -> Drafted:
        from coordinator.processes import frames
        from coordinator.processes.child_process import Children  # late: a start does not need it

        if self._children is None:
            self._children = Children()

        def converse(stdin: IO[bytes], stdout: IO[bytes]) -> dict[str, Any]:
            frames.write(stdin, order.to_wire())
            answer: dict[str, Any] = frames.read(stdout)
            return answer

        answer = self._children.run(self._child, converse, timeout_s=CHILD_TIMEOUT_S, name="the maker of a snapshot")
        if "trouble" in answer:
            raise SnapshotError(answer["trouble"])
        return Drafted(**answer["drafted"])

    # -- at a stop -----------------------------------------------------------------------------------------------

    def prepare_stop(self) -> None:
        """List the snapshots to make at the stop. Everything is on disk, appends have ended, the logs are open."""
        if not self._config.offsets_snapshot_stop_ms:
            return
        least = max(self._config.offsets_snapshot_min_bytes, 1)
        for partition, log in self._offsets_log.logs.items():
            try:
                order, _ = order_for(self._fs, log, partition)
            except OSError as error:
                self._note_failure(partition, error)
                continue
            if order.tail_bytes >= least or (self._note_compaction(partition, log) and log.size_bytes >= least):
                self._orders.append(order)
        self._orders.sort(key=lambda order: -order.tail_bytes)

    async def at_stop(self, loop: asyncio.AbstractEventLoop, executor: Executor | None = None) -> None:
        """Make the snapshots that `prepare_stop` has listed, as time permits. The logs are closed."""
        if self._orders:
            await loop.run_in_executor(executor, self._in_thread_stop)

    def _in_thread_stop(self) -> None:
        started = self._monotonic()
        deadline = started + self._config.offsets_snapshot_stop_ms / 1000

        def check() -> None:
            if self._monotonic() >= deadline:
                raise GivenUpError

        made = 0
        for order in self._orders:
            directory = Path(order.directory)
            begun = self._monotonic()
            try:
                drafted = draft(self._fs, order, check=check)
                file.promote(self._fs, directory)
            except GivenUpError:
                LOG.warning(
                    "snapshots made=%d left_out=%d: offsets.snapshot.stop.ms=%d is over; the next start reads more",
                    made,
                    len(self._orders) - made,
                    self._config.offsets_snapshot_stop_ms,
                )
                return
            except Exception as error:
                self._note_failure(order.partition, error)
                continue
            made += 1
            self._note_written(order.partition, drafted.offset, drafted.size_bytes, drafted.records, begun)

    # -- metrics and logging -------------------------------------------------------------------------------------

    def _note_written(self, partition: int, offset: int, size_bytes: int, records: int, started: float) -> None:
        self.counters.written += 1
        LOG.info(
            "snapshot partition=%d offset=%d size_bytes=%d records_read=%d ms=%d",
            partition,
            offset,
            size_bytes,
            records,
            int((self._monotonic() - started) * 1000),
        )

    def _note_failure(self, partition: int, error: Exception) -> None:
        self.counters.failed += 1
        LOG.warning(
            "no snapshot partition=%d: %s; the log has everything, the next start reads more of it", partition, error
        )
