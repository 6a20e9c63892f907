"""The partitions of the offsets log: coalescing, offsets, refusals, close."""

from __future__ import annotations

import asyncio
import errno
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from coordinator.config.config import Config
from coordinator.core.context import Records
from coordinator.core.effects import Append, Producer
from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.flusher import Flusher
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.offsets_log import OffsetsLog, error_code_of
from protocol.error_codes import ErrorCode
from protocol.record_batch import BatchHeader, ControlType, Record, control_type, read_records
from tests.support.manual_loop import ManualLoop, ManualWorker, settle

DATA = Path("/data")
Call = tuple[int, int] | tuple[int, int, ErrorCode]


def record(name: str, value: bytes | None = b"value") -> tuple[bytes, bytes | None]:
    return name.encode(), value


def records_in(log: OffsetsLog, partition: int) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """Yield every batch of a partition with its records, read as a start reads them."""
    for header, batch in log.log(partition).batches():
        yield header, read_records(batch, 0, header)


class World:
    """An offsets log of three partitions on a manual loop, and its callbacks."""

    def __init__(self, fs: LossyFileSystem | None = None, **settings: int) -> None:
        if fs is None:
            fs = LossyFileSystem()
            fs.mkdir(DATA)
            fs.fsync_dir(Path("/"))
        self.fs = fs
        self.loop = ManualLoop()
        self.worker = ManualWorker()
        self.calls: list[Call] = []
        config = Config(offsets_topic_num_partitions=3, **settings)  # type: ignore[arg-type]
        logs = {number: Log.open(DATA / f"__consumer_offsets-{number}", LogConfig(), fs) for number in range(3)}
        self.log = OffsetsLog(
            logs,
            config,
            self.loop,
            lambda partition, high_watermark: self.calls.append((partition, high_watermark)),
            self.failed,
            flusher=lambda on_durable, on_failed: Flusher(
                self.loop,
                on_durable,
                on_failed,
                max_queued_bytes=config.log_max_queued_bytes,
                worker=self.worker,
                clock=self.loop.clock,
                helpers=0,
            ),
        )

    def failed(self, partition: int, from_offset: int, error: ErrorCode) -> None:
        self.calls.append((partition, from_offset, error))

    def append(
        self,
        partition: int,
        records: Records,
        timestamp_ms: int,
        producer: Producer | None = None,
        marker: bool | None = None,
    ) -> None:
        size = sum(len(key) + len(value or b"") for key, value in records)
        self.log.append(Append(partition, records, None, producer, marker, size), timestamp_ms)

    def settle(self) -> None:
        settle(self.loop, self.worker)

    def take_calls(self) -> list[Call]:
        calls, self.calls[:] = self.calls[:], []
        return calls


def test_appends_of_one_round_become_one_batch_per_partition() -> None:
    world = World()
    for number in range(5):
        world.append(1, (record(f"a{number}"), record(f"b{number}", None)), 1000 + number)
    world.append(2, (record("c"),), 2000)
    assert (world.log.next_offset(1), world.log.next_offset(2), world.log.next_offset(0)) == (10, 1, 0)
    assert world.calls == []
    world.settle()
    assert sorted(world.take_calls()) == [(1, 10), (2, 1)]

    ((header, records),) = records_in(world.log, 1)
    assert (header.base_offset, header.record_count, header.max_timestamp) == (0, 10, 1004)
    assert [(one.offset, one.key, one.value) for one in records[:2]] == [(0, b"a0", b"value"), (1, b"b0", None)]
    assert list(records_in(world.log, 0)) == []


def test_batches_have_the_leader_epoch_that_their_partition_was_given() -> None:
    world = World()
    world.append(0, (record("a"),), 1)
    world.settle()
    world.log.set_leader_epoch(0, 7)
    world.append(0, (record("b"),), 2)
    world.append(1, (record("c"),), 2)
    world.settle()
    assert [header.partition_leader_epoch for header, _ in records_in(world.log, 0)] == [0, 7]
    assert [header.partition_leader_epoch for header, _ in records_in(world.log, 1)] == [0]


def test_the_next_round_takes_the_records_queued_during_this_one() -> None:
    world = World()
    world.append(0, (record("a"),), 1)
    world.loop.run_ready()
    world.append(0, (record("b"),), 2)
    world.append(0, (record("c"),), 3)
    world.settle()
    assert world.take_calls() == [(0, 1), (0, 3)]
    assert [header.record_count for header, _ in records_in(world.log, 0)] == [1, 2]


def test_a_batch_has_as_many_records_as_allowed_and_one_more_is_in_another() -> None:
    for last, counts in ((2, [5]), (3, [3, 3])):
        world = World(offsets_batch_max_records=5)
        world.append(0, tuple(record(f"a{number}") for number in range(3)), 1)
        world.append(0, tuple(record(f"b{number}") for number in range(last)), 1)
        world.settle()
        assert [header.record_count for header, _ in records_in(world.log, 0)] == counts
        assert world.take_calls() == [(0, 3 + last)]


