"""The list of segments: the start is refused if a segment is missing or shorter than listed.

The list is in `recovery-checkpoint`. These tests remove files of a log that was written, rolled, shortened, compacted
or served by Kafka, and cut the power at each step of every change of the list.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from coordinator.simulation.disk import LossyFileSystem, MachineOffError
from coordinator.storage.log import log as log_module
from coordinator.storage.log import redo
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, ListedSegment
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.flusher import Flusher
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Segment, segment_path
from protocol.record_batch import iter_batches
from tests.storage.log.batches import bytes_of, entry, fill, stored
from tests.storage.log.crash_world import BrokenPromiseError, run_world
from tests.storage.log.test_swap_world import replace
from tests.support.manual_loop import ManualLoop, ManualWorker

CONFIG = LogConfig(segment_bytes=600, index_interval_bytes=150)
PATH = Path("/data/topic-0")
EPOCHS = "leader-epoch-checkpoint"


def memory(seed: int = 0) -> LossyFileSystem:
    fs = LossyFileSystem(seed=seed)
    fs.mkdir(PATH.parent)
    fs.fsync_dir(PATH.parent.parent)
    return fs


def a_log(directory: Path, batches: int = 40, *, clean: bool) -> list[int]:
    """Make a log, closed cleanly or killed after its last checkpoint, and return its segments' first offsets."""
    log = Log.open(directory, CONFIG)
    fill(log, batches)
    bases = [segment.base_offset for segment in log.segments]
    assert len(bases) > 3
    if clean:
        log.close()
    else:
        log.save_checkpoint()
        log.abandon()
    return bases


def remove(directory: Path, base: int) -> None:
    for path in directory.glob(f"{base:020d}.*"):
        path.unlink()


@pytest.mark.parametrize("clean", [True, False], ids=["closed in order", "killed"])
@pytest.mark.parametrize("which", [0, 1, 2, -2, -1])
def test_a_start_without_one_of_the_segments_is_refused(tmp_path: Path, which: int, clean: bool) -> None:
    directory = tmp_path / "topic-0"
    bases = a_log(directory, clean=clean)
    remove(directory, bases[which])
    before = sorted((path.name, path.read_bytes()) for path in directory.iterdir())
    with pytest.raises(CorruptLogError) as refusal:
        Log.open(directory, CONFIG)
    said = str(refusal.value)
    assert said.startswith(f"{segment_path(directory, bases[which])}: the file is missing")
    assert f"from offset {bases[which]}" in said
    if which != -1:
        assert f"up to {bases[bases.index(bases[which]) + 1]}" in said
    assert f"remove {RECOVERY_CHECKPOINT_NAME}" in said
    assert sorted((path.name, path.read_bytes()) for path in directory.iterdir()) == before

    (directory / RECOVERY_CHECKPOINT_NAME).unlink()  # the remedy in the error message
    log = Log.open(directory, CONFIG)
    assert len(stored(log)) < 40
    log.close()
    Log.open(directory, CONFIG).close()


