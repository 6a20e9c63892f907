"""Three real Kafka brokers on loopback ports, as one cluster: each is a broker and one of three controllers.

They are the Kafka of `tests.conformance.kafka`, from the same jars. `KafkaCluster` starts them together, kills and
restarts single ones, and stops them by their pids. A broker that is killed is replaced as leader after three seconds.

`python -m tests.support.kafka_cluster` runs a cluster until interrupted.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.conformance.kafka import Kafka, _free_ports
from tests.support.wire import ConnectionEnded, call

REPLICATED = {
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "offsets.topic.replication.factor": "3",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "controller.quorum.fetch.timeout.ms": "1000",
    "controller.quorum.election.timeout.ms": "500",
    "log.cleaner.enable": "true",
    "group.initial.rebalance.delay.ms": "0",
}


class KafkaMember(Kafka):
    """One broker of the cluster. `controllers` are the ports of all controllers, by ascending node id from 1 on."""

    def __init__(
        self,
        directory: Path,
        node_id: int,
        controllers: Sequence[int],
        settings: Mapping[str, str] | None = None,
        *,
        is_brief: bool = True,
    ) -> None:
        super().__init__(directory, settings={**REPLICATED, **(settings or {})}, heap="300m", is_brief=is_brief)
        self.node_id = node_id
        self._controllers = controllers

    def properties(self) -> dict[str, str]:
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(self._controllers, 1))
        controller = f"CONTROLLER://127.0.0.1:{self._controllers[self.node_id - 1]}"
        return {
            **super().properties(),
            "node.id": str(self.node_id),
            "controller.quorum.voters": voters,
            "listeners": f"PLAINTEXT://{self.address},{controller}",
        }

    def _is_ready_or_gone(self) -> bool:
        """A member is ready when it names the coordinator of a group, which may be another member."""
        if self._process is not None and self._process.poll() is not None:
            return True
        try:
            return bool(call(self.port, FindCoordinatorRequest(key="ready"), 3, within_s=5).error_code == 0)
        except (OSError, ConnectionEnded):
            return False


class KafkaCluster:
    """The brokers, by node id. Use it as a context manager."""

    def __init__(
        self, directory: Path, *, size: int = 3, settings: Mapping[str, str] | None = None, is_brief: bool = True
    ) -> None:
        controllers = _free_ports(size)
        self.brokers = {
            node_id: KafkaMember(directory / f"broker-{node_id}", node_id, controllers, settings, is_brief=is_brief)
            for node_id in range(1, size + 1)
        }

    def __enter__(self) -> KafkaCluster:
        """Start all brokers at once: none of them is ready alone."""
        starts = [threading.Thread(target=self._start, args=(broker,)) for broker in self.brokers.values()]
        self._errors: list[BaseException] = []
        for each in starts:
            each.start()
        for each in starts:
            each.join()
        if self._errors:
            self.stop()
            raise self._errors[0]
        return self

    def _start(self, broker: Kafka) -> None:
        try:
            broker.start()
        except BaseException as error:
            self._errors.append(error)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def addresses(self) -> str:
        return ",".join(broker.address for broker in self.brokers.values())

    def stop(self) -> None:
        """Kill all brokers: an orderly stop would wait for controllers that are gone."""
        for broker in self.brokers.values():
            broker.kill()


def main() -> None:
    with tempfile.TemporaryDirectory() as name, KafkaCluster(Path(name)) as cluster:
        print(f"listening on {cluster.addresses}", flush=True)
        try:
            while True:
                time.sleep(60)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    sys.exit(main())
