"""`coordinator compact`: compacts the offsets log and the transaction log with Spark, while they are in use.

If a daemon serves the directory, the command asks it for a plan, runs the job, and waits until the daemon has checked
the result and swapped the segments. Otherwise it does all of this itself, under the directory's lock. `--watch` runs
until it is stopped, with one Spark session: it runs the jobs that the daemon plans, and asks for plans periodically.

The same command runs under `spark-submit` (`coordinator/cli/compact/spark_main.py`).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import DEFAULT_DATA_DIR, positive
from coordinator.cli.screen import need_extra, tell
from coordinator.cli.serve import read_properties
from coordinator.config.config import Config
from coordinator.config.sources import load
from coordinator.core.topics.names import COMPACTED_TOPICS, OFFSETS_TOPIC
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.worker_dirs import homes

if TYPE_CHECKING:
    from coordinator.cli.compact.rounds import Asked, Result, Rounds

DESCRIPTION: Final = """\
Compact the offsets log and the transaction log: keep the newest record of every key, in Kafka's own format and by
Kafka's rules. Works with and without a daemon that serves the directory. Needs Java and the [spark] extra; --mode
single needs only [history]."""

EPILOG: Final = """\
examples:
  coordinator compact --dry-run                          show what is due
  coordinator compact --roll                             compact now, including the newest segments
  coordinator compact --watch                            keep compacting beside the daemon
  coordinator compact --master spark://head:7077 --data-dir /mnt/shared/data
  coordinator compact --mode single                      compact without Spark

docs/compaction.md explains modes, settings and costs."""

MODES: Final = ("auto", "partition", "distributed", "single")
WATCH_S: Final = 300
LOOK_S: Final = 1.0
PAUSE_S: Final = 10.0  # after an error, which seldom goes away within a second
ENDED: Final = 128 + signal.SIGTERM


class EndedError(Exception):
    """SIGTERM has arrived."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--data-dir",
        type=Path,
        action="append",
        metavar="DIR",
        help=f"the data directory of a coordinator, or of its workers; repeatable; default: {DEFAULT_DATA_DIR}",
    )
    what = parser.add_argument_group("selection")
    what.add_argument("--roll", action="store_true", help="close the newest segments first, so that they are included")
    what.add_argument(
        "--min-cleanable-dirty-ratio",
        type=_ratio,
        metavar="R",
        help="the share of a partition that must be new, 0 to 1; default: as configured (0.5)",
    )
    what.add_argument("--topic", choices=COMPACTED_TOPICS, help="only this log; default: both")
    what.add_argument(
        "--partition",
        type=int,
        action="append",
        metavar="N",
        help=f"only this partition of --topic, by default of {OFFSETS_TOPIC}; repeatable",
    )
    what.add_argument("--plan", metavar="ID", help="run the job of this plan only")
    what.add_argument("--dry-run", action="store_true", help="show the partitions that are due, and change nothing")
    what.add_argument(
        "--watch",
        nargs="?",
        type=positive,
        const=WATCH_S,
        metavar="SECONDS",
        help=f"run on: do the daemon's jobs, and ask for a plan at this interval; default: {WATCH_S}",
    )
    how = parser.add_argument_group("job")
    how.add_argument(
        "--mode", choices=MODES, default="auto", help="default: auto, by the size of the log; a small one without Spark"
    )
    how.add_argument("--master", metavar="URL", help="the Spark master; default: that of spark-submit, else local[*]")
    how.add_argument("--driver-memory", metavar="SIZE", help="memory of Spark's JVM; default: 2g")
    how.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark; repeatable")
    how.add_argument("--json", action="store_true", help="print a JSON object for each round, for programs")
    offline = parser.add_argument_group("settings, if no daemon serves the directory")
    offline.add_argument("--config", metavar="FILE", type=Path, help="the daemon's server.properties")
    offline.add_argument("--override", metavar="KEY=VALUE", action="append", default=[], help="one setting; repeatable")
    offline.add_argument(
        "--delete-retention-ms", type=_milliseconds, metavar="MS", help="retention of tombstones; default: a day"
    )


