"""What passes between the coordinator and a compaction job: a plan one way, a manifest the other, and where they lie.

A plan names closed segments (pinned as hard links, with size and SHA-256) and every number that decides what is kept,
the clock included. So a job is a function of its plan and of the pinned files: done twice, it gives the same bytes. A
manifest says what was made of them. It repeats the inputs and carries the hash of the plan, so that it can be held
against what is live now; it is written last, so what it names is complete.

Both come from files that somebody else may have written. `from_json` therefore checks everything that can be checked
without the disk, file names above all (they become paths), and raises `PlanError` with one sentence.

Layout below DATA_DIR/compaction/jobs/<id>/: plan.json, in/<lp>/<base>.log (pins), out/<lp>/<file>, manifest.json, and
in the end DONE or REFUSED. `JobDir` knows the names.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import types
import typing
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Self, TypeVar

from coordinator.storage.file_names import COMPACTION_DIR, JOBS_DIR

MAX_FILE_BYTES: Final = 256 << 20  # of a plan or manifest: about a million segments

_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")
_SEGMENT: Final = re.compile(r"\d{20}\.log")
_OUTPUT: Final = re.compile(r"(\d{1,9})/(\d{20}\.log)\.[A-Za-z0-9_-]{1,80}")
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MAX_OFFSET: Final = 2**63 - 1

T = TypeVar("T", bound="Json")


class PlanError(Exception):
    """A plan or a manifest that cannot be what it claims to be; one sentence."""


class Json:
    """To and from what `json` reads and writes; the fields of the dataclass are the schema."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """Plain dicts, lists, strings and numbers."""
        return dataclasses.asdict(self)  # type: ignore[call-overload, no-any-return]

    @classmethod
    def from_json(cls, value: object) -> Self:
        """The inverse of `to_json`. PlanError: a field is missing, unknown, of another type or out of range."""
        return _read_object(cls, value, cls.__name__)

    def to_bytes(self) -> bytes:
        """The file's bytes; equal objects give equal bytes."""
        return (json.dumps(self.to_json(), indent=1, sort_keys=True) + "\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """A file's content. PlanError if it is not one of these."""
        if len(data) > MAX_FILE_BYTES:
            raise PlanError(f"{cls.__name__} has {len(data)} bytes, more than {MAX_FILE_BYTES}")
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise PlanError(f"{cls.__name__} is not JSON: {error}") from None
        return cls.from_json(value)

    def _check(self) -> None:
        """PlanError if the fields do not fit together."""


@dataclass(frozen=True, slots=True)
class InputSegment(Json):
    """A closed segment, pinned as `in/<lp>/<name>`."""

    name: str  # "00000000000000000042.log"
    size_bytes: int
    sha256: str
    base_offset: int
    next_offset: int  # last offset + 1

    def _check(self) -> None:
        _demand(_SEGMENT.fullmatch(self.name), f"{self.name!r} is not the name of a segment")
        _demand(_SHA256.fullmatch(self.sha256), f"{self.name} has no SHA-256")
        _demand(self.size_bytes >= 0, f"{self.name} has {self.size_bytes} bytes")
        _demand(int(self.name[:20]) == self.base_offset, f"{self.name} does not begin at {self.base_offset}")
        _demand(self.base_offset <= self.next_offset <= _MAX_OFFSET, f"{self.name} ends at {self.next_offset}")


@dataclass(frozen=True, slots=True)
class PartitionPlan(Json):
    """One log partition's part of a plan."""

    partition: int  # the live directory is __consumer_offsets-<partition>
    clean_up_to: int  # exclusive: the base offset of the first segment that is not an input
    inputs: tuple[InputSegment, ...]  # adjacent and ascending, from the log's first segment on

    def _check(self) -> None:
        _demand(self.partition >= 0, f"there is no partition {self.partition}")
        _demand(self.inputs, f"partition {self.partition} has no inputs")
        _check_order(self.partition, self.inputs, self.clean_up_to)


@dataclass(frozen=True, slots=True)
class Plan(Json):
    """What a job is to do. `now_ms` is the clock of tombstone horizons: a job that is tried again gives the same."""

    id: str
    epoch: str  # of the daemon's run, or of the holder of the lock: random
    created_ms: int
    expires_ms: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    partitions: tuple[PartitionPlan, ...]
    left_bytes: int = 0  # dirty bytes that were due, too, and come with the next plan

    def _check(self) -> None:
        _demand(_ID.fullmatch(self.id), f"{self.id!r} is not the id of a plan")
        _demand(_ID.fullmatch(self.epoch), f"{self.epoch!r} is not an epoch")
        _demand(self.left_bytes >= 0, f"{self.left_bytes} bytes are left for the next plan")
        _demand(self.segment_bytes > 0, f"segments of {self.segment_bytes} bytes")
        _demand(self.delete_retention_ms >= 0, f"a retention of {self.delete_retention_ms} ms")
        _demand(self.partitions, "a plan without partitions")
        _check_distinct([part.partition for part in self.partitions])

    @property
    def sha256(self) -> str:
        """Of the file's bytes; a manifest carries it."""
        return hashlib.sha256(self.to_bytes()).hexdigest()

    def partition(self, number: int) -> PartitionPlan | None:
        """The part that is about this partition."""
        return next((part for part in self.partitions if part.partition == number), None)


@dataclass(frozen=True, slots=True)
class OutputSegment(Json):
    """A cleaned segment in staging."""

    name: str  # the live name: that of the first input of its group
    file: str  # where it is below out/, unique for the attempt: "<lp>/<name>.<attempt>"
    size_bytes: int
    sha256: str
    records: int
    batches: int
    first_offset: int  # base offset of the first batch; next_offset, if there is none
    next_offset: int  # last offset + 1
    max_timestamp_ms: int  # -1: none

    def _check(self) -> None:
        _demand(_SEGMENT.fullmatch(self.name), f"{self.name!r} is not the name of a segment")
        found = _OUTPUT.fullmatch(self.file)
        _demand(
            found is not None and found[2] == self.name, f"{self.file!r} is not where an output of {self.name} lies"
        )
        _demand(_SHA256.fullmatch(self.sha256), f"{self.file} has no SHA-256")
        _demand(min(self.size_bytes, self.records, self.batches) >= 0, f"{self.file} has a negative size")
        _demand(
            self.base_offset <= self.first_offset <= self.next_offset <= _MAX_OFFSET,
            f"{self.file} holds the offsets {self.first_offset}..{self.next_offset}",
        )

    @property
    def base_offset(self) -> int:
        return int(self.name[:20])


@dataclass(frozen=True, slots=True)
class CleanStats(Json):
    """What cleaning one partition did."""

    bytes_before: int = 0
    bytes_after: int = 0
    records_before: int = 0
    records_after: int = 0
    keys: int = 0
    tombstones_kept: int = 0
    tombstones_dropped: int = 0
    batches_before: int = 0
    batches_after: int = 0
    aborted_dropped: int = 0
    markers_kept: int = 0
    markers_dropped: int = 0

    def __add__(self, other: CleanStats) -> CleanStats:
        names = [one.name for one in dataclasses.fields(self)]
        return CleanStats(**{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True, slots=True)
class PartitionResult(Json):
    """What a job made of one partition. One that failed does not stop the others."""

    partition: int
    inputs: tuple[InputSegment, ...]  # as in the plan
    outputs: tuple[OutputSegment, ...]
    stats: CleanStats = field(default_factory=CleanStats)
    error: str | None = None  # one sentence; the outputs are then of no meaning

    def _check(self) -> None:
        _demand(self.partition >= 0, f"there is no partition {self.partition}")
        for output in self.outputs:
            _demand(
                output.file.startswith(f"{self.partition}/"),
                f"{output.file} is no output of partition {self.partition}",
            )
        _check_order(self.partition, self.inputs, None)
        _check_order(self.partition, self.outputs, None)


@dataclass(frozen=True, slots=True)
class Manifest(Json):
    """What a job did. Written last: the outputs it names are complete and on the device."""

    plan_id: str
    epoch: str
    plan_sha256: str
    job_version: str
    mode: str  # which implementation: "plain", "single", "partition", "distributed"
    partitions: tuple[PartitionResult, ...]
    seconds: dict[str, float] = field(default_factory=dict)  # by stage

    def _check(self) -> None:
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
        """PlanError if the id could lead anywhere else."""
        _demand(_ID.fullmatch(plan_id), f"{plan_id!r} is not the id of a plan")
        return cls(jobs_dir(data_dir) / plan_id)

    def touch(self) -> None:
        """Say that the plan is being worked on, by the job or by the check of its result: its time begins anew."""
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
        """Where the outputs of one partition go."""
        return self.out / str(partition)

    def output(self, output: OutputSegment) -> Path:
        """Where the bytes of an output are."""
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
    """Each file begins where the one before it ends, or later."""
    due = 0
    for file in files:
        _demand(file.base_offset >= due, f"{file.name} of partition {partition} lies inside the segment before it")
        due = max(file.next_offset, file.base_offset + 1)
    _demand(
        clean_up_to is None or due <= clean_up_to or not files,
        f"the inputs of partition {partition} go beyond offset {clean_up_to}",
    )


# Reading JSON: the annotations of the dataclasses say what is allowed.


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _read_object(kind: type[T], value: object, where: str) -> T:
    if not isinstance(value, dict):
        raise PlanError(f"{where} is not an object")
    hints = _hints(typing.cast(Any, kind))
    if unknown := [str(name) for name in value if name not in hints]:
        raise PlanError(f"{where} has the unknown field {unknown[0]}")
    if missing := [name for name in hints if name not in value]:
        raise PlanError(f"{where} has no field {missing[0]}")
    made = kind(**{name: _read(hint, value[name], f"{where}.{name}") for name, hint in hints.items()})
    made._check()
    return made


def _read(hint: Any, value: object, where: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is tuple:
        item = typing.get_args(hint)[0]
        if not isinstance(value, list | tuple):  # a tuple: straight from `to_json`
            raise PlanError(f"{where} is not a list")
        return tuple([_read(item, one, f"{where}[{number}]") for number, one in enumerate(value)])
    if origin is types.UnionType:  # of the kind `str | None` only
        return None if value is None else _read(typing.get_args(hint)[0], value, where)
    if origin is dict:
        if not isinstance(value, dict):
            raise PlanError(f"{where} is not an object")
        return {str(name): _read(float, one, f"{where}.{name}") for name, one in value.items()}
    if dataclasses.is_dataclass(hint):
        return _read_object(typing.cast("type[Json]", hint), value, where)
    reader = _SCALARS[hint]
    made = reader(value)
    if made is None:
        raise PlanError(f"{where} is not {'text' if hint is str else 'a number'}")
    return made


def _int(value: object) -> int | None:
    return value if type(value) is int and -(2**63) <= value < 2**63 else None


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _str(value: object) -> str | None:
    return value if isinstance(value, str) else None


_SCALARS: Final[dict[object, Callable[[object], int | float | str | None]]] = {int: _int, float: _float, str: _str}
