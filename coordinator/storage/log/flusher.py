"""Group commit: one writer thread makes all queued batches durable in rounds.

The loop thread only queues. If the writer is idle, a round starts at the end of the current loop iteration, else when
the running round ends; there is no linger time. `PendingRecords` are built into batches on the loop thread when a round
starts. The writer does one write and one fdatasync per log (several logs at once), and wakes the loop once per round.
Policy `sync`: the high watermark moves, and `on_durable` is called, after fdatasync. Policy `interval`: after the
write; the same thread syncs every `interval_ms`.

A log whose write or sync failed is first cut back to its high watermark (`Log.cut_back`); then
`on_failed(log_id, from_offset, error)` is called and all batches queued for it are dropped. If the cut fails too, the
log refuses appends until a retried cut succeeds; the delay between retries grows. `submit` returns why it refuses.
"""

from __future__ import annotations

import errno
import logging
import time
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Any, Final, Protocol

from coordinator.metrics.histogram import LATENCY_BOUNDS_S, Histogram
from coordinator.storage.log.log import Log
from coordinator.storage.log.segment import Entry
from coordinator.storage.log.writer import HelperPool, WriterQueue, WriterThread

LOG: Final = logging.getLogger("coordinator.log.flusher")

FIRST_RETRY_S: Final = 0.1
LAST_RETRY_S: Final = 5.0  # after a full disk has room again, appends are accepted within this time


class FlushPolicy(StrEnum):
    """Meaning of an acknowledgement: on the device; in the kernel and synced within the interval; in the kernel."""

    SYNC = "sync"
    INTERVAL = "interval"
    NEVER = "never"


class EventLoop(Protocol):
    """The methods of an asyncio loop that the flusher uses."""

    def call_soon(self, callback: Callable[..., object], *args: Any) -> Any: ...

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> Any: ...

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Any: ...


class PendingRecords(Protocol):
    """Records that become batches when a round starts. Both methods run on the loop thread."""

    def build(self) -> Sequence[Entry]:
        """Return all queued records as batches, in the order of their offsets, and empty the queue."""

    def discard(self) -> None:
        """Drop all queued records, because an earlier append failed."""


@dataclass(slots=True)
class FlusherStats:
    """Counters since the start, for the metrics. Written by the writer thread, read by any thread."""

    rounds: int = 0
    batches: int = 0
    bytes: int = 0
    syncs: int = 0  # logs flushed to the device
    sync_seconds: float = 0.0  # duration of writing and flushing, summed over rounds
    sync_times: Histogram = field(default_factory=lambda: Histogram(LATENCY_BOUNDS_S))
    failures: int = 0


class _Lane:
    """One log, and the batches queued for it."""

    __slots__ = (
        "checkpoint_at",
        "entries",
        "failing",
        "gathered_bytes",
        "is_gathered",
        "log",
        "log_id",
        "pending",
        "refusal",
        "retry_s",
    )

    def __init__(self, log_id: Hashable, log: Log) -> None:
        self.log_id = log_id
        self.log = log
        self.entries: list[Entry] = []
        self.pending: PendingRecords | None = None
        self.gathered_bytes = 0
        self.is_gathered = False  # in the flusher's list for the next round
        self.refusal: OSError | None = None  # why appends are refused: the log could not be cut back
        self.failing = False  # the last attempt failed; logged once, until one succeeds
        self.retry_s = FIRST_RETRY_S
        self.checkpoint_at = 0.0


@dataclass(slots=True)
class _Failure:
    lane: _Lane
    from_offset: int
    error: Exception
    cut_error: Exception | None


@dataclass(slots=True)
class _Outcome:
    """Results of a round for the loop thread."""

    durable: list[tuple[Hashable, int]] = field(default_factory=list)
    failures: list[_Failure] = field(default_factory=list)
    repaired: list[_Lane] = field(default_factory=list)
    jobs: list[tuple[Callable[[Any, Exception | None], None], Any, Exception | None]] = field(default_factory=list)
    bytes: int = 0
    ends_round: bool = False


@dataclass(slots=True)
class _Round:
    work: list[tuple[_Lane, list[Entry]]]
    repairs: list[_Lane]
    jobs: list[tuple[Callable[[], Any], Callable[[Any, Exception | None], None]]]
    sync_all: bool
    bytes: int


