"""The compaction job: reads a plan and its pinned inputs, writes compacted segments and a manifest, with Spark.

The modes give the same files. `partition`: one task compacts one log partition, nothing is shuffled; for logs whose
keys fit into a worker's memory, with enough partitions to keep every core busy. `distributed`: a task for each stretch
of segments finds the newest record of each of its keys, Spark finds the newest of all, and a task for each group of
segments writes what survives in it. Keys and offsets are shuffled, values never; memory depends on the size of a
segment, not of the log. `single`: the same work in this process, without Spark.

A job is a function of its plan: run twice, it does nothing the second time; run twice at once, both write the same
bytes into files of different names, and one manifest. The driver writes the manifest last. A partition that cannot be
compacted is named in it and does not stop the others. Only DataFrames are used here, no RDD.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from coordinator.compaction import jobs, spark_tasks
from coordinator.compaction.boundaries import is_exact
from coordinator.compaction.column_compaction import add_open_keys, failed, resolved, result_of, sync_directory
from coordinator.compaction.plan import (
    InputError,
    InputSegment,
    JobDir,
    Manifest,
    PartitionPlan,
    PartitionResult,
    Plan,
    PlanError,
)
from coordinator.compaction.rules import Fate, Round, group_segments
from coordinator.compaction.spark_tasks import (
    CANDIDATES_DDL,
    REPORTS_DDL,
    GroupReport,
    OutputGroup,
    ScanReport,
    ScanTask,
)
from coordinator.storage.log.fs import RealFileSystem, remove_directory, write_atomically

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

JOB_VERSION: Final = "1"

# Throughput of one core in each mode, and the fixed cost of the distributed mode: measured (docs/compaction.md).
PARTITION_BYTES_S: Final = 150_000_000
DISTRIBUTED_BYTES_S: Final = 110_000_000
DISTRIBUTED_START_S: Final = 0.8
PARTITION_MODE_BYTES: Final = 1 << 30
"""The largest log partition that one task takes: if no key repeats, all of its keys are in memory."""
SINGLE_MODE_BYTES: Final = 1 << 30
"""The most that is compacted without Spark where it does not run yet: starting it would take longer than the work."""

_KEYS_PER_SHUFFLE_TASK: Final = 1_000_000
_SCAN_BYTES: Final = 32 << 20  # of small segments that one task scans together: about 0.2 s of work
_TASKS_PER_CORE: Final = 3  # at least, if there are enough segments: their contents take different times


class Mode(StrEnum):
    AUTO = "auto"
    PARTITION = "partition"
    DISTRIBUTED = "distributed"
    SINGLE = "single"


class JobError(Exception):
    """The job cannot be run, or its outputs are not visible here. One sentence that says what to do."""


class Watcher(Protocol):
    """Observer of a job's progress."""

    def stage(self, name: str, tasks: int) -> None: ...

    def advance(self) -> None:
        """Note that a task has ended; called only where the driver learns of it at once."""


@dataclass(slots=True)
class Report:
    """Summary of a job for display; the manifest is the result."""

    manifest: Manifest
    was_done_before: bool = False
    peak_rss_bytes: dict[str, int] = field(default_factory=dict)  # by stage: the maximum of all workers
    candidates: int = 0  # keys found by the scans of the distributed mode


@dataclass(slots=True)
class _Work:
    """State that the modes share while they run."""

    job: JobDir
    plan: Plan
    spark: SparkSession | None
    watcher: Watcher | None
    seconds: dict[str, float] = field(default_factory=dict)
    peak_rss_bytes: dict[str, int] = field(default_factory=dict)
    candidates: int = 0

    @contextmanager
    def stage(self, name: str, tasks: int) -> Iterator[None]:
        if self.watcher is not None:
            self.watcher.stage(name, tasks)
        begun = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begun

    def session(self) -> SparkSession:
        if self.spark is None:
            raise JobError(f"the modes {Mode.PARTITION} and {Mode.DISTRIBUTED} need a Spark session")
        return self.spark

    def collected(self, name: str, rows: DataFrame) -> dict[int, str]:
        """Return the reports of the tasks, by the number of the task."""
        found: dict[int, str] = {}
        for number, text, peak in rows.collect():
            found[number] = text
            self.peak_rss_bytes[name] = max(peak, self.peak_rss_bytes.get(name, 0))
        return found

    def each(self, name: str, count: int, act: Callable[[int], str]) -> list[str]:
        """Run `act` on each number below `count`, each in a task of its own; return the results in order."""

        def run(batches: Iterator[Any]) -> Iterator[Any]:
            spark_tasks.settle_worker()
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from spark_tasks.report_rows(number, act(number)).to_batches()

        with self.stage(name, count):
            rows = self.session().range(0, count, 1, max(count, 1)).mapInArrow(run, REPORTS_DDL)
            found = self.collected(name, rows)
        return [found[number] for number in range(count)]


