"""`coordinator topics create`: creates topics, each with its number of partitions."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server
from coordinator.cli.client import Client, client_of, explain
from coordinator.cli.errors import CliError
from coordinator.cli.screen import tell
from coordinator.cli.table import Row, render
from coordinator.cli.topics.list import COLUMNS, list_topics
from coordinator.cli.topics.settings import parse_settings
from coordinator.config.values import ConfigError, parse_topics
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

DESCRIPTION: Final = "Create topics. Without a number of partitions, the broker's default counts."

EPILOG: Final = """\
examples:
  coordinator topics create orders:12 payments:3
  coordinator topics create audit --partitions 1 --config retention.ms=3600000"""

BROKERS_CHOICE: Final = -1  # the broker's default, in CreateTopics 4 and later


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topics", nargs="*", metavar="NAME[:PARTITIONS]")
    parser.add_argument("-t", "--topic", action="append", default=[], metavar="NAME[:PARTITIONS]", help="repeatable")
    parser.add_argument("--partitions", type=int, metavar="N", help="for each NAME without a number of its own")
    parser.add_argument("--replication-factor", type=int, default=BROKERS_CHOICE, metavar="N")
    parser.add_argument(
        "--config", "--topic-config", action="append", default=[], metavar="KEY=VALUE", help="a setting; repeatable"
    )
    parser.add_argument("--if-not-exists", action="store_true", help="an existing topic is no error")
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    with client_of(arguments) as client:
        rows = create_topics(client, arguments)
    print(render(arguments.output, COLUMNS, rows))
    return 0


def create_topics(client: Client, arguments: argparse.Namespace) -> list[Row]:
    try:
        words = [*arguments.topics, *arguments.topic]
        partitions = BROKERS_CHOICE if arguments.partitions is None else arguments.partitions
        wanted = parse_topics(",".join(words), partitions)
    except ConfigError as error:
        raise CliError(str(error)) from None
    if not wanted or (arguments.partitions is not None and arguments.partitions < 1):
        raise CliError("name a topic or several, each with at least 1 partition, as in orders:12")
    configs = [CreatableTopicConfig(name=key, value=value) for key, value in parse_settings(arguments.config).items()]
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
            hint = "; with --if-not-exists that is no error" if exists else ""
            failures.append(
                f"topic {result.name!r} was not created: {explain(result.error_code, result.error_message)}{hint}"
            )
    if failures:
        raise CliError("; ".join(failures), 1)
    rows = list_topics(client, list(wanted), controller)  # the other nodes learn of the new topics later
    for row in rows:
        asked, there = wanted[str(row["TOPIC"])], row["PARTITIONCOUNT"]
        if asked not in (BROKERS_CHOICE, there):
            tell(
                f"coordinator: topic {row['TOPIC']!r} already exists with {there} partitions and keeps them; "
                f"`coordinator topics alter {row['TOPIC']} --partitions {asked}` adds some"
            )
    return rows
