"""`make sparkbench`: the cost of compaction, mode by mode beside the oracle of the tests, in one run.

For each size a log is written, a plan made, and its job done in turns: `plain` (the oracle, one record at a time),
`single` (columns, no Spark), `partition` and `distributed` (Spark on two cores, warm session). All must give the same
files. Figures are medians of wall-clock seconds. Processes of their own measure the peak memory of a task and the whole
command from end to end; the check of a result is measured in CPU seconds, with a daemon and without.

    make sparkbench                                   # 200 MB and 1 GB: about a quarter of an hour
    make sparkbench ARGS="--sizes 20MB,100MB --rounds 1"

Exit code 1: something gave wrong files. A slow figure is printed, never an error.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.measure import BUILD, busy_share, machine, process_tree, wait_for_quiet
from bench.spark_logs import size_of, write_logs
from coordinator.compaction import jobs, swap_protocol
from coordinator.compaction.offline import Offline
from coordinator.compaction.plan import JobDir, Manifest, PartitionResult
from coordinator.compaction.planning import PlanOptions
from coordinator.compaction.spark_compact import JOB_VERSION, Mode, run_job
from coordinator.spark.spark_session import SessionSettings, open_session
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import LogConfig
from tests.compaction import oracle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT: Final = Path(__file__).resolve().parent.parent
PLAIN: Final = "plain"
MODES: Final = (Mode.SINGLE, Mode.PARTITION, Mode.DISTRIBUTED)
BYTES_PER_KEY: Final = 2000  # of log: about 20 commits of each key
SHUFFLE_SHARE: Final = 0.05
HUNDRED_YEARS_MS: Final = 100 * 365 * 86_400_000

# At least so many times as fast as plain, by size in MB (issue 4).
TARGETS: Final = {200: {Mode.PARTITION: 8.0, Mode.DISTRIBUTED: 3.0}, 1000: {Mode.PARTITION: 8.0, Mode.DISTRIBUTED: 5.0}}


@dataclass(slots=True)
class Sized:
    """A log, its job, and what was measured."""

    size_bytes: int
    data_dir: Path
    job: JobDir
    input_bytes: int = 0
    seconds: dict[str, list[float]] = field(default_factory=dict)
    cpu_seconds: dict[str, list[float]] = field(default_factory=dict)
    stages: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    first_s: dict[str, float] = field(default_factory=dict)  # the first run of a mode in the session
    windows_ms: list[tuple[int, int]] = field(default_factory=list)  # of the distributed runs, for the event log
    shuffled: list[int] = field(default_factory=list)
    candidates: int = 0
    output_bytes: int = 0
    keys: int = 0
    files: dict[tuple[int, str], str] = field(default_factory=dict)

    @property
    def mb(self) -> int:
        return round(self.size_bytes / 1e6)


class WrongFilesError(Exception):
    """Two implementations disagree."""


def prepare(size_bytes: int, work_dir: Path, segment_bytes: int, seed: int) -> Sized:
    """A log of this size, all of it closed, and a plan for all of it."""
    data_dir = work_dir / f"log-{size_bytes}"
    keys = max(1000, size_bytes // BYTES_PER_KEY)
    made = write_logs(data_dir, size_bytes=size_bytes, keys=keys, segment_bytes=segment_bytes, seed=seed)
    offline = Offline.open(RealFileSystem(), data_dir, LogConfig(), now_ms=made.end_ms)
    options = PlanOptions(expiration_ms=HUNDRED_YEARS_MS)
    planned = offline.plan(options, now_ms=made.end_ms, roll=True)
    offline.close()
    assert planned.plan is not None
    sized = Sized(size_bytes, data_dir, JobDir.of(data_dir, planned.plan.id))
    sized.input_bytes = sum(segment.size_bytes for part in planned.plan.partitions for segment in part.inputs)
    return sized


def run_once(sized: Sized, name: str, spark: SparkSession | None) -> dict[str, Any]:
    """One run of one implementation, with its files removed before."""
    job = sized.job
    job.manifest.unlink(missing_ok=True)
    if job.out.is_dir():
        shutil.rmtree(job.out)
    plan = jobs.read_plan(RealFileSystem(), job)
    cpu = cpu_seconds()
    begun_ms, begun = time.time_ns() // 1_000_000, time.perf_counter()
    if name == PLAIN:
        results = tuple(
            oracle.compact_partition(plan, part, job.in_dir(part.partition), job.out_dir(part.partition))
            for part in plan.partitions
        )
        manifest = Manifest(plan.id, plan.epoch, plan.sha256, JOB_VERSION, PLAIN, results)
        facts: dict[str, Any] = {"peak": {}, "candidates": 0}
    else:
        report = run_job(job, mode=Mode(name), spark=spark, now_ms=plan.now_ms)
        manifest = report.manifest
        facts = {"peak": report.peak_rss_bytes, "candidates": report.candidates}
    seconds = time.perf_counter() - begun
    compare(sized, name, manifest.partitions)
    sized.output_bytes = sum(result.stats.bytes_after for result in manifest.partitions)
    sized.keys = sum(result.stats.keys for result in manifest.partitions)
    return facts | {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds() - cpu,
        "stages": manifest.seconds,
        "window_ms": (begun_ms, time.time_ns() // 1_000_000),
    }


def compare(sized: Sized, name: str, results: tuple[PartitionResult, ...]) -> None:
    """Raise WrongFilesError unless the files are those of the first mode."""
    if errors := [result.error for result in results if result.error]:
        raise WrongFilesError(f"{name}: {errors[0]}")
    files = {(result.partition, output.name): output.sha256 for result in results for output in result.outputs}
    sized.files = sized.files or files
    if files != sized.files:
        raise WrongFilesError(f"{name} gave other files than those before it")


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, Spark's JVM and the Python workers that are alive."""
    ticks = 0
    for pid in process_tree(int(Path("/proc/self").readlink().name)):
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / 100


