"""`coordinator groups list | describe`: the tables of kafka-consumer-groups, with its column names.

Works with this coordinator and with any Kafka: every node of the cluster lists groups, a group's coordinator describes
it, and the leaders tell the log ends. An unknown value prints as "-".
"""

from __future__ import annotations

import argparse
import sys
from typing import Final

from coordinator.cli.arguments import add_common
from coordinator.cli.client import Client, UnreachableError, explain
from coordinator.cli.errors import CliError
from coordinator.cli.group_description import DescribedGroup, DescribedMember, TopicPartition, describe
from coordinator.cli.log_ends import log_end_offsets
from coordinator.cli.table import Row, Value, as_columns, as_json
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

DESCRIPTION: Final = "List consumer groups, or show the members and offsets of one."

EPILOG: Final = """\
examples:
  coordinator groups list --state Stable
  coordinator groups describe orders-service
  coordinator groups describe orders-service --members --json"""

# The states of both kinds of group: org.apache.kafka.common.GroupState, without UNKNOWN.
STATES: Final = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Empty",
    "Dead",
    "Assigning",
    "Reconciling",
    "NotReady",
)

LIST_COLUMNS: Final = ("GROUP", "TYPE", "STATE")
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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    listing = actions.add_parser("list", help="all groups of the cluster", allow_abbrev=False)
    listing.add_argument("--state", metavar="STATE,...", help=f"only groups in these states: {', '.join(STATES)}")
    add_common(listing)

    describing = actions.add_parser("describe", help="one group", allow_abbrev=False)
    describing.add_argument("group", metavar="GROUP")
    view = describing.add_mutually_exclusive_group()
    view.add_argument(
        "--offsets", action="store_true", help="committed offsets and lag of each partition (the default)"
    )
    view.add_argument("--members", action="store_true", help="members and the partitions assigned to them")
    view.add_argument("--state", action="store_true", help="state, strategy and coordinator")
    add_common(describing)


def run(arguments: argparse.Namespace) -> int:
    missing: list[str] = []
    wanted = _states(arguments.state) if arguments.action == "list" and arguments.state is not None else None
    with Client(arguments.bootstrap_server, arguments.timeout) as client:
        if arguments.action == "list":
            columns: tuple[str, ...] = LIST_COLUMNS
            rows = list_groups(client, wanted, missing)
        else:
            group = describe(client, arguments.group)
            _tell_state(group)
            if arguments.members:
                columns, rows = MEMBERS_COLUMNS, member_rows(group)
            elif arguments.state:
                columns, rows = STATE_COLUMNS, [state_row(group)]
            else:
                columns, rows = OFFSETS_COLUMNS, offset_rows(client, group)
    if arguments.json:
        print(as_json(columns, rows))
    elif rows:
        print(as_columns(columns, rows))
    elif arguments.action == "list" and not missing:
        print("no groups" if wanted is None else f"no groups in state {arguments.state}", file=sys.stderr)
    for problem in missing:
        print(f"coordinator: the groups of one node are not listed: {problem}", file=sys.stderr)
    return 1 if missing else 0


def _states(text: str) -> frozenset[str]:
    """Return the states that `--state` names, in lower case."""
    names = [name for name in (part.strip() for part in text.split(",")) if name]
    unknown = [name for name in names if name.lower() not in {state.lower() for state in STATES}]
    if unknown or not names:
        what = f"--state {', '.join(unknown)}: there is no such state" if unknown else "--state names no state"
        raise CliError(f"{what}; choose from {', '.join(STATES)}")
    return frozenset(name.lower() for name in names)


def list_groups(client: Client, wanted: frozenset[str] | None, missing: list[str]) -> list[Row]:
    """Return the groups of all nodes in the wanted states. Adds a sentence to `missing` for a silent node."""
    rows: list[Row] = []
    for node_id in client.node_ids():

        def ask(node_id: int = node_id) -> tuple[int, ListGroupsResponse]:
            answer = client.node(node_id).call(ListGroupsRequest(), ListGroupsResponse)
            return answer.error_code, answer

        try:
            groups = client.patiently(f"the groups of node {node_id}", ask).groups
        except UnreachableError as error:
            missing.append(str(error))
            continue
        if wanted is not None and any(not group.group_state for group in groups):
            raise CliError("these brokers do not tell the states of groups (Kafka before 2.6); leave --state out", 1)
        # Filtered here, because brokers before 2.6 know neither the filter nor the states.
        rows += [_listed(group) for group in groups if wanted is None or group.group_state.lower() in wanted]
    return sorted(rows, key=lambda row: str(row["GROUP"]))


def _listed(group: ListedGroup) -> Row:
    return {
        "GROUP": group.group_id,
        "TYPE": group.group_type.capitalize() or None,  # "classic" on the wire, "Classic" in Kafka's tools
        "STATE": group.group_state or None,
    }


def _tell_state(group: DescribedGroup) -> None:
    """Print a state other than Stable to stderr, so that the output stays a table."""
    if group.state == "Empty":
        print(f"group {group.group_id!r} has no members at the moment", file=sys.stderr)
    elif group.state != "Stable":
        print(f"group {group.group_id!r} is rebalancing ({group.state})", file=sys.stderr)


def offset_rows(client: Client, group: DescribedGroup) -> list[Row]:
    committed = committed_offsets(client, group.group_id)
    owners = {partition: member for member in group.members for partition in member.partitions or ()}
    partitions = sorted(committed.keys() | owners.keys())
    ends = log_end_offsets(client, partitions)
    rows: list[Row] = []
    for partition in partitions:
        offset, end = committed.get(partition), ends.get(partition)
        rows.append(
            {
                "GROUP": group.group_id,
                "TOPIC": partition[0],
                "PARTITION": partition[1],
                "CURRENT-OFFSET": offset,
                "LOG-END-OFFSET": end,
                "LAG": end - offset if end is not None and offset is not None else None,
                **_identity(owners.get(partition)),
            }
        )
    rows += [{"GROUP": group.group_id, **_identity(member)} for member in group.members if not member.partitions]
    return rows


def committed_offsets(client: Client, group_id: str) -> dict[TopicPartition, int]:
    _, connection = client.coordinator(group_id)

    def ask() -> tuple[int, OffsetFetchResponse]:
        request = OffsetFetchRequest(group_id=group_id, topics=None)
        answer = connection.call(request, OffsetFetchResponse, max_version=7)
        return answer.error_code, answer

    offsets: dict[TopicPartition, int] = {}
    for topic in client.patiently(f"the offsets of group {group_id!r}", ask).topics:
        for partition in topic.partitions:
            if partition.error_code:
                print(f"{topic.name}-{partition.partition_index}: {explain(partition.error_code)}", file=sys.stderr)
            elif partition.committed_offset >= 0:
                offsets[topic.name, partition.partition_index] = partition.committed_offset
    return offsets


def member_rows(group: DescribedGroup) -> list[Row]:
    return [
        {
            "GROUP": group.group_id,
            "GROUP-INSTANCE-ID": member.instance_id,
            "#PARTITIONS": None if member.partitions is None else len(member.partitions),
            "ASSIGNMENT": _by_topic(member.partitions),
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
    }


def _identity(member: DescribedMember | None) -> Row:
    if member is None:
        return {}
    return {"CONSUMER-ID": member.member_id, "HOST": member.host, "CLIENT-ID": member.client_id}
