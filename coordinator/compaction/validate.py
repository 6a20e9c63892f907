"""Checks a job's result, which may be stale, forged, damaged or the work of a defective job.

* The manifest belongs to this plan, of this run of the coordinator, in time, and repeats the plan's inputs.
* The live log still begins with exactly these inputs, byte for byte, and the next segment begins where they end.
* Each output is the named file, of sound batches with ascending offsets in its range.
* Each batch and record of the outputs stands in the inputs, at the same offset, with the same fields (`kept_batch.py`).
* Outputs and inputs hold the same offsets of open transactions, and the same newest record of every committed offset,
  group, and key of a KIP-848 group; of the transaction log, of every key. A daemon compares the offsets log with its
  memory (`memory_check.py`); all else is compared with the inputs (`check_against_inputs`).

A wrong result that passes can at worst keep a superseded record, or remove a tombstone too soon. With numpy, large
inputs are checked in columns first (`column_check.py`, `column_replay.py`); the standard library suffices.
"""

from __future__ import annotations

import hashlib
import importlib
import struct
from collections.abc import Callable, Container, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

from coordinator.compaction.kept_batch import check_kept
from coordinator.compaction.newest_records import NewestRecords
from coordinator.compaction.plan import (
    InputSegment,
    JobDir,
    Manifest,
    OutputSegment,
    PartitionPlan,
    PartitionResult,
    Plan,
)
from coordinator.core.offsets.raw_records import RawRecord
from coordinator.core.offsets.replay import Replay
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.storage.log.fs import FileSystem, RealFileSystem, read_whole
from coordinator.storage.log.index import MAX_RELATIVE_OFFSET
from coordinator.storage.log.recovery import segment_bases
from coordinator.storage.log.segment import fault_in_batch
from protocol.errors import ProtocolError
from protocol.record_batch import (
    HEADER_BYTES,
    LENGTH_END,
    BatchHeader,
    ControlType,
    control_type,
    read_header,
    read_records,
)

COLUMNS_FROM_BYTES: Final = 4 << 20  # of one partition's inputs: smaller ones take a second or so record by record
REPLAYED_TOGETHER_BYTES: Final = 64 << 20  # by numpy: records superseded within them are not replayed
_SPECIAL: Final = 0x30  # attributes of a batch: transactional, control
LogState: TypeAlias = Replay | NewestRecords
_FRONT: Final = struct.Struct(">qi9xh")  # base offset, length, attributes


StateT = TypeVar("StateT", Replay, NewestRecords)


class RefusedError(Exception):
    """The result must not be swapped in. One sentence that names what is wrong."""


class LateError(RefusedError):
    """The result is too late: the log, or the coordinator, has changed since the plan."""


def check_manifest(plan: Plan, manifest: Manifest, *, epoch: str, now_ms: int, expires_ms: int) -> None:
    """Raise RefusedError unless the manifest belongs to this plan, and LateError if the plan has expired."""
    if manifest.plan_id != plan.id:
        raise RefusedError(f"the manifest is for the plan {manifest.plan_id}, not for {plan.id}")
    if plan.epoch != epoch:
        raise LateError(f"the plan {plan.id} is of an earlier run of the coordinator")
    if manifest.epoch != epoch:
        raise RefusedError(f"the manifest is of another run of the coordinator ({manifest.epoch}) than its plan")
    if manifest.plan_sha256 != plan.sha256:
        raise RefusedError(f"the manifest was made for another version of the plan {plan.id}")
    if now_ms >= expires_ms:
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


def check_partition(
    fs: FileSystem,
    job: JobDir,
    directory: Path,
    part: PartitionPlan,
    result: PartitionResult,
    *,
    progress: Callable[[], None] = lambda: None,
) -> Replay:
    """Check one partition of the offsets log, except against memory; return the replay of its outputs.

    RefusedError; LateError if the live log in `directory` is not the one that was planned. `progress` is called for
    each segment. The inputs are read from the live files, because the job could change the pins.
    """
    after = Replay()
    open_since = _check_kept_batches(fs, job, directory, part, result, after, None, progress)
    before = Replay()
    for segment in part.inputs[min(open_since.values(), default=len(part.inputs)) :]:
        _add_segments(before, fs, part, [(segment, _live(fs, directory, segment))])
        progress()
    if different := _open_difference(before, after):
        raise RefusedError(f"partition {part.partition}: {different}")
    return after