def run_job(
    job: JobDir, *, mode: Mode = Mode.AUTO, spark: SparkSession | None, now_ms: int, watcher: Watcher | None = None
) -> Report:
    """Carry out the plan in `job`, and write the manifest. Does nothing if there is one already.

    JobError: the plan is missing, settled or expired, or the outputs are not visible here. Failures of partitions are
    in the manifest; what Spark raises when a task failed too often is passed on.
    """
    fs = RealFileSystem()
    try:
        plan = jobs.read_plan(fs, job)
        if fs.exists(job.manifest):
            return Report(jobs.read_manifest(fs, job), was_done_before=True)
    except (PlanError, OSError) as error:
        raise JobError(f"{job.path} holds no work: {error}") from None
    if jobs.is_settled(fs, job):
        raise JobError(f"the plan {plan.id} is settled already; ask for a new one")
    if now_ms >= jobs.expires_ms(job, plan):
        raise JobError(f"the plan {plan.id} has expired; ask for a new one")
    if mode is Mode.AUTO:
        mode = choose_mode(plan, parallelism(spark))
    work = _Work(job, plan, spark, watcher)
    try:
        results = MODES[mode](work)
        with work.stage("manifest", len(results)):
            _make_durable(job, results)
            manifest = Manifest(
                plan_id=plan.id,
                epoch=plan.epoch,
                plan_sha256=plan.sha256,
                job_version=JOB_VERSION,
                mode=mode,
                partitions=tuple(results),
                seconds={name: round(seconds, 3) for name, seconds in work.seconds.items()},
            )
            if fs.exists(job.manifest):  # another run of this job was first; its files have the same bytes
                return Report(jobs.read_manifest(fs, job), was_done_before=True)
            write_atomically(fs, job.manifest, manifest.to_bytes())
    finally:
        remove_directory(fs, spark_tasks.scratch_dir(job))
    return Report(manifest, peak_rss_bytes=work.peak_rss_bytes, candidates=work.candidates)


def each_in_a_task(
    job: JobDir, plan: Plan, spark: SparkSession, name: str, count: int, act: Callable[[int], str], watcher: Watcher
) -> list[str]:
    """Call `act` for each number below `count`, each in a task of its own, and return the results."""
    return _Work(job, plan, spark, watcher).each(name, count, act)


def choose_mode(plan: Plan, cores: int) -> Mode:
    """Return the mode that takes less time on so many cores, estimated by sizes, and whose memory is bounded."""
    sizes = [_size(part) for part in plan.partitions]
    if max(sizes) > PARTITION_MODE_BYTES:
        return Mode.DISTRIBUTED
    partition_s = max(max(sizes), sum(sizes) / cores) / PARTITION_BYTES_S
    distributed_s = sum(sizes) / cores / DISTRIBUTED_BYTES_S + DISTRIBUTED_START_S
    return Mode.PARTITION if partition_s <= distributed_s else Mode.DISTRIBUTED


def is_small(plan: Plan) -> bool:
    """Return whether a plan is compacted sooner in this process than Spark starts."""
    return sum(map(_size, plan.partitions)) <= SINGLE_MODE_BYTES


def parallelism(spark: SparkSession | None) -> int:
    """Return how many tasks run at once; 2 where that is unknown (Spark Connect)."""
    try:
        return max(1, spark.sparkContext.defaultParallelism) if spark is not None else 1
    except Exception:  # Connect raises an error of its own for every attribute of the driver
        return 2


def _size(part: PartitionPlan) -> int:
    return sum(segment.size_bytes for segment in part.inputs)


def _make_durable(job: JobDir, results: Sequence[PartitionResult]) -> None:
    """Check that the outputs are visible to this process, and sync their names to the device."""
    for result in results:
        for output in result.outputs:
            path = job.output(output)
            if not path.is_file() or path.stat().st_size != output.size_bytes:
                raise JobError(
                    f"{path} was written by a worker and is not to be seen here; put the data directory on storage "
                    "that all executors and this machine mount under the same path"
                )
        sync_directory(job.out_dir(result.partition))


# --- the modes --------------------------------------------------------------------------------------------------------


def _single(work: _Work) -> list[PartitionResult]:
    results = []
    with work.stage("clean", len(work.plan.partitions)):
        for part in work.plan.partitions:
            results.append(_result(spark_tasks.compact(work.job, work.plan, part)))
            if work.watcher is not None:
                work.watcher.advance()
    work.peak_rss_bytes["clean"] = spark_tasks.peak_rss_bytes()
    return results


