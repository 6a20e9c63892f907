"""Schedules compaction in a daemon: requests, the interval, plans, results and the job.

About once a second a thread scans DATA_DIR/compaction, and `_act` decides on the loop's thread. One piece of work runs
at a time, each a task that mostly waits for a thread: making a plan, swapping its result in, refusing jobs without a
plan of this daemon. A job that was started here runs beside them. One plan is open at a time, for the offsets log or
for the transaction log; a request that comes meanwhile is answered with its id, and a plan without a result expires.

When the process stops, children are ended, a swap that has begun is finished, and all else is left to be repeated.
"""

from __future__ import annotations

import asyncio
import logging
import shlex
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from coordinator.compaction import swap_protocol
from coordinator.compaction.daemon.counters import CompactionCounters
from coordinator.compaction.daemon.dirtiness import dirtiness, lags_of, scheduled
from coordinator.compaction.daemon.job_scanner import JobScanner, JobSeen, Seen
from coordinator.compaction.daemon.plans import OpenPlan
from coordinator.compaction.daemon.segment_swapper import SegmentSwapper
from coordinator.compaction.daemon.workers import CHILD, Workers
from coordinator.compaction.eligibility import LogName, facts_of
from coordinator.compaction.planning import PlanOptions
from coordinator.compaction.request import Answer, DaemonFacts, Request, announce, answer, compaction_dir
from coordinator.core.topics.names import COMPACTED_TOPICS, OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from coordinator.processes.child_process import ChildError
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.cleaner_checkpoint import read_checkpoint
from coordinator.storage.file_names import REQUEST_NAME
from coordinator.storage.log.swap import AtStep, no_step
from coordinator.storage.offsets_log import CoordinatorTopic

if TYPE_CHECKING:
    from coordinator.compaction.swap_protocol import OnWriter
    from coordinator.config.config import Config
    from coordinator.core.committed_rows import Row
    from coordinator.storage.log.fs import FileSystem
    from coordinator.storage.log.log import Log
    from coordinator.storage.offsets_log import OffsetsLog

LOG: Final = logging.getLogger("coordinator.compactor")

SCAN_S: Final = 1.0
SWEEP_MS: Final = 60_000
SHORTEST_TIMEOUT_S: Final = 60.0  # for a child that plans or checks: however soon plans expire
JOB_TIMEOUT_S: Final = 24 * 3600.0  # a job that hangs must not keep all later ones from being started
PROGRESS_MS: Final = 5_000  # between preliminary answers to a command that waits for a plan

T = TypeVar("T")


