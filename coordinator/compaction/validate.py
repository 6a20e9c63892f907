"""Is what a job made what the plan asked for, and does it say the same as what it would replace? Nothing is believed.

Of a manifest that may be stale, forged, damaged or the work of a defective job it is checked that

* it answers this plan, of this run of the coordinator, in time, and repeats the plan's inputs;
* the live log still begins with exactly these inputs, byte for byte, and the next segment begins where they end;
* each output is the file it says, of sound batches with ascending offsets inside its place;
* nothing was added: each batch and each record of the outputs stands in the inputs, at the same offset, with the same
  producer, timestamp, key, value and headers;
* nothing is missing: read by the code that reads a log at start, outputs and inputs leave the same newest record of
  every committed offset and every group, and the same offsets of every transaction that is still open. What the log
  says behind them then makes the same of both.

So the worst that a manifest which passes can do is to leave something superseded in, or take a tombstone out too soon.
Whether memory agrees is asked separately (`memory_check.py`). Runs in a child process; the standard library suffices,
but for large inputs numpy is used where it is (`fast_replay.py`).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from coordinator.compaction.plan import (
    JobDir,
    Manifest,
    OutputSegment,
    PartitionPlan,
    PartitionResult,
    Plan,
)
from coordinator.log.fs import FileSystem, RealFileSystem
from coordinator.log.index import MAX_RELATIVE_OFFSET
from coordinator.log.recovery import segment_bases
from coordinator.log.segment import fault_in_batch, whole_batches
from coordinator.log.swap import fingerprint
from coordinator.offsets.raw_records import RawRecord
from coordinator.offsets.replay import Replay
from protocol.errors import ProtocolError
from protocol.record_batch import BatchHeader, Record, read_header, read_records

FAST_FROM_BYTES: Final = 4 << 20  # of one partition's inputs: a second or so of plain reading
_KEPT_ATTRIBUTES: Final = 0x38  # a delete horizon (KIP-534) may be added, and an emptied batch has no codec


class RefusedError(Exception):
    """Not to be put in place. One sentence that names what is wrong."""


class LateError(RefusedError):
    """Nothing is wrong with it, but it is for a log, or a coordinator, that has moved on."""


def check_manifest(plan: Plan, manifest: Manifest, *, epoch: str, now_ms: int) -> None:
    """That the manifest answers this plan, now. RefusedError, or LateError."""
    if manifest.plan_id != plan.id:
        raise RefusedError(f"the manifest is for the plan {manifest.plan_id}, not for {plan.id}")
    if plan.epoch != epoch:
        raise LateError(f"the plan {plan.id} is of an earlier run of the coordinator")
    if manifest.epoch != epoch:
        raise RefusedError(f"the manifest is of another run of the coordinator ({manifest.epoch}) than its plan")
    if manifest.plan_sha256 != plan.sha256:
        raise RefusedError(f"the manifest was made for another version of the plan {plan.id}")
    if now_ms >= plan.expires_ms:
        raise LateError(f"the plan {plan.id} has expired")
    planned = {part.partition: part for part in plan.partitions}
    for result in manifest.partitions:
        part = planned.get(result.partition)
        if part is None:
            raise RefusedError(f"the manifest has the partition {result.partition}, which was not planned")
        if result.inputs != part.inputs:
            raise RefusedError(f"the manifest names other inputs of partition {result.partition} than the plan")
    if missing := sorted(set(planned) - {result.partition for result in manifest.partitions}):
        raise RefusedError(f"the manifest says nothing of partition {missing[0]}")


def check_live(fs: FileSystem, directory: Path, part: PartitionPlan) -> None:
    """That the live log still begins with the inputs. LateError if not."""
    bases = segment_bases(fs.listdir(directory))
    expected = [*(segment.base_offset for segment in part.inputs), part.clean_up_to]
    if bases[: len(expected)] != expected:
        raise LateError(f"{directory.name} does not begin with the segments that were planned any more")
    for segment in part.inputs:
        if fingerprint(fs, directory / segment.name) != (segment.size_bytes, segment.sha256):
            raise LateError(f"{directory / segment.name} is not the segment that was planned any more")


def check_outputs(fs: FileSystem, job: JobDir, part: PartitionPlan, result: PartitionResult) -> None:
    """That each output is the file it is said to be, and a sound segment in its place. RefusedError if not."""
    names = {segment.name for segment in part.inputs}
    ends = [*(output.base_offset for output in result.outputs), part.clean_up_to][1:]
    for output, end in zip(result.outputs, ends, strict=True):
        if output.name not in names:
            raise RefusedError(f"the output {output.file} has not the name of an input")
        path = job.output(output)
        if not fs.exists(path):
            raise RefusedError(f"the output {output.file} does not exist")
        if fingerprint(fs, path) != (output.size_bytes, output.sha256):
            raise RefusedError(f"the output {output.file} is not the file that the manifest names")
        _check_segment(fs, path, output, end)


def _check_segment(fs: FileSystem, path: Path, output: OutputSegment, end: int) -> None:
    batches = records = 0
    first, next_offset, youngest = -1, output.base_offset, -1
    for header, _, _ in _batches(fs, path, output.file, output.base_offset):
        first = header.base_offset if first < 0 else first
        next_offset = header.last_offset + 1
        youngest = max(youngest, header.max_timestamp)
        batches += 1
        records += header.record_count
    if next_offset > end or next_offset - 1 - output.base_offset > MAX_RELATIVE_OFFSET:
        raise RefusedError(f"the output {output.file} goes to offset {next_offset}, beyond {end}")
    first = next_offset if first < 0 else first
    said = (output.batches, output.records, output.first_offset, output.next_offset, output.max_timestamp_ms)
    if said != (batches, records, first, next_offset, youngest):
        raise RefusedError(f"the output {output.file} holds other batches than the manifest says")


def check_content(fs: FileSystem, job: JobDir, directory: Path, part: PartitionPlan, result: PartitionResult) -> None:
    """That the outputs say the same as the live segments that they would replace. RefusedError if not."""
    kept, outcome = _read_outputs(fs, job, result)
    before = _read_inputs(fs, directory, part, kept)
    if kept.batches:
        raise RefusedError(f"partition {part.partition}: the batch at offset {min(kept.batches)} is in no input")
    if kept.records:
        raise RefusedError(f"partition {part.partition}: the record at offset {min(kept.records)} is in no input")
    different = difference(before, outcome)
    if different:
        raise RefusedError(f"partition {part.partition}: {different}")


class Kept(NamedTuple):
    """What outputs hold, to be found again in the inputs."""

    batches: dict[int, tuple[int, ...]]  # base offset -> facts of the header
    records: dict[int, int]  # offset -> hash


def _read_outputs(fs: FileSystem, job: JobDir, result: PartitionResult) -> tuple[Kept, Replay]:
    kept, replay = Kept({}, {}), Replay()
    for output in result.outputs:
        for header, buffer, at in _batches(fs, job.output(output), output.file, output.base_offset):
            records = _records(buffer, at, header, output.file)
            kept.batches[header.base_offset] = _facts(header)
            for record in records:
                kept.records[record.offset] = hash(record)
            _replay(replay, header, records, output.file)
    return kept, replay


def _read_inputs(fs: FileSystem, directory: Path, part: PartitionPlan, kept: Kept) -> Replay:
    """Replay the inputs; what is found of `kept` is taken out of it.

    Not the pins: they are within reach of the job.
    """

    def see(header: BatchHeader, records: list[Record]) -> None:
        facts = kept.batches.pop(header.base_offset, None)
        if facts is None:
            return
        if facts != _facts(header):
            raise RefusedError(f"partition {part.partition}: the batch at {header.base_offset} has another header")
        for record in records:
            found = kept.records.pop(record.offset, None)
            if found is not None and found != hash(record):
                raise RefusedError(f"partition {part.partition}: the record at offset {record.offset} was changed")

    fast_replay = _fast_replay(fs, part)
    if fast_replay is not None:
        try:
            outcome: Replay = fast_replay.replay(directory, part, list(kept.batches), see)
        except ProtocolError as error:
            raise RefusedError(f"partition {part.partition}: {error}") from None
        return outcome
    replay = Replay()
    for segment in part.inputs:
        for header, buffer, at in _batches(fs, directory / segment.name, segment.name, segment.base_offset):
            records = _records(buffer, at, header, segment.name)
            see(header, records)
            _replay(replay, header, records, segment.name)
    return replay


def _fast_replay(fs: FileSystem, part: PartitionPlan) -> Any:
    """The module, where it is worth it and what it needs is installed; the daemon and its children do without."""
    if not isinstance(fs, RealFileSystem) or sum(one.size_bytes for one in part.inputs) < FAST_FROM_BYTES:
        return None
    try:
        return importlib.import_module("coordinator.compaction.fast_replay")
    except ImportError:
        return None


def difference(before: Replay, after: Replay) -> str | None:
    """The first thing that two logs leave differently in memory, as a clause; None if nothing."""
    pairs: tuple[tuple[str, Mapping[Any, RawRecord], Mapping[Any, RawRecord]], ...] = (
        ("the newest offset", before.offsets, after.offsets),
        ("the newest record of the group", before.groups, after.groups),
        ("an offset of an open transaction", before.open_offsets(), after.open_offsets()),
    )
    for what, old, new in pairs:
        if old != new:
            key = min(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
            return f"{what} with the key {key!r} is not the same"
    return None


def _facts(header: BatchHeader) -> tuple[int, ...]:
    return (
        header.last_offset_delta,
        header.partition_leader_epoch,
        header.attributes & _KEPT_ATTRIBUTES,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
    )


def _batches(fs: FileSystem, path: Path, name: str, least_offset: int) -> Iterator[tuple[BatchHeader, bytes, int]]:
    """Each batch of a file with its buffer and where it stands in it, checked. RefusedError where one is not sound."""
    file = fs.open(path)
    try:
        size = file.size()
        end = 0
        for position, buffer, at, batch_size in whole_batches(file, 0, size):
            fault = fault_in_batch(buffer, at, batch_size, least_offset)
            if fault:
                raise RefusedError(f"{name} at byte {position}: {fault}")
            header = read_header(buffer, at)
            least_offset = header.last_offset + 1
            end = position + batch_size
            yield header, buffer, at
        if end != size:
            raise RefusedError(f"{name} at byte {end}: {size - end} bytes that are no whole batch")
    finally:
        file.close()


def _records(buffer: bytes, at: int, header: BatchHeader, name: str) -> list[Record]:
    try:
        return read_records(buffer, at, header)
    except ProtocolError as error:
        raise RefusedError(f"{name}: the batch at offset {header.base_offset}: {error}") from None


def _replay(replay: Replay, header: BatchHeader, records: list[Record], name: str) -> None:
    try:
        replay.add(header, records)
    except ProtocolError as error:
        raise RefusedError(f"{name}: the batch at offset {header.base_offset}: {error}") from None
