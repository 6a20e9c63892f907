"""A real Prometheus as a child process, and the figures of a daemon as it reads them."""

from __future__ import annotations

import json
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.eventually import eventually
from tests.support.machine_tools import require_tool

STOP_S = 20.0


def free_port() -> int:
    """Return a port that no process listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def scrape(port: int, accept: str = "*/*") -> str:
    """Return the body of /metrics."""
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:
        return str(answer.read().decode())


def promtool(*arguments: str, stdin: str = "") -> str:
    """Run promtool; it must succeed and complain of nothing. Returns what it prints."""
    tool = require_tool("promtool", "prometheus")
    done = subprocess.run([tool, *arguments], input=stdin, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and not done.stderr, f"promtool {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


class Prometheus:
    """Scrapes one daemon every second and evaluates rules as often. Its files are in `directory`."""

    def __init__(self, directory: Path, target: str, rules: Path) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self.port = free_port()
        settings = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(rules)],
            "scrape_configs": [{"job_name": "coordinator", "static_configs": [{"targets": [target]}]}],
        }
        (directory / "prometheus.yml").write_text(json.dumps(settings))  # JSON is YAML
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Prometheus:
        tool = require_tool("prometheus")
        options = [f"--config.file={self._directory}/prometheus.yml", f"--storage.tsdb.path={self._directory}/data"]
        with (self._directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [tool, *options, f"--web.listen-address=127.0.0.1:{self.port}"], stdout=log, stderr=log
            )
        eventually(self._is_ready, "Prometheus is ready")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _is_ready(self) -> bool:
        assert self._process is not None and self._process.poll() is None, (self._directory / "log").read_text()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ConnectionError):
            return False

    def get(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer of the API."""
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/{path}?{query}", timeout=10) as answer:
            body = json.load(answer)
        assert body["status"] == "success", body
        return body["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the result of a PromQL expression now."""
        found: list[dict[str, Any]] = self.get("query", query=expression)["result"]
        return found
