"""A real Apache Kafka beside us: fetched once, started on loopback ports, stopped by its pid.

`make kafka` copies the jars of a pinned release from Maven into a cache outside the repository; our two small pom files
under kafka/ say which. `Kafka` formats a data directory, starts one process that is broker and controller, and is ready
when its group coordinator answers. Everything that takes time on a real cluster is made small: one partition of the
offsets topic, a short initial rebalance delay. Nothing here skips: without Java or Maven it says so and fails.

`python -m tests.conformance.kafka` fetches the jars; with `run` it also runs a broker until interrupted.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from tests.support.eventually import eventually
from tests.support.wire import ConnectionEnded, call

SOURCES = Path(__file__).parent / "kafka"
START_S = 120.0
STOP_S = 30.0
LATEST = -1  # as the timestamp of ListOffsets
CLUSTER_ID = "Y29uZm9ybWFuY2UtdGVzdA"  # any 16 bytes in base64


class KafkaMissingError(Exception):
    """Kafka cannot be fetched or run on this machine; the text says what to install."""


class KafkaFetchError(KafkaMissingError):
    """Java and Maven are here, and Maven failed."""


def cache_dir() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-group-coordinator"


def _require(program: str, package: str) -> None:
    if shutil.which(program) is None:
        raise KafkaMissingError(
            f"{program} is needed to run a real Kafka: install {package} (it was not found in PATH)"
        )


def jars(kind: str) -> Path:
    """The folder of all jars of `broker` or `tools`; fetched when it is not there yet, named by its pom's content."""
    _require("java", "openjdk-17-jre-headless")
    pom = SOURCES / kind / "pom.xml"
    folder = cache_dir() / f"kafka-{kind}-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    if folder.is_dir():
        return folder
    _require("mvn", "maven")
    cache_dir().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache_dir()) as name:  # beside it first: another run may do the same
        work = Path(name)
        shutil.copy(pom, work)
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={work / 'jars'}"]
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=900)
        if done.returncode != 0:
            raise KafkaFetchError(f"Maven could not fetch Kafka: {(done.stdout + done.stderr)[-600:]}")
        if not folder.is_dir():
            (work / "jars").rename(folder)
    return folder


def release(kind: str = "broker") -> str:
    """The version that was fetched, as its jar is named."""
    pattern = {"broker": "kafka_2.13-*.jar", "tools": "kafka-tools-[0-9]*.jar"}[kind]
    return next(jars(kind).glob(pattern)).stem.rpartition("-")[2]


def java(kind: str, main_class: str, *arguments: str, heap: str = "256m", is_brief: bool = True) -> list[str]:
    """The command that runs a class of Kafka's with a small heap. `is_brief`: it starts fast, and never gets fast."""
    flags = [f"-Xmx{heap}", "-XX:+UseSerialGC", "-Xshare:auto", *(["-XX:TieredStopAtLevel=1"] if is_brief else [])]
    return ["java", *flags, "-cp", f"{jars(kind)}/*", main_class, *arguments]


def dump_log(*segments: Path, offsets: bool = True) -> str:
    """Return the output of Kafka's dump tool for some segments."""
    arguments = ["--files", ",".join(map(str, segments)), "--print-data-log"]
    command = java("tools", "org.apache.kafka.tools.DumpLogSegments", *arguments)
    if offsets:
        command.append("--offsets-decoder")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"the dump tool failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout


def _free_ports(count: int) -> list[int]:
    """Ports that are free now. Kafka cannot be told to choose its controller's port itself."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Kafka:
    """One broker with its data directory; `start()` may be called again after `stop()` or `kill()`."""

    def __init__(
        self, directory: Path, *, settings: Mapping[str, str] | None = None, heap: str = "400m", is_brief: bool = True
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.data_dir = directory / "data"
        self.log_file = directory / "kafka.log"
        self.port, self._controller_port = _free_ports(2)
        self._settings = dict(settings or {})
        self._heap = heap
        self._is_brief = is_brief
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Kafka:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def properties(self) -> dict[str, str]:
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller_port}",
            "listeners": f"PLAINTEXT://{self.address},CONTROLLER://127.0.0.1:{self._controller_port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data_dir),
            "offsets.topic.num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.num.partitions": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            "auto.create.topics.enable": "false",
            "num.network.threads": "1",
            "num.io.threads": "2",
            "log.cleaner.enable": "false",
            **self._settings,
        }

    def start(self) -> Kafka:
        """Start, and wait until the group coordinator answers for a group."""
        config = self.directory / "server.properties"
        config.write_text("".join(f"{key}={value}\n" for key, value in self.properties().items()))
        if not self.data_dir.exists():
            command = java("broker", "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(config))
            done = subprocess.run(command, capture_output=True, text=True, timeout=START_S)
            if done.returncode != 0:
                raise AssertionError(f"Kafka could not format its storage: {(done.stdout + done.stderr)[-1000:]}")
        with self.log_file.open("ab") as log:
            command = java("broker", "kafka.Kafka", str(config), heap=self._heap, is_brief=self._is_brief)
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            eventually(self._is_ready_or_gone, "Kafka is ready", within_s=START_S)
        except BaseException:
            self.kill()
            raise
        if self._process.poll() is not None:
            raise AssertionError(f"Kafka ended at start; its log: {self.log_tail()}")
        return self

    def _is_ready_or_gone(self) -> bool:
        if self._process is not None and self._process.poll() is not None:
            return True
        try:
            found = call(self.port, FindCoordinatorRequest(key="ready"), 3, within_s=5)
            if found.error_code != 0:
                return False
            described = call(self.port, DescribeGroupsRequest(groups=["ready"]), 5, within_s=5)
            return bool(described.groups[0].error_code == 0)
        except (OSError, ConnectionEnded):
            return False

    def create_topic(self, name: str, partitions: int) -> None:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        response = call(self.port, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
        assert [each.error_code for each in response.topics] == [0], response
        eventually(lambda: self._leads(name, partitions), f"Kafka leads all partitions of {name}")

    def _leads(self, topic: str, partitions: int) -> bool:
        """Partitions get their leaders a moment after Kafka said that there is a topic; clients try again till then."""
        asked = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in range(partitions)]
        request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)])
        (answer,) = call(self.port, request, 5).topics
        return all(each.error_code == 0 for each in answer.partitions)

    def stop(self) -> None:
        """SIGTERM to this process, and wait; Kafka writes its logs out."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def restart(self) -> None:
        """Kill it and start it again on the same port and data."""
        self.kill()
        self.start()

    def log_tail(self) -> str:
        return self.log_file.read_text(errors="replace")[-3000:] if self.log_file.exists() else ""


def main(words: list[str]) -> int:
    try:
        print(f"Apache Kafka {release()} is in {jars('broker')}")
        print(f"Apache Kafka's tools {release('tools')} are in {jars('tools')}")
        if words == ["run"]:
            with tempfile.TemporaryDirectory() as name, Kafka(Path(name)) as kafka:
                print(f"listening on {kafka.address}; pid {kafka.pid}", flush=True)
                while True:
                    time.sleep(60)
    except KafkaMissingError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
