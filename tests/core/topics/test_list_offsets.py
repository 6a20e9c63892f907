"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords."""

from __future__ import annotations

import pytest

from coordinator.core.topics.effects import TrimLog
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.server.api import delete_records as delete_records_api
from coordinator.server.api import list_offsets as list_offsets_api
from coordinator.server.api import offset_for_leader_epoch as epoch_api
from protocol.error_codes import ErrorCode
from protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.support.memory_log import MemoryLog
from tests.support.topics_wire import TIMESTAMP, batch, fetch, list_offsets, produce, send_fetch
from tests.support.topics_world import UNANSWERED, TopicsWorld

LATEST, EARLIEST, MAX, LOCAL, TIERED, PENDING = range(-1, -7, -1)
SIZE = len(batch())


@pytest.fixture
def world() -> TopicsWorld:
    world = TopicsWorld(segment_bytes=3 * SIZE)
    world.create("orders")
    for number in range(10):
        produce(world, batch(timestamp=TIMESTAMP + number * 10))
    return world


def ask(world: TopicsWorld, timestamp: int, **about: int) -> tuple[int, int, int, int]:
    [answer] = list_offsets(world, [timestamp], **about)  # type: ignore[arg-type]
    return answer.error_code, answer.offset, answer.timestamp, answer.leader_epoch


def test_latest_and_earliest_offsets(world: TopicsWorld) -> None:
    assert ask(world, LATEST) == (0, 10, -1, 0)
    assert ask(world, EARLIEST) == (0, 0, -1, 0)
    assert ask(world, LOCAL) == (0, 0, -1, 0)


def test_timestamp_finds_the_first_record_at_or_after_it(world: TopicsWorld) -> None:
    assert ask(world, TIMESTAMP + 41) == (0, 5, TIMESTAMP + 50, 0)
    assert ask(world, TIMESTAMP + 50) == (0, 5, TIMESTAMP + 50, 0)
    assert ask(world, 0) == (0, 0, TIMESTAMP, 0)


def test_timestamp_after_the_newest_record_finds_none(world: TopicsWorld) -> None:
    assert ask(world, TIMESTAMP + 91) == (0, -1, -1, -1)


def test_max_timestamp_finds_a_record_that_is_not_the_last(world: TopicsWorld) -> None:
    produce(world, batch(timestamp=TIMESTAMP + 500))
    produce(world, batch(timestamp=TIMESTAMP + 5))
    assert ask(world, MAX) == (0, 10, TIMESTAMP + 500, 0)


def test_max_timestamp_finds_no_record_in_an_empty_partition() -> None:
    world = TopicsWorld()
    world.create("orders")
    assert ask(world, MAX) == (0, -1, -1, -1)
    assert ask(world, LATEST) == (0, 0, -1, 0)


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        (1, {MAX, LOCAL, TIERED, PENDING}),
        (6, {MAX, LOCAL, TIERED}),
        (7, {LOCAL, TIERED}),
        (8, {TIERED, PENDING, -(1 << 40)}),
        (9, {PENDING, -7}),
        (10, {PENDING, -7}),
        (11, {-7, -(1 << 40)}),
    ],
)
def test_special_timestamps_of_later_versions_are_refused(world: TopicsWorld, version: int, refused: set[int]) -> None:
    for timestamp in (LATEST, EARLIEST, *refused):
        [answer] = list_offsets(world, [timestamp], version=version)
        assert answer.error_code == (ErrorCode.UNSUPPORTED_VERSION if timestamp in refused else ErrorCode.NONE)


def test_no_offset_is_in_remote_storage_or_on_its_way_to_it(world: TopicsWorld) -> None:
    for version in (9, 10, 11):
        assert ask(world, TIERED, version=version) == (0, -1, -1, -1)
    assert ask(world, PENDING, version=11) == (0, -1, -1, -1)
    assert ask(world, LOCAL, version=11) == ask(world, EARLIEST)


def test_unknown_partitions_and_epochs_are_errors(world: TopicsWorld) -> None:
    known, unknown = list_offsets(world, [LATEST, LATEST])
    assert (known.error_code, unknown.error_code) == (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert (unknown.offset, unknown.timestamp) == (-1, -1)
    assert ask(world, LATEST, leader_epoch=0)[0] == ErrorCode.NONE
    assert ask(world, LATEST, leader_epoch=4)[0] == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_partition_named_twice_is_an_invalid_request(world: TopicsWorld) -> None:
    asked = ListOffsetsPartition(partition_index=0, timestamp=LATEST)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=[asked, asked])])
    answer = world.call(list_offsets_api.API, request, 5)
    assert [each.error_code for each in answer.topics[0].partitions] == [ErrorCode.INVALID_REQUEST] * 2


