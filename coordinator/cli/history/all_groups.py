"""`coordinator history … --all-groups`: the questions of `coordinator history` about all groups.

DuckDB answers in this process, or Spark if the history is large or a master is given.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import asking_duckdb, check_files, duration, selection_of, sources_of
from coordinator.cli.screen import need_extra, tell
from coordinator.cli.table import Row, table
from coordinator.history.times import ago, local_time, span
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from coordinator.history.questions import Answer, Selection
    from coordinator.history.source import HistorySource

DEFAULT_LIMIT: Final = 50
SHUFFLES_PER_CORE: Final = 4
MOST_LOCAL_BYTES: Final = 512 << 20  # of Parquet and log; see "Costs and limits" in docs/history.md


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
    now = wall_ms()
    if getattr(arguments, "bootstrap_server", None) is not None:
        raise CliError("--bootstrap-server goes with one GROUP; leave it out with --all-groups")
    selection = selection_of(arguments, now)
    name, parameters = _question(arguments, selection, min(now, selection.until_ms))
    sources = sources_of(arguments)
    check_files(arguments, sources)
    rows = _answer(arguments, sources, name, {**parameters, "limit": getattr(arguments, "limit", DEFAULT_LIMIT)})
    if arguments.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    elif rows:
        asked = {"now_ms": now, **parameters}
        cells: list[Row] = [{"GROUP": row["group"], **_ROWS[name](row, asked)} for row in rows]
        print(table(cells, right=("AGO", "FOR")))
    else:
        tell("no group matches; check --since, --until and --topic")
    return 0


def _question(arguments: argparse.Namespace, selection: Selection, at_ms: int) -> tuple[str, dict[str, Any]]:
    """Return the name of the question's text, and its parameters."""
    if arguments.action == "rate":
        return "rates", selection.parameters(duration("--window", arguments.window))
    if arguments.action == "stalled":
        return "stalled", {**selection.parameters(), "for_ms": duration("--for", arguments.span), "now_ms": at_ms}
    return {"commits": "commit_counts", "rebalances": "rebalance_counts"}[arguments.action], selection.parameters()


def _answer(
    arguments: argparse.Namespace, sources: Sequence[HistorySource], name: str, parameters: Mapping[str, Any]
) -> Answer:
    from coordinator.history.views import Stand, needed, text_of

    size = Stand.of(sources, needed(text_of(name))).size(sources)
    skip_corrupt = arguments.skip_corrupt
    if arguments.master is None and size <= MOST_LOCAL_BYTES:
        with asking_duckdb():
            from coordinator.history import duckdb_views

            return duckdb_views.ask_all_groups(sources, name, parameters, skip_corrupt=skip_corrupt)
    if arguments.master is None:
        tell(f"Spark answers, because {size >> 20} MB of Parquet and log are more than {MOST_LOCAL_BYTES >> 20} MB")
    need_extra("pyspark", "pandas", extra="spark")
    from coordinator.history import spark_views

    with spark_session(arguments.master) as spark:
        return spark_views.ask_all_groups(spark, sources, name, parameters, skip_corrupt=skip_corrupt)


# -- a row of an answer as a row of the table on the screen; `asked` are the parameters

Facts = Mapping[str, Any]


def _last(row: Facts, asked: Facts) -> Row:
    return {"LAST": local_time(row["last_ms"], milliseconds=False), "AGO": ago(row["last_ms"], asked["now_ms"])}


def _rates(row: Facts, asked: Facts) -> Row:
    window_ms, span_ms = asked["window_ms"], row["last_ms"] - row["first_ms"]
    mean = {f"PER {span(window_ms)}": round(row["progress"] / (span_ms // window_ms)), "PEAK": row["peak"]}
    return {**mean, "FROM": local_time(row["first_ms"], milliseconds=False), "FOR": span(span_ms)}


def _stalled(row: Facts, asked: Facts) -> Row:
    place = {"PARTITION": f"{row['topic']}-{row['partition']}", "OFFSET": row["offset"]}
    since = {"SINCE": local_time(row["since_ms"], milliseconds=False)}
    return {**place, **since, "FOR": span(max(asked["now_ms"] - row["since_ms"], 0)), "HOW": row["how"]}


def _counts(row: Facts, *names: str) -> Row:
    return {name.upper(): row[name] for name in names}


_ROWS: Final[Mapping[str, Callable[[Facts, Facts], Row]]] = {
    "commit_counts": lambda row, asked: {**_counts(row, "commits", "partitions"), **_last(row, asked)},
    "rates": lambda row, asked: {**_counts(row, "commits", "progress"), **_rates(row, asked)},
    "stalled": _stalled,
    "rebalance_counts": lambda row, asked: {
        **_counts(row, "rebalances"),
        **_last(row, asked),
        "GEN": row["generation"],
        "MEMBERS": row["members"],
    },
}
