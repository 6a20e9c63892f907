"""Plans and manifests, by which the coordinator and a compaction job communicate, and the directory of a job.

A plan names closed segments (pinned as hard links, with size and SHA-256) and every number that decides what survives,
the clock included. So a job is a function of its plan and of the pinned files: run twice, it gives the same bytes. A
manifest names the outputs. It repeats the inputs and carries the hash of the plan, so that it can be compared with the
live log; it is written last, so the files that it names are complete. Neither is trusted: the types and `__post_init__`
refuse with a PlanError what can be refused without the disk, above all file names (they become paths).

Layout below DATA_DIR/compaction/jobs/<id>/: plan.json, in/<lp>/<base>.log (pins), out/<lp>/<file>, manifest.json, and
in the end DONE or REFUSED. `JobDir` knows the names.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Self

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import astuple

from coordinator.core.topics.names import COMPACTED_TOPICS, OFFSETS_TOPIC
from coordinator.storage.file_names import COMPACTION_DIR, JOBS_DIR

MAX_FILE_BYTES: Final = 256 << 20  # of a plan or manifest: about a million segments

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_SEGMENT: Final = re.compile(r"\d{20}\.log")
_OUTPUT: Final = re.compile(r"(\d{1,9})/(\d{20}\.log)\.[A-Za-z0-9_-]{1,80}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MAX_OFFSET: Final = 2**63 - 1

Int64 = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class PlanError(ValueError):
    """A plan or a manifest is not what it claims to be. One sentence."""


class InputError(Exception):
    """An input is not what the plan says, or not a sound segment. One sentence that names file and byte."""


class Json(Struct, frozen=True, forbid_unknown_fields=True):
    """A value that is written to and read from a JSON file; its fields are the schema."""

    def to_json(self) -> dict[str, Any]:
        """Return plain dicts, lists, strings and numbers."""
        return msgspec.to_builtins(self)  # type: ignore[no-any-return]

    def to_bytes(self) -> bytes:
        """Return the file's bytes; equal objects give equal bytes."""
        return (json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read a file's content. PlanError: not JSON; a field is missing, unknown, of another type or out of range."""
        if len(data) > MAX_FILE_BYTES:
            raise PlanError(f"it has {len(data)} bytes, more than {MAX_FILE_BYTES}")
        try:
            return msgspec.json.decode(data, type=cls)
        except (ValueError, RecursionError) as error:  # msgspec's errors and UnicodeDecodeError are ValueErrors
            raise PlanError(f"it is no {cls.__name__}: {error}") from None


class InputSegment(Json, frozen=True):
    """A closed segment, pinned as `in/<lp>/<name>`."""

    name: str  # "00000000000000000042.log"
    size_bytes: Count
    sha256: str
    base_offset: Int64
    next_offset: Int64  # last offset + 1

    def __post_init__(self) -> None:
        _demand(_SEGMENT.fullmatch(self.name), f"{self.name!r} is not the name of a segment")
        _demand(_SHA256.fullmatch(self.sha256), f"{self.name} has no SHA-256")
        _demand(int(self.name[:20]) == self.base_offset, f"{self.name} does not begin at {self.base_offset}")
        _demand(self.base_offset <= self.next_offset <= _MAX_OFFSET, f"{self.name} ends at {self.next_offset}")


class PartitionPlan(Json, frozen=True):
    """One log partition's part of a plan."""

    partition: Count  # the live directory is <topic of the plan>-<partition>
    clean_up_to: Int64  # exclusive: the base offset of the first segment that is not an input
    inputs: tuple[InputSegment, ...]  # adjacent and ascending, from the log's first segment on

    def __post_init__(self) -> None:
        _demand(self.inputs, f"partition {self.partition} has no inputs")
        _check_order(self.partition, self.inputs, self.clean_up_to)


class Plan(Json, frozen=True):
    """The task of a job. `now_ms` is the clock of tombstone horizons, so a job that is run again gives the same."""

    id: str
    epoch: str  # of the daemon's run, or of the holder of the lock: random
    created_ms: Int64
    expires_ms: Int64
    now_ms: Int64
    delete_retention_ms: Count
    segment_bytes: Int64
    partitions: tuple[PartitionPlan, ...]
    left_bytes: Count = 0  # dirty bytes that were due, too, and come with the next plan
    topic: str = OFFSETS_TOPIC  # a plan is for the partitions of one topic

    def __post_init__(self) -> None:
        _demand(_ID.fullmatch(self.id), f"{self.id!r} is not the id of a plan")
        _demand(_ID.fullmatch(self.epoch), f"{self.epoch!r} is not an epoch")
        _demand(self.segment_bytes > 0, f"segments of {self.segment_bytes} bytes")
        _demand(self.partitions, "a plan without partitions")
        _demand(self.topic in COMPACTED_TOPICS, f"{self.topic!r} is not a topic that is compacted")
        _check_distinct([part.partition for part in self.partitions])

    @property
    def sha256(self) -> str:
        """SHA-256 of the file's bytes; a manifest carries it."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def partition(self, number: int) -> PartitionPlan | None:
        """Return the part of this partition, or None."""
        return next((part for part in self.partitions if part.partition == number), None)


class OutputSegment(Json, frozen=True):
    """A compacted segment that the job wrote."""

    name: str  # the live name: that of the first input of its group
    file: str  # where it is below out/, unique for the attempt: "<lp>/<name>.<attempt>"
    size_bytes: Count
    sha256: str
    records: Count
    batches: Count
    first_offset: Int64  # base offset of the first batch; next_offset, if there is none
    next_offset: Int64  # last offset + 1
    max_timestamp_ms: Int64  # -1: none

    def __post_init__(self) -> None:
        _demand(_SEGMENT.fullmatch(self.name), f"{self.name!r} is not the name of a segment")
        found = _OUTPUT.fullmatch(self.file)
        _demand(
            found is not None and found[2] == self.name, f"{self.file!r} is not where an output of {self.name} lies"
        )
        _demand(_SHA256.fullmatch(self.sha256), f"{self.file} has no SHA-256")
        _demand(
            self.base_offset <= self.first_offset <= self.next_offset <= _MAX_OFFSET,
            f"{self.file} holds the offsets {self.first_offset}..{self.next_offset}",
        )

    @property
    def base_offset(self) -> int:
        return int(self.name[:20])


class CompactionStats(Json, frozen=True):
    """Counts of the compaction of one partition."""

    bytes_before: Int64 = 0
    bytes_after: Int64 = 0
    records_before: Int64 = 0
    records_after: Int64 = 0
    keys: Int64 = 0
    tombstones_kept: Int64 = 0
    tombstones_dropped: Int64 = 0
    batches_before: Int64 = 0
    batches_after: Int64 = 0
    aborted_dropped: Int64 = 0
    markers_kept: Int64 = 0
    markers_dropped: Int64 = 0

    def __add__(self, other: CompactionStats) -> CompactionStats:
        return CompactionStats(*[mine + more for mine, more in zip(astuple(self), astuple(other), strict=True)])


class PartitionResult(Json, frozen=True):
    """The result of one partition. One that failed does not stop the others."""

    partition: Count
    inputs: tuple[InputSegment, ...]  # as in the plan
    outputs: tuple[OutputSegment, ...]
    stats: CompactionStats = CompactionStats()
    error: str | None = None  # one sentence; the outputs are then ignored

    def __post_init__(self) -> None:
        for output in self.outputs:
            _demand(
                output.file.startswith(f"{self.partition}/"),
                f"{output.file} is no output of partition {self.partition}",
            )
        _check_order(self.partition, self.inputs, None)
        _check_order(self.partition, self.outputs, None)


class Manifest(Json, frozen=True):
    """The result of a job. Written last: the outputs it names are complete and on the device."""

    plan_id: str
    epoch: str
    plan_sha256: str
    job_version: str
    mode: str  # "single", "partition" or "distributed"; tests write others
    partitions: tuple[PartitionResult, ...]
    seconds: dict[str, float] = {}  # by stage

    def __post_init__(self) -> None:
        _demand(_ID.fullmatch(self.plan_id), f"{self.plan_id!r} is not the id of a plan")
        _demand(_ID.fullmatch(self.epoch), f"{self.epoch!r} is not an epoch")
        _demand(_SHA256.fullmatch(self.plan_sha256), "the manifest carries no hash of its plan")
        _check_distinct([result.partition for result in self.partitions])


@dataclass(frozen=True, slots=True)
class JobDir:
    """The places of one job: DATA_DIR/compaction/jobs/<id>."""

    path: Path

    @classmethod
    def of(cls, data_dir: Path, plan_id: str) -> JobDir:
        """Return the directory of a plan. PlanError if the id could lead anywhere else."""
        _demand(_ID.fullmatch(plan_id), f"{plan_id!r} is not the id of a plan")
        return cls(jobs_dir(data_dir) / plan_id)

    def touch(self) -> None:
        """Extend the plan's time limit, because the job or the check of its result makes progress."""
        with suppress(OSError):
            os.utime(self.plan)

    @property
    def plan(self) -> Path:
        return self.path / "plan.json"

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def done(self) -> Path:
        return self.path / "DONE"

    @property
    def refused(self) -> Path:
        return self.path / "REFUSED"

    @property
    def pins(self) -> Path:
        return self.path / "in"

    @property
    def out(self) -> Path:
        return self.path / "out"

    def in_dir(self, partition: int) -> Path:
        """The pinned inputs of one partition."""
        return self.pins / str(partition)

    def out_dir(self, partition: int) -> Path:
        """The directory of one partition's outputs."""
        return self.out / str(partition)

    def output(self, output: OutputSegment) -> Path:
        """The path of an output."""
        return self.out / output.file


def jobs_dir(data_dir: Path) -> Path:
    """The parent of all jobs."""
    return data_dir / COMPACTION_DIR / JOBS_DIR


def _demand(condition: object, sentence: str) -> None:
    if not condition:
        raise PlanError(sentence)


def _check_distinct(partitions: Sequence[int]) -> None:
    _demand(len(set(partitions)) == len(partitions), "a partition is named twice")


def _check_order(partition: int, files: Sequence[InputSegment | OutputSegment], clean_up_to: int | None) -> None:
    """Raise unless each file begins where the one before it ends, or later."""
    due = 0
    for file in files:
        _demand(file.base_offset >= due, f"{file.name} of partition {partition} lies inside the segment before it")
        due = max(file.next_offset, file.base_offset + 1)
    _demand(
        clean_up_to is None or due <= clean_up_to or not files,
        f"the inputs of partition {partition} go beyond offset {clean_up_to}",
    )
