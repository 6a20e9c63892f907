"""The damages that verify, repair and a start are tested with: a table. docs/log-verify.md lists the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, Checkpoint
from protocol.offsets_records import encode_group_key, encode_offset_key
from tests.selfcheck.world import DIRECTORY, Disk, commit

BAD_KEY: Final = encode_offset_key("g1", "t", 9)
REFUSED: Final = "refused"  # the daemon does not start
NOT_LOADED: Final = "not loaded"  # it starts, and does not serve this partition
SERVED: Final = "served"


class Damage(NamedTuple):
    """A damage, and what is said of it."""

    do: Callable[[Disk], None]
    found: str  # in a finding
    start: str
    planned: str  # in the plan of repair
    loses: bool = False  # commits that nothing has any more
    snapshot: bool = False  # the partition has one


def flip(segment: int, batch: int, at: int, mask: int = 0x40) -> Callable[[Disk], None]:
    """Flip a bit of a batch; `at` counts from its start."""

    def do(disk: Disk) -> None:
        name = disk.segments[segment]
        disk.flip(name, disk.starts(name)[batch] + at, mask)

    return do


def cut(segment: int, size: int) -> Callable[[Disk], None]:
    def do(disk: Disk) -> None:
        name = disk.segments[segment]
        disk.write(name, disk.read(name)[:-size])

    return do


def add(segment: int, data: bytes) -> Callable[[Disk], None]:
    def do(disk: Disk) -> None:
        name = disk.segments[segment]
        disk.write(name, disk.read(name) + data)

    return do


def write(name: str, data: bytes) -> Callable[[Disk], None]:
    return lambda disk: disk.write(name, data)


def repeat_a_batch(disk: Disk) -> None:
    name = disk.segments[1]
    data, second = disk.read(name), disk.starts(name)[1]
    disk.write(name, data[:second] + data[:second] + data[second:])


def swap_batches(disk: Disk) -> None:
    name = disk.segments[1]
    data, (_, second, third, *_) = disk.read(name), disk.starts(name)
    disk.write(name, data[second:third] + data[:second] + data[third:])


def overlap(disk: Disk) -> None:
    """Have a segment go on with a batch that the next one has, as a failed write and a lost cut leave it."""
    first, second, *_ = disk.segments
    disk.write(first, disk.read(first) + disk.read(second)[: disk.starts(second)[1]])


def index(suffix: str, data: Callable[[bytes], bytes]) -> Callable[[Disk], None]:
    def do(disk: Disk) -> None:
        name = disk.segments[1].replace(".log", suffix)
        disk.write(name, data(disk.read(name)))

    return do


def records(*damaged: tuple[bytes | None, bytes | None], behind: bool = False) -> Callable[[Disk], None]:
    def do(disk: Disk) -> None:
        disk.append(commit(60), *damaged, commit(61))
        if behind:
            disk.append(commit(62), commit(63))

    return do


def checkpoint_says(**facts: int) -> Callable[[Disk], None]:
    def do(disk: Disk) -> None:
        checkpoint = Checkpoint.read(disk.fs, DIRECTORY)
        assert checkpoint is not None
        checkpoint._replace(clean_segment=-1, **facts).write(disk.fs, DIRECTORY)

    return do


def lose_the_end(disk: Disk) -> None:
    cut(-1, 160)(disk)
    disk.remove(RECOVERY_CHECKPOINT_NAME)


def remove(segment: int, suffix: str = ".log") -> Callable[[Disk], None]:
    return lambda disk: disk.remove(disk.segments[segment].replace(".log", suffix))


def old_key_deleted(disk: Disk) -> None:
    key, value = commit(1, "old")
    assert key is not None
    disk.append((b"\0\0" + key[2:], value), commit(60))
    disk.append((key, None), commit(61))


DAMAGES: Final = {
    "a bit of a batch in the middle": Damage(
        flip(1, 1, 80), "checksum does not match", NOT_LOADED, "offsets 14 to 15", True
    ),
    "the same, under a snapshot": Damage(
        flip(4, 1, 80), "checksum does not match", SERVED, "take out of", snapshot=True
    ),
    "a bit of the last batch of an old segment": Damage(
        flip(1, -1, 80), "checksum does not match", REFUSED, "offsets 22 to 23", True
    ),
    "a length in the middle": Damage(flip(1, 1, 8, 1), "no whole batch", NOT_LOADED, "offsets 14 to 15", True),
    "a base offset in the middle, higher": Damage(
        flip(1, 1, 0, 1), "is not below 24, where the next segment begins", NOT_LOADED, "offsets 14 to 15", True
    ),
    "a base offset of the newest segment, higher": Damage(
        flip(4, 1, 6, 1), "is beyond that of the batch behind it", NOT_LOADED, "offsets 50 to 51", True
    ),
    "a format": Damage(flip(1, 1, 16, 1), "record batch format 3", NOT_LOADED, "offsets 14 to 15", True),
    "a batch twice": Damage(repeat_a_batch, "offset 12 where 14 or more is due", REFUSED, "no offset is missing"),
    "two batches in the wrong order": Damage(swap_batches, "offset", NOT_LOADED, "take out of", True),
    "a segment that goes on into the next": Damage(overlap, "is not below 12", SERVED, "take out of"),
    "a torn write at the end": Damage(add(-1, bytes(range(50))), "no sound batch", SERVED, "50 bytes"),
    "zeros at the end": Damage(add(-1, bytes(5000)), "zero bytes", SERVED, "5000 zero bytes"),
    "an end that was on disk is gone": Damage(cut(-1, 160), "were on disk", REFUSED, "ends at offset 60", True),
    "an old segment is shorter": Damage(
        cut(1, 149), "all of them on disk", REFUSED, "empty the list of segments", True
    ),
    "an old segment is gone": Damage(
        remove(1), "the file is missing", REFUSED, "empty the list of segments", True
    ),
    "the newest segment is gone": Damage(
        remove(-1), "the file is missing", REFUSED, "ends at offset 60", True, True
    ),
    "an index is gone": Damage(
        remove(1, ".index"), "the file is missing", SERVED, "indexes of"
    ),
    "a time index is gone": Damage(
        remove(1, ".timeindex"), "missing", SERVED, "indexes of"
    ),
    "an index is torn": Damage(index(".index", lambda data: data[:-3]), "inside an entry", SERVED, "indexes of"),
    "an index points into a batch": Damage(
        index(".index", lambda data: data[:7] + bytes([data[7] ^ 3]) + data[8:]),
        "no batch begins", SERVED, "indexes of",
    ),
    "an index is out of order": Damage(
        index(".index", lambda data: data + data), "out of order", SERVED, "indexes of"
    ),
    "an index names an offset that is earlier": Damage(
        index(".index", lambda data: data[:3] + b"\1" + data[4:]), "is not before", SERVED, "indexes of"
    ),
    "an index points beyond the log": Damage(
        index(".index", lambda data: data[:4] + b"\0\x0f\0\0" + data[8:]), "beyond the last batch", SERVED, "indexes of"
    ),
    "a time index with another time": Damage(
        index(".timeindex", lambda data: data[:6] + b"\0\1" + data[8:]), "the batches say", SERVED, "indexes of"
    ),
    "a value that cannot be decoded": Damage(
        records((BAD_KEY, b"\0\3short")), "'g1' is quarantined", SERVED, "1 records"
    ),
    "one that a newer record replaces": Damage(
        records((commit(61)[0], b"\0\3short")), "a newer record replaces it", SERVED, "1 records"
    ),
    "a group that cannot be decoded": Damage(
        records((encode_group_key("g1"), b"\0\3")), "'g1' is quarantined", SERVED, "groups 'g1'"
    ),
    "a key that names no group": Damage(records((b"\0\1\0\x09g", b"v")), "its key names none", SERVED, "1 records"),
    "a record without a key": Damage(records((None, b"v")), "has no key", SERVED, "1 records"),
    "a deleted offset with a key of version 0": Damage(old_key_deleted, "comes back", SERVED, "groups 'old'"),
    "a checkpoint that is no checkpoint": Damage(
        write(RECOVERY_CHECKPOINT_NAME, b"\xff"), "not a checkpoint", REFUSED, "rename"
    ),
    "a recovery point ahead of the log": Damage(
        checkpoint_says(recovery_point=70), "were on disk", REFUSED, "ends at offset 70"
    ),
    "a recovery point that no log reaches": Damage(
        checkpoint_says(recovery_point=1 << 50), "were on disk", REFUSED, "rename"
    ),
    "a snapshot that is none": Damage(write(SNAPSHOT_NAME, b"no"), "the file is no snapshot", SERVED, "rename"),
    "a bit of a snapshot": Damage(
        lambda disk: disk.flip(SNAPSHOT_NAME, 150), "it is damaged", SERVED, "rename", snapshot=True
    ),
    "a snapshot ahead of the log": Damage(
        lose_the_end,
        "it covers the log up to offset 60", REFUSED, "ends at offset 60", loses=True, snapshot=True,
    ),
}  # fmt: skip