def _partition(work: _Work) -> list[PartitionResult]:
    results = _whole(work, work.plan.partitions)
    return [results[part.partition] for part in work.plan.partitions]


def _whole(work: _Work, parts: Sequence[PartitionPlan]) -> dict[int, PartitionResult]:
    """Compact these partitions, each in one task; the largest starts first."""
    job, plan = work.job, work.plan
    ordered = sorted(parts, key=_size, reverse=True)
    texts = work.each("clean", len(ordered), lambda number: spark_tasks.compact(job, plan, ordered[number]))
    return {part.partition: _result(text) for part, text in zip(ordered, texts, strict=True)}


def _result(text: str) -> PartitionResult:
    return PartitionResult.from_bytes(text.encode())


def _distributed(work: _Work) -> list[PartitionResult]:
    plan = work.plan
    groups = _groups(plan)
    scans = _scanned(work, groups)
    results: dict[int, PartitionResult] = {}
    together: list[PartitionPlan] = []
    rounds: dict[int, list[Round]] = {}  # by partition, one for each segment
    files: list[str] = []
    for part in plan.partitions:
        reports = scans[part.partition]
        events = [segment.events for report in reports for segment in report.segments]
        faults = [report.error for report in reports if report.error]
        if faults:
            results[part.partition] = failed(part, InputError(faults[0]))
        elif is_exact(chain.from_iterable(events)) and all(group.fits_a_code for group in groups if group.part is part):
            try:
                rounds[part.partition], names = _resolved(work, part, reports)
                files += names
            except OSError as error:
                results[part.partition] = failed(part, error)
        else:
            together.append(part)
    if together:
        results |= _whole(work, together)
    if rounds:
        results |= _rewritten(work, [group for group in groups if group.part.partition in rounds], rounds, files)
    return [results[part.partition] for part in plan.partitions]


def _groups(plan: Plan) -> list[OutputGroup]:
    found = [
        (part, segments)
        for part in plan.partitions
        for segments in group_segments(part.inputs, plan.segment_bytes, part.clean_up_to)
    ]
    return [OutputGroup(number, part, segments) for number, (part, segments) in enumerate(found)]


def _scanned(work: _Work, groups: Sequence[OutputGroup]) -> dict[int, list[ScanReport]]:
    """Run the first pass; return, by partition, the reports of its stretches in their order."""
    job = work.job
    stretches = _stretches(groups, parallelism(work.session()))
    order = sorted(range(len(stretches)), key=lambda number: -stretches[number].size_bytes)
    texts = work.each("scan", len(order), lambda number: spark_tasks.scan(job, stretches[order[number]]))
    found = {order[number]: msgspec.json.decode(text, type=ScanReport) for number, text in enumerate(texts)}
    by_partition: dict[int, list[ScanReport]] = {}
    for number, stretch in enumerate(stretches):
        by_partition.setdefault(stretch.part.partition, []).append(found[number])
    return by_partition


