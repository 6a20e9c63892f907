"""`coordinator log repair PATH`: says what it would take out of damaged logs, and with `--execute` does it.

The daemon must be stopped: its lock is held meanwhile. What is taken out stays beside the log, in files `….cut` and
`….set-aside`. Afterwards the logs are checked again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Final

from coordinator.cli.compact.daemon_lock import lock_of
from coordinator.cli.errors import CliError
from coordinator.cli.log.partitions import data_dirs
from coordinator.cli.log.verify import checked
from coordinator.cli.table import escaped
from coordinator.selfcheck.checkpoints import check_data_dir
from coordinator.selfcheck.findings import SetAside
from coordinator.selfcheck.repair import carry_out, plan_of, sentences, set_aside
from coordinator.storage.log.errors import LogError
from coordinator.storage.log.fs import FileSystem, RealFileSystem
from coordinator.storage.log.log import LogConfig

DESCRIPTION: Final = "Take out what is damaged in logs, so that the rest is served. Only tells, without --execute."

EPILOG: Final = """\
examples:
  coordinator log repair data                                   what it would do to every partition
  coordinator log repair data/__consumer_offsets-3 --execute

Copy the directory away first. exit code: 0 nothing is damaged (any more), 1 something is, 2 the call is wrong, or a
daemon runs. docs/log-verify.md says what each repair costs."""

ROUNDS: Final = 5  # a repair may uncover the next fault: a finished swap, more findings than one report holds


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", type=Path, help="a data directory or a partition's")
    parser.add_argument("--execute", action="store_true", help="carry it out; without this nothing is changed")


def run(arguments: argparse.Namespace) -> int:
    fs = RealFileSystem()
    found = data_dirs(arguments.path)
    is_good = True
    for data_dir, partitions in found.items():
        try:
            lock = lock_of(fs, data_dir)
        except BlockingIOError:
            raise CliError(
                f"a daemon serves {data_dir}: stop it first, or use `coordinator log verify`, which only reads"
            ) from None
        try:
            ends: dict[str, int] = {}
            for partition in partitions:
                is_sound, ends[partition.name] = _repair(fs, partition, execute=arguments.execute)
                is_good = is_good and is_sound
            is_good = _repair_data_dir(fs, data_dir, ends, execute=arguments.execute) and is_good
        except (LogError, OSError) as error:
            raise CliError(f"{error}; the log is in its old or its new form: run this again", 1) from None
        finally:
            lock.close()
    return 0 if is_good else 1


def _repair(fs: FileSystem, partition: Path, *, execute: bool) -> tuple[bool, int]:
    """Tell or carry out the plan of a partition. Returns whether it is good now, and where it ends."""
    for _ in range(ROUNDS):
        report = checked(fs, partition, is_served=False)
        plan = plan_of(fs, report)
        for finding in report.findings:
            if finding.mend is None:
                _say(f"{partition}: not mended: {finding}")
        if plan.is_empty:
            if not report.findings:
                _say(f"{partition}: good, {report.records} records")
            break
        for sentence in sentences(fs, plan):
            _say(f"{partition}: {'' if execute else 'would '}{sentence}")
        if not execute:
            _say(f"{partition}: nothing was changed; --execute carries it out")
            break
        for name in carry_out(fs, plan, LogConfig().index_interval_bytes):
            _say(f"{partition}: kept {name}")
    return plan.is_empty and not report.findings, report.end_offset


def _repair_data_dir(fs: FileSystem, data_dir: Path, ends: dict[str, int], *, execute: bool) -> bool:
    names = [found.mend.name for found in check_data_dir(fs, data_dir, ends) if isinstance(found.mend, SetAside)]
    for name in names:
        _say(f"{data_dir}: {'' if execute else 'would '}rename {name}, which does not fit the logs")
    if execute:
        for name in set_aside(fs, data_dir, names):
            _say(f"{data_dir}: kept {name}")
    return execute or not names


def _say(line: str) -> None:
    print(escaped(line), flush=True)
