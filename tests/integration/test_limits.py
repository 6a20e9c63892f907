"""Everything a peer can make the daemon hold is bounded: connections, idle time, half requests, unread answers.

Each bound has a config key; here it is set low, exceeded, and the others keep working.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.metadata import MetadataRequest
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.wire import Wire, call, decode_answer, encode_frame, is_closed, receive_frame

pytestmark = pytest.mark.integration


CREATE_TEN_PARTITIONS = CreateTopicsRequest(
    topics=[CreatableTopic(name="new", num_partitions=10, replication_factor=1)], timeout_ms=10_000
)


def answers(connection: socket.socket) -> bool:
    connection.settimeout(10)
    connection.sendall(encode_frame(ApiVersionsRequest(), 0, 1))
    return receive_frame(connection) != b""


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with low bounds on connections and time."""
    overrides = (
        "max.connections=12",
        "max.connections.per.ip=8",
        "connections.max.idle.ms=800",
        "connection.frame.timeout.ms=500",
        "group.initial.rebalance.delay.ms=1500",
        "group.max.size=3",
        "socket.request.max.bytes=100000",
        "message.max.bytes=50000",
        "offset.metadata.max.bytes=100",
    )
    with Daemon(tmp_path_factory.mktemp("narrow"), overrides=overrides, topics=("plain:4",)) as running:
        yield running


class FewFiles(Daemon):
    """A daemon started under `ulimit -n 400`."""

    def command(self) -> list[str]:
        limited = "import os, resource, sys; resource.setrlimit(resource.RLIMIT_NOFILE, (400, 400)); os.execv"
        return [sys.executable, "-c", f"{limited}(sys.argv[1], sys.argv[1:])", *super().command()]


@pytest.mark.parametrize("event_loop", ["uvloop", "asyncio"])
def test_connections_leave_open_files_for_the_logs(tmp_path: Path, event_loop: str) -> None:
    environment = {"COORDINATOR_EVENT_LOOP": event_loop}
    with FewFiles(tmp_path / "d", environment=environment) as daemon, ExitStack() as stack:
        connections = [stack.enter_context(socket.create_connection(("127.0.0.1", daemon.port))) for _ in range(450)]
        assert answers(connections[0])
        assert is_closed(connections[-1])
        assert "limit of open files" in daemon.log_text()
        connections[0].sendall(encode_frame(CREATE_TEN_PARTITIONS, 5, 2))  # each takes open files of its own
        _, created = decode_answer(19, 5, receive_frame(connections[0]))
        assert created.topics[0].error_code == ErrorCode.NONE


def test_one_connection_more_than_allowed_from_an_address_is_closed(narrow: Daemon) -> None:
    with ExitStack() as stack:
        first = [stack.enter_context(socket.create_connection(("127.0.0.1", narrow.port))) for _ in range(8)]
        assert all(answers(each) for each in first)
        before = len(narrow.log_lines())
        with socket.create_connection(("127.0.0.1", narrow.port)) as one_more:
            assert is_closed(one_more)
        with socket.create_connection(("127.0.0.1", narrow.port), source_address=("127.0.0.2", 0)) as elsewhere:
            assert answers(elsewhere), "the bound is for one address"
        assert all(answers(each) for each in first)
        lines = narrow.log_lines()[before:]
        assert len(lines) == 1 and "max.connections.per.ip" in lines[0], lines
    eventually(lambda: _admitted(narrow), "places become free again")


def test_one_connection_more_than_allowed_in_all_is_closed(narrow: Daemon) -> None:
    with ExitStack() as stack:
        for n in range(12):
            source = ("127.0.0.3" if n < 6 else "127.0.0.4", 0)
            connection = socket.create_connection(("127.0.0.1", narrow.port), source_address=source)
            assert answers(stack.enter_context(connection))
        before = len(narrow.log_lines())
        with socket.create_connection(("127.0.0.1", narrow.port), source_address=("127.0.0.5", 0)) as one_more:
            assert is_closed(one_more)
        lines = narrow.log_lines()[before:]
        assert len(lines) == 1 and "max.connections=" in lines[0], lines
    eventually(lambda: _admitted(narrow), "places become free again")


def _admitted(daemon: Daemon) -> bool:
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        try:
            return answers(connection)
        except OSError:
            return False


