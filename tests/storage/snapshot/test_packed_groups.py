"""Groups that are still packed bytes: requests see their offsets, and read-only scans do not unpack them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.committed_rows import committed_rows
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.committed import CommittedOffset, GroupOffsets
from coordinator.core.offsets.packed_groups import NEVER_MS, age_of, decode_offsets, encode_block, mentions, read_blocks
from coordinator.core.offsets.quarantine import restore
from coordinator.core.offsets.replay import Base, Replay
from coordinator.core.offsets.store import OffsetStore
from coordinator.core.shard import Shard
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster

INT64 = st.integers(-(2**63), 2**63 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
COMMITTED = st.builds(
    CommittedOffset, INT64, INT32, st.text(max_size=5), INT64, st.one_of(st.just(-1), INT64), st.integers(0, 2**63 - 1)
)
OFFSETS = st.dictionaries(st.text(max_size=4), st.dictionaries(INT32, COMMITTED, min_size=1, max_size=6), max_size=4)


@given(st.text(max_size=5), st.one_of(st.none(), st.binary(max_size=9)), INT64, OFFSETS)
def test_a_block_decodes_to_the_group_that_was_encoded(
    group_id: str, value: bytes | None, record_offset: int, offsets: GroupOffsets
) -> None:
    data = b"before" + encode_block(group_id, value, record_offset, offsets)
    (block,) = read_blocks(data, 6, len(data))
    assert (block.group_id, block.record_offset, block.size) == (group_id, record_offset, len(data) - 6)
    assert data[block.value_at : block.value_at + block.value_size] == (value or b"")
    assert decode_offsets(data, 6) == offsets
    assert block.offsets == sum(map(len, offsets.values()))
    all_of_them = [each for partitions in offsets.values() for each in partitions.values()]
    age = age_of(data, 6)
    plain = [each.commit_timestamp_ms for each in all_of_them if each.expire_timestamp_ms == -1]
    own = [each.expire_timestamp_ms for each in all_of_them if each.expire_timestamp_ms != -1]
    assert age == (min(plain, default=NEVER_MS), min(own, default=NEVER_MS))
    assert all(mentions(data, 6, topic.encode()) for topic in offsets)


def test_invalid_bytes_raise_an_error_and_never_loop_forever() -> None:
    for data in (bytes(100), b"\xff" * 100, b"\x01" * 10):
        with pytest.raises(ValueError, match="block"):
            list(read_blocks(data, 0, len(data)))


T, U = "t", "u"
COMMIT_MS = 1_000_000
END = 100  # end offset of the log


def loaded_packed(cluster: Cluster, groups: dict[str, GroupOffsets]) -> OffsetStore:
    """Load the cluster's only partition from a snapshot with these groups."""
    data = b"".join(encode_block(group_id, None, -1, offsets) for group_id, offsets in groups.items())
    blocks = {block.group_id: block for block in read_blocks(data, 0, len(data))}
    replay = Replay(Base(0, data, blocks))
    found, store = replay.settle()
    core = cluster.core
    core.load_begin(0)
    shard: Shard = core.partition(0)
    groups_there, quarantine, *_ = restore(found, replay, shard, cluster.clock.now_ms)
    loaded_state = LoadedState.of(groups_there, store, 0, quarantine)
    log = cluster.log.partitions[0]
    log.next_offset = log.high_watermark = END
    cluster.execute(core.loaded(0, loaded_state, END, cluster.clock.now_ms))
    assert packed(store) == len(groups)
    return store


def packed(store: OffsetStore) -> int:
    """Return the number of groups that are still packed."""
    return sum(store.packed_block(group_id) >= 0 for group_id in store.group_ids())


def offsets_of(topic: str, *numbers: int, commit_ms: int = COMMIT_MS) -> GroupOffsets:
    return {topic: {n: CommittedOffset(n * 10, 1, "", commit_ms, -1, n) for n in numbers}}


@pytest.fixture
def cluster() -> Cluster:
    return Cluster(partitions=1, loaded=False)


