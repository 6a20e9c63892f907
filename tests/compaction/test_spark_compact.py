"""The job on Spark writes the bytes of the oracle in both modes."""

from __future__ import annotations

import hashlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from coordinator.compaction import spark_tasks
from coordinator.compaction.plan import InputSegment, JobDir, Manifest, PartitionPlan, Plan
from coordinator.compaction.spark_compact import (
    PARTITION_MODE_BYTES,
    JobError,
    Mode,
    Report,
    choose_mode,
    run_job,
)
from tests.compaction import oracle
from tests.compaction.logs import (
    ANYTHING,
    DAY_MS,
    OFFSETS,
    PLAIN,
    START_MS,
    Gap,
    LogWriter,
    Op,
    Rec,
    Roll,
    Write,
    seeded,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

on_spark = [pytest.mark.integration, pytest.mark.spark]
MODES = [pytest.param(Mode.PARTITION, marks=on_spark), pytest.param(Mode.DISTRIBUTED, marks=on_spark)]
NOW_MS = START_MS + 20 * DAY_MS


def job_of(data_dir: Path, logs: Sequence[LogWriter], *, segment_bytes: int = 20_000, now_ms: int = NOW_MS) -> JobDir:
    """A job with pinned inputs, one partition for each log."""
    job = JobDir.of(data_dir, "a-plan")
    parts = []
    for number, log in enumerate(logs):
        log.roll()
        directory = job.in_dir(number)
        directory.mkdir(parents=True)
        inputs = []
        for segment in log.closed:
            (directory / segment.name).write_bytes(segment.data)
            sha256 = hashlib.sha256(segment.data).hexdigest()
            inputs.append(
                InputSegment(segment.name, segment.size_bytes, sha256, segment.base_offset, segment.next_offset)
            )
        parts.append(PartitionPlan(number, log.active.base_offset, tuple(inputs)))
    plan = Plan(job.path.name, "epoch", now_ms, now_ms + DAY_MS, now_ms, DAY_MS, segment_bytes, tuple(parts))
    job.plan.write_bytes(plan.to_bytes())
    return job


def some_logs(style: str = ANYTHING, count: int = 3, ops: int = 150) -> list[LogWriter]:
    return [LogWriter().write(seeded(100 + number, ops, style)) for number in range(count)]


def written(job: JobDir, manifest: Manifest) -> dict[tuple[int, str], bytes]:
    """Return the outputs by partition and name, each compared with the facts in the manifest."""
    found = {}
    for result in manifest.partitions:
        assert result.error is None
        for output in result.outputs:
            data = job.output(output).read_bytes()
            assert (len(data), hashlib.sha256(data).hexdigest()) == (output.size_bytes, output.sha256)
            found[result.partition, output.name] = data
    return found


def same_as_plain(job: JobDir, manifest: Manifest, tmp_path: Path) -> None:
    plan = Plan.from_bytes(job.plan.read_bytes())
    expected = {}
    for part, result in zip(plan.partitions, manifest.partitions, strict=True):
        out_dir = tmp_path / "plain" / str(part.partition)
        plainly = oracle.compact_partition(plan, part, job.in_dir(part.partition), out_dir)
        assert plainly.stats == result.stats
        assert plainly.inputs == result.inputs
        described = [
            [replace(output, file=f"{each.partition}/{output.name}.x") for output in each.outputs]
            for each in (plainly, result)
        ]
        assert described[0] == described[1]
        for output in plainly.outputs:
            expected[part.partition, output.name] = (out_dir.parent / output.file).read_bytes()
    assert written(job, manifest) == expected


@pytest.mark.parametrize("mode", [Mode.SINGLE, *MODES])
@pytest.mark.parametrize("style", [ANYTHING, OFFSETS, PLAIN])
def test_each_mode_writes_the_bytes_of_the_oracle(
    request: pytest.FixtureRequest, tmp_path: Path, mode: Mode, style: str
) -> None:
    spark = None if mode is Mode.SINGLE else request.getfixturevalue("spark")
    job = job_of(tmp_path / "data", some_logs(style))
    report = run_job(job, mode=mode, spark=spark, now_ms=NOW_MS)
    assert report.manifest.mode == mode
    assert Manifest.from_bytes(job.manifest.read_bytes()) == report.manifest
    same_as_plain(job, report.manifest, tmp_path)
    assert sorted(path.name for path in job.path.iterdir()) == ["in", "manifest.json", "out", "plan.json"]


@pytest.mark.integration
@pytest.mark.spark
@pytest.mark.parametrize("seed", range(4))
def test_the_distributed_mode_agrees_for_transactions_across_segments(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    ops: list[Op] = []
    for op in seeded(seed, 120, OFFSETS):
        ops += [op, Roll()] if len(ops) % 3 == 0 else [op]  # a transaction rarely ends where it began
    job = job_of(tmp_path / "data", [LogWriter().write(ops)], segment_bytes=3000)
    report = run_job(job, mode=Mode.DISTRIBUTED, spark=spark, now_ms=START_MS + 3000)
    same_as_plain(job, report.manifest, tmp_path)


@pytest.mark.integration
@pytest.mark.spark
def test_offsets_too_far_apart_for_a_code_are_compacted_in_one_task(spark: SparkSession, tmp_path: Path) -> None:
    far: list[Op] = [Write((Rec(0), Rec(1))), Gap(2**33), Write((Rec(1), Rec(2))), Roll(), Write((Rec(2),))]
    job = job_of(tmp_path / "data", [LogWriter().write(far), *some_logs(PLAIN, 1)])
    report = run_job(job, mode=Mode.DISTRIBUTED, spark=spark, now_ms=NOW_MS)
    same_as_plain(job, report.manifest, tmp_path)


@pytest.mark.integration
@pytest.mark.spark
def test_directories_may_have_names_that_spark_takes_for_patterns(spark: SparkSession, tmp_path: Path) -> None:
    job = job_of(tmp_path / "my data {1,2} [ab] *? %20 ö", some_logs(PLAIN, 2))
    report = run_job(job, mode=Mode.DISTRIBUTED, spark=spark, now_ms=NOW_MS)
    same_as_plain(job, report.manifest, tmp_path)


# --- once, and only once ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.SINGLE, *MODES])
def test_a_job_that_is_done_does_nothing_when_it_is_run_again(
    request: pytest.FixtureRequest, tmp_path: Path, mode: Mode
) -> None:
    spark = None if mode is Mode.SINGLE else request.getfixturevalue("spark")
    job = job_of(tmp_path / "data", some_logs(PLAIN, 2))
    first = run_job(job, mode=mode, spark=spark, now_ms=NOW_MS)
    before = files_below(job.path)
    second = run_job(job, mode=mode, spark=spark, now_ms=NOW_MS + 10 * DAY_MS)  # not even if it has expired meanwhile
    assert (first.was_done_before, second.was_done_before) == (False, True)
    assert second.manifest == first.manifest
    assert files_below(job.path) == before


def files_below(path: Path) -> dict[Path, tuple[int, int]]:
    return {each: (each.stat().st_ino, each.stat().st_mtime_ns) for each in path.rglob("*") if each.is_file()}


def test_of_two_runs_at_once_the_first_manifest_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(tmp_path / "data", some_logs(PLAIN, 1))
    compacted = spark_tasks.compact
    runs: list[Report] = []

    def overtaken(*given: Any) -> str:
        text = compacted(*given)
        monkeypatch.setattr(spark_tasks, "compact", compacted)
        runs.append(run_job(job, mode=Mode.SINGLE, spark=None, now_ms=NOW_MS))
        return text

    monkeypatch.setattr(spark_tasks, "compact", overtaken)
    late = run_job(job, mode=Mode.SINGLE, spark=None, now_ms=NOW_MS)
    assert late.was_done_before
    assert late.manifest == runs[0].manifest
    written(job, late.manifest)


def test_an_expired_plan_is_not_begun(tmp_path: Path) -> None:
    job = job_of(tmp_path / "data", some_logs(PLAIN, 1))
    os.utime(job.plan, (NOW_MS / 1000, NOW_MS / 1000))  # nothing was done for it since
    with pytest.raises(JobError, match="the plan a-plan has expired; ask for a new one"):
        run_job(job, mode=Mode.SINGLE, spark=None, now_ms=NOW_MS + DAY_MS)
    assert not job.out.exists()


@pytest.mark.parametrize("name", ["DONE", "REFUSED"])
def test_a_settled_plan_is_not_begun(tmp_path: Path, name: str) -> None:
    job = job_of(tmp_path / "data", some_logs(PLAIN, 1))
    (job.path / name).write_text("it is\n")
    with pytest.raises(JobError, match="settled already"):
        run_job(job, mode=Mode.SINGLE, spark=None, now_ms=NOW_MS)


def test_a_directory_without_a_plan_is_reported(tmp_path: Path) -> None:
    with pytest.raises(JobError, match=r"holds no work: .* has no plan\.json"):
        run_job(JobDir.of(tmp_path, "nothing"), mode=Mode.SINGLE, spark=None, now_ms=NOW_MS)


def test_the_spark_modes_need_a_session(tmp_path: Path) -> None:
    job = job_of(tmp_path / "data", some_logs(PLAIN, 1))
    with pytest.raises(JobError, match="need a Spark session"):
        run_job(job, mode=Mode.PARTITION, spark=None, now_ms=NOW_MS)


# --- when something breaks --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [Mode.SINGLE, *MODES])
def test_a_partition_that_cannot_be_compacted_does_not_stop_the_others(
    request: pytest.FixtureRequest, tmp_path: Path, mode: Mode
) -> None:
    spark = None if mode is Mode.SINGLE else request.getfixturevalue("spark")
    job = job_of(tmp_path / "data", some_logs(PLAIN, 3))
    damaged = sorted(job.in_dir(1).iterdir())[1]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    report = run_job(job, mode=mode, spark=spark, now_ms=NOW_MS)
    good, bad, also_good = report.manifest.partitions
    assert bad.error == f"partition 1: {damaged.name} is not the file that the plan names; make a new plan"
    assert bad.outputs == ()
    assert good.error is None
    assert also_good.error is None
    assert good.outputs
    assert also_good.outputs


def _dies(task: Callable[..., str]) -> Callable[..., str]:
    """Kill the workers of the first six tasks on their first attempt, after they have done their work."""

    def run(*given: Any) -> str:
        from pyspark import TaskContext

        text = task(*given)
        context = TaskContext.get()
        assert context is not None
        if context.attemptNumber() == 0 and context.partitionId() < 6:
            os.kill(os.getpid(), signal.SIGKILL)
        return text

    return run


@pytest.mark.integration
@pytest.mark.spark
@pytest.mark.parametrize(
    ("mode", "task"), [(Mode.PARTITION, "compact"), (Mode.DISTRIBUTED, "scan"), (Mode.DISTRIBUTED, "rewrite")]
)
def test_killed_workers_are_replaced_and_leave_only_files_that_no_manifest_names(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: Mode, task: str
) -> None:
    job = job_of(tmp_path / "data", some_logs(PLAIN, 2))
    with _sent_by_value(monkeypatch, task):
        report = run_job(job, mode=mode, spark=spark, now_ms=NOW_MS)
    same_as_plain(job, report.manifest, tmp_path)
    if task != "scan":  # what the killed attempts wrote is there, and in no manifest
        outputs = {job.output(output) for result in report.manifest.partitions for output in result.outputs}
        found = {path for path in job.out.rglob("*") if path.is_file()}
        assert outputs < found


def _sent_by_value(monkeypatch: pytest.MonkeyPatch, task: str) -> Any:
    """Send a changed module to the workers by value, because they import modules from disk."""
    from contextlib import contextmanager

    from coordinator.compaction import spark_compact

    @contextmanager
    def changed() -> Iterator[None]:
        changed_tasks = _Tasks(task, _dies(getattr(spark_tasks, task)))
        with monkeypatch.context() as patch:
            patch.setattr(spark_compact, "spark_tasks", changed_tasks)
            yield

    return changed()


class _Tasks:
    """`spark_tasks` with one function replaced; can be sent to a worker."""

    def __init__(self, name: str, function: Callable[..., str]) -> None:
        self._name = name
        self._function = function

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._function if name == self._name else getattr(spark_tasks, name)

    def __getstate__(self) -> tuple[str, Callable[..., str]]:
        return self._name, self._function

    def __setstate__(self, state: tuple[str, Callable[..., str]]) -> None:
        self._name, self._function = state


def test_outputs_that_are_not_visible_here_fail_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = job_of(tmp_path / "data", some_logs(PLAIN, 1))
    compacted = spark_tasks.compact

    def elsewhere(*given: Any) -> str:
        text = compacted(*given)
        for path in job.out_dir(0).iterdir():
            path.unlink()
        return text

    monkeypatch.setattr(spark_tasks, "compact", elsewhere)
    with pytest.raises(JobError, match="put the data directory on storage that all executors"):
        run_job(job, mode=Mode.SINGLE, spark=None, now_ms=NOW_MS)
    assert not job.manifest.exists()


def test_a_defect_fails_only_its_partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*_: Any) -> Any:
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(spark_tasks, "compact_partition", mistaken)
    job = job_of(tmp_path / "data", some_logs(PLAIN, 1))
    report = run_job(job, mode=Mode.SINGLE, spark=None, now_ms=NOW_MS)
    assert report.manifest.partitions[0].error == ("partition 0: an unexpected error: ZeroDivisionError: by zero")


# --- which mode -------------------------------------------------------------------------------------------------------


def plan_of_sizes(*sizes: int) -> Plan:
    parts = tuple(
        PartitionPlan(number, 10, (InputSegment(f"{0:020d}.log", size, "0" * 64, 0, 10),))
        for number, size in enumerate(sizes)
    )
    return Plan("p", "e", 0, 1, 0, 0, 1, parts)


@pytest.mark.parametrize(
    ("sizes", "cores", "mode"),
    [
        ([25_000_000] * 8, 2, Mode.PARTITION),
        ([125_000_000] * 8, 2, Mode.PARTITION),
        ([300_000_000], 2, Mode.PARTITION),  # one core does it before two have met
        ([900_000_000], 2, Mode.DISTRIBUTED),
        ([900_000_000], 8, Mode.DISTRIBUTED),
        ([900_000_000, 1, 1, 1, 1, 1, 1, 1], 8, Mode.DISTRIBUTED),
        ([PARTITION_MODE_BYTES + 1, 1, 1, 1], 2, Mode.DISTRIBUTED),  # its keys might not fit
    ],
)
def test_the_mode_follows_from_sizes_and_cores(sizes: list[int], cores: int, mode: Mode) -> None:
    assert choose_mode(plan_of_sizes(*sizes), cores) is mode
