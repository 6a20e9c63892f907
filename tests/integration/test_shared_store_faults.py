"""Rows of docs/high-availability-faults.md beside those that `tests.ha.run` plays, with real daemons and PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from tests.ha.asking import (
    GROUPS,
    NONE,
    commit,
    commit_where_it_is_led,
    coordinators,
    fetch_where_it_is_led,
    fetched,
    spread,
)
from tests.ha.engines import Postgres
from tests.ha.nodes import EngineNodes
from tests.ha.proxy import Way
from tests.support.eventually import eventually_async

pytestmark = pytest.mark.integration

LONGEST_S = 180  # of one case, on a busy machine
LEASE_S = 3.0
DISK_BYTES = 400 << 20
NOT_AVAILABLE, NOT_COORDINATOR = ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR
LOST = "THE DATABASE HAS LOST ACKNOWLEDGED COMMITS"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Postgres]:
    running = Postgres(tmp_path, disk_bytes=DISK_BYTES)
    running.start()
    yield running
    running.stop()


async def test_a_node_that_its_clients_cannot_reach_keeps_its_partitions(engine: Postgres, tmp_path: Path) -> None:
    """Other nodes cannot reach it either, and leave it alone, since they see each other through the database."""
    async with asyncio.timeout(LONGEST_S), EngineNodes(tmp_path / "nodes", engine, 2, fronts=True) as nodes:
        owners = await spread(nodes, 1, {1, 2})
        front = nodes.nodes[1].front
        assert front is not None
        for way in (Way.REFUSING, Way.SILENT):
            front.break_off(way)
            await asyncio.sleep(LEASE_S * 1.5)
            assert await coordinators(nodes, 2) == owners
            front.heal()
        for partition, owner in owners.items():
            assert await commit(nodes, owner, partition, 7) is NONE
        logs = "".join(nodes.nodes[number].daemon.log_text() for number in nodes.first)
        assert "declared dead" not in logs and "given up" not in logs
        assert not nodes.complaints()


async def test_a_full_disk_of_the_database_costs_no_commit(engine: Postgres, tmp_path: Path) -> None:
    """Commits are refused, so that clients try again. Those that were acknowledged are there when there is room."""
    async with asyncio.timeout(LONGEST_S), EngineNodes(tmp_path / "nodes", engine, 2) as nodes:
        owners = await spread(nodes, 1, {1, 2})
        for partition, owner in owners.items():
            assert await commit(nodes, owner, partition, 100) is NONE
        filled = asyncio.create_task(asyncio.to_thread(engine.fill_disk, 8.0))
        acknowledged = dict.fromkeys(owners, 100)
        refused: set[ErrorCode] = set()
        for offset in range(101, 100_000):
            for partition, owner in owners.items():
                error = await commit(nodes, owner, partition, offset)
                if error is NONE:
                    acknowledged[partition] = offset
                elif error is not None:
                    refused.add(error)
            if filled.done():
                break
        await filled
        assert refused and refused <= {NOT_AVAILABLE, NOT_COORDINATOR}
        for partition, offset in acknowledged.items():
            assert await fetch_where_it_is_led(nodes, 1, partition) >= offset
            assert await commit_where_it_is_led(nodes, 1, partition, 200_000) in (1, 2)
        assert not nodes.complaints()


async def test_lost_rows_are_told_and_other_partitions_go_on(engine: Postgres, tmp_path: Path) -> None:
    """A fail-over to a standby that lacked them is the same. A node notices when it connects again for an append."""
    async with asyncio.timeout(LONGEST_S), EngineNodes(tmp_path / "nodes", engine, 2) as nodes:
        owners = await spread(nodes, 1, {1, 2})
        for offset in (100, 101):
            for partition, owner in owners.items():
                assert await commit(nodes, owner, partition, offset) is NONE
        engine.lose_last_batch(0)
        assert await commit(nodes, owners[0], 0, 102) in (NOT_COORDINATOR, NOT_AVAILABLE)
        daemon = nodes.nodes[owners[0]].daemon
        await eventually_async(lambda: f"partition=0: {LOST}" in daemon.log_text(), "the loss is told", within_s=20)
        assert await fetch_where_it_is_led(nodes, 1, 0) == 100
        for partition in (each for each in GROUPS if each != 0):
            assert await fetch_where_it_is_led(nodes, 1, partition) == 101
            assert await commit_where_it_is_led(nodes, 1, partition, 102) == owners[partition]
        assert await commit_where_it_is_led(nodes, 1, 0, 103) in (1, 2)
        assert (await fetched(nodes, owners[1], 1))[0] is NONE
        assert "".join(nodes.nodes[number].daemon.log_text() for number in nodes.first).count(LOST) == 1
