"""The console's answers from real daemons: one process, workers, and one that loads its groups."""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.console.test_in_browser import Group
from tests.support.daemon import Daemon
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

OVERRIDES = ("group.initial.rebalance.delay.ms=0",)
SECRETS = {"COORDINATOR_HTTP_ADMIN_TOKEN": "s3cret"}


class Asked:
    """A daemon with a console, and questions to it."""

    def __init__(self, directory: Path, *arguments: str) -> None:
        self._port_file = directory / "http"
        words = ("--http-port-file", str(self._port_file), *arguments)
        self.daemon = Daemon(
            directory,
            overrides=OVERRIDES,
            topics=("orders:12",),
            arguments=words,
            environment=SECRETS,
            http="127.0.0.1:0",
        )

    def get(self, path: str, **query: Any) -> Any:
        return self._ask(urllib.request.Request(f"{self._base}/api/{path}?{urllib.parse.urlencode(query)}"))

    def kick(self, group: str, member_id: str) -> Any:
        body = msgspec.json.encode({"group": group, "member_id": member_id})
        headers = {"Authorization": "Bearer s3cret"}
        return self._ask(urllib.request.Request(f"{self._base}/api/kick", body, headers, method="POST"))

    @property
    def _base(self) -> str:
        return f"http://127.0.0.1:{self._port_file.read_text().strip()}"

    def _ask(self, request: urllib.request.Request) -> Any:
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return msgspec.json.decode(answer.read())
        except urllib.error.HTTPError as refused:
            with refused:
                return msgspec.json.decode(refused.read())


async def test_the_groups_of_all_workers_are_shown_and_their_members_removed(tmp_path: Path) -> None:
    asked = Asked(tmp_path, "--workers", "2")
    with asked.daemon as daemon:
        assert len(asked.get("cluster")["nodes"]) == 2
        ports = [int(node.rpartition(":")[2]) for node in asked.get("cluster")["nodes"]]
        async with AsyncExitStack() as opened:
            groups = [Group(port, name, opened) for name, port in _coordinators(daemon, ports).items()]
            for group in groups:
                await group.add("web-1", "web-2")
                await group.commit(3)
            eventually(lambda: asked.get("groups")["total"] == 2, "both groups are listed")
            for group in groups:
                page = asked.get("group", id=group.name)
                assert page["story"]["state"]["member_count"] == 2
                assert [member["client_id"] for member in page["ribbon"]["members"]] == ["web-1", "web-2"]
                assert {each["committed"] for each in page["lag"]["partitions"]} == {3}
                gone = group.members[1].member_id
                assert asked.kick(group.name, gone) == {"group": group.name, "member_id": gone}
                assert "no such member" in asked.kick(group.name, gone)["error"]
                eventually(
                    lambda name=group.name: asked.get("group", id=name)["story"]["state"]["member_count"] == 1,
                    "the member is gone",
                )


def _coordinators(daemon: Daemon, ports: list[int]) -> dict[str, int]:
    """Return a group for each node that coordinates one, with its port."""
    from protocol.messages.find_coordinator import FindCoordinatorRequest
    from tests.support.wire import call

    found: dict[int, str] = {}
    for number in range(50):
        answer = call(daemon.port, FindCoordinatorRequest(key=f"group-{number}"), 3)
        found.setdefault(answer.port, f"group-{number}")
    assert sorted(found) == sorted(ports)
    return {name: port for port, name in found.items()}


async def test_the_owners_before_a_restart_are_those_of_the_record(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    with asked.daemon as daemon:
        async with AsyncExitStack() as opened:
            shop = Group(daemon.port, "shop", opened)
            await shop.add("web-1", "web-2")
            before = asked.get("group", id="shop")["ribbon"]
            daemon.kill()
            daemon.start()
            eventually(lambda: "ribbon" in asked.get("group", id="shop"), "the group is loaded")
            page = asked.get("group", id="shop")
            after = page["ribbon"]
            assert [row["spans"][-1][2] for row in after["rows"]] == [row["spans"][-1][2] for row in before["rows"]]
            assert after["known_from_ms"] == page["story"]["state"]["since_ms"] <= before["until_ms"]


def test_a_group_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    asked = Asked(tmp_path)
    with asked.daemon:
        assert "no group of this name" in asked.get("group", id="nothing")["error"]
        assert asked.get("groups")["groups"] == []
        past = asked.get("group", id="nothing", at=1_700_000_000_000)
        assert "nothing is known" in past["error"]