def run(arguments: argparse.Namespace) -> int:
    need_extra("rich")
    directories = data_dirs(arguments.data_dir or [Path(DEFAULT_DATA_DIR)])
    _check(arguments, directories)
    from coordinator.cli.compact import screen as compact_screen
    from coordinator.cli.compact.rounds import Rounds

    asked = [asked_of(arguments, directory) for directory in directories]
    if arguments.dry_run:
        from coordinator.cli.compact.daemon_lock import NO_HISTORY, keeps_history
        from coordinator.cli.compact.dry_run import dry_run

        for each in asked:
            if len(asked) > 1:
                tell(f"{each.data_dir}:")
            due = dry_run(each)
            compact_screen.show_due(due, as_json=arguments.json)
            loses_history = any(is_due for (topic, _), (_, is_due) in due.items() if topic == OFFSETS_TOPIC)
            if loses_history and not keeps_history(RealFileSystem(), each.data_dir, each.config):
                tell(NO_HISTORY)
        return 0
    with _until_terminated() as ended, ExitStack() as stack:
        # The first round with work starts Spark, and the others use the same session.
        rounds = [stack.enter_context(Rounds(each, compact_screen.Progress())) for each in asked]
        try:
            if arguments.watch is not None:
                return _watch(arguments, rounds, ended)
            if arguments.plan:
                return _show(arguments, rounds[0].of_plan(arguments.plan))
            return max(_show(arguments, _named(each, each.once(), rounds)) for each in rounds)
        except EndedError:
            return 0 if arguments.watch is not None else ENDED


def _check(arguments: argparse.Namespace, directories: list[Path]) -> None:
    """Raise CliError for options that exclude each other, and for partitions that do not exist."""
    spark_conf(arguments.conf)
    if arguments.plan and len(directories) > 1:
        raise CliError("--plan is of one directory; name it with --data-dir")
    ways = [flag for flag in ("--plan", "--dry-run", "--watch") if _value(arguments, flag) not in (None, False)]
    if len(ways) > 1:
        raise CliError(f"{' and '.join(ways)} do not go together; give one of them")
    planned = ("--roll", "--min-cleanable-dirty-ratio", "--topic", "--partition")
    if arguments.plan and (made := [flag for flag in planned if _value(arguments, flag) not in (None, False)]):
        raise CliError(f"--plan does the work of a plan that is made already; leave out {' and '.join(made)}")
    sparks = [flag for flag in ("--master", "--driver-memory", "--conf") if _value(arguments, flag)]
    if arguments.mode == "single" and sparks:
        raise CliError(f"--mode single works without Spark; leave out {' and '.join(sparks)}, or choose another mode")
    topic = arguments.topic or OFFSETS_TOPIC
    from coordinator.history.segments import partitions_in  # late, because it needs the extra

    known = {partition for directory in directories for partition in partitions_in(directory, topic)}
    unknown = sorted(set(arguments.partition or ()) - known)
    if unknown:
        log = "the offsets log" if topic == OFFSETS_TOPIC else topic
        raise CliError(
            f"{log} has no partition {', '.join(map(str, unknown))}; there are: "
            f"{', '.join(map(str, sorted(known))) or 'none'}"
        )


def _value(arguments: argparse.Namespace, flag: str) -> Any:
    return getattr(arguments, flag.removeprefix("--").replace("-", "_"))


def data_dirs(named: list[Path]) -> list[Path]:
    """Return the directories to compact; for a daemon with workers, theirs. CliError: one does not exist."""
    found: list[Path] = []
    for path in named:
        if not path.is_dir():
            raise CliError(f"there is no data directory {path}; name it with --data-dir")
        workers = homes(RealFileSystem(), path.absolute())
        found += [workers[node] for node in sorted(workers)] or [path.absolute()]
    return found