def measure(sizes: list[Sized], args: argparse.Namespace, event_dir: Path) -> int:
    """All rounds, in one session; how many runs began on a busy machine."""
    disturbed = 0
    conf = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": event_dir.as_uri(),
        "spark.eventLog.compress": "false",
    }
    conf["spark.eventLog.rolling.enabled"] = "false"
    spark = open_session(
        SessionSettings(master=args.master, driver_memory=args.driver_memory, log=event_dir / "spark.log", conf=conf)
    )
    for sized in sizes:
        for mode in (Mode.PARTITION, Mode.DISTRIBUTED):
            sized.first_s[mode] = run_once(sized, mode, spark)["seconds"]
            print(f"  {sized.mb} MB, {mode}: first {sized.first_s[mode]:.2f} s", flush=True)
    for number in range(1, args.rounds + 1):
        for sized in sizes:
            for name in (*([PLAIN] if number <= args.plain_rounds else []), *MODES):
                disturbed += not wait_for_quiet(args.quiet_within)
                run = run_once(sized, name, spark)
                sized.seconds.setdefault(name, []).append(run["seconds"])
                sized.cpu_seconds.setdefault(name, []).append(run["cpu_seconds"])
                for stage, seconds in run["stages"].items():
                    sized.stages.setdefault(name, {}).setdefault(stage, []).append(seconds)
                if name == Mode.DISTRIBUTED:
                    sized.windows_ms.append(run["window_ms"])
                    sized.candidates = run["candidates"]
                print(f"  round {number}: {sized.mb} MB, {name}: {run['seconds']:.2f} s", flush=True)
    spark.stop()
    for sized in sizes:
        sized.shuffled = [shuffle_bytes(event_dir, window) for window in sized.windows_ms]
    return disturbed


