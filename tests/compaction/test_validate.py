"""Validation on any log: results by the rules are accepted, all others are refused.

The inputs can be read record by record and in columns; both ways must agree on every log.
"""

from __future__ import annotations

import os
import random
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.columnar.kernel import Records
from coordinator.compaction import column_check, column_replay, kept_batch, validate
from coordinator.compaction.plan import JobDir, PartitionPlan, PartitionResult, Plan, PlanError
from coordinator.compaction.validate import RefusedError, check_against_inputs, check_partition, difference
from coordinator.core.offsets.replay import Replay
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.segment import segment_path
from protocol.errors import DecodeError
from protocol.record_batch import iter_batches, read_header, read_records
from tests.compaction import oracle
from tests.compaction.logs import (
    ANYTHING,
    DAY_MS,
    OFFSETS,
    PLAIN,
    Gap,
    LogWriter,
    Op,
    Segment,
    operations,
    outputs_of,
    plan_for,
    seeded,
)

FS = RealFileSystem()
ANY_LOG = settings(deadline=None)


@contextmanager
def a_job(segments: list[Segment], clean_up_to: int, now_ms: int) -> Iterator[tuple[JobDir, Plan, PartitionPlan]]:
    with tempfile.TemporaryDirectory() as name:
        job = JobDir(Path(name))
        plan, part = plan_for(segments, job.in_dir(0), clean_up_to=clean_up_to, now_ms=now_ms, segment_bytes=4000)
        yield job, plan, part


