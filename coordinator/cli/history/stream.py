"""`coordinator tables`: keeps commits, members, rebalances, moves and lag of all groups as Parquet, while they happen.

It reads the offsets log of a data directory or of a `log.engine`, or the offsets topic of any Kafka, with Spark's
Structured Streaming. The tables are a history, so `coordinator history`, `restore` and `undo` answer from them.
"""

from __future__ import annotations

import argparse
import json
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.arguments import add_command_config, seconds
from coordinator.cli.engine import add_engine
from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import (
    DEFAULT_DATA_DIR,
    add_retention,
    directory_or_url,
    positive,
    reading_files,
    sources_of,
    writing_to,
)
from coordinator.cli.history.stream_lake import (
    add_lake,
    catch_up,
    lake_location,
    open_lake,
    push_and_publish,
    spark_settings,
)
from coordinator.cli.history.stream_origins import Connect, DirectoryOrigin, KafkaOrigin, Origin, origin_of
from coordinator.cli.screen import tell
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    from coordinator.history.lag_table import LagTable
    from coordinator.history.source import HistorySource
    from coordinator.history.spark_lake import SparkLake
    from coordinator.history.spark_stream import MicroBatch
    from coordinator.history.stream_writer import StreamWriter

DESCRIPTION: Final = """\
Keep commits, members, rebalances, moves and lag of all groups as Parquet tables, while they happen.
Each commit is in the tables once, whenever this command is killed and started again."""

EPILOG: Final = """\
examples:
  coordinator tables --tables-dir tables                                     from the data directory ./data
  coordinator tables --tables-dir tables --bootstrap-server kafka-1:9092     from any Kafka
  coordinator tables --tables-dir tables --config server.properties          from the log.engine of these nodes
  coordinator tables --tables-dir tables --available-now                     what exists now, and the end
  coordinator tables --tables-dir tables --format delta                      as tables in Delta, too
  coordinator history rebalances my-group --history-dir tables               ask the tables"""

DEFAULT_EVERY_S: Final = 30.0
TRIGGERS_BETWEEN_REMOVALS: Final = 100  # what is too old changes once a day


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--tables-dir",
        type=directory_or_url,
        required=True,
        metavar="DIR",
        help="the directory of the tables, or its URL in a bucket: s3://bucket/tables",
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument(
        "--data-dir",
        type=Path,
        metavar="DIR",
        help=f"the data directory of a coordinator or of a Kafka; default: {DEFAULT_DATA_DIR}",
    )
    source.add_argument(
        "--bootstrap-server", metavar="HOST:PORT,...", help="read the offsets topic of this Kafka instead"
    )
    add_engine(parser)
    add_command_config(parser)
    add("--timeout", metavar="SECONDS", type=seconds, default=10.0, help="for an answer of a broker; default: 10")
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--every",
        metavar="SECONDS",
        type=seconds,
        default=DEFAULT_EVERY_S,
        help="add to the tables so often; default: 30",
    )
    when.add_argument("--available-now", action="store_true", help="add what exists now, and end")
    add_retention(parser, "-1")
    add(
        "--lag-from",
        metavar="HOST:PORT,...",
        help="ask these brokers for the log ends and the names of topics; default: --bootstrap-server",
    )
    add("--max-offsets-per-trigger", type=positive, default=1_000_000, metavar="N", help="default: 1000000")
    add(
        "--offsets-partitions", type=positive, metavar="N", help="of the offsets log, if the data directory has not all"
    )
    add("--skip-corrupt", action="store_true", help="leave out damaged batches instead of stopping there")
    add_lake(parser)
    add("--master", metavar="URL", help="the Spark master; default: local[*]")
    jars = parser.add_mutually_exclusive_group()
    jars.add_argument(
        "--packages",
        metavar="COORDINATES",
        help="from Maven, separated by commas; default: for a Kafka Spark's source of it, and that of --format",
    )
    jars.add_argument("--jars", metavar="FILES", help="the files of these and what they need, separated by commas")
    add("--json", action="store_true", help="print a JSON line for each trigger, for programs")


def run(arguments: argparse.Namespace) -> int:
    with reading_files():
        from coordinator.history.extract import locked
        from coordinator.storage.log.fs import RealFileSystem

        origin = origin_of(arguments)
        place = lake_location(arguments)
        with writing_to(arguments.tables_dir) as (arguments.tables_dir, push):
            source = origin.tables()
            with locked(source, RealFileSystem()), _spark(arguments, origin, place) as spark:
                _stream(arguments, source, origin, push, spark, open_lake(arguments, spark, source, place))
    return 0


