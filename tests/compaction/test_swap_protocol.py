"""The swap protocol: plans, accepted and refused results, evidence, and changes of the log meanwhile."""

from __future__ import annotations

import dataclasses
import errno
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from coordinator.compaction import jobs, swap_protocol
from coordinator.compaction.eligibility import Lags, facts_of
from coordinator.compaction.jobs import EVIDENCE, sweep, tidy
from coordinator.compaction.offline import Offline, raise_first, verdict_on
from coordinator.compaction.plan import JobDir, Manifest, PartitionResult, Plan, jobs_dir
from coordinator.compaction.planning import PlanningError, make_plan
from coordinator.compaction.swap_protocol import AlreadySettledError
from coordinator.compaction.validate import LateError, RefusedError
from coordinator.storage.cleaner_checkpoint import read_checkpoint, write_checkpoint
from coordinator.storage.file_names import CLEANER_CHECKPOINT_NAME, offsets_log_dir
from coordinator.storage.log.fs import RealFileSystem, write_atomically
from coordinator.storage.log.log import Log
from protocol.record_batch import HEADER_BYTES, ControlType, build_batch, iter_batches, read_records
from tests.compaction import oracle
from tests.compaction.swap_protocol_world import (
    CONFIG,
    DAY_MS,
    NOW_MS,
    OPTIONS,
    PARTITIONS,
    Writer,
    build,
    compact,
    files_of,
    run_job,
    state_of,
    write_tail,
)

FS = RealFileSystem()


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("template") / "data"
    build(FS, path)
    return path


@pytest.fixture
def data_dir(template: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(template, tmp_path / "data"))


@pytest.fixture
def opened(data_dir: Path) -> Iterator[Offline]:
    offline = Offline.open(FS, data_dir, CONFIG, now_ms=NOW_MS)
    yield offline
    offline.close()


def planned(opened: Offline) -> tuple[Plan, JobDir]:
    plan = opened.plan(OPTIONS, now_ms=NOW_MS).plan
    assert plan is not None
    return plan, JobDir.of(opened.data_dir, plan.id)


def rewritten(job: JobDir, change: Callable[[Manifest], Manifest]) -> None:
    """Change the manifest on the disk."""
    write_atomically(FS, job.manifest, change(jobs.read_manifest(FS, job)).to_bytes())


# the plan


def test_a_plan_names_and_pins_every_closed_segment_of_the_partitions_that_are_due(opened: Offline) -> None:
    plan, job = planned(opened)
    assert {part.partition for part in plan.partitions} == set(PARTITIONS)
    for part in plan.partitions:
        live = offsets_log_dir(opened.data_dir, part.partition)
        names = sorted(path.name for path in live.glob("*.log"))
        assert [segment.name for segment in part.inputs] == names[:-1]
        assert part.clean_up_to == int(names[-1][:20])
        for name in names[:-1]:
            assert (job.in_dir(part.partition) / name).samefile(live / name)
    assert jobs.read_plan(FS, job) == plan


def test_a_partition_has_one_open_plan_at_a_time(opened: Offline) -> None:
    plan, _ = planned(opened)
    again = opened.plan(OPTIONS, now_ms=NOW_MS + 1)
    assert again.plan is None
    assert "an open plan has it already (partition 0, 3)" in again.sentence()
    later = opened.plan(OPTIONS, now_ms=plan.expires_ms)
    assert later.plan is not None, "one that has expired counts no more"


def test_a_refused_plan_makes_room_for_the_next(opened: Offline) -> None:
    plan, _ = planned(opened)
    swap_protocol.refuse(FS, opened.data_dir, plan.id, RefusedError("no"))
    assert opened.plan(OPTIONS, now_ms=NOW_MS + 1).plan is not None


def test_compaction_ends_at_the_mark_of_the_history(opened: Offline) -> None:
    second = opened.logs[0].segments[1].base_offset
    options = dataclasses.replace(OPTIONS, not_beyond={0: second + 1, 3: 0})
    made = opened.plan(options, now_ms=NOW_MS)
    assert made.plan is not None
    assert [(part.partition, part.clean_up_to) for part in made.plan.partitions] == [(0, second)]
    assert made.reasons == {3: "the history has not been extracted yet"}


