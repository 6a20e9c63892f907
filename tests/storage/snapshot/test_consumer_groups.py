"""Snapshots hold KIP-848 groups: a snapshot and the batches behind it leave what the whole log leaves."""

from __future__ import annotations

from typing import Any

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.group.state import GroupState
from coordinator.core.loading import LoadedState
from coordinator.core.shard import Shard
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding, LastBatch, OlderSnapshotError, lacks_consumer_groups
from coordinator.storage.snapshot.loading import Loaded, TailReplay
from coordinator.storage.snapshot.records import compacted_batches
from protocol.group_records import RecordKind, encode_key, encode_value
from protocol.offsets_records import (
    GroupValue,
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from protocol.record_batch import NO_PRODUCER, ControlType, build_batch, build_control_batch, read_header
from tests.compaction.logs import consumer_value
from tests.storage.snapshot.test_quarantine import Partition, version_of
from tests.storage.snapshot.world import DIRECTORY, state_of

Record = tuple[bytes, bytes | None]
PRODUCER = 7

CONSUMER_KEYS = [
    encode_key(kind, group, second)
    for group in ("g", "h")
    for kind, second in (
        (RecordKind.CONSUMER_GROUP, ""),
        (RecordKind.CONSUMER_TOPICS, ""),
        (RecordKind.CONSUMER_MEMBER, "m"),
        (RecordKind.CONSUMER_TARGET_EPOCH, ""),
        (RecordKind.CONSUMER_TARGET, "m"),
        (RecordKind.CONSUMER_CURRENT, "m"),
        (RecordKind.CONSUMER_REGEX, "a.*"),
    )
]
GROUP_KEYS = [encode_group_key("g"), encode_group_key("h")]
OFFSET_KEYS = [encode_offset_key("g", "t", 0), encode_offset_key("g", "t", 1), encode_offset_key("h", "t", 0)]
ODD_KEYS = [CONSUMER_KEYS[2][:-1], b"\0\3\0\x09g", b"\0\x0b\0\1g"]  # no member id, no group; a kind that is not used


def value_of(key: bytes, number: int) -> bytes:
    if key in CONSUMER_KEYS:
        return encode_value(consumer_value(key, number))
    if key in GROUP_KEYS:
        value = GroupValue(protocol_type="consumer", generation=number, current_state_timestamp_ms=number)
        return encode_group_value(value)
    return encode_offset_value(OffsetValue(number, -1, "", number, -1))


# One batch of records as (key, what), or the end of the transaction as whether it commits.
_RECORD = st.tuples(
    st.sampled_from([*CONSUMER_KEYS, *CONSUMER_KEYS, *GROUP_KEYS, *OFFSET_KEYS, *OFFSET_KEYS, *ODD_KEYS]),
    st.sampled_from(["value", "value", "value", "value", "tombstone", "tombstone", "damaged"]),
)
_PLAIN = st.tuples(st.just(NO_PRODUCER), st.lists(_RECORD, min_size=1, max_size=4))
_IN_TRANSACTION = st.tuples(
    st.just(PRODUCER), st.lists(st.tuples(st.sampled_from(OFFSET_KEYS), st.just("value")), min_size=1, max_size=2)
)
LOGS = st.lists(st.one_of(_PLAIN, _PLAIN, _PLAIN, _IN_TRANSACTION, st.booleans()), min_size=1, max_size=12)


def batches_of(log: list[Any]) -> list[bytes]:
    batches: list[bytes] = []
    offset = 0
    for number, op in enumerate(log):
        if isinstance(op, bool):
            kind = ControlType.COMMIT if op else ControlType.ABORT
            batch = build_control_batch(
                kind, base_offset=offset, timestamp_ms=1, producer_id=PRODUCER, producer_epoch=0
            )
        else:
            producer_id, records = op
            made: list[Record] = []
            for key, what in records:
                value = {"value": value_of(key, number + 1), "tombstone": None, "damaged": b"\0\1\0"}[what]
                made.append((key, value))
            batch = build_batch(
                made, base_offset=offset, timestamp_ms=1, producer_id=producer_id,
                producer_epoch=0 if producer_id >= 0 else -1, is_transactional=producer_id >= 0,
            )  # fmt: skip
        batches.append(bytes(batch))
        offset = read_header(batches[-1]).last_offset + 1
    return batches


def replayed(batches: list[bytes], snapshot: bytes | None = None) -> Loaded:
    if snapshot is None:
        tail = TailReplay(None, None)
    else:
        binding, base = file.decode(snapshot)
        tail = TailReplay(base, binding.last)
    for batch in batches:
        tail.add(read_header(batch), batch)
    end = read_header(batches[-1]).last_offset + 1 if batches else tail._due
    return tail.settle(end)


def snapshot_of(loaded: Loaded) -> bytes:
    last = loaded.last or LastBatch(0, 0, 0)
    return b"".join(file.encode(Binding(0, 0, loaded.next_offset, last), loaded.contents()))


def facts_of(loaded: Loaded) -> tuple[Any, ...]:
    """Return what a node would have in memory."""
    shard = Shard(0, {}, dict.fromkeys(GroupState, 0))
    state = LoadedState.replayed(loaded.found, loaded.replay, loaded.store, shard, 0)
    quarantined = {
        one.group_id: (one.record_offset, sorted(one.keys), one.records) for one in state.quarantine.groups.values()
    }
    classic = {group_id: (group.generation, group.record_offset) for group_id, group in state.groups.items()}
    stored = sorted(state.stored, key=lambda group: group.group_id)
    assert not state.groups.keys() & {group.group_id for group in stored}
    assert not quarantined.keys() & {*state.groups, *(group.group_id for group in stored)}
    return classic, stored, quarantined, state.quarantine.offsets, state_of(loaded)


@given(LOGS)
def test_a_snapshot_at_each_boundary_and_the_rest_leave_what_the_whole_log_leaves(log: list[Any]) -> None:
    batches = batches_of(log)
    chained: bytes | None = None
    for cut in range(1, len(batches) + 1):
        expected = facts_of(replayed(batches))
        assert facts_of(replayed(batches[cut:], snapshot_of(replayed(batches[:cut])))) == expected
        chained = snapshot_of(replayed(batches[cut - 1 : cut], chained))  # made from the previous one
        assert facts_of(replayed(batches[cut:], chained)) == expected


@given(LOGS)
def test_the_records_of_a_snapshot_as_a_log_leave_the_same_records(log: list[Any]) -> None:
    """A store that deletes what a snapshot covers is exported like this."""
    whole = replayed(batches_of(log))
    entries = compacted_batches(snapshot_of(whole), whole.next_offset)
    again = replayed([bytes(entry.batch) for entry in entries])
    assert again.replay.consumer == whole.replay.consumer
    assert again.replay.live == whole.replay.live


# -- the file ----------------------------------------------------------------------------------------------------------

EPOCH: Record = (CONSUMER_KEYS[0], value_of(CONSUMER_KEYS[0], 1))
OFFSET: Record = (OFFSET_KEYS[0], value_of(OFFSET_KEYS[0], 1))
SHARE: Record = (b"\0\x0b\0\1g", b"\0\0")


def test_a_snapshot_has_its_format_version_from_what_it_holds() -> None:
    partition = Partition()
    partition.append(OFFSET)
    partition.keep(use_snapshot=False)
    assert version_of(partition) == 1
    partition.append((OFFSET[0], b"\0\3short"))
    partition.keep(use_snapshot=True)
    assert version_of(partition) == 2
    partition.append(EPOCH)
    partition.keep(use_snapshot=True)
    assert version_of(partition) == 3
    loaded = partition.load(use_snapshot=True)
    assert (loaded.records, loaded.replay.consumer) == (0, {EPOCH[0]: (EPOCH[1], 2)})
    partition.append((EPOCH[0], None), OFFSET)
    partition.keep(use_snapshot=True)
    assert version_of(partition) == 1
    partition.append(SHARE)
    partition.keep(use_snapshot=True)
    assert version_of(partition) == 3, "so that a later program knows that nothing is missing"
    assert partition.load(use_snapshot=True).replay.unknown == 1


def of_earlier_program(partition: Partition, *, unknown: int) -> None:
    """Replace the snapshot by one that has dropped the KIP-848 records and only counted them."""
    loaded = partition.load(use_snapshot=False)
    contents = loaded.contents()._replace(consumer={}, unknown=unknown)
    assert loaded.last is not None
    data = bytearray(b"".join(file.encode(Binding(0, 0, loaded.next_offset, loaded.last), contents)))
    data[8:12] = (1).to_bytes(4, "little")
    header = file._HEADER.size
    data[header : header + 4] = file._CRC.pack(google_crc32c.value(bytes(data[:header])))
    written = partition.fs.open(DIRECTORY / "live-state", create=True)
    written.truncate(0)
    written.pwrite(bytes(data), 0)
    written.fsync()
    written.close()
    partition.fs.fsync_dir(DIRECTORY)


def read_file(partition: Partition) -> bytes:
    opened = partition.fs.open(DIRECTORY / "live-state")
    return opened.pread(opened.size(), 0)


@pytest.mark.parametrize("unknown", [0, 1])
def test_a_snapshot_of_an_earlier_program_is_not_used_if_it_may_lack_records(unknown: int) -> None:
    partition = Partition()
    partition.append(OFFSET, *([EPOCH] if unknown else []))
    of_earlier_program(partition, unknown=unknown)
    assert lacks_consumer_groups(read_file(partition)) == bool(unknown)
    loaded = partition.load(use_snapshot=True)
    assert (loaded.snapshot_offset, len(loaded.replay.consumer)) == ((-1, 1) if unknown else (1, 0))
    if unknown:
        assert loaded.why_replayed.startswith("the snapshot cannot be used: an earlier program made it")
        with pytest.raises(OlderSnapshotError):
            file.read(partition.fs, DIRECTORY)
        assert file.evidence(partition.fs, DIRECTORY, 0).offset == loaded.next_offset
    partition.keep(use_snapshot=True)
    assert partition.load(use_snapshot=True).snapshot_offset == loaded.next_offset
