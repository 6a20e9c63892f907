"""Produce: which batches are accepted, the order of the checks, and when the response is sent."""

from __future__ import annotations

import struct

import pytest

from coordinator.core.topics.effects import TopicAppend
from coordinator.server.api import delete_topics
from coordinator.server.api import produce as produce_api
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_batch import ControlType, build_control_batch, iter_batches, read_records, verify
from tests.support.topics_wire import batch, fetch, list_offsets, produce, produce_request, produced, send_batch, values
from tests.support.topics_world import UNANSWERED, TopicsWorld

CRC_AT = 17


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld()
    world.create("orders", 2)
    return world


def resealed(records: bytes) -> bytes:
    """Return a modified batch with its checksum corrected."""
    import google_crc32c

    return records[:CRC_AT] + struct.pack(">I", google_crc32c.value(records[21:])) + records[21:]


def test_batch_gets_the_next_offsets_and_can_be_fetched(world: TopicsWorld) -> None:
    first = produce(world, batch(b"a", b"b"))
    second = produce(world, batch(b"c"))
    assert (first.error_code, first.base_offset, first.log_start_offset) == (0, 0, 0)
    assert (second.error_code, second.base_offset, second.log_append_time_ms) == (0, 2, -1)
    answer = fetch(world)
    assert values(answer.records) == [b"a", b"b", b"c"]
    assert answer.high_watermark == 3


def test_stored_batch_differs_from_the_sent_one_only_in_offset_and_epoch(world: TopicsWorld) -> None:
    produce(world)
    sent = batch(b"x", codec=Codec.GZIP)
    produce(world, sent)
    stored = fetch(world, 1).records
    assert stored is not None
    assert stored[16:] == sent[16:]
    [(_, header)] = iter_batches(stored)
    assert (header.base_offset, header.partition_leader_epoch) == (1, 0)


def test_batch_of_a_topic_with_log_append_time_gets_the_time_of_the_append(world: TopicsWorld) -> None:
    world.create("logs", message_timestamp_type="LogAppendTime")
    sent = batch(b"x", b"y", timestamp=5, producer=(7, 0, 0), codec=Codec.ZSTD)
    answer = produce(world, sent, topic="logs")
    first_ms = world.wall_ms
    assert (answer.error_code, answer.base_offset, answer.log_append_time_ms) == (0, 0, first_ms)
    stored = fetch(world, topic="logs").records
    assert stored is not None
    [(_, header)] = iter_batches(stored)
    verify(stored, 0, header)
    assert (header.base_timestamp, header.max_timestamp, header.has_log_append_time) == (5, first_ms, True)
    assert {record.timestamp_ms for record in read_records(stored, 0, header)} == {first_ms}
    assert stored[61:] == sent[61:]
    world.advance(50)
    repeated = produce(world, sent, topic="logs")
    assert (repeated.error_code, repeated.base_offset, repeated.log_append_time_ms) == (0, 0, first_ms)
    [found] = list_offsets(world, [first_ms], topic="logs")
    [missing] = list_offsets(world, [first_ms + 1], topic="logs")
    assert (found.timestamp, found.offset, missing.offset) == (first_ms, 0, -1)


@pytest.mark.parametrize(
    ("topic", "timestamp", "error"),
    [
        ("logs", 5, ErrorCode.INVALID_TIMESTAMP),
        ("orders", -1, ErrorCode.INVALID_TIMESTAMP),
        ("orders", 5, ErrorCode.NONE),
    ],
)
def test_producer_must_not_say_that_the_timestamps_are_of_the_log(
    world: TopicsWorld, topic: str, timestamp: int, error: ErrorCode
) -> None:
    """Source: LogValidator.validateTimestamp."""
    world.create("logs", message_timestamp_type="LogAppendTime")
    sent = bytearray(batch(b"x", timestamp=timestamp))
    sent[22] |= 0x08
    assert produce(world, resealed(bytes(sent)), topic=topic).error_code == error


def test_topics_inherit_log_append_time_from_the_server() -> None:
    world = TopicsWorld(log_message_timestamp_type="LogAppendTime")
    world.create("orders")
    world.create("given", message_timestamp_type="CreateTime")
    assert produce(world).log_append_time_ms == world.wall_ms
    assert produce(world, topic="given").log_append_time_ms == -1