def test_records_that_are_not_durable_are_not_planned(opened: Offline) -> None:
    log = opened.logs[0]
    third = log.segments[2]
    log.high_watermark = third.base_offset + 1
    view = facts_of(0, log)
    assert view.active_base_offset == third.base_offset
    assert [one.base_offset for one in view.closed] == [one.base_offset for one in log.segments[:2]]
    log.high_watermark = log.log_end_offset
    assert facts_of(0, log).active_base_offset == log.segments[-1].base_offset


def test_planning_without_a_closed_segment_suggests_a_roll(tmp_path: Path) -> None:
    log = Log.open(offsets_log_dir(tmp_path, 0), CONFIG)
    Writer(log).commit("billing", 0, 1)
    log.close()
    offline = Offline.open(FS, tmp_path, CONFIG, now_ms=NOW_MS)
    assert "no closed segment is dirty; --roll closes the newest one" in offline.plan(OPTIONS, now_ms=NOW_MS).sentence()
    assert offline.plan(OPTIONS, now_ms=NOW_MS, roll=True).plan is not None
    offline.close()


def test_only_partitions_that_are_dirty_enough_are_planned(opened: Offline) -> None:
    write_checkpoint(FS, opened.data_dir, {0: opened.logs[0].segments[-2].base_offset})
    made = opened.plan(dataclasses.replace(OPTIONS, lags=Lags(min_cleanable_dirty_ratio=0.5)), now_ms=NOW_MS)
    assert made.plan is not None
    assert [part.partition for part in made.plan.partitions] == [3]
    assert made.reasons == {0: "the dirty part is not above 0.5 of it"}


@pytest.mark.parametrize("number", [errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP])
def test_without_hard_links_planning_fails_and_leaves_nothing(
    opened: Offline, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "not here")

    monkeypatch.setattr(RealFileSystem, "link", refuse)
    with pytest.raises(PlanningError, match="file system with hard links"):
        opened.plan(OPTIONS, now_ms=NOW_MS)
    assert not list(jobs_dir(opened.data_dir).iterdir())


def test_a_segment_that_differs_from_the_facts_of_its_log_is_not_planned(opened: Offline) -> None:
    view = facts_of(0, opened.logs[0])
    wrong = view._replace(closed=(view.closed[0]._replace(size_bytes=7), *view.closed[1:]))
    with pytest.raises(PlanningError, match="ask for a new plan"):
        make_plan(FS, opened.data_dir, [wrong], epoch="e", now_ms=NOW_MS, options=OPTIONS)
    gone = view._replace(closed=(view.closed[0]._replace(base_offset=1), *view.closed[1:]))
    with pytest.raises(PlanningError, match="is gone"):
        make_plan(FS, opened.data_dir, [gone], epoch="e", now_ms=NOW_MS, options=OPTIONS)
    assert not list(jobs_dir(opened.data_dir).iterdir())


# what is accepted


def test_an_accepted_result_is_swapped_in_and_keeps_the_state(opened: Offline) -> None:
    before = state_of(FS, opened.data_dir)
    plan, job = planned(opened)
    manifest = run_job(FS, opened.data_dir, plan.id)
    said = opened.swap(plan.id, now_ms=NOW_MS + 1)
    assert said.startswith("compacted 2 partitions: ")
    assert state_of(FS, opened.data_dir) == before
    for result in manifest.partitions:
        live = {path.name for path in offsets_log_dir(opened.data_dir, result.partition).glob("*.log")}
        assert {output.name for output in result.outputs} <= live
        assert len(live) == len(result.outputs) + 1
    assert job.done.read_text() == f"{said}\n"
    assert not job.pins.exists()
    assert not job.out.exists()
    assert read_checkpoint(FS, opened.data_dir) == {part.partition: part.clean_up_to for part in plan.partitions}


