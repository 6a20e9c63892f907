"""`coordinator observe` as a child process."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from tests.support.daemon import REPOSITORY, START_S, STOP_S
from tests.support.eventually import eventually


class Observing:
    """One observer of one cluster, with the HTTP port that the system chose."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self._bootstrap = bootstrap
        self._directory = directory
        self._log_file = directory / "observer.log"
        self._port_file = directory / "http-port"
        self._process: subprocess.Popen[bytes] | None = None
        self.http_port = 0

    def __enter__(self) -> Observing:
        command = [sys.executable, "-m", "coordinator", "observe", "--bootstrap-server", self._bootstrap]
        command += ["--data-dir", str(self._directory / "data"), "--http", "127.0.0.1:0"]
        command += ["--http-port-file", str(self._port_file)]
        with self._log_file.open("ab") as log:
            process = self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=REPOSITORY
            )
        try:
            eventually(
                lambda: self._port_file.exists() or process.poll() is not None,
                "the observer is ready",
                within_s=START_S,
            )
            assert process.poll() is None, f"the observer ended at start; its log: {self._log()}"
        except AssertionError:
            process.kill()
            process.wait()
            raise
        self.http_port = int(self._port_file.read_text())
        return self

    def __exit__(self, *error: object) -> None:
        """SIGTERM; it must exit with 0 and must never have logged a traceback."""
        process = self._process
        assert process is not None
        process.send_signal(signal.SIGTERM)
        try:
            code = process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        assert code == 0 and "Traceback" not in self._log(), f"exit code {code}; the log: {self._log()}"

    def _log(self) -> str:
        return self._log_file.read_text(errors="replace")[-4000:]
