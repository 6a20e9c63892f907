"""Swapping segments: after any crash the log is the old one or the new one, and active readers are not disturbed.

`SwapWorld` holds a log of several closed segments on the lossy file system, and outputs that replace the closed ones:
some batches are left out, segments are merged. The log is compared batch by batch with its state before and with the
expected state after the swap; there is nothing in between.
"""

from __future__ import annotations

import errno
import hashlib
import random
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from coordinator.simulation.disk import LossyFileSystem, MachineOffError
from coordinator.storage.log import log as log_module
from coordinator.storage.log import redo, staging, swap
from coordinator.storage.log.checkpoint import Checkpoint
from coordinator.storage.log.errors import CorruptLogError, OffsetOutOfRangeError
from coordinator.storage.log.fs import FileSystem, RealFileSystem, read_whole, write_atomically
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import segment_path
from coordinator.storage.log.staging import (
    PreparedSwap,
    Replaced,
    StagedFile,
    SwapRefusedError,
    prepare,
    stage,
    unstage,
)
from coordinator.storage.log.swap import DRAFT_NAME, INTENT_NAME, SwapStep
from tests.storage.log.batches import append, bytes_of, entry, fill, stored

CONFIG = LogConfig(segment_bytes=700, segment_ms=1 << 40, index_interval_bytes=150)
DATA = Path("/data")
DIRECTORY = DATA / "a-0"


class SwapWorld:
    """A log with closed segments, and the outputs that replace them."""

    def __init__(self, fs: FileSystem, data: Path = DATA) -> None:
        self.fs = fs
        self.directory = data / "a-0"
        self.out = data / "out"
        for path in (data, self.out):
            fs.mkdir(path)
            fs.fsync_dir(path.parent)
        self.log = Log.open(self.directory, CONFIG, fs)
        fill(self.log, 34, count=2, value=b"v" * 20)
        self.log.roll()
        self.active = fill(self.log, 3)
        closed = self.log.segments[:-1]
        assert len(closed) >= 5
        self.before = stored(self.log)
        self.replaces = [Replaced(one.base_offset, one.next_offset, one.size_bytes) for one in closed]
        tail = bytes_of(self.active)
        self.sources: list[StagedFile] = []
        kept: list[bytes] = []
        for group in (closed[:2], closed[2:3], closed[3:]):
            batches = [
                batch
                for segment in group
                for batch in segment.batches(segment.base_offset, segment.size_bytes, 1 << 20)
            ]
            batches = batches[1::3] if group[0] is not closed[2] else []  # no batch of the second group is left
            kept += batches
            self.sources.append(self._source(group[0].path.name, b"".join(batches)))
        self.after = [*kept, *tail]
        assert self.before != self.after

    def _source(self, name: str, data: bytes) -> StagedFile:
        write_atomically(self.fs, self.out / name, data)
        return StagedFile(self.out / name, name, len(data), hashlib.sha256(data).hexdigest())

    def stage(self, at_step: swap.AtStep = swap.no_step) -> None:
        stage(
            self.fs,
            self.directory,
            self.sources,
            [one.base_offset for one in self.replaces],
            plan_id="plan",
            clean_up_to=self.active[0].last_offset,
            index_interval_bytes=CONFIG.index_interval_bytes,
            at_step=at_step,
        )

    def prepare(self) -> PreparedSwap:
        return prepare(self.fs, self.directory, self.replaces, "plan", CONFIG.index_interval_bytes)

    def swap(self, at_step: swap.AtStep = swap.no_step) -> None:
        """Run the whole swap, from the outputs to the removed intent."""
        self.stage(at_step)
        self.log.replace_segments(self.prepare(), at_step)
        self.log.finish_swap(at_step)

    def files(self) -> dict[str, bytes]:
        return {
            name: read_whole(self.fs, self.directory / name)
            for name in self.fs.listdir(self.directory)
            if not name.endswith("checkpoint")
        }


def a_world(tmp_path: Path | None = None) -> SwapWorld:
    if tmp_path is None:
        return SwapWorld(LossyFileSystem(reorders_names=True))
    tmp_path.mkdir(exist_ok=True)
    return SwapWorld(RealFileSystem(), tmp_path / "data")


