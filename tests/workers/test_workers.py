"""`coordinator serve --workers N` with real processes and clients: workers that die, and another N later."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from coordinator.core.shard import partition_for
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.cluster.workload import promises
from tests.cluster.workload.processes import all_go_on, clients_at_work
from tests.support.daemon import REPOSITORY
from tests.support.eventually import eventually
from tests.support.faulty_disk import FaultyDisk
from tests.support.group_events import PARTITIONS as PARTITIONS_OF_EVENTS
from tests.support.group_events import read_topic, story
from tests.support.group_member import alone_in_group
from tests.support.nodes import free_ports
from tests.support.wire import Wire, call

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

TOPIC, PARTITIONS = "orders", 12
START_S = 60.0


class Daemon:
    """A supervisor with its workers, and the same directory and ports for the next one."""

    def __init__(self, directory: Path) -> None:
        self.data_dir = directory / "data"
        self.log_file = directory / "log"
        self.port_file = directory / "port"
        self.ports = free_ports(3)
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def start(self, workers: int) -> None:
        self.port_file.unlink(missing_ok=True)
        command = [
            *(sys.executable, "-m", "coordinator", "serve", "--listen", f"127.0.0.1:{self.ports[0]}"),
            *("--http", "127.0.0.1:0", "--data-dir", str(self.data_dir), "--port-file", str(self.port_file)),
            *("--topic", f"{TOPIC}:{PARTITIONS}", "--override", "group.initial.rebalance.delay.ms=500"),
        ]
        if workers > 1:
            command += ["--workers", str(workers), "--worker-ports", ",".join(map(str, self.ports[:workers]))]
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=REPOSITORY, env={**os.environ, **self.environment}
            )
        eventually(
            lambda: self.port_file.exists() or self.process.poll() is not None, "the daemon is up", within_s=START_S
        )
        assert self.process.poll() is None, self.log_file.read_text()[-4000:]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(timeout=40)

    def worker_pids(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children]

    def get(self, path: str) -> tuple[int, str]:
        port = re.findall(r"http listen=127\.0\.0\.1:(\d+)", self.log_file.read_text())[-1]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refusal:
            with refusal:
                return refusal.code, refusal.read().decode()


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    made = Daemon(tmp_path)
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.wait()


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_offsets_survive_the_death_of_a_worker_and_another_number_of_workers(daemon: Daemon, tmp_path: Path) -> None:
    diaries = tmp_path / "diaries"
    daemon.start(2)
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in daemon.ports[:2])
    with clients_at_work(bootstrap, TOPIC, PARTITIONS, diaries):
        all_go_on(diaries, time.time())
        victim = daemon.worker_pids()[0]
        os.kill(victim, signal.SIGKILL)
        eventually(lambda: len(daemon.worker_pids()) == 2 and victim not in daemon.worker_pids(), "another worker")
        all_go_on(diaries, time.time())
        for workers in (3, 2):
            assert daemon.stop() == 0
            daemon.start(workers)
            mended = time.time()
            all_go_on(diaries, mended)
        assert daemon.stop() == 0
        daemon.start(1)  # on the first port, which the clients have as bootstrap address
        mended = time.time()
        all_go_on(diaries, mended)
        counts, violations = promises.check(bootstrap, TOPIC, PARTITIONS, diaries, mended)
    print(counts)
    assert violations == []
    assert counts["records acknowledged"] > 100 and counts["takeovers"] > 10, "nothing was shown"


async def _one_rebalance(port: int, group: str) -> None:
    async with await Wire.connect(port) as wire:
        member = await alone_in_group(wire, group, TOPIC)
        assert await member.leave() is ErrorCode.NONE


def test_the_events_of_the_groups_of_all_workers_are_in_one_topic(daemon: Daemon) -> None:
    daemon.start(2)
    groups = {port: [f"g{n}" for n in range(20) if partition_for(f"g{n}", PARTITIONS_OF_EVENTS) % 2 == index][:3]
              for index, port in enumerate(daemon.ports[:2])}  # fmt: skip
    for port, names in groups.items():
        for name in names:
            asyncio.run(_one_rebalance(port, name))
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in daemon.ports[:2])
    found = asyncio.run(read_topic(bootstrap, 12))
    told = {name: [event for event in found if event.group == name] for names in groups.values() for name in names}
    assert {name: len(events) for name, events in told.items()} == dict.fromkeys(told, 2)
    assert daemon.stop() == 0
    daemon.start(1)
    for name, events in told.items():
        eventually(lambda name=name: len(story(daemon.ports[0], name)) >= 2, "the events are read")  # type: ignore[misc]
        assert story(daemon.ports[0], name)[:2] == events


def test_metadata_lists_all_workers_and_the_first_is_the_controller(daemon: Daemon) -> None:
    daemon.start(2)
    answer = call(daemon.ports[1], MetadataRequest(topics=None), 9)
    assert [(each.node_id, each.port) for each in answer.brokers] == [(1, daemon.ports[0]), (2, daemon.ports[1])]
    assert answer.controller_id == 1
    leaders = {each.leader_id for topic in answer.topics for each in topic.partitions}
    assert leaders == {1, 2}


def test_one_http_port_has_status_and_metrics_of_all_workers(daemon: Daemon) -> None:
    daemon.start(2)
    assert daemon.get("/readyz") == (200, "2 workers are ready\n")
    status, text = daemon.get("/metrics")
    assert status == 200
    for node in (1, 2):
        assert f'coordinator_worker_restarts_total{{node="{node}"}} 0.0' in text
        assert f'kafka_coordinator_group_num_groups{{node="{node}",state="Stable"}} 0.0' in text
        assert f'coordinator_ready{{node="{node}"}} 1.0' in text
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
    for port in daemon.ports[:2]:  # one of them is the group's coordinator
        call(port, OffsetCommitRequest(group_id="shop", topics=topics), 8)
    shown = re.compile(r'^coordinator_group_members\{group="shop",node="[12]"\} 0.0$', flags=re.MULTILINE)
    eventually(lambda: len(shown.findall(daemon.get("/metrics")[1])) == 1, "the group is shown by its node")
    os.kill(daemon.worker_pids()[1], signal.SIGSTOP)
    try:
        assert daemon.get("/readyz") == (503, "node 2 does not answer\n")
    finally:
        os.kill(daemon.worker_pids()[1], signal.SIGCONT)
    eventually(lambda: daemon.get("/readyz")[0] == 200, "ready again")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_stop_signal_reaches_all_workers_and_the_exit_code_is_0(daemon: Daemon, number: int) -> None:
    daemon.start(2)
    pids = daemon.worker_pids()
    assert daemon.stop(number) == 0
    assert all(map(is_gone, pids))
    assert daemon.log_file.read_text().count("stopped data_dir=") == 2  # each has stopped cleanly
    assert "Traceback" not in daemon.log_file.read_text()


def test_workers_stop_cleanly_when_their_supervisor_is_killed(daemon: Daemon) -> None:
    daemon.start(2)
    pids = daemon.worker_pids()
    daemon.process.kill()
    daemon.process.wait()
    eventually(lambda: all(map(is_gone, pids)), "the workers are gone")
    assert daemon.log_file.read_text().count("stopped data_dir=") == 2


def test_a_worker_that_cannot_start_stops_the_daemon_with_its_reason(daemon: Daemon) -> None:
    daemon.start(2)
    assert daemon.stop() == 0
    catalogue = daemon.data_dir / "workers" / "2" / "topics.json"
    daemon.start(2)
    catalogue.write_text("{")
    os.kill(daemon.worker_pids()[1], signal.SIGKILL)
    assert daemon.process.wait(timeout=40) == 2
    assert "topics.json cannot be used" in daemon.log_file.read_text()


def test_a_worker_with_a_failing_disk_is_restarted_and_the_others_continue(daemon: Daemon, tmp_path: Path) -> None:
    disk = FaultyDisk(tmp_path / "fault")
    daemon.environment = disk.environment
    daemon.start(2)
    homes = [daemon.data_dir / "workers" / node for node in ("1", "2")]
    assert all(home.is_dir() for home in homes)
    for number in range(20):
        commit_offsets_anywhere(daemon.ports[:2], f"g{number}")
    first, second = daemon.worker_pids()
    disk.fail(errno.EIO, homes[1])
    os.kill(second, signal.SIGKILL)
    eventually(lambda: "worker died node=2 exit_code=1" in daemon.log_file.read_text(), "it could not start")
    assert "cannot be used now" in daemon.log_file.read_text()
    assert first in daemon.worker_pids()
    disk.heal()
    eventually(lambda: daemon.get("/readyz")[0] == 200, "ready again", within_s=START_S)
    assert first in daemon.worker_pids()
    assert daemon.stop() == 0


def commit_offsets_anywhere(ports: list[int], group: str) -> None:
    """Try all nodes: only the coordinator of the group accepts. A new node first learns of the topics."""
    entry = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[entry])]
    request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics)

    def codes() -> set[int]:
        return {call(port, request, 8).topics[0].partitions[0].error_code for port in ports}

    eventually(
        lambda: codes() == {ErrorCode.NONE, ErrorCode.NOT_COORDINATOR}, "one takes the commit, the other refuses"
    )


def test_a_second_daemon_on_the_same_directory_is_refused(daemon: Daemon) -> None:
    daemon.start(2)
    for workers in ([], ["--workers", "2"]):
        second = subprocess.run(
            [
                *(sys.executable, "-m", "coordinator", "serve", "--listen", "127.0.0.1:0", "--http", "off"),
                *("--data-dir", str(daemon.data_dir), *workers),
            ],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert second.returncode == 2
        assert "is in use by another daemon" in second.stderr


def test_transactions_survive_the_death_of_a_worker_and_another_number_of_workers(daemon: Daemon) -> None:
    """The node of a producer's coordinator stays the same here, or is found again on another port."""
    from tests.support.transactional import LIMIT_S, read, transactional_producer

    daemon.start(2)
    bootstrap = ",".join(f"127.0.0.1:{port}" for port in daemon.ports[:2])
    producers = [transactional_producer(bootstrap, f"tx-{number}") for number in range(4)]
    for number, producer in enumerate(producers):
        producer.begin_transaction()
        for partition in range(PARTITIONS):
            producer.produce(TOPIC, f"{number}", partition=partition)
        producer.flush(LIMIT_S)
    victim = daemon.worker_pids()[1]
    os.kill(victim, signal.SIGKILL)
    eventually(lambda: len(daemon.worker_pids()) == 2 and victim not in daemon.worker_pids(), "another worker")
    producers[0].commit_transaction(LIMIT_S)
    producers[1].abort_transaction(LIMIT_S)
    for workers in (3, 2, 1):
        assert daemon.stop() == 0
        daemon.start(workers)
    producers[2].commit_transaction(LIMIT_S)
    producers[3].abort_transaction(LIMIT_S)
    for partition in range(PARTITIONS):
        assert sorted(read(f"127.0.0.1:{daemon.ports[0]}", TOPIC, partition)) == ["0", "2"]


