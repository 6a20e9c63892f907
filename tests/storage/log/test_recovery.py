"""Opening a log after a crash, disk damage or Kafka: what is kept, cut, reported or refused."""

from __future__ import annotations

import errno
import struct
import zlib
from pathlib import Path

import pytest

from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, Checkpoint, ListedSegment
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Segment
from tests.storage.log.batches import append, bytes_of, entry, fill, stored

CONFIG = LogConfig(segment_bytes=2000, index_interval_bytes=150)
CHECKPOINT = "recovery-checkpoint"


def a_log(tmp_path: Path, batches: int, *, clean: bool = False) -> Path:
    """Make a log of `batches` batches, closed cleanly with `clean`, else killed."""
    log = Log.open(tmp_path / "topic-0", CONFIG)
    fill(log, batches)
    if clean:
        log.close()
    else:
        log.abandon()
    return log.directory


def newest(directory: Path) -> Path:
    return max(directory.glob("*.log"))


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


def test_a_log_cut_at_any_byte_of_its_last_batch_keeps_all_earlier_batches(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 8)
    path = newest(directory)
    whole = path.read_bytes()
    size = len(entry(7).batch)
    for cut in range(1, size + 1):
        path.write_bytes(whole[:-cut])
        log = Log.open(directory, CONFIG)
        assert stored(log) == bytes_of(entry(offset) for offset in range(7))
        torn = size - cut
        assert [cut.bytes for cut in log.recovery.cuts] == ([torn] if torn else [])
        assert path.stat().st_size == len(whole) - size
        if torn:
            (message,) = log.recovery.messages()
            assert f"cut {torn} bytes at {len(whole) - size}" in message
        again = append(log, [entry(7)])
        assert log.read(7, 1) == again[0].batch
        log.abandon()
        (directory / CHECKPOINT).unlink(missing_ok=True)
    assert list(directory.glob("*.cut")) == []  # a torn batch alone is not saved


def test_a_flipped_bit_anywhere_in_the_last_batch_cuts_it(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 4)
    path = newest(directory)
    whole = path.read_bytes()
    start = len(whole) - len(entry(3).batch)
    for position in range(start, len(whole)):
        path.write_bytes(whole)
        flip(path, position)
        log = Log.open(directory, CONFIG)
        kept = stored(log)
        log.abandon()
        (directory / CHECKPOINT).unlink(missing_ok=True)
        if position - start in range(12, 16):
            assert len(kept) == 4  # the leader epoch: neither covered by the checksum nor used
        elif position - start in range(8):
            assert len(kept) in (3, 4)  # the offset: not covered either, but it must grow
        else:
            assert kept == bytes_of(entry(offset) for offset in range(3))


def test_zeros_at_the_end_are_cut(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 4)
    with newest(directory).open("ab") as file:
        file.write(bytes(5000))
    log = Log.open(directory, CONFIG)
    assert len(stored(log)) == 4
    assert sum(cut.bytes for cut in log.recovery.cuts) == 5000
    log.close()


def test_a_damaged_tail_with_valid_batches_is_saved_before_it_is_cut(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 10)
    path = newest(directory)
    whole = path.read_bytes()
    size = len(entry(0).batch)
    flip(path, 4 * size + 30)
    damaged = path.read_bytes()

    log = Log.open(directory, CONFIG)
    assert len(stored(log)) == 4
    (cut,) = log.recovery.cuts
    assert (cut.position, cut.sound_batches_behind) == (4 * size, 5)
    assert cut.kept_as is not None
    assert (directory / cut.kept_as).read_bytes() == damaged[4 * size :]
    assert "5 sound batches behind it, kept in" in log.recovery.messages()[0]
    assert len(whole) == 10 * size
    log.close()


def test_valid_batches_are_found_behind_a_wrong_length(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 10)
    flip(newest(directory), 4 * len(entry(0).batch) + 8)
    log = Log.open(directory, CONFIG)
    assert [cut.sound_batches_behind for cut in log.recovery.cuts] == [5]
    log.close()


