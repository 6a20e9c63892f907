"""Bad bytes over real sockets: that connection is closed with one log line, and no other client is disturbed.

Each row is an input of a broken or hostile peer. The server answers nothing (the one exception, ApiVersions, has a
file of its own), closes, and logs peer and reason once. A bystander in a group proves that other clients are not
disturbed.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from protocol.record_batch import build_batch
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember
from tests.support.wire import Wire, decode_answer, encode_frame, is_closed, receive_frame

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("bystander")]


def framed(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


CLIENT = "000461626364"  # the client id "abcd"
BAD_FRAMES = {
    "a negative length": b"\xff\xff\xff\xff",
    "the smallest length": b"\x80\x00\x00\x00",
    "a length above the limit": struct.pack(">i", 104_857_601),
    "the largest length": b"\x7f\xff\xff\xff",
    "an empty frame": framed(b""),
    "two bytes that are no header": framed(bytes.fromhex("000c")),
    "an answer of HTTP": b"HTTP/1.1 200 OK\r\n\r\n",
    "a TLS alert": bytes.fromhex("15030100020246"),
    "an unknown API key": framed(bytes.fromhex("03e7000000000001" + CLIENT)),
    "a negative API key": framed(bytes.fromhex("ffff000000000001" + CLIENT)),
    "a version that never was": framed(bytes.fromhex("000c006300000001" + CLIENT)),
    "a negative version": framed(bytes.fromhex("000cffff00000001" + CLIENT)),
    "a Produce version that is advertised but not served": framed(bytes.fromhex("0000000200000001" + CLIENT)),
    "an API that only brokers use": framed(bytes.fromhex("001b000100000001" + CLIENT + "00" * 8)),
    "a request of share groups, which are not served": framed(bytes.fromhex("004c000100000001" + CLIENT + "00" * 20)),
    "an array that promises two billion elements": framed(
        bytes.fromhex("000b000200000001" + CLIENT + "00016700002710000493e000000008636f6e73756d65727fffffff")
    ),
    "an array of negative size where null is not allowed": framed(
        bytes.fromhex("000b000200000001" + CLIENT + "00016700002710000493e000000008636f6e73756d6572ffffffff")
    ),
    "a string of negative length": framed(bytes.fromhex("000c000000000001" + CLIENT + "80000000000500016d")),
    "a null group id": framed(bytes.fromhex("000c000000000001" + CLIENT + "ffff00000005000163")),
    "a string longer than the frame": framed(bytes.fromhex("000c000000000001" + CLIENT + "7fff6700000005000163")),
    "a varint of seven bytes": framed(bytes.fromhex("000c000400000001" + CLIENT + "00ffffffffffff01")),
    "a client id longer than the frame": framed(bytes.fromhex("000c0000000000017fff61626364")),
    "a body that ends early": framed(bytes.fromhex("000c000400000001" + CLIENT + "00076f72646572730000")),
    "tags that promise more than there is": framed(bytes.fromhex("000c000400000001" + CLIENT + "ffffffff07")),
    "garbage of a plausible length": framed(bytes(range(256))),
}


@contextmanager
def one_more_log_line_for(daemon: Daemon, connection: socket.socket) -> Iterator[None]:
    """Within, the daemon writes exactly one line, and it names this connection's address and port."""
    before = len(daemon.log_lines())
    peer = f"127.0.0.1:{connection.getsockname()[1]}"
    yield
    lines = eventually(lambda: daemon.log_lines()[before:], "the daemon says why it closed")
    assert len(lines) == 1, lines
    assert peer in lines[0] and "closed" in lines[0], lines


@pytest.mark.parametrize("data", BAD_FRAMES.values(), ids=BAD_FRAMES.keys())
def test_bad_bytes_close_their_connection_with_one_log_line(daemon: Daemon, data: bytes) -> None:
    with (
        socket.create_connection(("127.0.0.1", daemon.port)) as connection,
        one_more_log_line_for(daemon, connection),
    ):
        connection.sendall(data)
        assert is_closed(connection)


def test_a_good_request_before_bad_bytes_is_still_answered(daemon: Daemon) -> None:
    with (
        socket.create_connection(("127.0.0.1", daemon.port)) as connection,
        one_more_log_line_for(daemon, connection),
    ):
        connection.sendall(encode_frame(ApiVersionsRequest(), 0, 1) + BAD_FRAMES["a negative length"])
        correlation_id, answer = decode_answer(18, 0, receive_frame(connection))
        assert (correlation_id, answer.error_code) == (1, 0)
        assert is_closed(connection)


def test_a_client_id_with_line_breaks_forges_no_log_line(daemon: Daemon) -> None:
    with (
        socket.create_connection(("127.0.0.1", daemon.port)) as connection,
        one_more_log_line_for(daemon, connection),
    ):
        name = "me\n2026-01-01 00:00:00.000 ERROR   connection closed peer=10.0.0.1:1\x1b[31m"
        connection.sendall(encode_frame(ApiVersionsRequest(), 0, 1, name) + BAD_FRAMES["a negative length"])
        assert receive_frame(connection)
        assert is_closed(connection)


HEARTBEAT_WITH_UNKNOWN_TAGS = {
    "in the header": "000c000400000001" + CLIENT + "016403616263" + "0567726f75" + "0000000503633100" + "00",
    "in the body": "000c000400000001" + CLIENT + "00" + "0567726f75" + "0000000503633100" + "016403616263",
    "as bytes behind the body": "000c000400000001" + CLIENT + "00" + "0567726f75" + "0000000503633100" + "00" + "0000",
}


