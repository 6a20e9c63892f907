"""Parts of the compactor that need no daemon: rows in slices, the probe of the loop, the look into the directory."""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from coordinator.compaction.daemon import memory_rows
from coordinator.compaction.daemon.counters import CompactionCounters
from coordinator.compaction.daemon.dirtiness import LEFT_ALONE_MS, lags_of, scheduled
from coordinator.compaction.daemon.job_scanner import JobScanner, JobSeen
from coordinator.compaction.daemon.memory_rows import MemoryRows
from coordinator.compaction.daemon.metrics import samples
from coordinator.compaction.daemon.plans import FIRST_RETRY_MS, LAST_RETRY_MS, OpenPlan
from coordinator.compaction.daemon.stall_probe import STEP_S, StallProbe
from coordinator.compaction.plan import JobDir
from coordinator.compaction.request import Request, ask, compaction_dir
from coordinator.config.config import Config
from coordinator.core.committed_rows import Row, StateChangedError
from coordinator.processes import frames
from coordinator.storage.log.fs import RealFileSystem
from coordinator.storage.log.log import Log, LogConfig
from protocol.record_batch import build_batch


class LoopThread:
    """A loop whose callbacks run at once, in a thread of their own, one after another."""

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any) -> None:
        thread = threading.Thread(target=callback, args=args)
        thread.start()
        thread.join()


def sent(rows: Callable[[int, int], Iterator[list[Row]] | None], high_watermark: int = 77) -> list[Any]:
    pipe = io.BytesIO()
    MemoryRows(LoopThread(), rows, lambda partition: high_watermark).send(pipe, 3, 50)
    pipe.seek(0)
    found = []
    while pipe.tell() < len(pipe.getvalue()):
        found.append(frames.read(pipe))
    return found


def test_rows_come_in_slices_and_at_the_end_how_far_the_log_is_durable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rows, "SLICE_S", 0.0)  # every slice is over after one list
    asked: list[tuple[int, int]] = []

    def rows(partition: int, below_offset: int) -> Iterator[list[Row]]:
        asked.append((partition, below_offset))
        return iter([[("g", 1)], [], [("h", 2), ("i", 3)]])

    assert sent(rows) == [
        ("rows", [("g", 1)]),
        ("rows", []),
        ("rows", [("h", 2), ("i", 3)]),
        ("rows", []),
        ("end", 77),
    ]
    assert asked == [(3, 50)]


def test_a_slice_takes_what_fits_into_its_time() -> None:
    assert sent(lambda *_: iter([[("g", 1)], [("h", 2)]])) == [("rows", [("g", 1), ("h", 2)]), ("end", 77)]


def test_a_partition_that_is_being_loaded_has_no_rows() -> None:
    assert sent(lambda *_: None) == [("absent", 0)]


def test_a_partition_that_is_loaded_anew_meanwhile_has_none_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_rows, "SLICE_S", 0.0)

    def rows(*_: int) -> Iterator[list[Row]]:
        yield [("g", 1)]
        raise StateChangedError

    assert sent(rows) == [("rows", [("g", 1)]), ("absent", 0)]


def test_a_frame_that_is_cut_off_or_too_long_is_the_end() -> None:
    whole = frames.encode({"a": (1, "b", b"c", None)})
    assert frames.read(io.BytesIO(whole)) == {"a": (1, "b", b"c", None)}
    for data in (b"", whole[:3], whole[:-1], b"\xff\xff\xff\xff"):
        with pytest.raises(EOFError):
            frames.read(io.BytesIO(data))