def test_an_idle_connection_is_closed_and_one_that_waits_for_its_join_is_not(narrow: Daemon) -> None:
    async def wait_for_the_join() -> float:
        async with await Wire.connect(narrow.port) as wire:
            begun = time.monotonic()
            member = GroupMember(wire, "patient", ["plain"])
            assert await member.join() is ErrorCode.NONE
            return time.monotonic() - begun

    with socket.create_connection(("127.0.0.1", narrow.port)) as idle:
        assert answers(idle)
        begun = time.monotonic()
        waited = asyncio.run(wait_for_the_join())
        assert waited > 1.4, "the join was parked for longer than the idle time"
        assert is_closed(idle)
        assert 0.75 < time.monotonic() - begun < 10


@pytest.mark.parametrize("step", ["half a request", "a byte now and then"])
def test_a_request_must_arrive_whole_in_time(narrow: Daemon, step: str) -> None:
    frame = encode_frame(MetadataRequest(topics=None), 9, 1)
    with socket.create_connection(("127.0.0.1", narrow.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        before = len(narrow.log_lines())
        begun = time.monotonic()
        connection.sendall(frame[:10])
        if step == "half a request":
            assert is_closed(connection)
        else:
            connection.settimeout(0.1)
            with pytest.raises(OSError):  # broken pipe or reset, once the server has closed
                for byte in frame[10:-1] * 100:
                    connection.sendall(bytes([byte]))
                    try:
                        if connection.recv(1) == b"":
                            raise ConnectionResetError
                    except TimeoutError:
                        assert time.monotonic() - begun < 10, "each byte bought more time"
        assert time.monotonic() - begun < 10
        lines = eventually(lambda: narrow.log_lines()[before:], "the daemon says why")
        assert len(lines) == 1 and "connection.frame.timeout.ms" in lines[0], lines


def test_a_request_above_the_size_limit_is_closed(narrow: Daemon) -> None:
    with socket.create_connection(("127.0.0.1", narrow.port)) as connection:
        connection.sendall((100_001).to_bytes(4, "big"))
        assert is_closed(connection)


async def test_a_group_takes_no_more_members_than_allowed(narrow: Daemon) -> None:
    wires = [await Wire.connect(narrow.port) for _ in range(4)]
    try:
        members = [GroupMember(each, "full", ["plain"], rebalance_timeout_ms=10_000) for each in wires]
        codes = await asyncio.gather(*(member.join() for member in members))
        assert sorted(code.name for code in codes) == ["GROUP_MAX_SIZE_REACHED", "NONE", "NONE", "NONE"]
    finally:
        await asyncio.gather(*(each.close() for each in wires))


async def test_metadata_longer_than_allowed_is_refused_for_that_partition(narrow: Daemon) -> None:
    async with await Wire.connect(narrow.port) as wire:
        consumer = GroupMember(wire, "by-hand", ["plain"])
        assert await consumer.commit({("plain", 0): 1}, "m" * 100) is ErrorCode.NONE
        assert await consumer.commit({("plain", 0): 2}, "m" * 101) is ErrorCode.OFFSET_METADATA_TOO_LARGE
        assert await consumer.commit({("plain", 0): 3}, "") is ErrorCode.NONE
        assert await consumer.commit({("plain", 99): 3}) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await consumer.commit({("nowhere", 0): 3}) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """Usual bounds, small buffers, and answers worth some bytes."""
    overrides = (
        "connection.max.buffered.bytes=65536",
        "connection.max.unsent.bytes=262144",
        "group.initial.rebalance.delay.ms=1500",
    )
    with Daemon(tmp_path_factory.mktemp("roomy"), overrides=overrides, topics=("wide:1000",)) as running:
        yield running


def send_until_it_blocks(connection: socket.socket, data: bytes, at_most: int) -> int:
    """Send until nothing moves for half a second; return the number of bytes sent."""
    connection.settimeout(0.5)
    sent = 0
    view = memoryview(data)
    while sent < at_most:
        try:
            sent += connection.send(view[sent % len(data) :])
        except TimeoutError:
            break
    return sent


def test_a_reader_that_never_reads_is_not_served_on_and_costs_little(roomy: Daemon) -> None:
    before = roomy.memory_kb()
    request = encode_frame(MetadataRequest(topics=None), 9, 1)  # 26 kB of answer for 20 bytes
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        deaf.connect(("127.0.0.1", roomy.port))
        sent = send_until_it_blocks(deaf, request * 1000, 20_000_000)
        assert sent < 20_000_000, "the server never stopped reading"
        assert roomy.memory_kb() - before < 40_000
        assert call(roomy.port, ApiVersionsRequest(), 0).error_code == 0, "others are served meanwhile"

        deaf.settimeout(20)  # and when it reads at last, every answer is there
        whole = sent // len(request)
        received, expected = bytearray(), 0
        while expected < min(whole, 100):
            received += deaf.recv(1 << 20)
            while len(received) >= 4 and len(received) >= (size := int.from_bytes(received[:4], "big") + 4):
                correlation_id, answer = decode_answer(3, 9, bytes(received[4:size]))
                assert correlation_id == 1
                assert [len(each.partitions) for each in answer.topics if each.name == "wide"] == [1000]
                del received[:size]
                expected += 1


@pytest.fixture
def forgetful(tmp_path: Path) -> Iterator[Daemon]:
    """A daemon that keeps few answers for clients that do not read, and not for long."""
    overrides = ("queued.max.response.bytes=8000000", "connection.frame.timeout.ms=2000")
    with Daemon(tmp_path / "forgetful", overrides=overrides, topics=("wide:1000",)) as running:
        yield running


def test_readers_that_never_read_cost_little_together_and_are_cut_off_in_the_end(forgetful: Daemon) -> None:
    call(forgetful.port, MetadataRequest(topics=None), 9)
    before = forgetful.memory_kb()
    request = encode_frame(MetadataRequest(topics=None), 9, 1)
    with ExitStack() as stack:
        deaf = [stack.enter_context(socket.socket()) for _ in range(60)]
        for each in deaf:
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
            each.connect(("127.0.0.1", forgetful.port))
            each.sendall(request * 400)  # 10 MB of answers: 4 MiB of it could be waiting for each of them
        text = "queued.max.response.bytes=8000000"
        eventually(lambda: text in forgetful.log_text(), "the one that holds most is cut off", within_s=120)
        assert call(forgetful.port, ApiVersionsRequest(), 0).error_code == 0, "others are served meanwhile"
        cut_off = eventually(lambda: _all_cut_off(forgetful, len(deaf)), "all are cut off", within_s=120)
        assert any("read none of" in line for line in cut_off)
        assert forgetful.memory_kb() - before < 60_000


def _all_cut_off(daemon: Daemon, count: int) -> list[str]:
    lines = [line for line in daemon.log_lines() if "connection cut off" in line]
    return lines if len(lines) == count else []


async def test_what_is_sent_behind_a_parked_join_is_bounded_and_not_lost(roomy: Daemon) -> None:
    async with await Wire.connect(roomy.port) as other:
        bystander = await alone_in_group(other, "bystander", "wide")
        before = roomy.memory_kb()
        async with await Wire.connect(roomy.port) as wire:
            member = GroupMember(wire, "parked", ["wide"])
            first = await wire.request(member.join_request(), 7)
            member.member_id = first.member_id
            joining = wire.send(member.join_request(), 7)
            behind = [wire.send(bystander.commit_request({("wide", 0): n}, "m" * 4000), 8) for n in range(1000)]
            assert await bystander.heartbeat() is ErrorCode.NONE
            assert not joining.done() and roomy.memory_kb() - before < 20_000, "4 MB are waiting, outside"
            assert member.joined(await joining) is ErrorCode.NONE
            results = await asyncio.wait_for(asyncio.gather(*behind), 30)
            assert {each.topics[0].partitions[0].error_code for each in results} == {0}


def test_a_thousand_connections_come_and_go(roomy: Daemon) -> None:
    fds = Path(f"/proc/{roomy.pid}/fd")
    before = len(list(fds.iterdir()))
    for _ in range(5):
        opened = [socket.create_connection(("127.0.0.1", roomy.port)) for _ in range(200)]
        for each in opened:
            each.close()
    eventually(lambda: len(list(fds.iterdir())) <= before, "every connection is forgotten")
