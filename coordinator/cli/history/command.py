"""`coordinator history extract | commits | rebalances | events | rate | stalled | sql`: the past of the groups.

Reads files only: Parquet below the mark and the log beyond it, so answers are current and no daemon is needed. DuckDB
answers within this process; `--all-groups` uses Spark if the history is large. `coordinator.cli.history.screen` and
`json_output` format the answers.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.cli.arguments import add_command_config, seconds
from coordinator.cli.errors import CliError
from coordinator.cli.history import sql
from coordinator.cli.history.arguments import (
    add_place,
    add_retention,
    add_selection,
    add_times,
    asking_duckdb,
    check_selection,
    duration,
    load,
    moment,
    positive,
    reading_files,
    selection_of,
    source_of,
    tell_gaps,
)
from coordinator.cli.screen import need_extra, tell
from coordinator.history.times import UNITS_MS
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    from coordinator.history.questions import Ask, Selection
    from coordinator.history.rebalances import GroupChange
    from coordinator.history.tables import GroupHistory

DESCRIPTION: Final = """\
Show the past of groups: commits, rebalances, events, rates, partitions that stand still, and what SQL asks.
`extract` saves it as Parquet before compaction removes it; the other actions read those files and the log."""

EPILOG: Final = """\
examples:
  coordinator history extract
  coordinator history commits orders-service --since -1h
  coordinator history rebalances orders-service --plot owners.png
  coordinator history events orders-service --since -1d
  coordinator history rate orders-service --window 5m --plot progress.html
  coordinator history stalled orders-service --for 10m --bootstrap-server 127.0.0.1:9092
  coordinator history stalled --all-groups
  coordinator history sql "SELECT topic, count(*) FROM moves GROUP BY topic"
  coordinator history sql --file history.sql"""

DEFAULT_LIMIT: Final = 50
PLOTS: Final = (".png", ".html")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    extracting = actions.add_parser("extract", help="save closed segments of the log as Parquet", allow_abbrev=False)
    add_place(extracting)
    _add_spark(extracting, "extract with Spark, one task for each segment; local[*], spark://…")
    add_retention(extracting, "that of the daemon")
    extracting.add_argument("--json", action="store_true", help="print JSON, for programs")

    commits = _question(actions, "commits", "list commits")
    _add_limit(commits, "commits")
    rebalances = _question(
        actions, "rebalances", "list rebalances, with members that came and went and partitions that moved"
    )
    _add_limit(rebalances, "changes")
    events = actions.add_parser("events", help="list rebalances and incidents: why, how long", allow_abbrev=False)
    events.add_argument("group", metavar="GROUP")
    add_times(events)
    _add_limit(events, "events")
    add_place(events)
    events.add_argument("--json", action="store_true", help="print JSON, for programs")
    rate = _question(actions, "rate", "show commits and progress of each partition")
    rate.add_argument("--window", default="1m", metavar="SPAN", help="count in windows of this length; default: 1m")
    stalled = _question(actions, "stalled", "list partitions that stand still")
    stalled.add_argument(
        "--for", dest="span", default="10m", metavar="SPAN", help="for at least this time; default: 10m"
    )
    stalled.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT,...",
        help="ask these brokers for the log ends, and leave out partitions that have reached theirs",
    )
    add_command_config(stalled)
    stalled.add_argument("--timeout", metavar="SECONDS", type=seconds, default=10.0, help="default: 10")
    sql.add_arguments(actions)


def _question(actions: Any, name: str, summary: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=summary, allow_abbrev=False)
    parser.add_argument("group", metavar="GROUP", nargs="?")
    parser.add_argument("--all-groups", action="store_true", help="answer for all groups")
    add_selection(parser)
    add_place(parser)
    _add_spark(parser, "answer for --all-groups with Spark, at this master; local[*], spark://…")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON, for programs")
    form.add_argument("--plot", type=Path, metavar="FILE", help="draw a plot to FILE.png or FILE.html")
    return parser


def _add_spark(parser: argparse.ArgumentParser, summary: str) -> None:
    parser.add_argument("--master", metavar="URL", help=summary)


def _add_limit(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "--limit",
        type=positive,
        default=DEFAULT_LIMIT,
        metavar="N",
        help=f"show the newest N {what}; default: {DEFAULT_LIMIT}",
    )


def run(arguments: argparse.Namespace) -> int:
    with reading_files():
        if arguments.action == "extract":
            from coordinator.cli.history import extract as history_extract

            return history_extract.run(arguments)
        if arguments.action in _OTHERS:
            return _OTHERS[arguments.action](arguments)
        _check(arguments)
        if arguments.all_groups:
            from coordinator.cli.history import all_groups

            return all_groups.run(arguments)
        return _QUESTIONS[arguments.action](arguments)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.all_groups == (arguments.group is not None):
        raise CliError("name one GROUP, or ask about all of them with --all-groups")
    if arguments.master is not None and not arguments.all_groups:
        raise CliError("--master goes with --all-groups: one group's questions are answered without Spark")
    plot: Path | None = arguments.plot
    if arguments.action == "rebalances" and plot is None and (arguments.topic or arguments.partition):
        raise CliError("--topic and --partition limit only the plot of rebalances; leave them out, or add --plot")
    if plot is None:
        return
    if arguments.all_groups:
        raise CliError("--plot draws one group; name it instead of --all-groups")
    if plot.suffix not in PLOTS:
        raise CliError(f"--plot {plot}: the name must end with .png or .html")
    if not plot.absolute().parent.is_dir():
        raise CliError(f"--plot {plot}: the directory {plot.parent} does not exist; create it first")
    need_extra("matplotlib")


def _commits(arguments: argparse.Namespace) -> int:
    from coordinator.cli.history import json_output as history_json
    from coordinator.cli.history import screen as history_screen

    now = wall_ms()
    selection = selection_of(arguments, now)
    past = _load(arguments, selection, now)
    if arguments.plot:
        return _plot_progress(arguments, past, selection)
    rows = _ask(past)("listed", {**selection.parameters(), "group": past.group, "limit": arguments.limit})[::-1]
    return _answer(
        arguments,
        [history_json.commit(row) for row in rows],
        lambda: history_screen.commits(rows, rows[0]["total"], now),
        "no commits in that time, of those partitions" if not rows else "",
    )


def _rebalances(arguments: argparse.Namespace) -> int:
    from coordinator.cli.history import json_output as history_json
    from coordinator.cli.history import screen as history_screen
    from coordinator.core.events.model import Rebalance
    from coordinator.history.events import load_events
    from coordinator.history.rebalances import reasons

    now = wall_ms()
    selection = selection_of(arguments, now)
    past = _load(arguments, selection, now)
    found = _changes(past, selection)
    if arguments.plot:
        return _plot_owners(arguments, past, selection, now)
    shown = found[-arguments.limit :]
    events = [each.event for each in load_events(source_of(arguments), arguments.group)]
    why = reasons(shown, [event for event in events if isinstance(event, Rebalance)])
    return _answer(
        arguments,
        [history_json.change(change, reason) for change, reason in zip(shown, why, strict=True)],
        lambda: history_screen.rebalances(shown, why, len(found), now),
        "no change of membership in that time" if not found else "",
    )


def _events(arguments: argparse.Namespace) -> int:
    from coordinator.cli.history import json_output as history_json
    from coordinator.cli.history import screen as history_screen
    from coordinator.history.events import load_events

    now = wall_ms()
    since_ms, until_ms = moment("--since", arguments.since, now), moment("--until", arguments.until, now)
    source = source_of(arguments)
    known = load_events(source, arguments.group)
    if not known:
        raise CliError(
            f"no event of a group {arguments.group!r} is known in {source.data_dir} and {source.history_dir}; check "
            "its name, or name another directory with --data-dir (events are kept for group.events.retention.ms)",
            1,
        )
    found = [
        each
        for each in known
        if (since_ms is None or each.event.at_ms >= since_ms) and (until_ms is None or each.event.at_ms <= until_ms)
    ]
    shown = found[-arguments.limit :]
    return _answer(
        arguments,
        [history_json.event(each) for each in shown],
        lambda: history_screen.events(shown, len(found), now),
        "no events in that time" if not found else "",
    )


def _rate(arguments: argparse.Namespace) -> int:
    from coordinator.cli.history import json_output as history_json
    from coordinator.cli.history import screen as history_screen
    from coordinator.history.questions import rate

    now = wall_ms()
    window_ms = duration("--window", arguments.window)
    selection = selection_of(arguments, now)
    past = _load(arguments, selection, now)
    if arguments.plot:
        return _plot_progress(arguments, past, selection)
    found = rate(_ask(past), past.group, selection, window_ms)
    return _answer(
        arguments,
        history_json.rate(found),
        lambda: history_screen.rate(found, now),
        "" if found.keys else "no commits in that time, of those partitions",
    )


def _stalled(arguments: argparse.Namespace) -> int:
    from coordinator.cli.history import json_output as history_json
    from coordinator.cli.history import screen as history_screen
    from coordinator.history.questions import NO_LIMIT

    now = wall_ms()
    for_ms = duration("--for", arguments.span)
    selection = selection_of(arguments, now)
    past = _load(arguments, selection, now, whole=True)
    if arguments.plot:
        return _plot_progress(arguments, past, selection)
    at_ms = min(now, selection.until_ms)
    found = _ask(past)("stalled", {**selection.parameters(), "for_ms": for_ms, "now_ms": at_ms, "limit": NO_LIMIT})
    ends = _log_ends(arguments, [(each["topic"], each["partition"]) for each in found])
    if ends is not None:
        found = [each for each in found if ends.get((each["topic"], each["partition"])) != each["offset"]]
    elif found:
        tell("a partition without new records stands still, too: with --bootstrap-server those are left out")
    return _answer(
        arguments,
        [history_json.stalled(each, ends) for each in found],
        lambda: history_screen.stalled(found, ends, at_ms),
        "" if found else f"nothing has stood still for {arguments.span}",
    )


def _load(arguments: argparse.Namespace, selection: Selection, now: int, *, whole: bool = False) -> GroupHistory:
    """Load the group's past. Files of days long before `--since` are skipped unless `whole`."""
    from coordinator.history.commits import NEVER

    since_ms = None if whole or selection.since_ms == -NEVER else selection.since_ms
    # One day more, because progress needs the previous commit.
    past = load(arguments, source_of(arguments), since_ms=None if since_ms is None else since_ms - UNITS_MS["d"])
    tell_gaps(past, now, since_ms)
    if arguments.action != "rebalances":
        check_selection(past, arguments.topic, arguments.partition)
    return past


