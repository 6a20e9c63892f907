"""The copies of the application under torture: processes that are told by variables where to consume."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

LINES_QUOTED: Final = 20
QUOTED_BYTES: Final = 8192
ENDED_S: Final = 5.0
# What a copy is told, as a variable of its environment and as {name} in its command.
VARIABLES: Final = {
    "bootstrap_servers": "KAFKA_BOOTSTRAP_SERVERS",
    "topic": "KAFKA_TOPIC",
    "group_id": "KAFKA_GROUP_ID",
    "client_id": "KAFKA_CLIENT_ID",
    "output_topic": "KAFKA_OUTPUT_TOPIC",
    "session_timeout_ms": "KAFKA_SESSION_TIMEOUT_MS",
    "heartbeat_interval_ms": "KAFKA_HEARTBEAT_INTERVAL_MS",
}
PROTOCOL_VARIABLES: Final = {"group_protocol": "KAFKA_GROUP_PROTOCOL"}  # in a rehearsal of a migration only
TRANSACTION_VARIABLES: Final = {  # with --exactly-once only
    "transactional_id": "KAFKA_TRANSACTIONAL_ID",
    "transaction_timeout_ms": "KAFKA_TRANSACTION_TIMEOUT_MS",
}
_ALL_VARIABLES: Final = VARIABLES | PROTOCOL_VARIABLES | TRANSACTION_VARIABLES


def kill_all() -> None:
    """Kill every copy of this process that runs. Called from another thread than that of the event loop."""
    for copy in list(_COPIES):
        copy.signal(signal.SIGKILL)


class Copy:
    """One copy of the application. It may be started again after its end."""

    def __init__(self, number: int, command: Sequence[str], facts: Mapping[str, str], directory: Path) -> None:
        self.number = number
        self.client_id = facts["client_id"]
        self._command = [_filled(word, facts) for word in command]
        self._environment = {**os.environ, **{_ALL_VARIABLES[name]: value for name, value in facts.items()}}
        self._log_file = directory / f"{self.client_id}.log"
        self._process: asyncio.subprocess.Process | None = None
        self.is_wanted = False  # its end is not one that the schedule asked for
        _COPIES.add(self)

    async def start(self) -> None:
        """Start it. Raises OSError if there is no such program."""
        if self.is_running:
            return
        with self._log_file.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log, env=self._environment,
                start_new_session=True,
            )  # fmt: skip
        self.is_wanted = True

    @property
    def is_running(self) -> bool:
        """True while the process lives."""
        return self._process is not None and self._process.returncode is None

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while it runs, and before its start."""
        return None if self._process is None else self._process.returncode

    @property
    def has_ended_unasked(self) -> bool:
        """True if it ended although nothing told it to."""
        return self.is_wanted and self._process is not None and self._process.returncode is not None

    def signal(self, number: int) -> None:
        """Send a signal to the process and all that it started."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)

    async def kill(self) -> None:
        """Kill it and wait for its end."""
        self.is_wanted = False
        self.signal(signal.SIGKILL)
        if self._process is not None:
            await self._process.wait()

    async def stop(self) -> None:
        """Tell it to end, and kill it if it does not."""
        self.is_wanted = False
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        if self._process is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(ENDED_S):
                    await self._process.wait()
        await self.kill()

    def log_tail(self, lines: int = LINES_QUOTED) -> str:
        """Return the last lines that it printed."""
        with contextlib.suppress(OSError), self._log_file.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - QUOTED_BYTES))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-lines:])
        return ""

    def printed(self, start: int, most_bytes: int) -> tuple[str, int]:
        """Return the text that it printed behind the byte `start`, and where that ends."""
        with contextlib.suppress(OSError), self._log_file.open("rb") as file:
            file.seek(start)
            data = file.read(most_bytes)
            return data.decode(errors="replace"), start + len(data)
        return "", start


_COPIES: Final[weakref.WeakSet[Copy]] = weakref.WeakSet()


def _filled(word: str, facts: Mapping[str, str]) -> str:
    for name, value in facts.items():
        word = word.replace(f"{{{name}}}", value)
    return word
