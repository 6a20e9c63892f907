"""Sound logs have no findings: random ones, compacted ones, those with snapshots, and Kafka's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.offsets.raw_records import raw_name
from coordinator.selfcheck.partition import ChangedMeanwhileError, check_partition
from coordinator.storage.log.fs import ReadOnlyFileSystem
from protocol.group_records import RecordKind, encode_key, encode_value
from protocol.offsets_records import OffsetValue, encode_group_key, encode_offset_key, encode_offset_value
from tests.compaction.logs import CONSUMER_KEYS, OFFSETS, Gap, Op, consumer_value, operations
from tests.conformance.exchange import KEPT_LOG
from tests.selfcheck.world import DIRECTORY, Disk, commit
from tests.storage.snapshot.world import DIRECTORY as OTHER_DIRECTORY
from tests.storage.snapshot.world import World

PIECES = st.lists(operations(OFFSETS, max_size=15), min_size=1, max_size=4)


@given(PIECES, st.integers(0, 3))
def test_random_logs_are_sound_with_snapshots_and_compactions(pieces: list[list[Op]], compacted: int) -> None:
    world = World()
    for number, piece in enumerate(pieces):
        while piece and isinstance(piece[-1], Gap):
            piece.pop()  # no log ends with a gap: a compaction keeps the last batch
        world.write(piece)
        if number == compacted:
            world.compact()
        report = check_partition(world.fs, OTHER_DIRECTORY)
        assert [str(each) for each in report.findings if each.what != "the file is missing"] == []
        world.keep()
    loaded = world.load(use_snapshot=False)
    report = check_partition(world.fs, OTHER_DIRECTORY)
    kip_848 = len({raw_name(key) for key in loaded.replay.live})
    assert (report.groups, report.offsets) == (len(loaded.found) + kip_848, loaded.store.count)


def test_a_tombstone_without_an_earlier_record_is_no_fault() -> None:
    disk = Disk(0)
    disk.append((encode_offset_key("g", "t", 0), None), (encode_group_key("h"), None), (b"\0\x0bshare group", None))
    disk.append((encode_offset_key("g", "t", 0), None), (encode_key(RecordKind.CONSUMER_MEMBER, "k", "m"), None))
    report = disk.verify()
    assert (report.findings, report.groups, report.unknown) == ([], 0, {11: 1})


def test_records_of_protocols_that_are_not_served_are_counted_and_noted() -> None:
    disk = Disk(0)
    for kind in (9, 15, 17, 99):
        key = kind.to_bytes(2, "big") + b"\0\1g"
        disk.append((key, b"\0\0value"), (key, None))
    report = disk.verify()
    assert report.findings == []
    assert report.unknown == {9: 2, 15: 2, 17: 2, 99: 2}
    assert [note.partition("are kept")[0] for note in report.notes] == [
        "2 records with keys of type 9 (share and streams groups) ",
        "2 records with keys of type 15 (share and streams groups) ",
        "2 records with keys of type 17 (share and streams groups) ",
        "2 records with keys of type 99 (no protocol of Kafka 4.4) ",
    ]
    assert disk.load().replay.unknown == 8


@pytest.mark.parametrize("key", CONSUMER_KEYS)
def test_any_record_of_a_kip_848_group_makes_a_group(key: bytes) -> None:
    """Compaction may leave any of them without its siblings (KAFKA-19862)."""
    disk = Disk(0)
    disk.append((key, encode_value(consumer_value(key, 5))))
    report = disk.verify()
    assert (report.findings, report.notes, report.unknown, report.groups) == ([], [], {}, 1)
    disk.append((key, None))
    assert disk.verify().groups == 0


def test_records_that_a_start_does_not_use_are_noted() -> None:
    epoch, member = CONSUMER_KEYS[0], encode_key(RecordKind.CONSUMER_MEMBER, "kip", "m")
    disk = Disk(0)
    disk.append((member, encode_value(consumer_value(member, 5))), (epoch, None))
    report = disk.verify()
    assert (report.findings, report.groups) == ([], 0)
    (note,) = report.notes
    assert "'kip' at log offset 0 is not used: the group was deleted at log offset 1" in note


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
