"""Requests of very many elements, over real sockets: refused with one log line, and the bystander keeps its session.

A request is decoded in one piece on the event loop, so its elements are bounded by its API (`Api.max_elements`). The
frames here are legal and below the limit in bytes, which this daemon has as high as it once was.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Iterator

import pytest

from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember
from tests.support.largest_requests import Shape, largest, shapes
from tests.support.wire import decode_answer, encode_frame, is_closed, receive_frame

pytestmark = pytest.mark.integration

LARGEST_FRAME = 16 << 20
WORDS = {
    "acks": lambda place: 1,
    "timeout_ms": lambda place: 1000,
    # Of access rules: with a value that is unknown, a request ends its connection, as in Kafka.
    "resource_type": lambda place: 2,
    "resource_type_filter": lambda place: 2,
    "operation": lambda place: 3,
    "permission_type": lambda place: 3,
    "pattern_type_filter": lambda place: 3,
}


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    overrides = ("group.initial.rebalance.delay.ms=0", f"connection.request.max.bytes={LARGEST_FRAME}")
    with Daemon(tmp_path_factory.mktemp("daemon"), overrides=overrides, topics=("plain:4",)) as running:
        yield running


def filled(key: ApiKey, version: int, before: str, element: str, after: str = "") -> bytes:
    """A frame of nearly 16 MiB: an array of as many such elements as there is room for. All are hexadecimal."""
    head = struct.pack(">hhih", key, version, 1, 0) + bytes.fromhex(before)
    one = bytes.fromhex(element)
    count = (LARGEST_FRAME - 1000) // len(one)
    body = head + struct.pack(">i", count) + one * count + bytes.fromhex(after)
    return struct.pack(">i", len(body)) + body


HOSTILE = {
    "LeaveGroup": (ApiKey.LEAVE_GROUP, 3, "000167", "0000ffff"),
    "Metadata": (ApiKey.METADATA, 1, "", "000161"),
    "OffsetCommit": (ApiKey.OFFSET_COMMIT, 2, "000167ffffffff0000ffffffffffffffff", "000000000000"),
    "ListOffsets": (ApiKey.LIST_OFFSETS, 1, "ffffffff", "000000000000"),
    "Fetch": (ApiKey.FETCH, 4, "ffffffff000000000000000000100000" + "00", "000000000000"),
    "JoinGroup": (ApiKey.JOIN_GROUP, 1, "000167" + "00002710" * 2 + "0000" + "0008636f6e73756d6572", "000000000000"),
    "IncrementalAlterConfigs": (ApiKey.INCREMENTAL_ALTER_CONFIGS, 0, "", "02000000000000"),
    "DescribeGroups": (ApiKey.DESCRIBE_GROUPS, 0, "", "000167"),
    "SyncGroup": (ApiKey.SYNC_GROUP, 0, "000167" + "00000001" + "00016d", "000000000000"),
    "OffsetFetch": (ApiKey.OFFSET_FETCH, 1, "000167", "000000000000"),
    "DeleteTopics": (ApiKey.DELETE_TOPICS, 1, "", "000161"),
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_millions_of_elements_are_refused_while_the_others_are_served(
    daemon: Daemon, bystander: GroupMember, name: str
) -> None:
    key, version, before, element = HOSTILE[name]
    lines_before = len(daemon.log_lines())
    reader, writer = await asyncio.open_connection("127.0.0.1", daemon.port)
    port = writer.get_extra_info("sockname")[1]
    writer.write(filled(key, version, before, element, "00"))
    closed = asyncio.ensure_future(reader.read())
    heartbeats = 0
    while not closed.done():
        assert await bystander.heartbeat() is ErrorCode.NONE
        heartbeats += 1
    assert heartbeats
    with contextlib.suppress(ConnectionResetError):
        assert await closed == b"", "nothing is answered"
    writer.close()
    (line,) = eventually(
        lambda: [each for each in daemon.log_lines()[lines_before:] if "closed" in each], "the reason is in the log"
    )
    assert f"peer=127.0.0.1:{port}" in line
    assert f"{key.name} v{version} of " in line
    assert f"over {HANDLERS[key].max_elements} elements" in line


WITH_ARRAYS = [
    shape
    for api in HANDLERS.values()
    for shape in list(shapes(api.key, api.max_version))[:1]
    if api.key is not ApiKey.FOLLOW_CATALOGUE  # refused from a stranger, whatever it says
]


@pytest.mark.usefixtures("bystander")
@pytest.mark.parametrize("shape", WITH_ARRAYS, ids=str)
def test_a_request_at_the_limit_is_answered_and_one_element_more_is_refused(daemon: Daemon, shape: Shape) -> None:
    limit = HANDLERS[shape.key].max_elements
    with socket.create_connection(("127.0.0.1", daemon.port)) as connection:
        connection.settimeout(60)
        connection.sendall(encode_frame(largest(shape, limit, WORDS), shape.version, 5))
        connection.sendall(encode_frame(ApiVersionsRequest(), 0, 6))
        correlation_id, _ = decode_answer(shape.key, shape.version, receive_frame(connection))
        assert correlation_id == 5
        correlation_id, _ = decode_answer(ApiKey.API_VERSIONS, 0, receive_frame(connection))
        assert correlation_id == 6, "what is sent behind a long request is answered behind it"
        connection.sendall(encode_frame(largest(shape, limit + 1, WORDS), shape.version, 7))
        assert is_closed(connection)
    reason = f"{shape.key.name} v{shape.version} of "
    eventually(lambda: [line for line in daemon.log_lines() if reason in line and "elements" in line], "a log line")
