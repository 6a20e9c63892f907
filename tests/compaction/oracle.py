"""Compaction one record at a time: the oracle that the compaction in columns is compared with, byte for byte.

It puts `coordinator.compaction.rules` to work in the plainest way: pure Python, one process, three passes over the
inputs. The first pass reads headers only, because a key counts only if its transaction was not aborted. The benchmarks
measure the speed of the columns by it. A partition that cannot be compacted gives a result with an error.
"""

from __future__ import annotations

import hashlib
import os
import secrets
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from coordinator.compaction.plan import (
    CompactionStats,
    InputError,
    InputSegment,
    OutputSegment,
    PartitionPlan,
    PartitionResult,
    Plan,
)
from coordinator.compaction.rules import (
    Round,
    Survey,
    empty_batch,
    encode_record,
    group_segments,
    new_times,
    rewritten_batch,
)
from protocol.errors import ProtocolError
from protocol.record_batch import (
    BatchHeader,
    ControlType,
    Record,
    control_type,
    iter_batches,
    read_header,
    read_records,
    verify,
)


def compact_partition(plan: Plan, part: PartitionPlan, in_dir: Path, out_dir: Path) -> PartitionResult:
    """Compact one partition's inputs, `in_dir/<name>`, into files `out_dir/<name>.<attempt>`, synced to the device.

    `out_dir` is named after the partition. Bad inputs and a full disk do not raise: the result carries the error.
    """
    paths = [in_dir / segment.name for segment in part.inputs]
    try:
        for segment, path in zip(part.inputs, paths, strict=True):
            _check(segment, path)
        round_ = survey(paths).round(
            now_ms=plan.now_ms, delete_retention_ms=plan.delete_retention_ms, clean_up_to=part.clean_up_to
        )
        newest, open_keys = newest_offsets(paths, round_)
        round_ = round_.with_open_keys(open_keys)
        counts: Counter[str] = Counter(keys=len(newest))
        outputs: list[OutputSegment] = []
        out_dir.mkdir(parents=True, exist_ok=True)
        for group in group_segments(part.inputs, plan.segment_bytes, part.clean_up_to):
            batches = [
                batch for segment in group for batch in compact_segment(in_dir / segment.name, round_, newest, counts)
            ]
            if batches:
                outputs.append(_write(out_dir, part.partition, group[0].name, batches))
    except (InputError, OSError) as error:
        return PartitionResult(part.partition, part.inputs, (), error=f"partition {part.partition}: {error}")
    counts["bytes_before"] = sum(segment.size_bytes for segment in part.inputs)
    counts["bytes_after"] = sum(output.size_bytes for output in outputs)
    return PartitionResult(part.partition, part.inputs, tuple(outputs), CompactionStats(**counts))


def _check(segment: InputSegment, path: Path) -> None:
    """Raise InputError unless this is the file that was planned, and all of it sound batches."""
    data = path.read_bytes()
    if len(data) != segment.size_bytes or hashlib.sha256(data).hexdigest() != segment.sha256:
        raise InputError(f"{path.name} is not the file that the plan names; make a new plan")
    position = 0
    least_offset = segment.base_offset
    try:
        for position, header in iter_batches(data):
            verify(data, position, header)
            if header.base_offset < least_offset:
                raise InputError(
                    f"{path.name} at byte {position}: offset {header.base_offset} after {least_offset - 1}"
                )
            least_offset = header.last_offset + 1
            position += header.size_bytes
    except ProtocolError as error:
        raise InputError(f"{path.name} at byte {position}: {error}") from None
    if position != len(data):
        raise InputError(f"{path.name} at byte {position}: {len(data) - position} bytes that are no whole batch")


def survey(paths: Sequence[Path]) -> Survey:
    """Run the first pass, over headers and markers."""
    found = Survey()
    for path in paths:
        data = path.read_bytes()
        for position, header in iter_batches(data):
            if Survey.concerns(header):
                found.add(header, _marker(data, position, header, path.name))
    return found


def _marker(data: bytes, position: int, header: BatchHeader, name: str) -> ControlType | None:
    if not header.is_control or not header.record_count:
        return None
    record = _decode(data, position, header, name)[0]
    try:
        return control_type(record)
    except ProtocolError as error:
        raise InputError(f"{name} at byte {position}: {error}") from None