def shuffle_bytes(event_dir: Path, window_ms: tuple[int, int]) -> int:
    """Return the shuffle bytes written by the tasks that began in this time."""
    total = 0
    for path in event_dir.glob("*"):
        if path.name == "spark.log" or path.is_dir():
            continue
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                if '"SparkListenerTaskEnd"' not in line:
                    continue
                event = json.loads(line)
                if window_ms[0] <= event["Task Info"]["Launch Time"] <= window_ms[1] and event.get("Task Metrics"):
                    total += event["Task Metrics"]["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return total


def peaks(sizes: list[Sized], args: argparse.Namespace) -> dict[tuple[int, str], dict[str, int]]:
    """The most memory a worker held, by size and mode: in a process, and a session, of its own."""
    found = {}
    for sized in sizes:
        for mode in (Mode.PARTITION, Mode.DISTRIBUTED):
            command = [sys.executable, str(Path(__file__).resolve()), "--one", str(sized.job.path), mode]
            command += ["--master", args.master, "--driver-memory", args.driver_memory]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=1800)
            found[sized.mb, mode] = json.loads(done.stdout.splitlines()[-1])
            print(f"  {sized.mb} MB, {mode}: {megabytes(found[sized.mb, mode])}", flush=True)
    return found


def one(job_path: str, mode: str, args: argparse.Namespace) -> None:
    """Run one mode in a new process and return the peak memory of its workers."""
    job = JobDir(Path(job_path))
    sized = Sized(0, job.path.parents[2], job)
    with tempfile.TemporaryDirectory() as name:
        settings = SessionSettings(master=args.master, driver_memory=args.driver_memory, log=Path(name) / "spark.log")
        spark = open_session(settings)
        print(json.dumps(run_once(sized, mode, spark)["peak"]))
        spark.stop()


def check_cpu_seconds(sized: Sized) -> dict[str, float]:
    """Measure the check of a result: by memory (without the rows from memory themselves), and against the inputs."""
    run_once(sized, Mode.SINGLE, None)
    fs, job = RealFileSystem(), sized.job
    plan = jobs.read_plan(fs, job)
    found = swap_protocol.Accepted(plan, jobs.read_manifest(fs, job))
    costs = {}
    for name, check in (("by memory", swap_protocol.check), ("against inputs", swap_protocol.check_against_inputs)):
        begun = time.process_time()
        for result in found.results:
            check(fs, sized.data_dir, found, result)
        costs[name] = time.process_time() - begun
    return costs


def cold_commands(sized: Sized, mode: Mode, args: argparse.Namespace, work_dir: Path) -> list[dict[str, Any]]:
    """`coordinator compact` from nothing to the last rename, on a copy that no daemon serves."""
    runs = []
    for number in range(args.cold_rounds):
        wait_for_quiet(args.quiet_within)
        copy = work_dir / f"cold-{number}"
        copy.mkdir()
        for path in sized.data_dir.glob("__consumer_offsets-*"):
            shutil.copytree(path, copy / path.name)
        command = [sys.executable, "-m", "coordinator", "compact", "--data-dir", str(copy), "--json"]
        command += ["--mode", mode, "--min-cleanable-dirty-ratio", "0", "--roll"]
        command += [] if mode is Mode.SINGLE else ["--master", args.master]
        begun = time.perf_counter()
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT, timeout=1800)
        seconds = time.perf_counter() - begun
        facts = json.loads(done.stdout.splitlines()[-1])
        runs.append({"mb": sized.mb, "seconds": seconds, "mode": facts["mode"], "stages": facts["seconds"]})
        print(f"  cold command, {sized.mb} MB, {mode}: {seconds:.1f} s", flush=True)
        shutil.rmtree(copy)
    return runs


def megabytes(peak: dict[str, int]) -> str:
    return ", ".join(f"{stage} {size / 1e6:.0f} MB" for stage, size in peak.items())