def test_a_batch_has_as_many_bytes_as_allowed_and_one_more_is_in_another() -> None:
    for more, counts in ((0, [2]), (1, [1, 1])):
        world = World(offsets_batch_max_bytes=5000)
        first, last = (b"a", bytes(3999)), (b"b", bytes(999 + more))  # an append says its size: here keys and values
        world.append(0, (first,), 1)
        world.append(0, (last,), 1)
        world.settle()
        assert [header.record_count for header, _ in records_in(world.log, 0)] == counts


def test_an_append_is_never_divided() -> None:
    world = World(offsets_batch_max_records=5, offsets_batch_max_bytes=2000)
    world.append(0, tuple(record(f"a{number}", bytes(1000)) for number in range(7)), 1)
    world.settle()
    assert [header.record_count for header, _ in records_in(world.log, 0)] == [7]


def test_a_transactional_append_has_a_batch_of_its_own() -> None:
    world = World()
    world.append(0, (record("a"),), 1)
    world.append(0, (record("b"), record("c")), 2, Producer(7, 3))
    world.append(0, (record("d"),), 3)
    world.settle()
    facts = [
        (header.base_offset, header.record_count, header.is_transactional, header.producer_id, header.producer_epoch)
        for header, _ in records_in(world.log, 0)
    ]
    assert facts == [(0, 1, False, -1, -1), (1, 2, True, 7, 3), (3, 1, False, -1, -1)]


def test_after_a_failure_the_offsets_are_assigned_again() -> None:
    world = World()
    world.append(0, (record("a"),), 1)
    world.settle()
    world.fs.fail("fdatasync")
    world.append(0, (record("b"), record("c")), 1)
    world.loop.run_ready()
    world.append(0, (record("d"),), 1)
    world.settle()
    assert world.take_calls() == [(0, 1), (0, 1, ErrorCode.KAFKA_STORAGE_ERROR)]
    assert world.log.next_offset(0) == 1
    world.append(0, (record("e"),), 1)
    world.settle()
    assert world.take_calls() == [(0, 2)]
    assert [one.key for _, records in records_in(world.log, 0) for one in records] == [b"a", b"e"]


def test_a_marker_is_a_control_batch_of_its_producer_and_takes_one_offset() -> None:
    world = World()
    world.append(0, (record("a"), record("b")), 1, Producer(7, 3))
    world.append(0, (), 2, Producer(7, 3), marker=True)
    world.append(0, (), 3, Producer(8, 0), marker=False)
    world.append(0, (record("c"),), 4)
    assert world.log.next_offset(0) == 5
    world.settle()
    assert world.take_calls() == [(0, 5)]
    batches = list(records_in(world.log, 0))
    assert [(header.base_offset, header.is_control, header.producer_id) for header, _ in batches] == [
        (0, False, 7),
        (2, True, 7),
        (3, True, 8),
        (4, False, -1),
    ]
    assert [control_type(records[0]) for header, records in batches if header.is_control] == [
        ControlType.COMMIT,
        ControlType.ABORT,
    ]


@pytest.mark.parametrize(("room", "refused"), [(0, False), (-1, True)])
def test_bytes_that_wait_are_as_many_as_allowed_and_one_more_is_refused(room: int, refused: bool) -> None:
    measured = World()
    measured.append(0, (record("a", bytes(900_000)),), 1)
    measured.append(1, (record("a", bytes(900_000)),), 1)
    measured.loop.run_ready()
    world = World(log_max_queued_bytes=measured.log.queued_bytes + room)
    for partition in (0, 1):
        world.append(partition, (record("a", bytes(900_000)),), 1)
    world.settle()
    assert ((1, 0, ErrorCode.NOT_ENOUGH_REPLICAS) in world.take_calls()) == refused


def test_a_full_queue_is_refused_with_an_error_clients_retry() -> None:
    world = World(log_max_queued_bytes=1 << 20)
    for _ in range(3):
        world.append(0, (record("a", bytes(500_000)),), 1)
    world.settle()
    assert (0, 2, ErrorCode.NOT_ENOUGH_REPLICAS) in world.take_calls()
    assert world.log.next_offset(0) == 2
    assert world.log.queued_bytes == 0


