"""The log of a real daemon, in both of its forms: what clients put into their ids forges no line."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import pytest

from protocol.consumer import Subscription, encode_subscription
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from protocol.messages.sync_group import SyncGroupRequest
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.wire import Wire

pytestmark = pytest.mark.integration

FORGED: Final = '\n2026-01-01 00:00:00.000 ERROR   forged\r\x1b[31m\u2028<script>alert("x")</script>'
CLIENT, GROUP, INSTANCE, REASON = (f"{name}{FORGED}" for name in ("client", "group", "instance", "reason"))
TEXT_LINE: Final = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} (INFO|WARNING|ERROR) +.*")
OUTPUT: Final = ("listening on ", "try it: ")  # standard output, which the tests collect in the same file


async def joins_and_leaves(port: int) -> str:
    """Have a member with evil ids join an evil group and leave it with an evil reason; return its member id."""
    async with await Wire.connect(port, client_id=CLIENT) as wire:
        protocols = [
            JoinGroupRequestProtocol(name="range", metadata=encode_subscription(Subscription(topics=["orders"]), 0))
        ]
        joined = await wire.request(
            JoinGroupRequest(
                group_id=GROUP,
                session_timeout_ms=30_000,
                rebalance_timeout_ms=30_000,
                group_instance_id=INSTANCE,
                protocol_type="consumer",
                protocols=protocols,
                reason=REASON,
            ),
            9,
        )
        assert joined.error_code == 0
        member_id: str = joined.member_id
        sync = SyncGroupRequest(
            group_id=GROUP,
            generation_id=joined.generation_id,
            member_id=member_id,
            group_instance_id=INSTANCE,
            protocol_type="consumer",
            protocol_name="range",
        )
        assert (await wire.request(sync, 5)).error_code == 0
        identity = MemberIdentity(member_id=member_id, group_instance_id=INSTANCE, reason=REASON)
        assert (await wire.request(LeaveGroupRequest(group_id=GROUP, members=[identity]), 5)).error_code == 0
        return member_id


def written(daemon: Daemon) -> list[str]:
    """Return the lines of the log, without standard output. Only a line feed ends a line here."""
    lines = daemon.log_file.read_bytes().decode().split("\n")
    return [line for line in lines if line and not line.startswith(OUTPUT)]


async def test_evil_ids_forge_no_line_of_text(tmp_path: Path) -> None:
    with Daemon(tmp_path, overrides=["group.initial.rebalance.delay.ms=0"]) as daemon:
        await joins_and_leaves(daemon.port)
        eventually(lambda: sum("rebalance Group group" in line for line in written(daemon)) == 2, "two lines")
        for line in written(daemon):
            assert TEXT_LINE.fullmatch(line) and line.isprintable() and "<" not in line
        assert any("giving as its reason" in line for line in written(daemon))


async def test_evil_ids_are_exact_in_the_fields_of_json_and_forge_no_line(tmp_path: Path) -> None:
    overrides = ["group.initial.rebalance.delay.ms=0", "log.format=json"]
    with Daemon(tmp_path, overrides=overrides) as daemon:
        member_id = await joins_and_leaves(daemon.port)

        def rebalances() -> list[dict[str, Any]]:
            found = [json.loads(line) for line in written(daemon)]
            return [line for line in found if line["message"].startswith("rebalance ")]

        first, second = eventually(lambda: len(rebalances()) == 2 and rebalances(), "two lines")
    for line in written(daemon):
        assert line.isascii() and line.isprintable() and not re.search("[<>&]", line)
        assert json.loads(line)["message"].isprintable()
    assert first["group"] == second["group"] == GROUP
    assert (first["cause"], first["generation"]) == ("member_joined", 1)
    assert (second["cause"], second["generation"], second["host"]) == ("member_left", 2, "127.0.0.1")
    assert second["client"].startswith("client\n") and second["member"][-36:] == member_id[-36:]
    assert isinstance(first["ms"], int) and first["level"] == "INFO" and first["logger"] == "coordinator.runtime"
    ready = next(json.loads(line) for line in written(daemon) if '"ready ' in line)
    assert (ready["listen"], ready["groups"]) == (daemon.address, 0)


@pytest.mark.parametrize(
    ("arguments", "environment"),
    [(("--log-format", "json"), {}), ((), {"COORDINATOR_LOG_FORMAT": "json"})],
    ids=["flag", "environment"],
)
def test_json_is_asked_for_in_each_way_and_warnings_about_settings_are_json_too(
    tmp_path: Path, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    overrides = ["zookeeper.connect=localhost:2181"]
    with Daemon(tmp_path, overrides=overrides, arguments=arguments, environment=environment) as daemon:
        lines = [json.loads(line) for line in written(daemon)]
    assert lines[0]["level"] == "WARNING" and "zookeeper.connect" in lines[0]["message"]
    assert any(line["message"].startswith("ready ") for line in lines)


def test_each_line_of_a_worker_has_its_node(tmp_path: Path) -> None:
    with Daemon(tmp_path, arguments=("--workers", "2", "--log-format", "json")) as daemon:
        lines = [json.loads(line) for line in written(daemon)]
    assert {line["node"] for line in lines if line["message"].startswith("ready ")} == {1, 2}