def test_damage_below_the_recovery_point_is_refused_and_nothing_is_changed(tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    log = Log.open(directory, CONFIG)
    fill(log, 6)
    log.save_checkpoint()
    fill(log, 3)
    log.abandon()
    path = newest(directory)
    size = len(entry(0).batch)
    whole = path.read_bytes()

    flip(path, 7 * size + 30)
    log = Log.open(directory, CONFIG)
    assert len(stored(log)) == 7
    log.abandon()
    Checkpoint.read(RealFileSystem(), directory)._replace(recovery_point=6).write(RealFileSystem(), directory)

    path.write_bytes(whole)
    flip(path, 2 * size + 30)
    damaged = path.read_bytes()
    with pytest.raises(CorruptLogError) as refusal:
        Log.open(directory, CONFIG)
    assert (refusal.value.path, refusal.value.position) == (path, 2 * size)
    assert "checksum does not match" in str(refusal.value)
    assert "recovery-checkpoint" in str(refusal.value)
    assert path.read_bytes() == damaged

    (directory / CHECKPOINT).unlink()  # the remedy in the error message
    log = Log.open(directory, CONFIG)
    assert len(stored(log)) == 2
    log.close()


def index_entries(path: Path) -> list[tuple[int, int]]:
    return list(struct.iter_unpack(">ii", path.with_suffix(".index").read_bytes()))


def write_index(path: Path, entries: list[tuple[int, int]]) -> None:
    path.with_suffix(".index").write_bytes(b"".join(struct.pack(">ii", *each) for each in entries))


@pytest.mark.parametrize("moved", ["an offset that is too low", "a position inside of a batch", "a later position"])
def test_an_index_with_a_wrong_entry_hides_no_records(tmp_path: Path, moved: str) -> None:
    directory = a_log(tmp_path, 20, clean=True)
    path = newest(directory)
    (offset, position), *rest = index_entries(path)
    wrong = {
        "an offset that is too low": (0, position),
        "a position inside of a batch": (offset, position + 3),
        "a later position": (offset, rest[0][1] - 1 if rest[0][1] - 1 > position else position),
    }[moved]
    assert len(rest) > 1, "the last entry is checked when the log is opened"
    write_index(path, [wrong, *rest])
    log = Log.open(directory, CONFIG)
    assert log.recovery.clean
    assert stored(log) == bytes_of(entry(each) for each in range(20))
    for each in range(20):
        (header, *_) = [found for found, _ in log.batches(each)]
        assert header.base_offset == each
        assert log.read(each, 300)[:8] == each.to_bytes(8, "big")
    log.close()


def test_a_time_index_with_a_wrong_entry_hides_no_records_and_makes_none_older(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 20, clean=True)
    log = Log.open(directory, CONFIG)
    expected = {each: log.offset_for_timestamp(each) for each in range(2000)}
    youngest = log.segments[-1].max_timestamp
    log.close()
    path = newest(directory).with_suffix(".timeindex")
    entries = list(struct.iter_unpack(">qi", path.read_bytes()))
    assert len(entries) > 2
    later = entries[1][1] - 1
    last_timestamp = entries[-2][0] + 1
    assert later > entries[0][1] and last_timestamp < entries[-1][0]
    for wrong in (
        [(entries[0][0], later), *entries[1:]],
        [*entries[:-1], (last_timestamp, entries[-1][1])],
    ):
        path.write_bytes(b"".join(struct.pack(">qi", *each) for each in wrong))
        log = Log.open(directory, CONFIG)
        assert log.segments[-1].max_timestamp == youngest
        assert {each: log.offset_for_timestamp(each) for each in range(2000)} == expected
        log.close()


@pytest.mark.parametrize("size", [-12, -100, 0, 48])
def test_a_batch_of_an_impossible_size_is_an_error_and_no_endless_walk(tmp_path: Path, size: int) -> None:
    directory = a_log(tmp_path, 20, clean=True)
    path = newest(directory)
    write_index(path, index_entries(path)[-1:])
    data = bytearray(path.read_bytes())
    data[8:12] = size.to_bytes(4, "big", signed=True)
    path.write_bytes(data)
    log = Log.open(directory, CONFIG)
    with pytest.raises(CorruptLogError):
        log.read(1, 300)
    with pytest.raises(CorruptLogError):
        list(log.batches())
    log.close()


def test_a_checkpoint_with_another_digit_is_refused_because_it_could_drop_segments(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 40, clean=True)
    checkpoint = directory / CHECKPOINT
    text = checkpoint.read_text()
    checkpoint.write_text(text.replace("log.start.offset=0", "log.start.offset=30"))
    with pytest.raises(CorruptLogError, match="remove the file to start without it"):
        Log.open(directory, CONFIG)
    checkpoint.write_text(text[: text.rindex("segment.")])  # its end is missing
    with pytest.raises(CorruptLogError, match="remove the file to start without it"):
        Log.open(directory, CONFIG)
    checkpoint.write_text(text.partition("\n")[2])  # as an earlier version wrote it
    log = Log.open(directory, CONFIG)
    assert len(stored(log)) == 40
    log.close()


def test_a_checkpoint_of_a_later_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 2)
    (directory / CHECKPOINT).write_text("version=2\n")  # what else it holds is not known
    with pytest.raises(CorruptLogError, match="start the version that wrote it"):
        Log.open(directory, CONFIG)


