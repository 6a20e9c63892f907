"""A node on a shared store answers nothing that may be old: its lease is checked at each read, timer and reply."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from coordinator.core.effects import Effects, Reply
from coordinator.server.status import status_of
from coordinator.storage.log_store import LogStoreError
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from tests.support.edge import Edge, Peer

NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
FETCH = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])


class Lease:
    """The lease of an edge, ended by hand."""

    def __init__(self) -> None:
        self.is_held = True
        self.failed: list[int] = []  # partitions that could not be loaded again
        self.edge: Edge

    def holds(self) -> bool:
        return self.is_held

    def load_failed(self, partition: int) -> None:
        self.failed.append(partition)

    def check(self) -> None:
        if not self.is_held and not self.edge.runtime.core.is_suspended:
            self.edge.runtime.suspend()


class World:
    """An edge whose fetches are answered with success by a handler."""

    def __init__(self, directory: Path) -> None:
        self.lease = Lease()
        self.handled: list[Any] = []
        self.edge = Edge(
            {ApiKey.OFFSET_FETCH: self.fetch, ApiKey.HEARTBEAT: self.heartbeat},
            lease=self.lease,
            log_dirs=str(directory),
        )
        self.lease.edge = self.edge
        self.ends_while_handled = False

    def fetch(self, node: Any, request: Any, ticket: Any, now_ms: int) -> None:
        self.handled.append(request)
        if self.ends_while_handled:
            self.lease.is_held = False
        node.execute(Effects((Reply(ticket, OffsetFetchResponse(groups=[])),), ()), ticket)

    def heartbeat(self, node: Any, request: Any, ticket: Any, now_ms: int) -> None:
        node.execute(node.core.handle(request, ticket, now_ms), ticket)

    def peer(self) -> Peer:
        return self.edge.peer()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_request_that_is_read_after_the_end_of_the_lease_is_refused_by_the_core(world: World) -> None:
    peer = world.peer()
    world.lease.is_held = False
    peer.send(HeartbeatRequest(group_id="g", generation_id=1, member_id="m"), version=4)
    (answer,) = peer.answers
    assert isinstance(answer, HeartbeatResponse) and answer.error_code == NOT_AVAILABLE
    assert world.edge.runtime.core.is_suspended


def test_an_answer_found_while_the_lease_ended_is_not_sent(world: World) -> None:
    peer = world.peer()
    world.ends_while_handled = True
    peer.send(FETCH, version=8)
    world.edge.loop.run_ready()
    assert world.handled
    assert peer.answers == []
    assert peer.transport.is_closed
    assert world.edge.runtime.core.is_suspended


def test_no_deadline_passes_until_there_is_a_lease_again(world: World) -> None:
    runtime, loop = world.edge.runtime, world.edge.loop
    runtime.start_housekeeping()
    loop.advance(1.5)
    before_ms = runtime.now_ms()
    world.lease.is_held = False
    world.lease.check()
    loop.advance(100)
    assert runtime.now_ms() == before_ms
    world.lease.is_held = True
    runtime.resume()
    assert not runtime.core.is_suspended
    loop.advance(1)
    assert before_ms + 1_000 <= runtime.now_ms() <= before_ms + 1_250
    runtime.stop_timers()


def test_readyz_says_that_there_is_no_lease(world: World) -> None:
    def status() -> Any:
        return status_of(world.edge.runtime, None, ready=True, stopping=False, started_at=0.0)

    assert (status().ready, status().reason) == (True, "ready")
    world.lease.is_held = False
    world.lease.check()
    assert not status().ready
    assert "lease" in status().reason


class BrokenStore:
    """Snapshots whose loads fail when the test says so."""

    def __init__(self) -> None:
        self.loads: list[asyncio.Future[Any]] = []

    async def load(self, *_: Any, **__: Any) -> Any:
        self.loads.append(asyncio.get_running_loop().create_future())
        return await self.loads[-1]

    def remedy(self, partition: int) -> str:
        return "look at the store"


async def test_a_partition_that_cannot_be_loaded_again_is_given_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lease, store = Lease(), BrokenStore()
    runtime = Edge({}, lease=lease, log_dirs=str(tmp_path)).runtime
    runtime.snapshots = store  # type: ignore[assignment]
    loads = [asyncio.create_task(runtime._load(0, use_snapshot=False)) for _ in range(2)]
    await asyncio.sleep(0)
    store.loads[0].set_exception(LogStoreError("of a load that another one has replaced"))
    await loads[0]
    assert not lease.failed
    store.loads[1].set_exception(LogStoreError("the connection was lost"))
    await loads[1]
    assert lease.failed == [0]
    assert [each.getMessage() for each in caplog.records if "loading failed" in each.getMessage()] == [
        "loading failed partition=0 error=the connection was lost; its groups answer NOT_COORDINATOR; look at the store"
    ]
    assert not runtime._loads, "a later load is not taken for one that goes on"
