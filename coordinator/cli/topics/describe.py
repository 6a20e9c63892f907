"""`coordinator topics describe`: the partitions of topics with their leaders and offsets, or their settings."""

from __future__ import annotations

import argparse
from typing import Final

from coordinator.cli.arguments import add_output, add_server, add_topics, topics_of
from coordinator.cli.client import Client, client_of, explain
from coordinator.cli.log_ends import EARLIEST, LATEST, log_offsets
from coordinator.cli.screen import complain, count, tell
from coordinator.cli.table import Row, render
from coordinator.cli.topics.selection import missing_topic
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from protocol.messages.metadata import MetadataResponseTopic

DESCRIPTION: Final = "Show the partitions of topics, or their settings. Without a name: of every topic."

EPILOG: Final = """\
examples:
  coordinator topics describe orders
  coordinator topics describe orders --configs
  coordinator topics describe -o csv"""

PARTITION_COLUMNS: Final = (
    "TOPIC",
    "PARTITION",
    "LEADER",
    "REPLICAS",
    "ISR",
    "LOG-START-OFFSET",
    "LOG-END-OFFSET",
)
CONFIG_COLUMNS: Final = ("TOPIC", "KEY", "VALUE", "SOURCE")
TOPIC_RESOURCE: Final = 2  # org.apache.kafka.common.config.ConfigResource.Type
OF_THE_TOPIC: Final = 1
# org.apache.kafka.clients.admin.ConfigEntry.ConfigSource, by its number on the wire.
SOURCES: Final = {
    OF_THE_TOPIC: "topic",
    2: "broker",
    3: "all brokers",
    4: "file of the broker",
    5: "default",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_topics(parser)
    parser.add_argument("--configs", action="store_true", help="the settings that the topic has of its own")
    parser.add_argument("--verbose", action="store_true", help="with --configs: the broker's settings for it, too")
    add_server(parser)
    add_output(parser)


def run(arguments: argparse.Namespace) -> int:
    problems: list[str] = []
    rows: list[Row] = []
    with client_of(arguments) as client:
        found = sorted(client.metadata(topics_of(arguments) or None).topics, key=lambda topic: topic.name or "")
        for topic in found:
            if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                problems.append(missing_topic(client, topic.name or ""))
            elif topic.error_code:
                problems.append(f"topic {topic.name!r} cannot be described: {explain(topic.error_code)}")
        there = [topic for topic in found if not topic.error_code]
        if arguments.configs:
            for topic in there:
                rows += config_rows(client, topic.name or "", problems, verbose=arguments.verbose)
        else:
            rows = partition_rows(client, there)
    for topic in there:
        tell(_summary(topic))
    if rows or arguments.output != "table":
        print(render(arguments.output, CONFIG_COLUMNS if arguments.configs else PARTITION_COLUMNS, rows))
    return complain(problems)


def _summary(topic: MetadataResponseTopic) -> str:
    replicas = len(topic.partitions[0].replica_nodes) if topic.partitions else 0
    without = sum(partition.leader_id < 0 for partition in topic.partitions)
    return (
        f"topic {topic.name!r}: {count(len(topic.partitions), 'partition')}, replication factor {replicas}"
        + f", {count(without, 'partition')} without a leader" * (without > 0)
    )


def partition_rows(client: Client, topics: list[MetadataResponseTopic]) -> list[Row]:
    """Return a row for each partition. An offset that its leader does not tell is unknown."""
    keys = {(topic.name or "", partition.partition_index) for topic in topics for partition in topic.partitions}
    starts = log_offsets(client, keys, EARLIEST, leave_out_unreachable=True)
    ends = log_offsets(client, keys, LATEST, leave_out_unreachable=True)
    return [
        {
            "TOPIC": topic.name,
            "PARTITION": partition.partition_index,
            "LEADER": partition.leader_id if partition.leader_id >= 0 else None,
            "REPLICAS": [*partition.replica_nodes],
            "ISR": [*partition.isr_nodes],
            "LOG-START-OFFSET": starts.get((topic.name or "", partition.partition_index)),
            "LOG-END-OFFSET": ends.get((topic.name or "", partition.partition_index)),
        }
        for topic in topics
        for partition in sorted(topic.partitions, key=lambda each: each.partition_index)
    ]


def config_rows(client: Client, name: str, problems: list[str], *, verbose: bool) -> list[Row]:
    """Return a row for each setting of a topic; without `verbose`, only for those that are set for it."""
    resource = DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=name, configuration_keys=None)
    (result,) = client.any_node().call(DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse).results
    if result.error_code:
        problems.append(f"the settings of {name!r} are not known: {explain(result.error_code, result.error_message)}")
    return [
        {
            "TOPIC": name,
            "KEY": each.name,
            "VALUE": each.value,
            "SOURCE": SOURCES.get(each.config_source),
        }
        for each in sorted(result.configs, key=lambda each: each.name)
        if verbose or each.config_source == OF_THE_TOPIC
    ]