def test_a_file_that_lost_durable_records_is_refused(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 6, clean=True)
    path = newest(directory)
    path.write_bytes(path.read_bytes()[: -len(entry(0).batch)])
    with pytest.raises(CorruptLogError, match="up to offset 6"):
        Log.open(directory, CONFIG)


def test_a_log_whose_segments_are_gone_is_refused(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 6, clean=True)
    newest(directory).unlink()
    with pytest.raises(CorruptLogError, match="no segment is left"):
        Log.open(directory, CONFIG)


def test_damage_at_the_end_of_a_finished_segment_is_refused(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 60)
    path = sorted(directory.glob("*.log"))[1]
    size = path.stat().st_size
    flip(path, size - 3)
    with pytest.raises(CorruptLogError, match="in a segment that was complete") as refusal:
        Log.open(directory, CONFIG)
    assert refusal.value.path == path


def test_damage_inside_a_finished_segment_is_reported_when_it_is_read(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 60)
    path = min(directory.glob("*.log"))
    size = len(entry(0).batch)
    flip(path, 2 * size + 30)
    log = Log.open(directory, CONFIG)
    with pytest.raises(CorruptLogError) as found:
        stored(log)
    assert (found.value.path, found.value.position) == (path, 2 * size)
    log.abandon()


def test_missing_torn_and_wrong_indexes_are_rebuilt(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 60, clean=True)
    sound = {path: path.read_bytes() for path in directory.glob("*index")}
    assert len(sound) > 4
    for damage in ("missing", "empty", "torn", "zeros", "beyond", "between"):
        for path, content in sound.items():
            if damage == "missing":
                path.unlink()
            elif damage == "empty":
                path.write_bytes(b"")
            elif damage == "torn":
                path.write_bytes(content[:-1])
            elif damage == "zeros":
                path.write_bytes(bytes(len(content)))
            elif damage == "beyond":
                path.write_bytes(content[:-4] + b"\x7f\xff\xff\xff")
            elif path.suffix == ".index":
                path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        log = Log.open(directory, CONFIG)
        assert log.recovery.rebuilt, damage
        assert "rebuilt the indexes" in log.recovery.messages()[-1]
        for offset in range(60):
            assert log.read(offset, 1) == entry(offset).batch
            assert log.offset_for_timestamp(1000 + offset) == (1000 + offset, offset)
        log.close()
        assert {path: path.read_bytes() for path in directory.glob("*index")} == sound, damage


def test_files_of_kafka_and_unknown_files_are_not_touched(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 5, clean=True)
    (directory / CHECKPOINT).unlink()
    others = [
        "00000000000000000005.snapshot",
        "leader-epoch-checkpoint",
        "partition.metadata",
        "00000000000000000000.txnindex",
        "notes.txt",
        "notes.log.deleted",
    ]
    for name in others:
        (directory / name).write_bytes(b"\0garbage")
    log = Log.open(directory, CONFIG)
    assert len(stored(log)) == 5
    fill(log, 60)
    log.close()
    assert all((directory / name).read_bytes() == b"\0garbage" for name in others)


def test_an_index_whose_log_was_deleted_is_removed(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 5)
    (directory / "00000000000000000099.index").write_bytes(bytes(8))
    log = Log.open(directory, CONFIG)
    assert log.recovery.removed == ["00000000000000000099.index"]
    log.close()
    assert not (directory / "00000000000000000099.index").exists()


