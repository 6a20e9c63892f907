"""`coordinator groups describe`: the tables of kafka-consumer-groups, with its column names.

A group's coordinator describes it, and the leaders of its partitions tell the log ends. An unknown value prints as "-".
Standard output has the table alone; a line for each group with its state and its lag goes to standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Final

from coordinator.cli.arguments import add_groups, add_output, add_server
from coordinator.cli.client import Client, client_of, explain
from coordinator.cli.group_description import (
    DescribedGroup,
    DescribedMember,
    GroupNotFoundError,
    TopicPartition,
    describe,
)
from coordinator.cli.groups.member_ids import shortened
from coordinator.cli.groups.selection import groups_of, not_found
from coordinator.cli.groups.state_colours import STATE_COLOURS
from coordinator.cli.log_ends import log_end_offsets
from coordinator.cli.screen import complain, count, number, tell
from coordinator.cli.table import Row, Value, render
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse, OffsetFetchResponsePartition

DESCRIPTION: Final = "Show the offsets and the lag, the members or the state of groups."

EPILOG: Final = """\
examples:
  coordinator groups describe orders-service
  coordinator groups describe orders-service payments --members --full
  coordinator groups describe --all-groups --state -o csv"""

OFFSETS_COLUMNS: Final = (
    "GROUP",
    "TOPIC",
    "PARTITION",
    "CURRENT-OFFSET",
    "LOG-END-OFFSET",
    "LAG",
    "CONSUMER-ID",
    "HOST",
    "CLIENT-ID",
)
MEMBERS_COLUMNS: Final = ("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT")
STATE_COLUMNS: Final = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")
# Columns that --verbose appends.
OFFSETS_VERBOSE: Final = ("LEADER-EPOCH", "METADATA", "GROUP-INSTANCE-ID")
MEMBERS_VERBOSE: Final = ("SUBSCRIPTION", "MEMBER-EPOCH")
STATE_VERBOSE: Final = ("TYPE", "PROTOCOL-TYPE", "GROUP-EPOCH")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_groups(parser)
    view = parser.add_mutually_exclusive_group()
    view.add_argument(
        "--offsets", action="store_true", help="committed offsets and lag of each partition (the default)"
    )
    view.add_argument("--members", action="store_true", help="members and the partitions assigned to them")
    view.add_argument("--state", action="store_true", help="state, strategy and coordinator")
    parser.add_argument("--verbose", action="store_true", help="more columns")
    parser.add_argument("--full", action="store_true", help="whole member ids, which a table otherwise shortens")
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    problems: list[str] = []
    rows: list[Row] = []
    code = 0
    with client_of(arguments) as client:
        for group_id in groups_of(client, arguments, problems):
            try:
                group = describe(client, group_id)
            except GroupNotFoundError:
                code = complain([str(not_found(client, group_id))])
                continue
            found = _rows(client, group, arguments)
            summary = f"group {group_id!r}: {group.state}, {_members(group)}"
            tell(summary if arguments.members or arguments.state else f"{summary}, {lag_summary(found)}")
            rows += found if arguments.full or arguments.output != "table" else _with_short_ids(found)
    if not (rows or problems or code):
        tell("no groups")
    if rows or arguments.output != "table":
        print(render(arguments.output, _columns(arguments), rows, {"STATE": STATE_COLOURS}))
    return complain(problems) or code


def _columns(arguments: argparse.Namespace) -> tuple[str, ...]:
    columns: tuple[str, ...]
    more: tuple[str, ...]
    if arguments.members:
        columns, more = MEMBERS_COLUMNS, MEMBERS_VERBOSE
    elif arguments.state:
        columns, more = STATE_COLUMNS, STATE_VERBOSE
    else:
        columns, more = OFFSETS_COLUMNS, OFFSETS_VERBOSE
    return columns + more if arguments.verbose else columns


def _rows(client: Client, group: DescribedGroup, arguments: argparse.Namespace) -> list[Row]:
    if arguments.members:
        return member_rows(group)
    return [state_row(group)] if arguments.state else offset_rows(client, group)


def _with_short_ids(rows: list[Row]) -> list[Row]:
    short = shortened(str(row["CONSUMER-ID"]) for row in rows if row.get("CONSUMER-ID"))
    return [{**row, "CONSUMER-ID": short.get(str(row.get("CONSUMER-ID")))} for row in rows]


def _members(group: DescribedGroup) -> str:
    return count(len(group.members), "member") if group.members else "no members"


def lag_summary(rows: list[Row]) -> str:
    """Return the number of partitions and their lags together, for a sentence."""
    partitions = [row for row in rows if "TOPIC" in row]
    lags = [lag for row in partitions if isinstance(lag := row["LAG"], int)]
    unknown = len(partitions) - len(lags)
    return f"{count(len(partitions), 'partition')}, total lag {number(sum(lags))}" + (
        f" ({number(unknown)} unknown)" if unknown else ""
    )


def offset_rows(client: Client, group: DescribedGroup) -> list[Row]:
    committed = committed_offsets(client, group.group_id)
    owners = {partition: member for member in group.members for partition in member.partitions or ()}
    partitions = sorted(committed.keys() | owners.keys())
    ends = log_end_offsets(client, partitions)
    rows = [_offset_row(group, key, committed.get(key), ends.get(key), owners.get(key)) for key in partitions]
    rows += [{"GROUP": group.group_id, **_identity(member)} for member in group.members if not member.partitions]
    return rows


def _offset_row(
    group: DescribedGroup,
    partition: TopicPartition,
    committed: OffsetFetchResponsePartition | None,
    end: int | None,
    owner: DescribedMember | None,
) -> Row:
    values: Mapping[str, Value] = {
        "GROUP": group.group_id,
        "TOPIC": partition[0],
        "PARTITION": partition[1],
        "CURRENT-OFFSET": None,
        "LOG-END-OFFSET": end,
        "LAG": None,
        **_identity(owner),
    }
    if committed is None:
        return values
    return {
        **values,
        "CURRENT-OFFSET": committed.committed_offset,
        "LAG": None if end is None else end - committed.committed_offset,
        "LEADER-EPOCH": committed.committed_leader_epoch if committed.committed_leader_epoch >= 0 else None,
        "METADATA": committed.metadata or None,
    }


def committed_offsets(client: Client, group_id: str) -> dict[TopicPartition, OffsetFetchResponsePartition]:
    """Return the committed offsets of a group. A partition with an error is told to the user and left out."""
    _, connection = client.coordinator(group_id)

    def ask() -> tuple[int, OffsetFetchResponse]:
        request = OffsetFetchRequest(group_id=group_id, topics=None)
        answer = connection.call(request, OffsetFetchResponse, max_version=7)
        return answer.error_code, answer

    offsets: dict[TopicPartition, OffsetFetchResponsePartition] = {}
    for topic in client.patiently(f"the offsets of group {group_id!r}", ask).topics:
        for partition in topic.partitions:
            if partition.error_code:
                tell(f"{topic.name}-{partition.partition_index}: {explain(partition.error_code)}")
            elif partition.committed_offset >= 0:
                offsets[topic.name, partition.partition_index] = partition
    return offsets


def member_rows(group: DescribedGroup) -> list[Row]:
    return [
        {
            "GROUP": group.group_id,
            "#PARTITIONS": None if member.partitions is None else len(member.partitions),
            "ASSIGNMENT": _by_topic(member.partitions),
            "SUBSCRIPTION": None if member.subscription is None else [*member.subscription],
            "MEMBER-EPOCH": member.epoch,
            **_identity(member),
        }
        for member in group.members
    ]


def _by_topic(partitions: list[TopicPartition] | None) -> dict[str, Value] | None:
    if partitions is None:
        return None
    topics: dict[str, list[Value]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return {**topics}


def state_row(group: DescribedGroup) -> Row:
    return {
        "GROUP": group.group_id,
        "COORDINATOR (ID)": group.coordinator,
        "ASSIGNMENT-STRATEGY": group.strategy or None,
        "STATE": group.state,
        "#MEMBERS": len(group.members),
        "TYPE": group.kind,
        "PROTOCOL-TYPE": group.protocol_type or None,
        "GROUP-EPOCH": group.epoch,
    }


def _identity(member: DescribedMember | None) -> Row:
    if member is None:
        return {}
    return {
        "CONSUMER-ID": member.member_id,
        "GROUP-INSTANCE-ID": member.instance_id,
        "HOST": member.host,
        "CLIENT-ID": member.client_id,
    }
