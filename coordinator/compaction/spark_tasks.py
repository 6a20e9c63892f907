"""What a Spark worker does for compaction: three kinds of tasks, each an ordinary function, none of which knows Spark.

`clean` does one log partition from beginning to end. `scan` and `rewrite` are its two halves, for a stretch of
segments, and for a group of them that becomes one file: between them lies the shuffle, which carries keys and offsets
only. What a scan finds is written beside the job's outputs, as Parquet, and found there by Spark itself, so it does not
pass through the driver, and a worker that dies later takes nothing with it.

An input that is bad is no reason to fail a task: it would be tried again in vain, and bring down the tasks of other
partitions. It is reported as the sentence that the partition's result will carry. Names of files are random, so that a
task run twice, or by two workers at a time, does no harm: only the files of the attempt that was heard of count.
"""

from __future__ import annotations

import gc
import json
import resource
import secrets
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from coordinator.columnar.batches import Int64s
from coordinator.columnar.kernel import array_of
from coordinator.compaction.boundaries import SurveyedBatch
from coordinator.compaction.cleaner import GroupWritten, clean_partition, failed, write_group
from coordinator.compaction.plain import InputError
from coordinator.compaction.plan import InputSegment, JobDir, OutputSegment, PartitionPlan, Plan
from coordinator.compaction.rules import Round
from coordinator.compaction.segment_scan import Newest, OpenTransaction, merged, scan_segment
from protocol.record_batch import BatchHeader, ControlType

OFFSET_BITS: Final = 32  # of a code: the rest is the number of a group
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
        """Whether an offset, counted from the first, can be told in a code. Kafka's indexes demand more."""
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
    """What others must know of a scanned segment, beside its keys."""

    events: tuple[SurveyedBatch, ...] = ()
    pending: dict[int, tuple[int, str]] = field(default_factory=dict)  # producer -> its first open batch, a file


@dataclass(frozen=True, slots=True)
class ScanReport:
    """What the driver hears of a scanned stretch. Files are in the job's scratch directory."""

    candidates: str  # a file; empty where there are none
    keys: int
    segments: tuple[SegmentReport, ...] = ()
    error: str = ""

    def to_text(self) -> str:
        segments = [
            ([[*event.header, event.marker] for event in each.events], list(each.pending.items()))
            for each in self.segments
        ]
        return json.dumps([self.candidates, self.keys, segments, self.error])

    @classmethod
    def from_text(cls, text: str) -> ScanReport:
        candidates, keys, segments, error = json.loads(text)
        return cls(
            candidates,
            keys,
            tuple(
                SegmentReport(
                    tuple(
                        SurveyedBatch(BatchHeader(*numbers), None if marker is None else ControlType(marker))
                        for *numbers, marker in events
                    ),
                    {producer_id: (first_batch, name) for producer_id, (first_batch, name) in pending},
                )
                for events, pending in segments
            ),
            error,
        )


@dataclass(frozen=True, slots=True)
class GroupReport:
    """What the driver hears of a rewritten group."""

    written: GroupWritten
    survivors: int
    error: str = ""

    def to_text(self) -> str:
        output = self.written.output
        return json.dumps(
            [None if output is None else output.to_json(), self.written.counts, self.survivors, self.error]
        )

    @classmethod
    def from_text(cls, text: str) -> GroupReport:
        output, counts, survivors, error = json.loads(text)
        made = None if output is None else OutputSegment.from_json(output)
        return cls(GroupWritten(made, Counter(counts)), survivors, error)


def scratch_dir(job: JobDir) -> Path:
    """Where scans leave what they found; the driver removes it."""
    return job.path / "scratch"


@cache
def settle_worker() -> None:
    """Once for each worker, when everything is imported: what is there now stays, and need not be looked at again.

    Spark's Python workers collect garbage after every task, all of it; over pandas' hundred thousands of objects that
    takes 40 ms, which is more than a small segment does.
    """
    gc.freeze()


def clean(job: JobDir, plan: Plan, part: PartitionPlan) -> str:
    """One log partition, whole. Returns its `PartitionResult` as text."""
    try:
        result = clean_partition(plan, part, job.in_dir(part.partition), job.out_dir(part.partition))
    except Exception as error:
        result = failed(part, _unexpected(error))
    job.touch()
    return json.dumps(result.to_json())


def scan(job: JobDir, stretch: ScanTask) -> str:
    """Some neighbouring segments. Returns a `ScanReport` as text."""
    return _reported(lambda: _scanned(job, stretch), lambda error: ScanReport("", 0, error=error)).to_text()


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
    """The name of a file with these keys, each with the code of its newest record; empty if there are none."""
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
    """Of each offset the group it lies in, and how far it is from the group's first."""
    starts = np.array([segment.base_offset for _, segment in stretch.members], np.int64)
    numbers = np.array([group.number for group, _ in stretch.members], np.int64)
    bases = np.array([group.base_offset for group, _ in stretch.members], np.int64)
    which = np.searchsorted(starts, offsets, "right") - 1
    codes: Int64s = (offsets - bases[which]) | (numbers[which] << OFFSET_BITS)
    return codes


def read_pending(path: Path, first_batch: int) -> OpenTransaction:
    """The keys of a transaction, with the first offset of each, as a scan left them."""
    table = pyarrow.parquet.read_table(path).combine_chunks()
    first_offsets = table["first"].combine_chunks().to_numpy()
    return OpenTransaction(first_batch, Newest(table["key"].combine_chunks(), first_offsets), first_offsets)


def rewrite(job: JobDir, group: OutputGroup, rounds: Sequence[Round], survivors: Int64s) -> str:
    """One group, given the offsets that survive in it, in any order. Returns a `GroupReport` as text."""
    partition = group.part.partition

    def work() -> GroupReport:
        offsets = np.sort(survivors)
        written = write_group(group.segments, rounds, offsets, job.in_dir(partition), job.out_dir(partition))
        job.touch()
        return GroupReport(written, len(offsets))

    return _reported(work, lambda error: GroupReport(GroupWritten(None, Counter()), 0, error)).to_text()


def _reported(work: Callable[[], T], failure: Callable[[str], T]) -> T:
    try:
        return work()
    except (InputError, OSError) as error:
        return failure(str(error))
    except Exception as error:
        return failure(str(_unexpected(error)))
    finally:
        # Arrow keeps what it is given back, in pieces that fit the next task badly: the worker would grow for a while.
        pa.default_memory_pool().release_unused()


def _unexpected(error: Exception) -> Exception:
    """A mistake of ours: the log of the worker tells where."""
    traceback.print_exc(file=sys.stderr)
    return InputError(f"an error that should not be: {type(error).__name__}: {error}")


def peak_rss_bytes() -> int:
    """The most memory that this worker has ever held at once."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def report_rows(number: int, text: str) -> pa.Table:
    """A row for the driver: which task, what it says, and the memory it took."""
    encoded = text.encode()
    edges = np.array([0, len(encoded)], np.int32)
    columns = [
        array_of(np.array([number])),
        pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(edges), pa.py_buffer(encoded)]),
        array_of(np.array([peak_rss_bytes()])),
    ]
    return pa.Table.from_arrays(columns, names=["task", "report", "peak_rss_bytes"])


REPORTS_DDL: Final = "task long, report string, peak_rss_bytes long"