def test_the_message_format_before_kafka_0_11_is_refused_not_cut(tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    directory.mkdir()
    body = b"\x01\x00" + bytes(8) + b"\xff\xff\xff\xff" + b"\x00\x00\x00\x01v"
    message = bytes(8) + (4 + len(body)).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body
    (directory / f"{0:020d}.log").write_bytes(message)
    with pytest.raises(CorruptLogError, match="message format 1"):
        Log.open(directory, CONFIG)
    assert (directory / f"{0:020d}.log").read_bytes() == message


def test_a_damaged_checkpoint_is_refused_and_the_error_says_what_to_do(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 5, clean=True)
    (directory / CHECKPOINT).write_text("version=1\n")
    with pytest.raises(CorruptLogError, match="remove the file"):
        Log.open(directory, CONFIG)
    (directory / CHECKPOINT).write_text("version=2\n")
    with pytest.raises(CorruptLogError, match="version 2"):
        Log.open(directory, CONFIG)


def test_after_a_clean_stop_the_next_start_checks_no_batches(tmp_path: Path) -> None:
    directory = a_log(tmp_path, 10, clean=True)
    log = Log.open(directory, CONFIG)
    assert log.recovery.clean
    assert log.recovery.checked_bytes == log.recovery.rewritten_bytes == 0
    written = fill(log, 3)
    log.abandon()
    log = Log.open(directory, CONFIG)
    assert not log.recovery.clean
    assert log.recovery.checked_bytes == log.size_bytes
    assert log.recovery.rewritten_bytes == 3 * len(written[0].batch)
    assert stored(log)[10:] == bytes_of(written)
    log.close()


def memory() -> LossyFileSystem:
    fs = LossyFileSystem()
    fs.mkdir(Path("/data"))
    fs.fsync_dir(Path("/"))
    return fs


PATH = Path("/data/topic-0")


def test_unsynced_records_of_a_killed_process_are_durable_once_the_log_is_open() -> None:
    fs = memory()
    log = Log.open(PATH, CONFIG, fs)
    log.append(*entry(0))  # no flush
    log.abandon()
    assert stored(Log.open(PATH, CONFIG, fs)) == [entry(0).batch]
    assert stored(Log.open(PATH, CONFIG, fs.crash())) == [entry(0).batch]


@pytest.mark.parametrize("rewrites", [True, False], ids=["the log", "a mutant that trusts the kernel"])
def test_pages_that_a_failed_sync_left_are_written_again_before_they_are_served(
    rewrites: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not rewrites:
        monkeypatch.setattr(Segment, "rewrite", lambda self, position: None)
    fs = memory()
    log = Log.open(PATH, CONFIG, fs)
    log.append(*entry(0))
    fs.fail("fdatasync")
    with pytest.raises(OSError, match="fails"):
        log.flush()
    log.abandon()  # killed before the cut: the bytes are in memory, marked clean, and not on the disk

    assert stored(Log.open(PATH, CONFIG, fs)) == [entry(0).batch]  # read and acknowledged
    if rewrites:
        assert stored(Log.open(PATH, CONFIG, fs.crash())) == [entry(0).batch]
    else:
        with pytest.raises(CorruptLogError):
            Log.open(PATH, CONFIG, fs.crash())


def test_no_operation_syncs_again_after_a_failed_sync() -> None:
    fs = memory()
    log = Log.open(PATH, CONFIG, fs)
    fill(log, 2)
    log.append(*entry(2))
    fs.fail("fdatasync")
    with pytest.raises(OSError, match="fails"):
        log.flush()
    for attempt in (log.flush, log.roll, lambda: log.append(*entry(3))):
        with pytest.raises(OSError, match="not cut back"):
            attempt()
    log.cut_back()
    assert stored(log) == bytes_of([entry(0), entry(1)])
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    other = append(log, [entry(2, value=b"another")])
    assert stored(Log.open(PATH, CONFIG, fs.crash()))[2] == other[0].batch


def test_a_cut_that_was_not_durable_is_repeated() -> None:
    """The old segment still has its failed tail, and the next one begins where the tail did."""
    fs = memory()
    log = Log.open(PATH, CONFIG, fs)
    fill(log, 3)
    log.roll()
    other = append(log, [entry(3, value=b"another")])
    old = fs.open(PATH / f"{0:020d}.log")
    old.pwrite(entry(3).batch + entry(4).batch, old.size())
    old.fsync()
    log.abandon()

    log = Log.open(PATH, CONFIG, fs)
    assert stored(log) == bytes_of([entry(0), entry(1), entry(2), other[0]])
    assert "the next segment replaces" in log.recovery.messages()[0]


def test_the_next_start_removes_the_files_of_a_failed_roll() -> None:
    fs = memory()
    log = Log.open(PATH, CONFIG, fs)
    fill(log, 3)
    fs.fail("fsync_dir")
    with pytest.raises(OSError, match="fails"):
        log.roll()
    assert f"{3:020d}.log" in fs.listdir(PATH)
    log.cut_back()
    fill(log, 2)
    log.abandon()
    log = Log.open(PATH, CONFIG, fs)
    assert stored(log) == bytes_of(entry(offset) for offset in range(5))

    empty = fs.open(PATH / f"{4:020d}.log", create=True)  # as if it had not been removed
    empty.close()
    log = Log.open(PATH, CONFIG, fs)
    assert log.recovery.removed == [f"{4:020d}.log"]
    assert len(stored(log)) == 5


def test_opening_raises_the_disk_error_and_succeeds_after_the_disk_is_healed() -> None:
    fs = memory()
    log = Log.open(PATH, CONFIG, fs)
    fill(log, 3)
    log.abandon()
    for operation in ("open", "pwrite", "fsync", "fsync_dir", "rename"):
        fs.fail(operation, errno.EIO)
        with pytest.raises(OSError, match="fails"):
            Log.open(PATH, CONFIG, fs)
        fs.unlink(PATH / CHECKPOINT) if fs.exists(PATH / CHECKPOINT) else None
    log = Log.open(PATH, CONFIG, fs)
    assert len(stored(log)) == 3


def test_a_log_opens_on_a_full_disk_and_accepts_appends_when_there_is_room() -> None:
    fs = memory()
    log = Log.open(PATH, CONFIG, fs)
    written = fill(log, 30)
    log.abandon()
    for name in fs.listdir(PATH):
        if name.endswith("index"):
            fs.unlink(PATH / name)
    fs.capacity = 0
    log = Log.open(PATH, CONFIG, fs)
    assert stored(log) == bytes_of(written)
    (said,) = [message for message in log.recovery.messages() if "no room" in message]
    assert f"the indexes of {0:020d}.log" in said
    assert CHECKPOINT in said
    with pytest.raises(OSError, match="space"):
        fill(log, 1)
    log.abandon()
    assert stored(Log.open(PATH, CONFIG, fs)) == bytes_of(written)
    fs.heal()
    log = Log.open(PATH, CONFIG, fs.crash())
    assert stored(log) == bytes_of(written)
    assert not [message for message in log.recovery.messages() if "no room" in message]
    fill(log, 1)


def test_a_tail_is_not_cut_if_the_disk_has_no_room_to_save_it() -> None:
    fs = memory()
    log = Log.open(PATH, CONFIG, fs)
    fill(log, 8)
    log.abandon()
    file = fs.open(PATH / f"{0:020d}.log")
    file.pwrite(b"\xff", 3 * len(entry(0).batch) + 40)
    size = file.size()
    fs.capacity = 0
    with pytest.raises(OSError, match="space"):
        Log.open(PATH, CONFIG, fs)
    assert file.size() == size
    fs.heal()
    log = Log.open(PATH, CONFIG, fs)
    assert [cut.sound_batches_behind for cut in log.recovery.cuts] == [4]


def test_no_digit_of_a_checkpoint_can_become_another_one(tmp_path: Path) -> None:
    fs = RealFileSystem()
    checkpoint = Checkpoint(3, 40, 20, 512, segments=(ListedSegment(0, 1024), ListedSegment(20, 512)))
    checkpoint.write(fs, tmp_path)
    path = tmp_path / RECOVERY_CHECKPOINT_NAME
    data = path.read_bytes()
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(CorruptLogError):
                Checkpoint.read(fs, tmp_path)
