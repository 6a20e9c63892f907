"""`coordinator groups delete-offsets`: deletes a group's committed offsets of some topics (KIP-496)."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import client_of
from coordinator.cli.errors import CliError
from coordinator.cli.group_description import GroupNotFoundError
from coordinator.cli.groups.selection import not_found, only_group
from coordinator.cli.groups.topic_partitions import parse_topic_partitions
from coordinator.cli.reset.requests import delete_offsets, todays_offsets
from coordinator.cli.table import Row, render

DESCRIPTION: Final = "Delete the committed offsets of a group for some topics that none of its members reads."

EPILOG: Final = """\
examples:
  coordinator groups delete-offsets orders-service -t orders
  coordinator groups delete-offsets orders-service -t orders:0,3 -t payments"""

COLUMNS: Final = ("GROUP", "TOPIC", "PARTITION", "DELETED-OFFSET")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("-g", "--group", action="append", default=[], metavar="GROUP", help="as GROUP")
    parser.add_argument(
        "-t",
        "--topic",
        action="append",
        required=True,
        metavar="TOPIC[:P,...]",
        help="a topic, or some of its partitions; repeatable",
    )
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    group_id = only_group(arguments)
    wanted = parse_topic_partitions(arguments.topic)
    with client_of(arguments) as client:
        committed = todays_offsets(client, group_id)
        chosen = {
            (topic, partition): committed[topic, partition]
            for topic, partition in sorted(committed)
            if topic in wanted and (wanted[topic] is None or partition in (wanted[topic] or ()))
        }
        try:
            if not chosen:
                names = ", ".join(arguments.topic)
                if not committed:
                    delete_offsets(client, group_id, [])  # which says whether there is such a group
                raise CliError(f"group {group_id!r} has no committed offsets of {names}; there is nothing to delete", 1)
            delete_offsets(client, group_id, chosen)
        except GroupNotFoundError:
            raise not_found(client, group_id) from None
    rows: list[Row] = [
        {"GROUP": group_id, "TOPIC": topic, "PARTITION": partition, "DELETED-OFFSET": today.offset}
        for (topic, partition), today in chosen.items()
    ]
    print(render(arguments.output, COLUMNS, rows))
    return 0
