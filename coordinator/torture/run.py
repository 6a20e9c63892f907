"""A run of many schedules: played in processes side by side, failures made shorter, all told as they come."""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from itertools import count
from multiprocessing import get_context, parent_process
from pathlib import Path

from coordinator.server.server import loop_factory
from coordinator.torture.copies import kill_all
from coordinator.torture.play import AppError, TorturePlan, play
from coordinator.torture.schedule import Schedule
from coordinator.torture.shrink import shrink as shrink_schedule
from coordinator.torture.verdict import ScheduleVerdict


@dataclass(slots=True)
class PlayedSchedule:
    """A schedule and its verdict; of a failure, the shortest schedule that fails in the same way."""

    schedule: Schedule
    verdict: ScheduleVerdict
    shortest: Schedule | None = None
    shortest_verdict: ScheduleVerdict | None = None


@dataclass(slots=True)
class TortureReport:
    """A whole run."""

    results: list[PlayedSchedule] = field(default_factory=list)
    took_s: float = 0.0

    @property
    def failures(self) -> list[PlayedSchedule]:
        """Return the results that are failures, one for each kind and shortest schedule."""
        return [each for each in self.results if not each.verdict.is_good]


class Listener:
    """Gets the news of a run. Does nothing with it."""

    def started(self, count: int) -> None: ...

    def played(self, result: PlayedSchedule, done: int, count: int) -> None: ...

    def shrinking(self, result: PlayedSchedule, steps: int) -> None: ...

    def shrunk(self, result: PlayedSchedule) -> None: ...


def run(
    plan: TorturePlan, schedules: Sequence[Schedule], *, parallel: int, shrinks: int, listener: Listener
) -> TortureReport:
    """Play all schedules, `parallel` at a time, and shorten the first `shrinks` failures.

    Raises:
        AppError: the application cannot be tortured.
    """
    started_s, report = time.monotonic(), TortureReport()
    directory = Path(tempfile.mkdtemp(prefix="coordinator-torture-"))
    plan = replace(plan, directory=directory)
    pool = ProcessPoolExecutor(parallel, mp_context=get_context("spawn"), initializer=_be_quiet)
    try:
        listener.started(len(schedules))
        playing = {pool.submit(play_one, plan, each, str(each.number)): each for each in schedules}
        for future in as_completed(playing):
            result = PlayedSchedule(playing[future], future.result())
            report.results.append(result)
            listener.played(result, len(report.results), len(schedules))
            if len(report.results) >= parallel and not any(each.verdict.has_begun for each in report.results):
                break
        if not any(each.verdict.has_begun for each in report.results):
            verdict = report.results[0].verdict
            raise AppError(
                f"{verdict.failures[0].sentence}; does the application consume KAFKA_TOPIC as group KAFKA_GROUP_ID "
                "from KAFKA_BOOTSTRAP_SERVERS, from the beginning, and commit? Its last lines:\n"
                + "\n".join(verdict.last_lines.values())
            )
        report.results.sort(key=lambda each: each.schedule.number)
        for result in report.failures[:shrinks]:
            shrink(plan, result, pool, parallel, listener)
    finally:
        pool.shutdown(cancel_futures=True)
        shutil.rmtree(directory, ignore_errors=True)
    report.took_s = time.monotonic() - started_s
    return report


def play_one(plan: TorturePlan, schedule: Schedule, name: str) -> ScheduleVerdict:
    """Play a schedule in a worker process."""
    with asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(play(plan, schedule, name))


def _be_quiet() -> None:
    """Prepare a worker process: it shows no log of the server, leaves Ctrl-C to the main process, and ends with it."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, name="end-with-parent", daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        kill_all()
        os._exit(1)


def shrink(
    plan: TorturePlan, result: PlayedSchedule, pool: ProcessPoolExecutor, parallel: int, listener: Listener
) -> None:
    """Leave out steps as long as the schedule fails in the same way; several attempts are played side by side."""
    numbers = count(1)

    def attempt(some: Sequence[Schedule]) -> tuple[Schedule, ScheduleVerdict] | None:
        names = [f"{result.schedule.number}-shorter-{next(numbers)}" for _ in some]
        playing = [pool.submit(play_one, plan, each, name) for each, name in zip(some, names, strict=True)]
        outcomes = [(each, future.result()) for each, future in zip(some, playing, strict=True)]
        return next(((each, outcome) for each, outcome in outcomes if outcome.has_like(result.verdict)), None)

    result.shortest, result.shortest_verdict = shrink_schedule(
        result.schedule,
        result.verdict,
        attempt,
        at_once=parallel,
        tell=lambda steps: listener.shrinking(result, steps),
    )
    listener.shrunk(result)