@pytest.mark.parametrize("acks", [1, -1])
def test_response_waits_until_the_batch_is_durable(world: TopicsWorld, acks: int) -> None:
    world.hold.add(TopicAppend)
    ticket = send_batch(world, acks=acks)
    assert world.answer(ticket) is UNANSWERED
    assert fetch(world).records == b""  # not visible before
    world.release(TopicAppend)
    assert produced(world.answer(ticket)).base_offset == 0


def test_response_waits_for_the_last_of_several_partitions(world: TopicsWorld) -> None:
    world.create("payments")
    world.hold.add(TopicAppend)
    request = ProduceRequest(
        acks=1,
        topic_data=[
            TopicProduceData(
                name="orders",
                partition_data=[PartitionProduceData(index=index, records=batch()) for index in (0, 1, 7)],
            ),
            TopicProduceData(name="payments", partition_data=[PartitionProduceData(index=0, records=batch())]),
        ],
    )
    ticket = world.send(produce_api.API, request, 9)
    first, second, third = world.held
    world.held.clear()
    world.execute_topics(world._perform(first))
    world.execute_topics(world._perform(third))
    assert world.answer(ticket) is UNANSWERED
    world.execute_topics(world._perform(second))
    codes = [
        partition.error_code for topic in world.answer(ticket).responses for partition in topic.partition_responses
    ]
    assert codes == [0, 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0]


def by_id(*topics: tuple[bytes, int], acks: int = -1) -> ProduceRequest:
    return ProduceRequest(
        acks=acks,
        topic_data=[
            TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(index=index, records=batch())])
            for topic_id, index in topics
        ],
    )


def test_topics_are_named_by_id_from_version_13_on(world: TopicsWorld) -> None:
    world.create("payments")
    orders, payments = (world.partition(name).topic.topic_id for name in ("orders", "payments"))
    unknown, none = b"?" * 16, bytes(16)
    asked = (orders, 1), (unknown, 0), (payments, 0), (orders, 7), (none, 0)
    answer = world.call(produce_api.API, by_id(*asked), 13)
    assert [(topic.topic_id, topic.partition_responses[0].index) for topic in answer.responses] == list(asked)
    assert [
        (each.error_code, each.base_offset) for topic in answer.responses for each in topic.partition_responses
    ] == [
        (0, 0),
        (ErrorCode.UNKNOWN_TOPIC_ID, -1),
        (0, 0),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (ErrorCode.UNKNOWN_TOPIC_ID, -1),
    ]
    assert values(fetch(world, partition=1).records) == [b"value"]


def test_an_unknown_id_with_acks_zero_closes_the_connection(world: TopicsWorld) -> None:
    assert world.answer(world.send(produce_api.API, by_id((b"?" * 16, 0), acks=0), 13)) is None
    assert len(world.disconnects) == 1


def test_the_id_of_a_deleted_topic_is_unknown_although_its_name_is_in_use_again(world: TopicsWorld) -> None:
    deleted = world.partition("orders").topic.topic_id
    world.call(delete_topics.API, DeleteTopicsRequest(topic_names=["orders"]), 1)
    world.create("orders")
    answer = world.call(produce_api.API, by_id((deleted, 0), (world.partition("orders").topic.topic_id, 0)), 13)
    codes = [topic.partition_responses[0].error_code for topic in answer.responses]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.NONE]


def test_acks_zero_gets_no_response_and_does_not_wait(world: TopicsWorld) -> None:
    world.hold.add(TopicAppend)
    assert world.answer(send_batch(world, acks=0)) is None
    world.release(TopicAppend)
    assert values(fetch(world).records) == [b"value"]
    assert not world.disconnects


def test_refused_batch_with_acks_zero_closes_the_connection(world: TopicsWorld) -> None:
    ticket = send_batch(world, topic="nowhere", acks=0)
    assert world.answer(ticket) is None
    assert [disconnect.ticket for disconnect in world.disconnects] == [ticket]


