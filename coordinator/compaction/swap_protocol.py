"""Swaps the outputs of a job for its inputs, in a log that is served meanwhile.

`accept`   reads plan and manifest, and checks both (`validate.py`).                            child process
`stage`    copies, indexes and syncs beside the live segments, and drafts an intent.            child process
`swap`     for each partition: opens the staged files; the writer thread commits and renames;
           writes the cleaner checkpoint; the writer thread removes the intent.                 pool thread
`conclude` writes DONE or REFUSED, and removes the pins.                                        pool thread
`recover`  at start, before any log is opened: completes committed swaps, removes the rest.     main thread

Offline, under the lock of the data directory, all of it runs in one process. A crash at any point leaves each partition
with its old segments or its new ones. Tests end the process at each change of the disk (`STEPS`) and while recovering.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.compaction.jobs import (
    JobStep,
    expires_ms,
    is_settled,
    read_manifest,
    read_plan,
    set_done,
    set_refused,
    tidy,
)
from coordinator.compaction.plan import (
    CompactionStats,
    JobDir,
    Manifest,
    PartitionPlan,
    PartitionResult,
    Plan,
    PlanError,
)
from coordinator.compaction.planning import PlanningStep
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.storage.cleaner_checkpoint import write_checkpoint
from coordinator.storage.file_names import compacted_log, log_dir
from coordinator.storage.log import redo, staging
from coordinator.storage.log import swap as log_swap
from coordinator.storage.log.fs import FileSystem
from coordinator.storage.log.staging import Replaced, StagedFile, SwapRefusedError
from coordinator.storage.log.swap import AtStep, Intent, no_step

if TYPE_CHECKING:
    from coordinator.core.offsets.replay import Replay
    from coordinator.storage.log.log import Log

LOG: Final = logging.getLogger("coordinator.compaction.handover")

OnWriter = Callable[[Callable[[], Any]], Any]
"""Runs a function on the thread that writes the logs, and returns its result or raises its error."""


class ProtocolStep(StrEnum):
    """Changes of the disk by the swap protocol, beside the steps of the log."""

    CHECKPOINT = "write the cleaner checkpoint of a partition"


STEPS: Final[tuple[str, ...]] = (*PlanningStep, *log_swap.SwapStep, *ProtocolStep, *JobStep)
"""Every named change of the disk from the plan to the end, in about the order in which they come."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """A plan and its manifest, which has been checked against it."""

    plan: Plan
    manifest: Manifest

    @property
    def results(self) -> tuple[PartitionResult, ...]:
        """The results to be swapped in; other partitions failed in the job."""
        return tuple([result for result in self.manifest.partitions if result.error is None])

    @property
    def partitions(self) -> tuple[int, ...]:
        return tuple([result.partition for result in self.results])


@dataclass(frozen=True, slots=True)
class SwapOutcome:
    """The outcome for each partition of a plan."""

    swapped: tuple[int, ...]
    failed: Mapping[int, str]  # a clause each


def read_result(fs: FileSystem, data_dir: Path, plan_id: str, *, epoch: str, now_ms: int) -> Accepted:
    """Read a job's manifest and compare it with its plan; each of its partitions is still to be checked.

    RefusedError: the result is wrong, and is to be kept as evidence; LateError: it is only too late.
    AlreadySettledError: it was accepted, or refused, before.
    """
    from coordinator.compaction import validate  # late: the server's own process does not need its imports

    try:
        job = JobDir.of(data_dir, plan_id)
        if is_settled(fs, job):
            raise AlreadySettledError(f"the plan {plan_id} is settled already")
        plan = read_plan(fs, job)
        manifest = read_manifest(fs, job)
    except PlanError as error:
        raise validate.RefusedError(str(error)) from None
    validate.check_manifest(plan, manifest, epoch=epoch, now_ms=now_ms, expires_ms=expires_ms(job, plan))
    return Accepted(plan, manifest)


def check(
    fs: FileSystem,
    data_dir: Path,
    accepted: Accepted,
    result: PartitionResult,
    *,
    progress: Callable[[], None] = lambda: None,
) -> Replay:
    """Check one partition of the offsets log, except against memory; return the replay of its outputs.

    Changes nothing. RefusedError, LateError as `read_result`.
    """
    from coordinator.compaction import validate

    job, part = JobDir.of(data_dir, accepted.plan.id), _part(accepted.plan, result.partition)
    directory = log_dir(data_dir, accepted.plan.topic, part.partition)
    return validate.check_partition(fs, job, directory, part, result, progress=progress)


def check_against_inputs(
    fs: FileSystem,
    data_dir: Path,
    accepted: Accepted,
    result: PartitionResult,
    *,
    progress: Callable[[], None] = lambda: None,
) -> None:
    """Check one partition where no daemon's memory can be asked. Changes nothing. Raises as `check` does."""
    from coordinator.compaction import validate

    plan = accepted.plan
    job, part = JobDir.of(data_dir, plan.id), _part(plan, result.partition)
    directory = log_dir(data_dir, plan.topic, part.partition)
    validate.check_against_inputs(fs, job, directory, part, result, topic=plan.topic, progress=progress)