def test_a_second_round_drops_due_tombstones_and_keeps_the_state(data_dir: Path) -> None:
    before = state_of(FS, data_dir)
    compact(FS, data_dir)
    (data_dir / CLEANER_CHECKPOINT_NAME).unlink()
    offline = Offline.open(FS, data_dir, CONFIG, now_ms=NOW_MS + 3 * DAY_MS)
    made = offline.plan(OPTIONS, now_ms=NOW_MS + 3 * DAY_MS)
    assert made.plan is not None
    manifest = run_job(FS, data_dir, made.plan.id)
    assert sum(result.stats.tombstones_dropped for result in manifest.partitions) > 0
    offline.swap(made.plan.id, now_ms=NOW_MS + 3 * DAY_MS + 1)
    offline.close()
    assert state_of(FS, data_dir) == before


def test_a_second_run_of_a_job_and_a_second_swap_do_nothing(opened: Offline) -> None:
    plan, job = planned(opened)
    run_job(FS, opened.data_dir, plan.id)
    bytes_of_manifest = job.manifest.read_bytes()
    run_job(FS, opened.data_dir, plan.id)
    assert job.manifest.read_bytes() == bytes_of_manifest
    opened.swap(plan.id, now_ms=NOW_MS + 1)
    files = files_of(FS, opened.data_dir)
    done = job.done.read_bytes()
    write_atomically(FS, job.manifest, bytes_of_manifest)  # it comes again
    with pytest.raises(AlreadySettledError, match="settled already"):
        opened.swap(plan.id, now_ms=NOW_MS + 2)
    assert files_of(FS, opened.data_dir) == files
    assert job.done.read_bytes() == done


def test_a_partition_that_failed_in_the_job_does_not_stop_the_others(opened: Offline) -> None:
    before = {name: data for name, data in files_of(FS, opened.data_dir).items() if "offsets-3/" in name}
    plan, job = planned(opened)
    run_job(FS, opened.data_dir, plan.id)

    def failed(manifest: Manifest) -> Manifest:
        good, bad = sorted(manifest.partitions, key=lambda one: one.partition)
        return replace(manifest, partitions=(good, replace(bad, outputs=(), error="a batch is damaged")))

    rewritten(job, failed)
    said = opened.swap(plan.id, now_ms=NOW_MS + 1)
    assert said.startswith("compacted 1 partition: ")
    assert said.endswith("; partition 3 was left as it is: a batch is damaged")
    assert {name: data for name, data in files_of(FS, opened.data_dir).items() if "offsets-3/" in name} == before
    assert read_checkpoint(FS, opened.data_dir).keys() == {0}


def test_a_plan_with_only_failed_partitions_is_refused_without_evidence(opened: Offline) -> None:
    plan, job = planned(opened)
    run_job(FS, opened.data_dir, plan.id)
    rewritten(
        job,
        lambda manifest: replace(
            manifest, partitions=tuple(replace(one, outputs=(), error="no memory") for one in manifest.partitions)
        ),
    )
    assert "no memory" in opened.swap(plan.id, now_ms=NOW_MS + 1)
    assert "no memory" in job.refused.read_text()
    assert not (job.path / EVIDENCE).exists()


# what is refused


def flip_a_byte(job: JobDir, manifest: Manifest) -> None:
    path = job.output(manifest.partitions[0].outputs[0])
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def remove_an_output(job: JobDir, manifest: Manifest) -> None:
    job.output(manifest.partitions[0].outputs[0]).unlink()


def cut_an_output(job: JobDir, manifest: Manifest) -> None:
    path = job.output(manifest.partitions[0].outputs[0])
    path.write_bytes(path.read_bytes()[:-1])


def cut_the_manifest(job: JobDir, _: Manifest) -> None:
    job.manifest.write_bytes(job.manifest.read_bytes()[:-40])


def remove_the_manifest(job: JobDir, _: Manifest) -> None:
    job.manifest.unlink()


def damage_the_plan(job: JobDir, _: Manifest) -> None:
    job.plan.write_bytes(b"{}")