def test_offsets_of_the_offsets_log_can_be_listed(world: TopicsWorld) -> None:
    log = MemoryLog()
    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [log])
    log.append(batch(), 0, TIMESTAMP)
    log.high_watermark = 1
    [answer] = list_offsets(world, [LATEST], topic=OFFSETS_TOPIC)
    assert answer.offset == 1


# -- OffsetForLeaderEpoch ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [2, 3, 4])
@pytest.mark.parametrize(
    ("partition", "current", "epoch", "expected"),
    [
        (0, -1, 0, (0, 0, 10)),
        (0, 0, 0, (0, 0, 10)),
        (0, -1, 1, (0, -1, -1)),
        (0, -1, -1, (0, -1, -1)),
        (0, 3, 0, (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1)),
        (5, -1, 0, (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1)),
    ],
)
def test_end_of_the_leader_epoch_is_the_end_of_the_partition(
    world: TopicsWorld, version: int, partition: int, current: int, epoch: int, expected: tuple[int, int, int]
) -> None:
    asked = OffsetForLeaderPartition(partition=partition, current_leader_epoch=current, leader_epoch=epoch)
    request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic="orders", partitions=[asked])])
    [answer] = world.call(epoch_api.API, request, version).topics[0].partitions
    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == expected


# -- DeleteRecords -----------------------------------------------------------------------------------------------


def deletion(offset: int, *, topic: str = "orders", partition: int = 0) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        topics=[
            DeleteRecordsTopic(
                name=topic, partitions=[DeleteRecordsPartition(partition_index=partition, offset=offset)]
            )
        ]
    )


def delete(world: TopicsWorld, offset: int, version: int = 2, **about: int | str) -> tuple[int, int]:
    answer = world.call(delete_records_api.API, deletion(offset, **about), version)  # type: ignore[arg-type]
    [partition] = answer.topics[0].partitions
    return partition.error_code, partition.low_watermark


def test_deleted_records_cannot_be_fetched(world: TopicsWorld) -> None:
    assert delete(world, 4) == (0, 4)
    assert fetch(world, 3).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    answer = fetch(world, 4)
    assert (answer.error_code, answer.log_start_offset, answer.high_watermark) == (0, 4, 10)
    assert ask(world, EARLIEST)[1] == 4
    assert produce(world).log_start_offset == 4


@pytest.mark.parametrize("version", [0, 1, 2])
def test_offset_minus_one_deletes_all_records(world: TopicsWorld, version: int) -> None:
    assert delete(world, -1, version) == (0, 10)
    assert ask(world, EARLIEST)[1] == ask(world, LATEST)[1] == 10


def test_deletion_before_the_log_start_changes_nothing(world: TopicsWorld) -> None:
    delete(world, 6)
    assert delete(world, 2) == (0, 6)


def test_response_waits_until_the_records_are_deleted(world: TopicsWorld) -> None:
    world.hold.add(TrimLog)
    ticket = world.send(delete_records_api.API, deletion(4), 2)
    assert world.answer(ticket) is UNANSWERED
    world.release(TrimLog)
    assert world.answer(ticket).topics[0].partitions[0].low_watermark == 4


def test_records_of_a_topic_with_an_empty_cleanup_policy_can_be_deleted(world: TopicsWorld) -> None:
    world.create("kept", cleanup_policy="")
    assert delete(world, 0, topic="kept") == (0, 0)


def test_invalid_deletions_are_refused(world: TopicsWorld) -> None:
    world.create("compacted", cleanup_policy="compact")
    world.topics.add_internal(OFFSETS_TOPIC, b"i" * 16, [MemoryLog()])
    assert delete(world, 11) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(world, -2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(world, 0, partition=3) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(world, 0, topic="compacted") == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete(world, 0, topic=OFFSETS_TOPIC) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


def test_fetch_waiting_at_a_deleted_offset_gets_an_error(world: TopicsWorld) -> None:
    ticket = send_fetch(world, 9, min_bytes=1000)
    assert world.answer(ticket) is UNANSWERED
    delete(world, -1)
    assert world.answer(ticket).responses[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE
