"""Records of KIP-848 groups in a replay: which groups exist, what deletes them, and what quarantines them."""

from __future__ import annotations

import pytest

from coordinator.core.committed_rows import committed_rows
from coordinator.core.group.state import GroupState
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.consumer_records import in_deletion_order, is_sound
from coordinator.core.offsets.raw_records import CONSUMER_KEYS
from coordinator.core.offsets.replay import Replay
from coordinator.core.shard import Shard
from protocol.error_codes import ErrorCode
from protocol.group_records import RecordKey, RecordKind, decode_record_key, encode_key, encode_value
from protocol.offsets_records import (
    GroupValue,
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from protocol.record_batch import build_batch, read_header, read_records
from tests.compaction.logs import consumer_value
from tests.core.offsets.test_quarantine import others_are_served, refused
from tests.core.offsets.test_replay import T0, load
from tests.support.cluster import Cluster

Record = tuple[bytes, bytes | None]


def kip(kind: RecordKind, number: int = 1, *, group: str = "g", second: str = "") -> Record:
    key = encode_key(kind, group, second)
    return key, encode_value(consumer_value(key, number))


EPOCH = kip(RecordKind.CONSUMER_GROUP)
MEMBER = kip(RecordKind.CONSUMER_MEMBER, second="m")
TARGET_EPOCH = kip(RecordKind.CONSUMER_TARGET_EPOCH)
TARGET = kip(RecordKind.CONSUMER_TARGET, second="m")
CURRENT = kip(RecordKind.CONSUMER_CURRENT, second="m")
JOIN = (MEMBER, EPOCH, TARGET, TARGET_EPOCH, CURRENT)
OFFSET = (encode_offset_key("g", "t", 0), encode_offset_value(OffsetValue(7, -1, "", 1, -1)))
CLASSIC = (
    encode_group_key("g"),
    encode_group_value(GroupValue(protocol_type="consumer", generation=3, current_state_timestamp_ms=5)),
)


def gone(record: Record) -> Record:
    return record[0], None


def all_gone() -> list[Record]:
    """Return the tombstones of a group in the order in which they are written."""
    return [gone(CURRENT), gone(TARGET), gone(TARGET_EPOCH), gone(MEMBER), gone(EPOCH)]


def replayed(*records: Record, in_one_batch: bool = False) -> tuple[Replay, LoadedState]:
    """Replay these records, one batch each, at the log offsets from 0 on."""
    replay = Replay()
    runs = [list(records)] if in_one_batch else [[record] for record in records]
    offset = 0
    for run in runs:
        batch = bytes(build_batch(run, base_offset=offset, timestamp_ms=1))
        offset += len(run)
        replay.add_batch(read_header(batch), batch)
    found, store = replay.settle()
    shard = Shard(0, {}, dict.fromkeys(GroupState, 0))
    return replay, LoadedState.replayed(found, replay, store, shard, 0)


def groups_of(loaded: LoadedState) -> tuple[list[str], list[str]]:
    """Return the ids of the classic and of the KIP-848 groups."""
    return sorted(loaded.groups), sorted(group.group_id for group in loaded.stored)


# -- which groups exist ----------------------------------------------------------------------------------------------


def test_a_group_exists_without_offsets() -> None:
    replay, loaded = replayed(*JOIN)
    assert groups_of(loaded) == ([], ["g"])
    (group,) = loaded.stored
    assert (group.epoch, group.record_offset, list(group.members), list(group.targets)) == (1, 4, ["m"], ["m"])
    assert (loaded.unknown, replay.records, loaded.ignored) == (0, 5, [])


@pytest.mark.parametrize("offset_first", [False, True])
def test_a_group_with_offsets_is_no_simple_group(*, offset_first: bool) -> None:
    _, loaded = replayed(*([OFFSET, *JOIN] if offset_first else [*JOIN, OFFSET]))
    assert groups_of(loaded) == ([], ["g"])
    assert loaded.offsets.get("g", "t", 0) is not None
    assert loaded.by_state == {}


def test_the_newest_value_of_each_key_counts() -> None:
    _, loaded = replayed(*JOIN, kip(RecordKind.CONSUMER_GROUP, 9), kip(RecordKind.CONSUMER_CURRENT, 8, second="m"))
    (group,) = loaded.stored
    current = group.members["m"].current
    assert current is not None
    assert (group.epoch, current.member_epoch, group.record_offset) == (9, 8, 6)


@pytest.mark.parametrize("record", JOIN)
def test_any_record_alone_makes_a_group(record: Record) -> None:
    _, loaded = replayed(record)
    assert groups_of(loaded) == ([], ["g"])


@pytest.mark.parametrize("in_one_batch", [False, True])
def test_a_deleted_group_is_gone_with_its_offsets(*, in_one_batch: bool) -> None:
    _, loaded = replayed(*JOIN, OFFSET, gone(OFFSET), *all_gone(), in_one_batch=in_one_batch)
    assert groups_of(loaded) == ([], [])


def test_offsets_that_outlive_their_group_make_a_simple_group_as_those_of_a_classic_one_do() -> None:
    replay, loaded = replayed(*JOIN, OFFSET, *all_gone())
    assert groups_of(loaded) == (["g"], [])
    assert loaded.groups["g"].is_simple
    assert replay.live == {}
    assert groups_of(replayed(*JOIN, OFFSET, *all_gone(), gone(OFFSET))[1]) == ([], [])


def test_a_tombstone_of_a_group_that_is_not_there_is_ignored() -> None:
    assert groups_of(replayed(gone(EPOCH), gone(CURRENT))[1]) == ([], [])
    assert groups_of(replayed(CLASSIC, gone(EPOCH))[1]) == (["g"], [])


# -- conversions ---------------------------------------------------------------------------------------------------


def test_a_classic_group_becomes_a_kip_848_group_and_keeps_its_offsets() -> None:
    _, loaded = replayed(CLASSIC, OFFSET, gone(CLASSIC), *JOIN)
    assert groups_of(loaded) == ([], ["g"])
    assert loaded.offsets.get("g", "t", 0) is not None
    assert loaded.ignored == []


def test_a_kip_848_group_becomes_a_classic_group_and_keeps_its_offsets() -> None:
    _, loaded = replayed(*JOIN, OFFSET, *all_gone(), CLASSIC)
    assert groups_of(loaded) == (["g"], [])
    assert loaded.groups["g"].generation == 3
    assert loaded.offsets.get("g", "t", 0) is not None
    assert loaded.ignored == []


def test_of_two_groups_with_one_name_the_newer_record_decides_and_the_loser_is_reported() -> None:
    replay, loaded = replayed(CLASSIC, *JOIN)
    assert groups_of(loaded) == ([], ["g"])
    assert [(each.group_id, each.log_offset) for each in loaded.ignored] == [("g", 0)]
    assert "newer record at log offset 5" in loaded.ignored[0].reason
    assert replay.beaten_groups() == {encode_group_key("g")}
    replay, loaded = replayed(*JOIN, CLASSIC)
    assert groups_of(loaded) == (["g"], [])
    assert [(each.group_id, each.log_offset) for each in loaded.ignored] == [("g", 4)]
    assert replay.beaten_groups() == set()
    assert len(replay.consumer) == len(JOIN), "they stay in the log, and in a snapshot"


def test_a_tombstone_of_the_group_ends_its_older_records() -> None:
    _, loaded = replayed(*JOIN, gone(EPOCH))
    assert groups_of(loaded) == ([], [])
    assert [(each.group_id, each.log_offset) for each in loaded.ignored] == [("g", 4)]
    _, loaded = replayed(*JOIN, gone(EPOCH), EPOCH, kip(RecordKind.CONSUMER_MEMBER, second="n"))
    assert [list(group.members) for group in loaded.stored] == [["n"]]


# -- kinds and keys that are not used --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [*range(9, 16), *range(17, 25), -1])
def test_other_kinds_are_counted(kind: int) -> None:
    replay, loaded = replayed((kind.to_bytes(2, "big", signed=True) + b"\0\1g\0\1m", b"\0\0"))
    assert (loaded.unknown, replay.consumer, groups_of(loaded)) == (1, {}, ([], []))


@pytest.mark.parametrize("key", [b"\0\3", b"\0\3\0\5g", b"\0\3\xff\xff", b"\0\5\0\1\xff\0\1m"])
def test_a_key_that_names_no_group_is_set_aside_alone(key: bytes) -> None:
    _, loaded = replayed((key, b"\0\0"), *JOIN)
    assert groups_of(loaded) == ([], ["g"])
    assert (loaded.quarantine.groups, loaded.quarantine.record_count) == ({}, 1)
    assert groups_of(replayed((key, b"\0\0"), (key, None))[1]) == ([], [])


# -- quarantine --------------------------------------------------------------------------------------------------------

DAMAGED = [
    (EPOCH[0], b"\0\1\0\0\0\1\0"),
    (CURRENT[0], b"\0\0\0\0"),
    (TARGET[0], b""),
    (encode_key(RecordKind.CONSUMER_MEMBER, "g", "member")[:-1], b"\0\0"),
    (OFFSET[0], b"\0\3short"),
]
NAMES = ["unknown version", "cut value", "no value", "cut member id", "cut offset"]


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(partitions=1)
    cluster.commit("other", {T0: 5})
    cluster.crash()
    return cluster


@pytest.mark.parametrize("record", DAMAGED, ids=NAMES)
def test_a_damaged_record_quarantines_its_group_alone(cluster: Cluster, record: Record) -> None:
    load(cluster, *JOIN, OFFSET, record)
    refused(cluster)
    others_are_served(cluster)
    assert (cluster.core.quarantined_groups, cluster.core.quarantined_records) == (1, 1)
    assert cluster.list_groups()["g"].group_state == "Quarantined"


@pytest.mark.parametrize("record", DAMAGED, ids=NAMES)
def test_its_deletion_writes_a_tombstone_for_each_of_its_keys(cluster: Cluster, record: Record) -> None:
    load(cluster, *JOIN, OFFSET, record)
    before = cluster.log.partitions[0].next_offset
    (result,) = cluster.delete_groups("g").answer.results
    assert result.error_code == ErrorCode.NONE
    assert (cluster.core.quarantined_groups, cluster.core.quarantined_records) == (0, 0)
    assert [key.kind for key in tombstones_since(cluster, before)] == [8, 7, 6, 5, 3]
    cluster.crash_and_recover()
    assert cluster.state() == "none"
    assert cluster.committed("g") == {}
    others_are_served(cluster)
    assert groups_of(replayed_log(cluster)) == (["other"], [])


def tombstones_since(cluster: Cluster, from_offset: int) -> list[RecordKey]:
    """Return the keys of KIP-848 records among the tombstones that were written since; nothing else was."""
    found = []
    for header, batch in cluster.log.batches(0):
        for record in read_records(batch, 0, header):
            if record.offset >= from_offset:
                assert record.key is not None and record.value is None
                if is_sound(record.key) and record.key[:2] in CONSUMER_KEYS:
                    key = decode_record_key(record.key)
                    assert key is not None
                    found.append(key)
    return found


def replayed_log(cluster: Cluster) -> LoadedState:
    replay = Replay()
    for header, batch in cluster.log.batches(0):
        replay.add_batch(header, batch)
    found, store = replay.settle()
    return LoadedState.replayed(found, replay, store, Shard(0, {}, dict.fromkeys(GroupState, 0)), 0)


def test_all_records_of_a_quarantined_group_are_rows_of_memory(cluster: Cluster) -> None:
    first = cluster.log.partitions[0].next_offset
    load(cluster, *JOIN, (CURRENT[0], b"\0\0"))
    rows = [row for some in committed_rows(cluster.core.partition(0), 1 << 40) for row in some]
    keys = {row[0]: row[1] for row in rows if len(row) == 2 and isinstance(row[0], bytes)}
    assert keys == {
        MEMBER[0]: first,
        EPOCH[0]: first + 1,
        TARGET[0]: first + 2,
        TARGET_EPOCH[0]: first + 3,
        CURRENT[0]: first + 5,
    }


def test_a_newer_sound_record_ends_the_quarantine(cluster: Cluster) -> None:
    load(cluster, *JOIN, (CURRENT[0], b"\0\0"), CURRENT)
    assert cluster.core.quarantined_groups == 0


def test_keys_are_deleted_as_kafka_deletes_them() -> None:
    keys = [kip(kind, second="m")[0] for kind in RecordKind if kind.to_bytes(2, "big") in CONSUMER_KEYS]
    assert [key[1] for key in in_deletion_order(keys)] == [8, 7, 6, 5, 16, 4, 3]
