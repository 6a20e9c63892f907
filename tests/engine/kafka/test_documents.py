"""Shared documents on Kafka: the rules of the kit at a cluster in memory, dying writers, late requests, compactions."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from coordinator.engine.kafka.client import BrokerError, TopicPlace
from coordinator.engine.kafka.cluster_state import ClusterState, encode
from coordinator.engine.kafka.document_records import DOCUMENT, DRAFT, StoredChange, record_key
from coordinator.engine.kafka.documents import PART_BYTES
from coordinator.membership.directory import NodeDirectory
from coordinator.storage.documents.shared import SharedDocuments, StoredDocument
from coordinator.storage.log_store import LogStore, LogStoreError
from protocol.error_codes import ErrorCode
from protocol.record_batch import read_header, read_records
from tests.engine.kafka.document_parts import half_written, parts_of
from tests.engine.kafka.memory_cluster import TOPICS, MemoryCluster, MemoryClusterNode
from tests.support.eventually import eventually_async
from tests.support.log_store_kit import StoreWorld
from tests.support.shared_documents_kit import SharedDocumentsRules

LARGE = "x" * (3 * PART_BYTES + 1)


class MemoryClusterWorld(StoreWorld):
    """The world of the kit. Its nodes are announced by the kit, as are those of a real Kafka."""

    loses_outcomes = True

    def __init__(self) -> None:
        super().__init__()
        self.kafka = MemoryCluster()

    async def open(self, node_id: int) -> tuple[LogStore, NodeDirectory | None, SharedDocuments | None]:
        node = MemoryClusterNode(self.kafka, node_id, 5.0)
        node.cluster.start()
        return node.store, node.directory, node.documents

    async def lose_next_change(self, node_id: int, name: str, text: str, *, applied: bool) -> None:
        self.kafka.lost = f"{DOCUMENT}/{name}/".encode(), applied


@pytest.fixture
async def world() -> AsyncIterator[MemoryClusterWorld]:
    made = MemoryClusterWorld()
    yield made
    await made.close()


class TestMemoryClusterDocuments(SharedDocumentsRules):
    pass


@pytest.fixture
def kafka() -> MemoryCluster:
    return MemoryCluster()


@pytest.fixture
async def nodes(kafka: MemoryCluster) -> AsyncIterator[list[MemoryClusterNode]]:
    opened = [await MemoryClusterNode.open(kafka, number, timeout_s=1.0) for number in (1, 2)]
    yield opened
    for node in opened:
        await node.close()


async def fresh_read(kafka: MemoryCluster, name: str) -> StoredDocument | None:
    """Read a document as a node that starts now."""
    node = MemoryClusterNode(kafka, 9, 5.0)
    node.cluster.start()
    try:
        return await node.documents.read(name)
    finally:
        await node.close()


def compact(kafka: MemoryCluster) -> None:
    for place in (TOPICS.nodes, TOPICS.parts):
        kafka.compact(place)


def kinds_left(kafka: MemoryCluster, name: str) -> list[str]:
    """Return the kinds of the records of a document that a compaction would keep."""
    left: dict[bytes, bool] = {}
    for batch in kafka.batches[TOPICS.nodes]:
        left.update({each.key or b"": each.value is not None for each in read_records(batch, 0, read_header(batch))})
    return sorted(key.decode().split("/")[0] for key in left if left[key] and f"/{name}/".encode() in key)


@pytest.mark.parametrize("parts", [0, 1, 3])
async def test_a_half_written_document_is_ignored_and_deleted_by_the_next_change(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode], parts: int
) -> None:
    first, second = nodes
    await first.documents.replace("users", "before", 0)
    await half_written(first.documents, "users", LARGE, parts=parts)
    assert len(await parts_of(first.documents, "users")) == 1 + parts
    assert await fresh_read(kafka, "users") == StoredDocument(1, "before")
    assert await second.documents.replace("users", "behind", 1)
    assert await parts_of(first.documents, "users") == ["behind"]
    compact(kafka)
    assert kinds_left(kafka, "users") == [DOCUMENT, DRAFT]
    assert await fresh_read(kafka, "users") == await first.documents.read("users") == StoredDocument(2, "behind")


async def test_changes_leave_no_more_than_the_newest_document(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    for revision in range(6):
        results = await asyncio.gather(*(node.documents.replace("users", LARGE, revision) for node in nodes))
        assert sorted(results) == [False, True]
        if revision % 2:
            compact(kafka)
    for node in nodes:
        assert node.cluster.state.documents.stale("users") == []
    assert len(await parts_of(nodes[0].documents, "users")) == 4
    assert await fresh_read(kafka, "users") == StoredDocument(6, LARGE)


async def test_messages_stay_far_below_the_limit_of_brokers(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    assert await nodes[0].documents.replace("users", LARGE, 0)
    assert max(len(each) for each in kafka.batches[TOPICS.parts]) < PART_BYTES + 1000


async def test_a_part_that_arrives_twice_is_found_where_the_cleaner_leaves_it(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    first, second = nodes
    assert await first.documents.replace("users", LARGE, 0)
    await kafka.write(TOPICS.parts, kafka.batches[TOPICS.parts][2])
    compact(kafka)
    assert await second.documents.read("users") == StoredDocument(1, LARGE)
    assert await second.documents.replace("users", "small", 1)
    assert await parts_of(first.documents, "users") == ["small"]


async def test_a_draft_and_a_last_record_that_arrive_late_change_nothing(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    first, second = nodes
    assert await first.documents.replace("users", "one", 0)
    late = [each for each in kafka.batches[TOPICS.nodes] if b"/users/" in each]
    assert await second.documents.replace("users", "two", 1)
    for batch in late:
        await kafka.write(TOPICS.nodes, batch)
    for _ in range(2):
        assert await first.documents.read("users") == StoredDocument(2, "two")
        assert await fresh_read(kafka, "users") == StoredDocument(2, "two")
        compact(kafka)
    assert await first.documents.replace("users", "three", 2)
    assert kinds_left(kafka, "users") == [DOCUMENT, DRAFT]


async def test_a_change_that_may_come_later_keeps_its_parts(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    """A last record without an answer may arrive behind other changes, as long as none has made its revision."""
    first, second = nodes
    assert await first.documents.replace("users", "one", 0)
    publish = first.client.produce
    held: list[bytes] = []

    async def hold(place: TopicPlace, batch: bytes | bytearray) -> int:
        if f"{DOCUMENT}/users/".encode() in batch:
            held.append(bytes(batch))
            raise LogStoreError("no answer")
        return await publish(place, batch)

    first.client.produce = hold  # type: ignore[method-assign]
    with pytest.raises(LogStoreError, match=r"is not known \(no answer\); look at it"):
        await first.documents.replace("users", "late", 1)
    first.client.produce = publish  # type: ignore[method-assign]
    assert await second.documents.replace("quotas", "other", 0)
    compact(kafka)
    assert await second.documents.read("users") == StoredDocument(1, "one")
    await kafka.write(TOPICS.nodes, held[0])
    assert await second.documents.read("users") == StoredDocument(2, "late")
    assert not await second.documents.replace("users", "two", 1)
    assert await second.documents.replace("users", "three", 2)
    assert await parts_of(first.documents, "users") == ["three"]


async def test_an_outcome_that_was_read_is_known_although_the_answer_was_not(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    first, _ = nodes
    write = first.cluster.write

    async def lose(key: str, content: Any) -> int:
        offset = await write(key, content)
        if key.startswith(DOCUMENT):
            raise LogStoreError("no answer")
        return offset

    first.cluster.write = lose  # type: ignore[method-assign]
    assert await first.documents.replace("users", "one", 0)


async def test_a_loser_that_is_still_writing_deletes_what_it_has_written(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    first, second = nodes
    produce = first.client.produce

    async def overtaken(place: TopicPlace, batch: bytes | bytearray) -> int:
        offset = await produce(place, batch)
        if place == TOPICS.parts and not second.cluster.state.documents.revision("users"):
            assert await second.documents.replace("users", "faster", 0)
            await produce(place, batch)  # a repetition arrives behind the deletion
            await first.cluster.catch_up()
        return offset

    first.client.produce = overtaken  # type: ignore[method-assign]
    assert not await first.documents.replace("users", LARGE, 0)
    assert await parts_of(second.documents, "users") == ["faster"]


async def test_a_node_that_has_stood_still_does_not_claim_to_have_come_first(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    """The change that came first was compacted before the loser has read it, so its own one looks like the first."""
    first, second = nodes
    write, fetch = first.cluster.write, first.client.fetch
    goes_on = asyncio.Event()

    async def wait(*args: Any, **options: Any) -> Any:
        await goes_on.wait()
        return await fetch(*args, **options)

    async def stand_still(key: str, content: Any) -> int:
        if not key.startswith(DOCUMENT):
            return await write(key, content)
        first.client.fetch = wait  # type: ignore[method-assign]
        await second.directory.renew()  # ends the fetch that is under way
        assert await second.documents.replace("users", "faster", 0)
        await eventually_async(lambda: first.cluster.state.documents.revision("users") == 0, "it stands still")
        kept = kafka.batches[TOPICS.nodes]
        kept[:] = [each for each in kept if f"{DOCUMENT}/users/".encode() not in each]
        going = asyncio.ensure_future(write(key, content))
        await eventually_async(lambda: key.encode() in kept[-1], "the record is written")
        goes_on.set()
        return await going

    first.cluster.write = stand_still  # type: ignore[method-assign]
    with pytest.raises(LogStoreError, match="is not known"):
        await first.documents.replace("users", "slower", 0)
    assert first.cluster.state.documents.revision("users") == 1, "it looks as if it had come first"


async def test_missing_parts_are_told(kafka: MemoryCluster, nodes: list[MemoryClusterNode]) -> None:
    assert await nodes[0].documents.replace("users", LARGE, 0)
    del kafka.batches[TOPICS.parts][1]
    with pytest.raises(LogStoreError, match="parts of the document users are missing") as caught:
        await nodes[1].documents.read("users")
    assert not caught.value.may_pass


async def test_a_document_that_is_replaced_while_it_is_read(
    kafka: MemoryCluster, nodes: list[MemoryClusterNode]
) -> None:
    first, second = nodes
    assert await first.documents.replace("users", LARGE, 0)
    fetch = second.client.fetch_records

    async def slow(place: TopicPlace, offset: int, max_bytes: int) -> bytes:
        if first.cluster.state.documents.revision("users") == 1:
            assert await first.documents.replace("users", "two", 1)
            compact(kafka)
        return await fetch(place, offset, max_bytes)

    second.client.fetch_records = slow  # type: ignore[method-assign]
    assert await second.documents.read("users") == StoredDocument(2, "two")


async def test_a_refusal_is_a_store_error(kafka: MemoryCluster, nodes: list[MemoryClusterNode]) -> None:
    async def refuse(place: TopicPlace, timestamp: int) -> int:
        raise BrokerError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)

    assert await nodes[0].documents.replace("users", "one", 0)
    await nodes[1].cluster.catch_up()
    nodes[1].client.offset_at = refuse  # type: ignore[method-assign]
    with pytest.raises(LogStoreError, match="TOPIC_AUTHORIZATION_FAILED"):
        await nodes[1].documents.read("users")


@pytest.mark.parametrize("left", ["ABC", "BC"])
def test_a_reader_behind_a_compaction_comes_to_the_same_document(left: str) -> None:
    """B came behind A and was not deleted with it, as its writer and that of C have died."""
    changes = {each: StoredChange(each, 2 if each == "C" else 1, 1, 7) for each in "ABC"}
    state = ClusterState()
    for offset, each in enumerate(left):
        key = record_key(DOCUMENT, "users", changes[each])
        state.apply(offset, key.encode(), encode(changes[each].content), 0.0)
    assert state.documents.newest == {"users": changes["C"]}
    assert [each.identity for each in state.documents.stale("users")] == list(left[:-1])