def accept(
    fs: FileSystem,
    data_dir: Path,
    plan_id: str,
    *,
    epoch: str,
    now_ms: int,
    check_all: Callable[[Accepted], None] | None = None,
) -> Accepted:
    """Read and check a job's result where no daemon can be asked; raises as `read_result` does.

    `check_all` checks every partition against the inputs; the default checks them here, one after another.
    """
    accepted = read_result(fs, data_dir, plan_id, epoch=epoch, now_ms=now_ms)
    if check_all is not None:
        check_all(accepted)
    else:
        for result in accepted.results:
            check_against_inputs(fs, data_dir, accepted, result)
    return accepted


class AlreadySettledError(Exception):
    """The plan has been accepted or refused before. One sentence."""


def stage(
    fs: FileSystem,
    data_dir: Path,
    accepted: Accepted,
    results: Sequence[PartitionResult],
    *,
    index_interval_bytes: int,
    at_step: AtStep = no_step,
) -> None:
    """Prepare these partitions for `swap`; durable on return. An OSError leaves nothing of them.

    SwapRefusedError: an output has changed since it was checked.
    """
    job, topic = JobDir.of(data_dir, accepted.plan.id), accepted.plan.topic
    staged: list[int] = []
    try:
        for result in results:
            part = _part(accepted.plan, result.partition)
            staged.append(part.partition)
            staging.stage(
                fs,
                log_dir(data_dir, topic, part.partition),
                [StagedFile(job.output(one), one.name, one.size_bytes, one.sha256) for one in result.outputs],
                [segment.base_offset for segment in part.inputs],
                plan_id=accepted.plan.id,
                clean_up_to=part.clean_up_to,
                index_interval_bytes=index_interval_bytes,
                at_step=at_step,
            )
    except (OSError, SwapRefusedError):
        unstage(fs, data_dir, topic, staged)
        raise


def unstage(fs: FileSystem, data_dir: Path, topic: str, partitions: Sequence[int]) -> None:
    """Remove staged files that will not be swapped in; files that cannot be removed are removed at the next start."""
    for partition in partitions:
        with suppress(OSError, SwapRefusedError):
            staging.unstage(fs, log_dir(data_dir, topic, partition))


def swap(
    fs: FileSystem,
    data_dir: Path,
    plan: Plan,
    partitions: Sequence[int],
    logs: Mapping[int, Log],
    *,
    on_writer: OnWriter = lambda act: act(),
    at_step: AtStep = no_step,
) -> SwapOutcome:
    """Swap the segments of these staged partitions, one after another; one that fails does not stop the others."""
    swapped: list[int] = []
    failed: dict[int, str] = {}
    for partition in partitions:
        log = logs.get(partition)
        if log is None:
            failed[partition] = "it is not served here any more"
            continue
        try:
            _swap_one(fs, data_dir, plan, _part(plan, partition), log, on_writer, at_step)
            swapped.append(partition)
        except (OSError, SwapRefusedError) as error:
            LOG.warning("compaction of %s-%d: %s", plan.topic, partition, error)
            failed[partition] = str(error)
            unstage(fs, data_dir, plan.topic, [partition])
    return SwapOutcome(tuple(swapped), failed)


def _swap_one(
    fs: FileSystem,
    data_dir: Path,
    plan: Plan,
    part: PartitionPlan,
    log: Log,
    on_writer: OnWriter,
    at_step: AtStep,
) -> None:
    """Swap one partition. OSError and SwapRefusedError: the log is as it was."""
    replaces = [Replaced(one.base_offset, one.next_offset, one.size_bytes) for one in part.inputs]
    prepared = staging.prepare(fs, log.directory, replaces, plan.id, log.config.index_interval_bytes)
    try:
        on_writer(lambda: log.replace_segments(prepared, at_step))
    except BaseException as error:
        if not (isinstance(error, OSError) and log.is_swapping):
            prepared.close()
            raise
        LOG.warning("%s: the new segments are in use, but not all are renamed yet: %s", log.directory, error)
    # Committed. What fails from here on is repeated by the next swap, or by the next start.
    try:
        note_clean(fs, data_dir, part.partition, part.clean_up_to, at_step, topic=plan.topic)
        on_writer(lambda: log.finish_swap(at_step))
    except OSError as error:
        LOG.warning("%s: swapped, but not finished yet: %s", log.directory, error)


