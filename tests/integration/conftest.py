"""Fixtures of the integration tests: a daemon per file, and a bystander who must never notice what a test does."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Iterator

import pytest

from protocol.error_codes import ErrorCode
from tests.support.daemon import Daemon
from tests.support.group_member import GroupMember, alone_in_group
from tests.support.wire import Wire


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon whose groups form at once, with the topic `plain` of four partitions."""
    overrides = ("group.initial.rebalance.delay.ms=0", "group.min.session.timeout.ms=1000")
    with Daemon(tmp_path_factory.mktemp("daemon"), overrides=overrides, topics=("plain:4",)) as running:
        yield running


@pytest.fixture
def group() -> str:
    """A group of the test's own."""
    return f"group-{uuid.uuid4().hex[:8]}"


@pytest.fixture
async def wire(daemon: Daemon) -> AsyncIterator[Wire]:
    async with await Wire.connect(daemon.port) as connected:
        yield connected


@pytest.fixture
async def bystander(daemon: Daemon) -> AsyncIterator[GroupMember]:
    """A member on a connection of its own, stable before the test and found stable and able to commit after it."""
    async with await Wire.connect(daemon.port) as connected:
        member = await alone_in_group(connected, f"bystander-{uuid.uuid4().hex[:8]}", "plain", 4)
        yield member
        assert await member.heartbeat() is ErrorCode.NONE
        assert await member.commit({("plain", 0): 1}) is ErrorCode.NONE
