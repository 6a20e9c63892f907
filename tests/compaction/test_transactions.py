"""Compaction of the transaction log: what stays, what is compared, and that no crash loses a transactional id."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from coordinator.compaction import column_check, validate
from coordinator.compaction.eligibility import Lags
from coordinator.compaction.newest_records import NewestRecords
from coordinator.compaction.offline import Offline, RefusedError
from coordinator.compaction.plan import JobDir, Manifest, PartitionResult, Plan, PlanError
from coordinator.compaction.planning import PlanOptions
from coordinator.compaction.swap_protocol import STEPS, recover
from coordinator.core.topics.names import TRANSACTIONS_TOPIC
from coordinator.core.transactions.states import TransactionState
from coordinator.storage.cleaner_checkpoint import read_checkpoint
from coordinator.storage.file_names import log_dir
from coordinator.storage.log import redo
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.swap import AtStep, no_step
from protocol.record_batch import ControlType, build_batch, build_control_batch, iter_batches, read_header
from tests.compaction import oracle, swap_protocol_world
from tests.compaction.plain_job import do_job
from tests.compaction.test_same_bytes import same
from tests.compaction.transactions import (
    CONFIG,
    OPS,
    PARTITIONS,
    START_MS,
    TransactionLog,
    build,
    found_at_start,
    history,
    loaded,
    size_of,
    write,
)
from tests.support.transaction_records import state_record

FS = RealFileSystem()
DAY_MS = 86_400_000
OPTIONS = PlanOptions(Lags(min_cleanable_dirty_ratio=0.0), segment_bytes=4000, topic=TRANSACTIONS_TOPIC)


class CrashError(Exception):
    """The process ends."""


def opened(data_dir: Path, now_ms: int = START_MS, at_step: AtStep = no_step) -> Offline:
    return Offline.open(FS, data_dir, CONFIG, now_ms=now_ms, at_step=at_step, topic=TRANSACTIONS_TOPIC)


def compact(data_dir: Path, now_ms: int = START_MS) -> Manifest:
    """Run one round without a daemon."""
    offline = opened(data_dir, now_ms)
    planned = offline.plan(OPTIONS, now_ms=now_ms)
    assert planned.plan is not None, planned.sentence()
    manifest = do_job(data_dir, planned.plan.id)
    offline.swap(planned.plan.id, now_ms=now_ms)
    offline.close()
    return manifest


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return build(FS, tmp_path / "data")


@pytest.fixture(params=["columns", "record by record"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways to compare a result with its inputs."""
    monkeypatch.setattr(validate, "COLUMNS_FROM_BYTES", 0 if request.param == "columns" else 1 << 40)


@pytest.mark.usefixtures("way")
def test_a_start_finds_the_same_transactional_ids_in_a_smaller_log(data_dir: Path) -> None:
    before, size = found_at_start(FS, data_dir), size_of(FS, data_dir)
    manifest = compact(data_dir)
    assert found_at_start(FS, data_dir) == before
    assert before[0]["id-0"].state is TransactionState.ONGOING
    assert size_of(FS, data_dir) < size // 3
    assert [result.stats.records_after for result in manifest.partitions] == [4, 4]  # three ids and a tombstone


def test_the_tombstone_of_a_forgotten_id_stays_for_the_retention_of_tombstones(data_dir: Path) -> None:
    stats = [
        compact(data_dir, START_MS).partitions[0].stats.tombstones_kept,
        _again(data_dir, START_MS + DAY_MS - 1).partitions[0].stats.tombstones_kept,
        _again(data_dir, START_MS + DAY_MS + 1).partitions[0].stats.tombstones_kept,
    ]
    assert stats == [1, 1, 0]


def _again(data_dir: Path, now_ms: int) -> Manifest:
    for partition in PARTITIONS:
        write(FS, log_dir(data_dir, TRANSACTIONS_TOPIC, partition), [state_record("id-1", 40)])
    return compact(data_dir, now_ms)


def test_the_cleaner_checkpoint_has_both_topics(data_dir: Path) -> None:
    swap_protocol_world.build(FS, data_dir.parent / "other")
    (data_dir.parent / "other" / "__consumer_offsets-0").rename(data_dir / "__consumer_offsets-0")
    offsets = Offline.open(FS, data_dir, CONFIG, now_ms=START_MS)
    assert offsets.logs.keys() == {0}
    planned = offsets.plan(PlanOptions(OPTIONS.lags), now_ms=START_MS)
    assert planned.plan is not None
    do_job(data_dir, planned.plan.id)
    offsets.swap(planned.plan.id, now_ms=START_MS)
    offsets.close()
    compact(data_dir)
    assert read_checkpoint(FS, data_dir).keys() == {0}
    assert read_checkpoint(FS, data_dir, TRANSACTIONS_TOPIC) == dict.fromkeys(PARTITIONS, len(history()))
    offline = opened(data_dir)
    assert "no closed segment is dirty" in offline.plan(OPTIONS, now_ms=START_MS).sentence()
    offline.close()


