"""Failures of a compaction while a daemon serves: wrong results, killed helpers, full disks.

In each case the daemon continues to serve, nothing is lost, wrong results are refused and kept, other failures are
retried, and the next compaction succeeds.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from coordinator.compaction.jobs import JobStep, read_plan
from coordinator.compaction.plan import JobDir, Manifest
from coordinator.compaction.request import Request, outcome_of, wait_for_answer
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.swap import SwapStep, leftovers
from protocol.group_records import RecordKind
from protocol.record_batch import iter_batches, read_header, read_records
from tests.compaction import oracle
from tests.compaction.live import (
    SteppingDaemon,
    ask,
    compact,
    expect,
    expect_for_good,
    fill,
    outcome,
)
from tests.compaction.plain_job import do_job
from tests.conformance.group_members import Member, settle
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets

pytestmark = pytest.mark.integration


# --- wrong results ----------------------------------------------------------------------------------------------------


def flip_a_byte(job: JobDir, manifest: Manifest) -> Manifest:
    path = job.output(manifest.partitions[0].outputs[0])
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    return manifest


def lose_an_output(job: JobDir, manifest: Manifest) -> Manifest:
    first, *others = manifest.partitions
    return replace(manifest, partitions=(replace(first, outputs=()), *others))


WRONG: dict[str, tuple[Callable[[JobDir, Manifest], Manifest], str]] = {
    "a byte of an output": (flip_a_byte, "is not the file that the manifest names"),
    "an output too few": (lose_an_output, "is in memory and not in the result"),
    "of another run": (lambda job, manifest: replace(manifest, epoch="other"), "of another run of the coordinator"),
    "of another plan": (lambda job, manifest: replace(manifest, plan_id="other"), "is for the plan other"),
    "of another version of the plan": (
        lambda job, manifest: replace(manifest, plan_sha256="0" * 64),
        "was made for another version of the plan",
    ),
}


def lose_a_members_assignment(job: JobDir, manifest: Manifest) -> Manifest:
    """Leave out the batch in which a member of a KIP-848 group got its partitions."""
    results = []
    for result in manifest.partitions:
        outputs = []
        for output in result.outputs:
            data = job.output(output).read_bytes()
            batches = [data[at : at + header.size_bytes] for at, header in iter_batches(data)]
            kept = [batch for batch in batches if not has_an_assignment(batch)]
            if kept == batches:
                outputs.append(output)
            elif kept:
                outputs.append(oracle._write(job.out_dir(result.partition), result.partition, output.name, kept))
        results.append(replace(result, outputs=tuple(outputs)))
    return replace(manifest, partitions=tuple(results))


def has_an_assignment(batch: bytes) -> bool:
    kind = RecordKind.CONSUMER_CURRENT.to_bytes(2, "big")
    records = read_records(batch, 0, read_header(batch))
    return any(record.key is not None and record.key[:2] == kind and record.value for record in records)


def test_a_result_without_a_record_of_a_consumer_group_is_refused_and_one_with_all_is_taken(
    start: Callable[..., SteppingDaemon],
) -> None:
    daemon = start()
    member = Member("modern", "m", ("t",))
    member.join(daemon.port)
    settle(daemon.port, [member])
    fill(daemon)
    plan_id = ask(daemon)
    do_job(daemon.data_dir, plan_id, lose_a_members_assignment)
    found = outcome(daemon, plan_id)
    assert not found.is_done
    assert "the record of the kind CONSUMER_MEMBER of group 'modern' at log offset" in found.sentence
    assert "is in memory and not in the result" in found.sentence
    compact(daemon)
    daemon.restart()
    member.beat(daemon.port)
    assert sum(map(len, member.owned.values())) == 3


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_result_is_refused_and_kept_and_nothing_changes(daemon: SteppingDaemon, what: str) -> None:
    spoil, sentence = WRONG[what]
    plan_id = ask(daemon)
    job = JobDir.of(daemon.data_dir, plan_id)
    do_job(daemon.data_dir, plan_id, spoil)
    found = outcome(daemon, plan_id)
    assert not found.is_done
    assert sentence in found.sentence
    names = [path.name for path in daemon.data_dir.glob("__consumer_offsets-*/*")]
    assert not leftovers(names), "what was staged of partitions without fault is gone"
    assert job.manifest.exists() and any(job.out.rglob("*.log.*")), "evidence"
    eventually(lambda: f"compaction refused plan={plan_id}" in daemon.log_text(), "one line tells of it")
    expect(daemon, 39)
    compact(daemon)
    expect_for_good(daemon, 39)


def test_a_manifest_without_a_plan_is_refused_and_kept(daemon: SteppingDaemon) -> None:
    """The manifest is right otherwise: the directory is a copy of a finished job under another name."""
    compact(daemon)
    fill(daemon, 40)
    plan_id = ask(daemon)
    forged, draft = JobDir.of(daemon.data_dir, "forged"), JobDir(daemon.directory / "draft")
    draft.out.mkdir(parents=True)
    draft.manifest.write_bytes(replace(do_job(daemon.data_dir, plan_id), plan_id="forged").to_bytes())
    draft.path.rename(forged.path)
    assert outcome(daemon, plan_id).is_done, "the true one is not impressed"
    found = outcome(daemon, "forged")
    assert "there is no plan for its manifest" in found.sentence
    assert forged.manifest.exists()
    expect_for_good(daemon, 79)


def test_a_plan_of_an_earlier_run_is_given_up_and_its_late_result_changes_nothing(daemon: SteppingDaemon) -> None:
    plan_id = ask(daemon)
    daemon.kill()
    do_job(daemon.data_dir, plan_id)
    daemon.start()
    found = outcome(daemon, plan_id)
    assert "of an earlier run of the coordinator" in found.sentence
    assert JobDir.of(daemon.data_dir, plan_id).manifest.exists()
    expect(daemon, 39)
    compact(daemon)
    expect_for_good(daemon, 39)


def test_a_second_run_of_a_job_changes_nothing(daemon: SteppingDaemon) -> None:
    plan_id = ask(daemon)
    do_job(daemon.data_dir, plan_id)
    first = outcome(daemon, plan_id)
    manifest = JobDir.of(daemon.data_dir, plan_id).manifest
    manifest.write_bytes(manifest.read_bytes())  # it comes again
    fill(daemon, 40)
    compact(daemon)
    assert outcome_of(JobDir.of(daemon.data_dir, plan_id)) == first
    eventually(lambda: daemon.log_text().count("compaction swapped") == 2, "two swaps are told of, and no third")
    expect_for_good(daemon, 79)


def test_a_request_while_a_plan_is_open_is_answered_with_that_plan(daemon: SteppingDaemon) -> None:
    plan_id = ask(daemon)
    answer = wait_for_answer(daemon.data_dir, Request.new(roll=True))
    assert answer.plan_ids == (plan_id,)
    assert answer.reason.startswith(f"the plan {plan_id}, made ")
    do_job(daemon.data_dir, plan_id)
    assert outcome(daemon, plan_id).is_done
    assert "nothing to compact" in wait_for_answer(daemon.data_dir, Request.new()).reason


def test_a_plan_does_not_expire_while_its_job_makes_progress(start: Callable[..., SteppingDaemon]) -> None:
    daemon = start("compaction.plan.expiration.ms=3000")
    fill(daemon)
    plan_id = ask(daemon)
    job = JobDir.of(daemon.data_dir, plan_id)
    expires_ms = read_plan(RealFileSystem(), job).expires_ms
    while time.time() * 1000 < expires_ms + 2500:
        job.touch()
        time.sleep(0.05)
    do_job(daemon.data_dir, plan_id)
    assert outcome(daemon, plan_id).is_done
    expect_for_good(daemon, 39)


def test_a_plan_without_a_result_expires(start: Callable[..., SteppingDaemon]) -> None:
    daemon = start("compaction.plan.expiration.ms=1000")
    fill(daemon)
    plan_id = ask(daemon)
    found = outcome(daemon, plan_id)
    assert "expired before a result was swapped in" in found.sentence
    pins = JobDir.of(daemon.data_dir, plan_id).pins
    eventually(lambda: not pins.exists(), "the space of its inputs comes back")
    assert ask(daemon) != plan_id


# --- helpers that die, and disks that are full ------------------------------------------------------------------------


def test_a_killed_check_is_repeated(daemon: SteppingDaemon) -> None:
    plan_id = ask(daemon)
    do_job(daemon.data_dir, plan_id)
    (pid, *_) = eventually(lambda: daemon.children("check"), "the result is being checked")
    os.kill(pid, signal.SIGKILL)
    assert outcome(daemon, plan_id).is_done
    assert "it is tried again: the check of a result was killed by SIGKILL" in daemon.log_text()
    expect_for_good(daemon, 39)


def test_a_killed_planner_leaves_nothing_and_the_request_is_answered(daemon: SteppingDaemon) -> None:
    def kill() -> None:
        (pid, *_) = eventually(lambda: daemon.children("plan"), "a plan is being made")
        os.kill(pid, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    answer = wait_for_answer(daemon.data_dir, Request.new(roll=True, min_cleanable_ratio=0.0))
    thread.join()
    assert answer.plan_ids == ()
    assert answer.reason == "no plan could be made: the planner was killed by SIGKILL"
    eventually(lambda: not any((daemon.data_dir / "compaction" / "jobs").glob("*")), "its directory is gone")
    compact(daemon)
    expect_for_good(daemon, 39)


def test_a_swap_is_repeated_when_a_full_disk_has_space_again(daemon: SteppingDaemon) -> None:
    plan_id = ask(daemon)
    daemon.full_disk.write_text("10")
    do_job(daemon.data_dir, plan_id)
    eventually(lambda: "only 10 bytes are free" in daemon.log_text(), "the daemon says what is in the way")
    assert outcome_of(JobDir.of(daemon.data_dir, plan_id)) is None
    answer = wait_for_answer(daemon.data_dir, Request.new())
    assert answer.plan_ids == ()
    assert "is not swapped in yet, it is tried again" in answer.reason
    commit_offsets(daemon.port, "later", {("t", 0): 1})
    daemon.full_disk.unlink()
    assert outcome(daemon, plan_id).is_done
    assert not list(daemon.data_dir.glob("__consumer_offsets-*/*.cleaned"))
    expect_for_good(daemon, 39)


@pytest.mark.parametrize("act", ["plan", "check"])
def test_a_daemon_stops_at_once_during_a_compaction_and_the_next_one_continues(
    daemon: SteppingDaemon, act: str
) -> None:
    if act == "plan":
        request = Request.new(roll=True, min_cleanable_ratio=0.0)
        asking = threading.Thread(target=lambda: _ignoring_errors(wait_for_answer, daemon.data_dir, request))
        asking.start()
    else:
        do_job(daemon.data_dir, ask(daemon))
    pids = eventually(lambda: daemon.children(act), f"the daemon lets a child {act}")
    started = time.monotonic()
    daemon.stop()
    assert time.monotonic() - started < 10
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    daemon.start()
    compact(daemon)
    expect_for_good(daemon, 39)


@pytest.mark.parametrize(
    "step", [SwapStep.COMMIT_RENAME, SwapStep.APPLY_RENAME, SwapStep.FINISH_REMOVE, JobStep.SETTLE]
)
def test_a_swap_that_has_begun_is_finished_before_the_daemon_stops(daemon: SteppingDaemon, step: str) -> None:
    daemon.stop()
    daemon.die_at(step, by=signal.SIGTERM)
    daemon.start()
    plan_id = ask(daemon)
    do_job(daemon.data_dir, plan_id)
    assert daemon.process.wait(30) == 0, daemon.log_tail()
    found = outcome_of(JobDir.of(daemon.data_dir, plan_id))
    assert found is not None and found.is_done, "nothing of it is left to the next start"
    assert not list(daemon.data_dir.glob("__consumer_offsets-*/swap.json*"))
    daemon.die_at("")
    daemon.start()
    assert "recovered" not in daemon.log_text()
    expect_for_good(daemon, 39)


def _ignoring_errors(act: Callable[..., object], *arguments: object) -> None:
    try:
        act(*arguments, timeout_s=5)
    except Exception:
        return


def test_the_children_of_a_killed_daemon_end(daemon: SteppingDaemon) -> None:
    do_job(daemon.data_dir, ask(daemon))
    pids = eventually(lambda: daemon.children("check"), "the result is being checked")
    daemon.kill()
    eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "the check ends with it")
    daemon.start()
    compact(daemon)
    expect_for_good(daemon, 39)
