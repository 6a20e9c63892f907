"""`coordinator log verify PATH ...`: checks logs on disk, and says what a start would do with each fault.

Standard output has one line for each partition, and one for each finding. Files are only read, so a daemon or a Kafka
may be running; the end of its newest segments may then be a write that has not ended, and is not judged.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from coordinator.cli.compact.daemon_lock import is_served
from coordinator.cli.errors import CliError
from coordinator.cli.log.partitions import data_dirs
from coordinator.cli.table import escaped
from coordinator.selfcheck.checkpoints import check_data_dir
from coordinator.selfcheck.findings import LogFinding, PartitionReport
from coordinator.selfcheck.partition import ChangedMeanwhileError, check_partition
from coordinator.storage.log.fs import FileSystem, ReadOnlyFileSystem

DESCRIPTION: Final = "Check logs on disk, of this coordinator or of a Kafka. Reads files only, even beside a daemon."

EPILOG: Final = """\
examples:
  coordinator log verify data                           every partition, and the checkpoints
  coordinator log verify data/__consumer_offsets-3 --json
  coordinator log verify /var/lib/kafka                 the directory of a Kafka

exit code: 0 nothing was found, 1 something was, 2 the call is wrong. docs/log-verify.md lists what is checked."""

ATTEMPTS: Final = 5  # of a partition whose segments are replaced meanwhile
PROGRESS_S: Final = 5.0
_MB: Final = 1_000_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", metavar="PATH", nargs="+", type=Path, help="a data directory or a partition's")
    parser.add_argument("--json", action="store_true", help="print a JSON object for each partition")


def run(arguments: argparse.Namespace) -> int:
    found = 0
    for path in arguments.paths:
        for data_dir, partitions in data_dirs(path).items():
            found += _verify(data_dir, partitions, as_json=arguments.json)
    return int(found > 0)


def _verify(data_dir: Path, partitions: list[Path], *, as_json: bool) -> int:
    """Check the partitions and print what was found; return the number of findings."""
    fs = ReadOnlyFileSystem()
    served = is_served_quietly(data_dir)
    count = 0
    ends: dict[str, int] = {}
    for partition in partitions:
        report = checked(fs, partition, is_served=served)
        ends[partition.name] = report.end_offset
        count += len(report.findings) + report.more
        print(_as_json(report) if as_json else "\n".join(lines_of(report)), flush=True)
    if served:
        return count  # its checkpoints move while the logs are read
    for finding in check_data_dir(fs, data_dir, ends):
        count += 1
        print(
            json.dumps({"path": str(data_dir), "findings": [_plain(finding)]})
            if as_json
            else f"  {data_dir.name}/{finding}"
        )
    return count


def is_served_quietly(data_dir: Path) -> bool:
    """Return whether a daemon serves a directory; False if this user may not ask."""
    try:
        return is_served(ReadOnlyFileSystem(), data_dir)
    except CliError:
        return False


def checked(fs: FileSystem, partition: Path, *, is_served: bool) -> PartitionReport:
    """Check one partition, again if its segments were replaced meanwhile. CliError: it cannot be read."""
    progress = ReadProgress(partition)
    try:
        for _ in range(ATTEMPTS):
            try:
                return check_partition(fs, partition, is_served=is_served, progress=progress.read)
            except ChangedMeanwhileError:
                progress = ReadProgress(partition)
        raise CliError(f"{partition}: its segments are replaced all the time; run this again when no compaction runs")
    except OSError as error:
        raise CliError(f"{partition} cannot be read ({error.strerror}); run this as its owner") from None


class ReadProgress:
    """Says on standard error how far a long check is."""

    def __init__(self, partition: Path) -> None:
        self._name = partition.name
        self._total = sum(each.stat().st_size for each in partition.glob("*.log"))
        self._done = 0
        self._due = time.monotonic() + PROGRESS_S

    def read(self, size: int) -> None:
        """Count `size` bytes."""
        self._done += size
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + PROGRESS_S
            print(f"{self._name}: {self._done // _MB} of {self._total // _MB} MB", file=sys.stderr, flush=True)


def lines_of(report: PartitionReport) -> list[str]:
    """Return the lines for a partition: its figures, its findings, its notes."""
    figures = [f"{report.segments} segments", f"{report.batches} batches", f"{report.records} records"]
    if report.groups is not None:
        figures += [f"{report.groups} groups", f"{report.offsets} offsets"]
        if report.quarantined:
            figures.append(f"{report.quarantined} groups quarantined")
    if report.transactional_ids is not None:
        figures.append(f"{report.transactional_ids} transactional ids")
    verdict = "good" if not report.findings else f"{len(report.findings) + report.more} findings"
    extent = f"offsets {report.start_offset} to {report.end_offset}"
    lines = [f"{report.directory}: {verdict}; {', '.join(figures)}; {extent}"]
    lines += [f"  {finding}" for finding in report.findings]
    if report.more:
        lines.append(f"  and {report.more} more findings of this partition")
    lines += [f"  note: {note}" for note in report.notes]
    return [escaped(line) for line in lines]


def _as_json(report: PartitionReport) -> str:
    facts: dict[str, Any] = {
        "path": str(report.directory),
        **{
            name: getattr(report, name)
            for name in ("segments", "batches", "records", "groups", "offsets", "quarantined", "transactional_ids")
        },
        **{
            name: getattr(report, name)
            for name in ("size_bytes", "start_offset", "end_offset", "unknown", "notes", "more")
        },
        "findings": [_plain(finding) for finding in report.findings],
    }
    return json.dumps(facts, ensure_ascii=False)


def _plain(finding: LogFinding) -> dict[str, Any]:
    facts = asdict(finding)
    mend = type(finding.mend).__name__ if finding.mend is not None else None
    return {**facts, "mend": mend}