def _decode(data: bytes, position: int, header: BatchHeader, name: str) -> list[Record]:
    try:
        return read_records(data, position, header)
    except ProtocolError as error:
        raise InputError(f"{name} at byte {position}: {error}") from None


def newest_offsets(paths: Sequence[Path], round_: Round) -> tuple[dict[bytes, int], dict[bytes, int]]:
    """Return the offset of the newest record of every key, and of the first undecided one of keys that have any."""
    newest: dict[bytes, int] = {}
    undecided: dict[bytes, int] = {}
    for path in paths:
        data = path.read_bytes()
        for position, header in iter_batches(data):
            if round_.counts_keys(header):
                for record in _decode(data, position, header, path.name):
                    if record.key is not None:
                        newest[record.key] = record.offset
            elif round_.keeps_verbatim(header):
                for record in _decode(data, position, header, path.name):
                    if record.key is not None:
                        undecided.setdefault(record.key, record.offset)
    return newest, undecided


def compact_segment(path: Path, round_: Round, newest: dict[bytes, int], counts: Counter[str]) -> Iterator[bytes]:
    """Run the last pass over one segment; yield the batches that stay. `counts` has the names of `CompactionStats`."""
    data = path.read_bytes()
    for position, header in iter_batches(data):
        records = [] if round_.drops_records(header) else _decode(data, position, header, path.name)
        kept = _kept(header, records, round_, newest)
        batch = _written(header, kept, round_, data[position : position + header.size_bytes])
        counts["batches_before"] += 1
        counts["batches_after"] += batch is not None
        counts["records_before"] += header.record_count
        counts["records_after"] += len(kept)
        if header.is_control:
            counts["markers_kept" if kept else "markers_dropped"] += header.record_count > 0
        elif round_.drops_records(header):
            counts["aborted_dropped"] += header.record_count
        else:
            tombstones = [record for record in kept if record.value is None]
            counts["tombstones_kept"] += len(tombstones)
            counts["tombstones_dropped"] += sum(_is_newest_tombstone(each, newest) for each in records)
            counts["tombstones_dropped"] -= sum(_is_newest_tombstone(each, newest) for each in tombstones)
        if batch is not None:
            yield batch


def _is_newest_tombstone(record: Record, newest: dict[bytes, int]) -> bool:
    """Return whether a record is a tombstone that only its horizon can remove."""
    return record.value is None and record.key is not None and record.offset == newest.get(record.key)


def _kept(header: BatchHeader, records: list[Record], round_: Round, newest: dict[bytes, int]) -> list[Record]:
    if header.is_control or round_.keeps_verbatim(header):
        return records
    return [
        record
        for record in records
        if record.key is not None
        and round_.keeps_record(
            header, record.key, record.offset, newest=newest.get(record.key, -1), has_value=record.value is not None
        )
    ]


def _written(header: BatchHeader, kept: list[Record], round_: Round, original: bytes) -> bytes | None:
    """Return what a batch becomes; None if nothing of it stays."""
    if round_.keeps_verbatim(header):
        return original
    if not kept:
        return empty_batch(header) if round_.keeps_empty(header) else None
    horizon_ms = round_.new_horizon_ms(header, keeps_tombstone=any(record.value is None for record in kept))
    if len(kept) == header.record_count and horizon_ms is None:
        return original
    times = new_times(header, [record.timestamp_ms for record in kept], horizon_ms)
    body = b"".join(
        encode_record(record, record.timestamp_ms - times.base_ms, record.offset - header.base_offset)
        for record in kept
    )
    return rewritten_batch(header, body, len(kept), times)


def _write(out_dir: Path, partition: int, name: str, batches: list[bytes]) -> OutputSegment:
    data = b"".join(batches)
    path = out_dir / f"{name}.{secrets.token_hex(8)}"
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    headers = [read_header(batch) for batch in batches]
    return OutputSegment(
        name=name,
        file=f"{partition}/{path.name}",
        size_bytes=len(data),
        sha256=hashlib.sha256(data).hexdigest(),
        records=sum(header.record_count for header in headers),
        batches=len(headers),
        first_offset=headers[0].base_offset,
        next_offset=headers[-1].last_offset + 1,
        max_timestamp_ms=max(header.max_timestamp for header in headers),
    )
