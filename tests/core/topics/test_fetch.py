"""Fetch: limits, long polls that complete exactly once, errors, and data that is read from disk."""

from __future__ import annotations

import pytest

from coordinator.core.topics.effects import Read, TopicAppend
from coordinator.core.topics.fetch import MAX_WAIT_MS
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.core.topics.tail_cache import OVERHEAD_BYTES
from coordinator.server.api import fetch as fetch_api
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest
from protocol.record_batch import read_header
from tests.support.memory_log import MemoryLog
from tests.support.topics_wire import (
    base_offsets,
    batch,
    fetch,
    fetch_request,
    fetched,
    produce,
    send_batch,
    send_fetch,
    values,
)
from tests.support.topics_world import UNANSWERED, TopicsWorld

SIZE = len(batch())


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld()
    world.create("orders", 3)
    return world


@pytest.fixture(params=["memory", "disk"])
def small_world(request: pytest.FixtureRequest) -> TopicsWorld:
    """A world with ten batches in the tail cache, or on disk if the cache is tiny."""
    world = TopicsWorld(tails_bytes=1 << 20 if request.param == "memory" else 1)
    world.create("orders", 3)
    for number in range(10):
        produce(world, batch(b"%05d" % number))
    return world


# -- limits ------------------------------------------------------------------------------------------------------


def test_fetch_begins_with_the_batch_that_contains_its_offset(small_world: TopicsWorld) -> None:
    produce(small_world, batch(b"a", b"b", b"c"))
    assert base_offsets(fetch(small_world, 11).records) == [10]
    assert base_offsets(fetch(small_world, 4).records) == [4, 5, 6, 7, 8, 9, 10]


def test_whole_batches_are_returned_within_the_partition_limit(small_world: TopicsWorld) -> None:
    assert base_offsets(fetch(small_world, 2, partition_max_bytes=3 * SIZE + 1).records) == [2, 3, 4]


def test_whole_batches_are_returned_within_the_request_limit(small_world: TopicsWorld) -> None:
    assert base_offsets(fetch(small_world, 2, max_bytes=2 * SIZE).records) == [2, 3]


@pytest.mark.parametrize("limits", [{"max_bytes": 1}, {"partition_max_bytes": 1}, {"max_bytes": 0}, {"max_bytes": -5}])
def test_first_batch_is_whole_however_large(small_world: TopicsWorld, limits: dict[str, int]) -> None:
    assert base_offsets(fetch(small_world, 3, **limits).records) == [3]


def test_partitions_share_the_limit_in_the_order_of_the_request(small_world: TopicsWorld) -> None:
    for partition in (1, 2):
        for _ in range(3):
            produce(small_world, partition=partition)
    request = fetch_request(
        {("orders", 2): 0, ("orders", 0): 0, ("orders", 1): 0}, max_bytes=5 * SIZE, partition_max_bytes=4 * SIZE
    )
    answer = small_world.call(fetch_api.API, request, 11)
    got = {topic.partitions[0].partition_index: base_offsets(topic.partitions[0].records) for topic in answer.responses}
    assert got == {2: [0, 1, 2], 0: [0, 1], 1: []}


def test_only_the_first_partition_with_data_may_exceed_the_limit(small_world: TopicsWorld) -> None:
    produce(small_world, partition=1)
    request = fetch_request({("orders", 2): 0, ("orders", 1): 0, ("orders", 0): 0}, max_bytes=1)
    answer = small_world.call(fetch_api.API, request, 11)
    assert [base_offsets(topic.partitions[0].records) for topic in answer.responses] == [[], [0], []]


@pytest.mark.parametrize(("missing", "batches"), [(0, 20), (1, 19)])
def test_fetch_max_bytes_limits_the_response(missing: int, batches: int) -> None:
    size = len(batch())
    world = TopicsWorld(fetch_max_bytes=20 * size - missing)
    world.create("orders")
    for _ in range(40):
        produce(world)
    assert len(fetch(world).records or b"") == batches * size


# -- long polls --------------------------------------------------------------------------------------------------


