"""TopicLogs: the files after each operation, the state after a restart, and the errors of a failing disk."""

from __future__ import annotations

import errno
import logging
from pathlib import Path
from typing import Any

import pytest

from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.server.api import create_topics as create_topics_api
from coordinator.server.api import delete_topics as delete_topics_api
from coordinator.server.api import fetch as fetch_api
from coordinator.server.api import incremental_alter_configs as alter_api
from coordinator.server.api import list_offsets as list_offsets_api
from coordinator.server.api import metadata as metadata_api
from coordinator.server.api import produce as produce_api
from coordinator.storage import producer_checkpoint as topic_producers
from coordinator.storage.catalogue_store import CatalogueStoreError
from coordinator.storage.log.log import Log, LogConfig
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceResponse
from protocol.messages.write_txn_markers import WritableTxnMarker, WritableTxnMarkerTopic, WriteTxnMarkersRequest
from tests.support.topic_logs_world import DATA, ManualTopicLogsWorld, TopicLogsWorld
from tests.support.topic_transactions import MARKERS, FakeTransactionCoordinator, marked
from tests.support.topic_words import (
    create,
    create_request,
    delete,
    directories,
    grow,
    produce,
    producer_id,
    read,
    read_all,
)
from tests.support.topics_wire import batch, fetch_request, fetched, produce_request, produced, values


@pytest.fixture
def world() -> ManualTopicLogsWorld:
    return ManualTopicLogsWorld()


def restart(world: ManualTopicLogsWorld) -> None:
    """Kill the process and start a new one: written bytes are in the kernel and survive."""
    world.boot(world.fs)


def text(world: ManualTopicLogsWorld, name: str) -> bytes:
    file = world.fs.open(DATA / name)
    return file.pread(file.size(), 0)


# -- the catalogue -----------------------------------------------------------------------------------------------


def test_a_topic_is_a_directory_for_each_partition(world: ManualTopicLogsWorld) -> None:
    assert create(world, "orders", 3) == 0
    assert directories(world) == ["orders-0", "orders-1", "orders-2"]
    assert "00000000000000000000.log" in world.fs.listdir(DATA / "orders-1")


def test_topics_records_and_settings_survive_a_restart(world: ManualTopicLogsWorld) -> None:
    create(world, "orders", 2, retention_ms="77")
    for value in (b"a", b"b", b"c"):
        produce(world, batch(value), partition=1)
    topic_id = world.topics.catalogue.topics["orders"].topic_id
    restart(world)
    topic = world.topics.catalogue.topics["orders"]
    assert (topic.topic_id, topic.configs) == (topic_id, {"retention.ms": "77"})
    assert read_all(world, "orders", 1) == [b"a", b"b", b"c"]
    assert produce(world, partition=1).base_offset == 3


def test_a_grown_topic_is_grown_after_a_restart(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    assert grow(world, "orders", 3) == 0
    restart(world)
    assert produce(world, partition=2).error_code == 0


def test_ids_of_topics_are_random_uuids(world: ManualTopicLogsWorld) -> None:
    for number in range(20):
        create(world, f"t{number}")
    ids = {topic.topic_id for topic in world.topics.catalogue.topics.values()}
    assert len(ids) == 20
    assert all(topic_id[6] >> 4 == 4 for topic_id in ids)


def test_a_deleted_topic_leaves_no_files(world: ManualTopicLogsWorld) -> None:
    create(world, "orders", 2)
    produce(world)
    assert delete(world, "orders") == 0
    assert directories(world) == []
    assert [tuple(each) for each in world.deleted] == [("orders", (0, 1))]
    assert create(world, "orders") == 0
    assert read_all(world) == []


def test_a_directory_in_the_way_is_moved_aside(world: ManualTopicLogsWorld, caplog: pytest.LogCaptureFixture) -> None:
    old = Log.open(DATA / "orders-0", LogConfig(), world.fs)
    old.append(batch(b"of another program"), 0, 1)
    old.close()
    assert create(world, "orders") == 0
    assert read_all(world) == []
    assert len([name for name in directories(world) if name.endswith("-stray")]) == 1
    assert "in the way" in caplog.text


def test_a_directory_of_no_topic_is_not_touched_and_is_logged(
    world: ManualTopicLogsWorld, caplog: pytest.LogCaptureFixture
) -> None:
    world.fs.mkdir(DATA / "payments-3")
    restart(world)
    assert "payments-3" in caplog.text
    assert directories(world) == ["payments-3"]


def test_preloaded_topics_exist_from_the_start() -> None:
    world = ManualTopicLogsWorld(topics_preload="orders:3,payments:1")
    assert produce(world, partition=2).error_code == 0
    restart(world)
    assert read_all(world, "orders", 2) == [b"value"]
    assert len(world.topics.catalogue.topics["orders"].partitions) == 3


def test_an_automatically_created_topic_is_durable(world: ManualTopicLogsWorld) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="new")])
    assert world.call(metadata_api.API, request, 9).topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    restart(world)
    assert world.call(metadata_api.API, request, 9).topics[0].error_code == 0


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"version": 9, "reserved_up_to": 1e400}', b"\xff\xfe", b"[" * 100_000], ids=len
)
@pytest.mark.parametrize("name", ["topics.json", "producer-ids.json"])
def test_a_damaged_catalogue_stops_the_start_with_an_error_message(
    world: ManualTopicLogsWorld, name: str, content: bytes
) -> None:
    world.fs.open(DATA / name, create=True).pwrite(content, 0)
    with pytest.raises(CatalogueStoreError, match=name):
        restart(world)


