"""Big groups and many groups, with raw members: enough to see whether anything grows that should not."""

from __future__ import annotations

import asyncio

import pytest

from protocol.error_codes import ErrorCode
from tests.support.daemon import Daemon
from tests.support.group_member import GroupMember
from tests.support.questions import committed_offsets, describe_group, list_groups
from tests.support.wire import Wire

pytestmark = pytest.mark.integration


async def rejoin_until_stable(member: GroupMember, partitions: int) -> None:
    """Join and sync as a client does, until no newer rebalance overtakes this one. The leader assigns in turn."""
    while True:
        assert await member.join() is ErrorCode.NONE
        dealt: dict[str, list[tuple[str, int]]] = {}
        for index in range(partitions if member.is_leader else 0):
            owner = member.members[index % len(member.members)]
            dealt.setdefault(owner, []).append((member.topics[0], index))
        code = await member.sync(dealt)
        if code is ErrorCode.NONE:
            return
        assert code is ErrorCode.REBALANCE_IN_PROGRESS


async def test_200_members_on_1000_partitions_form_one_stable_generation(daemon: Daemon) -> None:
    topic, partitions, size = "thousand", 1000, 200
    daemon.create_topic(topic, partitions)
    wires = await asyncio.gather(*(Wire.connect(daemon.port) for _ in range(size)))
    try:
        members = [GroupMember(wire, "big", [topic]) for wire in wires]

        async def live(member: GroupMember) -> None:
            """Join, and join again whenever a heartbeat says that the group rebalances."""
            await rejoin_until_stable(member, partitions)
            while await member.heartbeat() is not ErrorCode.NONE:
                await rejoin_until_stable(member, partitions)

        async def all_in_one_generation() -> None:
            """Late members start another rebalance after some have finished; all members check again until none
            does."""
            await asyncio.gather(*(live(member) for member in members))
            while len({member.generation for member in members}) > 1:
                await asyncio.gather(*(live(member) for member in members))

        await asyncio.wait_for(all_in_one_generation(), 60)
        for _ in range(3):  # and it stays so
            codes = await asyncio.gather(*(member.heartbeat() for member in members))
            assert set(codes) == {ErrorCode.NONE}

        assert [member.is_leader for member in members].count(True) == 1
        owned = [partition for member in members for partition in member.assignment]
        assert sorted(owned) == [(topic, index) for index in range(partitions)]
        assert {len(member.assignment) for member in members} == {partitions // size}
        view = describe_group(daemon.port, "big")
        assert view.state == "Stable"
        assert view.assignments == {member.member_id: member.assignment for member in members}
        commits = await asyncio.gather(
            *(member.commit({partition: partition[1] + 1 for partition in member.assignment}) for member in members)
        )
        assert set(commits) == {ErrorCode.NONE}
    finally:
        await asyncio.gather(*(wire.close() for wire in wires))
    assert committed_offsets(daemon.port, "big") == {(topic, index): index + 1 for index in range(partitions)}


async def test_2000_groups_of_one_member_live_side_by_side_and_survive_a_crash(daemon: Daemon) -> None:
    topic, groups, connections = "one", 2000, 50
    daemon.create_topic(topic, 1)
    wires = await asyncio.gather(*(Wire.connect(daemon.port) for _ in range(connections)))
    members = [GroupMember(wires[n % connections], f"small-{n}", [topic]) for n in range(groups)]

    async def live(of_one_connection: list[GroupMember]) -> None:
        for member in of_one_connection:
            assert await member.join() is ErrorCode.NONE
            assert await member.sync({member.member_id: [(topic, 0)]}) is ErrorCode.NONE
            assert member.assignment == {(topic, 0)}
            assert await member.commit({(topic, 0): int(member.group.partition("-")[2])}) is ErrorCode.NONE

    await asyncio.gather(*(live(members[n::connections]) for n in range(connections)))
    codes = await asyncio.gather(*(member.heartbeat() for member in members))
    assert set(codes) == {ErrorCode.NONE}
    states = list_groups(daemon.port)
    assert {states[member.group] for member in members} == {"Stable"}
    await asyncio.gather(*(wire.close() for wire in wires))

    daemon.restart()
    wires = await asyncio.gather(*(Wire.connect(daemon.port) for _ in range(connections)))
    for n, member in enumerate(members):
        member.wire = wires[n % connections]
    codes = await asyncio.gather(*(member.heartbeat() for member in members))
    assert set(codes) == {ErrorCode.NONE}, "every member is still known in its generation"
    for n in (0, 999, 1999):
        assert committed_offsets(daemon.port, f"small-{n}") == {(topic, 0): n}
    await asyncio.gather(*(wire.close() for wire in wires))
