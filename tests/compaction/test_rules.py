"""The rules of compaction, applied by the oracle, against readers that are independent of them.

First, on any log: a reader sees the same before and after each of several rounds, with the log growing in between, and
a dozen lines here compute which records stay. Then the rules one by one, on logs made for them.
"""

from __future__ import annotations

import struct
from typing import Any

import cramjam
import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator.compaction.rules import (
    PRODUCER_ID_EXPIRATION_MS,
    empty_batch,
    group_segments,
    horizon_of,
)
from coordinator.compaction.validate import difference
from coordinator.core.group.state import GroupState
from coordinator.core.offsets.quarantine import restore
from coordinator.core.offsets.replay import Replay
from coordinator.core.shard import Shard
from protocol.compression import Codec
from protocol.record_batch import (
    BatchHeader,
    ControlType,
    Record,
    control_type,
    iter_batches,
    read_header,
    read_records,
    verify,
)
from tests.compaction.logs import (
    ANYTHING,
    DAY_MS,
    KEYS,
    OFFSETS,
    PLAIN,
    START_MS,
    Empty,
    End,
    LogWriter,
    Op,
    OtherControl,
    Rec,
    Roll,
    Segment,
    Write,
    compacted,
    operations,
    replayed,
    seeded,
)
from tests.compaction.oracle import compact_partition

