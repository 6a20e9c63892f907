"""Records in quarantine survive snapshots: the state of a snapshot and the tail is that of the whole log."""

from __future__ import annotations

import random

import pytest

from coordinator.core.group.state import GroupState
from coordinator.core.offsets.quarantine import Quarantine, restore
from coordinator.core.shard import Shard
from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.log.log import Log
from coordinator.storage.snapshot.file import read_binding
from coordinator.storage.snapshot.loading import Loaded, binding_of, keep, load
from protocol.offsets_records import OffsetValue, encode_group_key, encode_offset_key, encode_offset_value
from protocol.record_batch import ControlType, build_batch, build_control_batch
from tests.storage.snapshot.world import DIRECTORY, state_of

SOUND = encode_offset_value(OffsetValue(7, -1, "", 1, -1))
KEYS = [encode_offset_key(group, "t", partition) for group in "gh" for partition in (0, 1)]
KEYS += [b"\0\0" + KEYS[0][2:], encode_group_key("g"), b"\0\2\xff\xff", b"\0\1\0\x09g", b"", b"\0\3k"]
VALUES = [SOUND, SOUND, b"\0\3short", b"", None, None]
WHERE_VERSION_IS = 8


class Partition:
    """A partition's log on a disk in memory."""

    def __init__(self) -> None:
        self.fs = LossyFileSystem()
        self.fs.mkdir(DIRECTORY.parent)
        self.log = Log.open(DIRECTORY, fs=self.fs)

    def append(self, *records: tuple[bytes, bytes | None], producer_id: int = -1) -> None:
        batch = build_batch(
            records, base_offset=self.log.log_end_offset, timestamp_ms=1, producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1, is_transactional=producer_id >= 0,
        )  # fmt: skip
        self._write(bytes(batch))

    def end(self, producer_id: int, *, commit: bool) -> None:
        kind = ControlType.COMMIT if commit else ControlType.ABORT
        offset = self.log.log_end_offset
        self._write(bytes(build_control_batch(kind, base_offset=offset, timestamp_ms=1, producer_id=producer_id,
                                              producer_epoch=0)))  # fmt: skip

    def _write(self, batch: bytes) -> None:
        end = self.log.log_end_offset
        path = DIRECTORY / f"{0:020d}.log"
        self.log.close()
        file = self.fs.open(path)
        file.pwrite(batch, file.size())
        file.fsync()
        file.close()
        self.log = Log.open(DIRECTORY, fs=self.fs)
        assert self.log.log_end_offset > end

    def load(self, *, use_snapshot: bool) -> Loaded:
        return load(self.fs, self.log, 0, chunk_bytes=1 << 16, use_snapshot=use_snapshot)

    def keep(self, *, use_snapshot: bool) -> None:
        loaded = self.load(use_snapshot=use_snapshot)
        binding = binding_of(self.log, 0, loaded)
        assert binding is not None
        keep(self.fs, DIRECTORY, binding, loaded)


def quarantine_of(loaded: Loaded) -> tuple[object, ...]:
    shard = Shard(0, {}, dict.fromkeys(GroupState, 0))
    groups, quarantine, *_ = restore(loaded.found, loaded.replay, shard, 0)
    facts = {one.group_id: (one.record_offset, sorted(one.keys), one.records) for one in quarantine.groups.values()}
    return sorted(group.group_id for group in groups), facts, quarantine.offsets


def version_of(partition: Partition) -> int:
    file = partition.fs.open(DIRECTORY / "live-state")
    return int.from_bytes(file.pread(4, WHERE_VERSION_IS), "little")


def test_a_snapshot_holds_what_is_in_quarantine_and_only_then_has_another_version() -> None:
    partition = Partition()
    partition.append((KEYS[0], SOUND), (KEYS[2], SOUND))
    partition.keep(use_snapshot=False)
    assert version_of(partition) == 1
    partition.append((KEYS[0], b"\0\3short"))
    partition.keep(use_snapshot=True)
    assert version_of(partition) == 2
    loaded = partition.load(use_snapshot=True)
    assert (loaded.snapshot_offset, loaded.records) == (3, 0)
    assert state_of(loaded) == state_of(partition.load(use_snapshot=False))
    assert quarantine_of(loaded) == (["h"], {"g": (-1, [KEYS[0]], 1)}, {KEYS[0]: 2})
    partition.append((KEYS[0], SOUND))
    partition.keep(use_snapshot=True)
    assert version_of(partition) == 1
    assert quarantine_of(partition.load(use_snapshot=True)) == (["g", "h"], {}, {})
    assert read_binding(partition.fs, DIRECTORY).next_offset == 4


@pytest.mark.parametrize("seed", range(60))
def test_snapshots_anywhere_give_the_quarantine_of_the_whole_log(seed: int) -> None:
    rng = random.Random(seed)
    partition = Partition()
    for _ in range(rng.randrange(3, 9)):
        for _ in range(rng.randrange(1, 6)):
            producer_id = rng.choice((-1, -1, 7, 8))
            if producer_id >= 0 and rng.random() < 0.4:
                partition.end(producer_id, commit=rng.random() < 0.6)
            else:
                records = [(rng.choice(KEYS), rng.choice(VALUES)) for _ in range(rng.randrange(1, 4))]
                partition.append(*records, producer_id=producer_id)
        fast, whole = partition.load(use_snapshot=True), partition.load(use_snapshot=False)
        assert state_of(fast) == state_of(whole)
        assert quarantine_of(fast) == quarantine_of(whole)
        if rng.random() < 0.7:
            partition.keep(use_snapshot=rng.random() < 0.5)


def test_no_quarantine_is_empty() -> None:
    assert Quarantine.empty().record_count == 0
