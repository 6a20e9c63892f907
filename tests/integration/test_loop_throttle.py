"""The brake on the wire: JoinGroup answers of a client that loops carry throttle_time_ms."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.sync_group import SyncGroupRequest
from tests.support.daemon import Daemon
from tests.support.wire import Wire

pytestmark = pytest.mark.integration


async def test_processes_that_take_each_others_place_are_told_to_wait(tmp_path: Path) -> None:
    settings = ["group.initial.rebalance.delay.ms=0", "group.loop.throttle.ms=2000"]
    with Daemon(tmp_path, overrides=settings) as daemon:
        async with await Wire.connect(daemon.port, client_id="web-1") as wire:
            told = []
            for _ in range(5):
                request = JoinGroupRequest(
                    group_id="g",
                    session_timeout_ms=30_000,
                    rebalance_timeout_ms=30_000,
                    group_instance_id="S0",
                    protocol_type="consumer",
                    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
                )
                answer = await wire.request(request, 9)
                assert answer.error_code == 0
                told.append(answer.throttle_time_ms)
                sync = SyncGroupRequest(
                    group_id="g",
                    generation_id=answer.generation_id,
                    member_id=answer.member_id,
                    group_instance_id="S0",
                    protocol_type="consumer",
                    protocol_name="range",
                )
                assert (await wire.request(sync, 5)).error_code == 0
    assert told == [0, 0, 0, 0, 2_000]
