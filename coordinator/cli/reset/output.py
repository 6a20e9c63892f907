"""Output of a plan of offsets to reset: a table, JSON, or the CSV of Kafka's own reset tool."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.cli.errors import CliError
from coordinator.cli.history.json_output import moment
from coordinator.cli.reset.plan import Act, PartitionReset, targets
from coordinator.cli.screen import change, tell
from coordinator.cli.table import Row, coloured, table
from coordinator.history.reset_csv import UnwritableError, one_group, several_groups
from coordinator.history.times import ago

if TYPE_CHECKING:
    from coordinator.history.commits import TopicPartition

_COLOUR: Final[Mapping[Act, str]] = {
    Act.COMMIT: "cyan",
    Act.SAME: "",
    Act.DELETE: "red",
    Act.LEAVE: "yellow",
    Act.GONE: "red",
}


def show_plan(headline: str, steps: list[PartitionReset]) -> None:
    """Print the plan as a table."""
    from coordinator.processes.wall_clock import wall_ms

    now = wall_ms()
    rows: list[Row] = [
        {
            "PARTITION": f"{step.topic}-{step.partition}",
            "NOW": step.now,
            "THEN": step.then,
            "CHANGE": change(step.change),
            "WHAT": coloured(step.act.value, _COLOUR[step.act]),
            "COMMITTED": None if step.then_ms is None else ago(step.then_ms, now),
            "NOTE": step.note,
        }
        for step in steps
    ]
    print(headline)
    print(table(rows, right=("CHANGE", "COMMITTED")))


def tell_outcome(
    arguments: argparse.Namespace, headline: str, steps: list[PartitionReset], done: tuple[int, int] | None
) -> None:
    """Print the result, or the plan. `done` is the number of offsets set and deleted; None: nothing was executed."""
    if arguments.json:
        print(json.dumps(as_json(arguments.group, steps, done), indent=2, ensure_ascii=False))
    elif done is None:
        if steps:
            show_plan(headline, steps)
        else:
            tell(f"{headline}: there were none then, and there are none now")
    left = [step for step in steps if step.act is Act.LEAVE]
    if left and not arguments.json:
        tell(f"{_count(left)} had no offset then and would stay as they are; --delete-new deletes those offsets")
    due = [step for step in steps if step.act in (Act.COMMIT, Act.DELETE)]
    if arguments.json or not steps:
        return
    if done is not None:
        committed, deleted = done
        more = f", {deleted} deleted" if deleted else ""
        tell(f"done: {committed} offset{'s' * (committed != 1)} of group {arguments.group} set{more}")
    elif not due:
        tell("nothing to do" if left else "nothing to do: the group has these offsets already")
    else:
        tell(f"nothing was changed; --execute would change {_count(due)}")


def _count(steps: list[PartitionReset]) -> str:
    return "1 partition" if len(steps) == 1 else f"{len(steps)} partitions"


def as_json(group: str, steps: list[PartitionReset], done: tuple[int, int] | None) -> dict[str, object]:
    """Return the plan for programs."""
    return {
        "group": group,
        "executed": done is not None,
        "partitions": [
            {
                "topic": step.topic,
                "partition": step.partition,
                "what": step.act.value,
                "now": step.now,
                "then": step.then,
                "target": step.target,
                "change": step.change,
                "metadata": step.metadata,
                "committed": None if step.then_ms is None else moment(step.then_ms),
                "note": step.note,
            }
            for step in steps
        ],
    }


def export(arguments: argparse.Namespace, steps: list[PartitionReset]) -> None:
    """Write the CSV files given on the command line. CliError: there is nothing to write, or a file is not writable."""
    wanted: dict[TopicPartition, int] = targets(steps)
    try:
        if arguments.export is not None:
            _write(arguments.export, one_group(wanted), len(wanted))
        if arguments.export_groups is not None:
            _write(arguments.export_groups, several_groups({arguments.group: wanted}), len(wanted))
    except UnwritableError as error:
        raise CliError(f"the plan cannot be exported: {error}") from None


def _write(path: Path, text: str, count: int) -> None:
    if not count:
        raise CliError(f"there are no offsets to write to {path}: the group had none then", 1)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CliError(f"{path} cannot be written ({error.strerror or error}); choose another file") from None
    tell(f"wrote {count} offsets to {path}")