class Compactor:
    """The compaction of one node. Methods run on the loop's thread, except those called `_in_thread_*`.

    `committed_rows` gives rows from memory, see `coordinator.core.committed_rows`. `transactions_log` returns None
    until that log is open. `at_step` and `child` are for tests.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        data_dir: Path,
        config: Config,
        fs: FileSystem,
        offsets_log: OffsetsLog,
        committed_rows: Callable[[int, int], Iterator[list[Row]] | None],
        *,
        epoch: str,
        transactions_log: Callable[[], OffsetsLog | None] = lambda: None,
        at_step: AtStep = no_step,
        child: Sequence[str] = CHILD,
    ) -> None:
        self.counters = CompactionCounters()
        self.lags = lags_of(config)
        self.epoch = epoch
        self._loop = loop
        self._data_dir = data_dir
        self._config = config
        self._fs = fs
        self._offsets_log = offsets_log
        self._transactions_log = transactions_log
        self._timeout_s = max(config.compaction_plan_expiration_ms / 1000, SHORTEST_TIMEOUT_S)
        self._workers = Workers(loop, offsets_log, committed_rows, child=child)
        self._swapper = SegmentSwapper(
            loop,
            data_dir,
            fs,
            self._open_logs,
            self._workers,
            self.counters,
            epoch=epoch,
            index_interval_bytes=config.log_index_interval_bytes,
            timeout_s=self._timeout_s,
            at_step=at_step,
        )
        self._committed_rows = committed_rows
        self._scanner = JobScanner(fs, data_dir)
        self._open: OpenPlan | None = None
        self._serving: Request | None = None  # whose plan is being made
        self._doing = ""  # the current work, for the answer to a waiting command
        self._told_ms = 0  # when an answer was last written
        self._telling = asyncio.Lock()
        self._work: asyncio.Task[None] | None = None
        self._job: asyncio.Task[None] | None = None
        self._life: asyncio.Task[None] | None = None
        self._errands: set[asyncio.Task[Any]] = set()
        self._next_sweep_ms = 0
        self._next_schedule_ms = 0
        self._complaint = ""
        self._no_plan = ""  # why nothing was planned the last time
        self._is_closing = False
        self._is_loaded = False

    def _open_logs(self) -> dict[str, OffsetsLog]:
        """Return the logs of the coordinators by topic, the offsets log first."""
        found = {OFFSETS_TOPIC: self._offsets_log}
        if (transactions_log := self._transactions_log()) is not None:
            found[TRANSACTIONS_TOPIC] = transactions_log
        return found

    def logs(self) -> dict[LogName, Log]:
        """Return the log of each partition. Any thread may call it."""
        return {
            (topic, number): log for topic, found in self._open_logs().items() for number, log in found.logs.items()
        }

    # -- start and end -------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to scan. The logs are open; a request before `loaded` is told to wait."""
        self._life = self._loop.create_task(self._live())

    def loaded(self) -> None:
        """Allow plans: the memory has been loaded."""
        self._is_loaded = True
        self._next_schedule_ms = wall_ms() + self._config.compaction_interval_ms

    async def close(self) -> None:
        """End children; wait for a swap that has begun. The writer thread must still work."""
        self._is_closing = self._swapper.is_closing = True
        self._workers.end_children()
        if self._life is not None:
            self._life.cancel()
        while tasks := [task for task in (self._life, self._work, self._job, *self._errands) if task is not None]:
            self._life = None
            await asyncio.wait(tasks)
            await asyncio.sleep(0)  # lets the callbacks of finished tasks run
        await self._loop.run_in_executor(None, self._workers.close)

    async def _live(self) -> None:
        config = self._config
        facts = DaemonFacts(
            epoch=self.epoch,
            started_ms=wall_ms(),
            history_enable=config.history_enable,
            history_dir=config.history_dir,
            plan_expiration_ms=config.compaction_plan_expiration_ms,
            min_cleanable_ratio=config.log_cleaner_min_cleanable_ratio,
            min_compaction_lag_ms=config.log_cleaner_min_compaction_lag_ms,
            max_compaction_lag_ms=config.log_cleaner_max_compaction_lag_ms,
            history_retention_ms=config.history_retention_ms,
        )

        def announced() -> bool:
            announce(self._data_dir, facts)
            return True

        while not await self._guarded(self._workers.run(announced)):  # noqa: ASYNC110 - only a full disk is waited for
            await asyncio.sleep(SCAN_S)
        self.counters.marks = await self._guarded(self._workers.run(self._in_thread_marks)) or {}
        while True:
            seen = await self._guarded(self._workers.run(self._scanner.scan))
            if seen is not None:
                self._act(seen)
            await asyncio.sleep(SCAN_S)

    def _in_thread_marks(self) -> dict[LogName, int]:
        return {
            (topic, partition): offset
            for topic in COMPACTED_TOPICS
            for partition, offset in read_checkpoint(self._fs, self._data_dir, topic).items()
        }

    async def _guarded(self, outcome: Awaitable[T]) -> T | None:
        """Log an error once and return None: neither a failing disk nor a defect may end the scanning."""
        try:
            found = await outcome
        except Exception as error:
            if str(error) != self._complaint:
                self._complaint = str(error)
                LOG.error("compaction cannot use %s: %s", self._data_dir, error, exc_info=_is_unexpected(error))
            return None
        self._complaint = ""
        return found

    # -- deciding ------------------------------------------------------------------------------------------------

    def _act(self, seen: Seen) -> None:
        now_ms = wall_ms()
        if seen.complaint:
            LOG.warning("compaction: a request was removed: %s", seen.complaint)
        if seen.request is not None:
            self._hear(seen.request, now_ms, is_stale=seen.is_stale)
        if self._work is not None or not self._is_loaded:
            return
        opened = self._open
        strays = [job for job in seen.jobs if opened is None or job.id != opened.id]
        known = {job.id: job for job in seen.jobs}
        if opened is not None and opened.id not in known:
            self._open = None  # its directory was removed, or another process settled it
        elif opened is not None and opened.has_expired(now_ms, known[opened.id].touched_ms):
            self._begin("giving up a plan that has expired", self._give_up(opened))
        elif opened is not None and known[opened.id].has_manifest and now_ms >= opened.retry_ms:
            self._begin(f"swapping in the result of plan {opened.id}", self._swap(opened))
        elif strays:
            self._begin("refusing jobs without a plan of this daemon", self._dismiss(strays))
        elif now_ms >= self._next_sweep_ms:
            self._next_sweep_ms = now_ms + SWEEP_MS
            self._begin("removing old jobs", self._sweep(now_ms))
        elif self._config.compaction_interval_ms and now_ms >= self._next_schedule_ms:
            self._next_schedule_ms = now_ms + self._config.compaction_interval_ms
            self._check_dirtiness(now_ms)

    def _hear(self, request: Request, now_ms: int, *, is_stale: bool) -> None:
        is_served = self._serving is not None and self._serving.nonce == request.nonce
        if is_stale and not is_served:
            LOG.info("compaction: the command of a request has ended; the request is removed")
            path = compaction_dir(self._data_dir) / REQUEST_NAME
            self._spawn(self._guarded(self._workers.run(path.unlink, True)))
        elif self._work is not None or not self._is_loaded:
            if now_ms >= self._told_ms + PROGRESS_MS:
                doing = self._doing if self._is_loaded else "loading its groups and offsets; it plans when it is ready"
                self._tell(request, (), f"the daemon is {doing}", is_final=False)
        elif self._open is not None:
            opened = self._open
            since_s = (now_ms - opened.made_ms) // 1000
            if opened.trouble:
                reason = f"the result of plan {opened.id} is not swapped in yet, it is tried again: {opened.trouble}"
            else:
                reason = f"the plan {opened.id}, made {since_s} s ago, waits for the result of its job"
            self._tell(request, () if opened.trouble else (opened.id,), reason)
        else:
            self._serving = request
            self._begin("making a plan", self._plan_for(request, request.topic))

    def _check_dirtiness(self, now_ms: int) -> None:
        """Start a job, or a plan for one of the logs, at the end of the interval, if a partition is dirty enough."""
        self.counters.last_look_ms = now_ms
        if self._open is not None or self._job is not None:
            return
        found = dirtiness(scheduled(self.logs(), self.counters, now_ms), self.counters.marks, self.lags, now_ms)
        due = [topic for (topic, _), each in found.items() if each.is_due(self.lags)]
        if not due:
            return
        if self._config.compaction_start_job:
            self._job = self._loop.create_task(self._run_job())
        else:
            self._begin("making a plan", self._plan_for(None, due[0]))

    def _begin(self, doing: str, work: Awaitable[None]) -> None:
        self._doing = doing
        self._told_ms = 0

        async def to_its_end() -> None:
            try:
                await work
            except Exception as error:
                if not self._is_closing:
                    self.counters.failures += 1
                    LOG.error("compaction: %s failed: %s", doing, error, exc_info=_is_unexpected(error))
            finally:
                self._work = self._serving = None

        self._work = self._loop.create_task(to_its_end())

    def _spawn(self, errand: Awaitable[Any]) -> None:
        task = asyncio.ensure_future(errand)
        self._errands.add(task)
        task.add_done_callback(self._errands.discard)

    def _tell(self, request: Request, plan_ids: tuple[str, ...], reason: str, *, is_final: bool = True) -> None:
        self._told_ms = wall_ms()
        reply = Answer(request.nonce, plan_ids, reason, is_final, self._told_ms)
        self._spawn(self._write(reply))

    async def _write(self, reply: Answer) -> None:
        """Write answers one after another: of two threads, the older answer could come last."""
        async with self._telling:
            await self._guarded(self._workers.run(answer, self._data_dir, reply))

    # -- planning ------------------------------------------------------------------------------------------------

    async def _plan_for(self, request: Request | None, topic: str) -> None:
        """Make a plan, for a request or, without one, for a command that watches the jobs."""
        now_ms = wall_ms()
        self.counters.last_look_ms = now_ms
        try:
            order = await self._planning_order(request, topic, now_ms)
            made = await self._workers.order("plan", order, "the planner", timeout_s=self._timeout_s)
        except (ChildError, OSError) as error:
            made = {"plan_id": "", "sentence": f"no plan could be made: {error}"}
            self.counters.failures += 1
        plan_id, sentence = made["plan_id"], made["sentence"]
        if plan_id:
            self.counters.plans += 1
            self.counters.last_plan_ms = now_ms
            partitions = tuple(made["partitions"])
            self._open = OpenPlan(plan_id, now_ms, made["expires_ms"], partitions, topic, made["left_bytes"])
            LOG.info("compaction plan=%s topic=%s partitions=%s: %s", plan_id, topic, made["partitions"], sentence)
        elif not self._is_closing and (request is not None or sentence != self._no_plan):
            self._no_plan = sentence
            LOG.info("compaction no plan: %s", sentence)
        if request is not None:
            self._tell(request, (plan_id,) if plan_id else (), sentence)

    async def _planning_order(self, request: Request | None, topic: str, now_ms: int) -> dict[str, Any]:
        config = self._config
        named: Mapping[LogName, Log] = self.logs()
        if request is None:
            named = scheduled(named, self.counters, now_ms)
        logs = {partition: log for (each, partition), log in named.items() if each == topic}
        if topic == OFFSETS_TOPIC:
            # A partition that is not loaded has no memory to compare a result with.
            logs = {partition: log for partition, log in logs.items() if self._committed_rows(partition, 0) is not None}
        if request is not None and request.partitions is not None:
            logs = {partition: log for partition, log in logs.items() if partition in request.partitions}
        if logs:
            on_writer = partial(self._workers.in_thread_on_writer, self._open_logs()[topic])
            await self._workers.run(swap_protocol.settle, logs, on_writer)
            if request is not None and request.roll:
                await self._workers.run(self._in_thread_roll, topic, logs, on_writer)
        options = PlanOptions(
            lags=lags_of(config, request.min_cleanable_ratio if request is not None else None),
            delete_retention_ms=config.log_cleaner_delete_retention_ms,
            segment_bytes=CoordinatorTopic.named(topic, config).segment_bytes,
            expiration_ms=config.compaction_plan_expiration_ms,
            max_dirty_bytes=config.compaction_plan_max_bytes,
            topic=topic,
        )
        return {
            "data_dir": str(self._data_dir),
            "epoch": self.epoch,
            "now_ms": now_ms,
            "history_dir": config.history_path if config.history_enable and topic == OFFSETS_TOPIC else "",
            "logs": msgspec.json.encode([facts_of(partition, log) for partition, log in logs.items()]),
            "options": msgspec.json.encode(options),
        }

    def _in_thread_roll(self, topic: str, logs: Mapping[int, Log], on_writer: OnWriter) -> None:
        for partition, log in logs.items():
            if log.segments[-1].size_bytes:
                try:
                    on_writer(log.roll)
                except OSError as error:
                    LOG.warning("compaction: %s-%d was not rolled: %s", topic, partition, error)

    # -- results -------------------------------------------------------------------------------------------------

    async def _swap(self, opened: OpenPlan) -> None:
        swaps = self.counters.swaps
        if await self._swapper.swap(opened):
            self._open = None
            if self.counters.swaps > swaps and (opened.left_bytes or len(self._open_logs()) > 1):
                self._next_schedule_ms = (
                    0  # the segments beyond the limit of this plan are due now; the other log may be
                )

    async def _give_up(self, opened: OpenPlan) -> None:
        trouble = f": {opened.trouble}" if opened.trouble else ""
        await self._swapper.refuse(opened, f"the plan expired before a result was swapped in{trouble}", evidence=False)
        self._open = None

    async def _dismiss(self, strays: list[JobSeen]) -> None:
        for sentence in await self._workers.run(self._scanner.dismiss, strays):
            self.counters.refusals += 1
            LOG.warning("compaction %s", sentence)

    async def _sweep(self, now_ms: int) -> None:
        for plan_id in await self._workers.run(self._scanner.sweep, self.epoch, now_ms):
            LOG.info("compaction plan=%s was given up", plan_id)

    # -- the daemon's job ----------------------------------------------------------------------------------------

    async def _run_job(self) -> None:
        template = shlex.split(self._config.compaction_command)
        command = [word.replace("{data.dir}", str(self._data_dir)) for word in template]
        command = command or [sys.executable, "-m", "coordinator", "compact", "--data-dir", str(self._data_dir)]
        LOG.info("compaction job starts: %s", shlex.join(command))
        started = time.monotonic()
        try:
            ended = await self._workers.order("run", {"command": command}, "the job", timeout_s=JOB_TIMEOUT_S)
        except ChildError as error:
            ended = {"code": -1, "lines": [str(error)]}
        finally:
            self._job = None
        if not self._is_closing:
            last = ended["lines"][-1] if ended["lines"] else "it said nothing"
            log = LOG.info if ended["code"] == 0 else LOG.error
            log("compaction job ended code=%d seconds=%.1f: %s", ended["code"], time.monotonic() - started, last)


def _is_unexpected(error: Exception) -> bool:
    """Return whether the log should have a traceback: not for errors of the disk or of a child."""
    return not isinstance(error, OSError | ChildError)
