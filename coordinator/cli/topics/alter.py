"""`coordinator topics alter`: adds partitions to topics, or changes their settings (KIP-339)."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server, add_topics
from coordinator.cli.client import Client, client_of, explain
from coordinator.cli.errors import CliError
from coordinator.cli.screen import complain
from coordinator.cli.table import Row, render
from coordinator.cli.topics.describe import TOPIC_RESOURCE
from coordinator.cli.topics.selection import missing_topic, named_topics
from coordinator.cli.topics.settings import parse_settings
from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

DESCRIPTION: Final = "Add partitions to topics, or change their settings. Partitions cannot be removed."

EPILOG: Final = """\
examples:
  coordinator topics alter orders --partitions 24
  coordinator topics alter orders payments --config retention.ms=3600000 --delete-config cleanup.policy"""

COLUMNS: Final = ("TOPIC", "KEY", "VALUE")
# org.apache.kafka.clients.admin.AlterConfigOp.OpType
SET: Final = 0
DELETE: Final = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_topics(parser)
    parser.add_argument("--partitions", type=_count, metavar="N", help="as many partitions as the topic shall have")
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE", help="set this; repeatable")
    parser.add_argument(
        "--delete-config", action="append", default=[], metavar="KEY", help="go back to the broker's value; repeatable"
    )
    add_server(parser)
    add_output(parser)


def _count(text: str) -> int:
    if int(text) < 1:
        raise ValueError(text)
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    names = named_topics(arguments)
    changes: dict[str, str | None] = {**parse_settings(arguments.config), **dict.fromkeys(arguments.delete_config)}
    if arguments.partitions is None and not changes:
        raise CliError("say what to change: --partitions N, --config KEY=VALUE or --delete-config KEY")
    problems: list[str] = []
    rows: list[Row] = []
    with client_of(arguments) as client:
        if changes:
            rows += _alter_settings(client, names, changes, problems)
        if arguments.partitions is not None and not problems:
            rows += _add_partitions(client, names, arguments, problems)
    if rows or arguments.output != "table":
        print(render(arguments.output, COLUMNS, rows))
    return complain(problems)


def _alter_settings(client: Client, names: list[str], changes: dict[str, str | None], problems: list[str]) -> list[Row]:
    configs = [
        AlterableConfig(name=key, config_operation=DELETE if value is None else SET, value=value)
        for key, value in changes.items()
    ]
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configs=configs) for name in names
        ]
    )
    rows: list[Row] = []
    for result in client.controller().call(request, IncrementalAlterConfigsResponse).responses:
        name = result.resource_name
        if result.error_code:
            problems.append(_problem(client, name, result.error_code, result.error_message))
        else:
            rows += [{"TOPIC": name, "KEY": key, "VALUE": value} for key, value in changes.items()]
    return rows


def _add_partitions(client: Client, names: list[str], arguments: argparse.Namespace, problems: list[str]) -> list[Row]:
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=arguments.partitions, assignments=None) for name in names],
        timeout_ms=int(arguments.timeout * 1000),
    )
    rows: list[Row] = []
    for result in client.controller().call(request, CreatePartitionsResponse).results:
        if result.error_code:
            problems.append(_problem(client, result.name, result.error_code, result.error_message))
        else:
            rows.append({"TOPIC": result.name, "KEY": "partitions", "VALUE": str(arguments.partitions)})
    return rows


def _problem(client: Client, name: str, code: int, message: str | None) -> str:
    if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return missing_topic(client, name)
    return f"topic {name!r} was not altered: {explain(code, message)}"
