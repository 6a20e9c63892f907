"""Real daemons on a real PostgreSQL: partitions move when a node is killed, frozen, cut off, stopped or drained."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from tests.ha.asking import (
    GROUPS,
    ask,
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
NONE = ErrorCode.NONE
NOT_AVAILABLE = ErrorCode.COORDINATOR_NOT_AVAILABLE
NOT_COORDINATOR = ErrorCode.NOT_COORDINATOR


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Postgres]:
    running = Postgres(tmp_path_factory.mktemp("engine"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def own_engine(tmp_path: Path) -> Iterator[Postgres]:
    """An engine that the test may change: a standby that a thread has started ends with that thread."""
    running = Postgres(tmp_path)
    running.start()
    yield running
    running.stop()


@pytest.fixture
async def nodes(engine: Postgres, tmp_path: Path) -> AsyncIterator[EngineNodes]:
    engine.new_database()
    async with EngineNodes(tmp_path, engine, 3) as running:
        yield running


async def test_what_a_killed_node_acknowledged_is_served_by_the_others(nodes: EngineNodes) -> None:
    async with asyncio.timeout(LONGEST_S):
        owners = await spread(nodes, 1, {1, 2, 3})
        for partition, owner in owners.items():
            assert await commit(nodes, owner, partition, 100 + partition) is NONE
            elsewhere = 1 + owner % 3
            assert await commit(nodes, elsewhere, partition, 1) is NOT_COORDINATOR
        nodes.nodes[1].kill()
        await spread(nodes, 2, {2, 3})
        for partition in GROUPS:
            assert await fetch_where_it_is_led(nodes, 2, partition) == 100 + partition
            assert await commit_where_it_is_led(nodes, 2, partition, 200) in (2, 3)
        await nodes.nodes[1].start()
        await spread(nodes, 3, {1, 2, 3})  # it gets its share again
    assert not nodes.complaints()


async def test_a_frozen_node_gives_up_when_it_thaws_and_never_answers_what_is_old(nodes: EngineNodes) -> None:
    async with asyncio.timeout(LONGEST_S):
        owners = await spread(nodes, 1, {1, 2, 3})
        partition = next(each for each, owner in owners.items() if owner == 1)
        assert await commit(nodes, 1, partition, 5) is NONE
        nodes.nodes[1].freeze()
        assert await commit_where_it_is_led(nodes, 2, partition, 6) in (2, 3)
        waiting = asyncio.create_task(fetched(nodes, 1, partition))  # is read when it thaws
        await asyncio.sleep(0.1)
        nodes.nodes[1].thaw()
        error, _ = await waiting
        assert error in (NOT_AVAILABLE, NOT_COORDINATOR)
        assert (await commit(nodes, 1, partition, 1)) in (NOT_AVAILABLE, NOT_COORDINATOR)
        await spread(nodes, 2, {1, 2, 3})
        assert await fetch_where_it_is_led(nodes, 2, partition) == 6
    assert not nodes.complaints()


@pytest.mark.parametrize("way", Way, ids=lambda way: way.name)
async def test_a_node_that_cannot_reach_the_engine_refuses_and_the_others_take_over(
    nodes: EngineNodes, way: Way
) -> None:
    async with asyncio.timeout(LONGEST_S):
        owners = await spread(nodes, 1, {1, 2, 3})
        partition = next(each for each, owner in owners.items() if owner == 1)
        assert await commit(nodes, 1, partition, 5) is NONE
        for proxy in nodes.nodes[1].proxies:
            proxy.break_off(way)
        late = asyncio.create_task(commit(nodes, 1, partition, 7))
        assert await commit_where_it_is_led(nodes, 2, partition, 6) in (2, 3)
        error, _ = await fetched(nodes, 1, partition)
        assert error in (NOT_AVAILABLE, NOT_COORDINATOR)
        assert await late in (NOT_AVAILABLE, NOT_COORDINATOR)
        for proxy in nodes.nodes[1].proxies:
            proxy.heal()
        await spread(nodes, 2, {1, 2, 3})
        assert await fetch_where_it_is_led(nodes, 2, partition) == 6
    assert not nodes.complaints()


async def test_a_stop_moves_the_partitions_before_the_node_is_gone(nodes: EngineNodes) -> None:
    async with asyncio.timeout(LONGEST_S):
        await spread(nodes, 1, {1, 2, 3})
        stopping = asyncio.create_task(nodes.nodes[1].terminate())
        done = {partition: await commit_where_it_is_led(nodes, 2, partition, 9) for partition in GROUPS}
        assert await stopping == 0
        assert set((await coordinators(nodes, 2)).values()) == {2, 3}
        assert {await fetch_where_it_is_led(nodes, 2, partition) for partition in done} == {9}
        log = nodes.nodes[1].daemon.log_text()
        assert "partition handed over" in log and "given up" not in log


async def cluster_command(engine: Postgres, *words: str) -> tuple[int, str]:
    """Run `coordinator cluster`; returns its exit code and all that it prints."""
    settings = ["cluster.id=ha", *engine.overrides(engine.targets, [])]
    options = [option for setting in settings for option in ("--override", setting)]
    config = ["--config", os.devnull]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "coordinator", "cluster", *words, *config, *options,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


async def test_a_node_is_drained_by_a_command_and_comes_back(engine: Postgres, nodes: EngineNodes) -> None:
    async with asyncio.timeout(LONGEST_S):
        await spread(nodes, 1, {1, 2, 3})
        code, said = await cluster_command(engine, "drain", "2")
        assert (code, said.splitlines()[-1]) == (0, "node 2 is empty: stop it now")
        assert set((await coordinators(nodes, 2)).values()) == {1, 3}
        code, said = await cluster_command(engine, "describe", "--output", "csv")
        states = [line.split(",")[2:5] for line in said.splitlines()[1:]]
        assert states[1] == ["draining", "0", "0"] and [state[0] for state in states] == ["up", "draining", "up"]
        code, said = await cluster_command(engine, "owners", "--output", "csv")
        assert {line.split(",")[2] for line in said.splitlines()[1:]} == {"1", "3"}
        assert (await cluster_command(engine, "drain", "2", "--undo"))[0] == 0
        await spread(nodes, 1, {1, 2, 3})
        code, said = await cluster_command(engine, "drain", "7")
        assert code == 1 and "node 7 is not there" in said


async def test_all_nodes_start_again_from_the_database_alone(
    engine: Postgres, nodes: EngineNodes, tmp_path: Path
) -> None:
    async with asyncio.timeout(LONGEST_S):
        for partition in GROUPS:
            await commit_where_it_is_led(nodes, 1, partition, 50 + partition)
        for number in nodes.first:
            nodes.nodes[number].kill()
        async with EngineNodes(tmp_path / "new", engine, 1) as others:
            assert {await fetch_where_it_is_led(others, 1, each) - each for each in GROUPS} == {50}


async def test_there_are_no_topics(nodes: EngineNodes) -> None:
    request = CreateTopicsRequest(topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)])
    answer = await ask(nodes, 1, request, 5)
    topic = answer.topics[0]  # type: ignore[union-attr, attr-defined]
    assert topic.error_code == ErrorCode.POLICY_VIOLATION
    assert "topics.storage" in topic.error_message


async def test_snapshots_replace_the_log_and_are_what_the_next_owner_reads(engine: Postgres, tmp_path: Path) -> None:
    engine.new_database()
    small = ("offsets.snapshot.tail.bytes=20000", "offsets.snapshot.min.bytes=1000", "ha.log.keep.ms=0")
    async with asyncio.timeout(LONGEST_S), EngineNodes(tmp_path, engine, 1, overrides=small) as nodes:
        daemon = nodes.nodes[1].daemon
        for number in range(500):
            assert await commit(nodes, 1, 0, number) is NONE
        await eventually_async(lambda: "snapshot partition=0" in daemon.log_text() or None, "a snapshot was made")
        assert await commit(nodes, 1, 0, 1000) is NONE
        nodes.nodes[1].kill()
        await nodes.nodes[1].start()
        assert await fetched(nodes, 1, 0) == (NONE, 1000)
        assert "Traceback" not in daemon.log_text()


async def test_a_lost_primary_costs_no_commit_and_moves_no_group(own_engine: Postgres, tmp_path: Path) -> None:
    async with asyncio.timeout(LONGEST_S), EngineNodes(tmp_path / "nodes", own_engine, 3) as nodes:
        await spread(nodes, 1, {1, 2, 3})
        for partition in GROUPS:
            await commit_where_it_is_led(nodes, 1, partition, 300 + partition)
        await asyncio.to_thread(own_engine.fail_over, 1.0)
        nodes.aim()
        for partition in GROUPS:
            await commit_where_it_is_led(nodes, 1, partition, 400 + partition)
        for partition in GROUPS:
            assert await fetch_where_it_is_led(nodes, 1, partition) == 400 + partition
        logs = "".join(nodes.nodes[number].daemon.log_text() for number in nodes.first)
        assert "renewed again" in logs and "declared dead" not in logs and "given up" not in logs
        assert not nodes.complaints()