@settings(max_examples=50, deadline=None)
@given(OPS, st.sampled_from((1, DAY_MS, 3 * DAY_MS)), st.sampled_from((0, DAY_MS)), st.sampled_from((400, 1 << 20)))
def test_the_job_writes_the_bytes_of_the_oracle_and_a_start_loads_the_same_ids(
    ops: list[tuple[str, list[str]]], pause_ms: int, delete_retention_ms: int, segment_bytes: int
) -> None:
    log = TransactionLog()
    log.play(ops)
    log.roll()
    expected, segments, now_ms = loaded(log.closed), log.closed, log.now_ms
    for _ in range(3):
        if not segments:
            break
        segments = same(
            segments,
            log.next_offset,
            now_ms,
            delete_retention_ms=delete_retention_ms,
            segment_bytes=segment_bytes,
        )
        assert loaded(segments) == expected
        now_ms += pause_ms


def test_the_check_in_columns_proves_a_result(data_dir: Path) -> None:
    offline = opened(data_dir)
    planned = offline.plan(OPTIONS, now_ms=START_MS)
    assert planned.plan is not None
    result, *_ = do_job(data_dir, planned.plan.id).partitions
    offline.close()
    job, part = JobDir.of(data_dir, planned.plan.id), planned.plan.partitions[0]

    def prove(changed: PartitionResult, *, is_offsets_log: bool = False) -> None:
        inputs = ((each, (job.in_dir(part.partition) / each.name).read_bytes()) for each in part.inputs)
        column_check.prove(
            part, changed, inputs, lambda output: job.output(output).read_bytes(), is_offsets_log=is_offsets_log
        )

    prove(result)
    with pytest.raises(column_check.NotProvenError):
        prove(replace(result, outputs=result.outputs[:-1]))
    with pytest.raises(column_check.NotProvenError):
        prove(result, is_offsets_log=True)  # keys of version 0 mean something else there


def without_an_id(job: JobDir, manifest: Manifest) -> Manifest:
    """Leave out the newest record of one transactional id; sizes and hashes in the manifest are right."""
    results = []
    for result in manifest.partitions:
        outputs = []
        for output in result.outputs:
            data = job.output(output).read_bytes()
            batches = [data[at : at + header.size_bytes] for at, header in iter_batches(data)]
            kept = [batch for batch in batches if b"id-1" not in batch]
            if kept:
                outputs.append(oracle._write(job.out_dir(result.partition), result.partition, output.name, kept))
        results.append(replace(result, outputs=tuple(outputs)))
    return replace(manifest, partitions=tuple(results))


@pytest.mark.usefixtures("way")
def test_a_result_without_the_newest_record_of_an_id_is_refused(data_dir: Path) -> None:
    before = found_at_start(FS, data_dir)
    offline = opened(data_dir)
    planned = offline.plan(OPTIONS, now_ms=START_MS)
    assert planned.plan is not None
    do_job(data_dir, planned.plan.id, without_an_id)
    with pytest.raises(RefusedError, match=r"partition \d: the newest record with the key .*id-1"):
        offline.swap(planned.plan.id, now_ms=START_MS)
    offline.close()
    assert found_at_start(FS, data_dir) == before


@pytest.mark.parametrize("step", STEPS)
def test_after_an_end_at_any_step_a_start_finds_the_same_transactional_ids(data_dir: Path, step: str) -> None:
    before = found_at_start(FS, data_dir)

    def at_step(name: str) -> None:
        if name == step:
            raise CrashError(step)

    offline = opened(data_dir, at_step=at_step)
    with contextlib.suppress(CrashError):
        planned = offline.plan(OPTIONS, now_ms=START_MS)
        assert planned.plan is not None
        do_job(data_dir, planned.plan.id)
        offline.swap(planned.plan.id, now_ms=START_MS)
    for log in offline.logs.values():
        log.abandon()
    recover(FS, data_dir, epoch="next", now_ms=START_MS)
    assert found_at_start(FS, data_dir) == before
    directory = log_dir(data_dir, TRANSACTIONS_TOPIC, PARTITIONS[0])
    assert not redo.is_needed(FS.listdir(directory))
    opened(data_dir).close()
    assert found_at_start(FS, data_dir) == before


def test_a_plan_is_for_a_topic_that_is_compacted(data_dir: Path) -> None:
    offline = opened(data_dir)
    planned = offline.plan(OPTIONS, now_ms=START_MS)
    offline.close()
    assert planned.plan is not None
    text = planned.plan.to_bytes()
    assert Plan.from_bytes(text) == planned.plan
    with pytest.raises(PlanError, match="not a topic that is compacted"):
        Plan.from_bytes(text.replace(b"__transaction_state", b"../elsewhere"))


def test_records_count_as_any_others_even_in_a_transaction() -> None:
    found = NewestRecords()
    batch = build_batch([(b"a", b"1"), (None, b"x"), (b"b", b"2"), (b"a", None)], timestamp_ms=0)
    found.add_batch(read_header(batch), bytes(batch))
    aborted = build_batch([(b"c", b"3")], base_offset=4, timestamp_ms=0, producer_id=1, is_transactional=True)
    found.add_batch(read_header(aborted), bytes(aborted))
    marker = build_control_batch(ControlType.ABORT, base_offset=5, timestamp_ms=0, producer_id=1, producer_epoch=0)
    found.add_batch(read_header(marker), bytes(marker))
    assert found.records == {b"b": (b"2", 2), b"c": (b"3", 4)}