def table(sizes: list[Sized]) -> list[str]:
    rows = [
        "| log | implementation | seconds, median (spread) | MB/s | CPU seconds | times plain | first in session |",
        "|---|---|---|---|---|---|---|",
    ]
    for sized in sizes:
        plainly = statistics.median(sized.seconds[PLAIN]) if PLAIN in sized.seconds else None
        for name, seconds in sized.seconds.items():
            middle = statistics.median(seconds)
            ratio = f"{plainly / middle:.1f}" if plainly else "-"
            first = f"{sized.first_s[name]:.1f} s" if name in sized.first_s else ""
            rows.append(
                f"| {sized.input_bytes / 1e6:.0f} MB | {name} | {middle:.2f} ({min(seconds):.2f}..{max(seconds):.2f}) "
                f"| {sized.input_bytes / 1e6 / middle:.0f} | {statistics.median(sized.cpu_seconds[name]):.1f} "
                f"| {ratio} | {first} |"
            )
    return rows


def stage_lines(sizes: list[Sized]) -> list[str]:
    lines = []
    for sized in sizes:
        for name, stages in sized.stages.items():
            parts = [f"{stage} {statistics.median(seconds):.2f} s" for stage, seconds in stages.items()]
            lines.append(f"{sized.mb} MB, {name}: {', '.join(parts)}")
    return lines


def verdict(is_reached: bool) -> str:
    return "reached" if is_reached else "MISSED"


def verdicts(sizes: list[Sized], memory: dict[tuple[int, str], dict[str, int]]) -> list[str]:
    """Return the verdicts: each figure beside its target."""
    lines = []
    for sized in sizes:
        for mode, wanted in TARGETS.get(sized.mb, {}).items():
            if PLAIN not in sized.seconds:
                continue
            ratio = statistics.median(sized.seconds[PLAIN]) / statistics.median(sized.seconds[mode])
            lines.append(
                f"{sized.mb} MB, {mode}: {ratio:.1f} times plain (wanted: {wanted:g}): {verdict(ratio >= wanted)}"
            )
        if sized.shuffled:
            share = statistics.median(sized.shuffled) / sized.input_bytes
            lines.append(
                f"{sized.mb} MB, distributed: {statistics.median(sized.shuffled) / 1e6:.1f} MB shuffled, {share:.1%} "
                f"of the input (wanted: at most {SHUFFLE_SHARE:.0%}): {verdict(share <= SHUFFLE_SHARE)}; "
                f"the scans left {sized.candidates} candidates for {sized.keys} keys"
            )
    if len(sizes) > 1 and memory:
        for mode in (Mode.PARTITION, Mode.DISTRIBUTED):
            small, large = (max(memory[sized.mb, mode].values()) / 1e6 for sized in (sizes[0], sizes[-1]))
            times = sizes[-1].size_bytes / sizes[0].size_bytes
            said = f"{mode}: a task held at most {small:.0f} MB, and {large:.0f} MB of a log {times:.3g} times as large"
            if mode is Mode.DISTRIBUTED:
                said += f" (wanted: the same): {verdict(large <= 1.15 * small)}"
            lines.append(said)
    return lines


def end_to_end_lines(cold: list[dict[str, Any]]) -> list[str]:
    """The whole command, by size and mode."""
    lines = []
    for mb, mode in dict.fromkeys((run["mb"], run["mode"]) for run in cold):
        runs = [run for run in cold if (run["mb"], run["mode"]) == (mb, mode)]
        seconds = statistics.median(run["seconds"] for run in runs)
        spent = ", ".join(f"{stage} {value:.1f} s" for stage, value in runs[0]["stages"].items())
        lines.append(f"end to end, cold, {mb} MB, {mode}: {seconds:.1f} s; the first: {spent}")
    return lines