def test_packed_groups_are_counted_listed_and_described(cluster: Cluster) -> None:
    store = loaded_packed(cluster, {"g": offsets_of(T, 0, 1), "h": offsets_of(U, 0)})
    assert (cluster.core.group_count, cluster.core.offset_count) == (2, 3)
    assert sorted(cluster.list_groups()) == ["g", "h"]
    assert cluster.describe("g").group_state == "Empty"
    assert packed(store) == 2


def test_a_fetch_unpacks_its_group_only(cluster: Cluster) -> None:
    store = loaded_packed(cluster, {"g": offsets_of(T, 0, 1), "h": offsets_of(U, 0)})
    assert cluster.committed("g") == {(T, 0): 0, (T, 1): 10}
    assert packed(store) == 1
    assert cluster.committed("h") == {(U, 0): 0}
    assert cluster.core.offset_count == 3


def test_a_commit_to_a_packed_group_keeps_its_other_offsets(cluster: Cluster) -> None:
    loaded_packed(cluster, {"g": offsets_of(T, 0, 1)})
    cluster.commit("g", {(T, 1): 77, (U, 0): 5})
    assert cluster.committed("g") == {(T, 0): 0, (T, 1): 77, (U, 0): 5}
    assert cluster.core.offset_count == 3


def test_committed_rows_are_read_without_unpacking(cluster: Cluster) -> None:
    store = loaded_packed(cluster, {"g": offsets_of(T, 0, 1), "h": offsets_of(U, 7)})
    rows: list[Any] = [row for some in committed_rows(cluster.core.partition(0), END) for row in some]
    assert sorted(row[:4] for row in rows) == [("g", T, 0, 0), ("g", T, 1, 1), ("h", U, 7, 7)]
    assert packed(store) == 2


def test_a_group_of_very_many_offsets_is_not_kept_packed() -> None:
    many = {T: {n: CommittedOffset(n, -1, "", 1, -1, n) for n in range(5000)}}
    data = encode_block("g", None, -1, many)
    (block,) = read_blocks(data, 0, len(data))
    _, store = Replay(Base(0, data, {"g": block})).settle()
    assert packed(store) == 0
    assert (store.count, store.of_group("g")) == (5000, many)


def test_deleted_offsets_are_removed_from_a_packed_group(cluster: Cluster) -> None:
    loaded_packed(cluster, {"g": offsets_of(T, 0, 1)})
    assert cluster.delete_offsets("g", (T, 0)).error is ErrorCode.NONE
    assert cluster.committed("g") == {(T, 1): 10}


def test_a_packed_group_is_deleted_with_all_its_offsets(cluster: Cluster) -> None:
    loaded_packed(cluster, {"g": offsets_of(T, 0, 1), "h": offsets_of(U, 0)})
    cluster.delete_groups("g")
    assert (cluster.core.group_count, cluster.core.offset_count) == (1, 1)


def test_deleting_a_topic_removes_its_offsets_and_unpacks_no_other_group(cluster: Cluster) -> None:
    store = loaded_packed(cluster, {"g": offsets_of(T, 0, 1), "h": offsets_of(U, 0)})
    cluster.delete_topic(T, (0, 1))
    assert cluster.core.offset_count == 1
    assert packed(store) == 1


def test_expiration_unpacks_only_groups_that_may_have_expired_offsets(cluster: Cluster) -> None:
    now_ms = cluster.clock.now_ms + cluster.core.wall_offset_ms
    young = offsets_of(T, 0, commit_ms=now_ms)
    old = offsets_of(T, 0, commit_ms=now_ms - cluster.config.offsets_retention_ms)
    store = loaded_packed(cluster, {"young": young, "old": old})
    cluster.advance(cluster.config.offsets_retention_check_interval_ms + 1000)
    assert list(cluster.list_groups()) == ["young"]
    assert packed(store) == 1
    cluster.advance(cluster.config.offsets_retention_ms)
    cluster.advance(cluster.config.offsets_retention_check_interval_ms + 1000)
    assert cluster.core.group_count == 0