def _stretches(groups: Sequence[OutputGroup], cores: int) -> list[ScanTask]:
    """Divide the segments into tasks: neighbours together, as far as that leaves enough tasks for all cores."""
    total = sum(segment.size_bytes for group in groups for segment in group.segments)
    limit = min(_SCAN_BYTES, total // (_TASKS_PER_CORE * cores))
    found: list[list[tuple[OutputGroup, InputSegment]]] = []
    size = 0
    for group in groups:
        for segment in group.segments:
            if found and found[-1][0][0].part is group.part and size + segment.size_bytes <= limit:
                found[-1].append((group, segment))
                size += segment.size_bytes
            else:
                found.append([(group, segment)])
                size = segment.size_bytes
    return [ScanTask(members[0][0].part, tuple(members)) for members in found]


def _resolved(work: _Work, part: PartitionPlan, reports: Sequence[ScanReport]) -> tuple[list[Round], list[str]]:
    """Return the Round of each segment of a partition, and the files with the keys that count."""
    segments = [segment for report in reports for segment in report.segments]
    rounds = resolved(work.plan, part, [segment.events for segment in segments])
    scratch = spark_tasks.scratch_dir(work.job)
    open_keys: dict[bytes, int] = {}
    files = [report.candidates for report in reports]
    for segment, round_ in zip(segments, rounds, strict=True):
        for first_batch, name in segment.pending.values():
            fate = round_.fates.get(first_batch, Fate(0))
            if Fate.UNDECIDED in fate and name:
                add_open_keys(open_keys, spark_tasks.read_pending(scratch / name, first_batch))
            elif not fate & (Fate.ABORTED | Fate.UNDECIDED):
                files.append(name)
    work.candidates += sum(report.keys for report in reports)
    return [round_.with_open_keys(open_keys) for round_ in rounds], [name for name in files if name]


def _rewritten(
    work: _Work, groups: Sequence[OutputGroup], rounds: dict[int, list[Round]], files: Sequence[str]
) -> dict[int, PartitionResult]:
    """Run the shuffle and the second pass."""
    job = work.job
    judges = _by_group(groups, rounds)
    by_number = {group.number: group for group in groups}

    def rewrite(key, table):  # type: ignore[no-untyped-def]  # Spark would interpret annotations
        spark_tasks.settle_worker()
        number = key[0].as_py()
        offsets = table.column("at").to_numpy()
        group = by_number[number]
        survivors = offsets[offsets >= 0] + group.base_offset
        return spark_tasks.report_rows(number, spark_tasks.rewrite(job, group, judges[number], survivors))

    with work.stage("rewrite", len(groups)), _query_settings(work):
        spark = work.session()
        # One row without an offset for every group: a group without survivors still has batches and markers to count.
        numbers = [group.number for group in groups]
        rows = every_group = spark.range(0, max(numbers) + 1, 1, 1).selectExpr("id AS grp", "-1L AS at")
        if len(numbers) <= max(numbers):
            rows = every_group = every_group.where(every_group.grp.isin(numbers))
        if files:
            rows = _newest(spark, spark_tasks.scratch_dir(job), files).unionByName(every_group)
        tasks = min(len(groups), _TASKS_PER_CORE * parallelism(spark))
        written = rows.repartition(tasks, "grp").groupBy("grp").applyInArrow(rewrite, REPORTS_DDL)
        texts = work.collected("rewrite", written)
    found: dict[int, list[GroupReport]] = {}
    parts: dict[int, PartitionPlan] = {}
    for group in groups:
        parts[group.part.partition] = group.part
        found.setdefault(group.part.partition, []).append(msgspec.json.decode(texts[group.number], type=GroupReport))
    results = {}
    for partition, reports in found.items():
        faults = [report.error for report in reports if report.error]
        if faults:
            results[partition] = failed(parts[partition], InputError(faults[0]))
        else:
            keys = sum(report.survivors for report in reports)
            results[partition] = result_of(parts[partition], [report.written for report in reports], keys=keys)
    return results


def _by_group(groups: Sequence[OutputGroup], rounds: dict[int, list[Round]]) -> dict[int, list[Round]]:
    done: dict[int, int] = {}
    found = {}
    for group in groups:
        partition = group.part.partition
        begin = done.get(partition, 0)
        done[partition] = begin + len(group.segments)
        found[group.number] = rounds[partition][begin : done[partition]]
    return found


def _newest(spark: SparkSession, scratch: Path, files: Sequence[str]) -> DataFrame:
    """Return the place of every key's newest record: the number of a group, and an offset counted from its first."""
    from pyspark.sql import functions as sql

    bits, mask = spark_tasks.OFFSET_BITS, sql.lit(spark_tasks.OFFSET_MASK)
    paths = [f"file:{_unglobbed(str(scratch / name))}" for name in files]
    newest = spark.read.schema(CANDIDATES_DDL).parquet(*paths).groupBy("lp", "key").agg(sql.max("code").alias("code"))
    return newest.select(sql.shiftright("code", bits).alias("grp"), sql.col("code").bitwiseAND(mask).alias("at"))


def _unglobbed(path: str) -> str:
    """Escape a path, so that Spark does not take characters in it for a glob pattern."""
    return "".join(f"\\{character}" if character in "\\*?[]{}" else character for character in path)


@contextmanager
def _query_settings(work: _Work) -> Iterator[None]:
    """Set the number of shuffle partitions, for this query.

    Adaptive execution is off: because only a few megabytes are shuffled, it would merge the tasks that rewrite the log
    into one. The threshold keeps Spark from listing the candidates in a job of its own.
    """
    conf = work.session().conf
    cores = parallelism(work.session())
    wanted = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.shuffle.partitions": str(max(cores, -(-work.candidates // _KEYS_PER_SHUFFLE_TASK))),
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    }
    before = {key: conf.get(key, None) for key in wanted}
    for key, value in wanted.items():
        conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            if old is None:
                conf.unset(key)
            else:
                conf.set(key, old)


MODES: Final[dict[Mode, Callable[[_Work], list[PartitionResult]]]] = {
    Mode.SINGLE: _single,
    Mode.PARTITION: _partition,
    Mode.DISTRIBUTED: _distributed,
}
