"""Output of a compaction: a progress bar while it runs, and tables, one line or JSON when it is done.

The bar is drawn on stderr, on a terminal only. Spark is asked a few times a second for the number of finished tasks. On
a terminal the result is two tables: sizes before and after, and the time of each stage. In a file or a pipe it is one
line. `--json` prints an object for each round with all facts.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.screen import tell
from coordinator.cli.table import Row, Value, table
from coordinator.compaction.plan import CompactionStats, PartitionResult
from coordinator.core.topics.names import OFFSETS_TOPIC, partition_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from rich.progress import Progress as Bar

    from coordinator.cli.compact.rounds import Result
    from coordinator.compaction.eligibility import Cleanable

ASK_S: Final = 0.25

NAMES: Final = {
    "open": "opening the log",
    "history": "extracting the history",
    "plan": "making a plan",
    "start Spark": "starting Spark",
    "clean": "cleaning partitions",
    "scan": "scanning segments",
    "rewrite": "rewriting segments",
    "manifest": "writing the manifest",
    "hand-over": "putting the result in place",
}
"""Descriptions of the stages."""


class Progress:
    """The progress bar; draws nothing if stderr is not a terminal."""

    def __init__(self) -> None:
        self._bar: Bar | None = None
        self._task: Any = None
        self._tasks = self._done = 0
        self._spark: SparkSession | None = None
        self._asking: threading.Thread | None = None
        self._ended = threading.Event()

    def stage(self, name: str, tasks: int) -> None:
        if not sys.stderr.isatty():
            return
        bar = self._started()
        if self._task is not None:
            bar.remove_task(self._task)
        self._tasks, self._done = tasks, 0
        self._task = bar.add_task(NAMES.get(name, name), total=tasks or None, count="")

    def advance(self) -> None:
        self._done += 1
        self._show(self._done)

    def follow(self, spark: SparkSession | None) -> None:
        self._spark = spark

    def say(self, sentence: str) -> None:
        if self._bar is not None:
            self._bar.console.print(sentence, markup=False, highlight=False)
        else:
            tell(sentence)

    def end(self) -> None:
        self._ended.set()
        if self._asking is not None:
            self._asking.join()
        if self._bar is not None:
            self._bar.stop()
        self._bar = self._task = self._asking = None

    def _started(self) -> Bar:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            columns = (
                SpinnerColumn(),
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[count]}"),
                TimeElapsedColumn(),
            )
            self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
            self._bar.start()
            self._ended.clear()
            self._asking = threading.Thread(target=self._ask, name="progress", daemon=True)
            self._asking.start()
        return self._bar

    def _show(self, completed: int) -> None:
        bar, task = self._bar, self._task
        if bar is not None and task is not None:
            total = self._tasks
            bar.update(task, completed=completed, count=f"{completed}/{total}" if total else "")

    def _ask(self) -> None:
        while not self._ended.wait(ASK_S):
            spark = self._spark
            if spark is None:
                continue
            try:
                tracker = spark.sparkContext.statusTracker()
                infos = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
                self._show(min(self._tasks, sum(info.numCompletedTasks for info in infos if info is not None)))
            except Exception:  # Spark Connect has no status tracker, and a session may be stopping
                self._spark = None


def show(result: Result, *, as_json: bool) -> int:
    """Print the result of a round, and return the exit code."""
    code = 0 if result.is_done and not _errors(result) else 1
    if as_json:
        print(json.dumps(facts_of(result)), flush=True)
    elif result.plan is None or result.report is None:
        print(result.sentence, flush=True)
    elif sys.stdout.isatty():
        print(partitions_table(result), stages_table(result), result.sentence, sep="\n\n")
    else:
        print(summary(result), flush=True)
    return code


def _errors(result: Result) -> dict[int, str]:
    if result.report is None:
        return {}
    return {each.partition: each.error for each in result.report.manifest.partitions if each.error}


def totals(result: Result) -> CompactionStats:
    """Return the sums over all partitions that were cleaned."""
    if result.report is None:
        return CompactionStats()
    return sum((each.stats for each in result.report.manifest.partitions if not each.error), start=CompactionStats())


def summary(result: Result) -> str:
    """Return the result as one line."""
    stats = totals(result)
    spent = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in result.seconds.items() if seconds >= 0.05)
    spent = spent or "all of it within 0.1 s"
    assert result.report is not None
    manifest = result.report.manifest
    segments = sum(len(each.inputs) for each in manifest.partitions)
    outputs = sum(len(each.outputs) for each in manifest.partitions)
    return (
        f"{result.sentence} (mode {manifest.mode}: {segments} segments became {outputs}, {stats.keys} keys, "
        f"{stats.tombstones_kept} tombstones kept and {stats.tombstones_dropped} dropped; {spent})"
    )


def partitions_table(result: Result) -> str:
    """Return the table of sizes before and after, with a row for each partition."""
    assert result.report is not None
    partitions = result.report.manifest.partitions
    good = [each for each in partitions if not each.error]
    rows = [_before_and_after(each.partition, each.stats, [each]) for each in partitions]
    rows.append(_before_and_after("all", totals(result), good))
    return table(rows, right=("PARTITION", "SEGMENTS", "BYTES", "RECORDS", "TOMBSTONES"))


def _before_and_after(name: Value, stats: CompactionStats, cleaned: Sequence[PartitionResult]) -> Row:
    error = "; ".join(each.error for each in cleaned if each.error)
    inputs, outputs = (sum(len(each.inputs) for each in cleaned), sum(len(each.outputs) for each in cleaned))
    if error:
        return {"PARTITION": name, "SEGMENTS": inputs, "ERROR": error}
    return {
        "PARTITION": name,
        "SEGMENTS": f"{inputs} → {outputs}",
        "BYTES": f"{stats.bytes_before} → {stats.bytes_after}",
        "RECORDS": f"{stats.records_before} → {stats.records_after}",
        "KEYS": stats.keys,
        "TOMBSTONES": f"{stats.tombstones_kept} kept, {stats.tombstones_dropped} dropped",
    }


def stages_table(result: Result) -> str:
    """Return the table of the time that each stage took."""
    assert result.report is not None
    size = totals(result).bytes_before
    rows: list[Row] = []
    for name, seconds in result.seconds.items():
        peak = result.report.peak_rss_bytes.get(name)
        rows.append(
            {
                "STAGE": NAMES.get(name, name),
                "SECONDS": f"{seconds:.1f}",
                "MB/S": f"{size / 1e6 / seconds:.0f}" if peak and seconds else None,
                "PEAK MEMORY OF A TASK": f"{peak / 1e6:.0f} MB" if peak else None,
            }
        )
    rows.append({"STAGE": "all", "SECONDS": f"{sum(result.seconds.values()):.1f}"})
    return table(rows, right=("SECONDS", "MB/S", "PEAK MEMORY OF A TASK"))


def facts_of(result: Result) -> dict[str, Any]:
    """Return all facts of a round, for programs."""
    report = result.report
    if result.plan is None or report is None:
        return {
            "plan": None,
            "topic": result.topic,
            "done": result.is_done,
            "sentence": result.sentence,
            "seconds": result.seconds,
        }
    return {
        "plan": result.plan.id,
        "topic": result.topic,
        "done": result.is_done,
        "sentence": result.sentence,
        "mode": report.manifest.mode,
        "was_done_before": report.was_done_before,
        "totals": totals(result).to_json(),
        "partitions": [
            {
                "partition": each.partition,
                "segments_before": len(each.inputs),
                "segments_after": len(each.outputs),
                "error": each.error,
                **each.stats.to_json(),
            }
            for each in report.manifest.partitions
        ],
        "seconds": result.seconds,
        "peak_rss_bytes": report.peak_rss_bytes,
        "candidates": report.candidates,
    }


def show_due(found: dict[tuple[str, int], tuple[Cleanable, bool]], *, as_json: bool) -> int:
    """Print the partitions that a round could clean, and whether they are due.

    If there are others than those of the offsets log, the table has their topics.
    """
    has_others = any(topic != OFFSETS_TOPIC for topic, _ in found)
    if as_json:
        facts = [
            {
                "topic": topic,
                "partition": partition,
                "clean_bytes": each.clean_bytes,
                "dirty_bytes": each.dirty_bytes,
                "ratio": round(each.ratio, 4),
                "clean_up_to": each.clean_up_to,
                "is_due": is_due,
            }
            for (topic, partition), (each, is_due) in found.items()
        ]
        print(json.dumps(facts, indent=2))
        return 0
    rows: list[Row] = [
        {
            "PARTITION": partition_directory(topic, partition) if has_others else partition,
            "CLEAN": f"{each.clean_bytes / 1e6:.1f} MB",
            "DIRTY": f"{each.dirty_bytes / 1e6:.1f} MB",
            "RATIO": f"{each.ratio:.2f}",
            "DUE": "yes" if is_due else "no",
        }
        for (topic, partition), (each, is_due) in found.items()
    ]
    if rows:
        print(table(rows, right=("CLEAN", "DIRTY", "RATIO")))
    due = [each for each, is_due in found.values() if is_due]
    size = sum(each.clean_bytes + each.dirty_bytes for each in due) / 1e6
    tell(f"{len(due)} of {len(found)} partitions are due, {size:.1f} MB; the newest segments do not count (--roll)")
    return 0