def test_the_error_counts_the_other_missing_segments(tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    bases = a_log(directory, clean=True)
    for base in bases[1:3]:
        remove(directory, base)
    with pytest.raises(CorruptLogError, match=f"{bases[1]:020d}.log: .*; 1 other segment is missing, too"):
        Log.open(directory, CONFIG)


@pytest.mark.parametrize("left", ["nothing", "whole batches"])
def test_a_finished_segment_that_is_shorter_than_it_was_is_refused(tmp_path: Path, left: str) -> None:
    directory = tmp_path / "topic-0"
    bases = a_log(directory, clean=True)
    path = segment_path(directory, bases[1])
    data = path.read_bytes()
    size = len(data)
    kept = 0 if left == "nothing" else [position for position, _ in iter_batches(data)][-1]
    path.write_bytes(data[:kept])
    with pytest.raises(CorruptLogError, match=f"at byte {kept}: the file ends, but it had {size} bytes"):
        Log.open(directory, CONFIG)


def test_a_log_of_an_earlier_version_is_accepted_without_a_list_once(tmp_path: Path) -> None:
    directory = tmp_path / "topic-0"
    bases = a_log(directory, clean=True)
    path = directory / RECOVERY_CHECKPOINT_NAME
    path.write_text(
        "".join(
            line
            for line in path.read_text().splitlines(keepends=True)
            if not line.startswith(("segment.", "leader.", "checksum="))
        )
    )
    remove(directory, bases[1])
    Log.open(directory, CONFIG).abandon()  # listed at the start, not only at the next stop
    remove(directory, bases[2])
    with pytest.raises(CorruptLogError, match=f"{bases[2]:020d}.log: the file is missing"):
        Log.open(directory, CONFIG)


def test_an_earlier_version_can_read_the_checkpoint(tmp_path: Path) -> None:
    """An earlier version reads each value as an integer and ignores unknown keys."""
    directory = tmp_path / "topic-0"
    a_log(directory, clean=True)
    for line in (directory / RECOVERY_CHECKPOINT_NAME).read_text().splitlines():
        int(line.partition("=")[2])


@pytest.mark.parametrize("epochs", [b"", b"0\n1\n7 40\n"])
def test_a_kafka_that_served_the_log_may_have_merged_its_segments(tmp_path: Path, epochs: bytes) -> None:
    """Kafka makes leader-epoch-checkpoint when it loads a log, and adds its epoch when it becomes the leader."""
    directory = tmp_path / "topic-0"
    bases = a_log(directory, clean=True)
    (directory / EPOCHS).write_bytes(epochs)
    remove(directory, bases[1])
    log = Log.open(directory, CONFIG)
    assert len(log.segments) == len(bases) - 1
    log.abandon()
    remove(directory, bases[2])
    with pytest.raises(CorruptLogError, match="the file is missing"):
        Log.open(directory, CONFIG)
    (directory / EPOCHS).write_bytes(epochs + b"8 50\n")
    Log.open(directory, CONFIG).close()


def test_a_segment_is_listed_when_its_first_round_is_durable_and_not_a_minute_later() -> None:
    fs, loop, worker = memory(), ManualLoop(), ManualWorker()
    log = Log.open(PATH, CONFIG, fs)
    flusher = Flusher(loop, lambda _: None, lambda *_: None, helpers=0, worker=worker, clock=loop.clock)
    while len(log.segments) < 3:
        one = entry(log.log_end_offset)
        assert flusher.submit("t", log, bytes(one.batch), one.last_offset, one.max_timestamp) is None
        loop.run_ready()
        worker.run()
        loop.run_ready()
    log.abandon()
    fs.unlink(log.segments[-1].path)
    with pytest.raises(CorruptLogError, match="the file is missing"):
        Log.open(PATH, CONFIG, fs)


def killed_at_every_step(act: Callable[[Log], object], prepare: Callable[[Log], object]) -> int:
    """Cut the power before each operation of `act`, and open the log twice on the surviving files."""
    step = 0
    while True:
        fs = memory(seed=step)
        log = Log.open(PATH, CONFIG, fs)
        fill(log, 40)
        log.save_checkpoint()
        prepare(log)
        fs.crash_after(step)
        with suppress(MachineOffError):
            act(log)
            fs.crash_after(10_000)  # `act` ran without a crash
            Log.open(PATH, CONFIG, fs.crash(random.Random(step)))
            return step
        kept = fs.crash(random.Random(step))
        Log.open(PATH, CONFIG, kept).abandon()
        Log.open(PATH, CONFIG, kept.crash()).abandon()
        step += 1


def test_no_crash_during_a_deletion_makes_the_next_start_miss_a_segment() -> None:
    assert killed_at_every_step(lambda log: log.delete_up_to(30), lambda log: None) > 5


def test_no_crash_during_a_roll_makes_the_next_start_miss_a_segment() -> None:
    def rolls(log: Log) -> None:
        fill(log, 20)
        log.save_checkpoint()

    assert killed_at_every_step(rolls, lambda log: None) > 5


def replaced_with_crashes() -> None:
    for step in range(100):
        fs = memory(seed=step)
        log = Log.open(PATH, CONFIG, fs)
        fill(log, 40)
        log.save_checkpoint()
        fs.crash_after(10 + step)
        try:
            replace(log, Path("/data/out"), bytes_of([entry(0), entry(17)]), len(log.segments) - 1)
            log.finish_swap()
            fs.crash_after(10_000)
        except MachineOffError:
            kept = fs.crash(random.Random(step))
            kept.crash_after(step % 23)
            with suppress(MachineOffError):
                Log.open(PATH, CONFIG, kept).abandon()
            kept = kept.crash(random.Random(step))
        else:
            kept = fs.crash(random.Random(step))
        Log.open(PATH, CONFIG, kept).abandon()
        Log.open(PATH, CONFIG, kept).abandon()


def test_no_crash_during_a_swap_makes_the_next_start_miss_a_segment() -> None:
    """The start that completes the swap may crash too."""
    replaced_with_crashes()


def test_a_redo_that_does_not_update_the_list_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redo, "note_replaced", lambda *_: None)
    with pytest.raises(CorruptLogError, match="the file is missing"):
        replaced_with_crashes()


def test_a_swap_that_does_not_update_the_list_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Log._write_checkpoint

    def careless(log: Log, **facts: Any) -> None:
        if not log.is_swapping:
            write(log, **facts)

    monkeypatch.setattr(Log, "_write_checkpoint", careless)
    with pytest.raises(CorruptLogError, match="the file is missing"):
        replaced_with_crashes()


def test_listing_segments_that_may_be_cut_back_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def careless(segments: Sequence[Segment], *_: int) -> tuple[ListedSegment, ...]:
        return tuple(ListedSegment(segment.base_offset, segment.size_bytes) for segment in segments)

    monkeypatch.setattr(log_module, "inventory", careless)
    with pytest.raises(BrokenPromiseError, match="does not open"):
        for seed in range(200):
            run_world(seed)
