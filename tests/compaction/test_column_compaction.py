"""Compaction in columns: shapes of batches, stretches, digests of segments, errors.

That whole logs come out as the oracle writes them is held by test_same_bytes.py.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.compaction import column_compaction, segment_rewrite, segment_scan
from coordinator.compaction.boundaries import SurveyedBatch, digest, divided, is_exact, judged, surveyed
from coordinator.compaction.column_compaction import compact_partition
from coordinator.compaction.plan import PartitionPlan, PartitionResult, Plan
from protocol.compression import Codec
from protocol.record_batch import HEADER_BYTES, BatchHeader, ControlType, iter_batches
from tests.compaction import oracle
from tests.compaction.logs import (
    ANYTHING,
    DAY_MS,
    KEYS,
    PLAIN,
    START_MS,
    End,
    LogWriter,
    Op,
    Rec,
    Roll,
    Segment,
    Write,
    compacted,
    operations,
    outputs_of,
    plan_for,
    replayed,
    seeded,
)
from tests.compaction.segments import (
    DELETE_HORIZON,
    BatchOf,
    RecordOf,
    encoded_batch,
    random_batches,
    segment_of,
    with_payload,
)

ANY_LOG = settings(deadline=None)  # as many examples as the profile says


def described(result: PartitionResult) -> PartitionResult:
    """Return a result without the names of files, which differ from attempt to attempt."""
    outputs = [replace(output, file=f"{result.partition}/{output.name}.x") for output in result.outputs]
    return replace(result, outputs=tuple(outputs))


def both(
    segments: Sequence[Segment], clean_up_to: int, now_ms: int, *, segment_bytes: int, delete_retention_ms: int = DAY_MS
) -> list[Segment]:
    """Run one round by the oracle and in columns, compare them, and return the outputs for the next round."""
    (expected, plainly), (found, quickly) = (
        compacted(
            clean,
            segments,
            clean_up_to,
            now_ms,
            segment_bytes=segment_bytes,
            delete_retention_ms=delete_retention_ms,
        )
        for clean in (oracle.compact_partition, compact_partition)
    )
    assert [(each.name, each.data) for each in found] == [(each.name, each.data) for each in expected]
    assert described(quickly) == described(plainly)
    return expected


@ANY_LOG
@given(batches=random_batches(), later_ms=st.sampled_from((0, DAY_MS)), horizon_ms=st.sampled_from((0, 2**44, 2**46)))
def test_batches_of_every_shape_come_out_the_same(batches: list, later_ms: int, horizon_ms: int) -> None:  # type: ignore[type-arg]
    made = segment_of(batches)
    both([Segment(0, made.data)], max(made.next_offset, 1), horizon_ms + later_ms, segment_bytes=1 << 20)


@ANY_LOG
@given(ops=operations(ANYTHING), stretch_bytes=st.sampled_from((1, 150, 1000)))
def test_the_size_of_stretches_does_not_change_the_output(ops: list[Op], stretch_bytes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segment_scan, "STRETCH_BYTES", stretch_bytes)
        patch.setattr(segment_rewrite, "STRETCH_BYTES", stretch_bytes)
        log = LogWriter().write(ops).roll()
        if log.closed:
            both(log.closed, log.active.base_offset, log.now_ms, segment_bytes=1 << 20)


def rewritten_by_hand(batch: BatchOf, change: Callable[[bytearray], None]) -> bytes:
    """Return a batch of uncompressed records in an unusual encoding, with the right checksum."""
    encoded, _ = encoded_batch(batch, 0)
    payload = bytearray(encoded[HEADER_BYTES:])
    change(payload)
    return with_payload(batch, 0, len(batch.records) - 1, bytes(payload), len(batch.records))


def set_attributes(payload: bytearray) -> None:
    payload[1] = 7  # behind the length of the first record


def set_null_length(payload: bytearray) -> None:
    at = payload.index(b"\x02k\x01") + 2  # a key of one byte, and the length of no value, which is -1
    payload[at] = 5  # -3: null as well


@pytest.mark.parametrize("change", [set_attributes, set_null_length])
@pytest.mark.parametrize("horizon", [0, DELETE_HORIZON])
def test_records_in_an_unusual_encoding_are_written_in_the_usual_one(
    change: Callable[[bytearray], None], horizon: int
) -> None:
    """The bytes of a record are copied only where they are those that would be written."""
    records = [RecordOf(b"k", None), RecordOf(b"l", b"old"), RecordOf(b"m", b"1")]
    batch = BatchOf(records, attributes=horizon, base_timestamp=START_MS)
    data = rewritten_by_hand(batch, change)
    newer, end = encoded_batch(BatchOf([RecordOf(b"l", b"new")], base_timestamp=START_MS), 3)
    (made,) = both([Segment(0, data + newer)], end, START_MS - 1, segment_bytes=1 << 20)
    assert [header.record_count for _, header in iter_batches(made.data)] == [2, 1]


def test_a_due_tombstone_stays_while_an_undecided_transaction_may_bring_its_key_back() -> None:
    log = LogWriter().write([Write((Rec(0),), producer_id=1), Write((Rec(0, is_tombstone=True), Rec(1)))]).roll()
    end = log.active.base_offset
    once = both(log.closed, end, log.now_ms, segment_bytes=1 << 20)
    twice = both(once, end, log.now_ms + 3 * DAY_MS, segment_bytes=1 << 20)
    log.segments = [*twice, log.active]
    log.now_ms += 3 * DAY_MS
    log.write([End(1, commit=True)]).roll()
    settled = both(log.closed, log.active.base_offset, log.now_ms, segment_bytes=1 << 20)
    counts = [[header.record_count for _, header in iter_batches(segment.data)] for segment in (*once, *twice)]
    assert counts == [[1, 2], [1, 2]]
    assert KEYS[0] not in replayed(settled)[0]


# --- digests ----------------------------------------------------------------------------------------------------------

_PRODUCERS = st.sampled_from((-1, 1, 2))


@st.composite
def events(draw: st.DrawFn) -> list[list[SurveyedBatch]]:
    """The events of some segments. Epochs stay, or go up; seldom down."""
    offset = 0
    epochs = {-1: -1, 1: 0, 2: 0}
    segments: list[list[SurveyedBatch]] = [[]]
    for kind in draw(st.lists(st.sampled_from(("data", "data", "commit", "abort", "emptied", "other", "roll")))):
        if kind == "roll":
            segments.append([])
            continue
        producer_id = draw(_PRODUCERS)
        epochs[producer_id] += draw(st.sampled_from((0, 0, 0, 0, 1, 1, 2, -1))) if producer_id >= 0 else 0
        attributes = {"data": draw(st.sampled_from((0x10, 0x10, 0)))}.get(kind, 0x30)
        header = BatchHeader(offset, 49, 0, 2, 0, attributes, 1, 0, offset, producer_id, epochs[producer_id], 0, 1)
        marker = {"commit": ControlType.COMMIT, "abort": ControlType.ABORT, "other": ControlType.UNKNOWN}.get(kind)
        segments[-1].append(SurveyedBatch(header, marker))
        offset += 2
    return [segment for segment in segments if segment]


@settings(max_examples=300, deadline=None)
@given(segments=events(), now_ms=st.sampled_from((0, 86_400_010, 2 * DAY_MS)))
def test_digests_and_the_segments_own_batches_give_the_fates_of_one_survey(
    segments: list[list[SurveyedBatch]], now_ms: int
) -> None:
    everything = [event for segment in segments for event in segment]
    clock = {"now_ms": now_ms, "delete_retention_ms": DAY_MS, "clean_up_to": 10**6}
    whole = surveyed(everything).round(**clock)
    digests = [digest(segment) for segment in segments]
    if not is_exact(event for some in digests for event in some):
        return
    shared = surveyed(event for some in digests for event in some).round(**clock)
    bases = [segment[0].header.base_offset for segment in segments]
    found = {}
    for segment, part in zip(segments, divided(shared, bases), strict=True):
        found.update(judged(segment, part).fates)
    assert found == {base: fate for base, fate in whole.fates.items() if fate}


def test_transactions_within_a_segment_are_left_out_of_its_digest() -> None:
    log = LogWriter()
    for _ in range(50):
        log.write([Write((Rec(0), Rec(1)), producer_id=1), End(1, commit=True)])
    log.roll()
    told = digest(segment_events(log.closed[0]))
    assert len(told) == 4  # the first transaction, and the last


def test_a_producer_whose_epoch_goes_back_is_surveyed_without_digests() -> None:
    """No Kafka writes such a log; its fates need the batches that a digest leaves out."""
    log = LogWriter()
    for key in (0, 0, 5):
        log.write([Write((Rec(key),), producer_id=1), End(1, commit=True)])
    log.write([Roll(), Write((Rec(0),)), Roll()])
    made = log.closed
    for _ in range(2):  # what key 0 had goes; the markers of it get their horizon
        made = both(made, log.active.base_offset, log.now_ms, segment_bytes=1, delete_retention_ms=0)
    log.segments = [*made, log.active]
    log.write([End(1, commit=False, new_epoch=True), Roll()])
    log.epochs[1] = 0
    log.write([End(1, commit=False), Roll()])
    digests = [event for segment in log.closed for event in digest(segment_events(segment))]
    assert not is_exact(digests)
    (first, *_) = both(log.closed, log.active.base_offset, log.now_ms, segment_bytes=1, delete_retention_ms=0)
    told = [header.record_count for _, header in iter_batches(first.data) if header.is_control]
    assert told == [
        0,
        0,
        1,
    ]  # nothing but markers tells of the epoch that came back: all of them stay, if only as headers


def segment_events(segment: Segment) -> list[SurveyedBatch]:
    return [
        SurveyedBatch(header, ControlType.COMMIT if header.is_control else None)
        for _, header in iter_batches(segment.data)
    ]


# --- errors -----------------------------------------------------------------------------------------------------------


def planned(tmp_path: Path, segments: Sequence[Segment], **facts: int) -> tuple[Plan, PartitionPlan, Path, Path]:
    in_dir, out_dir = tmp_path / "in" / "0", tmp_path / "out" / "0"
    clean_up_to = facts.pop("clean_up_to", segments[-1].next_offset)
    plan, part = plan_for(segments, in_dir, clean_up_to=clean_up_to, now_ms=START_MS + DAY_MS, **facts)
    return plan, part, in_dir, out_dir


def a_log() -> list[Segment]:
    return LogWriter().write([op for seed in range(3) for op in (*seeded(seed, 60, PLAIN), Roll())]).roll().closed


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda data: data[:-1], "is not the file that the plan names"),
        (lambda data: data[:40] + b"?" + data[41:], "is not the file that the plan names"),
    ],
)
def test_an_input_that_changed_since_it_was_planned_is_refused(tmp_path: Path, damage, says: str) -> None:  # type: ignore[no-untyped-def]
    plan, part, in_dir, out_dir = planned(tmp_path, a_log())
    path = in_dir / part.inputs[1].name
    path.write_bytes(damage(path.read_bytes()))
    result = compact_partition(plan, part, in_dir, out_dir)
    assert result.error is not None
    assert result.error.startswith(f"partition 0: {path.name} ")
    assert says in result.error
    assert result.outputs == ()


@pytest.mark.parametrize("at", [30, 5], ids=["in a batch", "in the offset before the checksum begins"])
def test_a_damaged_batch_is_named_by_file_and_byte_even_if_it_was_planned_so(tmp_path: Path, at: int) -> None:
    segments = a_log()
    last = segments[-1]
    positions = [position for position, _ in iter_batches(last.data)]
    data = bytearray(last.data)
    data[positions[1] + at] ^= 0x40
    last.data = bytes(data)
    plan, part, in_dir, out_dir = planned(tmp_path, segments, clean_up_to=10**7)
    result = compact_partition(plan, part, in_dir, out_dir)
    assert result.error is not None
    assert f"{last.name} at byte {positions[1]}: " in result.error


def test_a_missing_input_and_a_directory_that_cannot_be_written_are_results_not_exceptions(tmp_path: Path) -> None:
    plan, part, in_dir, out_dir = planned(tmp_path, a_log())
    out_dir.parent.mkdir()
    out_dir.write_bytes(b"a file where a directory should be")
    assert "partition 0: " in (compact_partition(plan, part, in_dir, out_dir).error or "")
    (in_dir / part.inputs[0].name).unlink()
    assert part.inputs[0].name in (compact_partition(plan, part, in_dir, out_dir).error or "")


def test_an_unfinished_output_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, part, in_dir, out_dir = planned(tmp_path, a_log())
    written = os.write

    def full(fd: int, data: bytes) -> int:
        written(fd, data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    result = compact_partition(plan, part, in_dir, out_dir)
    assert result.error is not None
    assert "No space left on device" in result.error
    assert list(out_dir.iterdir()) == []


def test_a_second_attempt_writes_other_files_with_the_same_bytes(tmp_path: Path) -> None:
    plan, part, in_dir, out_dir = planned(tmp_path, a_log(), segment_bytes=1)
    first = compact_partition(plan, part, in_dir, out_dir)
    second = compact_partition(plan, part, in_dir, out_dir)
    assert described(first) == described(second)
    assert {output.file for output in first.outputs}.isdisjoint(output.file for output in second.outputs)
    assert outputs_of(first, out_dir) == outputs_of(second, out_dir)


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan, part, in_dir, out_dir = planned(tmp_path, a_log())
    written = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: written(fd, data[:100]))
    found = outputs_of(compact_partition(plan, part, in_dir, out_dir), out_dir)
    monkeypatch.undo()
    assert found == outputs_of(compact_partition(plan, part, in_dir, out_dir), out_dir)
    assert sum(each.size_bytes for each in found) > 100


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_that_loses_records_keeps_its_codec(tmp_path: Path, codec: Codec) -> None:
    old, new = Write((Rec(0, note_bytes=300), Rec(1, note_bytes=300)), codec), Write((Rec(0),), codec)
    segments = LogWriter().write([old, new]).roll().closed
    found = both(segments, segments[-1].next_offset, START_MS, segment_bytes=1 << 20)
    headers = [header for _, header in iter_batches(found[0].data)]
    assert [(header.codec, header.record_count, header.last_offset_delta) for header in headers] == [
        (codec, 1, 1),
        (codec, 1, 0),
    ]


def test_keys_are_compared_as_bytes_however_many_segments_repeat_them(tmp_path: Path) -> None:
    ops: list[Op] = [op for _ in range(20) for op in (Write(tuple(Rec(key) for key in range(len(KEYS)))), Roll())]
    plan, part, in_dir, out_dir = planned(tmp_path, LogWriter().write(ops).closed)
    result = compact_partition(plan, part, in_dir, out_dir)
    assert (result.stats.keys, result.stats.records_after) == (len(KEYS), len(KEYS))
    assert result.stats.records_before == 20 * len(KEYS)


def test_keys_collected_from_segments_are_merged_before_they_grow_without_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(column_compaction, "_GATHERED_KEYS", 3)
    segments = a_log()
    both(segments, segments[-1].next_offset, START_MS + DAY_MS, segment_bytes=5000)


def test_a_task_imports_no_pandas() -> None:
    """Importing pandas takes a worker half a second, and is not needed."""
    program = """
import sys, tempfile
from pathlib import Path
from coordinator.compaction import spark_tasks
from coordinator.compaction.plan import JobDir
from tests.compaction.logs import OFFSETS, LogWriter, plan_for, seeded
with tempfile.TemporaryDirectory() as name:
    job, log = JobDir(Path(name)), LogWriter().write(seeded(1, 300, OFFSETS)).roll()
    plan, part = plan_for(log.closed, job.in_dir(0), clean_up_to=log.active.base_offset, now_ms=log.now_ms)
    table = spark_tasks.report_rows(7, spark_tasks.compact(job, plan, part))
print("pandas" in sys.modules)
[row] = table.to_pylist()
assert row["task"] == 7 and '"error": null' in row["report"], row
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("False\n", "")
