"""`coordinator whatif --all-groups`: DuckDB reads the recorded events of all groups, and Spark replays them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from coordinator.cli.compact.screen import Progress
from coordinator.cli.errors import CliError
from coordinator.cli.history.all_groups import spark_session
from coordinator.cli.history.arguments import asking_duckdb, check_files, sources_of
from coordinator.cli.screen import need_extra, tell
from coordinator.cli.whatif.output import show
from coordinator.core.events.model import decode_event
from coordinator.whatif.figures import RunFigures, of_recording
from coordinator.whatif.grid import outcomes
from coordinator.whatif.recorded import recording_of
from coordinator.whatif.settings import Settings

if TYPE_CHECKING:
    from coordinator.history.questions import Selection
    from coordinator.whatif.spark_whatif import AllRuns

DEFAULT_MASTER: Final = "local[*]"


def run(arguments: argparse.Namespace, alternatives: Sequence[Settings], selection: Selection) -> int:
    """Replay all groups and print the table. Call within `reading_files`."""
    need_extra("pyspark", "pandas", extra="spark")
    recorded = _recorded(arguments, selection)
    if not recorded:
        raise CliError("no event of a group is recorded in that time; check --since, --until and --data-dir", 1)
    found = _with_spark(arguments, recorded, alternatives)
    for problem in dict.fromkeys(found.problems.values()):
        groups = [group for group, each in found.problems.items() if each == problem]
        tell(f"left out: {len(groups)} groups, such as {groups[0]!r}: {problem}")
    if not found.cells:
        raise CliError("no group can be replayed with these settings; see above", 1)
    figures = RunFigures()
    for group in found.groups:
        events = [decode_event(text) for text in recorded[group]]
        figures += of_recording(events, recording_of(events).group.members[0].heartbeat_interval_ms)
    show(arguments, figures, outcomes(alternatives, found.cells), groups=len(found.groups))
    return 0


def _recorded(arguments: argparse.Namespace, selection: Selection) -> dict[str, list[bytes]]:
    sources = sources_of(arguments)
    check_files(arguments, sources)
    with asking_duckdb():
        from coordinator.history import duckdb_views

        rows = duckdb_views.ask_all_groups(
            sources, "recorded_events", selection.parameters(), skip_corrupt=arguments.skip_corrupt
        )
    recorded: dict[str, list[bytes]] = {}
    for row in rows:
        recorded.setdefault(row["group"], []).append(row["json"].encode())
    return recorded


def _with_spark(
    arguments: argparse.Namespace, recorded: dict[str, list[bytes]], alternatives: Sequence[Settings]
) -> AllRuns:
    from coordinator.whatif.spark_whatif import run_with_spark, task_count

    with spark_session(arguments.master or DEFAULT_MASTER) as spark:
        progress = Progress()
        progress.stage(f"replaying {len(recorded)} groups", task_count(spark, len(recorded) * len(alternatives)))
        progress.follow(spark)
        try:
            return run_with_spark(spark, recorded, alternatives, arguments.seeds)
        finally:
            progress.end()
