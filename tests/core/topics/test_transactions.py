"""Transactions in partitions: verified batches, markers, what readers of committed data see, and replay at start."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.topics.effects import TopicAppend, VerifyTransaction
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.core.topics.partition import Partition
from coordinator.core.topics.partition_transactions import PartitionTransactions
from coordinator.core.topics.tail_cache import TailBudget
from coordinator.server.api import delete_records as delete_records_api
from coordinator.server.api import describe_producers as describe_producers_api
from coordinator.server.api import list_offsets as list_offsets_api
from coordinator.server.api import produce as produce_api
from coordinator.storage.producer_checkpoint import replay_producers
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.describe_producers import DescribeProducersRequest, ProducerState, TopicRequest
from protocol.messages.fetch import PartitionData
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import control_type, coordinator_epoch, iter_batches, read_records
from tests.support.memory_log import MemoryLog
from tests.support.topic_transactions import (
    FakeTransactionCoordinator,
    marked,
    produce_transactional,
    send_marker,
    send_transactional,
    transactional_world,
    write_marker,
)
from tests.support.topics_wire import (
    TIMESTAMP,
    base_offsets,
    batch,
    fetch,
    fetched,
    produce,
    produced,
    send_fetch,
    values,
)
from tests.support.topics_world import UNANSWERED, TopicsWorld

NONE = ErrorCode.NONE
HERE = ("orders", 0)
LATEST = -1


@pytest.fixture
def joined() -> tuple[TopicsWorld, FakeTransactionCoordinator]:
    """A world, and the coordinator of a transaction that both partitions of "orders" are in."""
    world, coordinator = transactional_world()
    coordinator.partitions |= {HERE, ("orders", 1)}
    return world, coordinator


@pytest.fixture
def world(joined: tuple[TopicsWorld, FakeTransactionCoordinator]) -> TopicsWorld:
    return joined[0]


@pytest.fixture(params=["memory", "disk"])
def reading(request: pytest.FixtureRequest) -> TopicsWorld:
    """A world in which fetches read from the tail cache, or from disk as the cache is tiny."""
    world, coordinator = transactional_world(tails_bytes=1 << 20 if request.param == "memory" else 1)
    coordinator.partitions.add(HERE)
    return world


def committed(world: TopicsWorld, offset: int = 0, **about: Any) -> PartitionData:
    return fetch(world, offset, isolation_level=1, **about)


def aborted(data: PartitionData) -> list[tuple[int, int]]:
    assert data.aborted_transactions is not None
    return [(each.producer_id, each.first_offset) for each in data.aborted_transactions]


def seen(data: PartitionData) -> list[bytes | None]:
    """Return the values that a consumer of committed data delivers, by the algorithm of Kafka's clients."""
    waiting = sorted(data.aborted_transactions or [], key=lambda each: each.first_offset)
    skipped: set[int] = set()
    found: list[bytes | None] = []
    records = data.records or b""
    for position, header in iter_batches(records):
        while waiting and waiting[0].first_offset <= header.last_offset:
            skipped.add(waiting.pop(0).producer_id)
        if header.is_control:
            if control_type(read_records(records, position, header)[0]) == 0:
                skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            found += [record.value for record in read_records(records, position, header)]
    return found


def list_offset(world: TopicsWorld, timestamp: int, *, isolation_level: int) -> int:
    request = ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[ListOffsetsTopic("orders", [ListOffsetsPartition(partition_index=0, timestamp=timestamp)])],
    )
    found: int = world.call(list_offsets_api.API, request, 8).topics[0].partitions[0].offset
    return found


def delete_records(world: TopicsWorld, offset: int) -> None:
    request = DeleteRecordsRequest([DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, offset)])], 1000)
    answer = world.call(delete_records_api.API, request, 2)
    assert answer.topics[0].partitions[0].error_code == NONE


def producers_of(world: TopicsWorld, *partitions: int, topic: str = "orders") -> list[Any]:
    request = DescribeProducersRequest([TopicRequest(topic, list(partitions))])
    found: list[Any] = world.call(describe_producers_api.API, request, 0).topics[0].partitions
    return found


