"""`coordinator compact`: makes the offsets log as small as what is still true in it, with Spark, while it is in use.

With a daemon that serves the directory: asks it for a plan, does the work, and waits until the daemon has checked the
result and put it in place. Without one: does all of it itself, under the directory's lock. `--watch` goes on until it
is stopped, with one warm Spark session: it does what the daemon plans on its schedule, and asks now and then itself.

The same command runs under `spark-submit` (`coordinator/compaction/spark_main.py`).
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.errors import CliError
from coordinator.cli.past import DEFAULT_DATA_DIR, positive
from coordinator.cli.screen import need_extra, tell
from coordinator.cli.serve import read_properties
from coordinator.config import Config, load

if TYPE_CHECKING:
    from coordinator.cli.compact_rounds import Rounds

DESCRIPTION: Final = """\
Compact the offsets log: of every key the newest record stays, in Kafka's own format and by Kafka's rules. Works while
a daemon serves the directory, and when none does. Needs Java and the [spark] extra, but for --mode single."""

EPILOG: Final = """\
examples:
  coordinator compact --dry-run                          what there is to do
  coordinator compact --roll                             now, the newest segments included
  coordinator compact --watch                            from now on, beside the daemon
  coordinator compact --master spark://head:7077 --data-dir /mnt/shared/data
  coordinator compact --mode single                      without Spark

docs/compaction.md explains modes, settings and costs."""

MODES: Final = ("auto", "partition", "distributed", "single")
WATCH_S: Final = 300
ENDED: Final = 128 + signal.SIGTERM


class EndedError(Exception):
    """SIGTERM: whatever is being done is to be left."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--data-dir",
        type=Path,
        default=Path(DEFAULT_DATA_DIR),
        metavar="DIR",
        help=f"the data directory of a coordinator; default: {DEFAULT_DATA_DIR}",
    )
    what = parser.add_argument_group("what is compacted")
    what.add_argument("--roll", action="store_true", help="close the newest segments first, so that they are included")
    what.add_argument(
        "--min-cleanable-dirty-ratio",
        type=_ratio,
        metavar="R",
        help="how much of a partition must be new, 0 to 1; default: as configured (0.5)",
    )
    what.add_argument(
        "--partition", type=int, action="append", metavar="N", help="only this partition of the log; repeatable"
    )
    what.add_argument("--plan", metavar="ID", help="only the work of this plan, which is waiting for it")
    what.add_argument("--dry-run", action="store_true", help="show what is due, and change nothing")
    what.add_argument(
        "--watch",
        nargs="?",
        type=positive,
        const=WATCH_S,
        metavar="SECONDS",
        help=f"go on: do what the daemon plans, and ask for a plan every so often; default: {WATCH_S}",
    )
    how = parser.add_argument_group("how")
    how.add_argument("--mode", choices=MODES, default="auto", help="default: auto, by the size of the log")
    how.add_argument("--master", metavar="URL", help="where Spark runs; default: as spark-submit says, else local[*]")
    how.add_argument("--driver-memory", metavar="SIZE", help="of Spark's JVM; default: 2g")
    how.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark; repeatable")
    how.add_argument("--json", action="store_true", help="for programs: an object for each round")
    offline = parser.add_argument_group("settings, where no daemon runs that has its own")
    offline.add_argument("--config", metavar="FILE", type=Path, help="the daemon's server.properties")
    offline.add_argument("--override", metavar="KEY=VALUE", action="append", default=[], help="one setting; repeatable")
    offline.add_argument(
        "--delete-retention-ms", type=_milliseconds, metavar="MS", help="how long tombstones stay; default: a day"
    )


def run(arguments: argparse.Namespace) -> int:
    need_extra()
    if not arguments.data_dir.is_dir():
        raise CliError(f"there is no data directory {arguments.data_dir}; name it with --data-dir")
    from coordinator.cli import compact_screen
    from coordinator.cli.compact_rounds import Asked, Rounds, dry_run

    asked = Asked(
        data_dir=arguments.data_dir.absolute(),
        config=config_of(arguments),
        has_settings=bool(arguments.config or arguments.override or arguments.delete_retention_ms is not None),
        roll=arguments.roll,
        ratio=arguments.min_cleanable_dirty_ratio,
        partitions=None if arguments.partition is None else tuple(sorted(set(arguments.partition))),
        mode=arguments.mode,
        master=arguments.master,
        driver_memory=arguments.driver_memory,
        conf=spark_conf(arguments.conf),
    )
    if arguments.dry_run:
        return compact_screen.show_due(dry_run(asked), as_json=arguments.json)
    with _until_terminated() as ended, Rounds(asked, compact_screen.Progress()) as rounds:
        try:
            if arguments.watch is None:
                results = rounds.of_plan(arguments.plan) if arguments.plan else rounds.once()
                return max([compact_screen.show(result, as_json=arguments.json) for result in results], default=0)
            return _watch(arguments, rounds, ended)
        except EndedError:
            return 0 if arguments.watch is not None else ENDED


def _watch(arguments: argparse.Namespace, rounds: Rounds, ended: threading.Event) -> int:
    from coordinator.cli import compact_screen

    said = ""
    while not ended.is_set():
        try:
            for result in rounds.once():
                if result.plan is not None or result.sentence != said:  # "nothing to do" is said once
                    compact_screen.show(result, as_json=arguments.json)
                said = "" if result.plan is not None else result.sentence
            rounds.wait_for_work(arguments.watch)
        except CliError as error:
            if str(error) != said:
                tell(f"coordinator: {error}")
            said = str(error)
            if rounds.is_broken:
                raise
            rounds.pause(arguments.watch)
    return 0


@contextmanager
def _until_terminated() -> Iterator[threading.Event]:
    """SIGTERM ends whatever is being done, in order: files half made are taken away, Spark is stopped."""
    ended = threading.Event()

    def end(*_: Any) -> None:
        if not ended.is_set():  # once: what is being cleaned up is not to be interrupted
            ended.set()
            raise EndedError

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield ended
    finally:
        signal.signal(signal.SIGTERM, before)


def config_of(arguments: argparse.Namespace) -> Config:
    """The settings for a directory that no daemon serves."""
    flags = {"log.dirs": str(arguments.data_dir)}
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
    """`--conf KEY=VALUE`, as a dict."""
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
