"""`coordinator observe` as a process: what it serves, a kill, and a cluster that vanishes and returns."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coordinator.cli.main import main
from tests.console.test_in_browser import Group
from tests.support.daemon import REPOSITORY, Daemon
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


class Observation:
    """A process that observes."""

    def __init__(self, directory: Path, address: str) -> None:
        self.data_dir = directory / "observed"
        self._log = directory / "observe.log"
        self._port_file = directory / "observe.http"
        self._address = address
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._port_file.unlink(missing_ok=True)
        command = [sys.executable, "-m", "coordinator", "observe", "--bootstrap-server", self._address]
        command += ["--http", "127.0.0.1:0", "--http-port-file", str(self._port_file), "--data-dir", str(self.data_dir)]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=REPOSITORY)
        eventually(self._port_file.exists, f"it is ready; see {self._log}")
        eventually(lambda: self.get("readyz") == "ready\n", "it has read the log")

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(20)
        self.process = None
        return code

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port_file.read_text().strip()}"

    @property
    def log(self) -> str:
        return self._log.read_text()

    def get(self, path: str) -> str:
        try:
            with urllib.request.urlopen(f"http://{self.address}/{path}", timeout=10) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.read().decode()

    def api(self, path: str) -> Any:
        return msgspec.json.decode(self.get(f"api/{path}"))

    def story(self, group: str) -> list[tuple[str, str]]:
        """The cause and the culprit of each rebalance."""
        page = self.api(f"group?id={group}")
        return [
            (event["trigger"]["cause"], event["trigger"].get("member", {}).get("client_id", ""))
            for event in page.get("story", {}).get("events", [])
            if event["kind"] == "rebalance"
        ]


@pytest.fixture
async def daemon(tmp_path: Path) -> AsyncIterator[Daemon]:
    overrides = ("group.initial.rebalance.delay.ms=0", "offsets.topic.num.partitions=3")
    with Daemon(tmp_path / "cluster", overrides=overrides, topics=("orders:12",)) as running:
        yield running


@pytest.fixture
async def observation(tmp_path: Path, daemon: Daemon) -> AsyncIterator[Observation]:
    found = Observation(tmp_path, daemon.address)
    yield found
    if found.process is not None:
        found.process.kill()
        found.process.wait()


async def test_it_tells_who_caused_each_rebalance_and_goes_on_after_a_kill(
    daemon: Daemon, observation: Observation
) -> None:
    joined = [("member_joined", "web-1"), ("member_joined", "web-2")]
    async with AsyncExitStack() as opened:
        shop = Group(daemon.port, "shop", opened)
        await shop.add("web-1", "web-2")
        await shop.commit(5)
        observation.start()
        assert observation.api("cluster")["kind"] == "observed"
        eventually(lambda: _groups(observation) == ["shop"], "the group is listed")
        eventually(lambda: observation.story("shop") == joined, "both joins are told")
        page = observation.api("group?id=shop")
        assert page["lag"]["partitions"][0]["committed"] == 5
        assert {span[2] for row in page["ribbon"]["rows"] for span in row["spans"]} >= {0, 1}
        assert page["unknown"]
        eventually(
            lambda: (
                'coordinator_group_rebalances_total{cause="member_joined",group="shop"} 2.0'
                in observation.get("metrics")
            ),
            "the figures of the group are there",
        )
        assert observation.stop(signal.SIGKILL) == -signal.SIGKILL
        await shop.add("web-3")
        observation.start()
        eventually(lambda: observation.story("shop") == [*joined, ("member_joined", "web-3")], "nothing is told twice")
        at = int(time.time() * 1000)
        past = observation.api(f"group?id=shop&at={at}")
        assert past["is_past"] and past["story"]["state"]["member_count"] == 3
        assert observation.stop() == 0
    assert "Traceback" not in observation.log


def _groups(observation: Observation) -> list[str]:
    return [row["group"] for row in observation.api("groups")["groups"]]


async def test_a_cluster_that_vanishes_is_a_sentence_and_what_was_known_stays(
    daemon: Daemon, observation: Observation, capsys: pytest.CaptureFixture[str]
) -> None:
    async with AsyncExitStack() as opened:
        shop = Group(daemon.port, "shop", opened)
        await shop.add("web-1")
        observation.start()
        eventually(lambda: observation.story("shop") == [("member_joined", "web-1")], "the join is told")
    daemon.kill()
    eventually(lambda: observation.api("cluster")["problem"], "the problem is told")
    page = observation.api("group?id=shop")
    assert page["problem"] and page["story"]["state"]["member_count"] == 1
    assert observation.get("readyz") == f"{page['problem']}\n"
    daemon.start()
    eventually(lambda: observation.get("readyz") == "ready\n", "it goes on by itself", within_s=30)
    assert main(["groups", "explain", "shop", "--http", observation.address]) == 0
    assert "web-1" in capsys.readouterr().out
    assert observation.stop() == 0
    assert "Traceback" not in observation.log


def test_a_cluster_that_was_never_reached_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["observe", "--bootstrap-server", "127.0.0.1:1", "--data-dir", str(tmp_path / "o"), "--http", "127.0.0.1:0"]
    assert main(words) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err
    assert main([*words, "--retention-days", "0"]) == 2
    assert main([*words, "--command-config", str(tmp_path / "none")]) == 2
    assert "none" in capsys.readouterr().err
