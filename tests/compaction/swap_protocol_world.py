"""A data directory of the offsets log, and a whole compaction of it, on any file system.

`build` writes two log partitions with all kinds of records: commits of several groups, group records, tombstones, one
transaction committed, one aborted, one undecided; `write_tail` adds what clients do while a job runs. `compact` is one
run of a coordinator, offline: start, plan, job, swap, stop. `state_of` reads a directory record by record, as a start
does, and returns the groups and offsets: they must never change, whatever is killed when.
"""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from coordinator.compaction.eligibility import Lags
from coordinator.compaction.jobs import read_plan
from coordinator.compaction.offline import Offline
from coordinator.compaction.plan import JobDir, Manifest, PartitionPlan, PartitionResult, Plan
from coordinator.compaction.planning import PlanOptions
from coordinator.core.offsets.replay import Replay
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.log.fs import FileSystem, read_whole, write_atomically
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry
from coordinator.storage.log.swap import AtStep, no_step
from protocol.messages.offsets_log import GroupValue
from protocol.offsets_records import (
    OffsetValue,
    encode_group_key,
    encode_group_value,
    encode_offset_key,
    encode_offset_value,
)
from protocol.record_batch import ControlType, build_batch, build_control_batch, iter_batches, read_records, verify
from tests.compaction import oracle

NOW_MS = 1_800_000_000_000
DAY_MS = 86_400_000
PARTITIONS = (0, 3)
CONFIG = LogConfig(segment_bytes=1600, segment_ms=1 << 40, index_interval_bytes=300)
OPTIONS = PlanOptions(Lags(min_cleanable_dirty_ratio=0.0), segment_bytes=4000)

Records = list[tuple[bytes | None, bytes | None]]
State = dict[int, tuple[Any, ...]]


