"""One real broker: who may append, what counts, and what becomes of an append whose outcome is unknown.

Needs Java and Kafka's jars, so `make interchange` runs it and `make test` does not.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from coordinator.config.values import Address, parse_address
from coordinator.engine.kafka.batches import ROW_HEADER
from coordinator.engine.kafka.client import LATEST, BrokerError, KafkaClient, ProducerIdentity, TopicPlace
from coordinator.engine.kafka.probe import prove_fencing
from coordinator.engine.kafka.store import KafkaLogStore
from coordinator.engine.kafka.topics import open_topics
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendFenced,
    AppendUnknown,
    ClaimLostError,
    LogStoreError,
)
from coordinator.storage.store_partitions import StorePartitions
from protocol.error_codes import ErrorCode
from protocol.record_batch import build_batch
from tests.conformance.kafka import Kafka
from tests.engine.kafka.nodes import KafkaNodes, KafkaTopic
from tests.engine.kafka.test_batches import build
from tests.support.eventually import eventually_async
from tests.support.log_store_kit import Node, entries, entry, joined

pytestmark = pytest.mark.integration


def batch_of(producer: ProducerIdentity, sequence: int) -> bytearray:
    return build_batch(
        [(b"key", b"value")],
        timestamp_ms=1,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=sequence,
    )


def replace_producer_ids(node: Node, suffix: str) -> None:
    """Let a node use other transactional ids: what Kafka does when it replaces the producer id of one."""
    client: KafkaClient = node.store._client  # type: ignore[attr-defined]
    init_producer = client.init_producer
    client.init_producer = lambda transactional_id: init_producer(transactional_id + suffix)  # type: ignore[method-assign]


def client_of(node: Node) -> KafkaClient:
    client: KafkaClient = node.store._client  # type: ignore[attr-defined]
    return client


async def end_of_topic(node: Node, topic: KafkaTopic, partition: int) -> int:
    return await client_of(node).offset_at(topic.topics.log(partition), LATEST)


# -- facts about Kafka ------------------------------------------------------------------------------------------------


async def test_only_a_batch_of_the_new_producer_fences_the_former_one(nodes: KafkaNodes, topic: KafkaTopic) -> None:
    client, place = client_of(await nodes.node()), topic.topics.log(nodes.partition())
    former = await client.init_producer("facts")
    assert await client.produce(place, batch_of(former, 0)) == 0
    newer = await client.init_producer("facts")
    assert newer == (former.id, former.epoch + 1)
    assert await client.produce(place, batch_of(former, 1)) == 1, "InitProducerId alone fences nothing"
    assert await client.produce(place, batch_of(newer, 0)) == 2
    with pytest.raises(BrokerError) as caught:
        await client.produce(place, batch_of(former, 2))
    assert caught.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await client.produce(place, batch_of(newer, 1)) == 3
    assert await client.produce(place, batch_of(newer, 1)) == 3, "a repetition is kept once"


async def test_the_probe(nodes: KafkaNodes, topic: KafkaTopic) -> None:
    client = client_of(await nodes.node())
    for _ in range(2):
        await prove_fencing(client, topic.topics.probe, "probe")


class UnfencedClient(KafkaClient):
    """A client of a server that gives out a new producer each time, so that none is ever fenced."""

    async def init_producer(self, transactional_id: str) -> ProducerIdentity:
        self.calls = getattr(self, "calls", 0) + 1
        return await super().init_producer(f"{transactional_id}-{self.calls}")


async def test_the_probe_refuses_a_server_that_does_not_fence(topic: KafkaTopic) -> None:
    client = UnfencedClient([Address("127.0.0.1", topic.port)], 10.0)
    with pytest.raises(LogStoreError, match="takes batches of a former producer") as caught:
        await prove_fencing(client, topic.topics.probe, "unfenced")
    assert not caught.value.may_pass
    await client.close()


# -- an owner that the broker does not fence --------------------------------------------------------------------------


async def test_what_an_owner_appends_behind_a_later_claim_does_not_count(nodes: KafkaNodes, topic: KafkaTopic) -> None:
    """The producer id was replaced, so the broker takes batches of the former owner: offsets decide."""
    first, second, partition = await nodes.node(), await nodes.node(), nodes.partition()
    former = await first.claim(partition)
    assert await first.append(former, *entries(2)) == AppendDurable(6)
    await nodes.end(first, by=second)
    replace_producer_ids(second, "-g2")
    newest = await second.claim(partition)
    assert newest.end_offset == 6
    before = await end_of_topic(first, topic, partition)
    assert await first.append(former, entry(6, salt=1)) == AppendFenced()
    assert await end_of_topic(first, topic, partition) == before + 1, "the broker has taken it"
    assert await first.append(former, entry(7, salt=1)) == AppendFenced()
    assert await end_of_topic(first, topic, partition) == before + 1, "and is not asked again"
    assert await second.read(partition) == joined(entries(2))
    # The new owner learns of it too: its batch is not where it should be. Nothing was acknowledged, nothing counts.
    assert await second.append(newest, entry(6, salt=2)) == AppendFenced()
    assert await second.read(partition) == joined(entries(2))
    await second.store.release(newest)
    again = await second.claim(partition)
    assert again.end_offset == 6
    assert await second.append(again, entry(6, salt=3)) == AppendDurable(7)
    assert await first.read(partition) == joined([*entries(2), entry(6, salt=3)])
    for from_offset in (1, 5, 6):
        expected = [each for each in (*entries(2), entry(6, salt=3)) if each.last_offset >= from_offset]
        assert await first.read(partition, from_offset) == joined(expected)


async def test_a_claim_whose_owner_record_is_missing_is_found(nodes: KafkaNodes, topic: KafkaTopic) -> None:
    """A node that dies in the middle of a claim."""
    first, second, partition = await nodes.node(), await nodes.node(), nodes.partition()
    claim = await second.claim(partition)
    await second.append(claim, *entries(2))
    await second.store.release(claim)

    async def die(*_: object) -> None:
        raise LogStoreError("killed")

    first.store._tell_owner = die  # type: ignore[attr-defined]
    with pytest.raises(LogStoreError, match="killed"):
        await first.store.claim(partition, claim.epoch)
    with pytest.raises(ClaimLostError):
        await second.store.claim(partition, claim.epoch)
    view = await second.directory.renew()
    found = view.owners[partition]
    assert (found.node, found.incarnation) == (first.id, first.incarnation)
    with pytest.raises(ClaimLostError):  # the node that it names lives
        await second.store.claim(partition, found.epoch)
    await nodes.end(first, by=second)
    newest = await second.store.claim(partition, found.epoch)
    assert newest.end_offset == 6
    assert await second.append(newest, entry(6)) == AppendDurable(7)
    assert await second.read(partition) == joined([*entries(2), entry(6)])


async def test_an_owner_that_was_idle_for_longer_than_its_producer_lives(tmp_path: Path) -> None:
    """The broker forgets it: it may go on, and a former owner that it would take again does no harm."""
    settings = {"producer.id.expiration.ms": "1500", "producer.id.expiration.check.interval.ms": "200"}
    kafka = Kafka(tmp_path / "kafka", settings=settings)
    try:
        kafka.start()
        client = KafkaClient([parse_address(kafka.address)], 10.0)
        topics = await open_topics(client, "idle", StorePartitions(2), require_sync=False)
        nodes = KafkaNodes(KafkaTopic(kafka.port, topics, iter(range(2)), iter(range(1, 9))))
        first, second, partition = await nodes.node(), await nodes.node(), nodes.partition()
        former = await first.claim(partition)
        assert await first.append(former, entry(0)) == AppendDurable(1)
        await first.store.release(former)
        newest = await second.claim(partition)
        await until_forgotten(client, topics.log(1), client.init_producer)
        assert await first.append(former, entry(1, salt=1)) == AppendFenced()
        assert await second.read(partition) == joined([entry(0)])
        await second.store.release(newest)
        newest = await second.claim(partition)
        assert await second.append(newest, entry(1)) == AppendDurable(2)
        await until_forgotten(client, topics.log(1), client.init_producer)
        assert await second.append(newest, entry(2)) == AppendDurable(3)
        assert await second.store.resolve(newest, [entry(2)]) == AppendDurable(3)
        assert await second.read(partition) == joined([entry(each) for each in range(3)])
        await nodes.close()
        await client.close()
    finally:
        kafka.kill()


async def until_forgotten(client: KafkaClient, place: TopicPlace, init_producer: Callable[[str], object]) -> None:
    """Wait until the broker has forgotten a producer that appended now; so it has all others."""
    producer = await client.init_producer("watched")
    await client.produce(place, batch_of(producer, 0))
    await client.init_producer("watched")
    for _ in range(100):
        newer = await client.init_producer("watched")
        await eventually_async(lambda: True, "")
        try:
            await client.produce(place, batch_of(newer, 5))  # a gap is refused while the producer is known
        except BrokerError:
            continue
        return
    raise AssertionError("the producer is still known")


# -- rows -------------------------------------------------------------------------------------------------------------


async def test_transactions_and_compressed_batches_in_one_row(nodes: KafkaNodes) -> None:
    node, partition = await nodes.node(), nodes.partition()
    claim = await node.claim(partition)
    rows = []
    at = 0
    for kind in ("plain", "transactional", "commit", "lz4", "transactional", "abort"):
        rows.append(build(kind, [(b"\0\1key", b"value")] * 3, at))
        at = rows[-1].last_offset + 1
    assert await node.append(claim, *rows) == AppendDurable(at)
    assert await node.append(claim, build("commit", [], at)) == AppendDurable(at + 1)
    assert await node.read(partition) == joined([*rows, build("commit", [], at)])
    assert await node.read(partition, rows[3].last_offset) == joined([*rows[3:], build("commit", [], at)])


async def test_a_batch_that_is_too_large_fails_and_the_next_one_does_not(nodes: KafkaNodes) -> None:
    node, partition = await nodes.node(), nodes.partition()
    claim = await node.claim(partition)
    outcome = await node.append(claim, entry(0, value_bytes=9 << 20))
    assert isinstance(outcome, AppendFailed)
    assert await node.append(claim, entry(0)) == AppendDurable(1)


@pytest.fixture
def small(nodes: KafkaNodes) -> KafkaNodes:
    """Nodes that divide their rows into batches of 2 kB."""
    nodes.topic = nodes.topic._replace(topics=nodes.topic.topics._replace(max_batch_bytes=2000))
    return nodes


def divided(base_offset: int = 0) -> list[bytes]:
    return [bytes(each.batch) for each in (entry(base_offset + number, value_bytes=700) for number in range(9))]


@pytest.mark.parametrize("applied", [True, False])
async def test_a_divided_row_of_unknown_outcome_is_completed(small: KafkaNodes, applied: bool) -> None:
    node, other, partition = await small.node(), await small.node(), small.partition()
    claim = await node.claim(partition)
    row = [entry(number, value_bytes=700) for number in range(9)]
    small.proxies[node.id].cut_at(divided()[5][-300:-200], applied=applied)
    assert isinstance(await node.append(claim, *row), AppendUnknown)
    assert await other.read(partition) == b"", "a part of a row does not count"
    assert await node.store.resolve(claim, row) == AppendDurable(9)
    assert await node.append(claim, entry(9)) == AppendDurable(10)
    assert await other.read(partition) == joined([*row, entry(9)])
    assert await other.read(partition, 4) == joined([*row[4:], entry(9)])


async def test_a_divided_row_that_a_claim_interrupts_does_not_count(small: KafkaNodes) -> None:
    node, other, partition = await small.node(), await small.node(), small.partition()
    claim = await node.claim(partition)
    assert await node.append(claim, *entries(1)) == AppendDurable(3)
    row = [entry(3 + number, value_bytes=700) for number in range(9)]
    small.proxies[node.id].cut_at(divided(3)[5][-300:-200], applied=True)
    assert isinstance(await node.append(claim, *row), AppendUnknown)
    await small.end(node, by=other)
    newest = await other.claim(partition)
    assert newest.end_offset == 3
    assert await node.store.resolve(claim, row) == AppendFenced()
    assert await other.append(newest, entry(3)) == AppendDurable(4)
    assert await other.read(partition) == joined([*entries(1), entry(3)])


async def test_a_request_that_arrives_late_changes_nothing(nodes: KafkaNodes) -> None:
    node, partition = await nodes.node(), nodes.partition()
    claim = await node.claim(partition)
    proxy = nodes.proxies[node.id]
    proxy.hold_at(ROW_HEADER.encode())
    assert isinstance(await node.append(claim, entry(0)), AppendUnknown)
    assert await node.store.resolve(claim, [entry(0)]) == AppendDurable(1)
    for number in range(1, 8):  # the broker knows the last five batches only
        assert await node.append(claim, entry(number)) == AppendDurable(number + 1)
    await proxy.deliver_held()
    assert await node.append(claim, entry(8)) == AppendDurable(9)
    assert await node.read(partition) == joined([entry(number) for number in range(9)])


async def test_a_log_whose_claim_was_deleted_is_read(nodes: KafkaNodes) -> None:
    first, second, partition = await nodes.node(), await nodes.node(), nodes.partition()
    claim = await first.claim(partition)
    await first.append(claim, *entries(4))
    await first.store.save_snapshot(claim, 9, [b"snapshot"])
    assert await first.store.trim(claim, 9) == 3
    assert await second.read(partition) == joined(entries(4)[3:])
    assert await first.append(claim, entry(12)) == AppendDurable(13)
    await first.store.release(claim)
    assert (await second.claim(partition)).end_offset == 13
    assert await second.read(partition, 9) == joined([*entries(4)[3:], entry(12)])


def test_the_store_names_no_more_than_its_address(topic: KafkaTopic) -> None:
    client = KafkaClient([Address("127.0.0.1", topic.port)], 1.0)
    store = KafkaLogStore(client, topic.topics, None, 1)  # type: ignore[arg-type]
    assert store.name == f"kafka 127.0.0.1:{topic.port}/kit"