def _check_kept_batches(
    fs: FileSystem,
    job: JobDir,
    directory: Path,
    part: PartitionPlan,
    result: PartitionResult,
    after: StateT,
    before: StateT | None,
    progress: Callable[[], None],
) -> dict[int, int]:
    """Find each batch of the outputs in the inputs, and replay the outputs; the inputs too, if `before` is given.

    Return the producers with an open transaction, and the number of the segment in which it begins.
    """
    if not _begins_as_planned(fs, directory, part):
        raise LateError(f"{directory.name} does not begin with the segments that were planned any more")
    waiting: list[tuple[InputSegment, bytes]] = []
    outputs = _outputs(fs, job, part, result)
    due = next(outputs, None)
    open_since: dict[int, int] = {}
    for number, segment in enumerate(part.inputs):
        data = _live(fs, directory, segment)
        due_offset = due[1].base_offset if due is not None else -1
        for position, size, base_offset, attributes in _walk(data, segment.name):
            if attributes & _SPECIAL:
                _note_transaction(open_since, number, data, position, segment.name)
            if base_offset < due_offset or due is None:
                continue
            if base_offset > due_offset:
                break  # refused below
            if fault := fault_in_batch(data, position, size, base_offset):
                raise RefusedError(f"{segment.name} at byte {position}: {fault}")
            if fault := check_kept(due[1], due[2], read_header(data, position), data[position : position + size]):
                raise RefusedError(f"partition {part.partition}: {fault}")
            _add_batch(after, due[1], due[2], due[0].file)
            due = next(outputs, None)
            due_offset = due[1].base_offset if due is not None else -1
        if before is not None:
            waiting.append((segment, data))
            if sum(len(each) for _, each in waiting) >= REPLAYED_TOGETHER_BYTES:
                _add_segments(before, fs, part, waiting)
        progress()
    if due is not None:
        raise RefusedError(f"partition {part.partition}: the batch at offset {due[1].base_offset} is in no input")
    if before is not None:
        _add_segments(before, fs, part, waiting)
    return open_since


def check_against_inputs(
    fs: FileSystem,
    job: JobDir,
    directory: Path,
    part: PartitionPlan,
    result: PartitionResult,
    *,
    topic: str = OFFSETS_TOPIC,
    progress: Callable[[], None] = lambda: None,
) -> None:
    """Check one partition where no daemon can be asked: in columns if they prove the result, else record by record.

    RefusedError, LateError, and `progress` as for `check_partition`.
    """
    is_offsets_log = topic == OFFSETS_TOPIC
    column_check = _column_module(fs, part, "column_check")
    if column_check is not None:
        try:
            if _begins_as_planned(fs, directory, part):
                names = {segment.name for segment in part.inputs}

                def inputs() -> Iterator[tuple[InputSegment, bytes]]:
                    for segment in part.inputs:
                        yield segment, _live(fs, directory, segment)
                        progress()

                column_check.prove(
                    part,
                    result,
                    inputs(),
                    lambda output: _output(fs, job, names, output),
                    is_offsets_log=is_offsets_log,
                )
                return
        except (RefusedError, column_check.NotProvenError):
            pass  # the check below decides, and finds the reason
    if is_offsets_log:
        _compare_with_inputs(fs, job, directory, part, result, Replay(), Replay(), progress)
    else:
        _compare_with_inputs(fs, job, directory, part, result, NewestRecords(), NewestRecords(), progress)


def _compare_with_inputs(
    fs: FileSystem,
    job: JobDir,
    directory: Path,
    part: PartitionPlan,
    result: PartitionResult,
    before: StateT,
    after: StateT,
    progress: Callable[[], None],
) -> None:
    _check_kept_batches(fs, job, directory, part, result, after, before, progress)
    if different := difference(before, after):
        raise RefusedError(f"partition {part.partition}: {different}")


def _begins_as_planned(fs: FileSystem, directory: Path, part: PartitionPlan) -> bool:
    bases = segment_bases(fs.listdir(directory))
    expected = [*(segment.base_offset for segment in part.inputs), part.clean_up_to]
    return bases[: len(expected)] == expected


def _live(fs: FileSystem, directory: Path, segment: InputSegment) -> bytes:
    """Return the bytes of an input. LateError unless they are those that were planned."""
    data = read_whole(fs, directory / segment.name)
    if len(data) != segment.size_bytes or hashlib.sha256(data).hexdigest() != segment.sha256:
        raise LateError(f"{directory / segment.name} is not the segment that was planned any more")
    return data


def _output(fs: FileSystem, job: JobDir, names: Container[str], output: OutputSegment) -> bytes:
    """Return the bytes of an output. RefusedError unless they are those that the manifest names."""
    if output.name not in names:
        raise RefusedError(f"the output {output.file} does not have the name of an input")
    path = job.output(output)
    if not fs.exists(path):
        raise RefusedError(f"the output {output.file} does not exist")
    data = read_whole(fs, path)
    if len(data) != output.size_bytes or hashlib.sha256(data).hexdigest() != output.sha256:
        raise RefusedError(f"the output {output.file} is not the file that the manifest names")
    return data


