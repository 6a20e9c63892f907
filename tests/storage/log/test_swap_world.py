"""Random workloads with swaps of segments on the lossy disk, together with everything else that happens to a log.

The world of `crash_world` (appends, rolls, deletions, faults, full disks, kills, power cuts), in which closed segments
are swapped now and then, with batches left out. Left-out batches are gone if the log reported success, and all there or
all gone if it could not report; all other batches must be there as before.
"""

from __future__ import annotations

import errno
import hashlib
import random
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

from coordinator.simulation.disk import MachineOffError
from coordinator.storage.log import swap
from coordinator.storage.log.errors import OffsetOutOfRangeError
from coordinator.storage.log.fs import RealFileSystem, write_atomically
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Segment
from coordinator.storage.log.staging import Replaced, StagedFile, SwapRefusedError, prepare, stage, unstage
from tests.storage.log.batches import bytes_of, fill
from tests.storage.log.crash_world import DATA, NAMES, STEPS, BrokenPromiseError, CrashWorld, _end
from tests.support.manual_loop import settle
from tests.support.profile import DEEP, HUNT

RUNS = 1500 if HUNT else 600 if DEEP else 80


@dataclass(slots=True)
class Swap:
    """The batches that one swap leaves out, and the log's report of success."""

    left_out: dict[int, bytes]
    is_decided: bool = False


def batches_of(segment: Segment) -> list[bytes]:
    return list(segment.batches(segment.base_offset, segment.size_bytes, 1 << 20))


def base_of(batch: bytes) -> int:
    return int.from_bytes(batch[:8], "big")


def replace(log: Log, out: Path, kept: list[bytes], count: int, at_step: swap.AtStep = swap.no_step) -> None:
    """Swap the first `count` segments for one segment of these batches, without finishing."""
    fs, directory = log.fs, log.directory
    closed = log.segments[:count]
    name, data = closed[0].path.name, b"".join(kept)
    if not fs.is_dir(out):
        fs.mkdir(out)
        fs.fsync_dir(out.parent)
    write_atomically(fs, out / name, data)
    stage(
        fs,
        directory,
        [StagedFile(out / name, name, len(data), hashlib.sha256(data).hexdigest())],
        [segment.base_offset for segment in closed],
        plan_id="p",
        clean_up_to=log.segments[count].base_offset,
        index_interval_bytes=log.config.index_interval_bytes,
    )
    facts = [Replaced(one.base_offset, one.next_offset, one.size_bytes) for one in closed]
    log.replace_segments(prepare(fs, directory, facts, "p", log.config.index_interval_bytes), at_step)


class SwappingWorld(CrashWorld):
    """A `CrashWorld` whose segments are also swapped."""

    def __init__(self, seed: int) -> None:
        self.swaps: dict[str, list[Swap]] = {name: [] for name in NAMES}
        self.decided = 0
        super().__init__(seed)

    def replace(self) -> None:
        name = self.rng.choice(NAMES)
        log, promise = self.logs[name], self.promises[name]
        every, finishes = self.rng.choice((1, 2, 3)), self.rng.random() < 0.6

        def job() -> None:
            """Run on the writer thread, so that only a crash can interfere."""
            log.finish_swap()
            unstage(log.fs, log.directory)
            # The uncertain swap was withdrawn.
            self.swaps[name] = [one for one in self.swaps[name] if one.is_decided]
            count = len([one for one in log.segments[1:] if one.base_offset <= log.high_watermark])
            if not count:
                return
            batches = [batch for segment in log.segments[:count] for batch in batches_of(segment)]
            kept = batches[::every]
            left_out = Swap({base_of(batch): batch for batch in batches if batch not in kept})

            def at_step(step: str) -> None:
                if step == swap.SwapStep.COMMIT_RENAME:
                    self.swaps[name].append(left_out)

            try:
                replace(log, DATA / "out", kept, count, at_step)
            finally:
                if log.is_swapping:
                    left_out.is_decided = True
                    self.decided += 1
                    for base in left_out.left_out:
                        promise.submitted.pop(base, None)
            if finishes:
                log.finish_swap()

        def then(_: None, error: Exception | None) -> None:
            if error is not None and not isinstance(error, OSError | SwapRefusedError):
                self.broken = f"{name}: {error!r}"

        self.flusher.run(job, then)

    def _check(self, name: str) -> None:
        log, promise = self.logs[name], self.promises[name]
        found = {header.base_offset for header, _ in log.batches()}
        for one in self.swaps[name]:
            counted = {base for base, batch in one.left_out.items() if _end(base, batch) > log.log_start_offset}
            there = counted & found
            if one.is_decided and there:
                raise BrokenPromiseError(f"{name}: batches that a swap left out are back: {sorted(there)}")
            if there and there != counted:
                raise BrokenPromiseError(f"{name}: replaced by half: {sorted(there)} of {sorted(counted)}")
            if not there:
                for base in counted:
                    promise.submitted.pop(base, None)
        self.swaps[name] = []
        super()._check(name)