# -- interrupted changes -----------------------------------------------------------------------------------------


def test_a_topic_whose_directories_were_not_made_yet_is_completed(world: ManualTopicLogsWorld) -> None:
    world.send(create_topics_api.API, create_request("orders", 3), 7)
    world.fs.crash_after(12)  # the catalogue is durable, the second directory is being made
    world.settle()
    assert world.fs.is_off
    world.boot(world.fs.crash())
    assert directories(world) == ["orders-0", "orders-1", "orders-2"]
    assert produce(world, partition=2).error_code == 0


def test_directories_of_a_deletion_that_was_interrupted_are_removed(world: ManualTopicLogsWorld) -> None:
    create(world, "orders", 2)
    produce(world)
    world.send(delete_topics_api.API, DeleteTopicsRequest(topic_names=["orders"]), 5)
    world.changer.step()  # the catalogue is written, no directory is renamed
    assert directories(world) == ["orders-0", "orders-1"]
    restart(world)
    assert "orders" not in world.topics.catalogue.topics
    assert directories(world) == []
    assert create(world, "orders") == 0
    assert read_all(world) == []


def test_directories_that_were_renamed_but_not_removed_are_removed_at_the_next_start(
    world: ManualTopicLogsWorld,
) -> None:
    create(world, "orders")
    world.fs.fail("unlink", times=1 << 30)
    assert delete(world, "orders") == 0
    assert [name.endswith("-delete") for name in directories(world)] == [True]
    world.fs.heal()
    restart(world)
    assert directories(world) == []