def test_a_period_of_failing_appends_is_logged_in_two_lines(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.fs.fail("fdatasync", times=20)
    for _ in range(20):
        world.append(0, (record("a"),), 1)
        world.settle()
    world.append(0, (record("b"),), 1)
    world.settle()
    assert len(world.take_calls()) == 21
    lines = [message for message in caplog.messages if "partition=0" in message]
    assert [message.split(" partition")[0] for message in lines] == ["append failed", "appends succeed again"]
    assert lines[1].endswith("failures=20")


def test_a_failure_before_a_refusal_is_reported_once_for_both() -> None:
    world = World(log_max_queued_bytes=1 << 20)
    world.fs.fail("fdatasync")
    world.append(0, (record("a", bytes(500_000)),), 1)
    world.loop.run_ready()
    world.worker.run()  # it has failed, but the loop has not been called back yet
    world.append(0, (record("the queue is full", bytes(1_000_000)),), 1)
    world.settle()
    assert world.take_calls() == [(0, 0, ErrorCode.KAFKA_STORAGE_ERROR)]
    assert world.log.next_offset(0) == 0


def test_while_the_disk_fails_every_append_gets_an_error_soon_and_succeeds_later() -> None:
    world = World()
    world.fs.fail("fdatasync")
    world.fs.fail("truncate", times=2)
    world.append(0, (record("a"),), 1)
    world.settle()
    world.append(0, (record("b"),), 1)
    world.settle()
    assert world.take_calls() == [(0, 0, ErrorCode.KAFKA_STORAGE_ERROR)] * 2
    world.loop.advance(1)
    world.settle()
    world.loop.advance(1)
    world.settle()
    world.append(0, (record("c"),), 1)
    world.settle()
    assert world.take_calls() == [(0, 1)]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, ""), ErrorCode.NOT_ENOUGH_REPLICAS),
        (OSError(errno.EDQUOT, ""), ErrorCode.NOT_ENOUGH_REPLICAS),
        (OSError(errno.ENOBUFS, ""), ErrorCode.NOT_ENOUGH_REPLICAS),
        (OSError(errno.ESHUTDOWN, ""), ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (OSError(errno.EIO, ""), ErrorCode.KAFKA_STORAGE_ERROR),
        (OSError(errno.EROFS, ""), ErrorCode.KAFKA_STORAGE_ERROR),
        (ValueError(), ErrorCode.KAFKA_STORAGE_ERROR),
    ],
)
def test_each_error_of_the_disk_is_mapped_to_an_error_of_the_log(error: Exception, code: ErrorCode) -> None:
    assert error_code_of(error) is code


def test_an_append_is_whole_or_absent_after_a_crash() -> None:
    world = World()
    world.append(0, (record("a"), record("b"), record("c")), 1)
    world.settle()
    world.append(0, tuple(record(f"{n}") for n in range(20)), 1)
    world.loop.run_ready()
    world.fs.crash_after(1)  # the power is cut during the write
    world.worker.run()
    for seed in range(10):
        after = World(world.fs.crash(random.Random(seed)))
        assert sum(len(records) for _, records in records_in(after.log, 0)) in (3, 23)


async def test_on_real_files_acknowledged_records_are_there_at_the_next_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    loop = asyncio.get_running_loop()
    calls: list[Call] = []
    config = Config(offsets_topic_num_partitions=4, offsets_topic_segment_bytes=4000)

    def open_log() -> OffsetsLog:
        return OffsetsLog.open(
            tmp_path,
            config,
            RealFileSystem(),
            loop=loop,
            on_durable=lambda partition, high_watermark: calls.append((partition, high_watermark)),
            on_failed=lambda partition, from_offset, error: calls.append((partition, from_offset, error)),
        )

    log = open_log()
    assert [log.log(number).directory.name for number in range(4)] == [f"__consumer_offsets-{n}" for n in range(4)]
    await log.drained()
    for number in range(200):
        log.append(Append(number % 3, (record(f"k{number}"),), None, size=10), number)
        if number % 50 == 0:
            await log.drained(number % 3)
            assert log.log(number % 3).high_watermark == log.next_offset(number % 3)
    await log.drained()
    assert dict(call[:2] for call in calls) == {0: 67, 1: 67, 2: 66}
    await log.close()

    log = open_log()
    keys = {one.key for partition in range(4) for _, records in records_in(log, partition) for one in records}
    assert keys == {f"k{number}".encode() for number in range(200)}
    assert [log.next_offset(partition) for partition in range(4)] == [67, 67, 66, 0]
    assert len(log.logs) == 4
    await log.close()
    assert caplog.messages == []

    segment = max((tmp_path / "__consumer_offsets-1").glob("*.log"))
    (tmp_path / "__consumer_offsets-1" / "recovery-checkpoint").unlink()
    segment.write_bytes(segment.read_bytes()[:-1])
    log = open_log()
    assert "__consumer_offsets-1" in caplog.text
    assert "cut" in caplog.text
    await log.close()

    segment.write_bytes(segment.read_bytes()[:-1])
    with pytest.raises(CorruptLogError):
        open_log()
