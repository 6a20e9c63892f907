"""`coordinator groups reset-offsets`: sets committed offsets, with the targets and the CSV of kafka-consumer-groups.

Without --execute it only prints the plan. A group with members is refused, as by Kafka: they would go on from where
they are. The offsets are committed with generation -1 and no member id, which any Kafka accepts of an empty group.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from coordinator.cli.arguments import add_groups, add_output, add_server
from coordinator.cli.client import Client, client_of
from coordinator.cli.errors import CliError, noted
from coordinator.cli.group_description import TopicPartition, describe_if_there
from coordinator.cli.groups.selection import groups_of
from coordinator.cli.groups.topic_partitions import parse_topic_partitions
from coordinator.cli.log_ends import EARLIEST, LATEST, offsets_at
from coordinator.cli.reset.plan import Act, PartitionReset, Today, targets
from coordinator.cli.reset.requests import execute, refusal, todays_offsets
from coordinator.cli.reset.targets import TARGETS, PartitionFacts, Target, parse_datetime, parse_duration
from coordinator.cli.screen import complain, count, tell
from coordinator.cli.table import Row, render
from coordinator.history.reset_csv import UnreadableError, UnwritableError, one_group, parse, several_groups
from coordinator.history.times import MAX_MS
from coordinator.processes.wall_clock import wall_ms

DESCRIPTION: Final = """\
Set the committed offsets of groups that have no members.
Prints the plan; changes nothing without --execute."""

EPILOG: Final = """\
examples:
  coordinator groups reset-offsets orders-service --topic orders --to-earliest
  coordinator groups reset-offsets orders-service --topic orders:0,3 --shift-by -100 --execute
  coordinator groups reset-offsets orders-service --all-topics --by-duration PT15M --execute
  coordinator groups reset-offsets orders-service --all-topics --to-current --export > plan.csv
  coordinator groups reset-offsets orders-service --from-file plan.csv --execute"""

# The first four are Kafka's.
COLUMNS: Final = ("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET", "CURRENT-OFFSET", "NOTE")
_TIMED: Final = ("to_datetime", "by_duration")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_groups(parser)
    scope = parser.add_argument_group("which partitions")
    scope.add_argument(
        "-t", "--topic", action="append", default=[], metavar="TOPIC[:P,...]", help="a topic, or partitions; repeatable"
    )
    scope.add_argument("--all-topics", action="store_true", help="every partition with a committed offset")
    add = parser.add_argument_group("to which offset").add_mutually_exclusive_group(required=True).add_argument
    add("--to-earliest", action="store_true", help="the first offset of the log")
    add("--to-latest", action="store_true", help="the end of the log")
    add("--to-current", action="store_true", help="the committed offset, or the end of the log if there is none")
    add("--to-offset", type=_offset, metavar="N", help="this offset")
    add("--shift-by", type=int, metavar="N", help="N records on, or back if N is negative")
    add("--to-datetime", metavar="TIME", help="the first record since 2026-11-20T14:05:00.000 (UTC, or with a zone)")
    add("--by-duration", metavar="DURATION", help="the first record of the last PT1H30M (or 1h30m)")
    add("--from-file", type=Path, metavar="FILE", help="offsets of a CSV file: [group,]topic,partition,offset")
    how = parser.add_argument_group("what to do").add_mutually_exclusive_group()
    how.add_argument("--dry-run", action="store_true", help="print the plan (the default)")
    how.add_argument("--execute", action="store_true", help="set the offsets")
    parser.add_argument("--export", action="store_true", help="print the plan as CSV for --from-file, here or in Kafka")
    add_server(parser)
    add_output(parser)


def _offset(text: str) -> int:
    if int(text) < 0:
        raise ValueError(text)
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    now = wall_ms()
    kind = next(name for name in TARGETS if getattr(arguments, name) not in (None, False))
    scope = _scope(arguments, kind)
    since = _since(arguments, now)
    problems: list[str] = []
    plans: dict[str, list[PartitionReset]] = {}
    with client_of(arguments) as client:
        groups = groups_of(client, arguments, problems)
        file = _from_file(arguments.from_file, groups) if kind == "from_file" else {}
        for group_id in groups:
            with noted(problems):
                plans[group_id] = _plan(client, group_id, scope, kind, arguments, since, file.get(group_id, {}))
        _show(arguments, plans)
        due = {group_id: len(targets(steps)) for group_id, steps in plans.items() if targets(steps)}
        for group_id in due if arguments.execute else ():
            with noted(problems):
                execute(client, group_id, plans[group_id])
                tell(f"done: {count(due[group_id], 'offset')} of group {group_id} set")
    if due and not arguments.execute:
        tell(f"nothing was changed; --execute would set {count(sum(due.values()), 'offset')}")
    return complain(problems) or int(any(step.target is None for own in plans.values() for step in own))


def _scope(arguments: argparse.Namespace, kind: str) -> dict[str, set[int] | None] | None:
    """Return the partitions of each topic that is named; None: those that have an offset, or are in the file."""
    if bool(arguments.topic) + arguments.all_topics + (kind == "from_file") != 1:
        raise CliError("choose the partitions with --topic or --all-topics; a file of --from-file names them itself")
    return parse_topic_partitions(arguments.topic) if arguments.topic else None


def _since(arguments: argparse.Namespace, now: int) -> int | None:
    if arguments.to_datetime is not None:
        since = parse_datetime(arguments.to_datetime)
    elif arguments.by_duration is not None:
        since = now - parse_duration(arguments.by_duration)
    else:
        return None
    return max(0, min(since, MAX_MS))  # ListOffsets gives negative times meanings of their own


def _from_file(path: Path, groups: list[str]) -> Mapping[str, Mapping[TopicPartition, int]]:
    try:
        return parse(path.read_text(encoding="utf-8"), groups)
    except OSError as error:
        raise CliError(f"--from-file {path} cannot be read ({error.strerror or error}); give another path") from None
    except (UnreadableError, UnicodeDecodeError) as error:
        raise CliError(f"--from-file {path}: {error}; write a line [group,]topic,partition,offset for each") from None


def _plan(
    client: Client,
    group_id: str,
    scope: dict[str, set[int] | None] | None,
    kind: str,
    arguments: argparse.Namespace,
    since: int | None,
    in_file: Mapping[TopicPartition, int],
) -> list[PartitionReset]:
    """Return a step for each partition. CliError with exit code 1: not for this group."""
    group = describe_if_there(client, group_id)
    if group is not None and group.is_active:
        raise refusal(group)
    if group is None:
        tell(f"there is no group {group_id!r} yet: with --execute it comes into being")
    committed = todays_offsets(client, group_id)
    if scope is not None:
        wanted = _partitions_of(client, scope)
    else:
        wanted = set(in_file) if kind == "from_file" else set(committed)
        if not wanted:
            source = f"--from-file {arguments.from_file}" if kind == "from_file" else f"group {group_id!r}"
            raise CliError(f"{source} has no offsets of group {group_id!r}; name topics with --topic", 1)
    there = wanted & _existing(client, {topic for topic, _ in wanted})
    start, end = offsets_at(client, there, EARLIEST), offsets_at(client, there, LATEST)
    at_time = offsets_at(client, there, since) if since is not None else {}
    value = getattr(arguments, kind)
    number = value if isinstance(value, int) else 0
    steps = []
    for key in sorted(wanted):
        today = committed.get(key)
        target = Target(None, "does not exist")
        if key in there:
            current = None if today is None else today.offset
            facts = PartitionFacts(start[key], end[key], current, at_time.get(key, -1), in_file.get(key, -1))
            target = TARGETS[kind](facts, number)
        steps.append(_step(key, today, target))
    return steps


def _step(key: TopicPartition, today: Today | None, target: Target) -> PartitionReset:
    act = Act.GONE if target.offset is None else Act.COMMIT
    now = None if today is None else today.offset
    return PartitionReset(*key, act, now, target.offset, target.offset, "", None, target.note)


def _partitions_of(client: Client, scope: dict[str, set[int] | None]) -> set[TopicPartition]:
    """Return the named partitions, all of a topic if none is named. CliError: a topic or partition does not exist."""
    existing = _existing(client, set(scope))
    wanted: set[TopicPartition] = set()
    for topic, indexes in scope.items():
        known = {partition for name, partition in existing if name == topic}
        if not known:
            raise CliError(f"there is no topic {topic!r}; `coordinator topics list` shows those there are", 1)
        unknown = sorted((indexes or set()) - known)
        if unknown:
            raise CliError(f"topic {topic!r} has no partition {unknown[0]}; it has 0 to {max(known)}", 1)
        wanted |= {(topic, partition) for partition in indexes or known}
    return wanted


def _existing(client: Client, topics: set[str]) -> set[TopicPartition]:
    if not topics:
        return set()
    return {
        (topic.name or "", partition.partition_index)
        for topic in client.metadata(sorted(topics)).topics
        for partition in topic.partitions
    }


def _show(arguments: argparse.Namespace, plans: Mapping[str, list[PartitionReset]]) -> None:
    if arguments.export:
        wanted = {group_id: targets(own) for group_id, own in plans.items()}
        is_one = len(wanted) == 1 and not arguments.all_groups
        try:
            print(one_group(*wanted.values()) if is_one else several_groups(wanted), end="")
        except UnwritableError as error:
            raise CliError(f"the plan cannot be exported: {error}") from None
        for step in (step for own in plans.values() for step in own if step.note):
            tell(f"{step.topic}-{step.partition}: {step.note}")
        return
    rows: list[Row] = [
        {
            "GROUP": group_id,
            "TOPIC": step.topic,
            "PARTITION": step.partition,
            "NEW-OFFSET": step.target,
            "CURRENT-OFFSET": step.now,
            "NOTE": step.note or None,
        }
        for group_id, own in plans.items()
        for step in own
    ]
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
