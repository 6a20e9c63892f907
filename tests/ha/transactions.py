"""Transactions in a cluster whose nodes share an engine, and the ways to the nodes that coordinate them."""

from __future__ import annotations

import asyncio

from confluent_kafka import Consumer, Producer, TopicPartition

from coordinator.core.cluster import StaticOwnership
from coordinator.core.live_cluster import wanted_owner
from coordinator.core.shard import partition_for
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import DescribeTransactionsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.ha.asking import GROUPS, PARTITIONS, ask, spread
from tests.ha.nodes import EngineNodes
from tests.support.eventually import eventually_answered
from tests.support.transactional import LIMIT_S, committed, read, transactional_producer

OUT = "out"
OUT_PARTITIONS = 12
TRANSACTION = 1  # key type of FindCoordinator
LOG_PARTITIONS = 4  # of the transaction log
LIVING = {1, 2, 3}
SETTINGS = (f"transaction.state.log.num.partitions={LOG_PARTITIONS}", "cluster.rebalance.delay.ms=500")


def led_by(number: int) -> int:
    """Return a partition of the topic that a node leads. The fourth node is listed, and never started."""
    rule = StaticOwnership((1, 2, 3, 4))
    return next(each for each in range(OUT_PARTITIONS) if rule.owner_of_topic_partition(OUT, each) == number)


def id_of(number: int) -> str:
    """Return a transactional id that a node coordinates while the first three live."""
    names = (f"tx-{each}" for each in range(100))
    return next(
        name for name in names if wanted_owner(PARTITIONS + partition_for(name, LOG_PARTITIONS), LIVING) == number
    )


def group_of(number: int) -> str:
    """Return a group that a node coordinates while the first three live."""
    return next(group for partition, group in GROUPS.items() if wanted_owner(partition, LIVING) == number)


async def coordinated_by(nodes: EngineNodes, number: int, transactional_id: str, asked: int = 0) -> None:
    """Wait until a node coordinates a transactional id, as it tells itself or as another one is asked."""

    async def is_so() -> bool:
        request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=[transactional_id])
        answer = await ask(nodes, asked or number, request, 4)
        return answer is not None and answer.coordinators[0].node_id == number

    await eventually_answered(is_so, f"node {number} coordinates {transactional_id}", within_s=LIMIT_S)


async def state(nodes: EngineNodes, number: int, transactional_id: str) -> str:
    """Return the state of a transactional id as a node tells it, or its error."""
    answer = await ask(nodes, number, DescribeTransactionsRequest([transactional_id]), 0)
    if answer is None:
        return "no answer"
    (found,) = answer.transaction_states
    return found.transaction_state if found.error_code == ErrorCode.NONE else ErrorCode(found.error_code).name


async def settled_at(nodes: EngineNodes, transactional_id: str, wanted: str, among: set[int]) -> None:
    """Wait until one of some nodes tells a state."""

    async def is_so() -> bool:
        return wanted in [await state(nodes, number, transactional_id) for number in among]

    await eventually_answered(is_so, f"{transactional_id} is in state {wanted}", within_s=LIMIT_S)


def address_of(nodes: EngineNodes, *numbers: int) -> str:
    return ",".join(f"127.0.0.1:{nodes.nodes[number].daemon.port}" for number in numbers)


def write(producer: Producer, value: str, *leaders: int) -> None:
    for leader in leaders:
        producer.produce(OUT, value, partition=led_by(leader))
    assert producer.flush(LIMIT_S) == 0


def send_offset(producer: Producer, address: str, group: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": address, "group.id": group, "log_level": 0})
    try:
        metadata = consumer.consumer_group_metadata()
        producer.send_offsets_to_transaction([TopicPartition("in", 0, offset)], metadata, LIMIT_S)
    finally:
        consumer.close()


async def settled(nodes: EngineNodes) -> None:
    """Wait until the first three nodes have their shares of both logs."""
    await spread(nodes, 1, LIVING)
    for number in LIVING:
        await coordinated_by(nodes, number, id_of(number))


async def commit_what_a_killed_coordinator_began(nodes: EngineNodes) -> None:
    """Kill the coordinator of open transactions, and have another one commit them."""
    transactional_id, address, group = id_of(1), address_of(nodes, 2, 3), group_of(2)
    producer = await asyncio.to_thread(transactional_producer, address, transactional_id)
    for number, moment in enumerate(("open", "again"), 1):
        producer.begin_transaction()
        await asyncio.to_thread(write, producer, moment, 2, 3)
        await asyncio.to_thread(send_offset, producer, address, group, number)
        nodes.nodes[1].kill()
        await asyncio.to_thread(producer.commit_transaction, LIMIT_S)
        for leader in (2, 3):
            seen = await asyncio.to_thread(read, address, OUT, led_by(leader))
            assert seen == ["open", "again"][:number]
        assert await asyncio.to_thread(committed, address, group) == number
        await nodes.nodes[1].start()
        await coordinated_by(nodes, 1, transactional_id, asked=2)
    assert not nodes.complaints()
