"""`coordinator whatif GROUP --set session.timeout.ms=45000`: what recorded groups would have done with other settings.

The events of a group are replayed through the real coordinator in virtual time, once for each alternative and seed: one
group in this process, all groups as a Spark job.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import (
    add_place,
    add_times,
    positive,
    reading_files,
    selection_of,
    source_of,
)
from coordinator.cli.whatif.output import show
from coordinator.processes.wall_clock import wall_ms
from coordinator.whatif.client import PlayError
from coordinator.whatif.figures import of_recording
from coordinator.whatif.grid import Cell, outcomes, run_alternative
from coordinator.whatif.recorded import RecordingError, recording_of
from coordinator.whatif.settings import KEYS, SettingError, Settings, parse_alternatives

if TYPE_CHECKING:
    from coordinator.history.questions import Selection

DESCRIPTION: Final = "Show what a recorded group, or all groups, would have done with other settings."

EPILOG: Final = f"""\
settings: {", ".join(sorted(KEYS))}
(static=true gives each member a group.instance.id of its own)

examples:
  coordinator whatif orders-service --set session.timeout.ms=45000 --set static=true
  coordinator whatif orders-service --try session.timeout.ms=10000 --try session.timeout.ms=45000,static=true
  coordinator whatif --all-groups --set partition.assignment.strategy=cooperative-sticky --since -14d

The events come from `__group_events` in the data directory and from its history. A table has what was recorded, a
replay with the settings of the recording, and a row for each alternative: medians over the seeds, with the range from
the 10th to the 90th percentile."""

DEFAULT_SEEDS: Final = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("group", metavar="GROUP", nargs="?")
    add("--all-groups", action="store_true", help="replay all groups, with Spark")
    add("--set", action="append", default=[], metavar="K=V", help="change a setting; repeatable: all together")
    add("--try", dest="tried", action="append", default=[], metavar="K=V,...", help="another alternative; repeatable")
    add("--seeds", type=positive, default=DEFAULT_SEEDS, metavar="N", help=f"runs of each; default: {DEFAULT_SEEDS}")
    add_times(parser)
    parser.set_defaults(topic=[], partition=[])  # of a selection: all
    add_place(parser)
    add("--master", metavar="URL", help="of Spark, with --all-groups; default: local[*]")
    add("--json", action="store_true", help="print JSON, for programs")


def run(arguments: argparse.Namespace) -> int:
    if arguments.all_groups == (arguments.group is not None):
        raise CliError("name one GROUP, or replay all of them with --all-groups")
    if arguments.master is not None and not arguments.all_groups:
        raise CliError("--master goes with --all-groups: one group is replayed without Spark")
    try:
        alternatives = parse_alternatives(arguments.set, arguments.tried)
    except SettingError as error:
        raise CliError(str(error)) from None
    if len(alternatives) == 1:
        raise CliError("no setting is changed; give one with --set, for example --set session.timeout.ms=45000")
    with reading_files():
        selection = selection_of(arguments, wall_ms())
        if arguments.all_groups:
            from coordinator.cli.whatif import all_groups

            return all_groups.run(arguments, alternatives, selection)
        return _one_group(arguments, alternatives, selection)


# -- one group


def _one_group(arguments: argparse.Namespace, alternatives: Sequence[Settings], selection: Selection) -> int:
    from coordinator.history.events import load_events

    source = source_of(arguments)
    events = [
        each.event
        for each in load_events(source, arguments.group)
        if selection.since_ms <= each.event.at_ms <= selection.until_ms
    ]
    cells: list[Cell] = []
    try:
        recording = recording_of(events)
        with _progress(len(alternatives) * arguments.seeds) as on_run:
            for number, settings in enumerate(alternatives):
                for cell in run_alternative(recording, settings, number, range(1, arguments.seeds + 1)):
                    cells.append(cell)
                    on_run(len(cells))
    except RecordingError as error:
        raise CliError(f"group {arguments.group!r} in {source.data_dir}: {error}", 1) from None
    except (SettingError, PlayError) as error:
        raise CliError(str(error)) from None
    interval_ms = recording.group.members[0].heartbeat_interval_ms
    show(arguments, of_recording(events, interval_ms), outcomes(alternatives, cells))
    return 0


@contextmanager
def _progress(runs: int) -> Iterator[Callable[[int], None]]:
    """Show a line that counts runs, on a terminal."""
    if not sys.stderr.isatty():
        yield lambda done: None
        return
    try:
        yield lambda done: print(f"\r{done} of {runs} runs\x1b[K", end="", file=sys.stderr, flush=True)
    finally:
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