# -- vectors 6 to 12 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "error"), [(9, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE), (12, NONE)]
)
def test_a_partition_outside_the_transaction_is_refused_or_added(version: int, error: ErrorCode) -> None:
    world, coordinator = transactional_world()
    answer = produce_transactional(world, 0, version=version)
    assert (answer.error_code, answer.base_offset) == (error, 0 if error is NONE else -1)
    assert coordinator.partitions == ({HERE} if version == 12 else set())
    assert coordinator.asked[0].transactions[0].verify_only == (version < 12)
    assert world.partition("orders").next_offset == (0 if error else 1)


def test_sequence_numbers_hold_within_a_transaction(joined: tuple[TopicsWorld, FakeTransactionCoordinator]) -> None:
    world, coordinator = joined
    assert produce_transactional(world, 0, b"a", b"b").base_offset == 0
    again = produce_transactional(world, 0, b"a", b"b")
    assert (again.error_code, again.base_offset) == (NONE, 0)
    assert produce_transactional(world, 5).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert world.partition("orders").next_offset == 2
    assert len(coordinator.asked) == 1  # the transaction is open here since the first batch


def test_open_transaction_is_hidden_from_readers_of_committed_data(reading: TopicsWorld) -> None:
    produce_transactional(reading, 0, b"a", b"b")
    hidden = committed(reading)
    assert (hidden.records, hidden.last_stable_offset, hidden.high_watermark, aborted(hidden)) == (b"", 0, 2, [])
    all_data = fetch(reading)
    assert values(all_data.records) == [b"a", b"b"]
    assert (all_data.last_stable_offset, all_data.high_watermark, all_data.aborted_transactions) == (0, 2, None)


def test_committed_transaction_is_visible_with_its_marker(reading: TopicsWorld) -> None:
    produce_transactional(reading, 0, b"a", b"b")
    assert write_marker(reading, commit=True) is NONE
    data = committed(reading)
    assert base_offsets(data.records) == [0, 2]
    assert (data.last_stable_offset, aborted(data), seen(data)) == (3, [], [b"a", b"b"])
    assert write_marker(reading, commit=True) is NONE  # repeated by a coordinator that started again: it ends nothing
    assert committed(reading).last_stable_offset == 4


def test_aborted_transaction_is_named_to_readers_of_its_range(reading: TopicsWorld) -> None:
    produce_transactional(reading, 0, b"a", b"b")
    write_marker(reading, commit=True)
    produce_transactional(reading, 2, b"c", b"d")
    write_marker(reading, commit=False)
    produce(reading, batch(b"e"))
    at_3 = committed(reading, 3)
    assert (base_offsets(at_3.records), aborted(at_3), seen(at_3)) == ([3, 5, 6], [(7, 3)], [b"e"])
    at_0 = committed(reading)
    assert (aborted(at_0), seen(at_0)) == ([(7, 3)], [b"a", b"b", b"e"])
    before = committed(reading, 0, partition_max_bytes=1)
    assert (base_offsets(before.records), aborted(before)) == ([0], [])
    assert aborted(committed(reading, 6)) == []


