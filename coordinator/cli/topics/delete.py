"""`coordinator topics delete`: deletes topics with their records, and the offsets that groups committed for them."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server, add_topics
from coordinator.cli.client import client_of, explain
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from coordinator.cli.topics.selection import missing_topic, named_topics
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

DESCRIPTION: Final = "Delete topics with their records."
COLUMNS: Final = ("TOPIC", "DELETED")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_topics(parser)
    parser.add_argument("--if-exists", action="store_true", help="a topic that does not exist is no error")
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    names = named_topics(arguments)
    problems: list[str] = []
    rows: list[Row] = []
    with client_of(arguments) as client:
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name=name) for name in names],
            topic_names=names,  # before version 6
            timeout_ms=int(arguments.timeout * 1000),
        )
        for result in client.controller().call(request, DeleteTopicsResponse).responses:
            name = result.name or ""
            if not result.error_code:
                rows.append({"TOPIC": name, "DELETED": True})
            elif result.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                problems.append(f"topic {name!r} was not deleted: {explain(result.error_code, result.error_message)}")
            elif not arguments.if_exists:
                problems.append(missing_topic(client, name))
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    return complain(problems)