def test_fetch_waits_for_data_and_completes_with_it(world: TopicsWorld) -> None:
    ticket = send_fetch(world)
    world.advance(499)
    assert world.answer(ticket) is UNANSWERED
    produce(world, batch(b"news"))
    assert values(fetched(world.answer(ticket)).records) == [b"news"]
    world.advance(10_000)  # its deadline passes too; the world raises on a second reply
    assert world.topics.fetches.waiting == 0


def test_fetch_without_data_completes_at_its_deadline(world: TopicsWorld) -> None:
    ticket = send_fetch(world, max_wait_ms=500)
    world.advance(499)
    assert world.answer(ticket) is UNANSWERED
    world.advance(1)
    answer = fetched(world.answer(ticket))
    assert (answer.error_code, answer.records, answer.high_watermark) == (0, b"", 0)
    produce(world)  # no fetch waits any more
    assert world.topics.fetches.waiting == 0


def test_fetch_without_a_wait_completes_at_once(world: TopicsWorld) -> None:
    assert fetch(world).records == b""
    ticket = send_fetch(world, min_bytes=0, max_wait_ms=500)
    assert fetched(world.answer(ticket)).records == b""


def test_fetch_without_partitions_completes_at_once(world: TopicsWorld) -> None:
    assert world.call(fetch_api.API, FetchRequest(max_wait_ms=500, min_bytes=1), 11).responses == []


def test_fetch_of_very_many_partitions_takes_steps() -> None:
    world = TopicsWorld()
    world.create("wide", 2500)
    produce(world, batch(b"last"), topic="wide", partition=2499)
    request = fetch_request({("wide", 0): 0}, max_wait_ms=0)
    request.topics[0].partitions = [FetchPartition(partition=each, partition_max_bytes=1 << 20) for each in range(2500)]
    [topic] = world.call(fetch_api.API, request, 11).responses
    assert [each.partition_index for each in topic.partitions if each.records] == [2499]
    assert len(topic.partitions) == 2500
    assert world.steps == 1  # steps of 1000 partitions; `steps` counts all but the last


def test_fetch_waits_for_its_minimum_bytes(world: TopicsWorld) -> None:
    produce(world, batch(b"first"))
    ticket = send_fetch(world, min_bytes=3 * SIZE)
    produce(world)
    assert world.answer(ticket) is UNANSWERED
    produce(world)
    assert base_offsets(fetched(world.answer(ticket)).records) == [0, 1, 2]


def test_bytes_of_all_partitions_count_for_the_minimum(world: TopicsWorld) -> None:
    request = fetch_request({("orders", 0): 0, ("orders", 1): 0}, min_bytes=2 * SIZE)
    ticket = world.send(fetch_api.API, request, 11)
    produce(world, partition=2)
    produce(world, partition=1)
    assert world.answer(ticket) is UNANSWERED
    produce(world, partition=0)
    assert world.answer(ticket) is not UNANSWERED


def test_fetch_below_its_minimum_returns_its_data_at_the_deadline(world: TopicsWorld) -> None:
    produce(world)
    ticket = send_fetch(world, min_bytes=10 * SIZE)
    produce(world)
    world.advance(500)
    assert base_offsets(fetched(world.answer(ticket)).records) == [0, 1]


def test_minimum_above_the_partition_limit_is_never_reached(world: TopicsWorld) -> None:
    ticket = send_fetch(world, min_bytes=3 * SIZE, partition_max_bytes=2 * SIZE)
    for _ in range(5):
        produce(world)
    assert world.answer(ticket) is UNANSWERED  # as with Kafka
    world.advance(500)
    assert base_offsets(fetched(world.answer(ticket)).records) == [0, 1]


def test_minimum_above_the_request_limit_is_lowered_to_the_limit(world: TopicsWorld) -> None:
    ticket = send_fetch(world, min_bytes=1 << 30, max_bytes=2 * SIZE)
    produce(world)
    assert world.answer(ticket) is UNANSWERED
    produce(world)
    assert base_offsets(fetched(world.answer(ticket)).records) == [0, 1]