def test_stable_offset_is_that_of_the_oldest_open_transaction(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, coordinator = joined
    produce_transactional(world, 0, b"p")
    coordinator.producer_id = 8
    produce_transactional(world, 0, b"q", producer=8)
    write_marker(world, commit=True, producer=8)
    data = committed(world)
    assert (data.records, data.last_stable_offset) == (b"", 0)
    write_marker(world, commit=True)
    assert committed(world).last_stable_offset == 4
    assert seen(committed(world)) == [b"p", b"q"]


def test_longest_unstable_offsets_are_those_of_the_partition_that_is_held_back_most(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, _ = joined
    longest = world.topics.catalogue.longest_unstable_offsets
    produce(world, batch(b"a", b"b"))
    assert longest() == 0
    produce_transactional(world, 0, b"p", b"q")
    produce(world, batch(b"c"))
    produce_transactional(world, 0, b"r", partition=1)
    assert longest() == 3
    write_marker(world, commit=True)
    assert longest() == 1
    write_marker(world, commit=False, partitions=(("orders", 1),))
    assert longest() == 0


# -- the request -------------------------------------------------------------------------------------------------


def test_transactional_batches_need_a_transactional_id(world: TopicsWorld) -> None:
    request = request_of(batch(), transactional(0), transactional_id=None)
    [topic] = world.call(produce_api.API, request, 9).responses
    codes = [each.error_code for each in topic.partition_responses]
    assert codes == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2
    assert world.partition("orders").next_offset == 0


def test_other_batches_under_a_transactional_id_are_appended(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, coordinator = joined
    assert produce(world, batch(), transactional_id="tx").error_code == NONE
    assert produce(world, batch(producer=(3, 0, 0)), transactional_id="tx").error_code == NONE
    assert not coordinator.asked
    assert world.partition("orders").transactions is None


def transactional(sequence: int, producer: int = 7, epoch: int = 0) -> bytes:
    return batch(producer=(producer, epoch, sequence), is_transactional=True)


def request_of(*records: bytes, transactional_id: str | None = "tx", acks: int = -1) -> ProduceRequest:
    """Return a request with one batch for each of the first partitions."""
    data = [PartitionProduceData(index=index, records=each) for index, each in enumerate(records)]
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1000,
        topic_data=[TopicProduceData(name="orders", partition_data=data)],
    )


@pytest.mark.parametrize("other", [transactional(0, producer=8), transactional(0, epoch=1)], ids=["id", "epoch"])
def test_a_request_of_two_transactional_producers_is_refused(world: TopicsWorld, other: bytes) -> None:
    [topic] = world.call(produce_api.API, request_of(transactional(0), other), 9).responses
    codes = [each.error_code for each in topic.partition_responses]
    assert codes == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2
    assert not world.topics.producing.in_flight_bytes


def test_each_partition_has_its_own_outcome_and_the_others_go_on() -> None:
    world, coordinator = transactional_world()
    coordinator.partitions.add(("orders", 1))
    request = request_of(transactional(0), transactional(0), transactional(0))  # there is no third partition
    [topic] = world.call(produce_api.API, request, 9).responses
    assert [(each.error_code, each.base_offset) for each in topic.partition_responses] == [
        (ErrorCode.INVALID_TXN_STATE, -1),
        (NONE, 0),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    [asked] = coordinator.asked
    assert [(each.name, each.partitions) for each in asked.transactions[0].topics] == [("orders", [0, 1])]


RETRIED = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NETWORK_EXCEPTION,
)
MAPPED = [
    *((error, version, ErrorCode.NOT_ENOUGH_REPLICAS) for error in RETRIED for version in (3, 11, 12)),
    *(
        (error, version, ErrorCode.INVALID_PRODUCER_EPOCH)
        for error in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)
        for version in (10, 11, 12)
    ),
    *((ErrorCode.INVALID_PRODUCER_ID_MAPPING, version, ErrorCode.INVALID_PRODUCER_ID_MAPPING) for version in (3, 12)),
    (ErrorCode.CONCURRENT_TRANSACTIONS, 10, ErrorCode.NOT_ENOUGH_REPLICAS),
    (ErrorCode.CONCURRENT_TRANSACTIONS, 11, ErrorCode.NOT_ENOUGH_REPLICAS),
    (ErrorCode.CONCURRENT_TRANSACTIONS, 12, ErrorCode.CONCURRENT_TRANSACTIONS),
    (ErrorCode.INVALID_TXN_STATE, 10, ErrorCode.INVALID_TXN_STATE),
    (ErrorCode.INVALID_TXN_STATE, 11, ErrorCode.TRANSACTION_ABORTABLE),
    (ErrorCode.TRANSACTION_ABORTABLE, 10, ErrorCode.INVALID_TXN_STATE),
    (ErrorCode.TRANSACTION_ABORTABLE, 12, ErrorCode.TRANSACTION_ABORTABLE),
]


@pytest.mark.parametrize(("found", "version", "error"), MAPPED)
@pytest.mark.parametrize("is_top", [False, True])
def test_errors_of_the_coordinator_are_those_that_producers_expect(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
    found: ErrorCode,
    version: int,
    error: ErrorCode,
    is_top: bool,
) -> None:
    world, coordinator = joined
    if is_top:
        coordinator.top_error = found
    else:
        coordinator.error = found
    assert produce_transactional(world, 0, version=version).error_code == error
    assert world.partition("orders").next_offset == 0


def test_a_partition_that_the_coordinator_passes_over_is_not_appended(world: TopicsWorld) -> None:
    world.verify = lambda request: AddPartitionsToTxnResponse()
    assert produce_transactional(world, 0).error_code == ErrorCode.NOT_ENOUGH_REPLICAS


def test_a_request_waits_for_the_coordinator_and_the_next_one_too(world: TopicsWorld) -> None:
    world.hold.add(VerifyTransaction)
    first = send_transactional(world, 0, b"a")
    second = send_transactional(world, 1, b"b")
    assert world.partition("orders").next_offset == 0
    assert world.topics.producing.in_flight_bytes > 0
    world.release(VerifyTransaction)
    assert [produced(world.answer(ticket)).base_offset for ticket in (first, second)] == [0, 1]
    assert not world.topics.producing.in_flight_bytes


def test_a_batch_behind_the_marker_of_its_transaction_is_refused(world: TopicsWorld) -> None:
    world.hold.add(VerifyTransaction)
    ticket = send_transactional(world, 0)
    assert write_marker(world, commit=True) is NONE
    world.release(VerifyTransaction)
    assert produced(world.answer(ticket)).error_code == ErrorCode.INVALID_TXN_STATE
    assert committed(world).last_stable_offset == 1


def test_a_batch_of_the_next_transaction_is_not_refused_for_the_marker_that_raised_its_epoch(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, coordinator = joined
    coordinator.epoch = 1
    world.hold.add(VerifyTransaction)
    ticket = send_transactional(world, 0, epoch=1, version=12)
    assert write_marker(world, commit=True, epoch=1, transaction_version=2) is NONE
    world.release(VerifyTransaction)
    assert produced(world.answer(ticket)).base_offset == 1


def test_a_topic_that_is_deleted_while_a_request_waits_is_unknown(world: TopicsWorld) -> None:
    world.hold.add(VerifyTransaction)
    ticket = send_transactional(world, 0)
    world.partition("orders").is_deleted = True
    world.release(VerifyTransaction)
    assert produced(world.answer(ticket)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_refused_batch_with_acks_0_closes_the_connection() -> None:
    world, _ = transactional_world()
    ticket = send_transactional(world, 0, acks=0)
    assert world.answer(ticket) is None
    assert [each.ticket for each in world.disconnects] == [ticket]


def test_a_batch_outside_the_open_transaction_of_its_producer_is_refused(world: TopicsWorld) -> None:
    produce_transactional(world, 0)
    plain = batch(producer=(7, 0, 1))
    assert produce(world, plain).error_code == ErrorCode.INVALID_TXN_STATE
    write_marker(world, commit=True)
    assert produce(world, plain).error_code == NONE


def test_transactional_batches_are_refused_without_a_coordinator(world: TopicsWorld) -> None:
    world.topics.serves_transactions = False
    answer = produce_transactional(world, 0)
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.INVALID_TXN_STATE,
        "this server takes no part in transactions",
    )


def test_parked_requests_count_among_those_that_wait_for_the_disk(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, coordinator = transactional_world(log_max_queued_bytes=1 << 20)
    coordinator.partitions.add(HERE)
    world.hold.add(VerifyTransaction)
    first = send_transactional(world, 0, bytes(600_000))
    second = send_transactional(world, 1, bytes(600_000))
    assert produced(world.answer(second)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    world.release(VerifyTransaction)
    assert produced(world.answer(first)).base_offset == 0


# -- markers -----------------------------------------------------------------------------------------------------


def test_a_marker_is_a_control_batch_with_the_epoch_of_its_coordinator(world: TopicsWorld) -> None:
    produce_transactional(world, 0)
    write_marker(world, commit=False, epoch=3, coordinator_epoch=5)
    records = fetch(world, 1).records or b""
    [(position, header)] = iter_batches(records)
    assert (header.base_offset, header.producer_id, header.producer_epoch, header.attributes) == (1, 7, 3, 0x30)
    assert header.max_timestamp == world.wall_ms
    [record] = read_records(records, position, header)
    assert (control_type(record), coordinator_epoch(record)) == (0, 5)


def test_the_answer_to_markers_waits_until_all_are_durable(world: TopicsWorld) -> None:
    world.hold.add(TopicAppend)
    ticket = send_marker(world, commit=True, partitions=(HERE, ("orders", 7), ("orders", 1)))
    first = world.held.popleft()
    world.execute_topics(world._perform(first))
    assert world.answer(ticket) is UNANSWERED
    world.release(TopicAppend)
    assert marked(world.answer(ticket)) == [NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, NONE]


def test_markers_that_cannot_be_written_have_the_error_of_their_partition(world: TopicsWorld) -> None:
    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [MemoryLog()])
    world.partition("orders").is_offline = True
    world.partition("orders", 1).is_local = False
    ticket = send_marker(world, commit=True, partitions=(HERE, ("orders", 1), ("gone", 0), (OFFSETS_TOPIC, 0)))
    assert marked(world.answer(ticket)) == [
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]


def test_a_marker_of_an_older_producer_or_coordinator_is_refused(world: TopicsWorld) -> None:
    assert write_marker(world, commit=True, epoch=4, coordinator_epoch=6) is NONE
    assert write_marker(world, commit=True, epoch=3, coordinator_epoch=6) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert write_marker(world, commit=True, epoch=4, coordinator_epoch=5) is ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert write_marker(world, commit=True, epoch=4, coordinator_epoch=6) is NONE
    assert world.partition("orders").next_offset == 2


def test_a_marker_of_transaction_version_2_needs_a_higher_epoch_than_the_data(world: TopicsWorld) -> None:
    produce_transactional(world, 0)
    late = {"commit": True, "epoch": 0, "transaction_version": 2}
    assert write_marker(world, **late) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert write_marker(world, commit=True, epoch=1, transaction_version=2) is NONE
    assert write_marker(world, commit=True, epoch=1, transaction_version=2) is NONE  # the transaction is over


def test_a_marker_with_a_higher_epoch_begins_the_sequence_anew_and_fences(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, coordinator = joined
    produce_transactional(world, 0)
    write_marker(world, commit=False, epoch=1)
    coordinator.epoch = 1
    assert produce_transactional(world, 1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert produce_transactional(world, 1, epoch=1).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce_transactional(world, 0, epoch=1).error_code == NONE


def test_the_sequence_continues_after_a_marker_with_the_same_epoch(world: TopicsWorld) -> None:
    produce_transactional(world, 0)
    write_marker(world, commit=True)
    assert produce_transactional(world, 0).base_offset == 0  # a repetition
    assert produce_transactional(world, 2).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce_transactional(world, 1).base_offset == 2


# -- what is not durable -----------------------------------------------------------------------------------------


def test_a_marker_counts_when_it_is_durable(world: TopicsWorld) -> None:
    produce_transactional(world, 0, b"a")
    world.hold.add(TopicAppend)
    send_marker(world, commit=True)
    assert committed(world).last_stable_offset == 0
    waiting = send_fetch(world, isolation_level=1)
    assert world.answer(waiting) is UNANSWERED
    world.release(TopicAppend)
    assert seen(fetched(world.answer(waiting))) == [b"a"]
    assert committed(world).last_stable_offset == 2


def test_a_marker_that_fails_leaves_its_transaction_open(world: TopicsWorld) -> None:
    produce_transactional(world, 0, b"a")
    before = state_of(world.partition("orders"))
    world.fail_appends = True
    assert write_marker(world, commit=False, epoch=1, coordinator_epoch=2) is ErrorCode.KAFKA_STORAGE_ERROR
    assert state_of(world.partition("orders")) == before
    world.fail_appends = False
    assert committed(world).last_stable_offset == 0
    assert produce_transactional(world, 1, b"b").base_offset == 1
    assert write_marker(world, commit=True) is NONE
    assert seen(committed(world)) == [b"a", b"b"]
    assert aborted(committed(world)) == []


def test_a_first_batch_that_fails_begins_no_transaction(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, coordinator = joined
    world.fail_appends = True
    assert produce_transactional(world, 0).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    world.fail_appends = False
    produce(world, batch(b"plain"))
    assert committed(world).last_stable_offset == 1
    assert produce_transactional(world, 0).base_offset == 1
    assert len(coordinator.asked) == 2


def test_open_transactions_are_in_order_after_a_failed_marker(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, coordinator = joined
    for producer in (7, 8):
        coordinator.producer_id = producer
        produce_transactional(world, 0, producer=producer)
    world.fail_appends = True
    write_marker(world, commit=True)
    world.fail_appends = False
    assert committed(world).last_stable_offset == 0
    write_marker(world, commit=True)
    assert committed(world).last_stable_offset == 1


# -- reads -------------------------------------------------------------------------------------------------------


def test_min_bytes_counts_stable_bytes_only(world: TopicsWorld) -> None:
    produce(world, batch(b"plain"))
    produce_transactional(world, 0, bytes(1000))
    waiting = send_fetch(world, isolation_level=1, min_bytes=500)
    all_data = send_fetch(world, min_bytes=500)
    assert world.answer(waiting) is UNANSWERED
    assert len(fetched(world.answer(all_data)).records or b"") > 1000
    write_marker(world, commit=True)
    assert len(fetched(world.answer(waiting)).records or b"") > 1000


def test_a_fetch_at_the_stable_offset_waits(reading: TopicsWorld) -> None:
    produce(reading, batch(b"plain"))
    produce_transactional(reading, 0, b"a")
    waiting = send_fetch(reading, 1, isolation_level=1)
    assert world_is_waiting(reading, waiting)
    produce(reading, batch(b"more"))
    assert world_is_waiting(reading, waiting)
    write_marker(reading, commit=True)
    assert seen(fetched(reading.answer(waiting))) == [b"a", b"more"]


def world_is_waiting(world: TopicsWorld, ticket: Any) -> bool:
    return world.answer(ticket) is UNANSWERED


def test_list_offsets_of_committed_data_ends_at_the_stable_offset(world: TopicsWorld) -> None:
    produce(world, batch(timestamp=TIMESTAMP))
    records = batch(producer=(7, 0, 0), timestamp=TIMESTAMP + 10, is_transactional=True)
    assert produce(world, records, transactional_id="tx").error_code == NONE
    assert [list_offset(world, LATEST, isolation_level=level) for level in (0, 1)] == [2, 1]
    assert [list_offset(world, TIMESTAMP, isolation_level=level) for level in (0, 1)] == [0, 0]
    assert [list_offset(world, TIMESTAMP + 5, isolation_level=level) for level in (0, 1)] == [1, -1]
    write_marker(world, commit=True)
    assert [list_offset(world, LATEST, isolation_level=level) for level in (0, 1)] == [3, 3]
    assert list_offset(world, TIMESTAMP + 5, isolation_level=1) == 1


def test_aborted_transactions_are_found_by_range() -> None:
    transactions = PartitionTransactions()
    for producer, first in ((1, 0), (2, 2), (3, 4)):
        transactions.appended(producer, 0, first)
    for producer, marker in ((2, 6), (3, 8), (1, 10)):
        transactions.completed(producer, marker, is_aborted=True)
    assert transactions.aborted_in(0, 11) == [(2, 2), (3, 4), (1, 0)]
    assert transactions.aborted_in(0, 2) == [(1, 0)]
    assert transactions.aborted_in(7, 11) == [(3, 4), (1, 0)]
    assert transactions.aborted_in(11, 20) == []
    transactions.trimmed(8)
    assert transactions.aborted_in(0, 11) == [(3, 4), (1, 0)]


# -- trimming, expiry and eviction -------------------------------------------------------------------------------


def test_the_stable_offset_is_not_before_the_start_of_the_log(world: TopicsWorld) -> None:
    produce_transactional(world, 0, b"a", b"b", b"c")
    delete_records(world, 2)
    data = committed(world, 2)
    assert (data.last_stable_offset, data.log_start_offset, data.records) == (2, 2, b"")
    write_marker(world, commit=True)
    assert committed(world, 2).last_stable_offset == 4


def test_aborted_transactions_before_the_start_of_the_log_are_dropped(world: TopicsWorld) -> None:
    for sequence in (0, 1):
        produce_transactional(world, sequence)
        write_marker(world, commit=False)
    assert aborted(committed(world)) == [(7, 0), (7, 2)]
    delete_records(world, 2)
    assert aborted(committed(world, 2)) == [(7, 2)]
    rows = world.partition("orders").transaction_rows()
    assert rows == {"ongoing": [], "aborted": [[7, 2, 3, 4]]}


def test_a_producer_with_an_open_transaction_does_not_expire(
    joined: tuple[TopicsWorld, FakeTransactionCoordinator],
) -> None:
    world, _ = joined
    produce_transactional(world, 0)
    produce(world, batch(producer=(3, 0, 0)))
    day_ms = world.config.producer_id_expiration_ms + world.config.log_retention_check_interval_ms
    world.advance(day_ms + 1000)
    [found] = producers_of(world, 0)
    assert [(each.producer_id, each.current_txn_start_offset) for each in found.active_producers] == [(7, 0)]
    write_marker(world, commit=True)
    world.advance(2 * day_ms)
    assert producers_of(world, 0)[0].active_producers == []


def test_a_producer_dropped_for_others_still_holds_the_stable_offset() -> None:
    world, coordinator = transactional_world(max_producers=2)
    coordinator.partitions.add(HERE)
    produce_transactional(world, 4)
    for producer in (1, 2):
        produce(world, batch(producer=(producer, 0, 0)))
    [found] = producers_of(world, 0)
    assert [each.producer_id for each in found.active_producers] == [1, 2, 7]
    assert found.active_producers[-1] == ProducerState(7, 0, -1, -1, -1, 0)
    assert committed(world).last_stable_offset == 0
    assert write_marker(world, commit=True, epoch=-1) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert write_marker(world, commit=True) is NONE
    assert committed(world).last_stable_offset == 4
    assert produce_transactional(world, 5).error_code == NONE  # its sequence is not known any more
    assert produce_transactional(world, 7).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


# -- DescribeProducers -------------------------------------------------------------------------------------------


def test_describe_producers(world: TopicsWorld) -> None:
    produce(world, batch(b"a", b"b", producer=(3, 2, 5)))
    produce_transactional(world, 0)
    [found] = producers_of(world, 0)
    assert (found.error_code, found.active_producers) == (
        NONE,
        [ProducerState(3, 2, 6, TIMESTAMP, -1, -1), ProducerState(7, 0, 0, TIMESTAMP, -1, 2)],
    )
    write_marker(world, commit=True, epoch=1, coordinator_epoch=4)
    assert producers_of(world, 0)[0].active_producers[1:] == [ProducerState(7, 1, -1, world.wall_ms, 4, -1)]


def test_describe_producers_names_what_is_wrong_with_a_partition(world: TopicsWorld) -> None:
    world.partition("orders", 1).is_local = False
    codes = [each.error_code for each in producers_of(world, 0, 1, 2, 0)]
    assert codes == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    ]


# -- replay ------------------------------------------------------------------------------------------------------


def checkpoint_of(partition: Partition) -> dict[str, Any]:
    return {
        "id": partition.topic.topic_id.hex(),
        "offset": partition.high_watermark,
        "producers": partition.producer_rows(),
        "transactions": partition.transaction_rows(),
    }


def replayed(partition: Partition, log: Any, checkpoint: dict[str, Any] | None = None) -> Partition:
    again = Partition(partition.topic, partition.index, TailBudget(1, 1), leader=1, is_local=True)
    again.log_start_offset = log.log_start_offset
    again.next_offset = again.high_watermark = log.log_end_offset
    replay_producers(again, log, checkpoint, 0)
    return again


def state_of(partition: Partition) -> tuple[Any, ...]:
    """Return the state of producers and transactions that decides what comes next."""
    rows = sorted(partition.sequences.to_rows(1 << 40))
    for row in rows:
        if row[2]:
            row[3] = 0  # the next sequence follows from the batches
    transactions = partition.transaction_rows()
    if transactions == {"ongoing": [], "aborted": []}:
        transactions = None
    return rows, transactions, partition.last_stable_offset


def test_a_checkpoint_without_transactions_is_not_used(world: TopicsWorld) -> None:
    produce_transactional(world, 0)
    partition, log = world.partition("orders"), world.logs[world.partition("orders")]
    old = {"id": partition.topic.topic_id.hex(), "offset": 1, "producers": [[7, 0, [[0, 0, 0, 0]]]]}
    assert state_of(replayed(partition, log, old)) == state_of(partition)
    without = checkpoint_of(partition)
    del without["transactions"]
    assert state_of(replayed(partition, log, without)) == state_of(partition)


@pytest.mark.parametrize(
    "transactions",
    [
        {},
        5,
        {"ongoing": [[7, 0]], "aborted": []},
        {"ongoing": [[7, 0, 9]], "aborted": []},
        {"ongoing": [], "aborted": [[7, 0, 1, 1], [7, 0, 1, 1]]},
    ],
)
def test_a_damaged_checkpoint_of_transactions_is_not_used(world: TopicsWorld, transactions: Any) -> None:
    produce_transactional(world, 0)
    produce_transactional(world, 1)
    partition, log = world.partition("orders"), world.logs[world.partition("orders")]
    damaged = checkpoint_of(partition) | {"transactions": transactions}
    assert state_of(replayed(partition, log, damaged)) == state_of(partition)


def test_a_transaction_that_began_before_the_start_of_the_log_is_replayed(world: TopicsWorld) -> None:
    produce_transactional(world, 0, b"a", b"b", b"c")
    delete_records(world, 2)
    partition, log = world.partition("orders"), world.logs[world.partition("orders")]
    assert replayed(partition, log).last_stable_offset == 2
    assert replayed(partition, log, checkpoint_of(partition)).last_stable_offset == 2


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["data", "data", "plain", "commit", "abort", "bump", "durable", "fail", "checkpoint"]),
        st.integers(0, 2),
    ),
    max_size=60,
)


@given(STEPS)
def test_replay_gives_the_state_before_it(steps: list[tuple[str, int]]) -> None:
    """Producers 0 to 2 write transactions; appends wait until "durable" or "fail"; checkpoints are taken meanwhile."""
    world, coordinator = transactional_world()
    partition = world.partition("orders")
    log = world.logs[partition]
    epochs = [0, 0, 0]
    checkpoints: list[dict[str, Any] | None] = [None]
    world.hold.add(TopicAppend)
    for step, producer in steps:
        next_sequence = sequence_of(partition, producer, epochs[producer])
        coordinator.producer_id, coordinator.epoch = producer, epochs[producer]
        coordinator.partitions = {HERE}
        if step == "data":
            send_transactional(world, next_sequence, b"%d" % producer, producer=producer, epoch=epochs[producer])
        elif step == "plain":
            world.send(produce_api.API, request_of(batch(producer=(producer, epochs[producer], next_sequence))), 9)
        elif step == "bump":
            epochs[producer] += 1
            send_marker(world, commit=False, producer=producer, epoch=epochs[producer])
        elif step in ("commit", "abort"):
            send_marker(world, commit=step == "commit", producer=producer, epoch=epochs[producer])
        elif step == "checkpoint":
            checkpoints.append(checkpoint_of(partition))
            assert state_of(replayed(partition, log, checkpoints[-1])) == state_of(replayed(partition, log))
        else:
            end_appends(world, fails=step == "fail")
    end_appends(world, fails=False)
    assert not partition.pending
    for checkpoint in checkpoints:
        again = replayed(partition, log, checkpoint)
        assert state_of(again) == state_of(partition)


def end_appends(world: TopicsWorld, *, fails: bool) -> None:
    """Let the held appends succeed; or the first half of them, and the others fail."""
    if fails:
        for _ in range(len(world.held) // 2):
            world.execute_topics(world._perform(world.held.popleft()))
        if world.held:
            failed = world.held.popleft()
            world.held.clear()
            world.fail_appends = True
            world.execute_topics(world._perform(failed))
            world.fail_appends = False
        return
    world.release(TopicAppend)
    world.hold.add(TopicAppend)


def sequence_of(partition: Partition, producer_id: int, epoch: int) -> int:
    for producer in partition.sequences.active():
        if producer.producer_id == producer_id and producer.epoch == epoch:
            return producer.last_sequence + 1
    return 0
