"""One library's clients in one place: starts them, starts again who crashed as planned, notes any other end.

`python -m tests.cluster.workload.runner --library aiokafka --bootstrap-server HOST:PORT,… --topic T:12 --diaries DIR`
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from tests.clients.members import LIBRARIES, MemberOptions
from tests.cluster.workload.diary import Diary

SHARED_GROUP = "shared"
LOOK_S = 0.2
STOP_S = 30.0


class Client:
    """A process that is started again when it ended by the SIGKILL that it planned for itself."""

    def __init__(self, name: str, module: str, arguments: list[str], crash_every_s: float, seed: str) -> None:
        self.name = name
        self._module = module
        self._arguments = arguments
        self._crash_every_s = crash_every_s
        self._random = random.Random(f"{seed}-{name}")
        self._start()

    def _start(self) -> None:
        crash = []
        if self._module == "member":
            after_s = self._random.uniform(0.5, 1.5) * self._crash_every_s
            crash = [f"{after_s:.1f}"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"tests.cluster.workload.{self._module}", *self._arguments, *crash]
        )

    def look(self, diary: Diary) -> None:
        code = self.process.poll()
        if code is None:
            return
        if code == -signal.SIGKILL and self._crash_every_s:
            diary.note("crashed as planned", client=self.name)
        else:
            diary.note("died", client=self.name, code=code)  # the check takes this for a failure
        self._start()


def clients(arguments: argparse.Namespace) -> list[Client]:
    """A producer; two members of the library's own group, of which the first crashes now and then; a shared one."""
    library, directory = arguments.library, arguments.diaries
    topic, _, partitions = arguments.topic.partition(":")
    made = [
        Client(
            f"{library}-producer",
            "producer",
            [library, arguments.bootstrap_server, topic, partitions, str(directory / f"{library}-producer.jsonl")],
            0,
            arguments.seed,
        )
    ]
    for name, group, crash_every_s in (
        (f"{library}-1", f"{library}-group", arguments.crash_every_s),
        (f"{library}-2", f"{library}-group", 0.0),
        (f"{library}-shared", SHARED_GROUP, 0.0),
    ):
        options = MemberOptions(
            address=arguments.bootstrap_server, group=group, topics=(topic,), name=name, session_timeout_ms=6000
        )
        diary = str(directory / group / f"{name}.jsonl")
        made.append(
            Client(
                name, "member", [library, json.dumps(dataclasses.asdict(options)), diary], crash_every_s, arguments.seed
            )
        )
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", choices=sorted(LIBRARIES), required=True)
    parser.add_argument("--bootstrap-server", required=True)
    parser.add_argument("--topic", default="orders:12", help="NAME:PARTITIONS")
    parser.add_argument("--diaries", type=Path, required=True)
    parser.add_argument("--crash-every-s", type=float, default=25.0, help="about how often one member kills itself")
    parser.add_argument("--seed", default="1")
    arguments = parser.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    diary = Diary(arguments.diaries / f"{arguments.library}-runner.jsonl")
    running = clients(arguments)
    while not stop.wait(LOOK_S):
        for client in running:
            client.look(diary)
    for client in running:
        client.process.terminate()
    deadline = time.monotonic() + STOP_S
    for client in running:
        try:
            client.process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            diary.note("died", client=client.name, code="did not stop")
            client.process.kill()
            client.process.wait()
    diary.note("stop")


if __name__ == "__main__":
    main()