def test_data_on_disk_below_the_minimum_waits_for_more() -> None:
    world = TopicsWorld(tails_bytes=1)
    world.create("orders")
    produce(world, batch(b"first"))
    ticket = send_fetch(world, min_bytes=3 * SIZE)
    assert world.answer(ticket) is UNANSWERED
    produce(world)
    assert world.answer(ticket) is UNANSWERED
    produce(world)
    assert base_offsets(fetched(world.answer(ticket)).records) == [0, 1, 2]


def test_data_on_disk_at_the_end_of_a_segment_is_returned_at_once() -> None:
    world = TopicsWorld(tails_bytes=1, segment_bytes=2 * SIZE)
    world.create("orders")
    for _ in range(6):
        produce(world)
    answer = fetched(world.answers[send_fetch(world, min_bytes=5 * SIZE)])
    assert base_offsets(answer.records) == [0, 1]


def test_data_appended_during_a_read_from_disk_is_counted() -> None:
    world = TopicsWorld(tails_bytes=1)
    world.create("orders")
    produce(world)
    world.hold.add(Read)
    ticket = send_fetch(world, min_bytes=2 * SIZE)
    produce(world)
    world.release(Read)
    assert world.answer(ticket) is not UNANSWERED


def test_waiting_fetch_holds_no_data(world: TopicsWorld) -> None:
    on_disk = TopicsWorld(tails_bytes=1)
    on_disk.create("orders")
    produce(on_disk, batch(b"x" * 1000))
    ticket = send_fetch(on_disk, min_bytes=5000)
    [operation] = on_disk.topics.fetches._watchers[on_disk.partition("orders")]
    assert all(not slot.result.records for slot in operation.fetch.slots)  # type: ignore[attr-defined]
    on_disk.advance(500)
    assert len(fetched(on_disk.answer(ticket)).records or b"") > 1000


