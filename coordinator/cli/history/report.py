"""`coordinator report`: what troubled groups in the last days, what it cost, and what to do about it.

It reads files only, as `coordinator history` does. `coordinator.report` asks and judges; the tables are printed here.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import (
    add_place,
    add_times,
    asking_duckdb,
    check_files,
    moment,
    positive,
    reading_files,
    sources_of,
)
from coordinator.cli.screen import tell
from coordinator.cli.table import as_columns, escaped
from coordinator.processes.wall_clock import wall_ms

DESCRIPTION: Final = """\
Report what troubled groups: the most costly findings in ten lines, each with its advice, and tables below them.
It reads the events of groups, in a data directory or a history; no daemon is needed."""

EPILOG: Final = """\
examples:
  coordinator report                                    the last seven days, of all groups
  coordinator report --since -1d --group 'orders-*'
  coordinator report --since -14d --html report.html    with plots, in one file
  coordinator report --json"""

DEFAULT_SINCE: Final = "-7d"
DEFAULT_LIMIT: Final = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_times(parser)
    parser.set_defaults(since=DEFAULT_SINCE)
    add = parser.add_argument
    add("--group", default="*", metavar="PATTERN", help="only groups with such names, as orders-*; default: all")
    add("--limit", type=positive, default=DEFAULT_LIMIT, metavar="N", help="rows of each table; default: 20")
    add(
        "--html",
        type=Path,
        metavar="FILE",
        help="write the report with its plots to this file, and print its ten lines",
    )
    add("--json", action="store_true", help="print JSON, for programs")
    add_place(parser)


def run(arguments: argparse.Namespace) -> int:
    with reading_files(), asking_duckdb():
        from coordinator.report.material import Period, load
        from coordinator.report.report import GroupsReport

        now = wall_ms()
        until = moment("--until", arguments.until, now)
        period = Period(moment("--since", arguments.since, now) or 0, now if until is None else until)
        if period.since_ms >= period.until_ms:
            raise CliError("--since is not before --until; exchange them")
        sources = sources_of(arguments)
        check_files(arguments, sources)
        pasts = load(sources, period, arguments.group, skip_corrupt=arguments.skip_corrupt, tell=_progress)
        if not pasts:
            raise CliError(
                f"no event of a group {arguments.group!r} is known in that time, in {sources[0].data_dir} and "
                f"{sources[0].history_dir}; name an earlier --since or another directory with --data-dir",
                1,
            )
        report = GroupsReport(pasts, period)
    if arguments.json:
        print(json.dumps(report.as_json(), indent=2, ensure_ascii=False, default=int))
        return 0
    print("\n".join(escaped(line).replace("\n", r"\x0a") for line in report.lines()))
    if arguments.html is not None:
        from coordinator.report.html import page

        try:
            arguments.html.write_text(page(report), encoding="utf-8")
        except OSError as error:
            raise CliError(f"{arguments.html} cannot be written ({error.strerror}); choose another file") from None
        tell(f"wrote {arguments.html}")
        return 0
    for table in report.tables():
        rows = table.rows[: arguments.limit]
        print(f"\n{table.title}\n{as_columns(tuple(rows[0]), rows, table.numbers)}")
        if len(rows) < len(table.rows):
            print(f"the first {len(rows)} of {len(table.rows)}; --limit shows more")
    return 0


def _progress(step: str) -> None:
    """Show the current step on a terminal, in one line that the next one replaces."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{step}", end="" if step else "\r", file=sys.stderr, flush=True)
