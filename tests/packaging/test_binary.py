"""`make binary` builds one file that needs no Python: it serves, survives SIGKILL, and says what it cannot do."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from tests.docs.blocks import blocks
from tests.support.built import require_binary
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.first_partition import consumer_with_all
from tests.support.machine_tools import require_tool
from tests.support.nodes import free_ports
from tests.support.questions import commit_offsets, committed_offsets

pytestmark = pytest.mark.integration

AT_ONCE = "group.initial.rebalance.delay.ms=0"
SNAPSHOTS = ("offsets.topic.num.partitions=1", "offsets.snapshot.tail.bytes=500", "offsets.snapshot.min.bytes=0")
HISTORY = "pip install 'kafka-group-coordinator[history]'; then use that `coordinator`"


@pytest.fixture(scope="module")
def binary() -> Path:
    return require_binary()


def alone(binary: Path, directory: Path) -> list[str]:
    """Return the beginning of a command that runs the executable where the PATH has no program, with no settings."""
    for name in ("no-programs", "unpacked"):
        (directory / name).mkdir(exist_ok=True)
    bare = (f"PATH={directory / 'no-programs'}", f"TMPDIR={directory / 'unpacked'}")
    return [require_tool("env", "coreutils"), "-i", *bare, str(binary)]


class BinaryDaemon(Daemon):
    """`coordinator serve` of the executable."""

    start_s = 120.0  # a start takes a second of CPU: it unpacks, and has no compiled modules in a cache

    def __init__(self, binary: Path, directory: Path, **more: object) -> None:
        super().__init__(directory, topics=["orders:4"], **more)  # type: ignore[arg-type]
        self._alone = alone(binary, directory)

    def command(self) -> list[str]:
        python_m_coordinator, arguments = super().command()[:3], super().command()[3:]
        assert python_m_coordinator[1:] == ["-m", "coordinator"]
        return [*self._alone, *arguments]

    def unpacked(self) -> list[Path]:
        """Return the directories into which it has unpacked itself."""
        return list((self.directory / "unpacked").iterdir())

    def processes(self) -> list[int]:
        """Return the processes that use these directories."""
        mark = f"TMPDIR={self.directory / 'unpacked'}".encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if mark in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
            except OSError:  # it has ended, or is another user's
                continue
        return found

    def kill_the_first_process(self) -> None:
        """Send SIGKILL to the process that was started, and wait until all the others have ended by themselves."""
        self.kill()
        eventually(lambda: not self.processes(), "no process is left")


def test_clients_find_their_commits_after_a_kill_and_nothing_is_left_behind(binary: Path, tmp_path: Path) -> None:
    with BinaryDaemon(binary, tmp_path, overrides=[AT_ONCE], http="127.0.0.1:0") as daemon:
        with consumer_with_all(daemon.address, "orders", 4) as consumer:
            consumer.commit(offsets=[TopicPartition("orders", 1, 42)], asynchronous=False)
        with urllib.request.urlopen(f"http://127.0.0.1:{daemon.http_port}/", timeout=20) as page:
            assert b"<title>" in page.read()
        daemon.kill_the_first_process()
        assert len(daemon.unpacked()) == 1  # SIGKILL leaves no time to remove it; the next start does

        daemon.start()
        with consumer_with_all(daemon.address, "orders", 4) as consumer:
            (committed,) = consumer.committed([TopicPartition("orders", 1)], timeout=20)
            assert committed.offset == 42
        assert len(daemon.unpacked()) == 1
    assert daemon.unpacked() == []
    assert "build='binary, CPython" in daemon.log_text()


def test_workers_and_their_clients_come_back_after_a_kill(binary: Path, tmp_path: Path) -> None:
    first, second = free_ports(2)
    workers = ["--workers", "2", "--worker-ports", f"{first},{second}"]
    with BinaryDaemon(binary, tmp_path, overrides=[AT_ONCE], arguments=workers) as daemon:
        assert daemon.port == first
        for number in range(4):
            commit_and_read(daemon.address, f"group-{number}")
        assert len(daemon.unpacked()) == 1  # all processes share it
        daemon.kill_the_first_process()

        daemon.start()
        for number in range(4):
            commit_and_read(daemon.address, f"group-{number}", commits=False)
    assert daemon.unpacked() == []


def commit_and_read(address: str, group: str, *, commits: bool = True) -> None:
    with consumer_with_all(address, "orders", 4, group) as consumer:
        if commits:
            consumer.commit(offsets=[TopicPartition("orders", 3, 7)], asynchronous=False)
        (committed,) = consumer.committed([TopicPartition("orders", 3)], timeout=20)
        assert committed.offset == 7


def test_children_of_the_daemon_run(binary: Path, tmp_path: Path) -> None:
    """The maker of snapshots stands for all: they are started in the same way (`coordinator/processes`)."""
    with BinaryDaemon(binary, tmp_path, overrides=SNAPSHOTS) as daemon:
        for number in range(20):
            commit_offsets(daemon.port, f"g{number}", {("orders", 0): number})
        eventually(lambda: "snapshot partition=0" in daemon.log_text(), "a snapshot", within_s=200)
        assert committed_offsets(daemon.port, "g19") == {("orders", 0): 19}


def test_torture_plays_in_processes_of_its_own(binary: Path, tmp_path: Path) -> None:
    """They are started by `multiprocessing`, and the application by the Python of these tests."""
    (tmp_path / "consumer.py").write_text(blocks("docs/torture.md")[0].text)
    patient = ("--schedules", "1", "--patience", "90", "--startup", "120")  # how soon is no question of this test
    command = [*alone(binary, tmp_path), "torture", *patient, "--", sys.executable, "consumer.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert list((tmp_path / "unpacked").glob("_MEI*")) == []


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("--version", 0, ", CPython 3."),
        ("config", 0, "group.initial.rebalance.delay.ms"),
        ("groups explain --help", 0, "coordinator groups explain"),
        ("groups list --bootstrap-server 127.0.0.1:1", 2, "cannot connect to 127.0.0.1:1"),
        ("log dump nowhere", 2, "nowhere"),
        ("history commits shop", 2, HISTORY),
        ("compact", 2, HISTORY),
        ("observe --bootstrap-server 127.0.0.1:1", 2, "[observe]'; then use that `coordinator`"),
    ],
)
def test_commands_work_or_say_that_they_need_the_wheel(
    binary: Path, tmp_path: Path, command: str, code: int, said: str
) -> None:
    done = subprocess.run(
        [*alone(binary, tmp_path), *command.split()], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stdout[-1000:] + done.stderr
    assert "Traceback" not in done.stderr