def check_lines(sizes: list[Sized], checks: dict[int, dict[str, float]]) -> list[str]:
    """Return the table of the check's cost beside the job's."""
    lines = []
    for sized in sizes:
        job = statistics.median(sized.cpu_seconds[Mode.SINGLE])
        for name, seconds in checks[sized.mb].items():
            lines.append(
                f"check {name}, {sized.mb} MB: {seconds:.1f} CPU seconds, the job {job:.1f} "
                f"(wanted: no more): {verdict(seconds <= job)}"
            )
    return lines


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sizes", default="200MB,1GB", help="of the logs (default 200MB,1GB)")
    parser.add_argument("--segment-size", type=size_of, default="8MB", help="of each (default 8MB)")
    parser.add_argument("--rounds", type=int, default=3, help="warm runs of each mode (default 3)")
    parser.add_argument("--plain-rounds", type=int, default=3, help="of these with plain (default 3)")
    parser.add_argument("--cold-rounds", type=int, default=3, help="runs of the whole command (default 3)")
    parser.add_argument("--no-memory", action="store_true", help="leave out the runs that only look at memory")
    parser.add_argument("--master", default="local[2]", help="where Spark runs (default local[2])")
    parser.add_argument("--driver-memory", default="2g", help="of Spark's JVM (default 2g)")
    parser.add_argument("--seed", type=int, default=1, help="of the logs")
    parser.add_argument(
        "--quiet-within", type=float, default=3.0, help="seconds to wait for a quiet machine (default 3)"
    )
    parser.add_argument("--json", type=Path, default=BUILD / "compaction.json", help="where the raw figures go")
    parser.add_argument("--work-dir", type=Path, default=BUILD, help="where the logs go: the disk measured")
    parser.add_argument("--one", nargs=2, metavar=("JOB", "MODE"), help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    args = parse_args()
    if args.one:
        one(*args.one, args)
        return 0
    facts = machine() | {"busy_before": round(busy_share(), 2)}
    print(
        f"sparkbench: {facts['cpu']}, {facts['cores']} cores, Python {facts['python']}, busy {facts['busy_before']:.0%}"
    )
    args.work_dir.mkdir(parents=True, exist_ok=True)
    try:
        with tempfile.TemporaryDirectory(prefix="sparkbench-", dir=args.work_dir) as name:
            work_dir = Path(name)
            sizes = [prepare(size_of(text), work_dir, args.segment_size, args.seed) for text in args.sizes.split(",")]
            (work_dir / "events").mkdir()
            disturbed = measure(sizes, args, work_dir / "events")
            memory = {} if args.no_memory else peaks(sizes, args)
            checks = {sized.mb: check_cpu_seconds(sized) for sized in sizes}
            cold = [
                run
                for sized in sizes
                for mode in (Mode.SINGLE, Mode.PARTITION)
                for run in cold_commands(sized, mode, args, work_dir)
            ]
    except WrongFilesError as error:
        print(f"sparkbench: FAILED: {error}", file=sys.stderr)
        return 1
    print("\n" + "\n".join(table(sizes)) + "\n")
    print("\n".join(stage_lines(sizes)))
    if disturbed:
        print(f"{disturbed} runs began on a busy machine: they read too slow")
    lines = [*verdicts(sizes, memory), *check_lines(sizes, checks), *end_to_end_lines(cold)]
    print("\n".join(lines))
    report = {
        "machine": facts,
        "sizes": [
            {
                "size_bytes": sized.input_bytes,
                "output_bytes": sized.output_bytes,
                "keys": sized.keys,
                "candidates": sized.candidates,
                "seconds": sized.seconds,
                "cpu_seconds": sized.cpu_seconds,
                "first_s": sized.first_s,
                "stages": sized.stages,
                "shuffle_bytes": sized.shuffled,
            }
            for sized in sizes
        ],
        "peak_rss_bytes": [{"mb": mb, "mode": mode, **peak} for (mb, mode), peak in memory.items()],
        "check_cpu_seconds": [{"mb": mb, **costs} for mb, costs in checks.items()],
        "cold": cold,
    }
    args.json.parent.mkdir(parents=True, exist_ok=True)
    args.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