def test_deletion_of_the_topic_completes_a_fetch(world: TopicsWorld) -> None:
    from coordinator.server.api import delete_topics
    from protocol.messages.delete_topics import DeleteTopicsRequest

    ticket = send_fetch(world)
    world.call(delete_topics.API, DeleteTopicsRequest(topic_names=["orders"]), 1)
    assert fetched(world.answer(ticket)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_wait_is_limited_to_max_wait_ms(world: TopicsWorld) -> None:
    ticket = send_fetch(world, max_wait_ms=2**31 - 1)
    world.advance(MAX_WAIT_MS)
    assert world.answer(ticket) is not UNANSWERED


def test_a_fetch_waits_no_longer_than_the_server_allows() -> None:
    world = TopicsWorld(fetch_max_wait_ms=50)
    world.create("orders")
    ticket = send_fetch(world, max_wait_ms=500)
    world.advance(49)
    assert world.answer(ticket) is UNANSWERED
    world.advance(1)
    assert world.answer(ticket) is not UNANSWERED


def test_fetch_does_not_wait_if_more_fetches_wait_than_connections_are_allowed() -> None:
    world = TopicsWorld(max_connections=2)
    world.create("orders")
    waiting = [send_fetch(world) for _ in range(4)]
    assert all(world.answer(ticket) is UNANSWERED for ticket in waiting)
    assert world.answer(send_fetch(world)) is not UNANSWERED


def test_shutdown_completes_every_waiting_fetch(world: TopicsWorld) -> None:
    tickets = [send_fetch(world, max_wait_ms=wait) for wait in (500, 30_000, MAX_WAIT_MS)]
    world.execute_topics(world.topics.shutdown(world.now_ms))
    assert all(fetched(world.answer(ticket)).error_code == 0 for ticket in tickets)


def test_only_durable_data_completes_a_fetch(world: TopicsWorld) -> None:
    ticket = send_fetch(world)
    world.hold.add(TopicAppend)
    send_batch(world)
    assert world.answer(ticket) is UNANSWERED
    world.release(TopicAppend)
    assert world.answer(ticket) is not UNANSWERED


# -- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-1, 11, 1 << 40])
def test_offset_outside_the_log_is_an_error_at_once(small_world: TopicsWorld, offset: int) -> None:
    answer = fetched(small_world.answers[send_fetch(small_world, offset, max_wait_ms=500)])
    assert answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (-1, -1, -1)
    assert answer.records == b""


def test_error_in_one_partition_completes_the_fetch(world: TopicsWorld) -> None:
    produce(world)
    request = fetch_request({("orders", 0): 0, ("orders", 9): 0, ("nowhere", 0): 0}, min_bytes=1000)
    answer = world.call(fetch_api.API, request, 11)
    codes = [topic.partitions[0].error_code for topic in answer.responses]
    assert codes == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert values(answer.responses[0].partitions[0].records) == [b"value"]


def test_leader_epochs_are_compared(world: TopicsWorld) -> None:
    assert fetch(world, leader_epoch=0).error_code == ErrorCode.NONE
    assert fetch(world, leader_epoch=1).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    assert fetch(world, leader_epoch=-2).error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_error_of_an_offline_partition_depends_on_the_version(world: TopicsWorld) -> None:
    world.topics.went_offline(world.partition("orders"))
    assert fetch(world).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert fetch(world, version=5).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_read_error_is_an_error_of_its_partition(small_world: TopicsWorld) -> None:
    produce(small_world, partition=1)
    small_world.fail_reads = True
    request = fetch_request({("orders", 0): 0, ("orders", 1): 0})
    answer = small_world.call(fetch_api.API, request, 11)
    expected = ErrorCode.KAFKA_STORAGE_ERROR if small_world.topics.tails.limit_bytes == 1 else ErrorCode.NONE
    assert answer.responses[0].partitions[0].error_code == expected


def test_records_deleted_while_they_are_read_are_out_of_range() -> None:
    world = TopicsWorld(tails_bytes=1, segment_bytes=SIZE)
    world.create("orders")
    for _ in range(4):
        produce(world)
    world.hold.add(Read)
    ticket = send_fetch(world, 0)
    world.logs[world.partition("orders")].delete_up_to(3)
    world.release(Read)
    assert fetched(world.answer(ticket)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


# -- topic ids, sessions, isolation ------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [13, 16])
def test_topics_are_named_by_id_since_version_13(world: TopicsWorld, version: int) -> None:
    produce(world)
    topic_id = world.partition("orders").topic.topic_id
    request = fetch_request({("orders", 0): 0}, ids={"orders": topic_id})
    answer = world.call(fetch_api.API, request, version)
    assert answer.responses[0].topic_id == topic_id
    assert values(fetched(answer).records) == [b"value"]


def test_unknown_topic_id_is_an_error(world: TopicsWorld) -> None:
    request = fetch_request({("orders", 0): 0}, ids={"orders": b"\x07" * 16})
    answer = world.call(fetch_api.API, request, 13)
    assert answer.responses[0].topic_id == b"\x07" * 16
    assert fetched(answer).error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("session", [(0, 0), (0, -1), (55, -1), (55, 0)])
def test_full_fetch_is_served_without_a_session(world: TopicsWorld, session: tuple[int, int]) -> None:
    produce(world)
    answer = world.call(fetch_api.API, fetch_request({("orders", 0): 0}, session=session), 11)
    assert answer.session_id == 0
    assert values(fetched(answer).records) == [b"value"]


def test_fetch_in_a_session_gets_fetch_session_id_not_found(world: TopicsWorld) -> None:
    answer = world.call(fetch_api.API, fetch_request({}, session=(55, 3)), 11)
    assert answer.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert answer.responses == []


def test_read_committed_gets_an_empty_list_of_aborted_transactions(world: TopicsWorld) -> None:
    produce(world)
    assert fetch(world).aborted_transactions is None
    committed = fetch(world, isolation_level=1)
    assert committed.aborted_transactions == []
    assert committed.last_stable_offset == committed.high_watermark == 1


def test_zstd_is_refused_before_version_10(small_world: TopicsWorld) -> None:
    produce(small_world, batch(b"z", codec=Codec.ZSTD))
    assert fetch(small_world, version=9).error_code == ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert fetch(small_world, version=10).error_code == ErrorCode.NONE
    assert fetch(small_world, 0, partition_max_bytes=2 * SIZE, version=9).error_code == ErrorCode.NONE


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version_with_names_is_served(world: TopicsWorld, version: int) -> None:
    produce(world)
    assert values(fetch(world, version=version).records) == [b"value"]


# -- internal topics ---------------------------------------------------------------------------------------------


def test_offsets_log_can_be_fetched_with_a_long_poll(world: TopicsWorld) -> None:
    log = MemoryLog()
    world.logs[world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [log])[0]] = log
    ticket = send_fetch(world, topic=OFFSETS_TOPIC)
    assert world.answer(ticket) is UNANSWERED
    record = batch(b"commit")
    log.append(record, 0, read_header(record).max_timestamp)
    world.execute_topics(world.topics.internal_appended(OFFSETS_TOPIC, 0, world.now_ms))
    world.settle()
    assert world.answer(ticket) is UNANSWERED, "appended, but not durable"
    log.high_watermark = 1
    world.execute_topics(world.topics.internal_appended(OFFSETS_TOPIC, 0, world.now_ms))
    world.settle()
    answer = fetched(world.answer(ticket))
    assert (values(answer.records), answer.high_watermark) == ([b"commit"], 1)
    assert values(fetch(world, 0, topic=OFFSETS_TOPIC).records) == [b"commit"]


def test_append_to_the_offsets_log_without_a_waiting_fetch_has_no_effects(world: TopicsWorld) -> None:
    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [MemoryLog()])
    assert not any(world.topics.internal_appended(OFFSETS_TOPIC, 0, world.now_ms))


