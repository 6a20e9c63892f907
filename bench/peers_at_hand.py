"""The other group coordinators that this machine can run, for storms and start-up: Apache Kafka and franz-go's kfake.

Kafka is started as `bench.peers.kafka` does, but without waiting where the wait is what is measured. What cannot be
fetched or built raises BenchError, which the report tells, and nothing else depends on it. A maker prepares a server in
a directory (formats a storage) and gives the context manager that starts it, so that preparation is not measured.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from bench.measure import BenchError
from bench.peers.kafka import JVM
from bench.probe import Probe, fetched_offset
from bench.servers import Running, kfake, running
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.conformance import kafka as conformance
from tests.support.wire import ConnectionEnded, call

START_S: Final = 120.0
KAFKA, KFAKE = "Apache Kafka", "kfake"

enabled = True


def for_first_answer(core: set[int]) -> dict[str, Callable[[Path, int], AbstractContextManager[Running]]]:
    """Return, by name, functions that start an empty server in a directory. Kafka does not wait until it is ready."""
    if not enabled:
        return {}
    return {
        KFAKE: lambda directory, port: kfake(directory, core),
        KAFKA: lambda directory, port: run_kafka(prepared(directory), core, wait=False),
    }


def for_storms(
    core: set[int], settings: Mapping[str, str]
) -> dict[str, Callable[[Path], AbstractContextManager[Running]]]:
    """Return, by name, functions that start a server whose groups wait as `settings` say; kfake has no such wait."""
    if not enabled:
        return {}
    return {
        KAFKA: lambda directory: run_kafka(prepared(directory, settings), core),
        KFAKE: lambda directory: kfake(directory, core),
    }


def prepared(directory: Path, settings: Mapping[str, str] | None = None) -> conformance.Kafka:
    """Apache Kafka with the threads of its own defaults: storage formatted, configuration written."""
    common = {"num.network.threads": "3", "num.io.threads": "8", "offsets.topic.num.partitions": "8"}
    server = conformance.Kafka(directory, settings={**common, **(settings or {})})
    config = directory / "server.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in server.properties().items()))
    try:
        command = conformance.java(
            "broker", "kafka.tools.StorageTool", "format", "-t", conformance.CLUSTER_ID, "-c", str(config)
        )
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_S)
    except conformance.KafkaMissingError as error:
        raise BenchError(str(error)) from None
    if done.returncode != 0:
        raise BenchError(f"Kafka could not format its storage: {(done.stdout + done.stderr)[-500:]}")
    return server


def run_kafka(server: conformance.Kafka, core: set[int], *, wait: bool = True) -> AbstractContextManager[Running]:
    """Started when entered; with `wait` its group coordinator answers then."""
    directory = server.directory
    command = ["java", *JVM, "-cp", f"{conformance.jars('broker')}/*", "kafka.Kafka"]
    command += [str(directory / "server.properties")]
    is_ready = (lambda: answers_for_groups(server.port)) if wait else (lambda: server.port)
    return running(KAFKA, command, directory, core, is_ready=is_ready, within_s=START_S)


def answers_for_groups(port: int) -> int | None:
    """The port once its coordinator has loaded the partition of some group; FindCoordinator makes the topic."""
    try:
        if call(port, FindCoordinatorRequest(key="ready"), 3, within_s=5).error_code != 0:
            return None
        with Probe(port, within_s=5) as probe:
            error, _ = fetched_offset(probe, "ready", "nothing", 0)
        return port if error == 0 else None
    except (OSError, ConnectionEnded):
        return None


@contextmanager
def on_log(directory: Path, source: Path, partitions: int, core: set[int]) -> Iterator[tuple[Running, float]]:
    """Apache Kafka over the offsets log of `source`: its process, and when it was started (monotonic seconds).

    It makes its own offsets topic first; then that topic's segments are exchanged for ours, as in `make interchange`.
    """
    settings = {"offsets.topic.num.partitions": str(partitions), "offsets.retention.minutes": "5256000"}
    server = prepared(directory, settings)
    with run_kafka(server, core):
        pass
    for number in range(partitions):
        partition = server.data_dir / f"__consumer_offsets-{number}"
        for pattern in ("*.log", "*.index", "*.timeindex", "*.snapshot"):
            for each in partition.glob(pattern):
                each.unlink()
        for segment in (source / partition.name).glob("*.log"):
            shutil.copy(segment, partition)
    begun = time.monotonic()
    with run_kafka(server, core, wait=False) as started:
        yield started, begun
