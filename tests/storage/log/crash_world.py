"""Random workloads of two logs on the lossy disk: appends, rolls, deletions, faults, kills and power cuts.

One seed is one run. The world drives the logs through a flusher on a manual loop and a manual writer thread, cuts the
power at any operation, reopens the logs on the surviving files, and checks that
* an acknowledged batch is there, byte for byte, unless it was deleted;
* every batch that is there was submitted, at that offset;
* a batch whose failure was reported, after its log was cut back, is not there;
* deleted records stay deleted, and an acknowledged deletion is not undone.
`run_world` raises `BrokenPromiseError` if a check fails; the mutants of test_durability must make it fail.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from coordinator.simulation.disk import LossyFileSystem, MachineOffError
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.flusher import Flusher
from coordinator.storage.log.log import Log, LogConfig
from protocol.record_batch import build_batch
from tests.support.manual_loop import ManualLoop, ManualWorker, settle

DATA = Path("/data")
NAMES = ("a-0", "b-0")
CONFIG = LogConfig(segment_bytes=1500, segment_ms=1 << 40, index_interval_bytes=200)


class BrokenPromiseError(AssertionError):
    """A log broke a guarantee."""


@dataclass
class Promise:
    """Submitted and acknowledged operations of one log."""

    next_offset: int = 0
    start: int = 0  # acknowledged deletions
    wanted_start: int = 0  # requested deletions
    acknowledged_to: int = 0
    durable_to: int = 0  # policy interval guarantees only this much after a power cut
    submitted: dict[int, bytes] = field(default_factory=dict)  # the newest batch at each base offset
    reported_failed: dict[int, bytes] = field(default_factory=dict)  # cut back, so never there again
    in_doubt: dict[int, list[bytes]] = field(default_factory=dict)  # failed, and not cut back: may reappear

    def acknowledge(self, high_watermark: int) -> None:
        self.acknowledged_to = max(self.acknowledged_to, high_watermark)


class _WatchedLog(Log):
    """Notes whether the last attempt to cut it back failed."""

    cut_failed = False

    def cut_back(self) -> None:
        self.cut_failed = True
        super().cut_back()
        self.cut_failed = False


class CrashWorld:
    """Runs one random workload and checks the guarantees."""

    def __init__(
        self, seed: int, log_class: type[Log] = Log, flusher_class: type[Flusher] = Flusher, policy: str = "sync"
    ) -> None:
        self.rng = random.Random(seed)
        self.fs = LossyFileSystem(seed=seed)
        self.fs.mkdir(DATA)
        self.fs.fsync_dir(DATA.parent)
        self.log_class: type[_WatchedLog] = type("WatchedLog", (_WatchedLog, log_class), {})
        self.flusher_class = flusher_class
        self.policy = policy
        self.promises = {name: Promise() for name in NAMES}
        self.acknowledgements = 0
        self.boots = 0
        self.broken = ""
        self._boot()

    # one boot

    def _boot(self) -> None:
        self.boots += 1
        self.loop = ManualLoop()
        self.worker = ManualWorker()
        self.logs: dict[str, _WatchedLog] = {}
        for name in NAMES:
            try:
                self.logs[name] = self.log_class.open(DATA / name, CONFIG, self.fs)
            except CorruptLogError as error:
                raise BrokenPromiseError(f"{name} does not open: {error}") from error
        self.flusher = self.flusher_class(
            self.loop,
            self._on_durable,
            self._on_failed,
            policy=self.policy,
            interval_ms=100,
            checkpoint_interval_ms=500,
            helpers=0,
            worker=self.worker,
            clock=self.loop.clock,
        )
        for name in NAMES:
            self._check(name)

    def _on_durable(self, durable: list[tuple[Any, int]]) -> None:
        if self.fs.is_off:
            return  # the machine is off: no callback runs
        for name, high_watermark in durable:
            self.acknowledgements += 1
            self.promises[name].acknowledge(high_watermark)

    def _on_failed(self, name: Any, from_offset: int, error: Exception) -> None:
        if self.fs.is_off:
            return
        promise = self.promises[name]
        if from_offset < promise.acknowledged_to:
            self.broken = f"{name}: {from_offset} failed, acknowledged was {promise.acknowledged_to}"
        for base in [base for base in promise.submitted if base >= from_offset]:
            batch = promise.submitted.pop(base)
            if self.logs[name].cut_failed:
                promise.in_doubt.setdefault(base, []).append(batch)
            else:
                promise.reported_failed[base] = batch
        promise.next_offset = from_offset

    # operations

    def submit(self) -> None:
        name = self.rng.choice(NAMES)
        promise = self.promises[name]
        base = promise.next_offset
        count = self.rng.randrange(1, 4)
        records: list[tuple[bytes | None, bytes | None]] = [
            (b"key", self.rng.randbytes(self.rng.randrange(200))) for _ in range(count)
        ]
        batch = bytes(build_batch(records, base_offset=base, timestamp_ms=1000 + base))
        if self.flusher.submit(name, self.logs[name], batch, base + count - 1, 1000 + base) is None:
            promise.submitted[base] = batch
            promise.reported_failed.pop(base, None)
            promise.next_offset = base + count

    def turn(self) -> None:
        self.loop.run_ready()
        self.worker.run()
        self.loop.run_ready()

    def let_time_pass(self) -> None:
        self.loop.advance(self.rng.choice((0.05, 0.2, 6.0)))
        self.turn()

    def fault(self) -> None:
        operation = self.rng.choice(("fdatasync", "fdatasync", "pwrite", "fsync", "fsync_dir", "open", "truncate"))
        times = self.rng.choice((1, 1, 2, 3))
        self.fs.fail(operation, skip=self.rng.randrange(3), times=times, name=self.rng.choice(("", ".log")))

    def fill_disk(self) -> None:
        self.fs.capacity = 0
        self.submit()
        self.turn()
        self.fs.heal()

    def delete(self) -> None:
        name = self.rng.choice(NAMES)
        promise, log = self.promises[name], self.logs[name]
        offset = self.rng.randint(0, promise.acknowledged_to)
        rolls = self.rng.random() < 0.5

        def job() -> int:
            if rolls:
                log.roll()
            log.delete_up_to(offset)
            return log.log_start_offset

        def then(result: int | None, error: Exception | None) -> None:
            if error is None and result is not None and not self.fs.is_off:
                promise.start = max(promise.start, result)

        promise.wanted_start = max(promise.wanted_start, offset)
        self.flusher.run(job, then)

    def close_in_order(self) -> None:
        self.fs.heal()
        self.flusher.close()
        settle(self.loop, self.worker)
        for log in self.logs.values():
            log.close()
        self._boot()

    def kill(self) -> None:
        """Kill the process; the kernel keeps everything that was written."""
        self.fs.heal()
        for log in self.logs.values():
            log.abandon()
        self._boot()

    def power_cut(self) -> None:
        if self.policy == "interval":
            for name, promise in self.promises.items():
                if name in self.logs:
                    promise.durable_to = max(promise.durable_to, self.logs[name].synced_offset)
                promise.acknowledged_to = min(promise.acknowledged_to, promise.durable_to)
        self.fs = self.fs.crash(self.rng if self.rng.random() < 0.7 else None)
        self._boot()

    def power_cut_in_the_middle(self) -> None:
        """Cut the power a few operations from now, during writes or during the recovery of a killed process."""
        kills = self.rng.random() < 0.3
        if not kills:
            for _ in range(self.rng.randrange(1, 6)):
                self.submit()
        self.fs.crash_after(self.rng.randrange(40 if kills else 14))
        try:
            if kills:
                self.kill()
            self.turn()
            self.turn()
        except MachineOffError:
            pass
        self.power_cut()

    # checks

    def _check(self, name: str) -> None:
        """Compare a newly opened log with its promises; records beyond them are promised from now on."""
        log, promise = self.logs[name], self.promises[name]
        if not promise.start <= log.log_start_offset <= max(promise.start, promise.wanted_start):
            raise BrokenPromiseError(f"{name}: starts at {log.log_start_offset}, was {promise.start}")
        try:
            found = {header.base_offset: batch for header, batch in log.batches()}
        except CorruptLogError as error:
            raise BrokenPromiseError(f"{name} cannot be read: {error}") from error
        for base, batch in promise.submitted.items():
            end = _end(base, batch)
            if end <= promise.acknowledged_to and end > log.log_start_offset and found.get(base) != batch:
                raise BrokenPromiseError(
                    f"{name}: the acknowledged batch {base} is {'other' if base in found else 'gone'}"
                )
        for base, batch in found.items():
            if promise.reported_failed.get(base) == batch:
                raise BrokenPromiseError(f"{name}: batch {base} came back, although its failure was reported")
            if batch != promise.submitted.get(base) and batch not in promise.in_doubt.get(base, ()):
                raise BrokenPromiseError(f"{name}: no batch was submitted at {base}")
        if log.high_watermark < promise.acknowledged_to:
            raise BrokenPromiseError(f"{name}: ends at {log.high_watermark}, acknowledged {promise.acknowledged_to}")
        promise.submitted = found
        promise.reported_failed = {}
        promise.in_doubt = {}
        promise.start = promise.wanted_start = log.log_start_offset
        promise.acknowledged_to = promise.next_offset = promise.durable_to = log.high_watermark

    def check_reading(self) -> None:
        """Check that readers get exactly the acknowledged batches."""
        for name in NAMES:
            log, promise = self.logs[name], self.promises[name]
            for base, batch in promise.submitted.items():
                end = _end(base, batch)
                if log.log_start_offset <= base and end <= promise.acknowledged_to and log.read(base, 1) != batch:
                    raise BrokenPromiseError(f"{name}: batch {base} is not served")


def _end(base: int, batch: bytes) -> int:
    return base + int.from_bytes(batch[23:27], "big") + 1


STEPS: tuple[tuple[int, Callable[[CrashWorld], None]], ...] = (
    (30, CrashWorld.submit),
    (20, CrashWorld.turn),
    (6, CrashWorld.let_time_pass),
    (4, CrashWorld.fault),
    (1, CrashWorld.fill_disk),
    (3, CrashWorld.delete),
    (1, CrashWorld.close_in_order),
    (2, CrashWorld.kill),
    (2, CrashWorld.power_cut),
    (3, CrashWorld.power_cut_in_the_middle),
)


def run_world(
    seed: int,
    log_class: type[Log] = Log,
    flusher_class: type[Flusher] = Flusher,
    *,
    policy: str = "sync",
    steps: int = 90,
) -> CrashWorld:
    """Run one seed; raises BrokenPromiseError if a promise is broken."""
    world = CrashWorld(seed, log_class, flusher_class, policy)
    weights = [weight for weight, _ in STEPS]
    for _, step in world.rng.choices(STEPS, weights, k=steps):
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
