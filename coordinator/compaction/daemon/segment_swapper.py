"""Swaps a result in: children check and stage it, the writer thread swaps the segments; then it is counted and logged.

A failure that is not the result's fault (a full disk, a partition that is being loaded, a child that was killed) is
retried at growing intervals until the plan expires. A wrong result is refused and kept as evidence.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.compaction import jobs, swap_protocol
from coordinator.compaction.daemon.plans import BROKEN_AT_MOST, OpenPlan
from coordinator.compaction.daemon.stall_probe import StallProbe
from coordinator.compaction.daemon.workers import CHECKERS
from coordinator.compaction.plan import JobDir, Manifest, Plan
from coordinator.processes.child_process import ChildError
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.log.swap import AtStep

if TYPE_CHECKING:
    from coordinator.compaction.daemon.counters import CompactionCounters
    from coordinator.compaction.daemon.workers import Workers
    from coordinator.storage.log.fs import FileSystem
    from coordinator.storage.offsets_log import OffsetsLog

LOG: Final = logging.getLogger("coordinator.compactor")

COMPARED_S: Final = 0.3  # how long the loop is probed before the swap, for comparison


class SegmentSwapper:
    """The swaps of one compactor; on the loop's thread."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        data_dir: Path,
        fs: FileSystem,
        open_logs: Callable[[], Mapping[str, OffsetsLog]],
        workers: Workers,
        counters: CompactionCounters,
        *,
        epoch: str,
        index_interval_bytes: int,
        timeout_s: float,
        at_step: AtStep,
    ) -> None:
        self.is_closing = False
        self._loop = loop
        self._data_dir = data_dir
        self._fs = fs
        self._open_logs = open_logs  # by topic
        self._workers = workers
        self._counters = counters
        self._epoch = epoch
        self._index_interval_bytes = index_interval_bytes
        self._timeout_s = timeout_s  # for a check
        self._at_step = at_step

    async def swap(self, opened: OpenPlan) -> bool:
        """Check a result and swap it in. Return whether the plan is settled; if not, try again later."""
        started_ms = wall_ms()
        try:
            found = await self._check(opened, started_ms)
        except ChildError as error:
            return not self.is_closing and await self._child_failed(opened, str(error), started_ms)
        opened.broken = 0
        if "again" in found:
            return self._later(opened, found["again"], started_ms)
        if "refused" in found:
            await self.refuse(opened, found["refused"], evidence=found["evidence"])
        elif "accepted" in found:
            if self.is_closing:
                return False
            await self._swap_segments(opened, *found["accepted"], started_ms=started_ms, rows=found["rows"])
        return True

    async def _check(self, opened: OpenPlan, now_ms: int) -> dict[str, Any]:
        """Check and stage a result in several children, each for some partitions; return the joint answer.

        Unless all of them accept, nothing stays staged, and the answer is a refusal, if there is one. ChildError if a
        child failed.
        """
        order = {
            "data_dir": str(self._data_dir),
            "plan_id": opened.id,
            "epoch": self._epoch,
            "now_ms": now_ms,
            "index_interval_bytes": self._index_interval_bytes,
        }
        shares = [opened.partitions[number::CHECKERS] for number in range(min(CHECKERS, len(opened.partitions)))]
        answers = await asyncio.gather(
            *(
                self._workers.order(
                    "check", order | {"partitions": share}, "the check of a result", timeout_s=self._timeout_s
                )
                for share in shares
            ),
            return_exceptions=True,
        )
        failures = [each for each in answers if isinstance(each, BaseException) or "accepted" not in each]
        if failures:
            await self._workers.run(swap_protocol.unstage, self._fs, self._data_dir, opened.topic, opened.partitions)
            failure = min(failures, key=lambda each: "refused" not in each if isinstance(each, dict) else True)
            if isinstance(failure, BaseException):
                raise failure
            return failure
        accepted = [each for each in answers if isinstance(each, dict)]
        return accepted[0] | {"rows": sum(each["rows"] for each in accepted)}

    async def _child_failed(self, opened: OpenPlan, why: str, now_ms: int) -> bool:
        opened.broken += 1
        if opened.broken < BROKEN_AT_MOST:
            return self._later(opened, why, now_ms)
        await self.refuse(opened, f"it could not be checked, {opened.broken} times over: {why}", evidence=True)
        return True

    def _later(self, opened: OpenPlan, why: str, now_ms: int) -> bool:
        self._counters.failures += 1
        opened.try_again_later(why, now_ms)
        LOG.warning("compaction plan=%s is not swapped in yet, it is tried again: %s", opened.id, why)
        return False

    async def refuse(self, opened: OpenPlan, why: str, *, evidence: bool) -> None:
        """Settle a plan whose result will not be swapped in. As evidence its files are kept."""
        counters, path = self._counters, JobDir.of(self._data_dir, opened.id)
        counters.refusals += 1
        if evidence:
            counters.uncleanable.update({(opened.topic, partition): why for partition in opened.partitions})
            counters.last_failed_ms = wall_ms()
        await self._workers.run(lambda: jobs.set_refused(self._fs, path, why, evidence=evidence, at_step=self._at_step))
        kept = f"; the files are kept in {path.path}" if evidence else ""
        LOG.warning("compaction refused plan=%s: %s%s", opened.id, why, kept)

    async def _swap_segments(
        self, opened: OpenPlan, plan: bytes, manifest: bytes, *, started_ms: int, rows: int
    ) -> None:
        """Swap the staged segments. This is quick, and is not interrupted."""
        workers, counters = self._workers, self._counters
        accepted = await workers.run(
            lambda: swap_protocol.Accepted(Plan.from_bytes(plan), Manifest.from_bytes(manifest))
        )
        probe = StallProbe(self._loop).start()
        await asyncio.sleep(COMPARED_S)
        before_s = probe.stop()
        workers.writer_held_s.clear()
        probe.start()
        try:
            outcome = await workers.run(self._in_thread_swap, accepted)
        finally:
            counters.last_stall_s = probe.stop()
        counters.last_writer_s = max(workers.writer_held_s, default=0.0)
        counters.longest_stall_s = max(counters.longest_stall_s, counters.last_stall_s)
        counters.longest_writer_s = max(counters.longest_writer_s, counters.last_writer_s)
        sentence = await workers.run(swap_protocol.conclude, self._fs, self._data_dir, accepted, outcome, self._at_step)
        self._count(accepted, outcome, opened, started_ms)
        log = LOG.info if outcome.swapped and not outcome.failed else LOG.warning
        log(
            "compaction swapped plan=%s topic=%s partitions=%s rows_checked=%d stall_ms=%.1f (before: %.1f) "
            "writer_ms=%.1f: %s",
            opened.id,
            opened.topic,
            list(outcome.swapped),
            rows,
            counters.last_stall_s * 1000,
            before_s * 1000,
            counters.last_writer_s * 1000,
            sentence,
        )

    def _in_thread_swap(self, accepted: swap_protocol.Accepted) -> swap_protocol.SwapOutcome:
        log = self._open_logs()[accepted.plan.topic]
        return swap_protocol.swap(
            self._fs,
            self._data_dir,
            accepted.plan,
            accepted.partitions,
            log.logs,
            on_writer=partial(self._workers.in_thread_on_writer, log),
            at_step=self._at_step,
        )

    def _count(
        self, accepted: swap_protocol.Accepted, outcome: swap_protocol.SwapOutcome, opened: OpenPlan, started_ms: int
    ) -> None:
        counters, now_ms = self._counters, wall_ms()
        stats = [result.stats for result in accepted.results if result.partition in outcome.swapped]
        before, after = sum(one.bytes_before for one in stats), sum(one.bytes_after for one in stats)
        counters.swaps += len(outcome.swapped)
        counters.bytes_before += before
        counters.bytes_after += after
        counters.records_before += sum(one.records_before for one in stats)
        counters.records_after += sum(one.records_after for one in stats)
        counters.last_recopy_percent = 100 * after // max(before, 1)
        counters.last_swap_ms = now_ms
        counters.last_job_s = (started_ms - opened.made_ms) / 1000
        counters.last_check_s = (now_ms - started_ms) / 1000
        failed = {one.partition: one.error for one in accepted.manifest.partitions if one.error} | dict(outcome.failed)
        counters.refusals += bool(failed)
        topic = accepted.plan.topic
        for part in accepted.plan.partitions:
            if part.partition in outcome.swapped:
                counters.marks[topic, part.partition] = part.clean_up_to
                counters.uncleanable.pop((topic, part.partition), None)
        if failed:
            counters.uncleanable.update({(topic, partition): why for partition, why in failed.items()})
            counters.last_failed_ms = now_ms