def check(
    job: JobDir, part: PartitionPlan, result: PartitionResult, *, fast: bool, against_inputs: bool = True
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(validate, "COLUMNS_FROM_BYTES", 0 if fast else 1 << 40)
        live = Path(tempfile.mkdtemp(dir=job.path))
        for path in job.in_dir(0).iterdir():
            os.link(path, live / path.name)
        segment_path(live, part.clean_up_to).touch()
        if against_inputs:
            check_against_inputs(FS, job, live, part, result)
        else:
            check_partition(FS, job, live, part, result)


def is_proven(job: JobDir, part: PartitionPlan, result: PartitionResult) -> bool:
    """Return whether the check in columns proves the result."""
    inputs = ((segment, (job.in_dir(0) / segment.name).read_bytes()) for segment in part.inputs)
    try:
        column_check.prove(part, result, inputs, lambda output: job.output(output).read_bytes())
    except column_check.NotProvenError:
        return False
    return True


@ANY_LOG
@given(operations(OFFSETS), st.sampled_from((1, DAY_MS, 3 * DAY_MS)))
def test_results_by_the_rules_are_accepted_round_after_round(ops: list[Op], pause_ms: int) -> None:
    log = LogWriter().write(ops).roll()
    segments, now_ms, end = log.closed, log.now_ms, log.active.base_offset
    for _ in range(3):
        if not segments:
            return
        with a_job(segments, end, now_ms) as (job, plan, part):
            result = oracle.compact_partition(plan, part, job.in_dir(0), job.out_dir(0))
            for fast in (False, True):
                check(job, part, result, fast=fast)
            check(job, part, result, fast=False, against_inputs=False)
            segments = outputs_of(result, job.out_dir(0))
        now_ms += pause_ms


@ANY_LOG
@given(operations(PLAIN), st.sampled_from((1, DAY_MS, 3 * DAY_MS)))
def test_the_column_check_accepts_results_of_a_log_without_transactions(ops: list[Op], pause_ms: int) -> None:
    log = LogWriter().write(ops).roll()
    segments, now_ms, end = log.closed, log.now_ms, log.active.base_offset
    for _ in range(2):
        if not segments:
            return
        with a_job(segments, end, now_ms) as (job, plan, part):
            result = oracle.compact_partition(plan, part, job.in_dir(0), job.out_dir(0))
            assert is_proven(job, part, result)
            segments = outputs_of(result, job.out_dir(0))
        now_ms += pause_ms


def verdict(job: JobDir, part: PartitionPlan, result: PartitionResult, *, fast: bool) -> str:
    try:
        check(job, part, result, fast=fast)
    except RefusedError as error:
        return str(error)
    return ""


def damaged(data: bytes, rng: random.Random) -> list[bytes]:
    """Return the batches of an output with one byte changed, and its checksum mended or not, or with a batch added."""
    batches = [bytearray(data[at : at + header.size_bytes]) for at, header in iter_batches(data)]
    kind = rng.random()
    if kind < 0.1:
        last = read_header(batches[-1])
        batches.append(batches[-1][:])
        struct.pack_into(">q", batches[-1], 0, last.last_offset + 1)
        return [bytes(each) for each in batches]
    batch = rng.choice(batches)
    at = rng.choice([*range(8), *range(12, 17), *range(21, len(batch))])  # neither the length nor the checksum
    batch[at] ^= 1 << rng.randrange(8)
    if kind < 0.9:
        struct.pack_into(">I", batch, 17, google_crc32c.value(bytes(batch[21:])))
    return [bytes(each) for each in batches]


@pytest.mark.parametrize("style", [PLAIN, OFFSETS])
@pytest.mark.parametrize("seed", range(6))
def test_both_checks_agree_on_any_damage(seed: int, style: str) -> None:
    rng = random.Random(seed)
    log = LogWriter().write([*seeded(seed, 60, style), Gap(1000)]).roll()
    refused = 0
    with a_job(log.closed, log.active.base_offset, log.now_ms) as (job, plan, part):
        result = oracle.compact_partition(plan, part, job.in_dir(0), job.out_dir(0))
        for _ in range(60):
            number = rng.randrange(len(result.outputs))
            output = result.outputs[number]
            batches = damaged((job.out / output.file).read_bytes(), rng)
            try:
                made = oracle._write(job.out_dir(0), 0, output.name, batches)
                if rng.random() < 0.1:
                    said_wrongly = rng.choice(("records", "batches", "max_timestamp_ms"))
                    made = replace(output, **{said_wrongly: getattr(output, said_wrongly) + 1})
                changed = replace(result, outputs=(*result.outputs[:number], made, *result.outputs[number + 1 :]))
            except PlanError:
                refused += 1  # such a manifest cannot even be read
                continue
            said = verdict(job, part, changed, fast=False)
            assert verdict(job, part, changed, fast=True) == said
            refused += bool(said)
    assert refused >= 30


def read_plainly(segments: list[Segment]) -> Replay:
    replay = Replay()
    for segment in segments:
        for position, header in iter_batches(segment.data):
            replay.add(header, read_records(segment.data, position, header))
    return replay


def read_raw(segments: list[Segment]) -> Replay:
    """Replay without an object for each record, as a start does (`raw_batch.absorb`)."""
    replay = Replay()
    for segment in segments:
        for position, header in iter_batches(segment.data):
            replay.add_batch(header, segment.data[position : position + header.size_bytes])
    return replay


def read_fast(segments: list[Segment]) -> Replay:
    replay = Replay()
    for number in range(0, len(segments), 2):
        data = b"".join(segment.data for segment in segments[number : number + 2])
        column_replay.add_segments(replay, data, segments[number].name)
    return replay


@ANY_LOG
@given(operations(ANYTHING, max_size=60))
def test_column_replay_and_raw_replay_load_what_decoded_records_load(ops: list[Op]) -> None:
    log = LogWriter().write(ops).roll()
    if not log.closed:
        return
    try:
        expected = read_plainly(log.closed)
    except DecodeError:
        for read in (read_fast, read_raw):
            with pytest.raises(DecodeError):
                read(log.closed)
        return
    for found in (read_fast(log.closed), read_raw(log.closed)):
        assert difference(expected, found) is None
        assert found.offsets == expected.offsets
        assert found.groups == expected.groups


def test_column_replay_leaves_out_superseded_records(monkeypatch: pytest.MonkeyPatch) -> None:
    log = LogWriter().write(seeded(3, 600, OFFSETS)).roll()
    fed = 0
    feed = column_replay._feed

    def counting(outcome: Replay, records: Records, which: Any) -> None:
        nonlocal fed
        fed += len(which)
        feed(outcome, records, which)

    monkeypatch.setattr(column_replay, "_feed", counting)
    found = read_fast(log.closed)
    everything = read_plainly(log.closed)
    assert difference(everything, found) is None
    assert fed < everything.records / 2


def with_a_record_twice(data: bytes) -> list[bytes]:
    """Return the batches of an output with the last record of the first uncompressed one doubled."""
    headers = list(iter_batches(data))
    batches = [bytearray(data[at : at + header.size_bytes]) for at, header in headers]
    number = next(n for n, (_, header) in enumerate(headers) if header.record_count and not header.attributes & 7)
    batch, count = batches[number], headers[number][1].record_count
    batch += kept_batch._cut(bytes(batch), count)[-1]
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">i", batch, 57, count + 1)
    struct.pack_into(">I", batch, 17, google_crc32c.value(bytes(batch[21:])))
    return [bytes(each) for each in batches]