def change_the_plan(job: JobDir, _: Manifest) -> None:
    plan = jobs.read_plan(FS, job)
    job.plan.write_bytes(replace(plan, delete_retention_ms=0).to_bytes())


def manifest_with(**changes: Any) -> Callable[[JobDir, Manifest], None]:
    return lambda job, manifest: rewritten(job, lambda _: replace(manifest, **changes))


def result_with(**changes: Any) -> Callable[[JobDir, Manifest], None]:
    def act(job: JobDir, manifest: Manifest) -> None:
        first, *rest = manifest.partitions
        rewritten(job, lambda _: replace(manifest, partitions=(replace(first, **changes), *rest)))

    return act


def output_with(**changes: Any) -> Callable[[JobDir, Manifest], None]:
    def act(job: JobDir, manifest: Manifest) -> None:
        first, *rest = manifest.partitions
        outputs = (replace(first.outputs[0], **changes), *first.outputs[1:])
        rewritten(job, lambda _: replace(manifest, partitions=(replace(first, outputs=outputs), *rest)))

    return act


def other_inputs(job: JobDir, manifest: Manifest) -> None:
    first, *rest = manifest.partitions
    inputs = (replace(first.inputs[0], sha256="0" * 64), *first.inputs[1:])
    rewritten(job, lambda _: replace(manifest, partitions=(replace(first, inputs=inputs), *rest)))


def content(change: Callable[[list[bytes]], list[bytes]]) -> Callable[[JobDir, Manifest], None]:
    """Replace an output by one with other batches, in a manifest that describes it correctly: a defective job."""

    def act(job: JobDir, manifest: Manifest) -> None:
        first, *rest = manifest.partitions
        output = first.outputs[0]
        path = job.output(output)
        data = path.read_bytes()
        batches = [data[position : position + header.size_bytes] for position, header in iter_batches(data)]
        path.unlink()
        made = oracle._write(path.parent, first.partition, output.name, change(batches))
        result = replace(first, outputs=(made, *first.outputs[1:]))
        rewritten(job, lambda _: replace(manifest, partitions=(result, *rest)))

    return act


def rebuilt(batch: bytes, **changes: Any) -> bytes:
    """Return the batch with one change, and the right checksum."""
    ((_, header),) = iter_batches(batch)
    records = read_records(batch, 0, header)
    facts: dict[str, Any] = {
        "base_offset": header.base_offset,
        "timestamp_ms": header.base_timestamp,
        "leader_epoch": header.partition_leader_epoch,
        "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch,
        "base_sequence": header.base_sequence,
        "is_transactional": header.is_transactional,
        "records": [(record.key, record.value) for record in records],
    } | changes
    return bytes(build_batch(facts.pop("records"), **facts))