def _ask(past: GroupHistory) -> Ask:
    with asking_duckdb():
        from coordinator.history.duckdb_views import DuckdbViews

        return DuckdbViews.of_group(past).ask


def _changes(past: GroupHistory, selection: Selection) -> list[GroupChange]:
    from coordinator.history.rebalances import changes

    inside = range(max(selection.since_ms, -(2**62)), min(selection.until_ms, 2**62) + 1)
    return [change for change in changes(past.records) if change.record.timestamp_ms in inside]


def _log_ends(arguments: argparse.Namespace, partitions: list[tuple[str, int]]) -> dict[tuple[str, int], int] | None:
    if arguments.bootstrap_server is None:
        return None
    from coordinator.cli.client import client_of
    from coordinator.cli.log_ends import log_end_offsets

    with client_of(arguments) as client:
        return log_end_offsets(client, partitions)


def _answer(arguments: argparse.Namespace, rows: Sequence[Any], on_screen: Callable[[], str], nothing: str) -> int:
    if arguments.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    elif nothing:
        tell(nothing)
    else:
        print(on_screen())
    return 0


def _plot_progress(arguments: argparse.Namespace, past: GroupHistory, selection: Selection) -> int:
    from coordinator.history import plots
    from coordinator.history.rebalances import changes

    if not (selection.mask(past.commits) & past.commits.counted & ~past.commits.is_tombstone).any():
        raise CliError("there is nothing to draw: no commits in that time, of those partitions", 1)
    figure = plots.progress(past.group, past.commits, changes(past.records), selection)
    return _save(arguments.plot, figure, f"Progress of group {past.group}")


def _plot_owners(arguments: argparse.Namespace, past: GroupHistory, selection: Selection, now: int) -> int:
    from coordinator.history import plots
    from coordinator.history.rebalances import changes

    found = changes(past.records)
    figure = plots.ownership(past.group, found, selection, now) if found else None
    if figure is None:
        raise CliError("there is nothing to draw: no member owned a partition in that time", 1)
    return _save(arguments.plot, figure, f"Owners of the partitions of group {past.group}")


def _save(path: Path, figure: Any, title: str) -> int:
    from coordinator.history import plots

    try:
        plots.save(figure, path, title)
    except OSError as error:
        raise CliError(f"{path} cannot be written ({error.strerror or error}); choose another file") from None
    tell(f"wrote {path}")
    return 0


_OTHERS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {"events": _events, "sql": sql.run}
_QUESTIONS: Final[dict[str, Callable[[argparse.Namespace], int]]] = {
    "commits": _commits,
    "rebalances": _rebalances,
    "rate": _rate,
    "stalled": _stalled,
}
