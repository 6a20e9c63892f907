"""Well-formed requests that must be refused: the code the protocol has for it, and the connection goes on.

One socket per test, and after each refusal a good request on the same socket. The rules themselves are tested one by
one beside the core and the topics; here is shown that they arrive at a client unchanged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.join_group import JoinGroupRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import build_batch
from tests.support.daemon import Daemon
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.wire import Wire

pytestmark = pytest.mark.integration


@pytest.fixture
async def asking(daemon: Daemon) -> AsyncIterator[Wire]:
    """A connection that must still be usable at the end."""
    async with await Wire.connect(daemon.port) as wire:
        yield wire
        assert (await wire.request(ApiVersionsRequest(), 0)).error_code == 0


def batch(value: bytes = b"value") -> bytearray:
    return build_batch([(None, value)], timestamp_ms=1_700_000_000_000)


def with_wrong_crc() -> bytes:
    data = batch()
    data[-1] ^= 1
    return bytes(data)


def with_old_magic() -> bytes:
    data = batch()
    data[16] = 1
    return bytes(data)


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (with_wrong_crc(), ErrorCode.CORRUPT_MESSAGE),
        (with_old_magic(), ErrorCode.INVALID_RECORD),
        (bytes(batch()) * 2, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (None, ErrorCode.INVALID_RECORD),
        (bytes(build_batch([(None, b"x" * 2_000_000)], timestamp_ms=0)), ErrorCode.MESSAGE_TOO_LARGE),
    ],
    ids=["a wrong CRC", "an old message set", "two batches", "no batch", "null", "a batch over message.max.bytes"],
)
async def test_bad_records_are_refused_for_their_partition_alone(
    asking: Wire, records: bytes | None, error: ErrorCode
) -> None:
    good = PartitionProduceData(index=1, records=bytes(batch()))
    data = TopicProduceData(name="plain", partition_data=[PartitionProduceData(index=0, records=records), good])
    response = await asking.request(ProduceRequest(acks=-1, timeout_ms=5000, topic_data=[data]), 9)
    codes = {each.index: each.error_code for each in response.responses[0].partition_responses}
    assert codes == {0: error, 1: ErrorCode.NONE}


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (JoinGroupRequest(group_id="", session_timeout_ms=10_000, protocol_type="consumer"), "INVALID_GROUP_ID"),
        (JoinGroupRequest(group_id="g", session_timeout_ms=999, protocol_type="consumer"), "INVALID_SESSION_TIMEOUT"),
        (JoinGroupRequest(group_id="g", session_timeout_ms=1_800_001), "INVALID_SESSION_TIMEOUT"),
        (JoinGroupRequest(group_id="g", session_timeout_ms=10_000), "INCONSISTENT_GROUP_PROTOCOL"),
        (JoinGroupRequest(group_id="unheard-of", session_timeout_ms=10_000, member_id="m"), "UNKNOWN_MEMBER_ID"),
    ],
    ids=["no group id", "too short a session", "too long a session", "no protocol", "an unknown member"],
)
async def test_a_join_that_cannot_be(asking: Wire, request_: JoinGroupRequest, error: str) -> None:
    assert ErrorCode((await asking.request(request_, 7)).error_code).name == error


async def test_another_generation_and_another_member_are_told_apart(asking: Wire, group: str) -> None:
    member = await alone_in_group(asking, group, "plain")
    stranger = GroupMember(asking, group, ["plain"])
    stranger.member_id, stranger.generation = "stranger", member.generation
    assert await stranger.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert await stranger.commit({("plain", 0): 1}) is ErrorCode.UNKNOWN_MEMBER_ID
    member.generation += 1
    assert await member.heartbeat() is ErrorCode.ILLEGAL_GENERATION
    assert await member.commit({("plain", 0): 1}) is ErrorCode.ILLEGAL_GENERATION
    assert await member.sync() is ErrorCode.ILLEGAL_GENERATION
    member.generation -= 1
    assert await member.heartbeat() is ErrorCode.NONE


async def test_a_fenced_static_member_is_told_so(daemon: Daemon, asking: Wire, group: str) -> None:
    old = GroupMember(asking, group, ["plain"], instance_id="instance")
    assert await old.join() is ErrorCode.NONE
    assert await old.sync({old.member_id: [("plain", 0)]}) is ErrorCode.NONE
    async with await Wire.connect(daemon.port) as other:
        new = GroupMember(other, group, ["plain"], instance_id="instance")
        assert await new.join() is ErrorCode.NONE
        assert new.member_id != old.member_id
        assert await old.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
        assert await old.commit({("plain", 0): 1}) is ErrorCode.FENCED_INSTANCE_ID
        assert await new.sync() is ErrorCode.NONE
        assert new.assignment == {("plain", 0)}
