"""A daemon that is stopped for longer than every session: a member that sent its heartbeat in time is kept."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.sync_group import SyncGroupRequest
from tests.support.daemon import Daemon
from tests.support.group_member import GroupMember
from tests.support.wire import Wire

pytestmark = pytest.mark.integration

SESSION_MS = 6000  # the shortest that is allowed
STOPPED_S = 8.0
MEMBERS = 20


async def stable_member(daemon: Daemon, group: str, instance_id: str | None) -> GroupMember:
    wire = await Wire.connect(daemon.port)
    member = GroupMember(
        wire,
        group,
        ["plain"],
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=SESSION_MS,
        instance_id=instance_id,
    )
    assert await member.join() is ErrorCode.NONE
    request = SyncGroupRequest(group_id=group, generation_id=member.generation, member_id=member.member_id)
    request.group_instance_id = instance_id
    assert (await wire.request(request, 3)).error_code == ErrorCode.NONE
    return member


@pytest.mark.parametrize("event_loop", ["uvloop", "asyncio"])
async def test_heartbeats_and_joins_that_were_sent_to_a_stopped_daemon_are_in_time(
    tmp_path: Path, event_loop: str
) -> None:
    overrides = ("group.initial.rebalance.delay.ms=0",)
    environment = {"COORDINATOR_EVENT_LOOP": event_loop}
    with Daemon(tmp_path / "d", overrides=overrides, topics=("plain:4",), environment=environment) as daemon:
        ids = [f"static-{number}" if number % 4 == 0 else None for number in range(MEMBERS)]
        members = [await stable_member(daemon, f"group-{number}", each) for number, each in enumerate(ids)]
        second = GroupMember(
            await Wire.connect(daemon.port),
            "group-1",
            ["plain"],
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=6000,
        )
        first = await second.wire.request(second.join_request(), 7)
        second.member_id = first.member_id
        os.kill(daemon.pid, signal.SIGSTOP)
        beats = [asyncio.create_task(member.heartbeat()) for member in members]
        joining = second.wire.send(second.join_request(), 7)
        await asyncio.sleep(STOPPED_S)
        os.kill(daemon.pid, signal.SIGCONT)
        errors = await asyncio.gather(*beats)
        assert {error for number, error in enumerate(errors) if number != 1} == {ErrorCode.NONE}
        assert errors[1] in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS), "the second member may have come first"
        assert await members[1].join() is ErrorCode.NONE
        assert second.joined(await joining) is ErrorCode.NONE
        assert members[1].generation == second.generation
        assert "the process did not run" in daemon.log_text()
        for member in (*members, second):
            await member.wire.close()