def run_world(seed: int, steps: int = 110) -> SwappingWorld:
    """Run one seed; raises BrokenPromiseError if a promise is broken."""
    world = SwappingWorld(seed)
    choices = ((8, SwappingWorld.replace), *STEPS)
    weights = [weight for weight, _ in choices]
    for _, step in world.rng.choices(choices, weights, k=steps):
        try:
            step(world)
        except MachineOffError:
            world.power_cut()
        except OSError as error:
            if error.errno not in (errno.EIO, errno.ENOSPC):
                raise
            world.fs.heal()  # opening or closing met a fault: heal the disk and start again
            world.power_cut()
        if world.broken:
            raise BrokenPromiseError(world.broken)
    world.fs.heal()
    settle(world.loop, world.worker)
    world.check_reading()
    world.power_cut()
    return world


def test_every_promise_is_kept_when_segments_are_swapped_at_random_moments() -> None:
    decided = boots = 0
    for seed in range(RUNS):
        world = run_world(seed)
        decided += world.decided
        boots += world.boots
    assert decided > 2 * RUNS
    assert boots > 3 * RUNS


def broken_by(seeds: int = 400) -> str | None:
    for seed in range(seeds):
        try:
            run_world(seed)
        except BrokenPromiseError as broken:
            return str(broken)
    return None


def never(*_: object, **__: object) -> None:
    """Do nothing instead of a precaution."""


def deletes_without_finishing_the_swap(log: Log, offset: int) -> int:
    finish = Log.finish_swap
    Log.finish_swap = never  # type: ignore[method-assign]
    try:
        return delete_up_to(log, offset)
    finally:
        Log.finish_swap = finish  # type: ignore[method-assign]


delete_up_to = Log.delete_up_to
MUTANTS = {
    "deleting does not finish a swap": (Log, "delete_up_to", deletes_without_finishing_the_swap),
    "the intent is never forgotten": (swap, "finish", never),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_log_that_does_not_finish_a_swap_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    broken = broken_by()
    assert broken is not None
    print(broken)


def test_readers_in_other_threads_see_whole_batches_while_segments_are_swapped(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "a-0", LogConfig(segment_bytes=2000, index_interval_bytes=200))
    known = set(bytes_of(fill(log, 200, value=b"v" * 30)))
    stopped = threading.Event()
    problems: list[str] = []
    read: list[set[bytes]] = [set(), set()]

    def reader(number: int) -> None:
        rng = random.Random(number)
        while not stopped.is_set():
            offset = rng.randrange(log.high_watermark + 1)
            try:
                data = log.read(offset, rng.choice((100, 3000)))
            except OffsetOutOfRangeError as error:
                problems.append(repr(error))
                return
            position = 0
            while position < len(data):
                size = 12 + int.from_bytes(data[position + 8 : position + 12], "big")
                batch = data[position : position + size]
                if _end(base_of(batch), batch) <= offset:
                    problems.append(f"at {offset}: {batch[:20]!r}")
                    return
                read[number].add(batch)
                position += size

    threads = [threading.Thread(target=reader, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    rng = random.Random(1)
    for _ in range(12):
        known.update(bytes_of(fill(log, 30, value=b"w" * 30)))
        count = len(log.segments) - 1
        batches = [batch for segment in log.segments[:count] for batch in batches_of(segment)]
        replace(log, tmp_path / "out", batches[:: rng.choice((1, 2))], count)
        log.finish_swap()
    stopped.set()
    for thread in threads:
        thread.join()
    assert not problems
    assert all(found <= known and len(found) > 50 for found in read)
    log.close()


def test_kafkas_files_of_a_swapped_segment_are_removed_and_the_others_stay(tmp_path: Path) -> None:
    log = Log.open(tmp_path / "a-0", LogConfig(segment_bytes=500), RealFileSystem())
    fill(log, 30)
    bases = [segment.base_offset for segment in log.segments]
    for base in bases:
        (log.directory / f"{base:020d}.txnindex").write_bytes(b"t")
        (log.directory / f"{base:020d}.snapshot").write_bytes(b"s")
    replace(log, tmp_path / "out", batches_of(log.segments[0])[:1], len(bases) - 1)
    log.finish_swap()
    assert [path.name[:20] for path in log.directory.glob("*.txnindex")] == [f"{bases[-1]:020d}"]
    assert len(list(log.directory.glob("*.snapshot"))) == len(bases)
    log.close()