# -- memory ------------------------------------------------------------------------------------------------------


def test_new_data_is_read_from_memory_and_old_data_from_disk() -> None:
    world = TopicsWorld(tails_bytes=20 * (SIZE + 150))
    world.create("orders")
    for _ in range(100):
        produce(world)
    assert base_offsets(fetch(world, 95).records) == [95, 96, 97, 98, 99]
    assert world.reads == 0
    assert len(base_offsets(fetch(world, 0).records)) == 100
    assert world.reads == 1


@pytest.mark.parametrize(("less", "first"), [(0, 0), (1, 1)])
def test_tail_caches_hold_as_many_bytes_as_allowed_and_one_more_is_read_from_the_disk(less: int, first: int) -> None:
    world = TopicsWorld(tails_bytes=3 * (SIZE + OVERHEAD_BYTES) - less)
    world.create("orders", 2)
    for partition in (0, 0, 1):
        produce(world, partition=partition)
    assert world.topics.tails.used_bytes == (3 - first) * (SIZE + OVERHEAD_BYTES)
    assert base_offsets(fetch(world, first).records) == [0, 1][first:]
    assert world.reads == 0
    assert base_offsets(fetch(world, 0).records) == [0, 1]
    assert world.reads == first


def test_all_tail_caches_together_stay_within_their_limit() -> None:
    world = TopicsWorld(tails_bytes=50_000)
    world.create("orders", 3)
    for number in range(300):
        produce(world, batch(b"x" * 500), partition=number % 3)
        assert world.topics.tails.used_bytes <= 50_000
    held = sum(world.partition("orders", index).tail.held_bytes for index in range(3))
    assert held == world.topics.tails.used_bytes


def test_response_is_bounded_whatever_the_client_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("coordinator.core.topics.fetch.MAX_RESPONSE_BYTES", 5 * SIZE)
    world = TopicsWorld()
    world.create("orders")
    for _ in range(20):
        produce(world)
    assert base_offsets(fetch(world, max_bytes=2**31 - 1, partition_max_bytes=2**31 - 1).records) == [0, 1, 2, 3, 4]
    ticket = send_fetch(world, 15, min_bytes=2**31 - 1, max_bytes=2**31 - 1)
    assert base_offsets(fetched(world.answer(ticket)).records) == [15, 16, 17, 18, 19], "the minimum is bounded too"
