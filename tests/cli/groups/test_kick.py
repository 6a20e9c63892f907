"""`coordinator groups kick`, and several groups described at once, against a daemon with members."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse
from tests.cli.command_line import CommandLine, Said
from tests.cli.groups.test_describe import Cluster
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.questions import commit_offsets, describe_group, list_groups
from tests.support.wire import Wire

pytestmark = pytest.mark.integration

NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    overrides = ["group.initial.rebalance.delay.ms=0"]
    with Daemon(tmp_path_factory.mktemp("daemon"), topics=["orders:4"], overrides=overrides) as running:
        yield running


class Group:
    """A group with one member that a test can type commands at."""

    def __init__(self, name: str, member: GroupMember, command: CommandLine) -> None:
        self.name = name
        self.member = member
        self._command = command

    async def type(self, *words: str, code: int = 0) -> Said:
        return await asyncio.to_thread(self._command, "groups", *words, code=code)


@asynccontextmanager
async def group(
    daemon: Daemon, capsys: pytest.CaptureFixture[str], *, client: str = "web", instance: str | None = None
) -> AsyncIterator[Group]:
    """Run a group of one member that owns orders; it leaves at the end."""
    name = f"group-{next(NUMBERS)}"
    async with await Wire.connect(daemon.port, client_id=client) as wire:
        if instance is None:
            member = await alone_in_group(wire, name, "orders", 4)
        else:
            member = GroupMember(wire, name, ["orders"], instance_id=instance)
            assert await member.join() is ErrorCode.NONE
            assert await member.sync({member.member_id: [("orders", 0)]}) is ErrorCode.NONE
        yield Group(name, member, CommandLine(daemon.address, capsys))
        await member.leave()


async def test_member_is_removed_by_its_short_id_with_the_reason_in_the_log(
    daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    async with group(daemon, capsys) as shop:
        (row,) = (await shop.type("describe", shop.name, "--members", "--json")).json
        assert row["consumer_id"] == shop.member.member_id
        said = await shop.type("describe", shop.name, "--members")
        short = said.lines[1][1]
        assert short == f"{shop.member.member_id[: -len('-0000-0000-0000-000000000000')]}…"
        assert shop.member.member_id in (await shop.type("describe", shop.name, "--members", "--full")).out
        said = await shop.type("kick", shop.name, short, "--reason", "stuck since 14:05", "--json")
        assert said.json[0]["consumer_id"] == shop.member.member_id
        assert "joins again if its client still runs" in said.err
        assert await shop.member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
        assert describe_group(daemon.port, shop.name).state == "Empty"
        eventually(
            lambda: 'giving as its reason "member was removed by an admin: stuck since 14:05"' in daemon.log_text(),
            "the reason in the log",
        )


async def test_static_member_is_removed_by_its_instance_id_without_naming_the_group(
    daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    async with group(daemon, capsys, instance="web-7") as shop:
        said = await shop.type("kick", "web-7", "-o", "csv")
        assert said.out.splitlines()[1].startswith(f"{shop.name},{shop.member.member_id},web-7,")
        assert await shop.member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


async def test_word_that_fits_several_members_or_none_removes_none(
    daemon: Daemon, capsys: pytest.CaptureFixture[str]
) -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(group(daemon, capsys, client="twin")) for _ in range(2)]
        said = await one.type("kick", "twin-", code=1)
        for each in (one, two):
            assert f"{each.member.member_id} of {each.name}" in said.err
        assert "'twin-' fits 2 members: " in said.err and "give more of the id, or --group" in said.err
        said = await one.type("kick", "-g", one.name, two.member.member_id, code=1)
        assert f"group {one.name!r} has no member {two.member.member_id!r}" in said.err
        assert f"`coordinator groups describe {one.name} --members` lists them" in said.err
        said = await one.type("kick", "x", code=1)
        assert "no group has a member 'x'; `coordinator groups describe --all-groups --members` lists them" in said.err
        said = await one.type("kick", "nowhere", "x", code=1)
        assert "there is no group 'nowhere'" in said.err
        for each in (one, two):
            assert await each.member.heartbeat() is ErrorCode.NONE
        await one.type("kick", one.name, "twin-")
        assert await one.member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
        assert await two.member.heartbeat() is ErrorCode.NONE


async def test_several_groups_are_described_at_once(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    async with AsyncExitStack() as stack:
        one, two = [await stack.enter_async_context(group(daemon, capsys)) for _ in range(2)]
        commit_offsets(daemon.port, "without members", {("orders", 2): 0})
        said = await one.type("describe", one.name, "missing", "-g", two.name, "--json", code=1)
        assert [(row["group"], row["partition"]) for row in said.json] == [
            (each.name, number) for each in (one, two) for number in range(4)
        ]
        assert f"group {one.name!r}: Stable, 1 member, 4 partitions, total lag 0 (4 unknown)" in said.err
        assert "there is no group 'missing'" in said.err
        said = await one.type("describe", "--all-groups", "--state", "--verbose", "--json")
        states = {row["group"]: (row["state"], row["members"], row["protocol_type"]) for row in said.json}
        assert states.keys() == list_groups(daemon.port).keys()
        assert states[one.name] == states[two.name] == ("Stable", 1, "consumer")
        assert states["without members"] == ("Empty", 0, None)
        (row,) = (await one.type("describe", one.name, "--members", "--verbose", "--json")).json
        assert (row["subscription"], row["assignment"]) == (["orders"], {"orders": [0, 1, 2, 3]})
        (row,) = (await one.type("describe", "without members", "--verbose", "--json")).json
        assert (row["current_offset"], row["lag"], row["metadata"]) == (0, 0, None)
        said = await one.type("describe", code=2)
        assert said.err == "coordinator: name a GROUP or several, or take every group with --all-groups\n"
        await one.type("describe", one.name, "--all-groups", code=2)


@pytest.mark.parametrize("newest", [2, 5])
def test_member_that_has_left_meanwhile_is_reported(capsys: pytest.CaptureFixture[str], newest: int) -> None:
    cluster = Cluster()

    def leave(request: LeaveGroupRequest, version: int) -> LeaveGroupResponse:
        if version < 3:  # one member, and its error at the top
            assert request.member_id == "b-2"
            return LeaveGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        (identity,) = request.members
        assert (identity.member_id, identity.reason) == ("b-2", "member was removed by an admin")
        return LeaveGroupResponse(members=[MemberResponse("b-2", None, ErrorCode.UNKNOWN_MEMBER_ID)])

    with cluster.nodes[0], cluster.nodes[1]:
        cluster.nodes[1].script[LeaveGroupRequest] = leave
        cluster.nodes[1].versions[ApiKey.LEAVE_GROUP] = (0, newest)
        assert cluster.run("kick", "shop", "b-2") == 1
    err = capsys.readouterr().err
    assert err.startswith("coordinator: member 'b-2' was not removed: UNKNOWN_MEMBER_ID: ")
    assert "Probably it has left, or joined again under another id" in err
