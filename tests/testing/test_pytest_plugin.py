"""The plugin, in pytest processes of its own: fixtures, settings, isolation, and what a failure reports."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.integration

RAW_MEMBER = '''
import socket
from protocol.client import ClientConnection
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol

def join(address, group):
    """Join with a JoinGroup of version 3, which needs no member id first; the connection stays open."""
    host, port = address.split(":")
    wire, connection = ClientConnection("web-1", 1 << 20), socket.create_connection((host, int(port)))
    request = JoinGroupRequest(
        group_id=group, session_timeout_ms=10_000, rebalance_timeout_ms=10_000, member_id="", protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    connection.sendall(wire.send(request, 3))
    answers = []
    while not answers:
        answers = wire.receive(connection.recv(65536))
    return connection, answers[0]
'''


def pytest_in(directory: Path, text: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    (directory / "raw_member.py").write_text(RAW_MEMBER)
    (directory / "test_app.py").write_text(text)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments, "test_app.py"]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=120, check=False)


def test_each_test_has_a_server_of_its_own(tmp_path: Path) -> None:
    done = pytest_in(
        tmp_path,
        """
import pytest
from raw_member import join

seen = set()

@pytest.mark.parametrize("number", range(5))
@pytest.mark.coordinator(topics={"orders": 3}, group_max_size=1)
def test_alone(coordinator, number):
    assert coordinator.groups() == []
    assert coordinator.produce("orders", ["a"], partition=2) == 0
    connection, answer = join(coordinator.bootstrap_servers, "billing")
    assert answer.error_code == 0
    second, refused = join(coordinator.bootstrap_servers, "billing")
    assert refused.error_code == 81  # GROUP_MAX_SIZE_REACHED
    assert coordinator.groups() == ["billing"]
    seen.add(coordinator.bootstrap_servers)
    connection.close()
    second.close()

def test_addresses():
    assert len(seen) == 5
""",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "6 passed" in done.stdout


def test_settings_of_a_module(tmp_path: Path) -> None:
    done = pytest_in(
        tmp_path,
        """
import pytest

@pytest.fixture
def coordinator_settings():
    return {"topics": {"payments": 1}}

def test_common(coordinator):
    assert coordinator.produce("payments", ["a"]) == 0

@pytest.mark.coordinator(topics={"orders": 1})
def test_its_own(coordinator):
    assert coordinator.produce("orders", ["a"]) == 0
""",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_verbs_are_awaited_in_a_coroutine(tmp_path: Path) -> None:
    done = pytest_in(
        tmp_path,
        """
import asyncio
import pytest

@pytest.mark.asyncio
@pytest.mark.coordinator(topics={"orders": 1})
async def test_waits(coordinator, async_coordinator):
    went_on = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(went_on.set_result, True)
    assert await async_coordinator.produce("orders", ["a"]) == 0
    assert went_on.done()
    assert async_coordinator.blocking is coordinator
""",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_failure_reports_groups_and_requests(tmp_path: Path) -> None:
    done = pytest_in(
        tmp_path,
        """
from raw_member import join

def test_fails(coordinator):
    coordinator.fail_next("JoinGroup", "GROUP_ID_NOT_FOUND", client="web-9")
    connection, answer = join(coordinator.bootstrap_servers, "billing")
    connection.close()
    assert answer.error_code == 1

def test_has_a_fault_that_no_request_meets(coordinator):
    coordinator.fail_next("JoinGroup", "NOT_COORDINATOR")
""",
    )
    assert done.returncode == 1
    assert "1 failed, 1 passed, 1 error" in done.stdout, done.stdout
    assert re.search(r"- coordinator: group billing -+\n.*web-1 \(127\.0\.0\.1", done.stdout), done.stdout
    assert "- coordinator: last requests -" in done.stdout
    assert "web-1                 JOIN_GROUP billing: NONE after" in done.stdout
    assert "FaultNotFiredError: no request came for: the next JOIN_GROUP: answered NOT_COORDINATOR" in done.stdout


def test_a_process_is_killed_and_started_again(tmp_path: Path) -> None:
    done = pytest_in(
        tmp_path,
        """
import pytest

@pytest.mark.coordinator(topics={"orders": 1})
def test_killed(coordinator_process):
    assert coordinator_process.produce("orders", ["a"]) == 0
    address = coordinator_process.bootstrap_servers
    coordinator_process.kill()
    coordinator_process.start()
    assert coordinator_process.bootstrap_servers == address
    assert coordinator_process.produce("orders", ["b"]) == 1
""",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_plugin_imports_no_server_before_it_is_needed(tmp_path: Path) -> None:
    done = pytest_in(
        tmp_path,
        """
import sys

def test_nothing_imported():
    assert "coordinator.testing.pytest_plugin" in sys.modules
    assert not [name for name in sys.modules if name.startswith(("coordinator.server", "coordinator.core"))]
""",
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_server_that_is_down_hides_no_failure(tmp_path: Path) -> None:
    done = pytest_in(
        tmp_path,
        """
import pytest

def test_stops_it(coordinator):
    coordinator.stop()

def test_fails_while_it_is_down(coordinator):
    coordinator.stop()
    assert False, "the real failure"

def test_is_skipped(coordinator):
    coordinator.fail_next("JoinGroup", "NOT_COORDINATOR")
    pytest.skip("not today")

def test_a_process_has_a_fault_that_no_request_meets(coordinator_process):
    coordinator_process.fail_next("JoinGroup", "NOT_COORDINATOR")
""",
    )
    assert "1 failed, 2 passed, 1 skipped, 1 error" in done.stdout, done.stdout + done.stderr
    assert "the real failure" in done.stdout
    assert "FaultNotFiredError" in done.stdout
