"""Kafka's own tools against three nodes: each command is given one node and finds the others by itself."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.matrix_programs import JVM, QUIET, Missing, jars, kafka_version, tool_command
from tests.support.eventually import eventually
from tests.support.machine_tools import not_run, require_tool
from tests.support.nodes import Nodes
from tests.support.questions import commit_offsets

pytestmark = pytest.mark.integration

TOOL_S = 90
GROUPS = "consumer.group.ConsumerGroupCommand"
TOPIC = "orders"
ALTERATIONS = 9


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    require_tool("java", "openjdk-17-jdk-headless")
    try:
        tool_command(GROUPS)
    except Missing as reason:
        not_run(f"make kafka ({reason})")
    overrides = ("group.initial.rebalance.delay.ms=0",)
    with Nodes(tmp_path_factory.mktemp("nodes"), overrides=overrides) as running:
        yield running


def run(nodes: Nodes, number: int, tool: str, *arguments: str, stdin: str = "") -> str:
    """Run a tool with the address of one node and return its output."""
    command = [*tool_command(tool), "--bootstrap-server", nodes[number].address, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=TOOL_S, check=False)
    assert done.returncode == 0, f"{tool}: {(done.stdout + done.stderr)[-800:]}"
    return done.stdout


def test_a_topic_is_made_grown_described_and_deleted_from_any_node(nodes: Nodes) -> None:
    run(nodes, 2, "TopicCommand", "--create", "--topic", TOPIC, "--partitions", "4")
    nodes.know(TOPIC, 4)
    said = run(nodes, 3, "TopicCommand", "--describe", "--topic", TOPIC)
    assert sorted(said.count(f"Leader: {number}") for number in nodes) == [1, 1, 2], said
    run(nodes, 3, "TopicCommand", "--alter", "--topic", TOPIC, "--partitions", "6")
    nodes.know(TOPIC, 6)
    run(nodes, 2, "TopicCommand", "--create", "--topic", "brief")
    nodes.know("brief", 1)
    run(nodes, 3, "TopicCommand", "--delete", "--topic", "brief")
    nodes.know("brief", None)


def test_records_are_written_to_all_nodes_and_read_from_all_by_a_group(nodes: Nodes) -> None:
    values = [f"value-{number}" for number in range(60)]
    lines = "".join(f"{value}:{value}\n" for value in values)
    properties = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
    run(nodes, 1, "ConsoleProducer", "--topic", TOPIC, *properties, stdin=lines)
    ends = run(nodes, 2, "GetOffsetShell", "--topic", TOPIC).split()
    assert len(ends) == 6 and sum(int(line.split(":")[2]) for line in ends) == 60
    for number in nodes:
        group = nodes.group_of(number, "console")
        wanted = ("--from-beginning", "--max-messages", "60", "--timeout-ms", "20000", "--group", group)
        said = run(nodes, 1 + number % 3, "consumer.ConsoleConsumer", "--topic", TOPIC, *wanted)
        assert sorted(said.split()) == sorted(values)


def test_groups_of_all_nodes_are_listed_described_and_deleted_from_any_node(nodes: Nodes) -> None:
    groups = {number: nodes.group_of(number, "tool") for number in nodes}
    for number, group in groups.items():
        commit_offsets(nodes[number].port, group, {(TOPIC, number): number})
    for number in nodes:
        assert set(groups.values()) <= set(run(nodes, number, GROUPS, "--list").split())
        said = run(nodes, number, GROUPS, "--describe", "--all-groups", "--offsets")
        for owner, group in groups.items():
            (line,) = (each.split() for each in said.splitlines() if each.startswith(f"{group} "))
            assert line[1:4] == [TOPIC, str(owner), str(owner)]
    states = run(nodes, 1, GROUPS, "--describe", "--all-groups", "--state")
    for owner, group in groups.items():
        (line,) = (each for each in states.splitlines() if each.startswith(f"{group} "))
        assert f"127.0.0.1:{nodes[owner].port}" in line, "the coordinator is shown"
    said = run(nodes, 2, GROUPS, "--delete", *(part for group in groups.values() for part in ("--group", group)))
    assert "was successful" in said
    assert not set(groups.values()) & set(run(nodes, 3, GROUPS, "--list").split())


def test_the_cluster_is_told(nodes: Nodes) -> None:
    done = subprocess.run(
        [*tool_command("ClusterTool"), "cluster-id", "--bootstrap-server", nodes[2].address],
        capture_output=True,
        text=True,
        timeout=TOOL_S,
        check=False,
    )
    assert "loopback" in done.stdout
    said = run(nodes, 3, "BrokerApiVersionsCommand")
    assert [f"(id: {number} rack: null" in said for number in nodes] == [True] * 3, said
    assert "30000" not in said, "what nodes say to each other is not told to clients"


def test_records_are_deleted_at_their_leaders(nodes: Nodes, tmp_path: Path) -> None:
    wanted = ",".join(f'{{"topic": "{TOPIC}", "partition": {index}, "offset": 1}}' for index in range(6))
    file = tmp_path / "delete.json"
    file.write_text(f'{{"version": 1, "partitions": [{wanted}]}}')
    said = run(nodes, 1, "DeleteRecordsCommand", "--offset-json-file", str(file))
    assert said.count("low_watermark: 1") == 6, said


def test_settings_that_the_java_client_sends_to_any_node_are_set(nodes: Nodes) -> None:
    if shutil.which("javac") is None:
        not_run("install openjdk-17-jdk-headless")
    source = Path(__file__).parent / "java" / "AlterConfigs.java"
    classpath = ("-cp", f"{jars(kafka_version())}/*")
    command = ["java", *JVM, *QUIET, *classpath, str(source), nodes.bootstrap, TOPIC, str(ALTERATIONS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TOOL_S, check=False)
    assert done.stdout.count("altered") == ALTERATIONS, done.stdout + done.stderr[-800:]
    for number in nodes:
        eventually(
            lambda number=number: (
                f"retention.ms={1_000_000 + ALTERATIONS}"
                in run(nodes, number, "TopicCommand", "--describe", "--topic", TOPIC)
            ),
            f"node {number} has the last setting",
        )
