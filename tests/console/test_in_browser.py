"""The console in a real browser: each screen in light and dark, wide and on a phone, and the ways to use it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import quote

import pytest
from confluent_kafka import Producer

from protocol.error_codes import ErrorCode
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from tests.support.daemon import Daemon
from tests.support.group_member import GroupMember
from tests.support.machine_tools import require_tool
from tests.support.npm_packages import installed
from tests.support.simple_group import commit
from tests.support.transactional import LIMIT_S, transactional_producer
from tests.support.wire import Wire

pytestmark = pytest.mark.integration

HERE: Final = Path(__file__).parent / "browser"
ODD: Final = "<b>x</b>\"&' a/b?c#d \N{PILE OF POO}\N{RIGHT-TO-LEFT OVERRIDE}"
MANY: Final = 5_000
TOKEN: Final = "s3cret"
PAINT_MS: Final = 500
CONNECTIONS: Final = 100
SESSION_MS: Final = 1_800_000


class Console(NamedTuple):
    """A daemon with groups, and its console."""

    daemon: Daemon
    url: str

    async def run(self, script: str, *arguments: str) -> str:
        """Run a script of the browser and return what it printed."""
        environment = {"CHROMIUM": require_tool("chromium"), "NODE_PATH": str(installed(HERE) / "node_modules")}
        child = await asyncio.create_subprocess_exec(
            require_tool("node", "nodejs"),
            str(HERE / script),
            self.url,
            *arguments,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(child.communicate(), 280)
        assert child.returncode == 0, err.decode()
        return out.decode()


class Group:
    """Members over raw connections, which stay open."""

    def __init__(self, port: int, name: str, opened: AsyncExitStack) -> None:
        self._port = port
        self.name = name
        self._opened = opened
        self.members: list[GroupMember] = []

    async def member(self, client_id: str, rebalance_timeout_ms: int = 60_000) -> GroupMember:
        wire = await self._opened.enter_async_context(await Wire.connect(self._port, client_id=client_id))
        timeouts = {"session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": rebalance_timeout_ms}
        return GroupMember(wire, self.name, ["orders"], **timeouts)

    async def add(self, *client_ids: str) -> None:
        """Have new members join one after another, and all others rejoin each time."""
        for client_id in client_ids:
            member = await self.member(client_id)
            joining = asyncio.ensure_future(member.join())
            for other in self.members:
                await other.notices_a_rebalance()
            await self._rebalance(joining)
            self.members.append(member)
            await self._share()

    async def leave(self) -> None:
        """Have the last member leave, and the others rebalance."""
        gone = self.members.pop()
        await gone.leave()
        await self._rebalance()
        await self._share()

    async def _rebalance(self, *joining: asyncio.Future[ErrorCode]) -> None:
        joined = [asyncio.ensure_future(member.join()) for member in self.members]
        assert set(await asyncio.gather(*joining, *joined)) == {ErrorCode.NONE}

    async def _share(self, partitions: int = 12) -> None:
        """Have the leader deal the partitions out in turn."""
        ids = [member.member_id for member in self.members]
        plan: Mapping[str, Any] = {
            each: [("orders", number) for number in range(partitions) if number % len(ids) == place]
            for place, each in enumerate(ids)
        }
        synced = [member.sync(plan if member.is_leader else None) for member in self.members]
        assert set(await asyncio.gather(*synced)) == {ErrorCode.NONE}

    async def commit(self, offset: int, partitions: int = 12) -> None:
        offsets = {("orders", number): offset for number in range(partitions)}
        await self.members[0].wire.request(self.members[0].commit_request(offsets), 8)


@asynccontextmanager
async def served(directory: Path, groups: int) -> AsyncIterator[tuple[Console, AsyncExitStack]]:
    """Serve a daemon with so many groups of one member."""
    overrides = (
        "group.initial.rebalance.delay.ms=0",
        "log.flush.policy=never",
        f"group.consumer.max.session.timeout.ms={SESSION_MS}",
        f"group.consumer.session.timeout.ms={SESSION_MS}",
    )
    http_port = directory / "http"
    daemon = Daemon(
        directory,
        overrides=overrides,
        topics=("orders:12", "payments:1"),
        arguments=("--http-port-file", str(http_port)),
        environment={"COORDINATOR_HTTP_ADMIN_TOKEN": TOKEN},
        http="127.0.0.1:0",
    )
    with daemon:
        async with AsyncExitStack() as opened:
            await _many(daemon.port, groups)
            yield Console(daemon, f"http://127.0.0.1:{http_port.read_text().strip()}/"), opened


async def _many(port: int, groups: int) -> None:
    async def some(numbers: range) -> None:
        async with await Wire.connect(port, client_id="svc") as wire:
            for number in numbers:
                timeouts = {"session_timeout_ms": SESSION_MS, "rebalance_timeout_ms": 60_000}
                member = GroupMember(wire, f"svc-{number:04}", ["orders"], **timeouts)
                assert await member.join() is ErrorCode.NONE
                await member.sync({member.member_id: [("orders", 0)]})

    await asyncio.gather(*(some(range(start, groups, CONNECTIONS)) for start in range(CONNECTIONS)))


async def lived(console: Console, opened: AsyncExitStack) -> Group:
    """Fill the group `shop`: five rebalances, one of them running and waiting for a member."""
    shop = Group(console.daemon.port, "shop", opened)
    await shop.add("web-1")
    await shop.add("web-2")
    await shop.add("web-3", "web-4")
    await shop.commit(0)
    await shop.leave()
    return shop


async def reconciling(console: Console, opened: AsyncExitStack, group: str) -> None:
    """Fill a group of the consumer protocol: the second member waits for what the first one does not give up."""
    epoch = 0
    for client_id in ("busy-1", "new-2"):
        wire = await opened.enter_async_context(await Wire.connect(console.daemon.port, client_id=client_id))
        request = ConsumerGroupHeartbeatRequest(
            group_id=group,
            member_id=f"{client_id}-id",
            member_epoch=0,
            rebalance_timeout_ms=SESSION_MS,
            subscribed_topic_names=["orders"],
            topic_partitions=[],
        )
        joined = await wire.request(request, 1)
        assert joined.error_code == ErrorCode.NONE
        if client_id == "busy-1":
            busy, epoch = wire, joined.member_epoch
    told = ConsumerGroupHeartbeatRequest(group_id=group, member_id="busy-1-id", member_epoch=epoch)
    assert (await busy.request(told, 1)).error_code == ErrorCode.NONE


def holding(daemon: Daemon) -> Producer:
    """Leave a transaction open that holds the group `readers` back."""
    settings = {"transaction.timeout.ms": 900_000}  # longer than the walk through the screens
    producer = transactional_producer(daemon.address, "transfer-7", **settings)
    producer.begin_transaction()
    for _ in range(3):
        producer.produce("payments", b"1", partition=0)
    assert producer.flush(LIMIT_S) == 0
    commit(daemon.port, "readers", 0, topic="payments")
    return producer


async def test_every_screen_is_whole_and_readable_in_light_and_dark_and_on_a_phone(tmp_path: Path) -> None:
    async with served(tmp_path, MANY) as (console, opened):
        await lived(console, opened)
        odd = Group(console.daemon.port, ODD, opened)
        await odd.add("<i>client</i>")
        waits = Group(console.daemon.port, "waits", opened)
        await waits.add("slow-1")
        late = await waits.member("fast-1")
        joining = asyncio.ensure_future(late.join())
        await reconciling(console, opened, "newer")
        producer = await asyncio.to_thread(holding, console.daemon)
        screens = [
            {"name": "groups", "hash": "#/?sort=members&reverse=1", "awaits": "shop"},
            {"name": "group", "hash": "#/group/shop", "awaits": "Rebalances"},
            {"name": "waiting", "hash": "#/group/waits", "awaits": "slow-1"},
            {"name": "newer", "hash": "#/group/newer", "awaits": "gives up 6", "only": "phone"},
            {"name": "held", "hash": "#/group/readers", "awaits": "held back at 0 by transfer-7"},
            {"name": "odd", "hash": f"#/group/{quote(ODD, safe='')}", "awaits": "<i>client</i>"},
            {"name": "missing", "hash": "#/group/nothing", "awaits": "no group of this name"},
        ]
        plan = tmp_path / "screens.json"
        plan.write_text(json.dumps(screens))
        shots = Path(os.environ.get("CONSOLE_SHOTS") or tmp_path / "shots")
        await asyncio.to_thread(shots.mkdir, parents=True, exist_ok=True)
        seen = [json.loads(line) for line in (await console.run("walk.mjs", str(shots), str(plan))).splitlines()]
        joining.cancel()
        await asyncio.to_thread(producer.abort_transaction, LIMIT_S)
    assert len(seen) == 4 * len(screens) - 2
    for each in seen:
        what = f"{each['screen']}, {each['scheme']}, {each['size']}"
        assert each["foreign"] == [], what
        complaints = [line for line in each["complaints"] if each["screen"] != "missing" or "404" not in line]
        assert complaints == [], what
        assert each["overflow"] <= 0, f"{what}: wider than its window"
        serious = [line for line in each["violations"] if line.startswith(("serious", "critical"))]
        assert serious == [], what
    texts = {each["screen"]: each["text"] for each in seen}
    assert f"{MANY + 5:,}" in texts["groups"]
    for each in ("Reconciling", "orders 0-11", "orders 0-5", "waits for 6", "a member that has to give up partitions"):
        assert each in texts["newer"], each
    for each in ("Open transactions", "transfer-7", "Ongoing", "payments-0", "Readers of committed records wait"):
        assert each in texts["groups"], each
    assert "Readers of committed records are held back at offset 0 of payments-0" in texts["held"]
    assert "coordinator transactions abort transfer-7" in texts["held"]
    assert "Waiting" in texts["waiting"] and "slow-1" in texts["waiting"]
    assert "web-4" in texts["group"]
    assert all(max(each["colours"]) > 5 for each in seen if each["screen"] in {"group", "newer"}), (
        "the ribbon is not drawn"
    )
    assert (shots / "group-light-wide.png").stat().st_size > 20_000


async def test_a_person_finds_a_group_reads_it_removes_a_member_and_looks_back(tmp_path: Path) -> None:
    async with served(tmp_path, 120) as (console, opened):
        await lived(console, opened)
        answers = json.loads(await console.run("act.mjs", "shop", TOKEN))
    assert answers["complaints"] == []
    assert answers["rows_of_a_page"] == 50
    assert answers["most_members"].startswith("shop")
    assert answers["second_page"] == "Page 2 of 3"
    assert "without web-4" in answers["sentence"]
    assert answers["curl"].startswith("curl ") and "/api/group?id=shop" in answers["curl"]
    assert "token is wrong" in answers["wrong_token"]
    assert "was removed" in answers["removed"]
    assert "past" in answers["past"].lower()
    assert "3 members" in answers["past_sentence"] or "web-4" in answers["past_sentence"]