@pytest.mark.parametrize("request_hex", HEARTBEAT_WITH_UNKNOWN_TAGS.values(), ids=HEARTBEAT_WITH_UNKNOWN_TAGS.keys())
def test_what_a_newer_client_may_add_is_skipped(daemon: Daemon, request_hex: str) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.settimeout(10)
        connection.sendall(framed(bytes.fromhex(request_hex)))
        correlation_id, answer = decode_answer(12, 4, receive_frame(connection))
        assert (correlation_id, answer.error_code) == (1, 25), "UNKNOWN_MEMBER_ID: it was understood"


VALID: list[tuple[Any, int]] = [
    (MetadataRequest(topics=[MetadataRequestTopic(name="plain")]), 12),
    (FindCoordinatorRequest(coordinator_keys=["g", "h"]), 4),
    (
        JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            member_id="m",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\1\2")],
        ),
        5,
    ),
    (
        JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            member_id="m",
            group_instance_id="i",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0\1\2")],
        ),
        9,
    ),
    (
        SyncGroupRequest(
            group_id="g",
            generation_id=1,
            member_id="m",
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id="m", assignment=b"\0\1")],
        ),
        5,
    ),
    (HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4),
    (LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="m")]), 5),
    (
        OffsetCommitRequest(
            group_id="g",
            member_id="m",
            generation_id_or_member_epoch=1,
            topics=[
                OffsetCommitRequestTopic(
                    name="plain",
                    partitions=[OffsetCommitRequestPartition(committed_offset=7, committed_metadata="meta")],
                )
            ],
        ),
        8,
    ),
    (
        OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(
                    group_id="g", topics=[OffsetFetchRequestTopics(name="plain", partition_indexes=[0, 1])]
                )
            ]
        ),
        8,
    ),
    (
        ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name="plain",
                    partition_data=[
                        PartitionProduceData(index=3, records=bytes(build_batch([(b"k", b"v")], timestamp_ms=0)))
                    ],
                )
            ],
        ),
        9,
    ),
    (
        FetchRequest(
            max_wait_ms=1,
            min_bytes=1,
            topics=[FetchTopic(topic="plain", partitions=[FetchPartition(partition_max_bytes=1000)])],
        ),
        12,
    ),
]


@pytest.mark.parametrize(
    ("message", "version"), VALID, ids=[f"{type(each).__name__}-v{version}" for each, version in VALID]
)
def test_a_request_cut_at_any_byte_closes_its_connection_with_one_log_line(
    daemon: Daemon, message: Any, version: int
) -> None:
    whole = encode_frame(message, version, 1)[4:]
    before = len(daemon.log_lines())
    for size in range(len(whole)):
        with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
            connection.sendall(framed(whole[:size]))
            assert is_closed(connection), f"cut at {size}"
    lines = eventually(
        lambda: len(daemon.log_lines()) >= before + len(whole) and daemon.log_lines()[before:], "one line for each cut"
    )
    assert lines is not False
    assert len(lines) == len(whole)
    assert all("closed" in line and "reason=" in line for line in lines)


@pytest.mark.parametrize("size", [1, 3, 4, 5, 20])
def test_a_connection_that_ends_within_a_frame_is_forgotten(daemon: Daemon, size: int) -> None:
    frame = encode_frame(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), 4, 1)
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.sendall(frame[:size])
        connection.shutdown(socket.SHUT_WR)
        assert is_closed(connection)


def test_a_frame_may_arrive_byte_by_byte(daemon: Daemon) -> None:
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(10)
        for byte in encode_frame(ApiVersionsRequest(), 0, 7) + encode_frame(ApiVersionsRequest(), 0, 8):
            connection.sendall(bytes([byte]))
        assert decode_answer(18, 0, receive_frame(connection))[0] == 7
        assert decode_answer(18, 0, receive_frame(connection))[0] == 8


def test_a_length_that_promises_much_allocates_nothing(daemon: Daemon) -> None:
    before = daemon.memory_kb()
    promising = [socket.create_connection(("127.0.0.1", daemon.port)) for _ in range(30)]
    try:
        for connection in promising:
            connection.sendall(struct.pack(">i", 104_857_600) + b"\0\x0c\0\4")
        with socket.create_connection(("127.0.0.1", daemon.port)) as other:  # answered later, so all of that was read
            other.settimeout(10)
            other.sendall(encode_frame(ApiVersionsRequest(), 0, 1))
            assert receive_frame(other)
        assert daemon.memory_kb() - before < 30_000, "30 promises of 100 MiB cost less than 1 MB each"
    finally:
        for connection in promising:
            connection.close()


async def test_a_storm_of_garbage_leaves_the_others_undisturbed(daemon: Daemon, bystander: GroupMember) -> None:
    worst = 0.0
    frames = list(BAD_FRAMES.values())
    for round_number in range(20):
        wires = [await Wire.connect(daemon.port) for _ in range(10)]
        for index, each in enumerate(wires):
            each.send_bytes(frames[(round_number * 10 + index) % len(frames)])
        begun = time.monotonic()
        assert (await bystander.heartbeat()).value == 0
        worst = max(worst, time.monotonic() - begun)
        for each in wires:
            assert await each.ends()
            await each.close()
    assert worst < 1.0, f"a heartbeat took {worst:.2f} s"