def test_lost_batch_with_acks_zero_closes_the_connection(world: TopicsWorld) -> None:
    world.fail_appends = True
    ticket = send_batch(world, acks=0)
    assert [disconnect.ticket for disconnect in world.disconnects] == [ticket]


def corrupted() -> bytes:
    records = bytearray(batch())
    records[-1] ^= 1
    return bytes(records)


def with_bytes(position: int, data: bytes) -> bytes:
    records = bytearray(batch())
    records[position : position + len(data)] = data
    return bytes(records)


REFUSALS = {
    "empty": (b"", ErrorCode.INVALID_RECORD),
    "null": (None, ErrorCode.INVALID_RECORD),
    "too short for a batch": (batch()[:40], ErrorCode.INVALID_RECORD),
    "two batches": (batch() + batch(), ErrorCode.INVALID_RECORD),
    "an old message set": (with_bytes(16, b"\x01"), ErrorCode.INVALID_RECORD),
    "an unknown magic": (with_bytes(16, b"\x03"), ErrorCode.CORRUPT_MESSAGE),
    "too short a length": (with_bytes(8, struct.pack(">i", 5)), ErrorCode.CORRUPT_MESSAGE),
    "a negative length": (with_bytes(8, struct.pack(">i", -5)), ErrorCode.CORRUPT_MESSAGE),
    "a length shorter than the header": (with_bytes(8, struct.pack(">i", 20)), ErrorCode.CORRUPT_MESSAGE),
    "a length beyond the end": (with_bytes(8, struct.pack(">i", 1 << 30)), ErrorCode.INVALID_RECORD),
    "garbage after the batch": (batch() + b"\xff" * 40, ErrorCode.CORRUPT_MESSAGE),
    "a wrong checksum": (corrupted(), ErrorCode.CORRUPT_MESSAGE),
    "a base offset": (with_bytes(0, struct.pack(">q", 5)), ErrorCode.INVALID_RECORD),
    "a count that does not fit": (resealed(with_bytes(57, struct.pack(">i", 2))), ErrorCode.INVALID_RECORD),
    "no records": (resealed(with_bytes(57, struct.pack(">i", 0))), ErrorCode.INVALID_RECORD),
    "a negative last offset": (resealed(with_bytes(23, struct.pack(">i", -1))), ErrorCode.INVALID_RECORD),
    "an unknown codec": (resealed(with_bytes(21, struct.pack(">h", 5))), ErrorCode.INVALID_RECORD),
    "a control batch": (
        bytes(build_control_batch(ControlType.COMMIT, producer_id=4, producer_epoch=0, timestamp_ms=1)),
        None,
    ),
    "a producer without sequence": (batch(producer=(7, 0, -1)), ErrorCode.INVALID_RECORD),
    "a transaction": (batch(producer=(7, 0, 0), is_transactional=True), ErrorCode.INVALID_TXN_STATE),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_records_that_are_not_one_valid_batch_are_refused(world: TopicsWorld, case: str) -> None:
    records, error = REFUSALS[case]
    ticket = world.send(produce_api.API, produce_request(records), 9)
    answer = produced(world.answer(ticket))
    assert answer.error_code == (error or ErrorCode.INVALID_TXN_STATE)
    assert answer.base_offset == -1
    assert answer.error_message
    assert fetch(world).high_watermark == 0


def test_incomplete_batch_after_a_whole_one_is_dropped(world: TopicsWorld) -> None:
    assert produce(world, batch(b"whole") + batch()[:30]).error_code == ErrorCode.NONE
    assert values(fetch(world).records) == [b"whole"]


def test_zstd_needs_version_7(world: TopicsWorld) -> None:
    records = batch(codec=Codec.ZSTD)
    assert produce(world, records, version=6).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produce(world, records, version=7).error_code == ErrorCode.NONE


def test_batch_above_max_message_bytes_is_refused(world: TopicsWorld) -> None:
    world.create("small", max_message_bytes="100")
    assert produce(world, batch(b"x" * 200), topic="small").error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produce(world, batch(b"x"), topic="small").error_code == ErrorCode.NONE


@pytest.mark.parametrize("acks", [2, -2, 32767])
def test_other_acks_are_refused_after_the_check_of_the_batch(world: TopicsWorld, acks: int) -> None:
    assert produce(world, acks=acks).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert produce(world, b"", acks=acks).error_code == ErrorCode.INVALID_RECORD
    assert produce(world, acks=acks, topic="nowhere").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_transactional_id_is_refused(world: TopicsWorld) -> None:
    assert produce(world, transactional_id="tx").error_code == ErrorCode.INVALID_TXN_STATE


def test_internal_topics_are_read_only(world: TopicsWorld) -> None:
    from coordinator.core.topics.names import OFFSETS_TOPIC
    from tests.support.memory_log import MemoryLog

    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [MemoryLog()])
    assert produce(world, topic=OFFSETS_TOPIC).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