def test_records_in_a_directory_that_cannot_be_renamed_do_not_reappear(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    produce(world)
    world.fs.fail("rename", name="orders-0", times=1)
    assert delete(world, "orders") == 0
    assert directories(world) == ["orders-0"]
    assert create(world, "orders") == 0
    assert read_all(world) == []
    restart(world)
    assert read_all(world) == []
    assert produce(world, batch(b"new")).base_offset == 0


def test_a_creation_on_a_full_disk_leaves_no_files(world: ManualTopicLogsWorld) -> None:
    create(world, "first")
    world.fs.fail("mkdir", errno.ENOSPC, name="orders-1")
    assert create(world, "orders", 3) == ErrorCode.KAFKA_STORAGE_ERROR
    assert directories(world) == ["first-0"]
    restart(world)
    assert set(world.topics.catalogue.topics) == {"first"}
    assert create(world, "orders", 3) == 0


def test_a_catalogue_that_may_have_been_written_is_restored(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    world.fs.fail("fsync_dir")  # after the rename: the new catalogue may or may not be durable
    assert delete(world, "orders") == ErrorCode.KAFKA_STORAGE_ERROR
    produce(world, batch(b"still here"))
    world.boot(world.fs.crash())
    assert "orders" in world.topics.catalogue.topics


# -- producing ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["sync", "interval"])
def test_guarantees_of_a_produce_response_by_flush_policy(policy: str) -> None:
    world = ManualTopicLogsWorld(topic_flush_policy=policy)
    create(world, "orders")
    produce(world, batch(b"answered"))
    world.send(produce_api.API, produce_request(batch(b"on its way")), 9)
    if policy == "sync":
        world.boot(world.fs.crash())  # the power is cut
    else:
        restart(world)  # the process is killed
    assert read_all(world) == [b"answered"]


def test_with_the_policy_interval_records_reach_the_disk_soon() -> None:
    world = ManualTopicLogsWorld(topic_flush_policy="interval", log_flush_interval_ms=1000)
    create(world, "orders")
    produce(world, batch(b"v"))
    world.advance(1.1)
    world.boot(world.fs.crash())
    assert read_all(world) == [b"v"]


def test_a_write_error_is_answered_and_the_partition_continues_afterwards(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    produce(world, batch(b"a"))
    world.fs.fail("pwrite", errno.EIO, name=".log")
    assert produce(world, batch(b"b")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    answer = produce(world, batch(b"c"))
    assert (answer.error_code, answer.base_offset) == (0, 1)
    assert read_all(world) == [b"a", b"c"]
    restart(world)
    assert read_all(world) == [b"a", b"c"]


def test_a_full_disk_is_answered_and_service_resumes_when_there_is_room(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    world.fs.capacity = sum(len(node.content) for node in _files(world.fs.root)) + 100
    assert produce(world, batch(b"x" * 500)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert read(world).error_code == 0
    world.fs.capacity = None
    world.advance(6)
    assert produce(world, batch(b"room")).error_code == 0
    assert read_all(world) == [b"room"]


def _files(directory: Any) -> list[Any]:
    found: list[Any] = []
    for node in directory.entries.values():
        found += _files(node) if hasattr(node, "entries") else [node]
    return found


def test_batches_in_one_request_after_a_refused_one_are_refused_too(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    world.topic_logs.flusher._max_queued_bytes = 100
    first = world.send(produce_api.API, produce_request(batch(b"x" * 80)), 9)
    second = world.send(produce_api.API, produce_request(batch(b"y" * 80)), 9)
    third = world.send(produce_api.API, produce_request(batch(b"z" * 80)), 9)
    assert produced(second.answers[0]).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert produced(third.answers[0]).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    world.settle()
    assert produced(first.answers[0]).error_code == 0
    assert produce(world).base_offset == 1


def test_producing_to_a_topic_that_is_being_deleted_is_answered(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    deletion = world.send(delete_topics_api.API, DeleteTopicsRequest(topic_names=["orders"]), 5)
    before = world.send(produce_api.API, produce_request(batch()), 9)
    world.changer.step()
    between = world.send(produce_api.API, produce_request(batch()), 9)
    world.settle()
    assert deletion.answers[0].responses[0].error_code == 0
    codes = [produced(session.answers[0]).error_code for session in (before, between)]
    assert set(codes) <= {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.KAFKA_STORAGE_ERROR}


# -- producers ---------------------------------------------------------------------------------------------------


def test_producer_ids_are_never_assigned_twice(world: ManualTopicLogsWorld) -> None:
    seen = [producer_id(world) for _ in range(3)]
    for boot in range(6):
        if boot % 2:
            restart(world)
        else:
            world.boot(world.fs.crash())
        seen += [producer_id(world) for _ in range(3)]
    assert len(set(seen)) == len(seen)


def test_a_producer_continues_its_sequence_after_a_restart(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    for sequence in range(7):
        produce(world, batch(producer=(5, 1, sequence)))
    restart(world)
    assert produce(world, batch(producer=(5, 1, 4))).base_offset == 4
    assert produce(world, batch(producer=(5, 1, 9))).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(world, batch(producer=(5, 0, 7))).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert produce(world, batch(producer=(5, 1, 7))).base_offset == 7


def test_a_start_reads_only_the_records_after_the_last_checkpoint(world: ManualTopicLogsWorld) -> None:
    create(world, "orders", 1, segment_bytes="2000")
    for sequence in range(100):
        produce(world, batch(producer=(5, 1, sequence)))
    restart(world)
    produce(world, batch(producer=(5, 1, 100)))
    world.fs.counts.clear()
    replayed: list[int] = []
    original = Log.batches

    def batches(log: Log, from_offset: int = 0) -> Any:
        replayed.append(from_offset)
        return original(log, from_offset)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Log, "batches", batches)
        restart(world)
    assert replayed == [100]
    assert produce(world, batch(producer=(5, 1, 101))).base_offset == 101
    assert produce(world, batch(producer=(5, 1, 97))).base_offset == 97


def transactional(world: ManualTopicLogsWorld, producer: int, sequence: int) -> PartitionProduceResponse:
    """Produce a transactional batch with one record."""
    world.topics.serves_transactions = True
    world.verify = FakeTransactionCoordinator(producer, partitions={("orders", 0)}).verify
    records = batch(b"%d" % producer, producer=(producer, 0, sequence), is_transactional=True)
    return produced(world.call(produce_api.API, produce_request(records, transactional_id="tx"), 9))


def end_transaction(world: ManualTopicLogsWorld, producer: int, *, commit: bool, epoch: int = 0) -> ErrorCode:
    marker = WritableTxnMarker(producer, epoch, commit, [WritableTxnMarkerTopic("orders", [0])], 0)
    [error] = marked(world.call(MARKERS, WriteTxnMarkersRequest([marker]), 1))
    return error


def committed(world: ManualTopicLogsWorld) -> tuple[int, list[tuple[int, int]], list[bytes | None]]:
    """Return the last stable offset, the aborted transactions and the values of a fetch of committed data."""
    request = fetch_request({("orders", 0): 0}, isolation_level=1, max_wait_ms=0)
    data = fetched(world.call(fetch_api.API, request, 11))
    aborted = [(each.producer_id, each.first_offset) for each in data.aborted_transactions or ()]
    return data.last_stable_offset, aborted, [value for value in values(data.records) if value and len(value) == 1]


@pytest.mark.parametrize("how", ["kill", "crash", "checkpoint", "no checkpoint"])
def test_transactions_survive_a_restart(world: ManualTopicLogsWorld, how: str) -> None:
    create(world, "orders")
    for producer in (1, 2, 3):
        assert transactional(world, producer, 0).error_code == ErrorCode.NONE
    assert end_transaction(world, 1, commit=True) is ErrorCode.NONE
    assert end_transaction(world, 2, commit=False, epoch=1) is ErrorCode.NONE
    assert committed(world) == (2, [(2, 1)], [b"1", b"2"])
    if how == "crash":
        world.advance(1.1)  # on disk
    elif how == "checkpoint":
        world.topic_logs.checkpoint.save()
    elif how == "no checkpoint" and world.fs.exists(DATA / "topic-producers.json"):
        world.fs.unlink(DATA / "topic-producers.json")
    world.boot(world.fs.crash() if how == "crash" else world.fs)
    assert committed(world) == (2, [(2, 1)], [b"1", b"2"])
    assert transactional(world, 3, 0).base_offset == 2  # a repetition
    assert transactional(world, 3, 1).base_offset == 5
    assert transactional(world, 2, 1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert end_transaction(world, 2, commit=True) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert end_transaction(world, 3, commit=True) is ErrorCode.NONE
    assert committed(world) == (7, [(2, 1)], [b"1", b"2", b"3", b"3"])


def test_a_checkpoint_is_written_when_enough_was_appended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_producers, "CHECKPOINT_BYTES", 500)
    world = ManualTopicLogsWorld()
    create(world, "orders")
    for sequence in range(20):
        produce(world, batch(producer=(5, 1, sequence)))
    world.advance(topic_producers.CHECKPOINT_S + 1)
    assert b'"offset": 20' in text(world, "topic-producers.json")


def test_a_checkpoint_beyond_the_end_of_the_log_is_not_used() -> None:
    world = ManualTopicLogsWorld(topic_flush_policy="interval")
    create(world, "orders")
    produce(world, batch(producer=(5, 0, 0)))
    world.advance(1.1)  # on disk
    produce(world, batch(producer=(5, 0, 1)))  # in the kernel only
    world.topic_logs.checkpoint.save()
    world.boot(world.fs.crash())
    assert world.topics.catalogue.topics["orders"].partitions[0].next_offset == 1
    assert produce(world, batch(producer=(5, 0, 2))).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(world, batch(producer=(5, 0, 1))).base_offset == 1
    restart(world)
    assert produce(world, batch(producer=(5, 0, 1))).base_offset == 1


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b'{"version": 1, "partitions": {"orders-0": {"offset": 2}}}',
        b'{"version": 1, "partitions": {"orders-0": []}}',
        b"\xff",
        b"[" * 100_000,
        b'{"version": 1, "partitions": {"orders-0": {"id": "ID", "offset": 2, "producers": [[5, 1e400, []]]}}}',
        b'{"version": 1, "partitions": {"orders-0": {"id": "ID", "offset": 2, "producers": [[5, 0, [[0, 9, 9, 0]]]]}}}',
    ],
    ids=len,
)
def test_a_damaged_checkpoint_only_costs_time(world: ManualTopicLogsWorld, content: bytes) -> None:
    create(world, "orders")
    content = content.replace(b"ID", world.topics.catalogue.topics["orders"].topic_id.hex().encode())
    for sequence in range(3):
        produce(world, batch(producer=(5, 0, sequence)))
    file = world.fs.open(DATA / "topic-producers.json", create=True)
    file.truncate(0)
    file.pwrite(content, 0)
    restart(world)
    assert produce(world, batch(producer=(5, 0, 1))).base_offset == 1
    assert produce(world, batch(producer=(5, 0, 3))).base_offset == 3


# -- reading -----------------------------------------------------------------------------------------------------


def test_old_data_is_read_from_disk_by_a_few_reads_at_once(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    for number in range(20):
        produce(world, batch(b"%d" % number))
    restart(world)  # memory holds no batches now
    sessions = [world.send(fetch_api.API, fetch_request({("orders", 0): number}), 11) for number in range(20)]
    assert len(world.readers.work) == 8
    world.settle()
    assert [values(fetched(session.answers[0]).records)[0] for session in sessions] == [b"%d" % n for n in range(20)]


def test_new_records_are_served_without_a_thread(world: ManualTopicLogsWorld) -> None:
    create(world, "orders")
    session = world.send(fetch_api.API, fetch_request({("orders", 0): 0}), 11)
    world.send(produce_api.API, produce_request(batch(b"fresh")), 9)
    while not session.answers:
        world.loop.run_ready()
        world.worker.run()
        assert not world.readers.work
    assert values(fetched(session.answers[0]).records) == [b"fresh"]


def test_a_read_error_is_answered_and_logged(world: ManualTopicLogsWorld, caplog: pytest.LogCaptureFixture) -> None:
    create(world, "orders")
    produce(world)
    restart(world)
    world.fs.fail("pread", times=100)
    assert read(world).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "orders-0" in caplog.text


def test_offsets_by_timestamp_are_looked_up_in_the_log(world: ManualTopicLogsWorld) -> None:
    create(world, "orders", 2)
    for timestamp in (1000, 1010, 1005):
        produce(world, batch(timestamp=timestamp))

    def ask(timestamp: int) -> tuple[int, int]:
        asked = [ListOffsetsPartition(partition_index=0, timestamp=timestamp)]
        request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="orders", partitions=asked)])
        [answer] = world.call(list_offsets_api.API, request, 8).topics[0].partitions
        return answer.offset, answer.timestamp

    assert ask(1001) == (1, 1010)
    assert ask(-3) == (1, 1010)
    assert ask(2000) == (-1, -1)
    assert (ask(-2), ask(-1)) == ((0, -1), (3, -1))


def test_a_damaged_log_is_offline_and_the_others_are_served(
    world: ManualTopicLogsWorld, caplog: pytest.LogCaptureFixture
) -> None:
    create(world, "orders", 2, segment_bytes="1100")
    for _ in range(40):
        produce(world)
        produce(world, partition=1)
    first = world.fs.open(DATA / "orders-0" / "00000000000000000000.log")
    first.pwrite(b"\xff" * 200, 300)  # in a closed segment: durable records are damaged
    world.fs.unlink(DATA / "orders-0" / "00000000000000000000.index")
    restart(world)
    caplog.set_level(logging.ERROR)
    assert produce(world).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert read(world).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert produce(world, partition=1).error_code == 0
    request = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    bad, good = world.call(metadata_api.API, request, 9).topics[0].partitions
    assert (bad.error_code, bad.leader_id, good.error_code) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, 0)
    assert "orders-0" in caplog.text


# -- retention and deletion of records ---------------------------------------------------------------------------


def test_retention_removes_segments_also_after_a_restart(world: ManualTopicLogsWorld) -> None:
    create(world, "orders", 1, segment_bytes="1100", retention_bytes="2000", retention_ms="-1")
    for number in range(60):
        produce(world, batch(b"%d" % number))
    world.advance(301)
    start = read(world, 59).log_start_offset
    assert 0 < start < 59
    assert f"{0:020d}.log" not in world.fs.listdir(DATA / "orders-0")
    assert read(world, start - 1).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    restart(world)
    assert read(world, 59).log_start_offset == start


def test_a_changed_segment_size_holds_from_the_next_append(world: ManualTopicLogsWorld) -> None:
    def segments() -> int:
        return sum(name.endswith(".log") for name in world.fs.listdir(DATA / "orders-0"))

    create(world, "orders")
    produce(world, batch(b"a" * 600))
    produce(world, batch(b"b" * 600))
    assert segments() == 1
    smaller = AlterableConfig(name="segment.bytes", config_operation=0, value="1024")
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=[smaller])
    [result] = world.call(alter_api.API, IncrementalAlterConfigsRequest(resources=[resource]), 1).responses
    assert result.error_code == 0
    produce(world, batch(b"c" * 600))
    produce(world, batch(b"d" * 600))
    assert segments() == 3


def test_the_newest_segment_expires_by_age_too(world: ManualTopicLogsWorld) -> None:
    create(world, "orders", 1, retention_ms="1000")
    produce(world, batch(timestamp=1000))
    world.advance(301)
    answer = read(world, 1)
    assert (answer.log_start_offset, answer.high_watermark) == (1, 1)
    assert produce(world).base_offset == 1


# -- internal topics, the end ------------------------------------------------------------------------------------


async def test_the_offsets_log_can_be_read_by_clients(tmp_path: Path) -> None:
    log = Log.open(tmp_path / f"{OFFSETS_TOPIC}-0", LogConfig())
    log.append(batch(b"commit"), 0, 1)
    log.flush()
    log.high_watermark = 1
    world = TopicLogsWorld(tmp_path)
    world.kill()
    world.internal_logs = {OFFSETS_TOPIC: [log]}
    world.start()
    answer = await world.call(fetch_api.API, fetch_request({(OFFSETS_TOPIC, 0): 0}), 11)
    assert values(fetched(answer).records) == [b"commit"]
    answer = await world.call(produce_api.API, produce_request(batch(), topic=OFFSETS_TOPIC), 9)
    assert produced(answer).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION
    first_id = world.topics.catalogue.topics[OFFSETS_TOPIC].topic_id
    await world.topic_logs.close()
    log.flush()  # the offsets log owns it, and it is still open
    world.start()
    assert world.topics.catalogue.topics[OFFSETS_TOPIC].topic_id == first_id
    await world.topic_logs.close()
    log.close()


async def test_real_threads_and_files_and_a_kill(tmp_path: Path) -> None:
    world = TopicLogsWorld(tmp_path)
    created = await world.call(create_topics_api.API, create_request("orders", 2), 7)
    assert created.topics[0].error_code == 0
    for number in range(50):
        answer = await world.call(produce_api.API, produce_request(batch(b"%d" % number, producer=(3, 0, number))), 9)
        assert produced(answer).base_offset == number
    world.kill()
    world.start()
    answer = await world.call(fetch_api.API, fetch_request({("orders", 0): 0}), 11)
    assert values(fetched(answer).records) == [b"%d" % number for number in range(50)]
    answer = await world.call(produce_api.API, produce_request(batch(b"again", producer=(3, 0, 49))), 9)
    assert produced(answer).base_offset == 49
    gone = await world.call(delete_topics_api.API, DeleteTopicsRequest(topic_names=["orders"]), 5)
    assert gone.responses[0].error_code == 0
    await world.topic_logs.close()
    assert not [name for name in world.fs.listdir(tmp_path) if name.startswith("orders")]


async def test_closing_answers_waiting_fetches_and_makes_everything_durable(tmp_path: Path) -> None:
    world = TopicLogsWorld(tmp_path)
    await world.call(create_topics_api.API, create_request("orders"), 7)
    waiting = world.send(fetch_api.API, fetch_request({("orders", 0): 0}, max_wait_ms=30_000, min_bytes=10_000), 11)
    late = world.send(produce_api.API, produce_request(batch(b"late")), 9)
    await world.topic_logs.close()
    assert waiting.answers
    assert produced(late.answers[0]).error_code == 0
    world.start()
    answer = await world.call(fetch_api.API, fetch_request({("orders", 0): 0}), 11)
    assert values(fetched(answer).records) == [b"late"]
    await world.topic_logs.close()


async def test_a_long_poll_on_a_real_loop_ends_once(tmp_path: Path) -> None:
    world = TopicLogsWorld(tmp_path)
    await world.call(create_topics_api.API, create_request("orders"), 7)
    waiting = world.send(fetch_api.API, fetch_request({("orders", 0): 0}, max_wait_ms=10_000), 11)
    assert not waiting.answers
    await world.call(produce_api.API, produce_request(batch(b"news")), 9)
    assert values(fetched(waiting.answers[0]).records) == [b"news"]
    await world.topic_logs.close()