def test_a_transaction_of_another_worker_is_named_for_a_group_that_it_holds_back(
    daemon: Daemon, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from coordinator.explain import transactions
    from tests.cli.command_line import CommandLine
    from tests.support.transactional import LIMIT_S, transactional_producer

    monkeypatch.setattr(transactions, "OPEN_FOR_MS", 0)  # each open transaction counts as a long one
    daemon.start(3)
    bootstrap = f"127.0.0.1:{daemon.ports[0]}"
    command = CommandLine(bootstrap, capsys)
    producers = [transactional_producer(bootstrap, f"tx-{number}") for number in range(6)]
    for number, producer in enumerate(producers):
        producer.begin_transaction()
        producer.produce(TOPIC, b"x", partition=number)
        assert producer.flush(LIMIT_S) == 0
    listed = command("transactions", "list", "--json").json
    assert len({row["coordinator"] for row in listed}) > 1, "several workers coordinate them"
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers", "log_level": 0})
    consumer.commit(offsets=[TopicPartition(TOPIC, number, 0) for number in range(6)], asynchronous=False)
    consumer.close()

    said = command("groups", "explain", "readers", "--json").json
    held = {each["partition"]: each["transaction"]["transactional_id"] for each in said["story"]["held"]}
    assert held == {number: f"tx-{number}" for number in range(6)}
    assert said["verdicts"][0]["code"] == "held_back"
    _, shown = daemon.get("/api/groups")
    assert json.loads(shown)["open_transactions"] == 6
    _, page = daemon.get("/api/group?id=readers")
    assert json.loads(page)["story"]["held"] == said["story"]["held"]
