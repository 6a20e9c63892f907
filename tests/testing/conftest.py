"""Fixtures: a server in this process, connections to it, and members made of raw requests."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from coordinator.testing import AsyncCoordinator, Coordinator
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.wire import Wire

Connect = Callable[..., Awaitable[Wire]]
ORDERS = "orders"


@pytest.fixture
async def server() -> AsyncIterator[AsyncCoordinator]:
    """A server with the topic orders of two partitions. Faults of a test that never fired fail it."""
    async with Coordinator(topics={ORDERS: 2}) as running:
        yield running


def port_of(server: AsyncCoordinator) -> int:
    return int(server.bootstrap_servers.rpartition(":")[2])


@pytest.fixture
async def connect(server: AsyncCoordinator) -> AsyncIterator[Connect]:
    """Return a function that opens a connection with a client id."""
    async with AsyncExitStack() as stack:

        async def open_one(client_id: str = "web-1") -> Wire:
            return await stack.enter_async_context(await Wire.connect(port_of(server), client_id=client_id))

        yield open_one


@pytest.fixture
async def member(connect: Connect) -> GroupMember:
    """A member with the client id web-1, alone in the group billing."""
    return await alone_in_group(await connect(), "billing", ORDERS, 2)
