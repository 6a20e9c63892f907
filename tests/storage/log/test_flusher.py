"""Group commit: batches that share a sync, the order of callbacks, and behaviour when the disk fails."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.log.flusher import Flusher, FlushPolicy
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry
from coordinator.storage.log.writer import HelperPool
from tests.storage.log.batches import bytes_of, entry, stored
from tests.support.manual_loop import ManualLoop, ManualWorker, settle

DATA = Path("/data")


class World:
    """A flusher on a manual loop, and its callbacks."""

    def __init__(self, *, logs: int = 2, segment_bytes: int = 1 << 20, **settings: Any) -> None:
        self.fs = LossyFileSystem()
        self.fs.mkdir(DATA)
        self.fs.fsync_dir(Path("/"))
        self.logs = {
            f"t-{number}": Log.open(DATA / f"t-{number}", LogConfig(segment_bytes=segment_bytes), self.fs)
            for number in range(logs)
        }
        self.loop = ManualLoop()
        self.worker = ManualWorker()
        self.calls: list[Any] = []
        self.flusher = Flusher(
            self.loop,
            self.calls.append,
            lambda log_id, from_offset, error: self.calls.append((log_id, from_offset, error.args[0])),
            worker=self.worker,
            clock=self.loop.clock,
            helpers=0,
            **settings,
        )

    def submit(self, name: str, *entries: Entry) -> list[OSError | None]:
        return [self.flusher.submit(name, self.logs[name], *one) for one in entries]

    def settle(self) -> None:
        settle(self.loop, self.worker)

    def take_calls(self) -> list[Any]:
        calls, self.calls[:] = self.calls[:], []
        return calls


def test_everything_submitted_in_one_turn_shares_one_write_and_one_sync() -> None:
    world = World()
    before = world.fs.counts.copy()
    entries = [entry(offset) for offset in range(100)]
    assert world.submit("t-0", *entries) == [None] * 100
    world.settle()
    assert world.take_calls() == [[("t-0", 100)]]
    assert world.fs.counts - before == {"pwrite": 1, "fdatasync": 1}
    assert stored(world.logs["t-0"]) == bytes_of(entries)
    assert (world.flusher.stats.rounds, world.flusher.stats.batches, world.flusher.stats.syncs) == (1, 100, 1)


def test_no_callback_runs_before_the_writer_has_returned() -> None:
    world = World()
    world.submit("t-0", entry(0))
    world.loop.run_ready()
    assert world.calls == []
    assert world.logs["t-0"].high_watermark == 0
    world.worker.run()
    assert world.calls == []
    world.loop.run_ready()
    assert world.calls == [[("t-0", 1)]]


def test_batches_queued_during_a_round_share_the_next_one_which_starts_at_once() -> None:
    world = World()
    world.submit("t-0", entry(0))
    world.loop.run_ready()
    world.submit("t-0", entry(1))
    world.submit("t-0", entry(2))
    world.worker.run()
    world.loop.run_ready()
    assert len(world.worker.jobs) == 1  # without another loop iteration
    world.settle()
    assert world.take_calls() == [[("t-0", 1)], [("t-0", 3)]]
    assert world.flusher.stats.rounds == 2


def test_logs_of_one_round_share_one_callback() -> None:
    world = World()
    world.submit("t-1", entry(0), entry(1))
    world.submit("t-0", entry(0))
    world.settle()
    assert world.take_calls() == [[("t-1", 2), ("t-0", 1)]]


class Gathering:
    """Records that become a batch when the round starts."""

    def __init__(self) -> None:
        self.gathered: list[Entry] = []
        self.discards = 0

    def build(self) -> Sequence[Entry]:
        built, self.gathered = self.gathered, []
        return built

    def discard(self) -> None:
        self.discards += 1
        self.gathered = []


def test_pending_records_are_built_when_their_round_starts() -> None:
    world = World()
    pending = Gathering()
    world.submit("t-0", entry(0))
    world.loop.run_ready()
    assert world.flusher.submit_pending("t-0", world.logs["t-0"], pending, 10) is None
    pending.gathered.append(entry(1, count=2))
    assert world.flusher.submit_pending("t-0", world.logs["t-0"], pending, 10) is None
    pending.gathered.append(entry(3))
    world.settle()
    assert world.take_calls() == [[("t-0", 1)], [("t-0", 4)]]
    assert pending.gathered == []


def test_more_than_the_bound_is_refused_at_once_and_accepted_again_later() -> None:
    size = len(entry(0).batch)
    world = World(max_queued_bytes=3 * size)
    *accepted, refusal = world.submit("t-0", *[entry(offset) for offset in range(4)])
    assert accepted == [None] * 3
    assert refusal is not None
    assert refusal.errno == errno.ENOBUFS
    world.loop.run_ready()
    assert world.submit("t-1", entry(0))[0] is not None  # bytes being written count too
    world.settle()
    assert world.flusher.queued_bytes == 0
    assert world.submit("t-0", entry(3)) == [None]


def test_a_batch_larger_than_the_bound_is_accepted_when_the_queue_is_empty() -> None:
    world = World(max_queued_bytes=10)
    assert world.submit("t-0", entry(0)) == [None]


@pytest.mark.parametrize("operation", ["pwrite", "fdatasync"])
def test_a_failed_round_is_cut_back_and_the_batches_queued_behind_it_fail_too(operation: str) -> None:
    world = World()
    log = world.logs["t-0"]
    world.submit("t-0", entry(0))
    world.settle()
    world.take_calls()

    world.fs.fail(operation, name="0.log")
    world.submit("t-0", entry(1), entry(2))
    world.submit("t-1", entry(0))
    world.loop.run_ready()
    world.submit("t-0", entry(3))
    world.settle()
    assert world.take_calls() == [[("t-1", 1)], ("t-0", 1, errno.EIO)]
    assert (log.log_end_offset, log.high_watermark) == (1, 1)
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    assert world.flusher.queued_bytes == 0

    again = entry(1, value=b"again")
    assert world.submit("t-0", again) == [None]
    world.settle()
    assert world.take_calls() == [[("t-0", 2)]]
    crashed = Log.open(DATA / "t-0", LogConfig(), world.fs.crash())
    assert stored(crashed) == bytes_of([entry(0), again])


@pytest.mark.parametrize("policy", [FlushPolicy.SYNC, FlushPolicy.INTERVAL])
@pytest.mark.parametrize("operation", ["fdatasync", "open", "fsync_dir"])
def test_the_first_write_after_a_failed_roll_succeeds(operation: str, policy: FlushPolicy) -> None:
    world = World(policy=policy)
    log = world.logs["t-0"]
    world.submit("t-0", entry(0))
    world.settle()
    world.fs.fail(operation)
    with pytest.raises(OSError, match="fails"):
        log.roll()
    assert log.is_suspect
    world.submit("t-0", entry(1))
    world.settle()
    assert world.take_calls() == [[("t-0", 1)], [("t-0", 2)]]
    log.flush()
    crashed = Log.open(DATA / "t-0", LogConfig(), world.fs.crash())
    assert stored(crashed) == bytes_of([entry(0), entry(1)])


def test_pending_records_behind_a_failure_are_discarded() -> None:
    world = World()
    pending = Gathering()
    world.fs.fail("fdatasync")
    world.submit("t-0", entry(0))
    world.loop.run_ready()
    pending.gathered.append(entry(1))
    world.flusher.submit_pending("t-0", world.logs["t-0"], pending, 10)
    world.settle()
    assert world.take_calls() == [("t-0", 0, errno.EIO)]
    assert pending.discards == 1
    assert world.flusher.queued_bytes == 0


def test_a_full_disk_fails_appends_and_service_resumes_by_itself() -> None:
    world = World(logs=1)
    log = world.logs["t-0"]
    world.submit("t-0", entry(0))
    world.settle()
    world.take_calls()
    world.fs.capacity = 0
    world.submit("t-0", entry(1))
    world.settle()
    assert world.take_calls() == [("t-0", 1, errno.ENOSPC)]
    (refusal,) = world.submit("t-0", entry(1))  # the new segment's predecessor could not be finished
    assert refusal is not None
    assert refusal.errno == errno.ENOSPC
    for _ in range(20):
        world.loop.advance(1)
        world.settle()
    assert world.submit("t-0", entry(1)) != [None]
    assert world.take_calls() == []  # reported once

    world.fs.heal()
    world.loop.advance(5)
    world.settle()
    assert world.submit("t-0", entry(1)) == [None]
    world.settle()
    assert world.take_calls() == [[("t-0", 2)]]
    assert stored(log) == bytes_of([entry(0), entry(1)])


def test_a_failing_cut_is_retried_with_growing_delays_while_appends_are_refused() -> None:
    world = World(logs=1)
    world.fs.fail("fdatasync")
    world.fs.fail("truncate", times=5)
    world.submit("t-0", entry(0))
    world.settle()
    assert world.take_calls() == [("t-0", 0, errno.EIO)]
    tries = []
    while world.submit("t-0", entry(0)) != [None]:
        before = world.fs.counts["truncate"]
        world.loop.advance(0.1)
        world.settle()
        if world.fs.counts["truncate"] > before:
            tries.append(world.loop.now)
    assert tries == pytest.approx([0.1, 0.3, 0.7, 1.5, 3.1], abs=0.15)


def test_one_log_that_fails_does_not_hold_up_the_others() -> None:
    world = World()
    world.fs.fail("fdatasync", name="0.log")
    world.fs.fail("truncate", times=1000)
    world.submit("t-0", entry(0))
    world.settle()
    assert world.submit("t-0", entry(0)) != [None]
    for offset in range(3):
        assert world.submit("t-1", entry(offset)) == [None]
        world.settle()
    assert world.take_calls()[1:] == [[("t-1", 1)], [("t-1", 2)], [("t-1", 3)]]


def test_policy_interval_acknowledges_after_the_write_and_syncs_later() -> None:
    world = World(policy="interval", interval_ms=500)
    before = world.fs.counts["fdatasync"]
    for offset in range(5):
        world.submit("t-0", entry(offset))
        world.settle()
    assert world.take_calls() == [[("t-0", offset)] for offset in range(1, 6)]
    assert world.fs.counts["fdatasync"] == before
    assert world.logs["t-0"].synced_offset == 0
    world.loop.advance(0.5)
    world.settle()
    assert world.fs.counts["fdatasync"] == before + 1
    assert world.logs["t-0"].synced_offset == 5
    world.loop.advance(60)
    world.settle()
    assert world.fs.counts["fdatasync"] == before + 1  # nothing written, nothing to sync


def test_policy_interval_writes_acknowledged_records_again_after_a_failed_sync() -> None:
    world = World(policy="interval", interval_ms=500, logs=1)
    log = world.logs["t-0"]
    written = [entry(offset) for offset in range(5)]
    world.submit("t-0", *written)
    world.settle()
    world.fs.fail("fdatasync")
    world.loop.advance(0.5)
    world.settle()
    assert world.take_calls() == [[("t-0", 5)], ("t-0", 5, errno.EIO)]  # no offset below 5 failed
    assert log.synced_offset == log.high_watermark == 5
    crashed = Log.open(DATA / "t-0", LogConfig(), world.fs.crash())
    assert stored(crashed) == bytes_of(written)


def test_a_job_runs_after_earlier_batches_and_does_not_delay_their_callbacks() -> None:
    world = World()
    log = world.logs["t-0"]
    world.submit("t-0", entry(0))
    world.flusher.run(lambda: log.log_end_offset, lambda result, error: world.calls.append((result, error)))
    world.settle()
    assert world.take_calls() == [[("t-0", 1)], (1, None)]


def test_the_error_of_a_failed_job_is_passed_to_its_callback() -> None:
    world = World()
    calls: list[tuple[object, Exception | None]] = []

    def job() -> None:
        raise OSError(errno.EROFS, "read-only")

    world.flusher.run(job, lambda result, error: calls.append((result, error)))
    world.settle()
    ((result, error),) = calls
    assert result is None
    assert isinstance(error, OSError)
    assert error.errno == errno.EROFS


def test_a_forgotten_log_is_not_written_any_more() -> None:
    world = World()
    world.submit("t-0", entry(0))
    world.flusher.forget("t-0")
    world.submit("t-1", entry(0))
    world.settle()
    assert world.take_calls() == [[("t-1", 1)]]
    assert world.logs["t-0"].log_end_offset == 0
    assert world.flusher.queued_bytes == 0


@pytest.mark.parametrize("policy", ["sync", "interval"])
def test_closing_writes_and_syncs_queued_batches_and_calls_back(policy: str) -> None:
    world = World(policy=policy, logs=1)
    world.submit("t-0", entry(0))
    world.loop.run_ready()
    world.submit("t-0", entry(1))
    world.flusher.close()
    assert world.calls == [[("t-0", 1)], [("t-0", 2)]]
    assert world.logs["t-0"].synced_offset == 2
    (refusal,) = world.submit("t-0", entry(2))
    assert refusal is not None
    assert refusal.errno == errno.ESHUTDOWN
    world.settle()
    assert len(world.calls) == 2


def test_the_checkpoint_of_a_log_is_written_periodically() -> None:
    world = World(logs=1, checkpoint_interval_ms=1000)
    checkpoint = DATA / "t-0" / "recovery-checkpoint"
    world.submit("t-0", entry(0))
    world.settle()
    assert not world.fs.exists(checkpoint)
    world.loop.advance(1)
    world.submit("t-0", entry(1))
    world.settle()
    assert b"recovery.point=2\n" in world.fs.open(checkpoint).pread(1000, 0)
    renames = world.fs.counts["rename"]
    world.submit("t-0", entry(2))
    world.settle()
    assert world.fs.counts["rename"] == renames


def test_a_failing_callback_does_not_stop_the_rounds(caplog: pytest.LogCaptureFixture) -> None:
    world = World(logs=1)

    def defect(_: object) -> None:
        raise KeyError("a defect")

    world.flusher._on_durable = defect
    world.submit("t-0", entry(0))
    world.settle()
    assert "a callback of the log failed" in caplog.text
    world.flusher._on_durable = world.calls.append
    world.submit("t-0", entry(1))
    world.settle()
    assert world.take_calls() == [[("t-0", 2)]]


def test_a_batch_with_wrong_offsets_fails_and_the_log_goes_on() -> None:
    world = World(logs=1)
    world.submit("t-0", entry(0))
    world.submit("t-0", entry(7))
    world.settle()
    assert [calls[:2] for calls in world.take_calls()] == [("t-0", 0)]
    world.submit("t-0", entry(0))
    world.settle()
    assert world.take_calls() == [[("t-0", 1)]]


def test_an_unexpected_error_fails_the_batches_of_its_round_and_keeps_the_thread(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(logs=1)
    with monkeypatch.context() as patch:
        patch.setattr(world.flusher, "_acknowledge", lambda *_: 1 / 0)
        world.submit("t-0", entry(0))
        world.settle()
    assert "a flush round failed" in caplog.text
    assert [calls[:2] for calls in world.take_calls()] == [("t-0", 0)]
    world.submit("t-0", entry(0))
    world.settle()
    assert world.take_calls() == [[("t-0", 1)]]


def test_a_pool_runs_every_call_and_returns_each_error() -> None:
    pool = HelperPool(3, "test")
    for round_ in range(50):
        done: list[int] = []

        def act(number: int, round_: int = round_, done: list[int] = done) -> None:
            done.append(number)
            if number == round_ % 7:
                raise OSError(errno.EIO, "fails")

        acts = round_ % 6 + 1
        errors = pool.run([partial(act, number) for number in range(acts)])
        assert sorted(done) == list(range(acts))
        assert [number for number, error in enumerate(errors) if error] == [round_ % 7] * (round_ % 7 < acts)
    pool.close()


async def test_with_real_threads_and_files_many_appends_share_few_syncs(tmp_path: Path) -> None:
    loop = asyncio.get_running_loop()
    logs = [Log.open(tmp_path / f"t-{number}", LogConfig(segment_bytes=20_000)) for number in range(4)]
    durable = [0] * 4
    finished = asyncio.Event()

    def on_durable(calls: list[tuple[int, int]]) -> None:
        for log_id, high_watermark in calls:
            assert durable[log_id] < high_watermark <= logs[log_id].synced_offset
            durable[log_id] = high_watermark
        if durable == [400] * 4:
            finished.set()

    failures: list[object] = []
    flusher = Flusher(loop, on_durable, lambda *failure: failures.append(failure))
    for offset in range(400):
        for log_id, log in enumerate(logs):
            assert flusher.submit(log_id, log, *entry(offset)) is None
        if offset % 40 == 0:
            await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await finished.wait()
    flusher.close()
    assert failures == []
    assert flusher.stats.batches == 1600
    assert flusher.stats.syncs < 200
    for log in logs:
        assert stored(log) == bytes_of(entry(offset) for offset in range(400))
        log.close()
