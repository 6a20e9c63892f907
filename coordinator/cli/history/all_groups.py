"""`coordinator history … --all-groups`: the questions of `coordinator history` about all groups, answered by Spark."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import duration, selection_of, sources_of
from coordinator.cli.screen import need_extra, tell
from coordinator.cli.table import Row, table
from coordinator.history.times import ago, local_time, span
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from coordinator.history.spark_all_groups import AllGroups, AllMarks

DEFAULT_LIMIT: Final = 50
SHUFFLES_PER_CORE: Final = 4

Answer = list[dict[str, Any]]


@contextmanager
def spark_session(master: str | None, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """Run Spark for one command, with these settings of its own. CliError: it cannot be started, or it failed."""
    from coordinator.spark.spark_session import (
        SessionSettings,
        SparkUnavailableError,
        is_local,
        open_session,
        reason_of,
    )

    # A cluster has its own setting. Spark's default of 200 partitions is too many for a few local cores.
    conf = {"spark.sql.shuffle.partitions": str(SHUFFLES_PER_CORE * (os.cpu_count() or 1))} if is_local(master) else {}
    conf |= settings or {}

    with tempfile.TemporaryDirectory(prefix="coordinator-history-") as name:
        if sys.stderr.isatty():
            tell("starting Spark …")
        try:
            log = Path(name, "spark.log")
            spark = open_session(SessionSettings(master=master, name="coordinator", log=log, conf=conf))
        except SparkUnavailableError as error:
            raise CliError(str(error)) from None
        try:
            yield spark
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
                raise
            raise CliError(reason_of(error), 1) from None
        finally:
            spark.stop()


def run(arguments: argparse.Namespace) -> int:
    """Answer and print. Call within `reading_files`."""
    need_extra("pyspark", "pandas", extra="spark")
    from coordinator.history import file_list
    from coordinator.history.spark_all_groups import AllGroups
    from coordinator.history.tables import lost_segments, marks_of

    now = wall_ms()
    sources = sources_of(arguments)
    if getattr(arguments, "bootstrap_server", None) is not None:
        raise CliError("--bootstrap-server goes with one GROUP; leave it out with --all-groups")
    question, on_screen = _question(arguments, now)
    for source in sources:
        for partition, mark in marks_of(source).partitions.items():
            if lost := lost_segments(source, partition, mark, skip_corrupt=arguments.skip_corrupt):
                tell(f"left out: {file_list.sentence(source.history_dir, partition, lost)}")
    with spark_session(arguments.master) as spark:
        rows = AllGroups(spark, tuple(sources), arguments.skip_corrupt).ask(question)
    if arguments.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    elif rows:
        print(on_screen(rows))
    else:
        tell("no group matches; check --since, --until and --topic")
    return 0


def _question(
    arguments: argparse.Namespace, now: int
) -> tuple[Callable[[AllGroups, AllMarks], Answer], Callable[[Answer], str]]:
    """Return the question, and the function that formats its answer."""
    from coordinator.history import spark_all_groups

    selection = selection_of(arguments, now)
    limit = getattr(arguments, "limit", DEFAULT_LIMIT)
    if arguments.action == "commits":
        return partial(spark_all_groups.commit_counts, selection=selection, limit=limit), partial(_commits, now=now)
    if arguments.action == "rate":
        window_ms = duration("--window", arguments.window)
        asked = partial(spark_all_groups.rates, selection=selection, window_ms=window_ms, limit=limit)
        return asked, partial(_rates, window_ms=window_ms)
    if arguments.action == "stalled":
        at_ms = min(now, selection.until_ms)
        for_ms = duration("--for", arguments.span)
        asked = partial(spark_all_groups.standstills, selection=selection, for_ms=for_ms, now_ms=at_ms, limit=limit)
        return asked, partial(_stalled, now=at_ms)
    return partial(spark_all_groups.rebalance_counts, selection=selection, limit=limit), partial(_rebalances, now=now)


def _commits(found: Answer, now: int) -> str:
    rows: list[Row] = [
        {
            "GROUP": row["group"],
            "COMMITS": row["commits"],
            "PARTITIONS": row["partitions"],
            "LAST": local_time(row["last_ms"], milliseconds=False),
            "AGO": ago(row["last_ms"], now),
        }
        for row in found
    ]
    return table(rows, right=("AGO",))


def _rates(found: Answer, window_ms: int) -> str:
    rows: list[Row] = [
        {
            "GROUP": row["group"],
            "COMMITS": row["commits"],
            "PROGRESS": row["progress"],
            f"PER {span(window_ms)}": round(row["progress"] / ((row["last_ms"] - row["first_ms"]) // window_ms)),
            "PEAK": row["peak"],
            "FROM": local_time(row["first_ms"], milliseconds=False),
            "FOR": span(row["last_ms"] - row["first_ms"]),
        }
        for row in found
    ]
    return table(rows, right=("FOR",))


def _stalled(found: Answer, now: int) -> str:
    rows: list[Row] = [
        {
            "GROUP": row["group"],
            "PARTITION": f"{row['topic']}-{row['partition']}",
            "OFFSET": row["offset"],
            "SINCE": local_time(row["since_ms"], milliseconds=False),
            "FOR": span(max(now - row["since_ms"], 0)),
            "HOW": row["how"],
        }
        for row in found
    ]
    return table(rows, right=("FOR",))


def _rebalances(found: Answer, now: int) -> str:
    rows: list[Row] = [
        {
            "GROUP": row["group"],
            "REBALANCES": row["rebalances"],
            "LAST": local_time(row["last_ms"], milliseconds=False),
            "AGO": ago(row["last_ms"], now),
            "GEN": row["generation"],
            "MEMBERS": row["members"],
        }
        for row in found
    ]
    return table(rows, right=("AGO",))