@pytest.mark.parametrize("fast", [False, True])
def test_a_record_that_stands_twice_is_refused(fast: bool) -> None:
    log = LogWriter().write(seeded(1, 60, PLAIN)).roll()
    with a_job(log.closed, log.active.base_offset, log.now_ms) as (job, plan, part):
        result = oracle.compact_partition(plan, part, job.in_dir(0), job.out_dir(0))
        output = result.outputs[0]
        twice = with_a_record_twice((job.out / output.file).read_bytes())
        made = oracle._write(job.out_dir(0), 0, output.name, twice)
        assert "is in no input" in verdict(job, part, replace(result, outputs=(made, *result.outputs[1:])), fast=fast)


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("style", [PLAIN, OFFSETS])
@pytest.mark.parametrize("seed", range(4))
def test_the_loss_of_any_newest_record_is_refused(seed: int, style: str, fast: bool) -> None:
    """Every batch of the outputs is removed once; the check misses those with newest records, and only those."""
    log = LogWriter().write(seeded(seed, 150, style)).roll()
    noticed = 0
    with a_job(log.closed, log.active.base_offset, log.now_ms) as (job, plan, part):
        result = oracle.compact_partition(plan, part, job.in_dir(0), job.out_dir(0))
        state = read_plainly(log.closed)
        counts = {
            offset for _, offset in (*state.offsets.values(), *state.groups.values(), *state.open_offsets().values())
        }
        for number, output in enumerate(result.outputs):
            data = (job.out / output.file).read_bytes()
            for position, header in iter_batches(data):
                offsets = {record.offset for record in read_records(data, position, header)}
                rest = [data[at : at + other.size_bytes] for at, other in iter_batches(data) if at != position]
                if not rest or header.is_control:
                    continue
                made = oracle._write(job.out_dir(0), 0, output.name, rest)
                changed = (*result.outputs[:number], made, *result.outputs[number + 1 :])
                try:
                    check(job, part, replace(result, outputs=changed), fast=fast)
                    assert not offsets & counts, (output.name, header.base_offset)
                except RefusedError:
                    noticed += 1
    assert noticed >= 3


@pytest.mark.parametrize("fast", [False, True])
def test_a_lost_marker_of_a_kept_transaction_is_refused(fast: bool) -> None:
    log = LogWriter().write(seeded(7, 200, OFFSETS)).roll()
    noticed = 0
    with a_job(log.closed, log.active.base_offset, log.now_ms) as (job, plan, part):
        result = oracle.compact_partition(plan, part, job.in_dir(0), job.out_dir(0))
        for number, output in enumerate(result.outputs):
            data = (job.out / output.file).read_bytes()
            for position, header in iter_batches(data):
                rest = [data[at : at + other.size_bytes] for at, other in iter_batches(data) if at != position]
                if header.is_control and rest:
                    made = oracle._write(job.out_dir(0), 0, output.name, rest)
                    changed = (*result.outputs[:number], made, *result.outputs[number + 1 :])
                    try:
                        check(job, part, replace(result, outputs=changed), fast=fast)
                    except RefusedError:
                        noticed += 1
    assert noticed
