"""Transactions over several nodes: markers reach each partition, also after a node was away, and zombies are fenced."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition

from protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.support.eventually import eventually
from tests.support.nodes import Nodes
from tests.support.transactional import LIMIT_S, committed, read, transactional_producer
from tests.support.wire import call

pytestmark = pytest.mark.integration

PARTITIONS = range(6)
TRANSACTION = 1  # key type of FindCoordinator


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    with Nodes(tmp_path, topics=(f"out:{len(PARTITIONS)}", "in:1")) as nodes:
        nodes.know("out", len(PARTITIONS))
        yield nodes


def id_of(nodes: Nodes, number: int) -> str:
    """Return a transactional id that a node coordinates. The nodes agree on that."""
    names = [f"tx-{each}" for each in range(100)]
    request = FindCoordinatorRequest(key_type=TRANSACTION, coordinator_keys=names)
    answers = [call(nodes[each].port, request, 4).coordinators for each in nodes]
    owners = [{found.key: found.node_id for found in answer} for answer in answers]
    assert owners[0] == owners[1] == owners[2]
    assert set(owners[0].values()) == {1, 2, 3}
    return next(name for name, owner in owners[0].items() if owner == number)


def state(nodes: Nodes, number: int, transactional_id: str) -> str:
    answer: DescribeTransactionsResponse = call(nodes[number].port, DescribeTransactionsRequest([transactional_id]), 0)
    return answer.transaction_states[0].transaction_state


@pytest.mark.parametrize("coordinator", [1, 2, 3])
def test_a_transaction_over_all_nodes_is_seen_whole_or_not_at_all(nodes: Nodes, coordinator: int) -> None:
    producer = transactional_producer(nodes.bootstrap, id_of(nodes, coordinator))
    groups = [nodes.group_of(number) for number in nodes]
    consumers = [
        Consumer({"bootstrap.servers": nodes.bootstrap, "group.id": group, "log_level": 0}) for group in groups
    ]
    try:
        for offset, ends in ((1, "commit"), (2, "abort"), (3, "commit")):
            producer.begin_transaction()
            for partition in PARTITIONS:
                producer.produce("out", f"{offset}", partition=partition)
            for consumer in consumers:
                place = TopicPartition("in", 0, offset)
                producer.send_offsets_to_transaction([place], consumer.consumer_group_metadata(), LIMIT_S)
            if ends == "commit":
                producer.commit_transaction(LIMIT_S)
            else:
                producer.abort_transaction(LIMIT_S)
    finally:
        for consumer in consumers:
            consumer.close()
    for partition in PARTITIONS:
        assert read(nodes.bootstrap, "out", partition) == ["1", "3"]
    assert [committed(nodes.bootstrap, group) for group in groups] == [3, 3, 3]


def test_markers_reach_a_node_that_was_away(nodes: Nodes) -> None:
    transactional_id = id_of(nodes, 1)
    producer = transactional_producer(nodes.bootstrap, transactional_id)
    producer.begin_transaction()
    for partition in PARTITIONS:
        producer.produce("out", "kept", partition=partition)
    producer.flush(LIMIT_S)
    nodes[2].kill()
    producer.commit_transaction(LIMIT_S)  # it is decided, although a marker is missing
    assert state(nodes, 1, transactional_id) == "PrepareCommit"
    nodes[1].kill()
    nodes[1].start()
    nodes[2].start()
    eventually(
        lambda: state(nodes, 1, transactional_id) == "CompleteCommit", "all markers are written", within_s=LIMIT_S
    )
    assert [read(nodes.bootstrap, "out", partition) for partition in PARTITIONS] == [["kept"]] * len(PARTITIONS)


def test_a_zombie_is_fenced_on_every_node(nodes: Nodes) -> None:
    transactional_id = id_of(nodes, 3)
    zombie = transactional_producer(nodes.bootstrap, transactional_id)
    zombie.begin_transaction()
    for partition in PARTITIONS:
        zombie.produce("out", "of the zombie", partition=partition)
    zombie.flush(LIMIT_S)
    successor = transactional_producer(nodes.bootstrap, transactional_id)
    with pytest.raises(KafkaException):
        zombie.commit_transaction(LIMIT_S)
    successor.begin_transaction()
    for partition in PARTITIONS:
        successor.produce("out", "of the successor", partition=partition)
    successor.commit_transaction(LIMIT_S)
    for partition in PARTITIONS:
        assert read(nodes.bootstrap, "out", partition) == ["of the successor"]


def test_a_coordinator_that_is_killed_goes_on_with_its_transactions(nodes: Nodes) -> None:
    transactional_id = id_of(nodes, 2)
    producer = transactional_producer(nodes.bootstrap, transactional_id)
    producer.begin_transaction()
    for partition in PARTITIONS:
        producer.produce("out", "before", partition=partition)
    producer.flush(LIMIT_S)
    nodes[2].kill()
    nodes[2].start()
    for partition in PARTITIONS:
        producer.produce("out", "after", partition=partition)
    producer.commit_transaction(LIMIT_S)
    for partition in PARTITIONS:
        assert read(nodes.bootstrap, "out", partition) == ["before", "after"]
