"""The programs of `exactly_once.py`: how each is built, and how a copy of it is started.

Java and Go programs are built into the cache of `matrix_programs.py`. All take options as name=value, and tell errors
on stdout, one line of JSON each: {"event": "aborted" | "ended" | ..., "message": ...}.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.clients.matrix_programs import HERE, JVM, QUIET, built, go_compiler, jars, kafka_version, need, run
from tests.support.daemon import REPOSITORY


@dataclass(frozen=True)
class Program:
    """A consume-transform-produce loop."""

    name: str
    command: tuple[str, ...]
    protocol: str = "classic"
    has_instances: bool = True  # group.instance.id can be set


def java(name: str, protocol: str) -> Program:
    """Return the loop of Kafka's own Java client."""
    need("java")
    libraries = jars(kafka_version())
    source = HERE / "java" / "exactly_once" / "ExactlyOnce.java"
    return Program(name, _java(source, libraries), protocol)


def streams(name: str, protocol: str) -> Program:
    """Return the application of Kafka Streams, of the same release."""
    need("java")
    libraries = jars(kafka_version(), HERE / "java" / "streams" / "pom.xml", "kafka-streams-jars")
    source = HERE / "java" / "exactly_once_streams" / "ExactlyOnceStreams.java"
    return Program(name, _java(source, libraries), protocol, has_instances=False)


def _java(source: Path, libraries: Path) -> tuple[str, ...]:
    javac = need("javac")

    def compile_it(fresh: Path) -> None:
        run([javac, "-cp", f"{libraries}/*", "-d", str(fresh), str(source)], cwd=fresh)

    classes = built(source.parent.name.replace("_", "-"), [source], compile_it, libraries.name)
    return ("java", *JVM, *QUIET, "-cp", f"{classes}{os.pathsep}{libraries}/*", source.stem)


def franz(name: str, protocol: str) -> Program:
    """Return the loop of franz-go."""
    folder = HERE / "go"
    compiler = go_compiler(folder)
    sources = [folder / "exactlyonce" / "main.go", folder / "talk" / "talk.go", folder / "go.mod", folder / "go.sum"]

    def build(fresh: Path) -> None:
        run([compiler, "build", "-o", f"{fresh}/", "./exactlyonce"], cwd=folder, attempts=2)

    return Program(name, (str(built("exactly-once-go", sources, build) / "exactlyonce"),), protocol)


def python(name: str, protocol: str) -> Program:
    """Return the loop of a Python library."""
    command = (sys.executable, "-W", "ignore", "-m", "tests.clients.exactly_once_python", name.removesuffix(CONSUMER))
    return Program(name, command, protocol, has_instances=name != "aiokafka")


CONSUMER: Final = "-consumer"  # the end of the name of a program that uses the consumer protocol
PROGRAMS: Final = {
    "librdkafka": python,
    "librdkafka-consumer": python,
    "java": java,
    "java-consumer": java,
    "franz-go": franz,
    "kafka-python": python,
    "aiokafka": python,
    "streams": streams,
}


def program(name: str) -> Program:
    """Return a program by its name, built. Raises Missing and BrokenError of `matrix_programs`."""
    return PROGRAMS[name](name, "consumer" if name.endswith(CONSUMER) else "classic")


class Copy:
    """One process of a program. It may be started again after it was killed, or ended by itself."""

    def __init__(self, program: Program, number: int, options: Mapping[str, str], directory: Path) -> None:
        self.name = f"{program.name}-{number}"
        self.told: Counter[str] = Counter()  # events with their messages
        self.ends = 0  # by itself
        self._program = program
        self._options = {
            **options,
            "name": self.name,
            "protocol": program.protocol,
            "state": str(directory / self.name),
        }
        if program.has_instances and number % 2:
            self._options["instance"] = self.name
        self._said = directory / f"{self.name}.log"
        self._starts = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start the process. Its transactional id is the same each time, its chances are others."""
        if self._process is not None:
            self.ends += 1
        self._starts += 1
        options = {**self._options, "seed": str(self._starts)}
        with self._said.open("ab") as said:
            self._process = subprocess.Popen(
                [*self._program.command, *(f"{key}={value}" for key, value in options.items())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd=REPOSITORY,
            )
        threading.Thread(target=self._listen, args=(self._process,), daemon=True).start()

    def restart_if_ended(self) -> None:
        """Start the process again if it has ended by itself."""
        if self._process is not None and not self.is_running:
            self.start()

    def start_rival(self, seconds: float) -> None:
        """Start a second process with the same ids, and send SIGKILL to the first one after a while."""
        first, self._process = self._process, None
        self.start()
        time.sleep(seconds)
        if first is not None:
            first.kill()
            first.wait()

    def kill(self) -> None:
        """Send SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def signal(self, number: int) -> None:
        """Send a signal, if the process runs."""
        if self.is_running:
            os.kill(self.pid, number)

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        with process.stdout as lines, self._said.open("ab") as said:
            for line in lines:
                said.write(datetime.now(UTC).isoformat(timespec="milliseconds").encode() + b" " + line)
                said.flush()
                if line.startswith(b"{"):
                    event = json.loads(line)
                    self.told[f"{event['event']}: {event['message']}"] += 1
