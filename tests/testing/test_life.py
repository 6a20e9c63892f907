"""The life of a server under hard use: several changes at once, ends in between, forks, reports while it is down."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import time

import pytest

from coordinator.testing import AsyncCoordinator, Coordinator, CoordinatorTestingError, ServerEndedError
from protocol.error_codes import ErrorCode
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember
from tests.support.machine_tools import not_run
from tests.support.wire import ConnectionEnded
from tests.testing.conftest import ORDERS


def test_a_stop_ends_a_restart_that_is_down() -> None:
    server, told = Coordinator().start(), []
    address = server.bootstrap_servers
    host, _, port = address.rpartition(":")

    def restart() -> None:
        try:
            server.restart(down=30)
        except ServerEndedError as error:
            told.append(str(error))

    thread = threading.Thread(target=restart)
    thread.start()
    eventually(lambda: not _listens(host, int(port)), "the server is down")
    server.stop()
    thread.join(5)
    assert told == ["the server was stopped for good meanwhile"]
    with Coordinator(listen=address):
        pass  # the address is free


def test_restarts_at_once_are_done_one_after_another() -> None:
    errors = []
    with Coordinator() as server:

        def restart() -> None:
            try:
                server.restart()
            except Exception as error:
                errors.append(error)

        threads = [threading.Thread(target=restart) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert errors == []
        assert server.groups() == []


def test_no_offset_is_acknowledged_twice_over_crashes() -> None:
    acknowledged: list[int] = []
    is_over = threading.Event()
    with Coordinator(topics={ORDERS: 1}) as server:

        def produce() -> None:
            while not is_over.is_set():
                try:
                    acknowledged.append(server.produce(ORDERS, ["a"]))
                except CoordinatorTestingError:
                    time.sleep(0.001)

        thread = threading.Thread(target=produce)
        thread.start()
        for _ in range(10):
            before = len(acknowledged)
            eventually(lambda: len(acknowledged) > before + 1, "more is acknowledged")  # noqa: B023 - called at once
            server.crash()
        is_over.set()
        thread.join(10)
    assert len(acknowledged) == len(set(acknowledged))


def test_a_forked_child_holds_no_address_and_its_verbs_are_refused() -> None:
    with Coordinator() as server:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                server.groups()
            except ServerEndedError as error:
                os.write(writing, str(error).encode())
            time.sleep(30)
            os._exit(0)
        try:
            assert os.read(reading, 200) == b"this server belongs to another process; start one here"
            server.crash()
            assert server.groups() == []
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
            os.close(reading)
            os.close(writing)


@pytest.mark.skipif(sys.platform != "linux", reason="not run: needs Linux, where the port of a server is held")
def test_a_server_that_is_down_keeps_its_port() -> None:
    server = Coordinator().start()
    host, _, port = server.bootstrap_servers.rpartition(":")
    thread = threading.Thread(target=_restart, args=(server, 30))
    thread.start()
    eventually(lambda: not _listens(host, int(port)), "the server is down")
    with pytest.raises(OSError, match="Address already in use"), socket.socket() as other:
        other.bind((host, int(port)))
    server.stop()
    thread.join(5)
    with Coordinator(listen=f"{host}:{port}"):
        pass  # the port is free


def _restart(server: Coordinator, down: float) -> None:
    with contextlib.suppress(ServerEndedError):
        server.restart(down)


def _listens(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    except ConnectionResetError:
        pass  # it is about to close
    return True


def test_an_address_of_ipv6_stays() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        not_run("needs IPv6 on the loopback interface")
    with Coordinator(listen="[::1]:0") as server:
        address = server.bootstrap_servers
        assert address.startswith("[::1]:")
        server.restart()
        assert server.bootstrap_servers == address


def test_time_that_was_skipped_stays_skipped() -> None:
    with Coordinator() as server:
        server.advance(3 * 24 * 3600)
        server.restart()

        async def ahead_s() -> float:
            runtime = server.verbs._host.runtime
            return (runtime.now_ms() + runtime.core.wall_offset_ms) / 1000 - time.time()

        assert server.run(ahead_s()) == pytest.approx(3 * 24 * 3600, abs=5)


def test_the_report_of_a_server_that_is_down() -> None:
    server = Coordinator().start()
    server.stop()
    assert server.report(10) == [
        ("coordinator: groups", "not known: the server does not run; start it first"),
        ("coordinator: last requests", "none"),
    ]
    assert server.faults == []
    server.check_faults()


async def test_the_log_of_requests_has_the_faults(server: AsyncCoordinator, member: GroupMember) -> None:
    await server.fail_next("Heartbeat", "NOT_COORDINATOR")
    assert await member.heartbeat() is ErrorCode.NOT_COORDINATOR
    assert "HEARTBEAT billing: NOT_COORDINATOR after" in server.requests()[-1]
    assert server.requests()[-1].endswith("(fault 1: answered NOT_COORDINATOR)")
    await server.delay("Heartbeat", 20)
    assert await member.heartbeat() is ErrorCode.NONE
    assert server.requests()[-1].endswith("(fault 2: delayed by 20 ms)")
    await server.lose_reply("OffsetCommit")
    with pytest.raises(ConnectionEnded):
        await member.commit({(ORDERS, 0): 1})
    assert "OFFSET_COMMIT billing: connection closed after" in server.requests()[-1]
    assert server.requests()[-1].endswith("(fault 3: handled and not answered)")


async def test_faults_that_are_over_make_room(server: AsyncCoordinator) -> None:
    for _ in range(1005):
        fault = await server.fail_next("JoinGroup", "NOT_COORDINATOR")
        fault.fired = 1
    assert len(await server.list_faults()) == 1000
    await server.clear_faults()
    assert server.faults == []


async def test_faults_that_no_request_can_meet(server: AsyncCoordinator) -> None:
    with pytest.raises(CoordinatorTestingError, match="NONE is no error"):
        await server.fail_next("Fetch", "NONE")
    with pytest.raises(CoordinatorTestingError, match="times=-1: it is 0, for all requests, or more"):
        await server.fail_next("Fetch", "NOT_LEADER_OR_FOLLOWER", -1)
    with pytest.raises(CoordinatorTestingError, match="ms=-5: a request is delayed by 0 to 3600000 ms"):
        await server.delay("Fetch", -5)
    with pytest.raises(CoordinatorTestingError, match="a request of FETCH names no group; leave out `group`"):
        await server.fail_next("Fetch", "NOT_LEADER_OR_FOLLOWER", group="g")
    with pytest.raises(CoordinatorTestingError, match="there is no error 'zzz'; it takes Kafka's names"):
        await server.fail_next("Fetch", "zzz")


def test_moves_at_once_open_one_address() -> None:
    with Coordinator() as server:
        threads = [threading.Thread(target=server.move_coordinator, args=(f"g{each}",)) for each in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        nodes = server.verbs._host.second_node
        assert len(nodes.descriptors()) == 1