ANY_LOG = settings(max_examples=80, deadline=None)
Pause = st.sampled_from((0, 1, DAY_MS // 2, DAY_MS, 3 * DAY_MS))
SEGMENT_BYTES = st.sampled_from((1, 600, 4000, 1 << 20))


def batches(segments: list[Segment]) -> list[tuple[BatchHeader, list[Record], bytes]]:
    return [
        (header, read_records(segment.data, at, header), segment.data[at : at + header.size_bytes])
        for segment in segments
        for at, header in iter_batches(segment.data)
    ]


def data_records(segments: list[Segment]) -> list[Record]:
    return [record for header, records, _ in batches(segments) if not header.is_control for record in records]


def markers(segments: list[Segment]) -> list[str]:
    found = [(header, records) for header, records, _ in batches(segments) if header.is_control and records]
    return [control_type(records[0]).name for _, records in found]


def clean(
    segments: list[Segment], clean_up_to: int | None = None, now_ms: int = START_MS + 1000, **more: int
) -> list[Segment]:
    """Run one round over all of these segments."""
    end = segments[-1].next_offset if clean_up_to is None else clean_up_to
    return compacted(compact_partition, segments, end, now_ms, **more)[0]


def expected_offsets(segments: list[Segment], now_ms: int) -> set[int]:
    """Return the data records that stay, from the records alone."""
    outcome: dict[int, list[str]] = {}  # base offset of a batch -> one entry, shared by its transaction
    open_: dict[int, list[str]] = {}
    for header, records, _ in batches(segments):
        if header.is_control and records and control_type(records[0]) is not ControlType.UNKNOWN:
            open_.pop(header.producer_id, []).append(control_type(records[0]).name)
        elif header.is_transactional and not header.is_control:
            outcome[header.base_offset] = open_.setdefault(header.producer_id, [])
    ends = {base: end[0] if end else "OPEN" for base, end in outcome.items()}
    data = [
        (header, record, ends.get(header.base_offset, "COMMIT"))
        for header, records, _ in batches(segments)
        if not header.is_control
        for record in records
    ]
    newest = {record.key: record.offset for _, record, end in data if end == "COMMIT"}
    first_open = {record.key: record.offset for _, record, end in reversed(data) if end == "OPEN"}

    def stays(header: BatchHeader, record: Record) -> bool:
        if record.key is None:
            return False
        if record.value is None and record.offset > first_open.get(record.key, 1 << 62):
            return True
        is_old = header.attributes & 0x40 and header.base_timestamp <= now_ms
        return record.offset == newest[record.key] and (record.value is not None or not is_old)

    return {
        record.offset for header, record, end in data if end == "OPEN" or (end == "COMMIT" and stays(header, record))
    }


# --- any log ----------------------------------------------------------------------------------------------------------


@ANY_LOG
@given(
    st.sampled_from((ANYTHING, OFFSETS, PLAIN)).flatmap(
        lambda style: st.lists(st.tuples(operations(style, max_size=25), Pause), min_size=1, max_size=4)
    ),
    SEGMENT_BYTES,
)
def test_a_reader_sees_the_state_of_the_whole_log_after_each_round(
    parts: list[tuple[list[Op], int]], segment_bytes: int
) -> None:
    writer, whole = LogWriter(), LogWriter()
    for ops, pause_ms in parts:
        for each in (writer, whole):
            each.write(ops).roll()
            each.now_ms += pause_ms
        before = writer.closed
        if not before:
            continue
        end = writer.active.base_offset
        made, result = compacted(compact_partition, before, end, writer.now_ms, segment_bytes=segment_bytes)
        for then_commit in (False, True):
            assert replayed(made, then_commit=then_commit) == replayed(whole.closed, then_commit=then_commit)
        assert {record.offset for record in data_records(made)} == expected_offsets(before, writer.now_ms)
        assert all(output.next_offset <= end for output in result.outputs)
        assert {segment.name for segment in made} <= {segment.name for segment in before}
        stats = result.stats
        assert stats.records_before == sum(len(records) for _, records, _ in batches(before))
        assert stats.records_after == sum(len(records) for _, records, _ in batches(made))
        assert stats.batches_after == len(batches(made)) == sum(output.batches for output in result.outputs)
        assert stats.bytes_after == sum(segment.size_bytes for segment in made)
        writer.segments = [*made, writer.active]


@ANY_LOG
@given(operations(OFFSETS, max_size=50), Pause)
def test_a_coordinator_loads_the_same_offsets_and_groups(ops: list[Op], pause_ms: int) -> None:
    writer = LogWriter().write(ops).roll()
    if writer.closed:
        made = clean(writer.closed, now_ms=writer.now_ms)
        made = clean(made, writer.next_offset, writer.now_ms + pause_ms) if made else made
        assert loaded(made) == loaded(writer.closed)


def replay_of(segments: list[Segment]) -> Replay:
    replay = Replay()
    for header, records, _ in batches(segments):
        replay.add(header, records)
    return replay


def loaded(segments: list[Segment]) -> tuple[Any, ...]:
    """Offsets, pending ones and recorded groups, as the coordinator's own replay finds them.

    A group of which neither a record nor an offset is left is no difference: the uncleaned log still tells that there
    was one, and the coordinator forgets it at its next look for expired groups.
    """
    replay = replay_of(segments)
    shard = Shard(0, {}, dict.fromkeys(GroupState, 0))
    found, store = replay.settle()
    groups, *_ = restore(found, replay, shard, 0)
    recorded = {
        name for name in (group.group_id for group in groups) if store.of_group(name) or store.has_pending(name)
    }
    offsets = {group_id: store.of_group(group_id) for group_id in store.group_ids()}
    pending = {name: set(store.pending_of_group(name)) for name in recorded}
    with_members = {group.group_id: (group.generation, sorted(group.members)) for group in groups if group.generation}
    return recorded, offsets, pending, with_members


@ANY_LOG
@given(operations(max_size=50), Pause)
def test_surviving_records_keep_their_offsets_producer_and_content(ops: list[Op], pause_ms: int) -> None:
    writer = LogWriter().write(ops).roll()
    if not writer.closed:
        return
    sources = {header.base_offset: (header, records, raw) for header, records, raw in batches(writer.closed)}
    now_ms = writer.now_ms + pause_ms
    for header, kept, raw in batches(clean(writer.closed, now_ms=now_ms)):
        old, records, original = sources[header.base_offset]
        verify(raw, 0, header)
        same = ("last_offset", "partition_leader_epoch", "producer_id", "producer_epoch", "base_sequence")
        assert [getattr(header, name) for name in same] == [getattr(old, name) for name in same]
        assert header.attributes & 0x38 == old.attributes & 0x38, "timestamp type, transactional, control"
        assert set(kept) <= set(records), "offset, timestamp, key, value and headers of each"
        has_tombstone = any(record.value is None for record in kept)
        is_closed_marker = old.is_control and horizon_of(header) is not None
        if not kept:
            assert raw == empty_batch(old)
            assert header.codec == Codec.NONE
            assert header.max_timestamp == old.max_timestamp
            continue
        assert header.codec == old.codec
        assert header.max_timestamp == max(record.timestamp_ms for record in kept)
        if has_tombstone or is_closed_marker:
            if old.is_transactional and horizon_of(header) is None:
                assert raw == original, "undecided"
            else:
                assert horizon_of(header) == now_ms + DAY_MS
        elif len(kept) == len(records):
            assert raw == original
        else:
            assert header.base_timestamp == kept[0].timestamp_ms


@ANY_LOG
@given(operations(max_size=50))
def test_a_log_that_is_clean_does_not_change_any_more(ops: list[Op]) -> None:
    """The second round gives the markers their horizons; later rounds change nothing until those are reached."""
    writer = LogWriter().write(ops).roll()
    if not writer.closed:
        return
    end, now_ms = writer.next_offset, writer.now_ms
    once = clean(writer.closed, end, now_ms)
    assert once == clean(writer.closed, end, now_ms), "the same plan, the same bytes"
    twice = clean(once, end, now_ms) if once else once
    thrice = clean(twice, end, now_ms) if twice else twice
    assert [raw for *_, raw in batches(thrice)] == [raw for *_, raw in batches(twice)]
    if not any(isinstance(op, End) for op in ops):
        assert [raw for *_, raw in batches(twice)] == [raw for *_, raw in batches(once)]


@pytest.mark.parametrize("seed", range(6))
def test_long_logs_read_the_same_after_many_rounds(seed: int) -> None:
    writer, whole = LogWriter(), LogWriter()
    style = (ANYTHING, OFFSETS, PLAIN)[seed % 3]
    for number in range(5):
        for each in (writer, whole):
            each.write(seeded(seed * 10 + number, 250, style)).roll()
            each.now_ms += DAY_MS * (number % 2)
        made = clean(writer.closed, writer.active.base_offset, writer.now_ms, segment_bytes=5000)
        for then_commit in (False, True):
            assert replayed(made, then_commit=then_commit) == replayed(whole.closed, then_commit=then_commit)
        writer.segments = [*made, writer.active]
    assert sum(segment.size_bytes for segment in made) < sum(segment.size_bytes for segment in whole.closed) / 3


@pytest.mark.parametrize("seed", range(10))
def test_the_coordinators_own_validation_finds_no_difference(seed: int) -> None:
    """Offsets, groups and open transactions stay the same, also where a round ends within a transaction."""
    writer = LogWriter()
    for number in range(3):
        writer.write(seeded(seed * 10 + number, 80, OFFSETS)[:80]).roll()
        writer.now_ms += DAY_MS * (number % 2)
        made = clean(writer.closed, writer.active.base_offset, writer.now_ms, segment_bytes=5000)
        assert difference(replay_of(writer.closed), replay_of(made)) is None
        writer.segments = [*made, writer.active]


# --- records ----------------------------------------------------------------------------------------------------------


def commit(*keys: int, codec: Codec = Codec.NONE, producer_id: int = -1) -> Write:
    return Write(tuple(Rec(key) for key in keys), codec, producer_id)


def delete(*keys: int, producer_id: int = -1) -> Write:
    return Write(tuple(Rec(key, is_tombstone=True) for key in keys), producer_id=producer_id)


END = commit(9)  # a batch that the round keeps for being the last


def log(*ops: Op) -> list[Segment]:
    return LogWriter().write(ops).roll().closed


def offsets(segments: list[Segment]) -> list[int]:
    return [record.offset for record in data_records(segments)]


@pytest.mark.parametrize("codec", Codec)
def test_the_newest_record_of_a_key_stays_whatever_the_codec(codec: Codec) -> None:
    made = clean(log(commit(0, 1, 2, codec=codec), Roll(), commit(1, codec=codec)))
    assert offsets(made) == [0, 2, 3]
    assert [header.codec for header, *_ in batches(made)] == [codec, codec]


def test_a_compressed_batch_that_loses_nothing_stays_as_its_writer_compressed_it() -> None:
    (segment,) = log(commit(0, 1))
    header = read_header(segment.data)
    body = bytes(cramjam.snappy.compress_raw(segment.data[61:]))  # a block; this program writes a stream
    checked = struct.pack(">h", Codec.SNAPPY) + segment.data[23:61] + body
    prefix = struct.pack(">qiibI", 0, 49 + len(body), header.partition_leader_epoch, 2, google_crc32c.value(checked))
    segment = Segment(0, prefix + checked)
    assert clean([segment]) == [segment]


def test_within_a_batch_the_last_record_of_a_key_stays() -> None:
    assert offsets(clean(log(commit(0, 0, 1, 0)))) == [2, 3]


def test_a_record_without_a_key_goes() -> None:
    assert offsets(clean(log(Write((Rec(None), Rec(0))), END))) == [1, 2]


def test_the_last_batch_of_the_round_stays_as_a_header() -> None:
    segments = log(commit(0), Write((Rec(None), Rec(None))))
    (first, *_), (last, records, _) = batches(clean(segments))
    assert (first.base_offset, last.base_offset, last.last_offset, records) == (0, 1, 2, [])
    assert offsets(clean(segments, clean_up_to=4)) == [0]
    assert len(batches(clean(segments, clean_up_to=4))) == 1, "a gap behind it: it is not the end of the round"


def test_a_group_of_segments_of_which_nothing_is_left_gives_no_file() -> None:
    segments = log(commit(0), Roll(), commit(0))
    assert [segment.base_offset for segment in clean(segments, segment_bytes=1)] == [1]


def test_timestamps_count_from_the_first_record_that_stays() -> None:
    ops = Write((Rec(0), Rec(1, late_ms=500), Rec(2, late_ms=90), Rec(3, late_ms=900))), commit(0, 3)
    (header, records, _), _ = batches(clean(log(*ops)))
    first = START_MS + 10
    assert (header.base_timestamp, header.max_timestamp) == (first + 500, first + 500)
    assert [record.timestamp_ms for record in records] == [first + 500, first + 90]


def test_log_append_time_stays() -> None:
    ops = Write((Rec(0), Rec(1, late_ms=500), Rec(2, late_ms=90)), append_time=True), commit(0)
    (header, records, _), _ = batches(clean(log(*ops)))
    first = START_MS + 10
    assert (header.base_timestamp, header.max_timestamp, header.has_log_append_time) == (first, first, True)
    assert [record.timestamp_ms for record in records] == [first, first]


# --- tombstones -------------------------------------------------------------------------------------------------------


def test_a_tombstone_gets_its_horizon_in_the_first_round_and_goes_exactly_when_it_is_reached() -> None:
    segments = log(commit(0), delete(0), END)
    now_ms = START_MS + 1000
    first = clean(segments, now_ms=now_ms, delete_retention_ms=5000)
    assert offsets(first) == [1, 2]
    header, records, _ = batches(first)[0]
    assert horizon_of(header) == header.base_timestamp == now_ms + 5000
    assert records[0].timestamp_ms == header.max_timestamp == START_MS + 20, "the record's own time stays"
    early = clean(first, now_ms=now_ms + 4999, delete_retention_ms=77)
    assert early == first, "a horizon does not move"
    assert offsets(clean(early, now_ms=now_ms + 5000, delete_retention_ms=5000)) == [2]


def test_a_superseded_tombstone_goes_at_once() -> None:
    assert offsets(clean(log(delete(0), commit(0), END))) == [1, 2]


def test_other_records_of_a_tombstones_batch_stay_beyond_its_horizon() -> None:
    first = clean(log(Write((Rec(0, is_tombstone=True), Rec(1))), END), delete_retention_ms=0)
    second = clean(first)
    assert offsets(second) == [1, 2]
    header = batches(second)[0][0]
    assert horizon_of(header) == START_MS + 1000, "the horizon of a batch stays when its tombstone is gone"


def test_the_round_counts_kept_and_dropped_tombstones() -> None:
    segments = log(commit(0), delete(0, 1), delete(1), END)
    made, result = compacted(compact_partition, segments, 5, START_MS + 1000, delete_retention_ms=0)
    assert (result.stats.tombstones_kept, result.stats.tombstones_dropped, result.stats.keys) == (2, 0, 3)
    _, result = compacted(compact_partition, made, 5, START_MS + 1000)
    assert (result.stats.tombstones_kept, result.stats.tombstones_dropped) == (0, 2)


# --- transactions -----------------------------------------------------------------------------------------------------


def in_txn(*keys: int, producer_id: int = 1) -> Write:
    return commit(*keys, producer_id=producer_id)


def test_an_aborted_transaction_goes_and_its_keys_count_for_nothing() -> None:
    segments = log(commit(0), in_txn(0, 1), in_txn(5, producer_id=2), Roll(), End(1, commit=False), in_txn(6), END)
    made, result = compacted(compact_partition, segments, segments[-1].next_offset, START_MS + 1000)
    assert offsets(made) == [0, 3, 5, 6]
    assert result.stats.aborted_dropped == 2
    assert result.stats.markers_kept == 1


def test_a_committed_record_replaces_older_ones_by_its_offset_not_its_markers() -> None:
    segments = log(in_txn(0, 1), commit(0), End(1, commit=True), commit(2))
    assert offsets(clean(segments)) == [1, 2, 4]


@pytest.mark.parametrize("is_commit", [True, False])
def test_a_marker_stays_until_its_data_is_gone_then_for_the_retention_then_goes(is_commit: bool) -> None:
    # The producer's last data is elsewhere, or its batch would stay as a header, and the marker with it.
    segments = log(in_txn(0), End(1, is_commit), in_txn(1), commit(0), END)
    now_ms, name = START_MS + 1000, ["COMMIT" if is_commit else "ABORT"]
    first = clean(segments, now_ms=now_ms, delete_retention_ms=500)
    assert (offsets(first), markers(first)) == ([2, 3, 4], name)
    assert horizon_of(batches(first)[0][0]) is None, "its data was there when the round began"
    second = clean(first, now_ms=now_ms + 1, delete_retention_ms=500)
    header, records, _ = batches(second)[0]
    assert (header.is_control, horizon_of(header)) == (True, now_ms + 501)
    assert records[0].timestamp_ms == START_MS + 20
    assert markers(clean(second, now_ms=now_ms + 500, delete_retention_ms=500)) == name
    assert markers(clean(second, now_ms=now_ms + 501, delete_retention_ms=500)) == []


def test_a_marker_stays_as_long_as_one_record_of_its_transaction() -> None:
    segments = log(in_txn(0), End(1, commit=True), in_txn(1), END)
    for _ in range(4):
        segments = clean(segments, now_ms=START_MS + 90 * DAY_MS)
    assert markers(segments) == ["COMMIT"]
    assert offsets(segments) == [0, 2, 3]


def test_an_undecided_transaction_stays_as_it_is_and_supersedes_nothing() -> None:
    segments = log(commit(0, 1), in_txn(0, 0), commit(1), END)
    made = clean(segments)
    assert offsets(made) == [0, 2, 3, 4, 5]
    assert batches(made)[1] == batches(segments)[1]


def test_no_tombstone_goes_that_an_undecided_transaction_could_have_to_obey() -> None:
    ops = [delete(0), in_txn(0), delete(0), delete(1), commit(0), delete(0), in_txn(0), END]
    writer = LogWriter().write(ops).roll()
    segments = writer.closed
    for number in range(3):
        segments = clean(segments, now_ms=START_MS + number * 9 * DAY_MS)
    assert offsets(segments) == [1, 2, 5, 6, 7], "what lies before it, or is of another key, goes"
    writer.segments = [*segments, Segment(writer.next_offset)]
    writer.write([End(1, commit=True), END]).roll()
    assert replayed(writer.closed)[0].keys() == {KEYS[0], KEYS[9]}
    made = clean(writer.closed, now_ms=START_MS + 90 * DAY_MS)
    assert offsets(made) == [6, 9], "decided, all that was replaced goes in one round"


def test_a_markers_key_replaces_no_records_key() -> None:
    writer = LogWriter()
    writer._append([(START_MS, struct.pack(">hh", 0, ControlType.COMMIT), b"a record's", ())], -1)
    segments = writer.write([in_txn(0), End(1, commit=True), END]).roll().closed
    made, result = compacted(compact_partition, segments, writer.next_offset, START_MS + 1000)
    assert offsets(made) == [0, 1, 3]
    assert result.stats.keys == 3


def test_a_control_batch_that_ends_no_transaction_stays() -> None:
    segments = log(in_txn(0), OtherControl(), End(1, commit=True), END)
    for number in range(3):
        segments = clean(segments, now_ms=START_MS + number * 9 * DAY_MS)
    assert markers(segments) == ["UNKNOWN", "COMMIT"]


# --- producers --------------------------------------------------------------------------------------------------------


def headers_of(segments: list[Segment], producer_id: int) -> list[tuple[int, int, int]]:
    """(base offset, base sequence, count) of a producer's batches."""
    found = [header for header, *_ in batches(segments) if header.producer_id == producer_id]
    return [(header.base_offset, header.base_sequence, header.record_count) for header in found]


def test_a_producers_last_batch_stays_as_a_header_with_its_sequence() -> None:
    segments = log(commit(0, producer_id=11), commit(0, 1, producer_id=11), commit(0, 1), END)
    made = clean(segments)
    assert headers_of(made, 11) == [(1, 1, 0)]
    assert batches(made)[0][0].last_offset == 2
    assert headers_of(clean(made), 11) == [(1, 1, 0)]


def test_a_producer_that_is_silent_for_long_is_forgotten() -> None:
    segments = log(commit(0, producer_id=11), commit(0), END)
    last_ms = START_MS + 10
    assert headers_of(clean(segments, now_ms=last_ms + PRODUCER_ID_EXPIRATION_MS - 1), 11) == [(0, 0, 0)]
    assert headers_of(clean(segments, now_ms=last_ms + PRODUCER_ID_EXPIRATION_MS), 11) == []


def test_the_marker_that_tells_a_producers_epoch_stays_as_a_header() -> None:
    segments = log(in_txn(0), End(1, commit=True, new_epoch=True), commit(0), END)
    for wait_ms in (0, 1, 2):  # the data goes, the marker gets its horizon, the horizon is reached
        segments = clean(segments, now_ms=START_MS + 1000 + wait_ms, delete_retention_ms=1)
    header, records, raw = batches(segments)[0]
    assert (header.is_control, header.producer_epoch, records) == (True, 1, [])
    assert raw == empty_batch(header)
    assert [header.is_control for header, *_ in batches(clean(segments))] == [False, False], "it is no trace by itself"


def test_a_marker_of_an_earlier_epoch_does_not_stay_for_its_producer() -> None:
    ends = [End(1, commit=True, new_epoch=True), End(1, commit=True, new_epoch=True), End(1, commit=True)]
    segments = log(*ends, END)
    for wait_ms in (0, 1):
        segments = clean(segments, now_ms=START_MS + 1000 + wait_ms, delete_retention_ms=1)
    found = [(header.base_offset, header.producer_epoch) for header, *_ in batches(segments) if header.is_control]
    assert found == [(1, 2), (2, 2)], "all of the last epoch, none of the one before"


def test_an_aborted_last_batch_leaves_a_header_and_keeps_its_marker() -> None:
    segments = log(in_txn(0, 1), End(1, commit=False), END)
    for wait_ms in (0, 10, 20):
        segments = clean(segments, now_ms=START_MS + 1000 + wait_ms, delete_retention_ms=1)
    assert headers_of(segments, 1) == [(0, 0, 0), (2, -1, 1)]
    assert markers(segments) == ["ABORT"]


def test_an_empty_batch_without_a_producer_goes() -> None:
    assert headers_of(clean(log(Empty(11, 2), commit(0, producer_id=11), END)), 11) == [(2, 2, 1)]
    assert len(batches(clean(log(Empty(-1), END)))) == 1


# --- files ------------------------------------------------------------------------------------------------------------


def grouped(sizes: list[int], segment_bytes: int, bases: list[int] | None = None) -> list[list[int]]:
    bases = bases or list(range(len(sizes)))
    segments = [Segment(base, b"x" * size) for base, size in zip(bases, sizes, strict=True)]
    return [[len(one.data) for one in group] for group in group_segments(segments, segment_bytes, bases[-1] + 1)]


def test_adjacent_segments_are_merged_while_their_sizes_fit() -> None:
    assert grouped([5, 5, 1, 10, 3, 0, 7], 10) == [[5, 5], [1], [10], [3, 0, 7]]
    assert grouped([20, 1], 10) == [[20], [1]], "one that is too large already stays alone"


def test_a_group_spans_no_more_offsets_than_an_index_can_count() -> None:
    far = 2**31
    assert grouped([1, 1], 10, [0, far - 1]) == [[1, 1]]
    assert grouped([1, 1], 10, [0, far]) == [[1], [1]]
    assert grouped([1, 0], 10, [0, far]) == [[1, 0]], "an empty segment has no offsets"


def test_a_damaged_input_is_named_with_file_and_byte_and_gives_no_output() -> None:
    segments = log(commit(0), commit(1), END)
    size = read_header(segments[0].data).size_bytes
    data = bytearray(segments[0].data)
    data[size + 70] ^= 1
    with pytest.raises(AssertionError, match=f"{segments[0].name} at byte {size}: checksum"):
        clean([Segment(0, bytes(data))], 3)