# results


def test_the_log_has_the_new_batches_at_once_and_after_a_restart(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.swap()
    assert stored(world.log) == world.after
    append(world.log, [entry(world.log.log_end_offset)])
    expected, files = stored(world.log), world.files()
    world.log.close()
    again = Log.open(world.directory, CONFIG)
    assert stored(again) == expected
    assert not again.recovery.messages()
    again.close()
    assert {name: data for name, data in world.files().items() if name.endswith(".log")} == {
        name: data for name, data in files.items() if name.endswith(".log")
    }
    assert not [name for name in files if not name.endswith((".log", "index"))], "nothing of the swap is left"


def test_the_indexes_equal_those_that_a_scan_builds(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.swap()
    world.log.close()
    files = world.files()
    for path in world.directory.glob("*index"):
        path.unlink()
    again = Log.open(world.directory, CONFIG)
    assert len(again.recovery.rebuilt) == 2
    again.close()
    assert world.files() == files


def test_every_offset_can_be_fetched_through_the_gaps(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.swap()
    for offset in range(world.log.log_end_offset):
        data = world.log.read(offset, 1 << 20)
        assert int.from_bytes(data[:8], "big") + int.from_bytes(data[23:27], "big") >= offset
    assert world.log.offset_for_timestamp(0) is not None
    assert world.log.max_timestamp_offset() is not None
    with pytest.raises(OffsetOutOfRangeError):
        world.log.read(world.log.log_end_offset + 1, 100)


def test_an_active_reader_keeps_its_segments(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    reader = world.log.batches()
    first = next(reader)[1]
    held = world.log.segments
    world.swap()
    assert [first, *(batch for _, batch in reader)] == world.before
    assert held[0].read(0, 1 << 20, min_one=True, limit_offset=1 << 40) is not None
    assert stored(world.log) == world.after


def test_appends_and_rolls_between_preparation_and_swap_are_kept(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.stage()
    prepared = world.prepare()
    later = bytes_of(fill(world.log, 20))
    assert len(world.log.segments) > len(world.replaces) + 1
    world.log.replace_segments(prepared)
    later += bytes_of(fill(world.log, 1))
    world.log.finish_swap()
    assert stored(world.log) == [*world.after, *later]


def test_a_log_reduced_to_its_newest_segment_keeps_its_offsets(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.sources = []
    world.swap()
    assert stored(world.log) == bytes_of(world.active)
    assert world.log.log_start_offset == 0
    assert world.log.read(0, 1 << 20) == b"".join(bytes_of(world.active))
    world.log.close()
    again = Log.open(world.directory, CONFIG)
    assert stored(again) == bytes_of(world.active)
    assert again.log_end_offset == world.log.log_end_offset
    again.close()


def test_deleting_records_first_finishes_an_unfinished_swap(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.stage()
    world.log.replace_segments(world.prepare())
    assert world.log.is_swapping
    world.log.delete_up_to(world.log.segments[1].base_offset)
    assert not world.log.is_swapping
    expected = stored(world.log)
    world.log.abandon()
    again = Log.open(world.directory, CONFIG)
    assert stored(again) == expected
    again.close()


# refusals


def test_segments_that_changed_meanwhile_are_not_swapped(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.stage()
    prepared = world.prepare()
    world.log.delete_up_to(world.log.segments[1].base_offset)
    expected = stored(world.log)
    with pytest.raises(SwapRefusedError, match="has changed"):
        world.log.replace_segments(prepared)
    prepared.close()
    unstage(world.fs, world.directory)
    assert stored(world.log) == expected
    assert not swap.leftovers(world.fs.listdir(world.directory))


def test_the_newest_segment_and_unacknowledged_records_are_not_swapped(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.stage()
    world.log.high_watermark = world.log.segments[-1].base_offset - 1
    with pytest.raises(SwapRefusedError):
        world.log.replace_segments(world.prepare())
    world.log.high_watermark = world.log.log_end_offset
    facts = tuple(Replaced(one.base_offset, one.next_offset, one.size_bytes) for one in world.log.segments)
    with pytest.raises(SwapRefusedError):
        world.log.replace_segments(PreparedSwap(world.prepare().intent, facts, ()))
    with pytest.raises(SwapRefusedError):
        world.log.replace_segments(PreparedSwap(world.prepare().intent, (), ()))
    assert stored(world.log) == world.before


def test_no_segment_is_swapped_before_a_failed_write_is_cut_back() -> None:
    world = a_world()
    assert isinstance(world.fs, LossyFileSystem)
    world.stage()
    world.fs.fail("fdatasync")
    with pytest.raises(OSError, match="fdatasync"):
        append(world.log, [entry(world.log.log_end_offset)])
    with pytest.raises(OSError, match="cut back"):
        world.log.replace_segments(world.prepare())
    world.log.cut_back()
    world.log.replace_segments(world.prepare())
    world.log.finish_swap()
    assert stored(world.log) == world.after


@pytest.mark.parametrize("damage", ["flipped", "short", "long", "not batches", "gone"])
def test_a_changed_or_damaged_output_is_not_staged(tmp_path: Path, damage: str) -> None:
    world = a_world(tmp_path)
    source = world.sources[0]
    data = bytearray(source.path.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 1
    elif damage == "short":
        del data[-1:]
    elif damage == "long":
        data += b"\0"
    elif damage == "not batches":
        data = bytearray(b"\0" * source.size_bytes)
        world.sources[0] = StagedFile(source.path, source.name, len(data), hashlib.sha256(data).hexdigest())
    source.path.write_bytes(data)
    if damage == "gone":
        source.path.unlink()
    with pytest.raises((SwapRefusedError, FileNotFoundError)):
        world.stage()
    assert not swap.leftovers(world.fs.listdir(world.directory))
    assert stored(world.log) == world.before


def test_a_full_disk_stops_the_staging_and_leaves_no_files() -> None:
    world = a_world()
    fs = world.fs
    assert isinstance(fs, LossyFileSystem)
    fs.capacity = 0
    used = -fs.free_bytes(DIRECTORY)
    for room in (0, sum(source.size_bytes for source in world.sources) * 2 + 200):
        fs.capacity = used + room
        with pytest.raises(OSError, match=r"free|no space") as caught:
            world.stage()
        assert caught.value.errno == errno.ENOSPC
        assert not swap.leftovers(fs.listdir(DIRECTORY))
    fs.heal()
    world.swap()
    assert stored(world.log) == world.after


def test_files_staged_for_another_plan_are_not_used(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    with pytest.raises(SwapRefusedError, match="nothing is staged"):
        world.prepare()
    world.stage()
    with pytest.raises(SwapRefusedError, match="nothing is staged for the plan other"):
        prepare(world.fs, world.directory, world.replaces, "other", CONFIG.index_interval_bytes)
    (world.directory / f"{world.sources[0].name}.cleaned").write_bytes(b"short")
    with pytest.raises(SwapRefusedError, match="not as it was staged"):
        world.prepare()


def test_no_file_is_staged_while_a_swap_is_not_finished(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.stage()
    world.log.replace_segments(world.prepare())
    with pytest.raises(SwapRefusedError, match="under way"):
        world.stage()


# crashes


def state_after_a_crash(fs: LossyFileSystem, rng: random.Random | None) -> tuple[LossyFileSystem, list[bytes]]:
    survivor = fs.crash(rng)
    log = Log.open(DIRECTORY, CONFIG, survivor)
    said = stored(log)
    log.close()
    return survivor, said


def operations_before(sought: SwapStep) -> int:
    """Return the number of file operations of a swap before this step."""
    world = a_world()
    fs = world.fs
    assert isinstance(fs, LossyFileSystem)
    counts: dict[str, int] = {}
    start = fs.counts.total()
    world.swap(lambda step: counts.setdefault(step, fs.counts.total() - start) and None)
    return counts[sought]


def crashes(seeds: int, first: int) -> Iterator[tuple[int, int, SwapWorld, LossyFileSystem, list[bytes]]]:
    """Cut the power at every operation of a swap; yields (operation, seed, world, survivor, batches of the log)."""
    for operation in range(first, 1000):
        for seed in range(seeds):
            world = a_world()
            assert isinstance(world.fs, LossyFileSystem)
            world.fs.crash_after(operation)
            ended = False
            with suppress(MachineOffError):
                world.swap()
                ended = True
            survivor, said = state_after_a_crash(world.fs, random.Random(seed) if seed else None)
            yield operation, seed, world, survivor, said
        if ended:
            return


def broken_promise(seeds: int, first: int = 0) -> str | None:
    """Return the first crash after which the log is neither the old nor the new one, or cannot be opened."""
    cases = 0
    try:
        for operation, seed, world, survivor, said in crashes(seeds, first):
            cases += 1
            if said not in (world.before, world.after):
                return f"operation {operation}, seed {seed}: neither old nor new"
            if swap.leftovers(survivor.listdir(DIRECTORY)):
                return f"operation {operation}, seed {seed}: something is left of the swap"
    except CorruptLogError as error:
        return str(error)
    assert cases > (100 - first) * seeds
    return None


def test_a_power_cut_at_any_operation_leaves_the_old_log_or_the_new_one() -> None:
    assert broken_promise(seeds=4) is None


def test_a_second_power_cut_during_the_redo_does_no_harm() -> None:
    world = a_world()
    assert isinstance(world.fs, LossyFileSystem)

    def cut_behind_the_commit(step: str) -> None:
        if step == SwapStep.APPLY_RENAME:
            raise MachineOffError

    with suppress(MachineOffError):
        world.swap(cut_behind_the_commit)
    done = False
    operation = 0
    while not done:
        for seed in range(4):
            survivor = LossyFileSystem(reorders_names=True)
            survivor.root = world.fs.crash(None).root  # committed, but not applied
            world.fs.is_off = False
            survivor.crash_after(operation)
            done = False
            with suppress(MachineOffError):
                Log.open(DIRECTORY, CONFIG, survivor)
                done = True
            _, said = state_after_a_crash(survivor, random.Random(seed) if seed else None)
            assert said == world.after, (operation, seed)
        operation += 1
    assert operation > 20


def test_after_any_failing_operation_the_log_goes_on_and_a_later_crash_does_no_harm() -> None:
    """The process survives a failure whose effect is unknown, appends, and retries; then the power is cut."""
    failed = 0
    for operation in ("open", "pwrite", "truncate", "fsync", "fsync_dir", "rename", "unlink"):
        for skip in range(40):
            for seed in range(3):
                world = a_world()
                fs = world.fs
                assert isinstance(fs, LossyFileSystem)
                fs.fail(operation, skip=skip, times=1 + seed % 2)
                try:
                    world.swap()
                except OSError:
                    failed += 1
                faulty = bool(fs._faults)
                fs.heal()
                said = stored(world.log)
                assert said in (world.before, world.after)
                said += bytes_of(fill(world.log, 2))
                if seed == 2 and not world.log.is_swapping:
                    with suppress(SwapRefusedError):
                        unstage(fs, DIRECTORY)
                        world.stage()
                survivor, again = state_after_a_crash(fs, random.Random(seed))
                new = [*world.after, *said[-2:]]
                assert again in (said, new), (operation, skip, seed)
                assert not swap.leftovers(survivor.listdir(DIRECTORY))
            if faulty:
                break
        assert skip < 39
    assert failed > 60


# mutants: each leaves out one precaution, which the power cuts must reveal


def ignoring(operation: str, function: Callable[..., object]) -> Callable[..., object]:
    """Wrap `function` so that during it an operation does nothing and reports success."""

    def lying(fs: LossyFileSystem, *args: object, **kwargs: object) -> object:
        fs.ignored.add(operation)
        try:
            return function(fs, *args, **kwargs)
        finally:
            fs.ignored.discard(operation)

    return lying


def list_of_segments_not_synced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip the sync of the list: it follows the renames in the same directory and would sync them too."""
    real = Checkpoint.write
    write = ignoring("fsync_dir", lambda fs, checkpoint, directory: real(checkpoint, fs, directory))
    monkeypatch.setattr(Checkpoint, "write", lambda checkpoint, fs, directory: write(fs, checkpoint, directory))


def without_intent(fs: FileSystem, directory: Path, at_step: swap.AtStep = swap.no_step) -> None:
    """Apply a swap without an intent."""
    fs.unlink(directory / DRAFT_NAME)


def applied_backwards(fs: FileSystem, directory: Path, intent: swap.Intent, *args: object, **kwargs: object) -> None:
    for name in intent.removes:
        if fs.exists(directory / name):
            fs.unlink(directory / name)
    fs.fsync_dir(directory)
    swap.finish(fs, directory)
    for add in intent.adds:
        fs.rename(directory / add.staged, directory / add.name)
    fs.fsync_dir(directory)


@pytest.mark.parametrize(
    "mutant",
    [
        "no commit point",
        "copies not synced",
        "indexes and draft not synced",
        "commit not synced",
        "renames not synced",
        "intent forgotten first",
        "strays are not removed",
        "redo renames without looking",
    ],
)
def test_a_swap_that_leaves_out_one_precaution_is_caught(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first = operations_before(SwapStep.STAGE_SYNC_NAMES)
    if mutant == "no commit point":
        monkeypatch.setattr(swap, "commit", without_intent)
    elif mutant == "copies not synced":
        monkeypatch.setattr(staging, "_copy", ignoring("fsync", staging._copy))
    elif mutant == "indexes and draft not synced":
        monkeypatch.setattr(staging, "write_draft", ignoring("fsync", staging.write_draft))
    elif mutant == "commit not synced":
        monkeypatch.setattr(swap, "commit", ignoring("fsync_dir", swap.commit))
    elif mutant == "renames not synced":
        monkeypatch.setattr(log_module.swap, "apply", ignoring("fsync_dir", swap.apply))
        list_of_segments_not_synced(monkeypatch)
    elif mutant == "intent forgotten first":
        monkeypatch.setattr(swap, "apply", applied_backwards)
    elif mutant == "strays are not removed":
        monkeypatch.setattr(redo, "remove_strays", lambda *_: [])
    else:
        monkeypatch.setattr(redo, "read_intent", lambda fs, directory: None)
    assert broken_promise(12, first) is not None


# an intent that is damaged or does not match


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{}",
        b"[" * 5000,
        b'{"version": 2}',
        b'{"version": 1, "plan_id": "p", "clean_up_to": 1, "adds": [], "removes": ["../../x"]}',
        b'{"version": 1, "plan_id": "p", "clean_up_to": 1, "adds": [], "removes": ["meta.properties"]}',
    ],
)
def test_an_invalid_intent_stops_the_start(tmp_path: Path, data: bytes) -> None:
    world = a_world(tmp_path)
    world.log.close()
    (world.directory / INTENT_NAME).write_bytes(data)
    with pytest.raises(CorruptLogError, match=r"swap\.json: at byte 0: "):
        Log.open(world.directory, CONFIG)
    (world.directory / INTENT_NAME).unlink()
    Log.open(world.directory, CONFIG).close()


def test_no_digit_of_an_intent_can_become_another_one() -> None:
    adds = (swap.Add("00000000000000000000.log", "00000000000000000000.log.cleaned", 77, "ab" * 32),)
    intent = swap.Intent("plan", 40, adds, ("00000000000000000040.log",))
    data = intent.to_bytes()
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            with suppress(CorruptLogError):
                assert swap.Intent.from_bytes(bytes(changed), Path(INTENT_NAME)) == intent


def test_an_intent_of_an_earlier_version_has_no_checksum() -> None:
    data = b'{"version": 1, "plan_id": "p", "clean_up_to": 1, "adds": [], "removes": ["00000000000000000040.log"]}'
    assert swap.Intent.from_bytes(data, Path(INTENT_NAME)).removes == ("00000000000000000040.log",)


def test_a_copy_damaged_after_the_commit_point_stops_the_start_and_the_error_names_the_originals(
    tmp_path: Path,
) -> None:
    world = a_world(tmp_path)
    world.stage()
    world.log.close()
    swap.commit(world.fs, world.directory)
    path = world.directory / f"{world.sources[0].name}.cleaned"
    sound = path.read_bytes()
    path.write_bytes(sound[:-1] + bytes([sound[-1] ^ 1]))
    with pytest.raises(CorruptLogError, match="compaction/jobs/plan/in"):
        Log.open(world.directory, CONFIG)
    path.write_bytes(sound)
    log = Log.open(world.directory, CONFIG)
    assert stored(log) == world.after
    assert log.recovery.messages() == ["a-0: finished the swap of segments that plan had begun"]
    log.close()


@pytest.mark.parametrize("where", ["staged", "live"])
@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_an_index_damaged_after_the_commit_point_is_built_again(tmp_path: Path, kind: str, where: str) -> None:
    sound = a_world(tmp_path / "sound")
    sound.swap()
    sound.log.close()
    world = a_world(tmp_path / "damaged")
    world.stage()
    world.log.close()
    swap.commit(world.fs, world.directory)
    staged = world.directory / f"{segment_path(world.directory, 0).stem}.{kind}.cleaned"
    damaged = staged.read_bytes()[:-1] + b"\x55"
    if where == "live":
        staged = staged.rename(staged.with_suffix(""))
    staged.write_bytes(damaged)
    log = Log.open(world.directory, CONFIG)
    assert stored(log) == world.after
    assert len(log.recovery.rebuilt) == 1
    log.close()
    assert world.files() == sound.files()


# directories of a Kafka broker that crashed during its cleaner's swap


def kafka_files(directory: Path, base: int, data: bytes, suffix: str) -> None:
    segment_path(directory, base).with_suffix(f".log{suffix}").write_bytes(data)
    for kind in ("index", "timeindex"):
        (directory / f"{base:020d}.{kind}{suffix}").write_bytes(b"")


@pytest.mark.parametrize("crash_at", ["writing", "renaming", "decided", "replacing", "removing", "done"])
def test_a_swap_of_kafkas_cleaner_is_completed(tmp_path: Path, crash_at: str) -> None:
    world = a_world(tmp_path)
    world.log.close()
    directory = world.directory
    sources = [source for source in world.sources if source.size_bytes]
    (directory / "recovery-checkpoint").unlink()
    replaced = [one.base_offset for one in world.replaces]
    for source in sources:
        suffix = ".cleaned" if crash_at == "writing" or (crash_at == "renaming" and source is sources[0]) else ".swap"
        kafka_files(directory, int(source.name[:20]), source.path.read_bytes(), suffix)
    if crash_at in ("replacing", "removing", "done"):
        count = {"replacing": 2, "removing": len(replaced), "done": len(replaced)}[crash_at]
        for base in replaced[:count]:
            for kind in ("log", "index", "timeindex"):
                old = directory / f"{base:020d}.{kind}"
                old.rename(old.with_name(old.name + ".deleted"))
    if crash_at == "done":
        for source in sources:
            for kind in ("log", "index", "timeindex"):
                old = directory / f"{source.name[:20]}.{kind}.swap"
                old.rename(old.with_suffix(""))
    log = Log.open(directory, CONFIG)
    old = crash_at in ("writing", "renaming")
    # Kafka decides by the range of offsets, so a group without surviving batches has an empty file.
    assert stored(log) == (world.before if old else world.after)
    assert log.recovery.swapped == ("" if old or crash_at == "done" else "kafka")
    log.close()
    assert not [name for name in world.fs.listdir(directory) if name.endswith((".cleaned", ".swap", ".deleted"))]


def test_a_damaged_swap_file_of_kafka_stops_the_start(tmp_path: Path) -> None:
    world = a_world(tmp_path)
    world.log.close()
    kafka_files(world.directory, 0, b"\0" * 80, ".swap")
    with pytest.raises(CorruptLogError, match=r"00000\.log\.swap: at byte 0"):
        Log.open(world.directory, CONFIG)
