"""A client may call itself anything of up to 32 KB. The daemon keeps 255 characters of it, however often it joins."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from tests.support.daemon import Daemon
from tests.support.wire import Wire

pytestmark = pytest.mark.integration

NAME = "n" * 32_000
BATCHES, AT_ONCE = 30, 100


def join(group_id: str, member_id: str = "") -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        member_id=member_id,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )


async def test_members_of_a_client_with_a_long_name_are_served(daemon: Daemon, group: str) -> None:
    async with await Wire.connect(daemon.port, client_id=NAME) as wire:
        given: JoinGroupResponse = await wire.request(join(group), 5)
        assert given.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert given.member_id[:256] == NAME[:255] + "-" and len(given.member_id) == 255 + 37
        joined: JoinGroupResponse = await wire.request(join(group, given.member_id), 5)
        assert joined.error_code == ErrorCode.NONE
        for _ in range(3):
            beat = HeartbeatRequest(group_id=group, generation_id=joined.generation_id, member_id=given.member_id)
            assert (await wire.request(beat, 4)).error_code == ErrorCode.NONE
        described = await wire.request(DescribeGroupsRequest(groups=[group]), 5)
        (member,) = described.groups[0].members
        assert member.client_id == NAME[:255]


async def test_ids_and_rebalances_of_a_client_with_a_long_name_take_little_memory(tmp_path: Path) -> None:
    overrides = ("group.initial.rebalance.delay.ms=0",)
    with Daemon(tmp_path / "d", overrides=overrides) as daemon:
        async with await Wire.connect(daemon.port, client_id=NAME) as wire:
            before = daemon.memory_kb()
            for batch in range(BATCHES):  # ids that are never used
                await asyncio.gather(*(wire.send(join(f"pending-{batch}"), 5) for _ in range(AT_ONCE)))
            for number in range(BATCHES * AT_ONCE // 3):  # rebalances that are remembered
                group_id = f"remembered-{number % 40}"
                joined = await wire.request(join(group_id), 3)
                leave = LeaveGroupRequest(group_id=group_id, members=[MemberIdentity(member_id=joined.member_id)])
                assert (await wire.request(leave, 3)).error_code == ErrorCode.NONE
            grown = (daemon.memory_kb() - before) >> 10
        assert grown < 40, f"{grown} MiB for {BATCHES * AT_ONCE} ids and {BATCHES * AT_ONCE // 3} rebalances"