class ProbedLoop:
    """Timers that run when the test says so."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.callbacks: list[Callable[..., object]] = []

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Any:
        assert delay == STEP_S
        self.callbacks.append(callback)

        class Handle:
            def cancel(handle) -> None:  # noqa: N805 - `self` is the loop
                self.callbacks.remove(callback)

        return Handle()

    def run_after(self, seconds: float) -> None:
        self.now_s += seconds
        self.callbacks.pop()()


def test_the_probe_tells_by_how_much_the_loop_was_late_at_most() -> None:
    loop = ProbedLoop()
    probe = StallProbe(loop, lambda: loop.now_s).start()
    for seconds in (STEP_S, STEP_S + 0.030, STEP_S + 0.004):
        loop.run_after(seconds)
    assert probe.stop() == pytest.approx(0.030)
    assert loop.callbacks == []
    assert StallProbe(loop, lambda: loop.now_s).stop() == 0.0, "never started"


def test_a_stall_that_lasts_until_the_end_counts() -> None:
    loop = ProbedLoop()
    probe = StallProbe(loop, lambda: loop.now_s).start()
    loop.now_s += STEP_S + 0.050
    assert probe.stop() == pytest.approx(0.050)
    probe.start()
    assert probe.stop() < 0.001, "each start begins anew"


def test_what_is_in_the_way_is_looked_at_again_ever_more_seldom() -> None:
    plan = OpenPlan("p", 0, 10**9, (0,))
    assert plan.retry_ms == 0
    waits = []
    for _ in range(10):
        plan.try_again_later("the disk is full", 1000)
        waits.append(plan.retry_ms - 1000)
    assert waits[:3] == [FIRST_RETRY_MS, 2 * FIRST_RETRY_MS, 4 * FIRST_RETRY_MS]
    assert waits[-1] == LAST_RETRY_MS
    assert plan.trouble == "the disk is full"


@pytest.fixture
def looker(tmp_path: Path) -> JobScanner:
    return JobScanner(RealFileSystem(), tmp_path)


def test_nothing_there_is_nothing_seen(looker: JobScanner) -> None:
    assert looker.look() == (None, False, "", ())


def test_a_request_is_seen_and_what_is_none_is_thrown_away(looker: JobScanner, tmp_path: Path) -> None:
    request = Request.new()
    ask(tmp_path, request)
    assert looker.look().request == request
    (compaction_dir(tmp_path) / "request.json").write_text("{}")
    seen = looker.look()
    assert seen.request is None
    assert "a request has the fields" in seen.complaint
    assert looker.look() == (None, False, "", ())


def test_a_request_that_nobody_has_touched_for_a_minute_is_stale(looker: JobScanner, tmp_path: Path) -> None:
    ask(tmp_path, replace(Request.new(), created_ms=1))
    assert not looker.look().is_stale, "it was written just now"
    os.utime(compaction_dir(tmp_path) / "request.json", (1, 1))
    assert looker.look().is_stale


def test_jobs_are_seen_until_they_are_settled(looker: JobScanner, tmp_path: Path) -> None:
    for name, files in {"a": ("plan.json",), "b": ("plan.json", "manifest.json"), "c": ("plan.json", "DONE")}.items():
        job = JobDir.of(tmp_path, name)
        job.path.mkdir(parents=True)
        for file in files:
            (job.path / file).write_text("x")
            os.utime(job.path / file, (7, 7))
    (tmp_path / "compaction" / "jobs" / "no job; at all").mkdir()
    assert looker.look().jobs == (JobSeen("a", True, False, 7000), JobSeen("b", True, True, 7000))
    JobDir.of(tmp_path, "a").refused.write_text("no")
    assert looker.look().jobs == (JobSeen("b", True, True, 7000),)


def test_what_nobody_here_made_is_refused_and_kept(looker: JobScanner, tmp_path: Path) -> None:
    strays = {"planned": ("plan.json",), "forged": ("manifest.json",), "empty": ()}
    for name, files in strays.items():
        job = JobDir.of(tmp_path, name)
        job.out.mkdir(parents=True)
        for file in (*files, "out/x"):
            (job.path / file).write_text("x")
    said = looker.dismiss(list(looker.look().jobs))
    assert looker.look().jobs == ()
    assert [sentence.partition(";")[0] for sentence in said] == [
        "refused: there is no plan for its manifest",
        "refused: this daemon did not make its plan",
    ]
    for name in ("planned", "forged"):
        assert (JobDir.of(tmp_path, name).out / "x").exists(), "evidence"
        assert "refused" in JobDir.of(tmp_path, name).refused.read_text()
    assert not JobDir.of(tmp_path, "empty").path.exists(), "of a planner that was killed"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    """Three closed segments of 100 records each, and an active one."""
    opened = Log.open(tmp_path / "__consumer_offsets-0", LogConfig(), RealFileSystem())
    for number in range(3):
        batch = build_batch([(b"k", b"v")] * 100, base_offset=100 * number, timestamp_ms=1_000_000)
        opened.append(batch, 100 * number + 99, 1_000_000)
        opened.flush()
        opened.high_watermark = opened.log_end_offset
        opened.roll()
    yield opened
    opened.close()


def test_the_figures_follow_kafkas_cleaner(log: Log) -> None:
    counters = CompactionCounters(plans=4, swaps=3, refusals=1, bytes_before=1000, bytes_after=10)
    counters.marks = {0: 100}
    counters.uncleanable = {0: "damaged", 5: "not here any more"}
    counters.last_look_ms = 1_500_000
    counters.last_stall_s = 0.002
    config = Config(log_cleaner_max_compaction_lag_ms=600_000)
    found = {
        (sample.name, sample.labels.get("partition", "")): sample.value
        for sample in samples({0: log}, counters, lags_of(config), now_ms=2_000_000)
    }
    size = log.segments[0].size_bytes
    assert found["coordinator_compaction_dirty_ratio", "0"] == pytest.approx(2 / 3)
    assert found["kafka_log_cleaner_manager_max_dirty_percent", ""] == 66
    assert found["kafka_log_cleaner_manager_time_since_last_run_ms", ""] == 500_000
    assert found["kafka_log_cleaner_manager_uncleanable_partitions_count", ""] == 1
    assert found["kafka_log_cleaner_manager_uncleanable_bytes", ""] == 2 * size
    assert found["kafka_log_cleaner_max_compaction_delay_secs", ""] == 400
    assert found["coordinator_compaction_swap_stall_seconds", ""] == 0.002
    assert found["coordinator_compaction_plans_total", ""] == 4
    assert found["coordinator_compaction_refused_plans_total", ""] == 1
    assert found["coordinator_compaction_before_bytes_total", ""] == 1000


def test_the_schedule_leaves_partitions_alone_for_an_hour_after_their_cleaning_failed(log: Log) -> None:
    counters, logs = CompactionCounters(), {0: log, 1: log}
    assert scheduled(logs, counters, 1000).keys() == {0, 1}
    counters.uncleanable[1], counters.last_failed_ms = "damaged", 1000
    assert scheduled(logs, counters, 1000 + LEFT_ALONE_MS - 1).keys() == {0}
    assert scheduled(logs, counters, 1000 + LEFT_ALONE_MS).keys() == {0, 1}


def test_the_figures_of_a_log_that_was_never_compacted_are_those_of_a_dirty_one(log: Log) -> None:
    found = {
        sample.name: sample.value for sample in samples({0: log}, CompactionCounters(), lags_of(Config()), 2_000_000)
    }
    assert found["kafka_log_cleaner_manager_max_dirty_percent"] == 100
    assert found["kafka_log_cleaner_manager_time_since_last_run_ms"] == 0
    assert found["kafka_log_cleaner_max_compaction_delay_secs"] == 0
