"""Faults on purpose: which requests they meet, how often, and what the client sees."""

from __future__ import annotations

import asyncio
from importlib import import_module
from typing import Any

import pytest

from coordinator.core.effects import Ticket
from coordinator.server.api.error_responses import ERROR_RESPONSES
from coordinator.server.api.table import HANDLERS
from coordinator.server.server import StartupError
from coordinator.testing import AsyncCoordinator, Coordinator, CoordinatorTestingError, FaultNotFiredError
from coordinator.testing.request_log import KEPT, RequestLog
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.metadata import MetadataRequest
from protocol.schema import field_specs
from tests.support.group_member import GroupMember
from tests.support.wire import ConnectionEnded
from tests.testing.conftest import ORDERS, Connect

NONE = ErrorCode.NONE
ELEMENTS = {"string": "a", "int32": 1, "int64": 1}
VALUES = {"acks": -1, "name": "a"}


def request_of(key: int, version: int) -> Any:
    """A request of this version with one element in each of its arrays."""
    module = import_module(f"protocol.messages.{ApiKey(key).name.lower()}")
    return filled(next(value for name, value in vars(module).items() if name.endswith("Request")), version)


def filled(cls: type, version: int) -> Any:
    made = cls()
    for name, spec in field_specs(cls).items():
        element = spec.wire.element
        if spec.wire.name == "array" and spec.exists_in(version):
            value = filled(element, version) if isinstance(element, type) else ELEMENTS[element.name]
            setattr(made, name, [value])
        elif name in VALUES:
            setattr(made, name, VALUES[name])
    return made


async def test_a_fault_fires_as_often_as_it_was_asked_for(server: AsyncCoordinator, member: GroupMember) -> None:
    assert await member.heartbeat() is NONE  # from now on recognised by its bytes
    fault = await server.fail_next("Heartbeat", "REBALANCE_IN_PROGRESS", 2)
    codes = [await member.heartbeat() for _ in range(4)]
    assert codes == [ErrorCode.REBALANCE_IN_PROGRESS] * 2 + [NONE] * 2
    assert fault.fired == 2


async def test_a_failed_request_is_not_handled(server: AsyncCoordinator, member: GroupMember) -> None:
    assert await member.commit({(ORDERS, 0): 1}) is NONE
    await server.fail_next("OFFSET_COMMIT", "not_coordinator")
    assert await member.commit({(ORDERS, 0): 2}) is ErrorCode.NOT_COORDINATOR
    assert await server.committed("billing") == {(ORDERS, 0): 1}
    assert await member.commit({(ORDERS, 0): 2}) is NONE


async def test_a_fault_is_for_a_client_and_a_group(
    server: AsyncCoordinator, member: GroupMember, connect: Connect
) -> None:
    await server.fail_next("Heartbeat", "UNKNOWN_MEMBER_ID", client="web-1", group="bill*")
    other = GroupMember(await connect("web-2"), "shop", [ORDERS])
    assert await other.join() is NONE
    assert await other.sync({other.member_id: []}) is NONE
    assert await other.heartbeat() is NONE
    assert await member.heartbeat() is ErrorCode.UNKNOWN_MEMBER_ID


async def test_a_delayed_request_is_handled_later(server: AsyncCoordinator, member: GroupMember) -> None:
    await server.delay("OffsetCommit", 200)
    committing = asyncio.create_task(member.commit({(ORDERS, 0): 1}))
    await asyncio.sleep(0.05)
    assert await server.committed("billing") == {}
    assert await committing is NONE
    assert await server.committed("billing") == {(ORDERS, 0): 1}


async def test_a_lost_reply_is_done_and_not_answered(server: AsyncCoordinator, member: GroupMember) -> None:
    await server.lose_reply("OffsetCommit")
    with pytest.raises(ConnectionEnded):
        await member.commit({(ORDERS, 0): 1})
    assert await server.committed("billing") == {(ORDERS, 0): 1}


async def test_a_parked_heartbeat_is_answered_when_a_fault_for_it_comes(
    server: AsyncCoordinator, member: GroupMember
) -> None:
    fault = await server.fail_next("Heartbeat", "ILLEGAL_GENERATION", 0)
    for _ in range(3):
        assert await member.heartbeat() is ErrorCode.ILLEGAL_GENERATION
    await server.remove_fault(fault)
    assert await member.heartbeat() is NONE
    assert server.faults == []


