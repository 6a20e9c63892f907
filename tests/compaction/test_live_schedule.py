"""A daemon that compacts while its log changes, and on its own schedule.

Deletions, retention, partitions that are loaded anew; the schedule, jobs that the daemon starts and ends, metrics.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from tests.compaction.live import (
    GROUPS,
    SimpleCommitter,
    SteppingDaemon,
    ask,
    compact,
    expect,
    expect_for_good,
    fill,
    outcome,
)
from tests.compaction.plain_job import do_job
from tests.support.eventually import eventually
from tests.support.questions import commit_offsets, committed_offsets, list_groups
from tests.support.wire import call

pytestmark = pytest.mark.integration


# --- changes ----------------------------------------------------------------------------------------------------------


def test_offsets_deleted_while_a_plan_is_open_stay_deleted(daemon: SteppingDaemon) -> None:
    """Deletions by name, by group and by retention write their tombstones behind the part that the plan compacts."""
    plan_id = ask(daemon)
    deleted = call(daemon.port, DeleteGroupsRequest(groups_names=[GROUPS[0]]), 2)
    assert [each.error_code for each in deleted.results] == [0]
    topic = OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=1)])
    assert call(daemon.port, OffsetDeleteRequest(group_id=GROUPS[1], topics=[topic]), 0).error_code == 0
    do_job(daemon.data_dir, plan_id)
    assert outcome(daemon, plan_id).is_done
    for number in range(3):  # the tombstones are in the tail, then compacted, then gone
        daemon.restart()
        assert GROUPS[0] not in list_groups(daemon.port)
        assert committed_offsets(daemon.port, GROUPS[1]) == {("t", 0): 39, ("t", 2): 39}
        expect(daemon, 39, GROUPS[2:])
        for group in ("another", "one-more", "the-last"):  # both partitions get something
            commit_offsets(daemon.port, group, {("t", 0): number})
            commit_offsets(daemon.port, group, {("t", 0): number})
        compact(daemon)


def test_offsets_that_expire_while_a_plan_is_open_stay_expired(start: Callable[..., SteppingDaemon]) -> None:
    daemon = start("offsets.retention.minutes=1", "offsets.retention.check.interval.ms=100")
    fill(daemon)
    plan_id = ask(daemon)
    from tests.compaction.expiring import commit_expired

    commit_expired(daemon.port, GROUPS[0], "t", 3)
    eventually(lambda: not committed_offsets(daemon.port, GROUPS[0]), "its offsets are gone by retention")
    do_job(daemon.data_dir, plan_id)
    assert outcome(daemon, plan_id).is_done
    for _ in range(2):
        assert not committed_offsets(daemon.port, GROUPS[0])
        expect(daemon, 39, GROUPS[1:])
        daemon.restart()


def test_partitions_that_are_loaded_anew_during_compactions_lose_nothing(daemon: SteppingDaemon) -> None:
    """The log is loaded as after a broken invariant, while its segments are swapped."""
    stopping = threading.Event()

    def reload_again_and_again() -> None:
        while not stopping.wait(0.05):
            os.kill(daemon.pid, signal.SIGUSR1)

    thread = threading.Thread(target=reload_again_and_again)
    with SimpleCommitter(daemon, [f"loaded-{number}" for number in range(6)], "t", 3) as simple:
        thread.start()
        try:
            for _ in range(3):
                count = simple.count
                eventually(lambda count=count: simple.count > count + 20, "commits go on", within_s=60)
                eventually(lambda: _compacted(daemon), "something is to be compacted between two loads", within_s=60)
        finally:
            stopping.set()
            thread.join()
    assert "invariant broken" in daemon.log_text()
    for group, promises in simple.promises.items():
        promises.check(_loaded(daemon, group), dict(promises.acknowledged))


def _compacted(daemon: SteppingDaemon) -> bool:
    """Plan until a partition is due; those that are being loaded are in no plan."""
    try:
        compact(daemon)
    except AssertionError as failure:
        if "there is no log partition to compact" not in str(failure):
            raise
        return False
    return True


def _loaded(daemon: SteppingDaemon, group: str) -> dict[Any, int]:
    """Return the offsets of a group, once its partition has been loaded."""

    def ask_again() -> dict[Any, int] | None:
        try:
            return committed_offsets(daemon.port, group)
        except AssertionError:
            return None

    return eventually(ask_again, "the partition is loaded")


def test_compactions_are_counted_in_the_metrics(start: Callable[..., SteppingDaemon]) -> None:
    daemon = start(arguments=("--http", "127.0.0.1:0"))
    fill(daemon)
    compact(daemon)
    port = re.findall(r"http listen=127.0.0.1:(\d+)", daemon.log_text())[-1]

    def figures() -> dict[str, float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines if line[:1] not in ("", "#")}

    eventually(lambda: figures()["coordinator_compaction_swaps_total"] == 2, "both partitions were swapped")
    found = figures()
    assert found["coordinator_compaction_plans_total"] == 1
    assert found["coordinator_compaction_before_records_total"] == 720
    assert found["coordinator_compaction_after_records_total"] == 18
    assert found["kafka_log_cleaner_manager_max_dirty_percent"] == 0
    assert found['coordinator_compaction_dirty_ratio{partition="1",topic="__consumer_offsets"}'] == 0
    assert 0 <= found["coordinator_compaction_swap_stall_seconds"] < 10
    assert found["coordinator_compaction_swap_writer_seconds"] > 0
    assert " rows_checked=18 " in daemon.log_text(), "all that is committed was held against memory"


# --- the schedule -----------------------------------------------------------------------------------------------------


def test_a_daemon_with_an_interval_plans_by_itself(start: Callable[..., SteppingDaemon]) -> None:
    daemon = start("compaction.interval.ms=300")
    fill(daemon)
    jobs = daemon.data_dir / "compaction" / "jobs"
    (plan,) = eventually(lambda: list(jobs.glob("*/plan.json")), "a plan appears")
    do_job(daemon.data_dir, plan.parent.name)
    assert outcome(daemon, plan.parent.name).is_done
    expect_for_good(daemon, 39)


JOB = f"{sys.executable} -m tests.compaction.asking_job {{data.dir}}"


def test_a_daemon_starts_the_job_if_it_is_configured_to(start: Callable[..., SteppingDaemon]) -> None:
    daemon = start("compaction.interval.ms=300", "compaction.start.job=true", f"compaction.command={JOB}")
    fill(daemon)
    eventually(lambda: "compaction job ended code=0" in daemon.log_text(), "the job has ended", within_s=60)
    assert "compaction swapped" in daemon.log_text()
    assert "the asking job is done" in daemon.log_text(), "its last line is in the daemon's log"
    expect_for_good(daemon, 39)


def test_a_failed_job_is_logged_in_one_line_and_repeated(start: Callable[..., SteppingDaemon]) -> None:
    command = f"{sys.executable} -c \"print('no such plan'); raise SystemExit(3)\""
    daemon = start("compaction.interval.ms=300", "compaction.start.job=true", f"compaction.command={command}")
    fill(daemon)
    eventually(lambda: daemon.log_text().count("compaction job ended code=3") >= 2, "it is tried again", within_s=60)
    assert "no such plan" in daemon.log_text()
    expect(daemon, 39)


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_a_job_ends_with_the_daemon_that_started_it(
    start: Callable[..., SteppingDaemon], end: str, tmp_path: Path
) -> None:
    pid_file = tmp_path / "pid"
    code = f"import os, time; open({str(pid_file)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    command = f'{sys.executable} -c "{code}"'
    daemon = start("compaction.interval.ms=300", "compaction.start.job=true", f"compaction.command={command}")
    fill(daemon)
    pid = int(eventually(lambda: pid_file.exists() and pid_file.read_text(), "the job runs", within_s=60) or 0)
    getattr(daemon, end)()
    eventually(lambda: not Path(f"/proc/{pid}").exists(), "the job ends with the daemon")
    daemon.start()
