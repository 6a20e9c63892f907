"""Compaction of a data directory that no daemon serves: the daemon's steps, one after another, in one process.

The caller holds the lock of the directory (`coordinator.storage.data_dir`). Opening finishes what a crash left, and
opens the logs as the daemon would, which checks and repairs their ends. Plan, check and swap are those of `planning`
and `swap_protocol`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from coordinator.compaction.eligibility import facts_of
from coordinator.compaction.planning import Planned, PlanOptions, make_plan
from coordinator.compaction.swap_protocol import (
    Accepted,
    AlreadySettledError,
    accept,
    check_against_inputs,
    conclude,
    recover,
    refuse,
    settle,
    stage,
    swap,
)
from coordinator.compaction.validate import LateError, RefusedError
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.storage.file_names import compacted_log, log_dir
from coordinator.storage.log.fs import FileSystem, RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.recovery import FindEvidence, no_evidence
from coordinator.storage.log.swap import AtStep, no_step

_LATE: Final = "late: "
_REFUSED: Final = "refused: "


@dataclass(slots=True)
class Offline:
    """The opened logs of one topic. Unless it is closed, the next start has to check their ends."""

    fs: FileSystem
    data_dir: Path
    epoch: str
    logs: dict[int, Log]
    messages: list[str] = field(default_factory=list)  # sentences on what opening found and did
    at_step: AtStep = no_step
    topic: str = OFFSETS_TOPIC

    @classmethod
    def open(
        cls,
        fs: FileSystem,
        data_dir: Path,
        config: LogConfig,
        *,
        now_ms: int,
        at_step: AtStep = no_step,
        evidence: FindEvidence = no_evidence,
        topic: str = OFFSETS_TOPIC,
    ) -> Self:
        """Open all logs of a topic. CorruptLogError: a log is damaged where it was durable. OSError is passed on."""
        epoch = secrets.token_hex(16)
        opened = cls(fs, data_dir, epoch, {}, at_step=at_step, topic=topic)
        opened.messages += recover(fs, data_dir, epoch=epoch, now_ms=now_ms, at_step=at_step)
        found = map(compacted_log, fs.listdir(data_dir))
        try:
            for partition in sorted(each[1] for each in found if each is not None and each[0] == topic):
                directory = log_dir(data_dir, topic, partition)
                log = opened.logs[partition] = Log.open(directory, config, fs, evidence(fs, directory, partition))
                opened.messages += log.recovery.messages()
        except BaseException:
            for log in opened.logs.values():
                log.abandon()
            raise
        return opened

    def plan(
        self, options: PlanOptions, *, now_ms: int, roll: bool = False, partitions: Iterable[int] | None = None
    ) -> Planned:
        """Make a plan for what is due. `roll` closes the newest segments first. Raises as `make_plan` does.

        The topic in `options` has to be that of the logs.
        """
        assert options.topic == self.topic
        chosen = sorted(self.logs if partitions is None else set(partitions) & self.logs.keys())
        settle(self.logs)
        if roll:
            for partition in chosen:
                self.logs[partition].roll()
        views = [facts_of(partition, self.logs[partition]) for partition in chosen]
        return make_plan(
            self.fs, self.data_dir, views, epoch=self.epoch, now_ms=now_ms, options=options, at_step=self.at_step
        )

    def swap(self, plan_id: str, *, now_ms: int, check_all: Callable[[Accepted], None] | None = None) -> str:
        """Check a job's result and swap its segments in; return a sentence on the outcome.

        RefusedError: the result is wrong. AlreadySettledError: the plan is settled. OSError: it may be tried again.
        """
        try:
            accepted = accept(self.fs, self.data_dir, plan_id, epoch=self.epoch, now_ms=now_ms, check_all=check_all)
        except RefusedError as error:
            refuse(self.fs, self.data_dir, plan_id, error, self.at_step)
            raise
        index_interval_bytes = min(log.config.index_interval_bytes for log in self.logs.values())
        stage(
            self.fs,
            self.data_dir,
            accepted,
            accepted.results,
            index_interval_bytes=index_interval_bytes,
            at_step=self.at_step,
        )
        outcome = swap(self.fs, self.data_dir, accepted.plan, accepted.partitions, self.logs, at_step=self.at_step)
        return conclude(self.fs, self.data_dir, accepted, outcome, self.at_step)

    def close(self) -> None:
        """Close every log in order; then raise the OSError of the first that failed."""
        failed: OSError | None = None
        for log in self.logs.values():
            try:
                log.close()
            except OSError as error:
                failed = failed or error
        if failed:
            raise failed


def verdict_on(data_dir: Path, accepted: Accepted, number: int) -> str:
    """Check one of the results, in a process other than the one that swaps; return an error as text, or ""."""
    try:
        check_against_inputs(RealFileSystem(), data_dir, accepted, accepted.results[number])
    except LateError as error:
        return f"{_LATE}{error}"
    except RefusedError as error:
        return f"{_REFUSED}{error}"
    return ""


def raise_first(verdicts: Iterable[str]) -> None:
    """Raise the error of the first verdict that has one."""
    for verdict in verdicts:
        if verdict:
            kind = LateError if verdict.startswith(_LATE) else RefusedError
            raise kind(verdict.removeprefix(_LATE).removeprefix(_REFUSED))


__all__ = ["AlreadySettledError", "Offline", "RefusedError", "raise_first", "verdict_on"]
