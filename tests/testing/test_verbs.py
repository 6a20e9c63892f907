"""The verbs, each seen by a member made of raw requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from coordinator.testing import (
    AsyncCoordinator,
    CoordinatorTestingError,
    GroupLoadingError,
    NotInTimeError,
    UnknownGroupError,
    UnknownMemberError,
)
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest
from protocol.messages.offset_delete import OffsetDeleteRequest
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.wire import Wire
from tests.testing.conftest import ORDERS, Connect, port_of

NONE = ErrorCode.NONE
ALL = {(ORDERS, 0), (ORDERS, 1)}


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(10):
        while not await condition():
            pass


async def test_a_group_is_described(server: AsyncCoordinator, member: GroupMember) -> None:
    found = await server.wait_stable("billing", members=1)
    assert (found.group, found.state, found.generation) == ("billing", "Stable", 1)
    (only,) = found.members
    assert (only.member_id, only.client_id, only.instance_id) == (member.member_id, "web-1", None)
    assert only.partitions == ALL
    assert await server.groups() == ["billing"]
    assert await server.describe("billing") == found
    assert "web-1" in await server.explain("billing")


async def test_records_are_produced_and_commits_read(server: AsyncCoordinator, member: GroupMember) -> None:
    assert await server.produce(ORDERS, ["a", b"b", None], partition=1, key="k") == 0
    assert await server.produce(ORDERS, ["c"], partition=1) == 3
    assert await server.committed("billing") == {}
    assert await member.commit({(ORDERS, 1): 4}) is NONE
    assert await server.committed("billing") == {(ORDERS, 1): 4}
    assert await server.wait_committed("billing", ORDERS, 4) == {(ORDERS, 1): 4}
    assert await server.wait_committed("billing", ORDERS, 4, partition=1) == {(ORDERS, 1): 4}


async def test_topics_are_created_once(server: AsyncCoordinator) -> None:
    await server.create_topics({"payments": 3, ORDERS: 2})
    await server.create_topics({"payments": 3})
    assert await server.produce("payments", ["a"], partition=2) == 0
    with pytest.raises(CoordinatorTestingError, match="topic 'payments' cannot be created: TOPIC_ALREADY_EXISTS"):
        await server.create_topics({"payments": 4})


async def test_a_forced_rebalance(server: AsyncCoordinator, member: GroupMember) -> None:
    await server.rebalance("billing", reason="to see it")
    assert await member.heartbeat() is ErrorCode.REBALANCE_IN_PROGRESS
    assert await member.join() is NONE
    assert member.generation == 2
    assert await member.sync({member.member_id: ALL}) is NONE
    assert "because it was asked for" in await server.explain("billing")


async def test_a_kicked_member(server: AsyncCoordinator, member: GroupMember) -> None:
    await server.kick("web-1")
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert (await server.describe("billing")).members == ()


async def test_an_expired_member(server: AsyncCoordinator, member: GroupMember) -> None:
    await server.expire(member.member_id, group="billing")
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert "fell silent" in await server.explain("billing")


async def test_a_member_that_waits_for_the_others_cannot_expire(
    server: AsyncCoordinator, member: GroupMember, connect: Connect
) -> None:
    second = GroupMember(await connect("web-2"), "billing", [ORDERS])
    joining = asyncio.create_task(second.join())
    await member.notices_a_rebalance()
    assert await member.join() is NONE
    assert await joining is NONE
    await server.rebalance("billing")
    joining = asyncio.create_task(member.join())
    requests = len(server.requests())
    await until(lambda: asyncio.sleep(0, len(server.requests()) > requests))
    with pytest.raises(CoordinatorTestingError, match="'web-1' has no session to end: it has asked to join"):
        await server.expire("web-1")
    assert await second.join() is NONE
    assert await joining is NONE


async def test_a_fenced_static_member(server: AsyncCoordinator, connect: Connect) -> None:
    static = GroupMember(await connect(), "billing", [ORDERS], instance_id="i-1")
    assert await static.join() is NONE
    assert await static.sync({static.member_id: ALL}) is NONE
    await server.fence("i-1")
    assert await static.heartbeat() is ErrorCode.FENCED_INSTANCE_ID
    (now,) = (await server.describe("billing")).members
    assert (now.instance_id, now.partitions) == ("i-1", ALL)


async def test_a_dynamic_member_cannot_be_fenced(server: AsyncCoordinator, member: GroupMember) -> None:
    with pytest.raises(UnknownMemberError, match=r"'web-1' is a dynamic member of 'billing'.*group\.instance\.id"):
        await server.fence("web-1")


async def test_a_dropped_connection(server: AsyncCoordinator, member: GroupMember) -> None:
    assert await server.drop_connection("web-*") == 1
    assert await member.wire.ends()
    with pytest.raises(CoordinatorTestingError, match="no client 'web-\\*' is connected"):
        await server.drop_connection("web-*")


async def test_a_group_that_is_loading(server: AsyncCoordinator, member: GroupMember) -> None:
    assert await member.commit({(ORDERS, 0): 1}) is NONE
    await server.loading("billing", 0.2)
    assert await member.commit({(ORDERS, 0): 1}) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    with pytest.raises(GroupLoadingError, match="offsets of 'billing' cannot be read: COORDINATOR_LOAD_IN_PROGRESS"):
        await server.committed("billing")
    with pytest.raises(CoordinatorTestingError, match="group 'billing' is being loaded already"):
        await server.loading("billing", 0.2)
    assert await server.wait_committed("billing", ORDERS, 1) == {(ORDERS, 0): 1}
    assert await member.commit({(ORDERS, 0): 2}) is NONE
    assert (await server.describe("billing")).generation == 1


@pytest.mark.parametrize("verb", ["restart", "crash"])
async def test_a_server_that_comes_back_has_all_that_it_had(
    server: AsyncCoordinator, member: GroupMember, verb: str
) -> None:
    address = server.bootstrap_servers
    await server.produce(ORDERS, ["a"])
    assert await member.commit({(ORDERS, 0): 1}) is NONE
    await getattr(server, verb)()
    assert await member.wire.ends()
    assert server.bootstrap_servers == address
    member.wire = await Wire.connect(port_of(server))
    assert await member.heartbeat() is NONE
    assert await server.committed("billing") == {(ORDERS, 0): 1}
    assert await server.produce(ORDERS, ["b"]) == 1
    await member.wire.close()


async def test_a_coordinator_that_moves(server: AsyncCoordinator, member: GroupMember) -> None:
    wire = member.wire
    wires = []
    for node, is_second in ((2, True), (1, False)):
        assert await server.move_coordinator("billing") == node
        assert await member.heartbeat() is ErrorCode.NOT_COORDINATOR
        assert await member.commit({(ORDERS, 0): 1}) is ErrorCode.NOT_COORDINATOR
        deleted = await member.wire.request(OffsetDeleteRequest(group_id="billing", topics=[]), 0)
        assert deleted.error_code == ErrorCode.NOT_COORDINATOR
        (found,) = (await wire.request(FindCoordinatorRequest(coordinator_keys=["billing"]), 4)).coordinators
        nodes = {each.node_id: each.port for each in (await wire.request(MetadataRequest(topics=[]), 9)).brokers}
        assert (found.node_id, found.port) == (node, nodes[node])
        assert (found.port != port_of(server)) is is_second
        member.wire = await Wire.connect(found.port, client_id="web-1")
        wires.append(member.wire)
        assert await member.heartbeat() is NONE
    for each in wires:
        await each.close()


async def test_each_node_of_a_coordinator_that_moves_knows_its_id(
    server: AsyncCoordinator, member: GroupMember
) -> None:
    await server.move_coordinator("billing")
    metadata = await member.wire.request(MetadataRequest(topics=[]), 9)
    for broker in metadata.brokers:
        async with await Wire.connect(broker.port) as wire:
            for node_id in (1, 2):
                request = ApiVersionsRequest("client", "1", metadata.cluster_id, node_id)
                error = NONE if node_id == broker.node_id else ErrorCode.REBOOTSTRAP_REQUIRED
                assert (await wire.request(request, 5)).error_code == error


async def test_time_that_is_skipped(server: AsyncCoordinator, member: GroupMember) -> None:
    await server.advance(29)
    assert await member.heartbeat() is NONE
    await server.advance(29)
    assert await member.heartbeat() is NONE
    await server.advance(30)
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


async def test_skipped_time_expires_offsets(server: AsyncCoordinator, member: GroupMember) -> None:
    assert await member.commit({(ORDERS, 0): 1}) is NONE
    assert await member.leave() is NONE
    await server.advance(8 * 24 * 3600)

    async def is_gone() -> bool:
        return not await server.committed("billing")

    await until(is_gone)


@pytest.mark.parametrize("seconds", [-1, float("nan"), float("inf"), 1e12])
async def test_time_does_not_go_anywhere(server: AsyncCoordinator, seconds: float) -> None:
    with pytest.raises(CoordinatorTestingError, match="time goes forward by 0 to 2678400 s at a time, not by"):
        await server.advance(seconds)


async def test_a_server_that_stands_still(server: AsyncCoordinator, member: GroupMember) -> None:
    started = asyncio.get_running_loop().time()
    await server.pause(0.3)
    assert await member.heartbeat() is NONE
    assert asyncio.get_running_loop().time() - started >= 0.3


async def test_waits_that_end_without_success_say_what_was_seen(server: AsyncCoordinator, member: GroupMember) -> None:
    with pytest.raises(NotInTimeError, match="group 'billing' is Stable with 2 members; it is Stable with 1 member"):
        await server.wait_stable("billing", members=2, timeout=0.05)
    with pytest.raises(NotInTimeError, match=r"group 'shop' is Stable; there is no group 'shop'.*there are: billing"):
        await server.wait_stable("shop", timeout=0.05)
    with pytest.raises(NotInTimeError, match="group 'billing' has committed 3 in orders-1; it has none"):
        await server.wait_committed("billing", ORDERS, 3, partition=1, timeout=0.05)


async def test_a_wait_that_blocks_an_event_loop_says_so(server: AsyncCoordinator) -> None:
    with pytest.raises(NotInTimeError) as found:
        server.blocking.wait_stable("billing", timeout=0.01)
    assert "stood still meanwhile. Await the verbs of the fixture `async_coordinator`" in found.value.__notes__[0]
    with pytest.raises(NotInTimeError) as found:
        await asyncio.to_thread(server.blocking.wait_stable, "billing", timeout=0.01)
    assert not hasattr(found.value, "__notes__")


async def test_groups_and_members_that_are_not_there(
    server: AsyncCoordinator, member: GroupMember, connect: Connect
) -> None:
    with pytest.raises(UnknownGroupError, match="there is no group 'shop' with members; there are: billing"):
        await server.rebalance("shop")
    with pytest.raises(UnknownMemberError, match="client id 'web-9'; client ids of members: web-1"):
        await server.kick("web-9")
    await alone_in_group(await connect("web-1"), "shop", ORDERS)
    with pytest.raises(UnknownMemberError, match="2 members are called 'web-1'; give a member id: web-1-"):
        await server.kick("web-1")
    await server.kick("web-1", group="shop")
    with pytest.raises(
        CoordinatorTestingError, match=r"there is no topic 'paymens'; there are: orders\. create_topics"
    ):
        await server.produce("paymens", ["a"])
    with pytest.raises(CoordinatorTestingError, match="orders-7 takes no records: UNKNOWN_TOPIC_OR_PARTITION"):
        await server.produce(ORDERS, ["a"], partition=7)
