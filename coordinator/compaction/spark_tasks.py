"""The tasks of a Spark worker for compaction: three ordinary functions that do not use Spark.

`compact` handles one log partition from beginning to end. `scan` and `rewrite` are its two halves, for a stretch of
segments, and for a group of them that becomes one file; the shuffle between them carries keys and offsets only. A scan
writes its keys as Parquet files beside the job's outputs, where Spark reads them: they do not pass through the driver,
and they remain if the worker ends.

A bad input does not fail a task: Spark would retry it in vain, and then stop the tasks of other partitions. The error
is reported and becomes the error of the partition's result. Names of files are random, so a task may run twice, even at
the same time: only the files of the reported attempt are used.
"""

from __future__ import annotations

import gc
import resource
import secrets
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet

from coordinator.columnar.batches import Int64s
from coordinator.columnar.kernel import array_of
from coordinator.compaction.boundaries import SurveyedBatch
from coordinator.compaction.column_compaction import GroupWritten, compact_partition, failed, write_group
from coordinator.compaction.plan import InputError, InputSegment, JobDir, PartitionPlan, Plan
from coordinator.compaction.rules import Round
from coordinator.compaction.segment_scan import Newest, OpenTransaction, merged, scan_segment

OFFSET_BITS: Final = 32  # of a code, which has the number of a group above, and an offset below
OFFSET_MASK: Final = (1 << OFFSET_BITS) - 1
CANDIDATES: Final = pa.schema([("lp", pa.int32()), ("key", pa.binary()), ("code", pa.int64()), ("first", pa.int64())])
CANDIDATES_DDL: Final = "lp int, key binary, code long"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class OutputGroup:
    """Segments that become one file."""

    number: int  # among all groups of the plan
    part: PartitionPlan
    segments: tuple[InputSegment, ...]

    @property
    def base_offset(self) -> int:
        return self.segments[0].base_offset

    @property
    def fits_a_code(self) -> bool:
        """Return whether all relative offsets fit into a code. The limit of Kafka's indexes is stricter."""
        return self.segments[-1].next_offset - self.base_offset <= OFFSET_MASK


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Neighbouring segments of one log partition that one task scans; with each, the group that it belongs to."""

    part: PartitionPlan
    members: tuple[tuple[OutputGroup, InputSegment], ...]

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for _, segment in self.members)


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """The batches of producers in a scanned segment."""

    events: tuple[SurveyedBatch, ...] = ()
    pending: dict[int, tuple[int, str]] = field(default_factory=dict)  # producer -> its first open batch, a file


@dataclass(frozen=True, slots=True)
class ScanReport:
    """Report of a scanned stretch to the driver. Files are in the job's scratch directory."""

    candidates: str  # a file; empty where there are none
    keys: int
    segments: tuple[SegmentReport, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class GroupReport:
    """Report of a rewritten group to the driver."""

    written: GroupWritten
    survivors: int
    error: str = ""


def scratch_dir(job: JobDir) -> Path:
    """Return the directory for the files of scans; the driver removes it."""
    return job.path / "scratch"


@cache
def settle_worker() -> None:
    """Exclude all imported objects from garbage collection, once for each worker.

    Spark's Python workers run a full collection after every task; over the hundreds of thousands of objects of pandas
    that takes 40 ms, longer than a small segment.
    """
    gc.freeze()


def compact(job: JobDir, plan: Plan, part: PartitionPlan) -> str:
    """Compact one log partition. Return its `PartitionResult` as JSON."""
    try:
        result = compact_partition(plan, part, job.in_dir(part.partition), job.out_dir(part.partition))
    except Exception as error:
        result = failed(part, _unexpected(error))
    job.touch()
    return result.to_bytes().decode()


def scan(job: JobDir, stretch: ScanTask) -> str:
    """Scan some neighbouring segments. Return a `ScanReport` as JSON."""
    return _reported(lambda: _scanned(job, stretch), lambda error: ScanReport("", 0, error=error))


def _scanned(job: JobDir, stretch: ScanTask) -> ScanReport:
    directory = scratch_dir(job)
    directory.mkdir(parents=True, exist_ok=True)
    in_dir = job.in_dir(stretch.part.partition)
    newest = Newest.none()
    reports = []
    for _, segment in stretch.members:
        found = scan_segment(segment, in_dir / segment.name)
        job.touch()
        newest = merged([newest, found.newest])
        pending = {
            producer_id: (each.first_batch, _write_candidates(directory, stretch, each.newest, each.first_offsets))
            for producer_id, each in found.pending.items()
        }
        reports.append(SegmentReport(tuple(found.events), pending))
    return ScanReport(_write_candidates(directory, stretch, newest), len(newest), tuple(reports))


def _write_candidates(directory: Path, stretch: ScanTask, newest: Newest, first_offsets: Int64s | None = None) -> str:
    """Write a file with these keys, each with the code of its newest record; return its name, "" without keys."""
    count = len(newest)
    if not count:
        return ""
    columns = [
        array_of(np.full(count, stretch.part.partition, np.int32)),
        newest.keys.cast(pa.binary()),
        array_of(_codes(stretch, newest.offsets)),
        pa.nulls(count, pa.int64()) if first_offsets is None else array_of(first_offsets),
    ]
    name = f"{stretch.part.partition}-{stretch.members[0][1].base_offset}-{secrets.token_hex(8)}.parquet"
    table = pa.Table.from_arrays(columns, schema=CANDIDATES)
    pyarrow.parquet.write_table(
        table, directory / name, compression="lz4", use_dictionary=False, write_statistics=False
    )
    return name


def _codes(stretch: ScanTask, offsets: Int64s) -> Int64s:
    """Return a code for each offset: its group, and its distance from the group's first offset."""
    starts = np.array([segment.base_offset for _, segment in stretch.members], np.int64)
    numbers = np.array([group.number for group, _ in stretch.members], np.int64)
    bases = np.array([group.base_offset for group, _ in stretch.members], np.int64)
    which = np.searchsorted(starts, offsets, "right") - 1
    codes: Int64s = (offsets - bases[which]) | (numbers[which] << OFFSET_BITS)
    return codes


def read_pending(path: Path, first_batch: int) -> OpenTransaction:
    """Read the keys of a transaction, with the first offset of each, from the file of a scan."""
    table = pyarrow.parquet.read_table(path).combine_chunks()
    first_offsets = table["first"].combine_chunks().to_numpy()
    return OpenTransaction(first_batch, Newest(table["key"].combine_chunks(), first_offsets), first_offsets)


def rewrite(job: JobDir, group: OutputGroup, rounds: Sequence[Round], survivors: Int64s) -> str:
    """Write one group, given the offsets that survive in it, in any order. Return a `GroupReport` as JSON."""
    partition = group.part.partition

    def work() -> GroupReport:
        offsets = np.sort(survivors)
        written = write_group(group.segments, rounds, offsets, job.in_dir(partition), job.out_dir(partition))
        job.touch()
        return GroupReport(written, len(offsets))

    return _reported(work, lambda error: GroupReport(GroupWritten(None, {}), 0, error))


def _reported(work: Callable[[], T], failure: Callable[[str], T]) -> str:
    """Return what `work` reports, as JSON; its error as the report that `failure` makes of it."""
    try:
        report = work()
    except (InputError, OSError) as error:
        report = failure(str(error))
    except Exception as error:
        report = failure(str(_unexpected(error)))
    finally:
        # Arrow's pool keeps freed memory in pieces that fit the next task badly: the worker would grow.
        pa.default_memory_pool().release_unused()
    return msgspec.json.encode(report).decode()


def _unexpected(error: Exception) -> Exception:
    """Return the error of a defect as an InputError; the traceback goes to the worker's log."""
    traceback.print_exc(file=sys.stderr)
    return InputError(f"an unexpected error: {type(error).__name__}: {error}")


def peak_rss_bytes() -> int:
    """Return the peak resident memory of this process."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def report_rows(number: int, text: str) -> pa.Table:
    """Return a row for the driver: the number of the task, its report, and its peak memory."""
    encoded = text.encode()
    edges = np.array([0, len(encoded)], np.int32)
    columns = [
        array_of(np.array([number])),
        pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(edges), pa.py_buffer(encoded)]),
        array_of(np.array([peak_rss_bytes()])),
    ]
    return pa.Table.from_arrays(columns, names=["task", "report", "peak_rss_bytes"])


REPORTS_DDL: Final = "task long, report string, peak_rss_bytes long"
