"""A compaction on a file system that loses unsynced data: power cuts at any operation, errors, a full disk, mutants.

Bytes are durable once their file was synced, names once their directory was; of the rest any part may survive. After a
cut the machine starts again, the compaction is repeated, and the directory must end as without the cut. The job is part
of it: its outputs and its manifest may be lost too.
"""

from __future__ import annotations

import errno
import itertools
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from coordinator.compaction import swap_protocol
from coordinator.compaction.offline import RefusedError
from coordinator.simulation.disk import LossyFileSystem, MachineOffError
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.log import log as log_module
from coordinator.storage.log import staging, swap
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.staging import SwapRefusedError
from tests.compaction.swap_protocol_world import NOW_MS, build, compact, files_of, state_of
from tests.storage.log.test_swap import DATA, ignoring, list_of_segments_not_synced
from tests.support.profile import DEEP

DATA_DIR = DATA / "logs"


@contextmanager
def numbered_ids() -> Iterator[None]:
    """Number plans and epochs, which are random otherwise: then a disk says what has happened, and nothing else."""
    numbers = itertools.count(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("secrets.token_hex", lambda size: f"{next(numbers):0{2 * size}x}")
        yield


class Machine:
    """A disk with a data directory, and its expected state after the compaction."""

    def __init__(self) -> None:
        fs = LossyFileSystem(reorders_names=True)
        fs.mkdir(DATA)
        fs.fsync_dir(DATA.parent)
        build(fs, DATA_DIR)
        self.before = state_of(fs, DATA_DIR)
        self.template = fs
        fs = self.fresh()
        start = fs.counts.total()
        self.marks: dict[str, int] = {}
        assert (
            "compacted 2 partitions"
            in compact(
                fs, DATA_DIR, at_step=lambda step: self.marks.setdefault(step, fs.counts.total() - start) and None
            )[-1]
        )
        self.operations = fs.counts.total() - start
        self.expected = files_of(fs, DATA_DIR)
        assert state_of(fs, DATA_DIR) == self.before

    def fresh(self) -> LossyFileSystem:
        """Return the disk before the compaction, with everything on it durable."""
        survivor = self.template.crash(None)
        self.template.is_off = False
        return survivor

    def broken(self, operation: int, seed: int, known: dict[bytes, str | None] | None = None) -> str | None:
        """Cut the power at an operation, start again, repeat; return the first violation, if any.

        What the last compaction does depends on its disk alone, and many cuts leave the same disk. `known` has the
        violation on each disk that was met, and is added to.
        """
        when = f"operation {operation}, seed {seed}"
        with numbered_ids():
            try:
                fs = self.after_cuts(operation, seed)
            except (CorruptLogError, RefusedError) as error:
                return f"{when}: {error}"
            known = {} if known is None else known
            disk = fs.digest()
            if disk not in known:
                known[disk] = self.violation(fs)
        return f"{when}: {violation}" if (violation := known[disk]) else None

    def after_cuts(self, operation: int, seed: int) -> LossyFileSystem:
        """Return the disk after a power cut at an operation, and for some seeds after another while it recovers."""
        rng = random.Random(seed)
        fs = self.fresh()
        fs.crash_after(operation)
        with suppress(MachineOffError):
            compact(fs, DATA_DIR)
        fs = fs.crash(rng if seed else None)
        if seed % 3 == 2:
            fs.crash_after(rng.randrange(60))
            with suppress(MachineOffError):
                compact(fs, DATA_DIR)
            fs = fs.crash(rng)
        return fs

    def violation(self, fs: LossyFileSystem) -> str | None:
        """Repeat the compaction on a disk; return what is wrong then, if anything."""
        try:
            compact(fs, DATA_DIR)
        except (CorruptLogError, RefusedError) as error:
            return str(error)
        return self.difference(fs, "repeated")

    def difference(self, fs: LossyFileSystem, when: str) -> str | None:
        fs = fs.crash(None)  # what is durable counts
        if state_of(fs, DATA_DIR) != self.before:
            return f"{when}: the log says something else"
        if files_of(fs, DATA_DIR) != self.expected:
            return f"{when}: the directory is not as if nothing had happened"
        return None


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine()


def test_a_power_cut_at_any_operation_does_not_change_the_end_state(
    machine: Machine,
) -> None:
    dense = machine.marks[swap.SwapStep.STAGE_COPY]
    cases = [
        (operation, seed)
        for operation in range(machine.operations)
        for seed in range(6 if DEEP else 3)
        if DEEP or (operation >= dense and (seed or operation % 2)) or operation % 7 == seed
    ]
    known: dict[bytes, str | None] = {}
    found = [one for operation, seed in cases if (one := machine.broken(operation, seed, known))]
    assert found == []
    assert len(cases) > 500
    print(f"{machine.operations} operations, {len(cases)} power cuts, {len(known)} disks")


OPERATIONS = (
    "open",
    "pwrite",
    "pread",
    "truncate",
    "fsync",
    "fdatasync",
    "fsync_dir",
    "rename",
    "unlink",
    "link",
    "mkdir",
)


def test_any_operation_that_fails_leaves_the_log_as_it_was_or_as_it_should_be(machine: Machine) -> None:
    """Operations fail once or twice, the coordinator gives up and stops; the next start repeats the compaction."""
    failures = 0
    for operation in OPERATIONS:
        fs = machine.fresh()
        compact(fs, DATA_DIR)
        calls = fs.counts[operation]
        step = 1 if DEEP else max(1, calls // 25)
        for skip in range(0, calls, step):
            fs = machine.fresh()
            fs.fail(operation, errno.EIO, skip=skip, times=1 + skip % 2)
            try:
                compact(fs, DATA_DIR)
            except (OSError, RefusedError, SwapRefusedError):
                failures += 1
            fs.heal()
            assert state_of(fs, DATA_DIR) == machine.before, (operation, skip)
            fs = fs.crash(random.Random(skip))
            compact(fs, DATA_DIR)
            assert not machine.difference(fs, f"{operation} {skip}")
    assert failures > 100


@pytest.mark.parametrize("room", [0, 400, 1500, 3500])
def test_a_full_disk_while_staging_leaves_nothing_and_the_swap_can_be_repeated(machine: Machine, room: int) -> None:
    fs = machine.fresh()

    def during(opened: Any) -> None:
        fs.capacity = 0
        fs.capacity = -fs.free_bytes(DATA_DIR) + room
        plan_id = fs.listdir(DATA_DIR / "compaction" / "jobs")[0]
        with pytest.raises(OSError, match=r"free|no space") as caught:
            opened.swap(plan_id, now_ms=NOW_MS + 1)
        assert caught.value.errno == errno.ENOSPC
        for name in fs.listdir(DATA_DIR):
            assert not fs.is_dir(DATA_DIR / name) or not swap.leftovers(fs.listdir(DATA_DIR / name))
        assert state_of(fs, DATA_DIR) == machine.before
        fs.heal()

    compact(fs, DATA_DIR, during=during)
    assert not machine.difference(fs, "after a full disk")


MUTANTS: dict[str, tuple[Any, str, Callable[[Any], Any]]] = {
    "no commit point": (swap, "commit", lambda _: lambda fs, directory, *_: fs.unlink(directory / swap.DRAFT_NAME)),
    "copies are not synced": (staging, "_copy", lambda real: ignoring("fsync", real)),
    "indexes are not synced": (staging, "_stage_one", lambda real: _without_index_sync(real)),
    "the draft is not synced": (staging, "write_draft", lambda real: ignoring("fsync", real)),
    "the commit is not synced": (swap, "commit", lambda real: ignoring("fsync_dir", real)),
    "the renames are not synced": (log_module.swap, "apply", lambda real: ignoring("fsync_dir", real)),
    "the intent is forgotten before the checkpoint is written": (
        swap_protocol,
        "note_clean",
        lambda real: _too_late(real),
    ),
    "the redo does not come before the logs are opened": (
        swap_protocol.redo,
        "is_needed",
        lambda _: lambda names: False,
    ),
}


def _too_late(real: Callable[..., None]) -> Callable[..., None]:
    def note_clean(fs: LossyFileSystem, data_dir: Path, partition: int, *args: Any, **options: Any) -> None:
        swap.finish(fs, offsets_log_dir(data_dir, partition))
        real(fs, data_dir, partition, *args, **options)

    return note_clean


def _without_index_sync(real: Callable[..., Any]) -> Callable[..., Any]:
    def stage_one(fs: LossyFileSystem, *args: Any) -> Any:
        copy = staging._copy

        def synced_copy(*arguments: Any) -> None:
            fs.ignored.discard("fsync")
            copy(*arguments)
            fs.ignored.add("fsync")

        staging._copy = synced_copy
        try:
            return real(fs, *args)
        finally:
            staging._copy = copy
            fs.ignored.discard("fsync")

    return stage_one


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_swap_that_leaves_out_one_precaution_is_caught(
    machine: Machine, mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, name, make = MUTANTS[mutant]
    monkeypatch.setattr(module, name, make(getattr(module, name)))
    if mutant == "the renames are not synced":
        list_of_segments_not_synced(monkeypatch)
    first = machine.marks[swap.SwapStep.STAGE_SYNC_NAMES]
    cases = [(operation, seed) for operation in range(first, machine.operations) for seed in range(1, 8)]
    random.Random(1).shuffle(cases)
    for number, (operation, seed) in enumerate(cases):
        broken = machine.broken(operation, seed)
        if broken:
            print(f"{mutant}: caught by case {number}: {broken}")
            return
    raise AssertionError("not caught")


def test_the_state_that_is_compared_tells_a_lost_commit(machine: Machine) -> None:
    """The comparison itself can fail."""
    fs = machine.fresh()
    log = log_module.Log.open(DATA_DIR / "__consumer_offsets-0", None, fs)
    log.high_watermark -= 1
    log.cut_back()
    log.close()
    assert state_of(fs, DATA_DIR) != machine.before
