"""The dialogue of the matrix with a client program of any language.

A member program is started with `name=value` arguments: the fields of `Options`. It consumes from the earliest offset.
On stdout it writes one JSON object per line, each with `at`, the nanoseconds of CLOCK_MONOTONIC when it happened:

    {"event": "joining" | "leaving" | "left" | "closed"}     {"event": "assigned" | "revoked", "partitions": [...]}
    {"event": "record", "partition": 0, "offset": 5}         {"event": "committed", "took_ns": 1}
    {"event": "error", "message": "..."}                     (partitions are the change, not the whole assignment)

On stdin it takes `commit` (commit what was read of the partitions it owns), `close` (leave cleanly and end; the end of
stdin is the same), and `leave` (leave cleanly, and then wait for `join` or `close`). A tool with another output (kcat,
kafka-verifiable-consumer) gets a translator to these events.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

Event = dict[str, Any]
Translator = Callable[[str], Iterable[Event]]

HEARTBEAT_MS = 300
SESSION_MS = 10_000
CLOSE_S = 30.0


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a member that a scenario chooses."""

    bootstrap: str
    group: str
    topic: str
    name: str
    assignor: str = "range"
    instance: str | None = None
    session_ms: int = SESSION_MS
    heartbeat_ms: int = HEARTBEAT_MS
    fetch_ms: int = 100
    metadata_ms: int = 5000  # for the Python libraries; the others have their default
    auto_commit: str = "false"
    protocol: str = "classic"  # or "consumer" (KIP-848), whose session and heartbeats the group decides

    def as_arguments(self) -> list[str]:
        given = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return [f"{name}={value}" for name, value in given.items() if value is not None]


def plain(line: str) -> Iterable[Event]:
    """The events of a program written for the matrix; other lines are its library's remarks."""
    return [json.loads(line)] if line.startswith('{"') else []


@dataclass(frozen=True, slots=True)
class Program:
    """One row of the table, ready to run. `command` makes the command line of a member."""

    name: str
    version: str
    command: Callable[[Options], Sequence[str]]
    translator: Callable[[], Translator] = field(default=lambda: plain)
    takes_commands: bool = True  # otherwise it commits by itself and is closed by SIGTERM
    without: dict[str, str] = field(default_factory=dict)  # scenario -> why this client has no such thing
    environment: dict[str, str] = field(default_factory=dict)
    note: str = ""
    protocol: str = "classic"  # of its members
    mixes_with: frozenset[str] | None = None  # the rows it can share a group with; None: all that can do so too
    apart: str = ""  # why not with all; it gets a mixed group of its own


class Member:
    """A running member and everything it said."""

    def __init__(self, program: Program, options: Options, log: TextIO) -> None:
        self.program = program
        self.options = options = replace(options, protocol=program.protocol)
        self.owned: frozenset[int] = frozenset()
        self.records: dict[int, list[int]] = defaultdict(list)
        self.changes: list[tuple[str, frozenset[int]]] = []
        self.errors: list[str] = []
        self.commits = 0
        self.closed = False
        self._log = log
        self._translate = program.translator()
        self._process = subprocess.Popen(
            program.command(options),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd=Path(__file__).resolve().parents[2],
            env={**os.environ, **program.environment},
        )
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def __repr__(self) -> str:
        errors = f" errors={self.errors[-2:]}" if self.errors else ""
        ended = "" if self.is_running() else f" ended={self._process.returncode}"
        return f"<{self.options.name} {sorted(self.owned)}{errors}{ended}>"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._log.write(f"{self.options.name}: {line}")
            self._log.flush()
            for event in self._translate(line):
                self._take(event)

    def _take(self, event: Event) -> None:
        match event["event"]:
            case "assigned" | "revoked" as kind:
                partitions = frozenset(event["partitions"])
                self.owned = self.owned | partitions if kind == "assigned" else self.owned - partitions
                if partitions:
                    self.changes.append((kind, partitions))
            case "record":
                self.records[event["partition"]].append(event["offset"])
            case "committed":
                self.commits += 1
            case "closed":
                self.closed = True
            case "error":
                self.errors.append(event["message"])

    def is_running(self) -> bool:
        return self._process.poll() is None

    def revoked(self, since: int = 0) -> frozenset[int]:
        """Return the partitions that were revoked, from the given number of changes on."""
        given_up = [partitions for kind, partitions in self.changes[since:] if kind == "revoked"]
        return frozenset[int]().union(*given_up)

    def read(self) -> int:
        return sum(map(len, self.records.values()))

    def ask(self, command: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()

    def close(self) -> None:
        """Leave the way the library does, and end."""
        if self.is_running():
            if self.program.takes_commands:
                self.ask("close")
            else:
                self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(timeout=CLOSE_S)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"{self.options.name} did not close in {CLOSE_S:g} s") from None
        self._end()

    def kill(self) -> None:
        """SIGKILL: the coordinator learns of it by silence alone."""
        self._process.kill()
        self._process.wait()
        self._end()

    def _end(self) -> None:
        self._thread.join(timeout=5)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        self.owned = frozenset()
