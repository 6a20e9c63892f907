"""Sound logs have no findings: random ones, compacted ones, those with snapshots, and Kafka's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.selfcheck.partition import ChangedMeanwhileError, check_partition
from coordinator.storage.log.fs import ReadOnlyFileSystem
from protocol.offsets_records import OffsetValue, encode_group_key, encode_offset_key, encode_offset_value
from tests.compaction.logs import OFFSETS, Op, operations
from tests.conformance.exchange import KEPT_LOG
from tests.selfcheck.world import DIRECTORY, Disk, commit
from tests.storage.snapshot.world import DIRECTORY as OTHER_DIRECTORY
from tests.storage.snapshot.world import World

PIECES = st.lists(operations(OFFSETS, max_size=15), min_size=1, max_size=4)


@given(PIECES, st.integers(0, 3))
def test_random_logs_are_sound_with_snapshots_and_compactions(pieces: list[list[Op]], compacted: int) -> None:
    world = World()
    for number, piece in enumerate(pieces):
        world.write(piece)
        if number == compacted:
            world.compact()
        report = check_partition(world.fs, OTHER_DIRECTORY)
        assert [str(each) for each in report.findings if each.what != "the file is missing"] == []
        world.keep()
    loaded = world.load(use_snapshot=False)
    report = check_partition(world.fs, OTHER_DIRECTORY)
    assert (report.groups, report.offsets) == (len(loaded.found), loaded.store.count)


def test_a_tombstone_without_an_earlier_record_is_no_fault() -> None:
    disk = Disk(0)
    disk.append((encode_offset_key("g", "t", 0), None), (encode_group_key("h"), None), (b"\0\5member of KIP-848", None))
    disk.append((encode_offset_key("g", "t", 0), None))
    report = disk.verify()
    assert (report.findings, report.groups, report.unknown) == ([], 0, {5: 1})


def test_records_of_later_protocols_are_counted_and_noted() -> None:
    """KIP-848 has the types 3 to 8 and 16. Compaction may leave any of them without its siblings (KAFKA-19862)."""
    disk = Disk(0)
    for kind in (3, 4, 5, 6, 7, 8, 16):
        key = kind.to_bytes(2, "big") + b"\0\1g"
        disk.append((key, b"\0\0value"), (key, None))
    report = disk.verify()
    assert report.findings == []
    assert report.unknown == {3: 2, 4: 2, 5: 2, 6: 2, 7: 2, 8: 2, 16: 2}
    assert len(report.notes) == 7
    assert disk.load().replay.unknown == 14


def test_an_offset_that_outlived_its_group_is_noted() -> None:
    disk = Disk(0)
    disk.append(commit(0, "gone"), (encode_group_key("gone"), None))
    (note,) = disk.verify().notes
    assert "'gone', were deleted, but offsets older than that have no tombstone" in note


def test_an_old_key_with_its_own_tombstone_is_no_fault() -> None:
    disk = Disk(0)
    key = b"\0\0" + encode_offset_key("g", "t", 0)[2:]
    disk.append((key, encode_offset_value(OffsetValue(1, -1, "", 1, -1))))
    disk.append((key, None))
    assert disk.what() == []


def test_a_log_that_kafka_wrote_is_sound() -> None:
    report = check_partition(ReadOnlyFileSystem(), KEPT_LOG / "__consumer_offsets-0")
    assert (report.findings, report.notes) == ([], [])
    assert (report.batches, report.records, report.groups, report.offsets) == (20, 22, 5, 8)


def test_zeros_that_kafka_preallocates_in_an_index_are_no_entries() -> None:
    disk = Disk()
    for name in disk.names:
        if name.endswith("index"):
            disk.write(name, disk.read(name) + bytes(1200))
    assert disk.what() == []


def test_an_unfinished_write_of_a_running_daemon_is_no_fault() -> None:
    disk = Disk()
    disk.write(disk.segments[-1], disk.read(disk.segments[-1]) + b"half a batch")
    assert len(disk.what()) == 1
    assert disk.verify(is_served=True).findings == []


def test_a_compaction_of_a_running_daemon_is_noticed() -> None:
    disk = Disk()

    def replace(size: int) -> None:
        if disk.segments[1].startswith("00000000000000000012"):
            disk.remove(disk.segments[1])

    with pytest.raises(ChangedMeanwhileError):
        check_partition(disk.fs, DIRECTORY, is_served=True, progress=replace)


def test_a_topics_log_is_checked_without_its_records_being_offsets() -> None:
    disk = Disk()
    topic = DIRECTORY.with_name("orders-0")
    disk.fs.mkdir(topic)
    for name in disk.names:
        file = disk.fs.open(topic / name, create=True)
        file.pwrite(disk.read(name), 0)
        file.close()
    report = check_partition(disk.fs, topic)
    assert (report.findings, report.records, report.groups) == ([], 60, None)
    file = disk.fs.open(topic / disk.segments[1])
    file.pwrite(b"\x7f", 230)
    assert "a consumer that comes to this place gets an error" in str(check_partition(disk.fs, topic).findings[0])