def note_clean(
    fs: FileSystem,
    data_dir: Path,
    partition: int,
    clean_up_to: int,
    at_step: AtStep = no_step,
    *,
    topic: str = OFFSETS_TOPIC,
) -> None:
    """Write into the cleaner checkpoint how far a partition is clean; durable on return."""
    at_step(ProtocolStep.CHECKPOINT)
    write_checkpoint(fs, data_dir, {partition: clean_up_to}, topic)


def conclude(
    fs: FileSystem, data_dir: Path, accepted: Accepted, outcome: SwapOutcome, at_step: AtStep = no_step
) -> str:
    """Write DONE if any partition was swapped, else REFUSED; return a sentence on the outcome."""
    job = JobDir.of(data_dir, accepted.plan.id)
    failed = {result.partition: result.error for result in accepted.manifest.partitions if result.error} | dict(
        outcome.failed
    )
    clauses = [f"partition {partition} was left as it is: {reason}" for partition, reason in sorted(failed.items())]
    if outcome.swapped:
        stats = sum(
            (result.stats for result in accepted.results if result.partition in outcome.swapped),
            start=CompactionStats(),
        )
        count = len(outcome.swapped)
        clauses.insert(
            0,
            f"compacted {count} partition{'s' * (count != 1)}: {stats.records_before} records in {stats.bytes_before} "
            f"bytes became {stats.records_after} in {stats.bytes_after}",
        )
    sentence = "; ".join(clauses) or "nothing was planned"
    if outcome.swapped:
        set_done(fs, job, sentence, at_step)
    else:
        set_refused(fs, job, sentence, evidence=False, at_step=at_step)
    return sentence


def refuse(fs: FileSystem, data_dir: Path, plan_id: str, error: Exception, at_step: AtStep = no_step) -> None:
    """Refuse a plan because of an error that `accept` raised. Wrong results are kept as evidence, late ones are not."""
    from coordinator.compaction.validate import LateError

    is_evidence = not isinstance(error, LateError)
    set_refused(fs, JobDir.of(data_dir, plan_id), str(error), evidence=is_evidence, at_step=at_step)


def recover(fs: FileSystem, data_dir: Path, *, epoch: str, now_ms: int, at_step: AtStep = no_step) -> list[str]:
    """Complete committed swaps at start, under the lock, before any log is opened; return sentences on what was done.

    CorruptLogError: a committed swap cannot be completed, so the log cannot be opened; nothing is lost.
    """
    messages: list[str] = []
    for name in fs.listdir(data_dir):
        log = compacted_log(name)
        if log is None or not fs.is_dir(data_dir / name) or not redo.is_needed(fs.listdir(data_dir / name)):
            continue

        def note(intent: Intent, log: tuple[str, int] = log) -> None:
            topic, partition = log
            if intent.clean_up_to >= 0:
                note_clean(fs, data_dir, partition, intent.clean_up_to, at_step, topic=topic)

        intent, removed = redo.recover(fs, data_dir / name, at_step, note)
        if intent is not None:
            messages.append(f"{name}: finished the swap of segments that {intent.plan_id} had begun")
        if removed:
            messages.append(f"{name}: removed {', '.join(removed)}")
    given_up = tidy(fs, data_dir, epoch=epoch, now_ms=now_ms, at_step=at_step)
    return [*messages, *(f"the compaction plan {plan_id} was given up" for plan_id in given_up)]


def settle(logs: Mapping[int, Log], on_writer: OnWriter = lambda act: act()) -> None:
    """Complete earlier swaps that a failing disk interrupted. Call it before making a plan.

    OSError: the disk still fails; nothing can be staged for that partition yet.
    """
    for log in logs.values():
        if log.owes_swap:
            on_writer(log.finish_swap)


def _part(plan: Plan, partition: int) -> PartitionPlan:
    part = plan.partition(partition)
    if part is None:
        raise SwapRefusedError(f"the plan {plan.id} has no partition {partition}")
    return part
