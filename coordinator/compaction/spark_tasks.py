"""What a Spark worker does for compaction: three kinds of tasks, each an ordinary function, none of which knows Spark.

`clean` does one log partition from beginning to end. `scan` and `rewrite` are its two halves for a single segment, and
for a group of segments that become one file: between them lies the shuffle, which carries keys and offsets only. What
a scan finds is written beside the job's outputs, as Parquet, and found there by Spark itself, so it does not pass
through the driver, and a worker that dies later takes nothing with it.

An input that is bad is no reason to fail a task: it would be tried again in vain, and bring down the tasks of other
partitions. It is reported as the sentence that the partition's result will carry. Names of files are random, so that a
task run twice, or by two workers at a time, does no harm: only the files of the attempt that was heard of count.
"""

from __future__ import annotations

import json
import resource
import secrets
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from coordinator.compaction.batches import Int64s
from coordinator.compaction.boundaries import Event
from coordinator.compaction.cleaner import GroupWritten, clean_partition, failed, write_group
from coordinator.compaction.plain import InputError
from coordinator.compaction.plan import InputSegment, JobDir, OutputSegment, PartitionPlan, Plan
from coordinator.compaction.rules import Round
from coordinator.compaction.segment_scan import Newest, Pending, array_of, scan_segment
from protocol.record_batch import BatchHeader, ControlType

OFFSET_BITS: Final = 32  # of a code: the rest is the number of a group
OFFSET_MASK: Final = (1 << OFFSET_BITS) - 1
CANDIDATES: Final = pa.schema([("lp", pa.int32()), ("key", pa.binary()), ("code", pa.int64()), ("first", pa.int64())])
CANDIDATES_DDL: Final = "lp int, key binary, code long"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Group:
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
class ScanReport:
    """What the driver hears of a scanned segment."""

    candidates: str  # a file in the job's scratch directory; empty where there are none
    keys: int
    events: tuple[Event, ...] = ()
    pending: dict[int, tuple[int, str]] | None = None  # producer -> base offset of its first open batch, file
    error: str = ""

    def to_text(self) -> str:
        events = [[*event.header, event.marker] for event in self.events]
        pending = {str(producer_id): each for producer_id, each in (self.pending or {}).items()}
        return json.dumps([self.candidates, self.keys, events, pending, self.error])

    @classmethod
    def from_text(cls, text: str) -> ScanReport:
        candidates, keys, events, pending, error = json.loads(text)
        return cls(
            candidates,
            keys,
            tuple(
                Event(BatchHeader(*numbers), None if marker is None else ControlType(marker))
                for *numbers, marker in events
            ),
            {int(producer_id): (base_offset, name) for producer_id, (base_offset, name) in pending.items()},
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


def clean(job: JobDir, plan: Plan, part: PartitionPlan) -> str:
    """One log partition, whole. Returns its `PartitionResult` as text."""
    try:
        result = clean_partition(plan, part, job.in_dir(part.partition), job.out_dir(part.partition))
    except Exception as error:
        result = failed(part, _unexpected(error))
    return json.dumps(result.to_json())


def scan(job: JobDir, group: Group, segment: InputSegment) -> str:
    """One segment. Returns a `ScanReport` as text."""
    partition = group.part.partition

    def work() -> ScanReport:
        found = scan_segment(segment, job.in_dir(partition) / segment.name)
        directory = scratch_dir(job)
        directory.mkdir(parents=True, exist_ok=True)

        def write(newest: Newest, first_offsets: Int64s | None = None) -> str:
            if not len(newest):
                return ""
            name = f"{partition}-{segment.base_offset}-{secrets.token_hex(8)}.parquet"
            _write_candidates(directory / name, group, newest, first_offsets)
            return name

        return ScanReport(
            candidates=write(found.newest),
            keys=len(found.newest),
            events=tuple(found.events),
            pending={
                producer_id: (pending.first_batch, write(pending.newest, pending.first_offsets))
                for producer_id, pending in found.pending.items()
            },
        )

    return _reported(work, lambda error: ScanReport("", 0, error=error)).to_text()


def _write_candidates(path: Path, group: Group, newest: Newest, first_offsets: Int64s | None) -> None:
    count = len(newest)
    columns = [
        array_of(np.full(count, group.part.partition, np.int32)),
        newest.keys.cast(pa.binary()),
        array_of((newest.offsets - group.base_offset) | (group.number << OFFSET_BITS)),
        pa.nulls(count, pa.int64()) if first_offsets is None else array_of(first_offsets),
    ]
    table = pa.Table.from_arrays(columns, schema=CANDIDATES)
    pyarrow.parquet.write_table(table, path, compression="lz4", use_dictionary=False, write_statistics=False)


def read_pending(path: Path, first_batch: int) -> Pending:
    """The keys of a transaction, with the first offset of each, as a scan left them."""
    table = pyarrow.parquet.read_table(path).combine_chunks()
    first_offsets = table["first"].combine_chunks().to_numpy()
    return Pending(first_batch, Newest(table["key"].combine_chunks(), first_offsets), first_offsets)


def rewrite(job: JobDir, group: Group, rounds: Sequence[Round], survivors: Int64s) -> str:
    """One group, given the offsets that survive in it, in any order. Returns a `GroupReport` as text."""
    partition = group.part.partition

    def work() -> GroupReport:
        offsets = np.sort(survivors)
        written = write_group(group.segments, rounds, offsets, job.in_dir(partition), job.out_dir(partition))
        return GroupReport(written, len(offsets))

    return _reported(work, lambda error: GroupReport(GroupWritten(None, Counter()), 0, error)).to_text()


def _reported(work: Callable[[], T], failure: Callable[[str], T]) -> T:
    try:
        return work()
    except (InputError, OSError) as error:
        return failure(str(error))
    except Exception as error:
        return failure(str(_unexpected(error)))


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
    columns = [
        pa.array([number], pa.int64()),
        pa.array([text], pa.string()),
        pa.array([peak_rss_bytes()], pa.int64()),
    ]
    return pa.Table.from_arrays(columns, names=["task", "report", "peak_rss_bytes"])


REPORTS_DDL: Final = "task long, report string, peak_rss_bytes long"