def _lag(connect: Connect | None, source: HistorySource, writer: StreamWriter) -> LagTable | None:
    """Return the table of lag, with the commits that are in the tables already; None: no broker to ask for the ends."""
    if connect is None:
        return None
    from coordinator.cli.log_ends import log_end_offsets
    from coordinator.history.lag_table import LagTable
    from coordinator.history.layout import commit_files
    from coordinator.storage.log.fs import RealFileSystem

    def ends(partitions: Collection[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
        with connect() as client:
            return log_end_offsets(client, partitions)

    lag = LagTable(source.history_dir, ends, RealFileSystem())
    for partition, mark in sorted(writer.marks.partitions.items()):
        files = [each for each in commit_files(source.history_dir, partition) if each.start < mark.next_offset]
        lag.take([str(each.path) for each in sorted(files, key=lambda each: each.start)])
    return lag


def _stream(
    arguments: argparse.Namespace,
    source: HistorySource,
    origin: Origin,
    push: Callable[[], object],
    spark: Any,
    lake: SparkLake | None,
) -> None:
    from coordinator.history.bucket import BucketError
    from coordinator.history.layout import COMMITS_DIR
    from coordinator.history.retention import Limits
    from coordinator.history.spark_stream import run as run_stream
    from coordinator.history.stream_writer import StreamWriter

    writer = StreamWriter(source, origin.names)
    check_ends(writer.next_offsets, origin.ends(source))
    catch_up(lake, writer.next_offsets, push)
    lag = _lag(origin.connect, source, writer)
    progress = _Progress(as_json=arguments.json)
    limits = Limits(-1 if arguments.retention_ms is None else arguments.retention_ms)
    replacing = threading.Lock()  # files of events are replaced in the thread of this command, the others in Spark's

    def on_batch(batch: MicroBatch) -> None:
        if lag is not None:
            for extracted in batch.done:
                lag.take([name for name in extracted.names if name.startswith(COMMITS_DIR)])
        rows = 0 if lag is None else lag_rows(lag, wall_ms())
        try:
            with replacing:
                push_and_publish(lake, writer.next_offsets, push)
                if batch.number % TRIGGERS_BETWEEN_REMOVALS == 0:  # of what is appended
                    removed = writer.forget_old(limits, wall_ms())
                    if removed.lag_files and lag is not None:
                        lag.forget_written()  # so the next trigger writes rows of all partitions
        except BucketError as error:
            tell(f"the tables are not in the bucket yet: {error}; trying again at the next trigger")
        progress.show(batch, rows)

    sources = sources_of(arguments) if isinstance(origin, DirectoryOrigin) else ()

    def beside() -> None:
        with replacing:
            _add_events(sources)

    run_stream(
        spark,
        origin.log(source),
        writer,
        every_s=None if arguments.available_now else arguments.every,
        on_batch=on_batch,
        beside=beside,
    )
    push_and_publish(lake, writer.next_offsets, push)
    progress.close()


def _add_events(sources: Iterable[HistorySource]) -> None:
    """Add the events of groups that the topic in the data directories has, and the tables do not."""
    from coordinator.history.events import add_events
    from coordinator.storage.log.fs import RealFileSystem

    for source in sources:
        for problem in add_events(source, RealFileSystem()).problems:
            tell(f"some events are not in the tables: {problem}; trying again at the next trigger")


def lag_rows(lag: LagTable, at_ms: int) -> int:
    """Write the rows of a trigger, and return how many. A broker that does not answer is no end of the stream."""
    try:
        return lag.write(at_ms)
    except CliError as error:
        tell(f"the lag is not known now: {error}; trying again at the next trigger")
        return 0


def check_ends(next_offsets: Mapping[int, int], ends: Mapping[int, int]) -> None:
    """Raise CliError if a log ends before its marks: its records would be taken for those that are there already."""
    for partition, end in sorted(ends.items()):
        if end < next_offsets.get(partition, 0):
            raise CliError(
                f"partition {partition} of the offsets log ends at {end}, before the end of its tables at "
                f"{next_offsets[partition]}: it was made anew, or restored from a copy; name another --tables-dir"
            )


class _Progress:
    """A line for each trigger that added something, and a sentence at the end."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._commits = self._groups = self._files = 0
        self._started = time.perf_counter()

    def show(self, batch: MicroBatch, lag_rows: int) -> None:
        commits, groups = sum(each.commits for each in batch.done), sum(each.groups for each in batch.done)
        files = sum(each.files for each in batch.done)
        self._commits, self._groups, self._files = self._commits + commits, self._groups + groups, self._files + files
        facts = {"at_ms": wall_ms(), "commits": commits, "group_records": groups, "files": files, "lag_rows": lag_rows}
        if self._as_json:
            print(json.dumps(facts | {"next_offsets": batch.next_offsets}), flush=True)
        elif batch.done:
            tell(f"added {commits} commits and {groups} records of groups in {files} files")

    def close(self) -> None:
        if not self._as_json:
            print(
                f"added {self._commits} commits and {self._groups} records of groups in {self._files} files, in "
                f"{time.perf_counter() - self._started:.1f} s"
            )


@contextmanager
def _spark(arguments: argparse.Namespace, origin: Origin, place: str | None) -> Iterator[Any]:
    """Run Spark, with its Kafka source if a Kafka is read, and the format of the tables at this place.

    CliError: it cannot be started, or the stream failed.
    """
    from coordinator.cli.history.all_groups import spark_session

    packages = []
    if isinstance(origin, KafkaOrigin) and arguments.jars is None:
        from coordinator.history.spark_stream import kafka_package

        packages = [kafka_package()]
    with spark_session(arguments.master, spark_settings(arguments, place, packages)) as spark:
        yield spark