class Flusher:
    """Queues batches and runs the rounds of one writer thread. Every public method belongs to the loop thread."""

    def __init__(
        self,
        loop: EventLoop,
        on_durable: Callable[[list[tuple[Any, int]]], None],
        on_failed: Callable[[Any, int, Exception], None],
        *,
        policy: FlushPolicy | str = FlushPolicy.SYNC,
        interval_ms: int = 1000,
        max_queued_bytes: int = 64 << 20,
        name: str = "log-writer",
        checkpoint_interval_ms: int = 60_000,
        helpers: int = 3,
        worker: WriterQueue | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.stats = FlusherStats()
        self.queued_bytes = 0  # queued, and in the running round
        self._loop = loop
        self._on_durable = on_durable
        self._on_failed = on_failed
        self._policy = FlushPolicy(policy)
        self._interval_s = interval_ms / 1000
        self._max_queued_bytes = max_queued_bytes
        self._checkpoint_interval_s = checkpoint_interval_ms / 1000
        self._clock = clock
        self._worker = worker or WriterThread(name)
        self._pool = HelperPool(helpers, name)
        self._lanes: dict[Hashable, _Lane] = {}
        self._gathered: list[_Lane] = []
        self._repairs: list[_Lane] = []
        self._jobs: list[tuple[Callable[[], Any], Callable[[Any, Exception | None], None]]] = []
        self._sync_due = False
        self._sync_timer: Any = None
        self._running = False
        self._scheduled = False
        self._closed = False
        self._outcomes: deque[_Outcome] = deque()
        self._unsynced: dict[Hashable, _Lane] = {}  # the writer thread's: written, not yet on the device

    # gathering

    def submit(
        self, log_id: Hashable, log: Log, batch: bytes | bytearray, last_offset: int, max_timestamp: int
    ) -> OSError | None:
        """Append a batch with the log's next offsets. Returns None, and a callback follows; or why it was refused."""
        lane = self._lanes.get(log_id) or self._new_lane(log_id, log)
        refusal = self._gather(lane, len(batch))
        if refusal is None:
            lane.entries.append(Entry(batch, last_offset, max_timestamp))
        return refusal

    def submit_pending(self, log_id: Hashable, log: Log, pending: PendingRecords, size_bytes: int) -> OSError | None:
        """Append like `submit`, for records that the caller keeps in `pending` until the round starts."""
        lane = self._lanes.get(log_id) or self._new_lane(log_id, log)
        refusal = self._gather(lane, size_bytes)
        if refusal is None:
            lane.pending = pending
        return refusal

    def _new_lane(self, log_id: Hashable, log: Log) -> _Lane:
        lane = self._lanes[log_id] = _Lane(log_id, log)
        lane.checkpoint_at = self._clock() + self._checkpoint_interval_s
        return lane

    def _gather(self, lane: _Lane, size: int) -> OSError | None:
        if lane.refusal is not None:
            return lane.refusal
        if self.queued_bytes + size > self._max_queued_bytes and self.queued_bytes:
            return OSError(errno.ENOBUFS, f"{self.queued_bytes} bytes wait to be written, log.max.queued.bytes")
        if self._closed:
            return OSError(errno.ESHUTDOWN, "the log is closing")
        self.queued_bytes += size
        lane.gathered_bytes += size
        if not lane.is_gathered:
            lane.is_gathered = True
            self._gathered.append(lane)
            self._schedule()
        return None

    def run(self, job: Callable[[], Any], then: Callable[[Any, Exception | None], None]) -> None:
        """Run `job` in the writer thread, after everything submitted so far; then `then(result, error)` on the loop."""
        if self._closed:
            self._loop.call_soon(then, None, OSError(errno.ESHUTDOWN, "the log is closing"))
            return
        self._jobs.append((job, then))
        self._schedule()

    def forget(self, log_id: Hashable) -> None:
        """Release a log that was deleted or is about to be closed; batches queued for it are dropped."""
        lane = self._lanes.pop(log_id, None)
        if lane is not None:
            self._drop_gathered(lane)

    def _schedule(self) -> None:
        if not self._running and not self._scheduled and not self._closed:
            self._scheduled = True
            self._loop.call_soon(self._start_round)

    # rounds: started on the loop thread, run by the writer, collected on the loop thread

    def _start_round(self) -> None:
        self._scheduled = False
        if not self._running and (round_ := self._take_round()):
            self._running = True
            self._worker.put(partial(self._run_round, round_))

    def _take_round(self) -> _Round | None:
        if not (self._gathered or self._jobs or self._repairs or self._sync_due):
            return None
        gathered, self._gathered = self._gathered, []
        round_ = _Round([], self._repairs, self._jobs, self._sync_due, 0)
        self._repairs, self._jobs, self._sync_due = [], [], False
        for lane in gathered:
            entries, lane.entries = lane.entries, []
            if lane.pending is not None:
                entries = [*entries, *lane.pending.build()]
                lane.pending = None
            round_.bytes += lane.gathered_bytes
            lane.gathered_bytes = 0
            lane.is_gathered = False
            if entries:
                round_.work.append((lane, entries))
        return round_

    def _run_round(self, round_: _Round) -> None:
        outcome = _Outcome(bytes=round_.bytes)
        try:
            self._write(round_, outcome)
        except Exception as error:  # a bug: the appends must still be answered, and the thread must go on
            LOG.exception("a flush round failed")
            answered = {log_id for log_id, _ in outcome.durable} | {one.lane.log_id for one in outcome.failures}
            for lane, _ in round_.work:
                if lane.log_id not in answered:
                    self._fail(lane, error, outcome)
        if round_.jobs:
            self._hand_back(outcome)  # the responses need not wait for the jobs
            self._checkpoint(round_)
            outcome = _Outcome()
            for job, then in round_.jobs:
                try:
                    outcome.jobs.append((then, job(), None))
                except Exception as error:
                    outcome.jobs.append((then, None, error))
        outcome.ends_round = True
        self._hand_back(outcome)
        if not round_.jobs:
            self._checkpoint(round_)

    def _hand_back(self, outcome: _Outcome) -> None:
        self._outcomes.append(outcome)
        try:
            self._loop.call_soon_threadsafe(self._collect)
        except RuntimeError:  # the loop was closed: `close` collects
            LOG.debug("the event loop is gone")

    def _write(self, round_: _Round, outcome: _Outcome) -> None:
        """Run the writer's part of a round: write, sync, move the high watermarks, cut back logs that failed."""
        stats = self.stats
        stats.rounds += 1
        stats.bytes += round_.bytes
        stats.batches += sum(len(entries) for _, entries in round_.work)
        if self._policy is FlushPolicy.SYNC:
            self._acknowledge(self._write_and_sync(round_.work, outcome), outcome)
        else:
            written = [lane for lane, entries in round_.work if self._write_one(lane, entries, outcome)]
            self._acknowledge(written, outcome)
            self._unsynced.update((lane.log_id, lane) for lane in written)
            if round_.sync_all:
                unsynced, self._unsynced = self._unsynced, {}
                self._write_and_sync([(lane, []) for lane in unsynced.values()], outcome)
        for lane in round_.repairs:
            cut_error = self._cut_back(lane)
            if cut_error is None:
                outcome.repaired.append(lane)
            else:
                outcome.failures.append(_Failure(lane, lane.log.high_watermark, cut_error, cut_error))

    def _write_one(self, lane: _Lane, entries: list[Entry], outcome: _Outcome) -> bool:
        try:
            _append(lane.log, entries)
        except Exception as error:
            self._fail(lane, error, outcome)
            return False
        return True

    def _write_and_sync(self, work: list[tuple[_Lane, list[Entry]]], outcome: _Outcome) -> list[_Lane]:
        """Append to each log and flush it; returns the logs that are on the device."""
        if not work:
            return []
        started = self._clock()
        errors = self._pool.run([partial(_append_and_flush, lane.log, entries) for lane, entries in work])
        took = self._clock() - started
        self.stats.sync_seconds += took
        self.stats.sync_times.observe(took)
        self.stats.syncs += len(work)
        durable = []
        for (lane, _), error in zip(work, errors, strict=True):
            if error is None:
                durable.append(lane)
            else:
                self._fail(lane, error, outcome)
        return durable

    def _acknowledge(self, lanes: list[_Lane], outcome: _Outcome) -> None:
        for lane in lanes:
            log = lane.log
            log.high_watermark = log.log_end_offset
            outcome.durable.append((lane.log_id, log.high_watermark))

    def _fail(self, lane: _Lane, error: Exception, outcome: _Outcome) -> None:
        self.stats.failures += 1
        self._unsynced.pop(lane.log_id, None)
        outcome.failures.append(_Failure(lane, lane.log.high_watermark, error, self._cut_back(lane)))

    def _cut_back(self, lane: _Lane) -> Exception | None:
        try:
            lane.log.cut_back()
        except Exception as error:
            return error
        return None

    def _checkpoint(self, round_: _Round) -> None:
        now = self._clock()
        for lane, _ in round_.work:
            if now >= lane.checkpoint_at or lane.log.owes_checkpoint:
                lane.checkpoint_at = now + self._checkpoint_interval_s
                try:
                    lane.log.save_checkpoint()
                except OSError as error:  # harmless: a later recovery knows less
                    LOG.warning("%s: no checkpoint: %s", lane.log.directory.name, error)

    def _collect(self) -> None:
        """Call back with the results of the rounds that ended, then start the next round."""
        while self._outcomes:
            outcome = self._outcomes.popleft()
            self.queued_bytes -= outcome.bytes
            if outcome.durable:
                for log_id, _ in outcome.durable:
                    self._note_success(log_id)
                self._tell(self._on_durable, outcome.durable)
            for lane in outcome.repaired:
                lane.refusal, lane.retry_s = None, FIRST_RETRY_S
                LOG.warning("%s: cut back, taking appends again", lane.log.directory.name)
            for failure in outcome.failures:
                self._note_failure(failure)
            for then, result, error in outcome.jobs:
                self._tell(then, result, error)
            if outcome.ends_round:
                self._running = False
        if self._policy is FlushPolicy.INTERVAL and self._sync_timer is None and not self._closed and self._unsynced:
            self._sync_timer = self._loop.call_later(self._interval_s, self._on_sync_timer)
        if not self._running and not self._closed:
            self._start_round()

    def _tell(self, callback: Callable[..., object], *args: object) -> None:
        """Call back; an error there must not stop the rounds, which all other appends need."""
        try:
            callback(*args)
        except Exception:
            LOG.exception("a callback of the log failed")

    def _on_sync_timer(self) -> None:
        self._sync_timer = None
        self._sync_due = True
        self._schedule()

    def _note_success(self, log_id: Hashable) -> None:
        lane = self._lanes.get(log_id)
        if lane is not None and lane.failing:
            lane.failing = False
            LOG.warning("%s: writes succeed again", lane.log.directory.name)

    def _note_failure(self, failure: _Failure) -> None:
        lane, error = failure.lane, failure.error
        if self._lanes.get(lane.log_id) is not lane:
            return  # `forget` was called meanwhile
        is_repair = lane.refusal is not None
        if not lane.failing:
            lane.failing = True
            name, offset, cut_error = lane.log.directory.name, failure.from_offset, failure.cut_error
            if cut_error is None:
                LOG.error("%s: %s; cut back to offset %d", name, error, offset)
            else:
                LOG.error(
                    "%s: %s; cutting back to offset %d failed too (%s): no appends until it succeeds",
                    name, error, offset, cut_error,
                )  # fmt: skip
        if failure.cut_error is not None:
            lane.refusal = _as_os_error(failure.cut_error)
            self._loop.call_later(lane.retry_s, self._repair, lane)
            lane.retry_s = min(lane.retry_s * 2, LAST_RETRY_S)
        if not is_repair:
            self._drop_gathered(lane)
            self._tell(self._on_failed, lane.log_id, failure.from_offset, error)

    def _repair(self, lane: _Lane) -> None:
        if self._lanes.get(lane.log_id) is lane and not self._closed:
            self._repairs.append(lane)
            self._schedule()

    def _drop_gathered(self, lane: _Lane) -> None:
        self.queued_bytes -= lane.gathered_bytes
        lane.gathered_bytes = 0
        lane.entries = []
        if lane.pending is not None:
            lane.pending.discard()
            lane.pending = None
        if lane.is_gathered:
            lane.is_gathered = False
            self._gathered.remove(lane)

    def close(self) -> None:
        """Write and sync what is queued, call back, and end the thread. Blocks until the disk is done."""
        if self._closed:
            return
        self._closed = True
        if self._sync_timer is not None:
            self._sync_timer.cancel()
        self._worker.join()
        self._collect()
        self._sync_due = self._policy is FlushPolicy.INTERVAL
        if round_ := self._take_round():
            self._run_round(round_)
            self._collect()
        self._pool.close()


def _append_and_flush(log: Log, entries: list[Entry]) -> None:
    _append(log, entries)
    log.flush()


def _append(log: Log, entries: list[Entry]) -> None:
    if log.is_suspect:  # a roll failed, for a compaction or for retention
        log.cut_back()
    if entries:
        log.append_all(entries)


def _as_os_error(error: Exception) -> OSError:
    return error if isinstance(error, OSError) else OSError(errno.EIO, str(error))