async def test_faults_are_met_in_their_order(server: AsyncCoordinator, member: GroupMember) -> None:
    await server.fail_next("Heartbeat", "NOT_COORDINATOR")
    await server.fail_next("Heartbeat", "COORDINATOR_NOT_AVAILABLE")
    assert [await member.heartbeat() for _ in range(3)] == [
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        NONE,
    ]


def test_a_fault_that_never_fired_is_an_error_at_the_end() -> None:
    with (
        pytest.raises(FaultNotFiredError, match="no request came for: the next JOIN_GROUP of client web-9: answered"),
        Coordinator() as server,
    ):
        server.fail_next("JoinGroup", "NOT_COORDINATOR", client="web-9")


def test_a_port_in_use_is_named_with_the_way_out() -> None:
    with Coordinator() as first:
        port = first.bootstrap_servers.rpartition(":")[2]
        with pytest.raises(
            StartupError, match=f"port {port} on 127.0.0.1 is in use; stop the other process, or choose"
        ):
            Coordinator(listen=first.bootstrap_servers).start()


def test_another_error_is_not_hidden_by_a_fault_that_never_fired() -> None:
    with pytest.raises(ZeroDivisionError), Coordinator() as server:
        server.fail_next("JoinGroup", "NOT_COORDINATOR")
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("api", "error", "sentence"),
    [
        ("Heartbeet", "NOT_COORDINATOR", "there is no API 'Heartbeet'; for example JoinGroup"),
        ("Heartbeat", "UNKNOWN_MEMBER", "there is no error 'UNKNOWN_MEMBER'; similar: UNKNOWN_MEMBER_ID"),
        ("DescribeConfigs", "NOT_CONTROLLER", "DESCRIBE_CONFIGS cannot be failed; these can: ADD_OFFSETS_TO_TXN, "),
    ],
)
async def test_mistakes(server: AsyncCoordinator, api: str, error: str, sentence: str) -> None:
    with pytest.raises(CoordinatorTestingError, match=sentence):
        await server.fail_next(api, error)


async def test_a_server_has_a_limit_of_faults(server: AsyncCoordinator) -> None:
    faults = [await server.fail_next("JoinGroup", "NOT_COORDINATOR") for _ in range(1000)]
    with pytest.raises(CoordinatorTestingError, match="1000 faults are still to come already; remove some first"):
        await server.fail_next("JoinGroup", "NOT_COORDINATOR")
    for fault in faults:
        await server.remove_fault(fault)


async def test_a_server_has_a_limit_of_groups_that_are_moved(server: AsyncCoordinator) -> None:
    for number in range(1000):
        await server.move_coordinator(f"g{number}")
    with pytest.raises(CoordinatorTestingError, match="1000 groups are at the other node already"):
        await server.move_coordinator("one more")
    assert await server.move_coordinator("g0") == 1, "it is back"
    assert await server.move_coordinator("one more") == 2


def test_a_server_remembers_as_many_requests_as_its_report_shows_and_one_more_replaces_the_oldest() -> None:
    log = RequestLog()
    for number in range(KEPT + 1):
        ticket = Ticket(api_key=int(ApiKey.METADATA), client_id=f"c{number}")
        log.observe(lambda *_: None, None, MetadataRequest(), ticket, 0)
        lines = log.lines()
        assert len(lines) == min(number + 1, KEPT)
        assert " c0 " in lines[0] if number < KEPT else " c1 " in lines[0]


@pytest.mark.parametrize("key", sorted(ERROR_RESPONSES))
def test_every_error_response_can_be_encoded_in_every_version(key: int) -> None:
    """A request of each version, with one element in each array, gets an answer that carries the error."""
    api = HANDLERS[key]
    for version in range(api.min_version, api.max_version + 1):
        request = request_of(key, version)
        response = ERROR_RESPONSES[key](request, ErrorCode.NOT_COORDINATOR)
        shaped = response if api.shape is None else api.shape(response, version)
        data = codec.response_encoder(key, version)(shaped)
        assert int(ErrorCode.NOT_COORDINATOR).to_bytes(2, "big") in data, (ApiKey(key).name, version)
