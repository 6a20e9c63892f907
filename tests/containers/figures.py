"""Figures of docs/testcontainers.md: from `docker run` to the first assigned partition, and the size of the image.

`python -m tests.containers.figures [REPETITIONS]`: each repetition is a new container without a volume, and a consumer
of confluent-kafka that is made at the same moment. Port 9092 of this machine must be free.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from typing import Final

from confluent_kafka import Consumer

from tests.cluster.engine import run
from tests.containers.check import IMAGE

AT_ONCE: Final = ("--env", "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS=0")  # as Testcontainers sets it
TOPIC: Final = ("--env", "COORDINATOR_TOPICS_PRELOAD=orders")
AWAITED: Final = "Transitioning from RECOVERY to RUNNING"
RECONNECT: Final = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 20, "log_level": 0}


def started() -> float:
    """Return the seconds until the line is there that programs await."""
    begun = time.monotonic()
    container = run("docker", "run", "-d", "-p", "9092:9092", *AT_ONCE, IMAGE).strip()
    with subprocess.Popen(
        ["docker", "logs", "-f", container], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as log:
        assert log.stdout is not None
        assert any(AWAITED in line for line in log.stdout)
        took = time.monotonic() - begun
        log.terminate()
    run("docker", "rm", "-f", "-v", container)
    return took


def assigned(*variables: str) -> float:
    """Return the seconds until a consumer has its partition."""
    begun = time.monotonic()
    container = run("docker", "run", "-d", "-p", "9092:9092", *TOPIC, *variables, IMAGE).strip()
    partitions: list[object] = []
    consumer = Consumer({"bootstrap.servers": "localhost:9092", "group.id": "shop", **RECONNECT})
    consumer.subscribe(["orders"], on_assign=lambda _, given: partitions.extend(given))
    while not partitions:
        consumer.poll(0.01)
    took = time.monotonic() - begun
    consumer.close()
    run("docker", "rm", "-f", "-v", container)
    return took


def shown(name: str, samples: list[float]) -> None:
    print(f"{name}: median {statistics.median(samples):.2f} s, slowest {max(samples):.2f} s, of {len(samples)}")


def main() -> None:
    repetitions = int(sys.argv[1]) if sys.argv[1:] else 20
    shown("docker run to the awaited line", [started() for _ in range(repetitions)])
    shown("docker run to the first partition", [assigned(*AT_ONCE) for _ in range(repetitions)])
    shown("the same with Kafka's 3 s of delay", [assigned() for _ in range(repetitions)])
    size = int(run("docker", "image", "inspect", "-f", "{{.Size}}", IMAGE))
    base = int(run("docker", "image", "inspect", "-f", "{{.Size}}", "python:3.12-slim"))
    print(f"image: {size / 1e6:.0f} MB, {(size - base) / 1e6:.0f} MB of them on top of its base")


if __name__ == "__main__":
    main()