def _outputs(
    fs: FileSystem, job: JobDir, part: PartitionPlan, result: PartitionResult
) -> Iterator[tuple[OutputSegment, BatchHeader, bytes]]:
    """Yield each batch of the outputs. RefusedError unless each is the file of the manifest, and a sound segment."""
    names = {segment.name for segment in part.inputs}
    ends = [*(output.base_offset for output in result.outputs), part.clean_up_to][1:]
    for output, end in zip(result.outputs, ends, strict=True):
        data = _output(fs, job, names, output)
        batches = records = 0
        first, next_offset, youngest = -1, output.base_offset, -1
        for position, size, _, _ in _walk(data, output.file):
            if fault := fault_in_batch(data, position, size, next_offset):
                raise RefusedError(f"{output.file} at byte {position}: {fault}")
            header = read_header(data, position)
            first = header.base_offset if first < 0 else first
            next_offset = header.last_offset + 1
            youngest = max(youngest, header.max_timestamp)
            batches += 1
            records += header.record_count
            yield output, header, data[position : position + size]
        if next_offset > end or next_offset - 1 - output.base_offset > MAX_RELATIVE_OFFSET:
            raise RefusedError(f"the output {output.file} goes to offset {next_offset}, beyond {end}")
        first = next_offset if first < 0 else first
        said = (output.batches, output.records, output.first_offset, output.next_offset, output.max_timestamp_ms)
        if said != (batches, records, first, next_offset, youngest):
            raise RefusedError(f"the output {output.file} holds other batches than the manifest says")


def _walk(data: bytes, name: str) -> Iterator[tuple[int, int, int, int]]:
    """Yield (position, size, base offset, attributes) of each batch; RefusedError where there is no whole batch."""
    position, end = 0, len(data)
    unpack = _FRONT.unpack_from
    while position < end:
        left = end - position
        if left < HEADER_BYTES:
            break
        base_offset, length, attributes = unpack(data, position)
        size = length + LENGTH_END
        if not HEADER_BYTES <= size <= left:
            break
        yield position, size, base_offset, attributes
        position += size
    if position != end:
        raise RefusedError(f"{name} at byte {position}: {end - position} bytes that are no whole batch")


def _note_transaction(open_since: dict[int, int], number: int, data: bytes, position: int, name: str) -> None:
    """Note which producers have an open transaction, and the segment in which it begins."""
    header = read_header(data, position)
    if not header.is_control:
        open_since.setdefault(header.producer_id, number)
        return
    try:
        for record in read_records(data, position, header):
            if control_type(record) is not ControlType.UNKNOWN:
                open_since.pop(header.producer_id, None)
    except ProtocolError as error:
        raise RefusedError(f"{name}: the batch at offset {header.base_offset}: {error}") from None


def _add_segments(
    into: LogState, fs: FileSystem, part: PartitionPlan, segments: list[tuple[InputSegment, bytes]]
) -> None:
    """Replay neighbouring inputs, and empty the list."""
    column_replay = _column_module(fs, part, "column_replay")
    if column_replay is not None and segments:
        try:
            column_replay.add_segments(into, b"".join([data for _, data in segments]), segments[0][0].name)
        except ProtocolError as error:
            raise RefusedError(f"partition {part.partition}: {error}") from None
    else:
        for segment, data in segments:
            _add_plainly(into, segment, data)
    segments.clear()


def _add_plainly(into: LogState, segment: InputSegment, data: bytes) -> None:
    least_offset = segment.base_offset
    for position, size, _, _ in _walk(data, segment.name):
        if fault := fault_in_batch(data, position, size, least_offset):
            raise RefusedError(f"{segment.name} at byte {position}: {fault}")
        header = read_header(data, position)
        least_offset = header.last_offset + 1
        _add_batch(into, header, data[position : position + size], segment.name)


def _column_module(fs: FileSystem, part: PartitionPlan, name: str) -> Any:
    """Import a module that works in columns, if the inputs are large and numpy is installed; else None."""
    if not isinstance(fs, RealFileSystem) or sum(one.size_bytes for one in part.inputs) < COLUMNS_FROM_BYTES:
        return None
    try:
        return importlib.import_module(f"coordinator.compaction.{name}")
    except ImportError:
        return None


def _add_batch(into: LogState, header: BatchHeader, batch: bytes, name: str) -> None:
    try:
        into.add_batch(header, batch)
    except ProtocolError as error:
        raise RefusedError(f"{name}: the batch at offset {header.base_offset}: {error}") from None


def difference(before: StateT, after: StateT) -> str | None:
    """Return the first difference in the memory that two logs leave, as a clause; None if there is none."""
    if isinstance(before, NewestRecords):
        return _first_difference("the newest record", before.records, after.records)
    return (
        _first_difference("the newest offset", before.offsets, after.offsets)
        or _first_difference("the newest record of the group", before.groups, after.groups)
        or _first_difference("the newest record of the KIP-848 group", before.consumer, after.consumer)
        or _open_difference(before, after)
    )


def _open_difference(before: Replay, after: Replay) -> str | None:
    return _first_difference("an offset of an open transaction", before.open_offsets(), after.open_offsets())


def _first_difference(what: str, old: Mapping[Any, RawRecord], new: Mapping[Any, RawRecord]) -> str | None:
    if old == new:
        return None
    key = min(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return f"{what} with the key {key!r} is not the same"
