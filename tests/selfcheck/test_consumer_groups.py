"""The check and the repair of a log that has KIP-848 groups."""

from __future__ import annotations

import random

import pytest

from coordinator.core.group.state import GroupState
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.consumer_records import in_deletion_order
from coordinator.core.shard import Shard
from coordinator.storage.snapshot.file import Contents
from coordinator.storage.snapshot.loading import Loaded
from protocol.group_records import RecordKind, encode_key, encode_value
from tests.compaction.logs import CONSUMER_KEYS, consumer_value
from tests.selfcheck.world import Disk, commit
from tests.storage.snapshot.world import state_of

KEYS = [*CONSUMER_KEYS, *(encode_key(RecordKind.CONSUMER_CURRENT, "kip", member) for member in "abc")]
CURRENT = encode_key(RecordKind.CONSUMER_CURRENT, "kip", "a")


def written(disk: Disk, number: int, *keys: bytes) -> None:
    disk.append(*((key, encode_value(consumer_value(key, number))) for key in keys))


def loaded(disk: Disk) -> LoadedState:
    found = disk.load(use_snapshot=False)
    shard = Shard(0, {}, dict.fromkeys(GroupState, 0))
    return LoadedState.replayed(found.found, found.replay, found.store, shard, 0)


@pytest.mark.parametrize("number", range(len(KEYS)))
def test_a_damaged_record_is_found_and_taken_out_so_that_the_older_one_counts(number: int) -> None:
    key = KEYS[number]
    disk = Disk(2)
    written(disk, 5, *KEYS)
    before = loaded(disk).stored
    disk.append((key, b"\0\0\1"))
    group = "kip" if "kip" in key.decode(errors="replace") else "ä😀"
    (sentence,) = disk.what()
    assert f"the group {group!r} is quarantined" in sentence
    assert f"its key goes back to the record at log offset {4 + number}" in sentence
    assert loaded(disk).quarantine.groups.keys() == {group}
    disk.repair()
    assert disk.what() == []
    assert loaded(disk).stored == before


def test_a_damaged_record_that_was_replaced_does_no_harm() -> None:
    disk = Disk(0)
    disk.append((CURRENT, b"\0\0\1"))
    written(disk, 5, CURRENT)
    (sentence,) = disk.what()
    assert "a newer record replaces it" in sentence
    assert [group.group_id for group in loaded(disk).stored] == ["kip"]


@pytest.mark.parametrize("seed", range(30))
def test_what_damaged_batches_held_is_written_again_from_the_snapshot(seed: int) -> None:
    rng = random.Random(seed)
    disk = Disk(0)
    for number in range(1, 25):
        action = rng.random()
        if action < 0.2:
            disk.append(commit(number, "kip"))
        elif action < 0.35:
            key = rng.choice([key for key in KEYS if key[1] != RecordKind.CONSUMER_GROUP])
            disk.append((key, None))
        elif action < 0.45:
            disk.append(*((key, None) for key in in_deletion_order(KEYS)))
        else:
            written(disk, number, *rng.sample(KEYS, rng.randint(1, 5)))
    disk.keep()
    if rng.random() < 0.5:
        written(disk, 99, rng.choice(KEYS))
    before = loaded(disk)
    name = rng.choice(disk.segments[:-2])  # not the batch that the snapshot ends with
    starts = disk.starts(name)
    for at in rng.sample(starts, min(len(starts), 2)):
        disk.flip(name, at + 70)
    disk.repair()
    assert disk.what() == []
    after = loaded(disk)

    def content(state: LoadedState) -> dict[str, object]:
        return {group.group_id: (group.epoch, group.members, group.targets, group.regexes) for group in state.stored}

    assert content(after) == content(before)
    assert after.offsets.group_ids() == before.offsets.group_ids()


def test_a_snapshot_without_a_record_of_the_log_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(0)
    written(disk, 5, *KEYS)
    contents = Loaded.contents

    def without_one(self: Loaded) -> Contents:
        whole = contents(self)
        return whole._replace(consumer={key: raw for key, raw in whole.consumer.items() if key != CURRENT})

    monkeypatch.setattr(Loaded, "contents", without_one)
    disk.keep()
    (sentence,) = disk.what()
    assert "it is not what the log says: the record of a KIP-848 group" in sentence


def test_a_snapshot_of_an_earlier_program_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = Disk(0)
    written(disk, 5, *KEYS)
    disk.append((b"\0\x0b\0\1g", b"\0\0"))
    monkeypatch.setattr(Contents, "version", 1)
    disk.keep()
    report = disk.verify()
    assert report.findings == []
    assert any("live-state is not used, because an earlier program made it" in note for note in report.notes)
    assert state_of(disk.load()) == state_of(disk.load(use_snapshot=False))
    log = disk.open()
    end = log.log_end_offset
    log.abandon()
    disk.remove(disk.segments[-1])
    disk.write("00000000000000000000.log", b"")
    assert any(f"it covers the log up to offset {end}" in each for each in disk.what()), "it is still evidence"
