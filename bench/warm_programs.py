"""Members of the client matrix that are warm, and servers of ours that are started for them.

A program runs throughout: its language, its library and its code are loaded, and it has been a member once. For each
repetition it leaves, the server ends, another one with nothing in it is started at the same address, and the program is
told to join. It makes a new consumer for that. Times are of CLOCK_MONOTONIC, which the processes share; a program
stamps its assignment in the callback of its library.
"""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bench.probe import free_ports
from bench.rebalance_speed import CLIENTS, HEARTBEAT_MS, METADATA_MS, Client, find_program
from bench.testing_servers import PARTITIONS
from bench.timed_members import TimedMember, log_of, settled_ns
from coordinator.testing import CoordinatorProcess
from tests.clients.matrix_members import Options
from tests.clients.matrix_programs import platformatic

TOPIC: Final = "orders"
OTHERS: Final = {"platformatic": Client("platformatic", session_ms=60_000)}
FETCH_MS: Final = 100  # some libraries wait for the end of a fetch before they leave


@dataclass(frozen=True, slots=True)
class Kind:
    """A client of `make bench-rebalances` or of `OTHERS`, and its language."""

    client: str
    language: str


PROGRAMS: Final = {
    "confluent-kafka": Kind("librdkafka", "Python"),
    "kafka-python": Kind("kafka-python", "Python"),
    "aiokafka": Kind("aiokafka", "Python"),
    "franz-go": Kind("franz-go", "Go"),
    "sarama": Kind("sarama", "Go"),
    "kafka-go": Kind("kafka-go", "Go"),
    "kafkajs": Kind("kafkajs", "JavaScript"),
    "platformatic": Kind("platformatic", "JavaScript"),
    "java": Kind("java", "Java"),
}


class WarmProgram:
    """A program that has been a member once, and has left."""

    def __init__(self, name: str, logs: Path) -> None:
        self._client = (CLIENTS | OTHERS)[PROGRAMS[name].client]
        self._program = platformatic() if name == "platformatic" else find_program(self._client.program)
        self.version = self._program.version
        self._address = f"127.0.0.1:{free_ports(1)[0]}"
        self._exit = ExitStack()
        self._log = self._exit.enter_context(log_of(logs, name))
        self._name = name

    def __enter__(self) -> Self:
        options = Options(
            bootstrap=self._address,
            group="shop",
            topic=TOPIC,
            name=self._name,
            session_ms=self._client.session_ms,
            heartbeat_ms=HEARTBEAT_MS,
            fetch_ms=FETCH_MS,
            metadata_ms=METADATA_MS,
        )
        with self._server():
            self._member = TimedMember(self._program, options, self._log)
            self._exit.callback(self._member.kill)
            settled_ns(PARTITIONS, self._member)
            self._leave()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exit.close()

    def once(self) -> dict[str, float]:
        """Start a server and have the program join. Returns ms: start of the process, first assignment, both."""
        server = self._server()
        begun_ns = time.monotonic_ns()
        with server:
            ready_ns = time.monotonic_ns()
            self._member.ask("join")
            assigned_ns = settled_ns(PARTITIONS, self._member)
            self._leave()
        return {
            "start": (ready_ns - begun_ns) / 1e6,
            "assignment": (assigned_ns - ready_ns) / 1e6,
            "both": (assigned_ns - begun_ns) / 1e6,
        }

    def _server(self) -> CoordinatorProcess:
        return CoordinatorProcess(topics={TOPIC: PARTITIONS}, listen=self._address)

    def _leave(self) -> None:
        asked_ns = time.monotonic_ns()
        self._member.ask("leave")
        self._member.says("left", asked_ns)
