"""A segment with a transactional batch has an index that makes a Kafka read the segment at its next start."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from coordinator.simulation.disk import LossyFileSystem, MachineOffError
from coordinator.storage.log.fs import FileSystem, read_whole, write_atomically
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry, segment_path
from coordinator.storage.log.staging import Replaced, StagedFile, prepare, stage
from coordinator.storage.log.transaction_index import SUFFIX, TO_BE_BUILT
from protocol.record_batch import ControlType, build_batch, build_control_batch
from tests.storage.log.batches import append, bytes_of, fill

CONFIG = LogConfig(segment_bytes=1000, segment_ms=1 << 40, index_interval_bytes=150)
DIRECTORY = Path("/data/t-0")
OF_KAFKA = bytes(34)  # an entry: all that is compared here is that it stays or goes


def a_disk() -> LossyFileSystem:
    fs = LossyFileSystem()
    fs.mkdir(DIRECTORY.parent)
    fs.fsync_dir(DIRECTORY.parent.parent)
    return fs


def opened(fs: FileSystem) -> Log:
    return Log.open(DIRECTORY, CONFIG, fs)


def transactional(offset: int, value: bytes = b"in a transaction") -> Entry:
    batch = build_batch(
        [(None, value)],
        base_offset=offset,
        timestamp_ms=1000 + offset,
        producer_id=7,
        producer_epoch=0,
        base_sequence=0,
        is_transactional=True,
    )
    return Entry(bytes(batch), offset, 1000 + offset)


def marker(offset: int) -> Entry:
    batch = build_control_batch(
        ControlType.ABORT, base_offset=offset, timestamp_ms=1000 + offset, producer_id=7, producer_epoch=0
    )
    return Entry(bytes(batch), offset, 1000 + offset)


def marked(fs: FileSystem) -> list[int]:
    """Return the first offsets of the segments that a Kafka reads at its next start."""
    names = [name for name in fs.listdir(DIRECTORY) if name.endswith(SUFFIX)]
    return [int(name[:20]) for name in names if read_whole(fs, DIRECTORY / name) == TO_BE_BUILT]


def index_of(base_offset: int) -> Path:
    return segment_path(DIRECTORY, base_offset, SUFFIX)


@pytest.mark.parametrize("make", [transactional, marker])
def test_only_segments_with_transactional_batches_are_read(make: Callable[[int], Entry]) -> None:
    fs = a_disk()
    log = opened(fs)
    fill(log, 3)
    log.roll()
    append(log, [make(3)])
    log.roll()
    fill(log, 3)
    log.roll()
    append(log, [make(7)])
    assert marked(fs) == [3, 7]
    log.close()
    assert marked(fs) == [3, 7]


def test_the_entry_is_one_that_kafka_finds_to_be_wrong_for_any_segment() -> None:
    """Kafka's: INT16 version, INT64 producer id, first offset, offset of the marker, last stable offset."""
    assert len(TO_BE_BUILT) == 34
    assert int.from_bytes(TO_BE_BUILT[:2], "big") == 0, "a higher version would stop the start of a Kafka"
    assert int.from_bytes(TO_BE_BUILT[18:26], "big", signed=True) < 0, "the marker is before the segment"


@pytest.mark.parametrize("ends", [LossyFileSystem.crash, LossyFileSystem.killed])
def test_the_index_is_there_before_the_first_transactional_batch(ends: Callable[..., LossyFileSystem]) -> None:
    for operations in range(12):
        fs = a_disk()
        log = opened(fs)
        fill(log, 2)
        fs.crash_after(operations)
        with suppress(MachineOffError):
            append(log, [transactional(2)])
        fs = ends(fs)
        is_there = b"in a transaction" in read_whole(fs, segment_path(DIRECTORY, 0))
        assert not is_there or marked(fs) == [0]
    assert is_there, "the last crash came too early to show anything"


def test_an_index_that_a_kafka_built_is_replaced_when_its_segment_grows() -> None:
    fs = a_disk()
    log = opened(fs)
    fill(log, 3)
    log.roll()
    fill(log, 3)
    log.close()
    for base in (0, 3):
        write_atomically(fs, index_of(base), OF_KAFKA)
    log = opened(fs)
    fill(log, 1)
    log.save_checkpoint()
    assert marked(fs) == [], "no transaction was added"
    append(log, [transactional(7)])
    log.close()
    assert marked(fs) == [3]
    assert read_whole(fs, index_of(0)) == OF_KAFKA


def test_an_index_whose_end_may_be_lost_is_replaced_after_a_crash() -> None:
    fs = a_disk()
    log = opened(fs)
    append(log, [transactional(0), marker(1)])
    write_atomically(fs, index_of(0), b"")
    fs = fs.killed()
    assert marked(fs) == []
    opened(fs).close()
    assert marked(fs) == [0]


def test_the_index_goes_with_its_segment() -> None:
    fs = a_disk()
    log = opened(fs)
    for offset in range(3):
        append(log, [transactional(offset)])
        log.roll()
    log.delete_up_to(2)
    assert marked(fs) == [2]
    log.close()
    write_atomically(fs, index_of(1), TO_BE_BUILT)  # a crash between the two removals leaves it
    log = opened(fs)
    assert log.recovery.removed == [index_of(1).name]
    log.close()


@pytest.mark.parametrize("is_kept", [True, False])
def test_segments_of_a_compaction_are_read_if_a_transactional_batch_is_left(is_kept: bool) -> None:
    fs = a_disk()
    log = opened(fs)
    plain = fill(log, 2)
    kept = append(log, [transactional(2), marker(3)])
    log.roll()
    fill(log, 1)
    assert marked(fs) == [0]
    old = log.segments[0]
    output = b"".join(bytes_of([*plain, *kept] if is_kept else plain))
    source = Path("/data") / old.path.name
    write_atomically(fs, source, output)
    staged = StagedFile(source, old.path.name, len(output), hashlib.sha256(output).hexdigest())
    facts = [Replaced(old.base_offset, old.next_offset, old.size_bytes)]
    stage(fs, DIRECTORY, [staged], [0], plan_id="plan", clean_up_to=4, index_interval_bytes=150)
    log.replace_segments(prepare(fs, DIRECTORY, facts, "plan", 150))
    log.finish_swap()
    assert marked(fs) == ([0] if is_kept else [])
    log.close()
    assert not [name for name in fs.listdir(DIRECTORY) if name.endswith(".cleaned")]
