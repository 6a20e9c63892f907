"""`coordinator restore GROUP --at TIME`: sets a group's offsets back to those of a past time.

Without --execute it only prints the plan. --export writes the plan as the CSV that Kafka's own reset tool reads. The
past offsets come from the data directory's log and history. Today's offsets and the ranges of the topics' logs come
from the brokers, of this coordinator or of any Kafka.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.cli.arguments import add_server
from coordinator.cli.client import UnreachableError, client_of
from coordinator.cli.errors import CliError
from coordinator.cli.history.arguments import add_place, check_selection, load, moment, reading_files, source_of
from coordinator.cli.screen import tell
from coordinator.history.times import ago, local_time
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    from coordinator.cli.reset.plan import PartitionReset
    from coordinator.history.commits import Standing, TopicPartition
    from coordinator.history.tables import GroupHistory

DESCRIPTION: Final = """\
Set a group's offsets back to those of a past time. Prints the plan; changes nothing without --execute,
and then only if the group has no members."""

EPILOG: Final = """\
examples:
  coordinator restore orders-service --at 2026-11-20T14:05Z
  coordinator restore orders-service --at -15m --topic orders --execute
  coordinator restore orders-service --at 2026-11-20T14:05+01:00 --export plan.csv
  kafka-consumer-groups.sh --bootstrap-server … --group orders-service \\
      --reset-offsets --from-file plan.csv --execute"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("group", metavar="GROUP")
    add(
        "--at",
        required=True,
        metavar="TIME",
        help="2026-11-20T14:05Z, 2026-11-20T14:05+01:00, 2026-11-20T14:05 (local) or -15m",
    )
    add("-t", "--topic", action="append", default=[], metavar="TOPIC", help="only this topic; repeatable")
    add_reset(parser)


def add_reset(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that restore and undo share."""
    add = parser.add_argument
    add("--execute", action="store_true", help="carry the plan out; without this it is only shown")
    add("--delete-new", action="store_true", help="delete offsets of partitions that had none then")
    add("--export", type=Path, metavar="FILE", help="write the plan as CSV for Kafka's own reset tool")
    add(
        "--export-groups",
        type=Path,
        metavar="FILE",
        help="write the plan with the group in each line, the form of that tool for several groups",
    )
    add_server(parser)
    add("--json", action="store_true", help="print JSON, for programs")
    add_place(parser)


def run(arguments: argparse.Namespace) -> int:
    now = wall_ms()
    at_ms = moment("--at", arguments.at, now)
    if at_ms is None or at_ms > now:
        raise CliError(f"--at {arguments.at} is in the future; give a past time")
    with reading_files():
        from coordinator.history.commits import Cut, standing

        past = load(arguments, source_of(arguments), until_ms=at_ms)
        wanted = _of_topics(arguments.topic)
        then: dict[TopicPartition, Standing | None] = {
            key: value for key, value in standing(past.commits, Cut(until_ms=at_ms)).items() if wanted(*key)
        }
        check_selection(past, arguments.topic)
        if not then and at_ms < past.whole_since_ms:
            raise CliError(
                f"nothing is known of the offsets of group {past.group!r} at {local_time(at_ms)}: up to "
                f"{local_time(past.whole_since_ms)} the log was compacted before its history was extracted, or the "
                "history is not whole; give a later time",
                1,
            )
        check_gaps(past, at_ms, now, delete_new=arguments.delete_new)
    headline = f"offsets of group {past.group} as they stood at {local_time(at_ms)} ({ago(at_ms, now)})"
    return reset(arguments, then, headline, wanted)


def _of_topics(topics: list[str]) -> Callable[[str, int], bool]:
    return lambda topic, _: not topics or topic in topics


def check_gaps(past: GroupHistory, at_ms: int, now: int, *, delete_new: bool) -> None:
    """Warn if offsets may be missing because of compaction before extraction. CliError: --delete-new relies on them."""
    if at_ms >= past.whole_since_ms:
        return
    until = f"{local_time(past.whole_since_ms, milliseconds=False)} ({ago(past.whole_since_ms, now)})"
    if delete_new:
        raise CliError(
            f"up to {until} the log was compacted before its history was extracted, so a partition that seems to have "
            "had no offset may have had one; run this without --delete-new"
        )
    tell(
        f"up to {until} the log was compacted before its history was extracted: "
        "the offsets below were right then, but others may be missing"
    )


def reset(
    arguments: argparse.Namespace,
    then: Mapping[TopicPartition, Standing | None],
    headline: str,
    wanted: Callable[[str, int], bool],
) -> int:
    """Plan, print and export the reset, and execute it with --execute. `wanted` selects today's offsets to include."""
    from coordinator.cli.reset import output as reset_output
    from coordinator.cli.reset import requests
    from coordinator.cli.reset.plan import Act, make_plan

    with client_of(arguments) as client:
        now = reach = None
        try:
            now = {
                key: value for key, value in requests.todays_offsets(client, arguments.group).items() if wanted(*key)
            }
            reach = requests.reach(client, then.keys() | now.keys())
        except UnreachableError as error:
            if arguments.execute:
                raise
            tell(f"without today's offsets: {error}")
        steps = make_plan(then, now, reach, delete_new=arguments.delete_new)
        reset_output.export(arguments, steps)
        due = [step for step in steps if step.act in (Act.COMMIT, Act.DELETE)]
        done = None
        if arguments.execute and due:
            if not arguments.json:
                reset_output.show_plan(headline, steps)
            done = requests.execute(client, arguments.group, steps)
        reset_output.tell_outcome(arguments, headline, steps, done)
    return _exit_code(steps)


def _exit_code(steps: list[PartitionReset]) -> int:
    """Return 1 if the plan cannot be carried out for every partition."""
    from coordinator.cli.reset.plan import Act

    return int(any(step.act is Act.GONE for step in steps))
