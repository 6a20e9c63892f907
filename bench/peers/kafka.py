"""A real Apache Kafka as its own scripts start it, to be measured beside ours.

The jars are those of `make kafka`. Unlike the broker of the conformance tests, which is kept small, this one has the
heap, the collector and the flags of kafka-server-start.sh (1 GB, G1, both compilers) and the broker's own defaults: 50
partitions of __consumer_offsets, three network threads, eight I/O threads. Told otherwise are only the addresses, one
replica for the internal topics, as a single broker needs, and the delay before a group's first rebalance, which
shortens the set-up of a run and is not measured.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.measure import BenchError
from bench.servers import Running, log_tail, running
from tests.conformance.kafka import CLUSTER_ID, Kafka, KafkaMissingError, jars, java, release

START_S: Final = 120.0
FLUSH_EVERY_MESSAGE: Final = {"log.flush.interval.messages": "1"}
JVM: Final = (  # kafka-server-start.sh and kafka-run-class.sh
    "-Xms1G",
    "-Xmx1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)
OF_THE_TESTS = ("offsets.topic.num.partitions", "num.network.threads", "num.io.threads", "log.cleaner.enable")


class _Broker(Kafka):
    def properties(self) -> dict[str, str]:
        chosen = {key: value for key, value in super().properties().items() if key not in OF_THE_TESTS}
        return {**chosen, "group.initial.rebalance.delay.ms": "300", **self._settings}

    def probe(self) -> int | None:
        return self.port if self._is_ready_or_gone() else None


def version() -> str:
    """The release beside us. BenchError with what to install when it cannot be had."""
    try:
        return release()
    except KafkaMissingError as error:
        raise BenchError(str(error)) from None


@contextmanager
def kafka(
    directory: Path,
    core: set[int],
    *,
    name: str = "Apache Kafka",
    topic: str = "bench",
    partitions: int = 1,
    settings: Mapping[str, str] | None = None,
    flags: tuple[str, ...] = JVM,
) -> Iterator[Running]:
    """One broker that is its own controller, pinned to `core`, with a topic whose partitions have leaders."""
    version()
    broker = _Broker(directory, settings=settings)
    config = directory / "server.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in broker.properties().items()))
    if not broker.data_dir.exists():
        command = java("broker", "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", str(config))
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_S)
        if done.returncode != 0:
            raise BenchError(f"Kafka could not format its storage: {(done.stdout + done.stderr)[-1000:]}")
    command = ["java", *flags, "-cp", f"{jars('broker')}/*", "kafka.Kafka", str(config)]
    with running(name, command, directory, core, is_ready=broker.probe, within_s=START_S) as started:
        deadline = time.monotonic() + START_S
        while True:
            try:
                broker.create_topic(topic, partitions)
                break
            except (AssertionError, OSError) as error:
                if time.monotonic() > deadline:
                    raise BenchError(f"{name} made no topic: {error}\n{log_tail(directory)}") from None
                time.sleep(0.2)
        yield started
