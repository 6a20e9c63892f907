"""Appends of the engine on Kafka that a broker refuses, or whose outcome is not known."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest

from coordinator.engine.kafka import row_append
from coordinator.engine.kafka.batches import STEP_RECORDS
from coordinator.engine.kafka.client import ProducerIdentity
from coordinator.engine.kafka.row_append import ClaimedPartition, RowAppend
from coordinator.storage.log.segment import Entry
from coordinator.storage.log_store import (
    AppendDurable,
    AppendFailed,
    AppendOutcome,
    AppendUnknown,
    Claim,
    LogStoreError,
)
from coordinator.storage.offsets_log import error_code_of
from protocol.error_codes import ErrorCode
from tests.engine.kafka.memory_cluster import BROKERS, LOG, NO_LEADER, MemoryCluster, MemoryClusterNode, Refusal
from tests.support.log_store_kit import entries, entry, joined

UNWRITTEN = [
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.NOT_ENOUGH_REPLICAS,
]


@pytest.fixture
def kafka() -> MemoryCluster:
    return MemoryCluster()


@pytest.fixture
async def node(kafka: MemoryCluster) -> AsyncIterator[MemoryClusterNode]:
    opened = await MemoryClusterNode.open(kafka)
    yield opened
    await opened.close()


@pytest.fixture
async def claim(node: MemoryClusterNode) -> Claim:
    return await node.store.claim(0, 0)


async def append(node: MemoryClusterNode, claim: Claim, *row: Entry) -> AppendOutcome:
    (outcome,) = await node.store.append([(claim, row)])
    return outcome


async def read(node: MemoryClusterNode) -> bytes:
    return b"".join([chunk async for chunk in node.store.batches(0, 0)])


def check_failed(outcome: AppendOutcome, sentence: str) -> None:
    assert isinstance(outcome, AppendFailed)
    assert isinstance(outcome.error, LogStoreError)
    assert sentence in str(outcome.error)
    assert error_code_of(outcome.error) is ErrorCode.NOT_ENOUGH_REPLICAS, "clients try again at this node"


# -- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", UNWRITTEN, ids=lambda code: code.name)
async def test_a_refusal_before_the_write_fails_the_row(
    kafka: MemoryCluster, node: MemoryClusterNode, claim: Claim, code: ErrorCode
) -> None:
    kafka.refusals.append(Refusal(code))
    check_failed(await append(node, claim, entry(0)), code.name)
    assert await append(node, claim, entry(0, salt=1)) == AppendDurable(1), "the next row takes its place"
    assert await append(node, claim, entry(1)) == AppendDurable(2)
    assert await read(node) == joined([entry(0, salt=1), entry(1)])


async def test_a_refusal_says_what_to_do(kafka: MemoryCluster, node: MemoryClusterNode, claim: Claim) -> None:
    kafka.refusals.append(Refusal(ErrorCode.MESSAGE_TOO_LARGE))
    check_failed(await append(node, claim, entry(0)), "raise max.message.bytes of the topic")
    kafka.refusals.append(Refusal(ErrorCode.NOT_ENOUGH_REPLICAS))
    check_failed(await append(node, claim, entry(0)), "start the brokers that are down")


@pytest.mark.parametrize("is_written", [True, False])
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
        ErrorCode.INVALID_REQUEST,
    ],
    ids=lambda code: code.name,
)
async def test_any_other_refusal_leaves_the_outcome_unknown(
    kafka: MemoryCluster, node: MemoryClusterNode, claim: Claim, code: ErrorCode, is_written: bool
) -> None:
    """Else the next row would get the same sequence number, and would be taken for a repetition of this one."""
    row = [entry(0)]
    kafka.refusals.append(Refusal(code, is_written))
    (outcome,) = await node.store.append([(claim, row)])
    assert isinstance(outcome, AppendUnknown)
    assert await node.store.resolve(claim, row) == AppendDurable(1)
    assert await append(node, claim, entry(1)) == AppendDurable(2)
    assert await read(node) == joined([entry(0), entry(1)])


# -- nothing was sent -------------------------------------------------------------------------------------------------


async def test_a_row_fails_while_its_partition_has_no_leader(
    kafka: MemoryCluster, node: MemoryClusterNode, claim: Claim
) -> None:
    kafka.leader = NO_LEADER
    node.client.forget_leader(LOG)
    check_failed(await append(node, claim, entry(0)), "check that the brokers run")
    kafka.leader = 1
    assert await append(node, claim, entry(0, salt=1)) == AppendDurable(1)
    assert await read(node) == joined([entry(0, salt=1)])


async def test_a_row_fails_while_its_leader_takes_no_connection(
    kafka: MemoryCluster, node: MemoryClusterNode, claim: Claim
) -> None:
    kafka.leader = 1
    kafka.refusing.add(BROKERS[1])
    node.client.forget_leader(LOG)
    check_failed(await append(node, claim, entry(0)), "refuses connections")
    kafka.refusing.clear()
    assert await append(node, claim, entry(0, salt=1)) == AppendDurable(1)
    assert await read(node) == joined([entry(0, salt=1)])


async def test_a_row_that_may_be_written_does_not_fail(
    kafka: MemoryCluster, node: MemoryClusterNode, claim: Claim
) -> None:
    row = [entry(0)]
    kafka.refusals += [Refusal(ErrorCode.REQUEST_TIMED_OUT, is_written=True), Refusal(ErrorCode.NOT_ENOUGH_REPLICAS)]
    assert isinstance((await node.store.append([(claim, row)]))[0], AppendUnknown)
    assert isinstance(await node.store.resolve(claim, row), AppendUnknown)
    kafka.leader = NO_LEADER
    assert isinstance(await node.store.resolve(claim, row), AppendUnknown)
    kafka.leader = 1
    kafka.refusing.add(BROKERS[1])
    assert isinstance(await node.store.resolve(claim, row), AppendUnknown)
    kafka.refusing.clear()
    assert await node.store.resolve(claim, row) == AppendDurable(1)


# -- encoding ---------------------------------------------------------------------------------------------------------


def row_of(row: list[Entry]) -> RowAppend:
    claimed = ClaimedPartition(Claim(0, 1, 0), ProducerIdentity(1, 0), 0, 0, 1, is_empty=True)
    return RowAppend(LOG, claimed, row, 1 << 20, is_new=True)


@pytest.fixture
def short_slices() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_append, "SLICE_S", -1.0)
        yield


def turns(*rows: RowAppend) -> int:
    """Return how often other work of the loop gets its turn while rows are encoded."""
    encoding = row_append.encode(rows)
    for number in count():
        try:
            encoding.send(None)
        except StopIteration:
            return number
    raise AssertionError


@pytest.mark.usefixtures("short_slices")
def test_the_loop_gets_its_turn_while_a_large_row_is_encoded() -> None:
    assert turns(row_of(entries(10, records=1000))) >= 10_000 // STEP_RECORDS


def test_the_rows_of_an_append_share_a_slice_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    times = count()
    monkeypatch.setattr(row_append, "monotonic", lambda: next(times) * row_append.SLICE_S / 4)
    assert turns(*(row_of(entries(2)) for _ in range(30))) >= 10


@pytest.mark.usefixtures("short_slices")
def test_a_row_of_one_batch_is_encoded_at_once() -> None:
    assert turns(row_of([entry(0, 1000)])) == 0


async def test_a_row_is_encoded_once(
    kafka: MemoryCluster, node: MemoryClusterNode, claim: Claim, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = count()
    monkeypatch.setattr(row_append, "wall_ms", lambda: next(times))
    row = entries(3)
    kafka.refusals += [Refusal(ErrorCode.REQUEST_TIMED_OUT)] * 3
    assert isinstance((await node.store.append([(claim, row)]))[0], AppendUnknown)
    assert isinstance(await node.store.resolve(claim, row), AppendUnknown)
    assert isinstance(await node.store.resolve(claim, row), AppendUnknown)
    assert await node.store.resolve(claim, row) == AppendDurable(9)
    assert len(kafka.sent) == 4
    assert len(set(kafka.sent)) == 1
    assert next(times) == 1
