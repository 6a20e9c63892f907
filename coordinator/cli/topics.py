"""`coordinator topics list | create`: the basic operations; Kafka's own tools work too."""

from __future__ import annotations

import argparse
import sys
from typing import Final

from coordinator.cli.arguments import add_common
from coordinator.cli.client import Client, NodeConnection, explain
from coordinator.cli.errors import CliError
from coordinator.cli.table import Row, as_columns, as_json
from coordinator.config.values import ConfigError, parse_topics
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

DESCRIPTION: Final = "List topics, or create them."

EPILOG: Final = """\
examples:
  coordinator topics list
  coordinator topics create orders:12 payments:3
  coordinator topics create audit:1 --topic-config retention.ms=3600000"""

COLUMNS: Final = ("TOPIC", "PARTITIONCOUNT", "REPLICATIONFACTOR", "INTERNAL")
BROKERS_CHOICE: Final = -1  # the broker's default, in CreateTopics 4 and later


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="all topics of the cluster", allow_abbrev=False)
    add_common(listing)
    creating = actions.add_parser("create", help="create topics", allow_abbrev=False)
    creating.add_argument("topics", nargs="+", metavar="NAME[:PARTITIONS]")
    creating.add_argument("--replication-factor", type=int, default=BROKERS_CHOICE, metavar="N")
    creating.add_argument("--topic-config", action="append", default=[], metavar="KEY=VALUE", help="repeatable")
    creating.add_argument("--if-not-exists", action="store_true", help="an existing topic is no error")
    add_common(creating)


def run(arguments: argparse.Namespace) -> int:
    with Client(arguments.bootstrap_server, arguments.timeout) as client:
        rows = list_topics(client) if arguments.action == "list" else create_topics(client, arguments)
    if arguments.json:
        print(as_json(COLUMNS, rows))
    elif rows:
        print(as_columns(COLUMNS, rows))
    elif arguments.action == "list":
        print("no topics", file=sys.stderr)
    return 0


def list_topics(client: Client, names: list[str] | None = None, connection: NodeConnection | None = None) -> list[Row]:
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


def create_topics(client: Client, arguments: argparse.Namespace) -> list[Row]:
    try:
        wanted = parse_topics(",".join(arguments.topics), BROKERS_CHOICE)
    except ConfigError as error:
        raise CliError(str(error)) from None
    configs = []
    for entry in arguments.topic_config:
        name, separator, value = entry.partition("=")
        if not separator:
            raise CliError(f"--topic-config {entry!r} has no value; write --topic-config key=value")
        configs.append(CreatableTopicConfig(name=name.strip(), value=value))
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name, num_partitions=count, replication_factor=arguments.replication_factor, configs=configs
            )
            for name, count in wanted.items()
        ],
        timeout_ms=int(arguments.timeout * 1000),
    )
    failures = []
    controller = client.controller()
    for result in controller.call(request, CreateTopicsResponse).topics:
        exists = result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        if result.error_code and not (exists and arguments.if_not_exists):
            failures.append(
                f"topic {result.name!r} was not created: {explain(result.error_code, result.error_message)}"
            )
    if failures:
        raise CliError("; ".join(failures), 1)
    rows = list_topics(client, list(wanted), controller)  # the other nodes learn of the new topics later
    for row in rows:
        asked, there = wanted[str(row["TOPIC"])], row["PARTITIONCOUNT"]
        if asked not in (BROKERS_CHOICE, there):
            print(
                f"coordinator: topic {row['TOPIC']!r} already exists with {there} partitions and keeps them; "
                "kafka-topics.sh --alter --partitions adds some",
                file=sys.stderr,
            )
    return rows
