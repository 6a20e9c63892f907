"""Keeps the directory of an observation small: history is extracted, and then the raw log is compacted, live.

A round closes segments that are large or old, extracts closed segments into Parquet (child process), removes Parquet
that is too old, and compacts what has been extracted. Compaction is the daemon's own protocol
(`coordinator.compaction.swap_protocol`): a plan pins closed segments by hard links, a child process writes and checks
their replacements, and the writer thread of the mirror swaps them in between two writes, with one commit point for each
partition. Following goes on meanwhile, and a crash at any point leaves the old segments or the new ones.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any, Final

from coordinator.compaction.eligibility import Lags, facts_of
from coordinator.compaction.jobs import set_refused
from coordinator.compaction.plan import JobDir, Plan
from coordinator.compaction.planning import Planned, PlanningError, PlanOptions, make_plan
from coordinator.compaction.swap_protocol import conclude, read_result, settle, stage, swap
from coordinator.compaction.validate import RefusedError
from coordinator.history.retention import Limits
from coordinator.observe.pipeline import Pipeline
from coordinator.observe.progress import FollowProgress
from coordinator.processes import frames
from coordinator.processes.child_process import ChildError, Children
from coordinator.processes.wall_clock import wall_ms
from coordinator.storage.file_names import HISTORY_DIR
from coordinator.storage.history_marks import MarksError, mark_of
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.staging import SwapRefusedError

LOG: Final = logging.getLogger("coordinator.observe")

INTERVAL_S: Final = 600.0
FIRST_S: Final = 60.0
ROLL_PART: Final = 8  # a newest segment with this part of its greatest size is closed by the next round
ROLL_AGE_S: Final = 86_400.0  # and any other with records after this time
CHILD_TIMEOUT_S: Final = 3600.0
PLAN_MAX_BYTES: Final = 512 << 20  # of one plan; the next one takes the rest
MOST_PLANS: Final = 50  # of one round


class Housekeeper:
    """Runs rounds. `epoch` names this run of the observer in its plans."""

    def __init__(
        self,
        pipeline: Pipeline,
        progress: FollowProgress,
        fs: FileSystem,
        limits: Limits,
        *,
        epoch: str | None = None,
        lags: Lags | None = None,
        roll_bytes: int | None = None,
    ) -> None:
        self.epoch = epoch or secrets.token_hex(16)
        self._pipeline = pipeline
        self._progress = progress
        self._fs = fs
        self._limits = limits
        self._lags = lags or Lags()
        self._segment_bytes = pipeline.mirror.config.segment_bytes
        self._roll_bytes = self._segment_bytes // ROLL_PART if roll_bytes is None else roll_bytes
        self._children = Children()
        self._rolled_at: dict[int, float] = {}

    @property
    def _data_dir(self) -> Path:
        return self._pipeline.mirror.path

    async def run(self, interval_s: float = INTERVAL_S) -> None:
        """Run rounds until cancelled; one that fails is logged, and tried again at the next."""
        await asyncio.sleep(min(FIRST_S, interval_s))
        while True:
            try:
                await self.round()
            except Exception:  # a defect: following must not end for it
                LOG.exception("housekeeping failed in a way that is not foreseen; trying again")
            await asyncio.sleep(interval_s)

    async def round(self) -> None:
        """Extract, forget and compact once."""
        progress = self._progress
        try:
            await self._roll()
            await self._extract()
            await self._compact()
        except (ChildError, PlanningError, MarksError, RefusedError, OSError, _FailedError) as error:
            progress.housekeeping_problem = f"the history is behind, and the log grows: {error}; trying again"
            LOG.warning("%s", progress.housekeeping_problem)
        else:
            progress.housekeeping_problem = ""

    async def _roll(self) -> None:
        """Close newest segments that are large, or that have held records for a day."""
        now = asyncio.get_running_loop().time()
        due = []
        for partition, log in self._pipeline.mirror.logs.items():
            size = log.segments[-1].size_bytes
            since = self._rolled_at.setdefault(partition, now)
            if size >= self._roll_bytes or (size and now - since >= ROLL_AGE_S):
                due.append(partition)
                self._rolled_at[partition] = now
        if due:
            await self._pipeline.on_writer(lambda: self._pipeline.mirror.roll(due))

    async def _extract(self) -> None:
        order = {"data_dir": str(self._data_dir), **asdict(self._limits)}
        answer = await self._ask_child("extract", order)
        progress, removed = self._progress, answer["removed"]
        progress.extracted_segments += answer["segments"]
        progress.history_bytes = removed["left_bytes"]
        if removed["segments"]:
            LOG.info("removed %d old segments of the history, %d bytes", removed["segments"], removed["bytes"])

    async def _compact(self) -> None:
        for _ in range(MOST_PLANS):
            planned = await self._plan()
            if planned.plan is None:
                return
            await self._carry_out(planned.plan)
            if not planned.plan.left_bytes:
                return

    async def _plan(self) -> Planned:
        logs = self._pipeline.mirror.logs
        await self._pipeline.on_writer(lambda: settle(logs))
        views = [facts_of(partition, log) for partition, log in sorted(logs.items())]
        marks = {partition: mark_of(self._data_dir / HISTORY_DIR, partition) for partition in logs}
        options = PlanOptions(
            lags=self._lags, segment_bytes=self._segment_bytes, max_dirty_bytes=PLAN_MAX_BYTES, not_beyond=marks
        )
        return await asyncio.to_thread(
            lambda: make_plan(self._fs, self._data_dir, views, epoch=self.epoch, now_ms=wall_ms(), options=options)
        )

    async def _carry_out(self, plan: Plan) -> None:
        order = {"data_dir": str(self._data_dir), "plan_id": plan.id, "epoch": self.epoch}
        try:
            await self._ask_child("compact", order)
            sentence = await asyncio.to_thread(self._swap, plan)
        except (ChildError, RefusedError, SwapRefusedError, OSError, _FailedError) as error:
            reason = str(error)
            job = JobDir.of(self._data_dir, plan.id)
            await asyncio.to_thread(lambda: set_refused(self._fs, job, reason, evidence=False))
            raise _FailedError(reason) from None
        self._progress.compactions += 1
        LOG.info("%s", sentence)

    def _swap(self, plan: Plan) -> str:
        """Swap the checked result in, while the writer thread goes on between the swaps."""
        fs, data_dir, logs = self._fs, self._data_dir, self._pipeline.mirror.logs
        accepted = read_result(fs, data_dir, plan.id, epoch=self.epoch, now_ms=wall_ms())
        interval = min(log.config.index_interval_bytes for log in logs.values())
        stage(fs, data_dir, accepted, accepted.results, index_interval_bytes=interval)
        outcome = swap(fs, data_dir, plan, accepted.partitions, logs, on_writer=self._pipeline.call_on_writer)
        return conclude(fs, data_dir, accepted, outcome)

    async def _ask_child(self, act: str, order: dict[str, Any]) -> dict[str, Any]:
        answer = await asyncio.to_thread(self._run_child, act, order)
        if "error" in answer:
            raise _FailedError(answer["error"])
        return answer

    def _run_child(self, act: str, order: dict[str, Any]) -> dict[str, Any]:
        def converse(stdin: IO[bytes], stdout: IO[bytes]) -> dict[str, Any]:
            frames.write(stdin, order)
            answer: dict[str, Any] = frames.read(stdout)
            return answer

        command = [sys.executable, "-m", "coordinator.observe.child", act]
        return self._children.run(command, converse, timeout_s=CHILD_TIMEOUT_S, name=f"the child that does `{act}`")

    def close(self) -> None:
        """End the child that runs; its work is done again at the next start."""
        self._children.close()


class _FailedError(Exception):
    """A child could not do its work. One sentence."""
