"""Figures of docs/install.md: seconds from the first command of each way to the first assigned partition.

`python -m tests.packaging.figures` types the blocks of the page that end with a daemon, each in an empty home, and the
last command once more. A consumer of confluent-kafka is made at the same moment, and tries until it has a partition.
The wheels and the executable must have been built.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer

from tests.docs.blocks import blocks
from tests.support.built import DIST
from tests.support.newcomer import newcomer
from tests.support.nodes import free_ports

RETRY: Final = {"reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 20, "log_level": 0}


def assigned_after(commands: str, home: Path) -> tuple[float, float]:
    """Type commands, the last of which is a daemon. Return the seconds until a partition, and those of CPU of all."""
    (port,) = free_ports(1)
    environment = {**newcomer(home), "COORDINATOR_LISTENERS": f"127.0.0.1:{port}"}
    used, begun = children_s(), time.monotonic()
    daemon = subprocess.Popen(
        ["bash", "-ec", commands],
        cwd=home,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    partitions: list[object] = []
    consumer = Consumer({"bootstrap.servers": f"127.0.0.1:{port}", "group.id": "shop", **RETRY})
    consumer.subscribe(["orders"], on_assign=lambda _, given: partitions.extend(given))
    while not partitions:
        consumer.poll(0.01)
        if daemon.poll() is not None:
            raise RuntimeError(f"it ended: {commands}")
    took = time.monotonic() - begun
    consumer.close()
    os.killpg(daemon.pid, signal.SIGINT)
    daemon.wait()
    return took, children_s() - used


def children_s() -> float:
    """Return the seconds of CPU of all processes that have been waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    for block in blocks("docs/install.md"):
        if "coordinator serve" not in block.text:
            continue
        with tempfile.TemporaryDirectory() as directory:
            home = Path(directory)
            (home / "dist").symlink_to(DIST)
            for commands in (block.text, block.text.strip().splitlines()[-1]):
                took, used = assigned_after(commands, home)
                print(f"{took:6.1f} s, {used:5.1f} s of CPU: {commands.strip().splitlines()[-1]}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
