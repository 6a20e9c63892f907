"""Kafka's own command-line tools against the daemon, step by step, as an operator would use them.

Each tool is its Java class, run with Kafka's jars. A step is judged by what the tool prints and by what the coordinator
then has; it leaves behind what the next one needs, so a failed step may take later ones with it.
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.clients.matrix_programs import tool_command
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.questions import committed_offsets, describe_group, list_groups
from tests.support.wire import ConnectionEnded

TOPIC, GROUP, PARTITIONS = "orders", "shop", 3
TOOL_S = 60
GROUPS = "consumer.group.ConsumerGroupCommand"


class Operator:
    """Runs tools; keeps what they printed in a log."""

    def __init__(self, daemon: Daemon, log: Path) -> None:
        self.daemon = daemon
        self.port = daemon.port
        self._log = log

    def command(self, tool: str, *arguments: str) -> list[str]:
        return [*tool_command(tool), "--bootstrap-server", self.daemon.address, *arguments]

    def run(self, tool: str, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            self.command(tool, *arguments), input=stdin, capture_output=True, text=True, timeout=TOOL_S, check=False
        )
        with self._log.open("a") as log:
            log.write(f"$ {tool} {' '.join(arguments)}\n{done.stdout}{done.stderr}exit code {done.returncode}\n")
        assert done.returncode == 0, f"{tool} ended with {done.returncode}: {(done.stdout + done.stderr)[-500:]}"
        return done.stdout

    def rows(self, tool: str, *arguments: str) -> list[dict[str, str]]:
        """The table that a tool prints, a dictionary per line."""
        said = self.run(tool, *arguments)
        lines = [line.split() for line in said.splitlines() if line.strip()]
        headers = next((n for n, line in enumerate(lines) if line[0] in {"GROUP", "TOPIC"}), None)
        assert headers is not None, f"{tool} {' '.join(arguments)} printed no table: {said!r}"
        return [dict(zip(lines[headers], line, strict=False)) for line in lines[headers + 1 :]]

    def committed(self) -> dict[int, int]:
        return {partition: offset for (_, partition), offset in committed_offsets(self.port, GROUP).items()}

    def produce(self, values: list[str]) -> None:
        """Produce by key, so that all partitions get records."""
        lines = "".join(f"{value}:{value}\n" for value in values)
        pairs = ("--reader-property", "parse.key=true", "--reader-property", "key.separator=:")
        self.run("ConsoleProducer", "--topic", TOPIC, *pairs, stdin=lines)

    def consume(self, count: int, *more: str) -> list[str]:
        limits = ("--max-messages", str(count), "--timeout-ms", "20000")
        return self.run("consumer.ConsoleConsumer", "--topic", TOPIC, "--group", GROUP, *limits, *more).splitlines()


def check(seen: object, wanted: object) -> None:
    assert seen == wanted, f"{seen!r}, not {wanted!r}"


def by_partition(rows: list[dict[str, str]], column: str) -> dict[int, str]:
    return {int(row["PARTITION"]): row[column] for row in rows}


def ends(operator: Operator) -> dict[int, int]:
    said = operator.run("GetOffsetShell", "--topic", TOPIC)
    return {int(line.split(":")[1]): int(line.split(":")[2]) for line in said.split()}


def create_topic(operator: Operator) -> None:
    operator.run("TopicCommand", "--create", "--topic", TOPIC, "--partitions", str(PARTITIONS))
    assert TOPIC in operator.run("TopicCommand", "--list").split()
    said = operator.run("TopicCommand", "--describe", "--topic", TOPIC)
    assert f"PartitionCount: {PARTITIONS}" in said, said
    check(said.count("Leader: 1"), PARTITIONS)


def console_producer(operator: Operator) -> None:
    operator.produce([f"value-{n}" for n in range(30)])
    check(sum(ends(operator).values()), 30)


def console_consumer(operator: Operator) -> None:
    check(sorted(operator.consume(30, "--from-beginning")), sorted(f"value-{n}" for n in range(30)))
    check(operator.committed(), ends(operator))
    operator.produce(["one-more"])
    check(operator.consume(1), ["one-more"])
    check(operator.committed(), ends(operator))


def list_and_describe(operator: Operator) -> None:
    assert GROUP in operator.run(GROUPS, "--list").split()
    (row,) = operator.rows(GROUPS, "--list", "--state")
    check(row, {"GROUP": GROUP, "STATE": "Empty"})
    rows = operator.rows(GROUPS, "--describe", "--group", GROUP)
    check(by_partition(rows, "CURRENT-OFFSET"), {index: str(end) for index, end in ends(operator).items()})
    check(set(by_partition(rows, "LAG").values()), {"0"})
    rows = operator.rows("GroupsCommand", "--list")
    check([(row["GROUP"], row["PROTOCOL"]) for row in rows], [(GROUP, "consumer")])


def describe_live(operator: Operator) -> None:
    line = operator.command("consumer.ConsoleConsumer", "--topic", TOPIC, "--group", GROUP)
    consumer = subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        eventually(lambda: describe_group(operator.port, GROUP).state == "Stable", "the console consumer is in")
        rows = operator.rows(GROUPS, "--describe", "--group", GROUP)
        check(sorted(by_partition(rows, "HOST")), list(range(PARTITIONS)))
        check({row["HOST"] for row in rows}, {"/127.0.0.1"})
        (row,) = operator.rows(GROUPS, "--describe", "--group", GROUP, "--members", "--verbose")
        check(row["#PARTITIONS"], str(PARTITIONS))
        said = operator.run(GROUPS, "--describe", "--group", GROUP, "--state")
        assert "Stable" in said and "range" in said, said
        refused = operator.run(GROUPS, "--delete", "--group", GROUP)
        assert "GroupNotEmptyException" in refused, refused
        refused = operator.run(GROUPS, "--delete-offsets", "--group", GROUP, "--topic", TOPIC)
        assert "GroupSubscribedToTopicException" in refused, refused
        refused = operator.run(
            GROUPS, "--reset-offsets", "--group", GROUP, "--topic", TOPIC, "--to-latest", "--execute"
        )
        assert "inactive" in refused, refused
    finally:
        consumer.send_signal(signal.SIGTERM)
        consumer.wait(timeout=TOOL_S)
    eventually(lambda: describe_group(operator.port, GROUP).state == "Empty", "it left")


def reset_offsets(operator: Operator) -> None:
    end = ends(operator)
    start = ("--reset-offsets", "--group", GROUP)

    def reset(*how: str, topic: str = TOPIC) -> dict[int, int]:
        rows = operator.rows(GROUPS, *start, "--topic", topic, *how)
        return {index: int(offset) for index, offset in by_partition(rows, "NEW-OFFSET").items()}

    zero = dict.fromkeys(range(PARTITIONS), 0)
    check(reset("--to-earliest", "--dry-run"), zero)
    check(operator.committed(), end)
    check(reset("--to-earliest", "--execute"), zero)
    check(operator.committed(), zero)
    check(reset("--to-offset", "2", "--execute", topic=f"{TOPIC}:0"), {0: 2})
    check(reset("--shift-by", "1", "--execute"), {0: 3, 1: 1, 2: 1})
    check(operator.committed(), {0: 3, 1: 1, 2: 1})
    check(reset("--to-latest", "--execute"), end)
    check(operator.committed(), end)
    check(reset("--by-duration", "PT1H", "--execute"), zero)
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%S.000", time.gmtime(time.time() + 86_400))
    check(reset("--to-datetime", tomorrow, "--execute"), end)
    check(reset("--to-current", "--execute"), end)
    rows = operator.rows(GROUPS, "--describe", "--offsets", "--all-groups")
    check(by_partition(rows, "CURRENT-OFFSET"), {index: str(offset) for index, offset in end.items()})


def delete_offsets(operator: Operator) -> None:
    said = operator.run(GROUPS, "--delete-offsets", "--group", GROUP, "--topic", f"{TOPIC}:1")
    assert "Successful" in said, said
    check(sorted(operator.committed()), [0, 2])
    said = operator.run(GROUPS, "--delete-offsets", "--group", GROUP, "--topic", TOPIC)
    check(said.count("Successful"), PARTITIONS)
    check(operator.committed(), {})


def delete_group(operator: Operator) -> None:
    check(len(operator.consume(1, "--from-beginning")), 1)
    check(list_groups(operator.port), {GROUP: "Empty"})
    said = operator.run(GROUPS, "--delete", "--group", GROUP)
    assert "was successful" in said, said
    check(list_groups(operator.port), {})
    said = operator.run(GROUPS, "--delete", "--group", GROUP)
    assert "GroupIdNotFoundException" in said, said
    check(operator.run(GROUPS, "--list").split(), [])


def delete_records(operator: Operator) -> None:
    file = operator.daemon.directory / "delete-records.json"
    file.write_text(f'{{"version": 1, "partitions": [{{"topic": "{TOPIC}", "partition": 0, "offset": 1}}]}}')
    said = operator.run("DeleteRecordsCommand", "--offset-json-file", str(file))
    assert "low_watermark: 1" in said, said


def alter_topic(operator: Operator) -> None:
    operator.run("TopicCommand", "--alter", "--topic", TOPIC, "--partitions", "5")
    check(sorted(ends(operator)), list(range(5)))
    operator.run("TopicCommand", "--delete", "--topic", TOPIC)
    assert TOPIC not in operator.run("TopicCommand", "--list").split()


def api_versions(operator: Operator) -> None:
    said = operator.run("BrokerApiVersionsCommand")
    assert "JoinGroup(11): 0 to 9 [usable: 9]" in said, said
    said = operator.run("FeatureCommand", "describe")
    assert "group.version" in said and "FinalizedVersionLevel: 1" in said, said


TOOLS: dict[str, tuple[str, Callable[[Operator], None]]] = {
    "create": ("kafka-topics --create, --list, --describe", create_topic),
    "produce": ("kafka-console-producer with keys; kafka-get-offsets", console_producer),
    "consume": ("kafka-console-consumer --group: reads, commits, resumes", console_consumer),
    "list": ("kafka-consumer-groups --list, --describe; kafka-groups --list", list_and_describe),
    "live": (
        "kafka-consumer-groups on a live group: --describe, and what it must refuse",
        describe_live,
    ),
    "reset": ("kafka-consumer-groups --reset-offsets, seven ways, dry run and execute", reset_offsets),
    "delete-offsets": ("kafka-consumer-groups --delete-offsets", delete_offsets),
    "delete": ("kafka-consumer-groups --delete", delete_group),
    "delete-records": ("kafka-delete-records", delete_records),
    "alter": ("kafka-topics --alter, --delete", alter_topic),
    "versions": ("kafka-broker-api-versions; kafka-features describe", api_versions),
}


def tool_steps(directory: Path) -> dict[str, str]:
    """Each step's name and "" or what went wrong. Raises Missing or BrokenError where the tools are not to be had."""
    results: dict[str, str] = {}
    tool_command(GROUPS)
    with Daemon(directory, overrides=("group.initial.rebalance.delay.ms=0",)) as daemon:
        operator = Operator(daemon, directory.with_suffix(".log"))
        for name, (title, step) in TOOLS.items():
            started = time.monotonic()
            try:
                step(operator)
                results[name] = ""
            except (AssertionError, OSError, ConnectionEnded, subprocess.TimeoutExpired) as failure:
                results[name] = " ".join(str(failure).split())
            print(f"{title[:60]:60} {time.monotonic() - started:6.1f} s  {results[name] or 'ok'}", flush=True)
    return results
