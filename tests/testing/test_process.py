"""`CoordinatorProcess`: verbs over HTTP, kill and restart, and errors that quote the process."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from coordinator.testing import (
    CoordinatorProcess,
    CoordinatorTestingError,
    FaultNotFiredError,
    NotInTimeError,
    ServerEndedError,
)
from coordinator.testing.http_client import post_verb
from protocol.error_codes import ErrorCode
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.wire import Wire

pytestmark = pytest.mark.integration
ORDERS = "orders"


@pytest.fixture(scope="module")
def process() -> Iterator[CoordinatorProcess]:
    with CoordinatorProcess(topics={ORDERS: 2}) as running:
        yield running


async def member_of(process: CoordinatorProcess, group: str) -> GroupMember:
    port = int(process.bootstrap_servers.rpartition(":")[2])
    return await alone_in_group(await Wire.connect(port, client_id=f"{group}-1"), group, ORDERS, 2)


async def test_verbs_have_the_types_of_the_server_in_process(process: CoordinatorProcess) -> None:
    member = await member_of(process, "billing")
    found = process.wait_stable("billing", members=1)
    assert found.members[0].partitions == {(ORDERS, 0), (ORDERS, 1)}
    assert process.produce(ORDERS, ["a", b"b"], partition=1) == 0
    assert await member.commit({(ORDERS, 1): 2}) is ErrorCode.NONE
    assert process.committed("billing") == {(ORDERS, 1): 2}
    process.create_topics({"payments": 1})
    fault = process.fail_next("Heartbeat", "NOT_COORDINATOR", 2, group="billing")
    assert (fault.error, fault.fired) == (ErrorCode.NOT_COORDINATOR, 0)
    assert await member.heartbeat() is ErrorCode.NOT_COORDINATOR
    process.remove_fault(fault.number)
    assert await member.heartbeat() is ErrorCode.NONE
    process.kick("billing-1")
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    await member.wire.close()


def test_a_body_is_a_form_of_a_megabyte(process: CoordinatorProcess) -> None:
    def post(body: bytes) -> tuple[int, str]:
        request = urllib.request.Request(f"http://{process.http_address}/test/wait_stable?group=none", data=body)
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        with refused.value as error:
            return error.code, msgspec.json.decode(error.read())["error"]

    assert post(b"timeout=0.01")[0] == 408
    assert post(b"timeout=\xff") == (
        400,
        "the body is no form; write it as name=value&name=value, with %XX for other characters",
    )
    assert post(b"group=" + b"a" * 2**20) == (413, "the body is larger than 1 MiB; send it in parts")


def test_errors_come_back_as_errors(process: CoordinatorProcess) -> None:
    with pytest.raises(CoordinatorTestingError, match="no member has the member id, instance id or client id 'web-9'"):
        process.kick("web-9")
    with pytest.raises(NotInTimeError, match="group 'none' is Stable"):
        process.wait_stable("none", timeout=0.05)


def test_verbs_are_for_any_language(process: CoordinatorProcess) -> None:
    def post(query: str) -> tuple[int, object]:
        try:
            with urllib.request.urlopen(
                urllib.request.Request(f"http://{process.http_address}/test/{query}", method="POST"), timeout=30
            ) as answer:
                return answer.status, msgspec.json.decode(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, msgspec.json.decode(error.read())["error"]

    assert post("groups") == (200, ["billing"])
    assert post("committed?group=billing") == (200, {"orders-1": 2})
    code, sentence = post("kik?member=a")
    assert (code, str(sentence)[:39]) == (404, "there is no verb '/test/kik'; there are")
    assert post("kick") == (400, "kick needs 'member'; its parameters: member, group")
    assert post("kick?member=a&colour=red") == (400, "kick has no parameter 'colour'; it has: member, group")
    code, sentence = post("advance?seconds=soon")
    assert (code, str(sentence)[:13]) == (400, "seconds=soon:")


def test_the_command_line(process: CoordinatorProcess) -> None:
    def faults(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "coordinator", "faults", "--http", process.http_address, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    assert msgspec.json.decode(faults("groups").stdout) == process.groups()
    assert faults("create_topics", "a=1", "b=2").returncode == 0
    assert faults("produce", "b", "x", "y", "--partition", "1").stdout == "0\n"
    wrong = faults("kick", "web-9")
    assert (wrong.returncode, wrong.stderr[:52]) == (1, "coordinator: no member has the member id, instance i")
    away = faults("--http", "127.0.0.1:1", "groups")
    assert away.returncode == 2
    assert "start one with `coordinator serve --profile test`" in away.stderr


def test_killed_and_started_again_at_the_same_address(tmp_path: Path) -> None:
    with CoordinatorProcess(topics={ORDERS: 1}, data_dir=tmp_path) as process:
        address, pid = process.bootstrap_servers, process.pid
        process.produce(ORDERS, ["a"])
        process.kill()
        with pytest.raises(ServerEndedError, match=r"does not run: call start\(\)"):
            process.groups()
        process.start()
        assert process.bootstrap_servers == address
        assert process.pid != pid
        assert process.produce(ORDERS, ["b"]) == 1


def test_a_process_that_died_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(ServerEndedError, match=r"the coordinator had ended with -9; it said:\n(.|\n)*ready listen="):  # noqa: SIM117
        with CoordinatorProcess(data_dir=tmp_path) as process:
            os.kill(process.pid, 9)
            with pytest.raises(
                ServerEndedError, match=r"the coordinator ended (before|while) it was asked \(exit code -9\)"
            ):
                while True:
                    process.groups()


def test_a_start_that_fails_is_quoted(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = CoordinatorProcess(data_dir=tmp_path, listen=f"127.0.0.1:{port}")
        with pytest.raises(
            ServerEndedError, match=f"ended at its start(.|\n)*port {port} on 127.0.0.1 is in use; stop"
        ):
            process.start()


def test_a_token_is_asked_for(tmp_path: Path) -> None:
    with CoordinatorProcess(data_dir=tmp_path, test_verbs_token="s3cret") as process:
        assert process.groups() == []
        assert b"s3cret" not in Path(f"/proc/{process.pid}/cmdline").read_bytes()
        request = urllib.request.Request(f"http://{process.http_address}/test/groups", method="POST")
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(request, timeout=30)
        with refused.value:
            assert refused.value.code == 401


def test_a_process_has_the_verbs_that_need_more_than_one_request(tmp_path: Path) -> None:
    with CoordinatorProcess(topics={ORDERS: 1}, data_dir=tmp_path) as process:
        fault = process.fail_next("Heartbeat", "NOT_COORDINATOR")
        with pytest.raises(FaultNotFiredError, match="no request came for: the next HEARTBEAT"):
            process.check_faults()
        process.remove_fault(fault)
        assert process.list_faults() == []
        process.produce(ORDERS, ["a"])
        with pytest.raises(CoordinatorTestingError, match="produce it with a Kafka client, or use Coordinator"):
            process.produce(ORDERS, [None])
        pid = process.pid
        process.crash()
        assert process.pid != pid
        assert process.produce(ORDERS, ["b"]) == 1
        assert process.produce(ORDERS, [b"\xff" * 100] * 1_000, key=b"\xfe") == 2
        assert process.produce(ORDERS, ["c"]) == 1_002
        process.fail_next("Heartbeat", "NOT_COORDINATOR")
        with pytest.raises(CoordinatorTestingError, match="no request came for: the next HEARTBEAT"):
            post_verb(process.http_address, "check_faults", [])
        process.clear_faults()
        process.pause(0.01)
        process.pause()  # and no resume: the stop does not wait for one


def test_a_process_ends_with_its_parent(tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom coordinator.testing import CoordinatorProcess\n"
        "print(CoordinatorProcess(data_dir=sys.argv[1]).start().pid, flush=True)\ntime.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    with parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.kill()
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "the end of the child", within_s=20)