class Writer:
    """Appends the records of a coordinator to a log."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def commit(self, group: str, partition: int, offset: int) -> None:
        self.put([(encode_offset_key(group, "orders", partition), self.value(offset))])

    def value(self, offset: int) -> bytes:
        return encode_offset_value(OffsetValue(offset, 1, "", NOW_MS + self.log.log_end_offset, -1))

    def group(self, group: str, generation: int) -> None:
        value = GroupValue(
            protocol_type="consumer",
            generation=generation,
            protocol=None,
            leader=None,
            current_state_timestamp_ms=NOW_MS,
            members=[],
        )
        self.put([(encode_group_key(group), encode_group_value(value))])

    def delete(self, group: str, partitions: int) -> None:
        keys = [encode_offset_key(group, "orders", partition) for partition in range(partitions)]
        self.put([(key, None) for key in (*keys, encode_group_key(group))])

    def transaction(self, producer_id: int, group: str, offset: int, *, end: ControlType | None) -> None:
        record: Records = [(encode_offset_key(group, "orders", 0), self.value(offset))]
        self.put(record, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=True)
        if end is not None:
            self.end(producer_id, end)

    def end(self, producer_id: int, end: ControlType) -> None:
        base_offset = self.log.log_end_offset
        timestamp_ms = NOW_MS - DAY_MS + base_offset
        batch = build_control_batch(
            end, base_offset=base_offset, timestamp_ms=timestamp_ms, producer_id=producer_id, producer_epoch=0
        )
        self.append(Entry(bytes(batch), base_offset, timestamp_ms))

    def put(self, records: Records, **facts: Any) -> None:
        base_offset = self.log.log_end_offset
        timestamp_ms = NOW_MS - DAY_MS + base_offset
        batch = build_batch(records, base_offset=base_offset, timestamp_ms=timestamp_ms, **facts)
        self.append(Entry(bytes(batch), base_offset + len(records) - 1, timestamp_ms))

    def append(self, entry: Entry) -> None:
        self.log.append_all([entry])
        self.log.flush()
        self.log.high_watermark = self.log.log_end_offset


def build(fs: FileSystem, data_dir: Path) -> None:
    """Make the data directory before any compaction."""
    fs.mkdir(data_dir)
    fs.fsync_dir(data_dir.parent)
    for partition in PARTITIONS:
        log = Log.open(offsets_log_dir(data_dir, partition), CONFIG, fs)
        writer = Writer(log)
        writer.transaction(70, "early", 1, end=ControlType.COMMIT)
        writer.transaction(71, "early", 2, end=ControlType.ABORT)
        for number in range(12 + partition):
            for group in ("billing", "shipping"):
                writer.commit(group, number % 3, number)
            writer.group("billing", number)
            if number == 3:
                writer.commit("gone", 0, 1)
                writer.group("gone", 1)
            if number == 5:
                writer.delete("gone", 1)
        writer.transaction(72, "late", 3, end=None)
        writer.commit("billing", 0, 1000)
        log.roll()
        write_tail(log)
        log.close()


def write_tail(log: Log, *, commits: int = 2) -> None:
    """Append commits, a deletion, and the end of the open transaction."""
    writer = Writer(log)
    for number in range(commits):
        writer.commit("billing", number % 3, 2000 + number)
        writer.commit("shipping", 2, 3000 + number)
    writer.delete("shipping", 2)
    writer.end(72, ControlType.COMMIT)


def state_of(fs: FileSystem, data_dir: Path) -> State:
    """Return, by partition, what a start loads from its log: offsets, groups and open transactions. Repairs nothing."""
    states = {}
    for partition in PARTITIONS:
        directory = offsets_log_dir(data_dir, partition)
        replay = Replay()
        for name in fs.listdir(directory):
            if name.endswith(".log"):
                data = read_whole(fs, directory / name)
                for position, header in iter_batches(data):
                    verify(data, position, header)
                    replay.add(header, read_records(data, position, header))
        states[partition] = (replay.offsets, replay.groups, replay.open_offsets())
    return states


def files_of(fs: FileSystem, data_dir: Path) -> dict[str, bytes]:
    """Every file outside the jobs, by path."""
    found = {}
    for name in fs.listdir(data_dir):
        path = data_dir / name
        if not fs.is_dir(path):
            found[name] = read_whole(fs, path)
        elif name != "compaction":
            found |= {f"{name}/{file}": read_whole(fs, path / file) for file in fs.listdir(path)}
    return found


# the job

_made: dict[str, PartitionResult] = {}
_contents: dict[str, bytes] = {}


def run_job(fs: FileSystem, data_dir: Path, plan_id: str, at_step: AtStep = no_step) -> Manifest:
    """Do the job of `coordinator compact` on any file system: check, compact, sync the outputs, write the manifest."""
    job = JobDir.of(data_dir, plan_id)
    plan = read_plan(fs, job)
    if fs.exists(job.manifest):
        return Manifest.from_bytes(read_whole(fs, job.manifest))
    results = []
    for path in (job.out, *(job.out_dir(part.partition) for part in plan.partitions)):
        if not fs.is_dir(path):
            at_step("job: make a directory")
            fs.mkdir(path)
            fs.fsync_dir(path.parent)
    for part in plan.partitions:
        result = _cleaned(fs, job, plan, part)
        for output in result.outputs:
            _write(fs, job.output(output), _contents[output.sha256], at_step)
        at_step("job: sync the names of outputs")
        fs.fsync_dir(job.out_dir(part.partition))
        results.append(result)
    manifest = Manifest(plan.id, plan.epoch, plan.sha256, "test", "plain", tuple(results))
    at_step("job: write the manifest")
    write_atomically(fs, job.manifest, manifest.to_bytes())
    at_step("job: end")
    return manifest


def _cleaned(fs: FileSystem, job: JobDir, plan: Plan, part: PartitionPlan) -> PartitionResult:
    """Compact with the oracle. The outputs are a function of plan and inputs, so they are cached."""
    data = {one.name: read_whole(fs, job.in_dir(part.partition) / one.name) for one in part.inputs}
    facts = replace(plan, id="x", epoch="x", partitions=(part,)).to_bytes()
    key = hashlib.sha256(facts + b"".join(data.values())).hexdigest()
    if key not in _made:
        directory = Path(tempfile.mkdtemp())
        try:
            (directory / "in").mkdir()
            for name, content in data.items():
                (directory / "in" / name).write_bytes(content)
            out = directory / str(part.partition)
            result = oracle.compact_partition(plan, part, directory / "in", out)
            assert result.error is None, result.error
            for output in result.outputs:
                _contents[output.sha256] = (directory / output.file).read_bytes()
            _made[key] = result
        finally:
            shutil.rmtree(directory)
    return _made[key]


def _write(fs: FileSystem, path: Path, data: bytes, at_step: AtStep) -> None:
    file = fs.open(path, create=True)
    try:
        file.truncate(0)
        at_step("job: write half an output")
        file.pwrite(data[: len(data) // 2], 0)
        at_step("job: write the rest")
        file.pwrite(data[len(data) // 2 :], len(data) // 2)
        at_step("job: sync an output")
        file.fsync()
    finally:
        file.close()


# one life


def compact(
    fs: FileSystem,
    data_dir: Path,
    *,
    at_step: AtStep = no_step,
    job: Callable[..., Manifest] = run_job,
    during: Callable[[Offline], None] = lambda _: None,
) -> list[str]:
    """Start, compact what is due, stop. Return the messages."""
    opened = Offline.open(fs, data_dir, CONFIG, now_ms=NOW_MS, at_step=at_step)
    said = list(opened.messages)
    planned = opened.plan(OPTIONS, now_ms=NOW_MS)
    if planned.plan is None:
        said.append(planned.sentence())
    else:
        job(fs, data_dir, planned.plan.id, at_step)
        during(opened)
        said.append(opened.swap(planned.plan.id, now_ms=NOW_MS + 1000))
    opened.close()
    return said


def forged(result: PartitionResult, **changes: Any) -> PartitionResult:
    """Return the result with other facts of its first output."""
    first = replace(result.outputs[0], **changes)
    return replace(result, outputs=(first, *result.outputs[1:]))
