"""Transactions of nodes whose coordinators' logs are in a real PostgreSQL: any node goes on with what another began."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import KafkaException

from coordinator.core.shard import partition_for
from tests.ha.asking import PARTITIONS
from tests.ha.engines import Postgres
from tests.ha.nodes import EngineNodes
from tests.ha.transactions import (
    LOG_PARTITIONS,
    OUT,
    OUT_PARTITIONS,
    SETTINGS,
    address_of,
    commit_what_a_killed_coordinator_began,
    coordinated_by,
    id_of,
    led_by,
    settled,
    settled_at,
    state,
    write,
)
from tests.support.eventually import eventually_answered
from tests.support.transactional import LIMIT_S, read, transactional_producer

pytestmark = pytest.mark.integration

LONGEST_S = 240  # of one case, on a busy machine
SMALL = ("offsets.snapshot.tail.bytes=4000", "offsets.snapshot.min.bytes=1000", "ha.log.keep.ms=0")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    running = Postgres(tmp_path_factory.mktemp("engine"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
async def nodes(engine: Postgres, tmp_path: Path) -> AsyncIterator[EngineNodes]:
    engine.new_database()
    async with EngineNodes(tmp_path, engine, 3, f"{OUT}:{OUT_PARTITIONS}", SETTINGS) as running:
        await settled(running)
        yield running


async def test_another_node_commits_what_a_killed_coordinator_began(nodes: EngineNodes) -> None:
    async with asyncio.timeout(LONGEST_S):
        await commit_what_a_killed_coordinator_began(nodes)


async def test_markers_are_written_by_the_next_coordinator(nodes: EngineNodes) -> None:
    transactional_id, address = id_of(1), address_of(nodes, 3)
    async with asyncio.timeout(LONGEST_S):
        producer = await asyncio.to_thread(transactional_producer, address, transactional_id)
        producer.begin_transaction()
        await asyncio.to_thread(write, producer, "kept", 2, 3)
        nodes.nodes[2].kill()
        await asyncio.to_thread(producer.commit_transaction, LIMIT_S)  # it is decided, although a marker is missing
        assert await state(nodes, 1, transactional_id) == "PrepareCommit"
        nodes.nodes[1].kill()
        await settled_at(nodes, transactional_id, "PrepareCommit", {3})
        await nodes.nodes[2].start()
        await settled_at(nodes, transactional_id, "CompleteCommit", {2, 3})
        for leader in (2, 3):
            assert await asyncio.to_thread(read, address_of(nodes, 2, 3), OUT, led_by(leader)) == ["kept"]
    assert not nodes.complaints()


async def test_a_coordinator_that_was_frozen_is_fenced(nodes: EngineNodes) -> None:
    """It thaws while it still believes that the transaction is open, and another node has aborted it."""
    transactional_id, address = id_of(1), address_of(nodes, 2, 3)
    async with asyncio.timeout(LONGEST_S):
        zombie = await asyncio.to_thread(transactional_producer, address, transactional_id)
        zombie.begin_transaction()
        await asyncio.to_thread(write, zombie, "of the zombie", 2, 3)
        nodes.nodes[1].freeze()
        await settled_at(nodes, transactional_id, "Ongoing", {2, 3})
        commit = asyncio.create_task(asyncio.to_thread(zombie.commit_transaction, LIMIT_S))
        successor = await asyncio.to_thread(transactional_producer, address, transactional_id)
        nodes.nodes[1].thaw()
        successor.begin_transaction()
        await asyncio.to_thread(write, successor, "of the successor", 2, 3)
        await asyncio.to_thread(successor.commit_transaction, LIMIT_S)
        try:
            await commit
            expected = ["of the zombie", "of the successor"]  # it was faster than the successor
        except KafkaException:
            expected = ["of the successor"]
        for leader in (2, 3):
            assert await asyncio.to_thread(read, address, OUT, led_by(leader)) == expected
        await coordinated_by(nodes, 1, transactional_id, asked=2)
        await settled_at(nodes, transactional_id, "CompleteCommit", {1})
    assert not nodes.complaints()


async def test_a_stop_hands_transactions_over(nodes: EngineNodes) -> None:
    transactional_id, address = id_of(1), address_of(nodes, 2, 3)
    async with asyncio.timeout(LONGEST_S):
        producer = await asyncio.to_thread(transactional_producer, address, transactional_id)
        producer.begin_transaction()
        await asyncio.to_thread(write, producer, "kept", 2, 3)
        assert await nodes.nodes[1].terminate() == 0
        await asyncio.to_thread(producer.commit_transaction, LIMIT_S)
        assert await asyncio.to_thread(read, address, OUT, led_by(2)) == ["kept"]
        log = nodes.nodes[1].daemon.log_text()
        assert "partition handed over" in log and "given up" not in log
    assert not nodes.complaints()


async def test_snapshots_replace_the_log_of_transactions(engine: Postgres, tmp_path: Path) -> None:
    engine.new_database()
    topic = f"{OUT}:{OUT_PARTITIONS}"
    async with asyncio.timeout(LONGEST_S), EngineNodes(tmp_path, engine, 1, topic, (*SETTINGS, *SMALL)) as nodes:
        daemon, address = nodes.nodes[1].daemon, address_of(nodes, 1)
        places = {partition_for(name, LOG_PARTITIONS): name for name in map("tx-{}".format, range(50))}
        assert len(places) == LOG_PARTITIONS
        partition, transactional_id = next(iter(places.items()))
        await coordinated_by(nodes, 1, transactional_id)
        producer = await asyncio.to_thread(transactional_producer, address, transactional_id)

        def one_more(value: int) -> None:
            producer.begin_transaction()
            write(producer, str(value), 1)
            producer.commit_transaction(LIMIT_S)

        made = f"snapshot partition={PARTITIONS + partition}"
        count = 0
        while made not in daemon.log_text():
            await asyncio.to_thread(one_more, count)
            count += 1
        producer.begin_transaction()
        await asyncio.to_thread(write, producer, "behind the snapshot", 1)
        nodes.nodes[1].kill()
        await nodes.nodes[1].start()
        await eventually_answered(
            partial(_is, nodes, transactional_id, "Ongoing"), "the open transaction is known", within_s=LIMIT_S
        )
        await asyncio.to_thread(producer.commit_transaction, LIMIT_S)
        seen = await asyncio.to_thread(read, address, OUT, led_by(1))
        assert seen == [*map(str, range(count)), "behind the snapshot"]
        assert "Traceback" not in daemon.log_text()


async def _is(nodes: EngineNodes, transactional_id: str, wanted: str) -> bool:
    return await state(nodes, 1, transactional_id) == wanted
