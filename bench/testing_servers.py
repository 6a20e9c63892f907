"""The servers that tests of consumers run on, each started, cleaned and stopped as its users do it.

A server is ready when Metadata names a leader for each partition of the topic that was asked for. What is done once on
a machine (kfake is built, the storage of Apache Kafka is formatted) belongs to `prepare` and to no figure.
"""

from __future__ import annotations

import tempfile
import time
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from bench import peers_at_hand
from bench.measure import BenchError, all_cores
from bench.peers.kafka import version as kafka_version
from bench.peers.mock import MockCluster
from bench.probe import Probe
from bench.servers import build_kfake, kfake
from coordinator.testing import Coordinator, CoordinatorProcess
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.support.wire import ConnectionEnded, call

PARTITIONS: Final = 3
READY_S: Final = 120.0
LOOK_S: Final = 0.001
MOCK_DELAY_MS: Final = 1  # librdkafka's own default is 3000
TOPIC_EXISTS: Final = 36


def wait_for_topic(port: int, topic: str, *, within_s: float = READY_S) -> None:
    """Wait until Metadata names a leader for each partition of a topic. Raises BenchError."""
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    deadline = time.monotonic() + within_s
    while True:
        try:
            with Probe(port) as probe:
                (found,) = probe.ask(request, 4).topics
            if found.error_code == 0 and all(each.leader_id >= 0 for each in found.partitions):
                return
        except OSError:
            pass
        if time.monotonic() > deadline:
            raise BenchError(f"topic {topic} was not there within {within_s:g} s")
        time.sleep(LOOK_S)


def create_topic(port: int, topic: str, partitions: int, *, within_s: float = READY_S) -> None:
    """Create a topic, again and again until the server can. Raises BenchError."""
    wanted = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=1)
    deadline = time.monotonic() + within_s
    while True:
        try:
            code = call(port, CreateTopicsRequest(topics=[wanted], timeout_ms=10_000), 5).topics[0].error_code
        except (OSError, ConnectionEnded):
            code = -1
        if code in (0, TOPIC_EXISTS):
            return
        if time.monotonic() > deadline:
            raise BenchError(f"topic {topic} was not created within {within_s:g} s: error code {code}")
        time.sleep(LOOK_S)


class TestServer(ABC):
    """One way to give a test a server. `port` is valid between `start` and `stop`."""

    __test__ = False
    name: str
    reset_is: str  # how its users get from one test to the next
    starts_rarely = False  # a start takes seconds, and few are measured
    port: int

    def prepare(self) -> None:  # noqa: B027 - most need nothing
        """Do what a start needs and what is not measured."""

    @abstractmethod
    def start(self, topic: str) -> None:
        """Start with a topic, and return when a client can use it. No topic if its name is empty."""

    @abstractmethod
    def stop(self) -> None:
        """Stop, and remove what is left."""

    def reset(self, topic: str, old_topic: str) -> None:
        """Pass from one test to the next, which finds a new topic and none of the groups of before."""
        self.stop()
        self.start(topic)

    def begin_test(self) -> None:
        """Give a test its server, without a topic."""
        self.start("")

    def create(self, topic: str, partitions: int) -> None:
        create_topic(self.port, topic, partitions)

    def end_test(self, topic: str) -> None:
        """Take the server of a test away. Its topic and its group have the same name."""
        self.stop()

    def is_up(self, address: str, topic: str) -> None:
        self.port = int(address.rpartition(":")[2])
        if topic:
            wait_for_topic(self.port, topic)


class InProcess(TestServer):
    name = "ours, in-process"
    reset_is = "another `Coordinator`"

    def start(self, topic: str) -> None:
        self._server = Coordinator(topics={topic: PARTITIONS} if topic else {}).start()
        self.is_up(self._server.bootstrap_servers, topic)

    def create(self, topic: str, partitions: int) -> None:
        self._server.create_topics({topic: partitions})

    def stop(self) -> None:
        self._server.stop()


class AsProcess(TestServer):
    name = "ours, a process"
    reset_is = "another `CoordinatorProcess`"

    def start(self, topic: str) -> None:
        self._exit = ExitStack()
        server = CoordinatorProcess(topics={topic: PARTITIONS} if topic else {})
        self._exit.enter_context(server)
        self.is_up(server.bootstrap_servers, topic)

    def stop(self) -> None:
        self._exit.close()


class Mock(TestServer):
    """librdkafka's mock in this process, where the users of librdkafka have it."""

    name = "librdkafka's mock, in-process"
    reset_is = "another mock cluster"

    def start(self, topic: str) -> None:
        self._cluster = MockCluster(delay_ms=MOCK_DELAY_MS)
        if topic:
            self.create(topic, PARTITIONS)
        self.is_up(f"127.0.0.1:{self._cluster.port}", topic)

    def create(self, topic: str, partitions: int) -> None:
        self._cluster.create_topic(topic, partitions)

    def stop(self) -> None:
        self._cluster.close()


class Kfake(TestServer):
    """kfake as a process; in a test in Go it is a library."""

    name = "kfake, a process"
    reset_is = "another process"

    def prepare(self) -> None:
        build_kfake()

    def start(self, topic: str) -> None:
        self._exit = ExitStack()
        directory = self._exit.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        running = self._exit.enter_context(
            kfake(Path(directory), all_cores(), topic=topic or "other", partitions=PARTITIONS)
        )
        self.is_up(f"127.0.0.1:{running.port}", topic)

    def stop(self) -> None:
        self._exit.close()


class ApacheKafka(TestServer):
    """One broker that stays over the tests; each has a topic and a group of its own, which are deleted after it."""

    name = "Apache Kafka"
    reset_is = "delete topic and group, create a topic"
    starts_rarely = True

    def __init__(self) -> None:
        self.version = kafka_version()

    def prepare(self) -> None:
        self._exit = ExitStack()
        directory = self._exit.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        self._prepared = peers_at_hand.prepared(Path(directory), {"group.initial.rebalance.delay.ms": "0"})

    def start(self, topic: str) -> None:
        running = self._exit.enter_context(peers_at_hand.run_kafka(self._prepared, all_cores(), wait=False))
        self.port = running.port
        create_topic(self.port, topic, PARTITIONS)
        wait_for_topic(self.port, topic)

    def stop(self) -> None:
        self._exit.close()

    def reset(self, topic: str, old_topic: str) -> None:
        self.end_test(old_topic)
        create_topic(self.port, topic, PARTITIONS)
        wait_for_topic(self.port, topic)

    def begin_test(self) -> None:
        pass

    def create(self, topic: str, partitions: int) -> None:
        create_topic(self.port, topic, partitions)
        wait_for_topic(self.port, topic)

    def end_test(self, topic: str) -> None:
        call(self.port, DeleteGroupsRequest(groups_names=[topic]), 1)
        deleted = call(self.port, DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000), 4)
        if deleted.responses[0].error_code:
            raise BenchError(f"topic {topic} was not deleted: {deleted}")


SERVERS: Final[dict[str, type[TestServer]]] = {
    "in-process": InProcess,
    "process": AsProcess,
    "mock": Mock,
    "kfake": Kfake,
    "kafka": ApacheKafka,
}