def with_last(change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    return lambda batches: [*batches[:-1], change(batches[-1])]


def with_first(change: Callable[[bytes], bytes]) -> Callable[[list[bytes]], list[bytes]]:
    return lambda batches: [change(batches[0]), *batches[1:]]


def wrong_checksum(batch: bytes) -> bytes:
    return batch[: HEADER_BYTES + 3] + bytes([batch[HEADER_BYTES + 3] ^ 1]) + batch[HEADER_BYTES + 4 :]


REFUSED = {
    "a byte was flipped": (flip_a_byte, "not the file that the manifest names"),
    "an output is missing": (remove_an_output, "does not exist"),
    "an output is short": (cut_an_output, "not the file that the manifest names"),
    "the manifest is short": (cut_the_manifest, "it is no Manifest"),
    "the manifest is gone": (remove_the_manifest, r"has no manifest\.json"),
    "the plan is damaged": (damage_the_plan, "it is no Plan: .* required field `id`"),
    "the plan was changed": (change_the_plan, "another version of the plan"),
    "another plan": (manifest_with(plan_id="other"), "for the plan other"),
    "another epoch": (manifest_with(epoch="forged"), "another run of the coordinator"),
    "another plan of that name": (manifest_with(plan_sha256="0" * 64), "another version of the plan"),
    "a partition less": (manifest_with(partitions=()), "says nothing of partition"),
    "another partition": (result_with(partition=2, outputs=()), "partition 2, which was not planned"),
    "other inputs": (other_inputs, "other inputs"),
    "another hash": (output_with(sha256="0" * 64), "not the file that the manifest names"),
    "another size": (output_with(size_bytes=1), "not the file that the manifest names"),
    "another count of records": (output_with(records=1), "other batches than the manifest says"),
    "another first offset": (output_with(first_offset=1), "other batches than the manifest says"),
    "another timestamp": (output_with(max_timestamp_ms=1), "other batches than the manifest says"),
    "a wrong checksum": (content(with_last(wrong_checksum)), "checksum does not match"),
    "batches twice": (content(lambda batches: [*batches, batches[-1]]), r"where \d+ or more is due"),
    "out of order": (
        content(lambda batches: [batches[0], batches[2], batches[1], *batches[3:]]),
        r"where \d+ or more is due",
    ),
    "a commit is lost": (content(lambda batches: batches[1:]), "the newest offset"),
    "everything is lost": (result_with(outputs=()), "the newest offset"),
    "a value was changed": (
        content(with_first(lambda batch: rebuilt(batch, records=[(b"\0\1\0\1g\0\1t\0\0\0\0", b"forged")]))),
        "was changed",
    ),
    "a producer was changed": (content(with_last(lambda batch: rebuilt(batch, producer_epoch=9))), "another header"),
    "a batch was added": (
        content(with_last(lambda batch: rebuilt(batch, base_offset=iter_first(batch) + 1))),
        "is in no input|was changed|another header|other batches|the newest",
    ),
    "a timestamp was changed": (content(with_first(lambda batch: rebuilt(batch, timestamp_ms=5))), "was changed"),
}


def iter_first(batch: bytes) -> int:
    return int.from_bytes(batch[:8], "big")


@pytest.mark.parametrize("what", REFUSED)
def test_a_result_that_is_not_right_is_refused_and_kept_as_evidence(opened: Offline, what: str) -> None:
    act, said = REFUSED[what]
    files = files_of(FS, opened.data_dir)
    plan, job = planned(opened)
    act(job, run_job(FS, opened.data_dir, plan.id))
    kept = {path.name for path in job.path.rglob("*") if path.is_file()}
    with pytest.raises(RefusedError, match=said) as refusal:
        opened.swap(plan.id, now_ms=NOW_MS + 1)
    assert files_of(FS, opened.data_dir) == files, "the live directories were not touched"
    assert job.refused.read_text() == f"{refusal.value}\n"
    assert {path.name for path in job.path.rglob("*") if path.is_file()} == kept | {"REFUSED", EVIDENCE}
    with pytest.raises(AlreadySettledError):
        opened.swap(plan.id, now_ms=NOW_MS + 2)


def test_a_result_made_from_a_replaced_pin_is_refused(opened: Offline) -> None:
    """The job could change the pins, so results are compared with the live files."""
    plan, job = planned(opened)
    part = plan.partitions[0]
    pin = job.in_dir(part.partition) / part.inputs[0].name
    data = pin.read_bytes()
    pin.unlink()
    pin.write_bytes(data[: next(iter(iter_batches(data)))[1].size_bytes])

    manifest = run_job_on_pins(opened.data_dir, plan)
    assert manifest.partitions[0].error is None
    with pytest.raises(RefusedError, match="the newest"):
        opened.swap(plan.id, now_ms=NOW_MS + 1)


def run_job_on_pins(data_dir: Path, plan: Plan) -> Manifest:
    """Run a job that does not compare its pins with the plan."""
    job = JobDir.of(data_dir, plan.id)
    results: list[PartitionResult] = []
    for part in plan.partitions:
        found = tuple(
            replace(one, size_bytes=(job.in_dir(part.partition) / one.name).stat().st_size) for one in part.inputs
        )
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(oracle, "_check", lambda *_: None)
            result = oracle.compact_partition(
                plan, replace(part, inputs=found), job.in_dir(part.partition), job.out_dir(part.partition)
            )
        results.append(replace(result, inputs=part.inputs))
    manifest = Manifest(plan.id, plan.epoch, plan.sha256, "1", "plain", tuple(results))
    write_atomically(FS, job.manifest, manifest.to_bytes())
    return manifest


LATE = {
    "of an earlier run": (lambda opened, plan: setattr(opened, "epoch", "another"), 1),
    "after it expired": (lambda opened, plan: None, OPTIONS.expiration_ms),
    "after the log was cut": (lambda opened, plan: opened.logs[0].delete_up_to(20), 1),
}


@pytest.mark.parametrize("when", LATE)
def test_a_result_that_comes_too_late_is_refused_without_evidence(opened: Offline, when: str) -> None:
    act, after_ms = LATE[when]
    plan, job = planned(opened)
    run_job(FS, opened.data_dir, plan.id)
    act(opened, plan)
    files = files_of(FS, opened.data_dir)
    with pytest.raises(LateError):
        opened.swap(plan.id, now_ms=NOW_MS + after_ms)
    assert files_of(FS, opened.data_dir) == files
    assert job.refused.exists()
    assert not job.pins.exists()


def test_a_manifest_for_an_older_plan_does_not_pass_for_the_newer_one(opened: Offline) -> None:
    old, old_job = planned(opened)
    run_job(FS, opened.data_dir, old.id)
    swap_protocol.refuse(FS, opened.data_dir, old.id, LateError("given up"))
    new, new_job = planned(opened)
    shutil.copy(old_job.manifest, new_job.manifest)
    with pytest.raises(RefusedError, match=f"for the plan {old.id}"):
        opened.swap(new.id, now_ms=NOW_MS + 1)


def test_an_id_that_leads_elsewhere_is_refused(opened: Offline) -> None:
    with pytest.raises(RefusedError, match="not the id of a plan"):
        swap_protocol.accept(FS, opened.data_dir, "../../etc", epoch=opened.epoch, now_ms=NOW_MS)
    with pytest.raises(RefusedError, match=r"has no plan\.json"):
        swap_protocol.accept(FS, opened.data_dir, "unknown", epoch=opened.epoch, now_ms=NOW_MS)


def test_a_check_in_another_process_returns_its_error(opened: Offline) -> None:
    plan, job = planned(opened)
    manifest = run_job(FS, opened.data_dir, plan.id)
    accepted = swap_protocol.read_result(FS, opened.data_dir, plan.id, epoch=opened.epoch, now_ms=NOW_MS)

    def verdict() -> str:
        return verdict_on(opened.data_dir, accepted, 0)

    assert not verdict()
    raise_first(["", verdict()])
    flip_a_byte(job, manifest)
    with pytest.raises(RefusedError, match="is not the file that the manifest names"):
        raise_first(["", verdict()])
    flip_a_byte(job, manifest)  # and back
    live = offsets_log_dir(opened.data_dir, plan.partitions[0].partition) / plan.partitions[0].inputs[0].name
    live.write_bytes(live.read_bytes()[::-1])
    with pytest.raises(LateError, match="is not the segment that was planned any more"):
        raise_first([verdict()])


def test_an_output_that_changes_after_the_check_is_not_staged(opened: Offline) -> None:
    files = files_of(FS, opened.data_dir)
    plan, job = planned(opened)
    manifest = run_job(FS, opened.data_dir, plan.id)
    accepted = swap_protocol.accept(FS, opened.data_dir, plan.id, epoch=opened.epoch, now_ms=NOW_MS)
    flip_a_byte(job, manifest)
    with pytest.raises(swap_protocol.SwapRefusedError, match="has changed since it was checked"):
        swap_protocol.stage(FS, opened.data_dir, accepted, accepted.results, index_interval_bytes=300)
    assert files_of(FS, opened.data_dir) == files


# what goes on meanwhile


def test_commits_rolls_deletions_and_markers_during_the_job_survive_the_swap(data_dir: Path) -> None:
    uncompacted = data_dir.with_name("uncompacted")
    shutil.copytree(data_dir, uncompacted)

    def meanwhile(logs: dict[int, Log]) -> None:
        for log in logs.values():
            writer = Writer(log)
            write_tail(log, commits=8)
            writer.delete("billing", 3)  # a group of which the job keeps what it knows
            log.roll()
            writer.transaction(73, "early", 9, end=ControlType.ABORT)
            writer.commit("shipping", 1, 77)

    compact(FS, data_dir, during=lambda opened: meanwhile(opened.logs))
    logs = {partition: Log.open(offsets_log_dir(uncompacted, partition), CONFIG) for partition in PARTITIONS}
    meanwhile(logs)
    for log in logs.values():
        log.close()
    assert state_of(FS, data_dir) == state_of(FS, uncompacted)
    assert not any(b"billing" in key for key in state_of(FS, data_dir)[0][1])


def test_a_reader_that_holds_an_old_segment_open_reads_on_and_the_log_reads_the_new_ones(opened: Offline) -> None:
    plan, _ = planned(opened)
    run_job(FS, opened.data_dir, plan.id)
    log = opened.logs[0]
    before = [batch for _, batch in log.batches()]
    reader = log.batches()
    first = next(reader)[1]
    opened.swap(plan.id, now_ms=NOW_MS + 1)
    assert [first, *(batch for _, batch in reader)] == before
    after = [batch for _, batch in log.batches()]
    assert len(after) < len(before)
    assert log.read(0, 1 << 20).startswith(after[0])


def test_only_the_writer_thread_calls_the_writers_methods(opened: Offline) -> None:
    plan, _ = planned(opened)
    run_job(FS, opened.data_dir, plan.id)
    accepted = swap_protocol.accept(FS, opened.data_dir, plan.id, epoch=opened.epoch, now_ms=NOW_MS)
    swap_protocol.stage(FS, opened.data_dir, accepted, accepted.results, index_interval_bytes=300)
    on_writer = False
    taken: list[str] = []

    def run(act: Callable[[], Any]) -> Any:
        nonlocal on_writer
        on_writer = True
        try:
            return act()
        finally:
            on_writer = False

    def at_step(step: str) -> None:
        belongs_to_writer = step.startswith(("give the draft", "sync the name of the intent")) or step in (
            swap_protocol.log_swap.SwapStep.APPLY_RENAME,
            swap_protocol.log_swap.SwapStep.APPLY_REMOVE,
            swap_protocol.log_swap.SwapStep.APPLY_SYNC,
            swap_protocol.log_swap.SwapStep.FINISH_REMOVE,
            swap_protocol.log_swap.SwapStep.FINISH_SYNC,
        )
        assert belongs_to_writer == on_writer, step
        taken.append(step)

    outcome = swap_protocol.swap(
        FS, opened.data_dir, plan, accepted.partitions, opened.logs, on_writer=run, at_step=at_step
    )
    assert set(outcome.swapped) == set(PARTITIONS)
    assert swap_protocol.ProtocolStep.CHECKPOINT in taken


def test_a_partition_that_is_not_served_any_more_is_not_swapped(opened: Offline) -> None:
    plan, _ = planned(opened)
    run_job(FS, opened.data_dir, plan.id)
    accepted = swap_protocol.accept(FS, opened.data_dir, plan.id, epoch=opened.epoch, now_ms=NOW_MS)
    swap_protocol.stage(FS, opened.data_dir, accepted, accepted.results, index_interval_bytes=300)
    outcome = swap_protocol.swap(FS, opened.data_dir, plan, accepted.partitions, {0: opened.logs[0]})
    assert outcome.swapped == (0,)
    assert outcome.failed == {3: "it is not served here any more"}


# what is kept, and for how long


def settled_jobs(data_dir: Path, count: int) -> list[Plan]:
    offline = Offline.open(FS, data_dir, CONFIG, now_ms=NOW_MS)
    plans = []
    for number in range(count):
        plan = offline.plan(OPTIONS, now_ms=NOW_MS + number).plan
        assert plan is not None
        swap_protocol.refuse(FS, data_dir, plan.id, RefusedError(f"wrong {number}"))
        plans.append(plan)
    offline.close()
    return plans


def ids(data_dir: Path) -> set[str]:
    return {path.name for path in jobs_dir(data_dir).iterdir()}


def test_the_newest_few_refused_jobs_are_kept_as_evidence_for_a_week(data_dir: Path) -> None:
    plans = settled_jobs(data_dir, jobs.EVIDENCE_JOBS + 2)
    sweep(FS, data_dir, epoch="e", now_ms=NOW_MS + 1000)
    newest = {plan.id for plan in plans[2:]}
    assert ids(data_dir) == newest
    assert all((jobs_dir(data_dir) / one / "in").is_dir() for one in newest)
    sweep(FS, data_dir, epoch="e", now_ms=NOW_MS + 8 * DAY_MS)
    assert ids(data_dir) == set()


def test_at_start_plans_of_earlier_runs_are_given_up_and_half_made_ones_removed(data_dir: Path) -> None:
    offline = Offline.open(FS, data_dir, CONFIG, now_ms=NOW_MS)
    plan, job = planned(offline)
    run_job(FS, data_dir, plan.id)
    offline.close()
    (jobs_dir(data_dir) / "half" / "in" / "0").mkdir(parents=True)
    (jobs_dir(data_dir) / "half" / "in" / "0" / "x.log").write_bytes(b"pin")
    again = Offline.open(FS, data_dir, CONFIG, now_ms=NOW_MS + 5)
    assert again.messages == [f"the compaction plan {plan.id} was given up"]
    again.close()
    assert ids(data_dir) == {plan.id}
    assert "earlier run" in job.refused.read_text()
    assert not job.pins.exists()
    sweep(FS, data_dir, epoch="e", now_ms=plan.expires_ms + DAY_MS)
    assert ids(data_dir) == set()


def test_a_plan_that_expires_is_given_up_and_its_directory_goes_after_a_grace(data_dir: Path) -> None:
    offline = Offline.open(FS, data_dir, CONFIG, now_ms=NOW_MS)
    plan, job = planned(offline)
    assert sweep(FS, data_dir, epoch=offline.epoch, now_ms=plan.expires_ms - 1) == []
    assert sweep(FS, data_dir, epoch=offline.epoch, now_ms=plan.expires_ms) == [plan.id]
    assert "expired" in job.refused.read_text()
    assert tidy(FS, data_dir, epoch=offline.epoch, now_ms=plan.expires_ms + 1) == []
    assert job.path.exists()
    offline.close()


# the cleaner's checkpoint


def test_the_checkpoint_has_kafkas_format_and_keeps_the_lines_of_others(tmp_path: Path) -> None:
    path = tmp_path / CLEANER_CHECKPOINT_NAME
    path.write_text("0\n2\norders 1 7\n__consumer_offsets 3 40\n")
    assert read_checkpoint(FS, tmp_path) == {3: 40}
    write_checkpoint(FS, tmp_path, {0: 5, 3: 41})
    assert path.read_text() == "0\n3\n__consumer_offsets 0 5\n__consumer_offsets 3 41\norders 1 7\n"


@pytest.mark.parametrize("text", ["", "1\n0\n", "0\n2\na 1 2\n", "0\n1\na b c\n", "0\n1\na 1\n", "\xff"])
def test_an_unreadable_checkpoint_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / CLEANER_CHECKPOINT_NAME).write_bytes(text.encode("latin-1"))
    assert read_checkpoint(FS, tmp_path) == {}
    write_checkpoint(FS, tmp_path, {1: 2})
    assert read_checkpoint(FS, tmp_path) == {1: 2}


def test_plan_and_manifest_are_json_that_others_can_read(opened: Offline) -> None:
    plan, job = planned(opened)
    run_job(FS, opened.data_dir, plan.id)
    assert json.loads(job.plan.read_bytes())["id"] == plan.id
    assert json.loads(job.manifest.read_bytes())["plan_sha256"] == plan.sha256
