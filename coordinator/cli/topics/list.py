"""`coordinator topics list`: the topics of the cluster, with their numbers of partitions and replicas."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import Client, NodeConnection, client_of
from coordinator.cli.screen import tell
from coordinator.cli.table import Row, render

DESCRIPTION: Final = "List all topics of the cluster."
COLUMNS: Final = ("TOPIC", "PARTITIONCOUNT", "REPLICATIONFACTOR", "INTERNAL")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--exclude-internal", action="store_true", help="without the topics of the brokers themselves")
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with client_of(arguments) as client:
        rows = [row for row in list_topics(client) if not (arguments.exclude_internal and row["INTERNAL"])]
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    else:
        tell("no topics")
    return 0


def list_topics(client: Client, names: list[str] | None = None, connection: NodeConnection | None = None) -> list[Row]:
    """Return a row for each of these topics (None: all) that exists, by name."""
    rows: list[Row] = [
        {
            "TOPIC": topic.name,
            "PARTITIONCOUNT": len(topic.partitions),
            "REPLICATIONFACTOR": len(topic.partitions[0].replica_nodes) if topic.partitions else None,
            "INTERNAL": topic.is_internal,
        }
        for topic in client.metadata(names, connection).topics
        if not topic.error_code
    ]
    return sorted(rows, key=lambda row: str(row["TOPIC"]))