@pytest.mark.parametrize("partition", [-1, 2, 1 << 30])
def test_an_unknown_partition_is_refused(world: TopicsWorld, partition: int) -> None:
    assert produce(world, partition=partition).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_failed_append_is_taken_back(world: TopicsWorld) -> None:
    produce(world, batch(b"kept"))
    world.fail_appends = True
    answer = produce(world, batch(b"lost"))
    assert (answer.error_code, answer.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    world.fail_appends = False
    assert produce(world, batch(b"next")).base_offset == 1
    assert values(fetch(world).records) == [b"kept", b"next"]


def test_storage_error_is_not_leader_or_follower_before_version_4(world: TopicsWorld) -> None:
    world.fail_appends = True
    assert produce(world, version=3).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert produce(world, version=4).error_code == ErrorCode.KAFKA_STORAGE_ERROR


def test_appends_after_a_failed_one_fail_too(world: TopicsWorld) -> None:
    world.hold.add(TopicAppend)
    tickets = [send_batch(world, batch(value)) for value in (b"a", b"b", b"c")]
    first = world.held.popleft()
    world.held.clear()
    world.execute_topics(world._perform(first))
    world.execute_topics(
        world.topics.append_failed(world.partition("orders"), 1, ErrorCode.KAFKA_STORAGE_ERROR, world.now_ms)
    )
    codes = [produced(world.answer(ticket)).error_code for ticket in tickets]
    assert codes == [0, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR]
    assert world.partition("orders").next_offset == 1
    assert world.topics.producing.in_flight_bytes == 0


def test_bytes_that_wait_for_the_disk_are_bounded() -> None:
    big = batch(b"x" * 700_000)
    for limit, is_taken in ((2 * len(big), True), (2 * len(big) - 1, False)):
        world = TopicsWorld(log_max_queued_bytes=limit)
        world.create("orders")
        world.hold.add(TopicAppend)
        first, second = send_batch(world, big), send_batch(world, big)
        assert world.answer(first) is UNANSWERED
        assert (world.answer(second) is UNANSWERED) == is_taken
        if not is_taken:
            assert produced(world.answer(second)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        world.release(TopicAppend)
        assert produce(world, big).base_offset == (2 if is_taken else 1)


def test_offline_partition_refuses_batches(world: TopicsWorld) -> None:
    world.topics.went_offline(world.partition("orders"))
    assert produce(world).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert produce(world, partition=1).error_code == ErrorCode.NONE


# -- idempotent producers ----------------------------------------------------------------------------------------


def idempotent(world: TopicsWorld, sequence: int, *values: bytes, epoch: int = 0, producer: int = 7) -> tuple[int, int]:
    answer = produce(world, batch(*values, producer=(producer, epoch, sequence)))
    return answer.error_code, answer.base_offset


def test_repeated_batch_gets_its_first_offset(world: TopicsWorld) -> None:
    for sequence in range(5):
        assert idempotent(world, sequence) == (0, sequence)
    for sequence in range(5):
        assert idempotent(world, sequence) == (0, sequence), "the last five batches are kept"
    assert fetch(world).high_watermark == 5


def test_batch_older_than_the_last_five_is_out_of_order(world: TopicsWorld) -> None:
    for sequence in range(6):
        idempotent(world, sequence)
    assert idempotent(world, 0) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert idempotent(world, 1) == (0, 1)


def test_gap_in_sequence_numbers_is_out_of_order(world: TopicsWorld) -> None:
    assert idempotent(world, 0, b"a", b"b") == (0, 0)
    assert idempotent(world, 3) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert idempotent(world, 2) == (0, 2)


def test_new_epoch_begins_at_zero_and_ends_the_old_one(world: TopicsWorld) -> None:
    idempotent(world, 0)
    assert idempotent(world, 1, epoch=1) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert idempotent(world, 0, epoch=1) == (0, 1)
    assert idempotent(world, 1, epoch=0) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)


def test_sequences_wrap_around(world: TopicsWorld) -> None:
    last = 2**31 - 1
    assert idempotent(world, last - 1, b"a", b"b") == (0, 0)  # an unknown producer can begin with any sequence number
    assert idempotent(world, 0, b"c") == (0, 2)
    assert idempotent(world, last - 1, b"a", b"b") == (0, 0)
    assert idempotent(world, last, b"x", b"y", producer=8) == (0, 3)  # the batch itself wraps: last, 0
    assert idempotent(world, 1, producer=8) == (0, 5)


def test_pipelined_batches_follow_each_other_before_they_are_durable(world: TopicsWorld) -> None:
    world.hold.add(TopicAppend)
    tickets = [send_batch(world, batch(producer=(7, 0, sequence))) for sequence in range(5)]
    again = send_batch(world, batch(producer=(7, 0, 4)))
    assert world.answer(again) is UNANSWERED, "a repeated batch is not durable before the first one is"
    world.release(TopicAppend)
    assert [produced(world.answer(ticket)).base_offset for ticket in tickets] == [0, 1, 2, 3, 4]
    assert produced(world.answer(again)).base_offset == 4


def test_sequence_numbers_of_a_failed_append_are_taken_back(world: TopicsWorld) -> None:
    for sequence in range(6):
        idempotent(world, sequence)
    world.hold.add(TopicAppend)
    tickets = [send_batch(world, batch(producer=(7, 0, sequence))) for sequence in (6, 7)]
    repeated = send_batch(world, batch(producer=(7, 0, 7)))
    fresh = send_batch(world, batch(producer=(7, 1, 0)))
    world.held.clear()
    world.hold.clear()
    world.execute_topics(
        world.topics.append_failed(world.partition("orders"), 6, ErrorCode.KAFKA_STORAGE_ERROR, world.now_ms)
    )
    for ticket in (*tickets, repeated, fresh):
        assert produced(world.answer(ticket)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert idempotent(world, 7) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert idempotent(world, 1) == (0, 1), "the five batches before are kept"
    assert idempotent(world, 6) == (0, 6)


def test_silent_producer_expires() -> None:
    world = TopicsWorld(producer_id_expiration_ms=60_000, log_retention_check_interval_ms=10_000)
    world.create("orders")
    idempotent(world, 0)
    world.advance(50_000)
    assert idempotent(world, 5) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    world.advance(20_000)
    assert idempotent(world, 5) == (0, 1)


def test_sequence_numbers_are_counted_for_each_partition(world: TopicsWorld) -> None:
    idempotent(world, 0)
    assert produce(world, batch(producer=(7, 0, 3)), partition=1).error_code == ErrorCode.NONE


def test_producers_of_all_partitions_are_as_many_as_allowed_and_those_of_a_deleted_topic_are_forgotten() -> None:
    world = TopicsWorld(max_producers=2)
    budget = world.topics.catalogue.producers
    world.create("orders", 2)
    for partition in range(2):
        assert produce(world, batch(producer=(7, 0, 0)), partition=partition).error_code == ErrorCode.NONE
    assert len(budget) == 2
    assert produce(world, batch(producer=(8, 0, 0))).error_code == ErrorCode.NONE
    assert len(budget) == 2
    assert produce(world, batch(producer=(7, 0, 5))).error_code == ErrorCode.NONE, "forgotten, so any number goes"
    assert produce(world, batch(producer=(8, 0, 5))).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    world.call(delete_topics.API, DeleteTopicsRequest(topic_names=["orders"]), 1)
    world.advance(1)
    assert len(budget) == 0
