"""The real daemon as a child process: started, killed, restarted on the same port and data, and listened to.

Tests of sockets and clients use nothing of the server but this: the command line a user would type, the port file, the
log and the exit code. A daemon that a test leaves running is stopped with SIGTERM by `stop()`, which also holds what
every test wants to hold: exit code 0 and no traceback in the log.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.support.eventually import eventually
from tests.support.wire import call

REPOSITORY = Path(__file__).resolve().parents[2]
START_S = 30.0
STOP_S = 20.0


class Daemon:
    """One `coordinator serve` with its data directory. `start()` may be called again after `kill()` or `stop()`."""

    start_s = START_S

    def __init__(
        self,
        directory: Path,
        *,
        overrides: Sequence[str] = (),
        topics: Sequence[str] = (),
        arguments: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        http: str | None = "off",
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = directory
        self.data_dir = directory / "data"
        self.log_file = directory / "daemon.log"
        self.port_file = directory / "port"
        self.port = 0  # chosen by the system at the first start, kept from then on
        self._overrides = tuple(overrides)
        self._topics = tuple(topics)
        self._arguments = tuple(arguments)
        self._environment = dict(environment or {})
        self._http = ["--http", http] if http is not None else []
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Daemon:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        else:
            self.kill()  # the test has failed already; its reason must not be hidden by another

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def http_port(self) -> int:
        """The HTTP port of the newest start; with `http="127.0.0.1:0"`."""
        return int(re.findall(r"http listen=127\.0\.0\.1:(\d+)", self.log_text())[-1])

    @property
    def listen(self) -> str:
        return self.address

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        return self.process.pid

    def command(self) -> list[str]:
        command = [sys.executable, "-m", "coordinator", "serve", "--listen", self.listen, *self._http]
        command += ["--port-file", str(self.port_file), "--data-dir", str(self.data_dir)]
        for override in self._overrides:
            command += ["--override", override]
        for topic in self._topics:
            command += ["--topic", topic]
        return command + list(self._arguments)

    def spawn(self) -> subprocess.Popen[bytes]:
        """Start the process and do not wait for anything."""
        self.port_file.unlink(missing_ok=True)
        with self.log_file.open("ab") as log:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=REPOSITORY,
                env={**os.environ, "PYTHONUNBUFFERED": "1", **self._environment},
            )
        return self._process

    def start(self) -> Daemon:
        """Start and wait until the port file says that it is ready."""
        self.spawn()
        return self.await_ready()

    def await_ready(self) -> Daemon:
        """Wait until the port file says that it is ready."""
        process = self.process

        def is_ready_or_gone() -> bool:
            return self.port_file.exists() or process.poll() is not None

        try:
            eventually(is_ready_or_gone, "the daemon is ready", within_s=self.start_s)
        except AssertionError:
            self.kill()
            raise AssertionError(f"the daemon was not ready in {self.start_s} s; its log: {self.log_tail()}") from None
        if not self.port_file.exists():
            raise AssertionError(f"the daemon ended with {process.returncode} at start; its log: {self.log_tail()}")
        self.port = int(self.port_file.read_text())
        return self

    def kill(self) -> None:
        """Send SIGKILL: nothing is flushed, and no client is answered."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def terminate(self) -> int:
        """SIGTERM, and the exit code."""
        process = self.process
        process.send_signal(signal.SIGTERM)
        try:
            return process.wait(timeout=STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"SIGTERM did not end the daemon in {STOP_S} s; its log: {self.log_tail()}") from None

    def restart(self) -> None:
        """SIGKILL and a new process on the same port and data directory."""
        self.kill()
        self.start()

    def stop(self) -> None:
        """SIGTERM; it must exit with 0 and must never have logged a traceback."""
        if self._process is None:
            return
        ended_before = self._process.poll()
        code = self.terminate() if ended_before is None else ended_before
        log = self.log_text()
        assert ended_before != 1 and "Traceback" not in log, f"an exception escaped; the log: {log[-6000:]}"
        assert code in (0, -signal.SIGKILL), f"exit code {code}; the log: {self.log_tail()}"

    def memory_kb(self) -> int:
        """Its resident memory."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1])
        raise AssertionError("the daemon is gone")

    def log_text(self) -> str:
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def log_lines(self) -> list[str]:
        return self.log_text().splitlines()

    def log_tail(self) -> str:
        return self.log_text()[-3000:]

    def create_topic(self, name: str, partitions: int) -> None:
        topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        response = call(self.port, CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
        assert [each.error_code for each in response.topics] == [0], response