def asked_of(arguments: argparse.Namespace, directory: Path) -> Asked:
    """Return the options for one directory."""
    from coordinator.cli.compact.rounds import Asked

    return Asked(
        data_dir=directory,
        config=config_of(arguments, directory),
        has_settings=bool(arguments.config or arguments.override or arguments.delete_retention_ms is not None),
        roll=arguments.roll,
        ratio=arguments.min_cleanable_dirty_ratio,
        topics=_topics(arguments),
        partitions=None if arguments.partition is None else tuple(sorted(set(arguments.partition))),
        mode=arguments.mode,
        keeps_spark=arguments.watch is not None,
        master=arguments.master,
        driver_memory=arguments.driver_memory,
        conf=spark_conf(arguments.conf),
    )


def _topics(arguments: argparse.Namespace) -> tuple[str, ...]:
    if arguments.topic is not None:
        return (arguments.topic,)
    return COMPACTED_TOPICS if arguments.partition is None else (OFFSETS_TOPIC,)


def _show(arguments: argparse.Namespace, results: list[Result]) -> int:
    from coordinator.cli.compact import screen as compact_screen

    return max([compact_screen.show(result, as_json=arguments.json) for result in results], default=0)


def _named(one: Rounds, results: list[Result], all_rounds: list[Rounds]) -> list[Result]:
    """Prefix the sentences with the directory if there are several, and with a topic other than the offsets log."""
    place = f"{one.data_dir}: " if len(all_rounds) > 1 else ""
    return [
        replace(result, sentence=f"{place}{f'{result.topic}: ' * (result.topic != OFFSETS_TOPIC)}{result.sentence}")
        for result in results
    ]


def _watch(arguments: argparse.Namespace, rounds: list[Rounds], ended: threading.Event) -> int:
    said: dict[tuple[Path, str], str] = {}  # by directory and topic; an error has no topic
    while not ended.is_set():
        failed = False
        for each in rounds:
            where = each.data_dir
            try:
                for result in _named(each, each.once(), rounds):
                    key = where, result.topic
                    if result.plan is not None or result.sentence != said.get(key):  # "nothing to do" is printed once
                        _show(arguments, [result])
                    said[key] = "" if result.plan is not None else result.sentence
                said.pop((where, ""), None)
            except CliError as error:
                failed = True
                if str(error) != said.get((where, "")):
                    tell(f"coordinator: {error}")
                said[where, ""] = str(error)
                if each.is_broken:
                    raise
        _wait(rounds, min(PAUSE_S, arguments.watch) if failed else arguments.watch)
    return 0


def _wait(rounds: list[Rounds], at_most_s: float) -> None:
    """Wait until a daemon has planned a job, for at most this time."""
    deadline = time.monotonic() + at_most_s
    while time.monotonic() < deadline:
        with suppress(CliError):  # the next round reports it
            if any(each.has_work() for each in rounds):
                return
        time.sleep(min(LOOK_S, at_most_s))


@contextmanager
def _until_terminated() -> Iterator[threading.Event]:
    """Raise EndedError on SIGTERM, so that unfinished files are removed and Spark is stopped."""
    ended = threading.Event()

    def end(*_: Any) -> None:
        if not ended.is_set():  # a second signal must not interrupt the cleanup
            ended.set()
            raise EndedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)


def config_of(arguments: argparse.Namespace, directory: Path) -> Config:
    """Return the settings for a directory that no daemon serves."""
    flags = {"log.dirs": str(directory)}
    if arguments.delete_retention_ms is not None:
        flags["log.cleaner.delete.retention.ms"] = str(arguments.delete_retention_ms)
    text = read_properties(arguments.config) if arguments.config is not None else None
    return load(
        text,
        arguments.override,
        os.environ,
        file_name=str(arguments.config),
        flags=flags,
        warn=lambda sentence: print(f"coordinator: {sentence}", file=sys.stderr),
    )


def spark_conf(entries: list[str]) -> dict[str, str]:
    """Parse the values of `--conf KEY=VALUE`."""
    conf = {}
    for entry in entries:
        key, separator, value = entry.partition("=")
        if not separator or not key.startswith("spark."):
            raise CliError(f"--conf {entry!r} is no setting of Spark; write --conf spark.executor.memory=4g")
        conf[key] = value
    return conf


def _ratio(text: str) -> float:
    ratio = float(text)
    if not 0 <= ratio <= 1:
        raise ValueError(text)
    return ratio


def _milliseconds(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number
