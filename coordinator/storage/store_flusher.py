"""Group commit into a shared store: the sibling of `log.flusher.Flusher` for a log that is not on this disk.

The promise is the same: what is queued for a partition while its last append is under way goes with the next one, in
order, and the callbacks run on the loop thread. One `LogStore.append` takes the batches of many partitions. Several may
be under way, as the store allows, but never two for one partition.

An append of unknown outcome stops its partition until the store has told what became of it. Nothing is answered
meanwhile; the core answers the waiting requests at offsets.commit.timeout.ms. A fenced append ends the partition here.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from coordinator.storage.log.flusher import FlusherStats
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendOutcome,
    AppendUnknown,
    Claim,
    LogStore,
)

if TYPE_CHECKING:
    from coordinator.storage.log.flusher import PendingRecords

LOG: Final = logging.getLogger("coordinator.log.store")

ROUND_BYTES: Final = 4 << 20  # of one append to the store, at least one batch
FIRST_RETRY_S: Final = 0.02
LAST_RETRY_S: Final = 1.0
BETWEEN_REASONS_S: Final = 1.0  # at least, between two lines that say why appends of a partition fail


class StoreLog:
    """One claimed partition: its claim, and the ends of its log."""

    __slots__ = ("claim", "high_watermark", "log_end_offset", "tail_bytes")

    def __init__(self, claim: Claim) -> None:
        self.claim = claim
        self.high_watermark = claim.end_offset
        self.log_end_offset = claim.end_offset
        self.tail_bytes = 0  # of the batches behind the newest snapshot


class _StoreLane:
    """The batches that wait for one partition."""

    __slots__ = (
        "bytes",
        "entries",
        "is_gathered",
        "is_running",
        "is_unknown",
        "log",
        "partition",
        "pending",
        "reason",
        "reason_s",
    )

    def __init__(self, partition: int, log: StoreLog) -> None:
        self.partition = partition
        self.log = log
        self.entries: list[Entry] = []
        self.pending: PendingRecords | None = None
        self.bytes = 0  # waiting, as `queued_bytes` counts them
        self.is_gathered = False  # in the list for the next append
        self.is_running = False  # an append is under way, or its outcome is unknown
        self.is_unknown = False
        self.reason = ""  # why the last append has failed or is unknown, as it was logged
        self.reason_s = float("-inf")  # when that was logged

    def take(self, room_bytes: int) -> list[Entry]:
        """Take batches of about `room_bytes`, at least one."""
        if self.pending is not None:
            self.entries += self.pending.build()
            self.pending = None
        taken = size = 0
        for entry in self.entries:
            if taken and size + len(entry.batch) > room_bytes:
                break
            taken += 1
            size += len(entry.batch)
        entries, self.entries = self.entries[:taken], self.entries[taken:]
        return entries


class StoreFlusher:
    """Queues batches and appends them to a shared store. Every method belongs to the loop thread."""

    def __init__(
        self,
        store: LogStore,
        loop: asyncio.AbstractEventLoop,
        on_durable: Callable[[list[tuple[int, int]]], None],
        on_failed: Callable[[int, int, Exception], None],
        on_fenced: Callable[[int], None],
        *,
        max_queued_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stats = FlusherStats()
        self.queued_bytes = 0  # queued, and under way
        self._store = store
        self._loop = loop
        self._on_durable = on_durable
        self._on_failed = on_failed
        self._on_fenced = on_fenced
        self._max_queued_bytes = max_queued_bytes
        self._clock = clock
        self._lanes: dict[int, _StoreLane] = {}
        self._gathered: list[_StoreLane] = []
        self._appending: set[asyncio.Task[None]] = set()
        self._resolving: set[asyncio.Task[None]] = set()
        self._is_scheduled = False
        self._is_closed = False

    def submit_pending(self, partition: int, log: StoreLog, pending: PendingRecords, size_bytes: int) -> OSError | None:
        """Append records that the caller keeps in `pending`. Returns None, or why it was refused.

        Behind an append of unknown outcome no more than ROUND_BYTES wait, so that there is room for other partitions.
        """
        if self._is_closed:
            return OSError(errno.ESHUTDOWN, "the log is closing")
        if self.queued_bytes + size_bytes > self._max_queued_bytes and self.queued_bytes:
            return OSError(errno.ENOBUFS, f"{self.queued_bytes} bytes wait to be written, log.max.queued.bytes")
        lane = self._lanes.get(partition)
        if lane is None:
            lane = self._lanes[partition] = _StoreLane(partition, log)
        elif lane.is_unknown and lane.bytes and lane.bytes + size_bytes > ROUND_BYTES:
            return OSError(errno.ENOBUFS, f"{lane.bytes} bytes wait behind an append of unknown outcome")
        lane.pending = pending
        lane.bytes += size_bytes
        self.queued_bytes += size_bytes
        self._gather(lane)
        return None

    def _gather(self, lane: _StoreLane) -> None:
        if not lane.is_gathered:
            lane.is_gathered = True
            self._gathered.append(lane)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._start)

    def forget(self, partition: int) -> None:
        """Drop what is queued for a partition that was given up. The outcome of an append under way is ignored."""
        lane = self._lanes.pop(partition, None)
        if lane is not None:
            self._drop_queued(lane)

    def _drop_queued(self, lane: _StoreLane) -> None:
        self.queued_bytes -= lane.bytes
        lane.bytes = 0
        lane.entries = []
        if lane.pending is not None:
            lane.pending.discard()
            lane.pending = None
        if lane.is_gathered:
            lane.is_gathered = False
            self._gathered.remove(lane)

    # -- appends -------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        """Begin an append with all partitions that have none under way."""
        self._is_scheduled = False
        if len(self._appending) >= self._store.concurrent_appends:
            return
        work: list[tuple[_StoreLane, list[Entry], int]] = []
        left: list[_StoreLane] = []
        rests: list[_StoreLane] = []  # behind the others, so that a long queue does not keep them waiting
        room_bytes = ROUND_BYTES
        for lane in self._gathered:
            if lane.is_running or room_bytes <= 0:
                left.append(lane)
                continue
            entries = lane.take(room_bytes)
            size = sum(len(entry.batch) for entry in entries)
            room_bytes -= size
            counted = lane.bytes if not lane.entries else min(size, lane.bytes)
            lane.bytes -= counted
            if lane.entries:
                rests.append(lane)
            else:
                lane.is_gathered = False
            if entries:
                lane.is_running = True
                work.append((lane, entries, counted))
            else:
                self.queued_bytes -= counted
        self._gathered = left + rests
        if work:
            task = self._loop.create_task(self._append(work))
            self._appending.add(task)
            task.add_done_callback(self._append_ended)
            self._start()  # another append takes those that found no room in this one

    def _append_ended(self, task: asyncio.Task[None]) -> None:
        self._appending.discard(task)
        self._start()

    async def _append(self, work: list[tuple[_StoreLane, list[Entry], int]]) -> None:
        started = self._clock()
        try:
            outcomes = await self._store.append([(lane.log.claim, entries) for lane, entries, _ in work])
        except Exception as error:  # a bug of the store: what it did is not known
            LOG.exception("an append to %s broke; please report this", self._store.name)
            outcomes = [AppendUnknown(error)] * len(work)
        took = self._clock() - started
        stats = self.stats
        stats.rounds += 1
        stats.sync_seconds += took
        stats.sync_times.observe(took)
        self._settle(work, outcomes)

    def _settle(self, work: list[tuple[_StoreLane, list[Entry], int]], outcomes: Sequence[AppendOutcome]) -> None:
        durable: list[tuple[int, int]] = []
        for (lane, entries, counted), outcome in zip(work, outcomes, strict=True):
            if self._lanes.get(lane.partition) is not lane:  # it was given up meanwhile
                self.queued_bytes -= counted
            elif isinstance(outcome, AppendUnknown):
                LOG.warning(
                    "outcome unknown partition=%d from_offset=%d error=%s; it is asked for, and nothing is answered "
                    "until it is known",
                    lane.partition, lane.log.high_watermark, outcome.error,
                )  # fmt: skip
                lane.is_unknown = True
                lane.reason, lane.reason_s = str(outcome.error), self._clock()
                task = self._loop.create_task(self._resolve(lane, entries, counted))
                self._resolving.add(task)
                task.add_done_callback(self._resolving.discard)
            else:
                self._known(lane, entries, counted, outcome, durable)
        if durable:
            self._tell(self._on_durable, durable)

    def _known(
        self,
        lane: _StoreLane,
        entries: list[Entry],
        counted: int,
        outcome: AppendDurable | AppendFenced | AppendFailed,
        durable: list[tuple[int, int]],
    ) -> None:
        lane.is_running = lane.is_unknown = False
        self.queued_bytes -= counted
        stats = self.stats
        if isinstance(outcome, AppendDurable):
            size = sum(len(entry.batch) for entry in entries)
            stats.batches += len(entries)
            stats.bytes += size
            stats.syncs += 1
            lane.reason = ""
            lane.log.tail_bytes += size
            lane.log.high_watermark = lane.log.log_end_offset = outcome.high_watermark
            durable.append((lane.partition, outcome.high_watermark))
            return
        stats.failures += 1
        self._drop_queued(lane)
        if isinstance(outcome, AppendFenced):
            self._tell(self._on_fenced, lane.partition)
        else:
            self._say_why(lane, "an append failed partition=%d error=%s", outcome.error)
            self._tell(self._on_failed, lane.partition, lane.log.high_watermark, outcome.error)

    def _say_why(self, lane: _StoreLane, line: str, error: Exception) -> None:
        """Log a reason that is another one than the last, but not all of those that change each time."""
        now_s = self._clock()
        if str(error) != lane.reason and now_s - lane.reason_s >= BETWEEN_REASONS_S:
            lane.reason, lane.reason_s = str(error), now_s
            LOG.error(line, lane.partition, error)

    async def _resolve(self, lane: _StoreLane, entries: list[Entry], counted: int) -> None:
        """Ask what became of an append until the store tells."""
        retry_s = FIRST_RETRY_S
        outcome: AppendOutcome = AppendUnknown(OSError(errno.EIO, "not asked yet"))
        while isinstance(outcome, AppendUnknown):
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, LAST_RETRY_S)
            if self._lanes.get(lane.partition) is not lane:
                self.queued_bytes -= counted
                return
            try:
                outcome = await self._store.resolve(lane.log.claim, entries)
            except Exception as error:
                LOG.exception("%s could not tell the outcome of an append; please report this", self._store.name)
                outcome = AppendUnknown(error)
            if isinstance(outcome, AppendUnknown):
                self._say_why(lane, "the outcome is still unknown partition=%d error=%s", outcome.error)
        if self._lanes.get(lane.partition) is not lane:
            self.queued_bytes -= counted
            return
        LOG.warning("outcome known partition=%d outcome=%s", lane.partition, type(outcome).__name__)
        durable: list[tuple[int, int]] = []
        self._known(lane, entries, counted, outcome, durable)
        if durable:
            self._tell(self._on_durable, durable)
        self._start()

    def _tell(self, callback: Callable[..., object], *args: object) -> None:
        """Call back; an error there must not stop the appends of other partitions."""
        try:
            callback(*args)
        except Exception:
            LOG.exception("a callback of the log failed")

    async def close(self) -> None:
        """Append what is queued and call back. Appends whose outcome the store does not tell stay unanswered."""
        self._start()
        while self._appending:
            await asyncio.wait(self._appending)
            await asyncio.sleep(0)  # its end has begun the next one, if there is more
        self._is_closed = True
        for task in self._resolving:
            task.cancel()
        await asyncio.gather(*self._resolving, return_exceptions=True)
