"""Plans and manifests as files: they survive a round trip, and anything else is refused."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from coordinator.compaction.plan import (
    CompactionStats,
    InputSegment,
    JobDir,
    Manifest,
    OutputSegment,
    PartitionPlan,
    PartitionResult,
    Plan,
    PlanError,
)

SHA = "ab" * 32
INPUTS = (
    InputSegment("00000000000000000000.log", 100, SHA, 0, 10),
    InputSegment("00000000000000000010.log", 120, SHA, 10, 19),
)
PLAN = Plan(
    id="20261121T101500-1f",
    epoch="3c9f",
    created_ms=1,
    expires_ms=2,
    now_ms=1,
    delete_retention_ms=86_400_000,
    segment_bytes=1000,
    partitions=(PartitionPlan(3, 20, INPUTS),),
)
OUTPUT = OutputSegment(INPUTS[0].name, f"3/{INPUTS[0].name}.a1", 80, SHA, 4, 2, 3, 19, 77)
MANIFEST = Manifest(
    PLAN.id,
    PLAN.epoch,
    PLAN.sha256,
    "1",
    "plain",
    (PartitionResult(3, INPUTS, (OUTPUT,), CompactionStats(bytes_before=220)),),
    {"rewrite": 0.5},
)


@pytest.mark.parametrize("made", [PLAN, MANIFEST], ids=lambda made: type(made).__name__)
def test_plans_and_manifests_survive_a_round_trip_with_the_same_bytes(made: Plan | Manifest) -> None:
    again = type(made).from_bytes(made.to_bytes())
    assert again == made
    assert again.to_bytes() == made.to_bytes()
    assert json.loads(made.to_bytes()) == json.loads(json.dumps(made.to_json()))


def replaced(value: Any, path: tuple[str | int, ...], new: Any) -> Any:
    changed = json.loads(json.dumps(value))
    place = changed
    for step in path[:-1]:
        place = place[step]
    if new is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = new
    return changed


FIRST_INPUT = ("partitions", 0, "inputs", 0)
FIRST_OUTPUT = ("partitions", 0, "outputs", 0)


@pytest.mark.parametrize(
    ("path", "new", "said"),
    [
        (("id",), ..., "missing required field `id`"),
        (("id",), 7, "Expected `str`, got `int` - at `\\$.id`"),
        (("id",), "../up", "not the id"),
        (("epoch",), "", "not an epoch"),
        (("now_ms",), "soon", "Expected `int`, got `str`"),
        (("now_ms",), True, "Expected `int`, got `bool`"),
        (("now_ms",), 1 << 64, "Expected `int` <= "),
        (("surprise",), 1, "unknown field `surprise`"),
        (("partitions",), [], "without partitions"),
        (("partitions",), {}, "Expected `array`, got `object`"),
        (("partitions", 0), [], "Expected `object`, got `array`"),
        (("partitions", 0, "inputs"), [], "no inputs"),
        (("partitions", 0, "clean_up_to"), 18, "go beyond offset 18"),
        ((*FIRST_INPUT, "name"), "../../etc/passwd", "not the name of a segment"),
        ((*FIRST_INPUT, "base_offset"), 4, "does not begin at 4"),
        ((*FIRST_INPUT, "next_offset"), 11, "lies inside the segment before it"),
        ((*FIRST_INPUT, "sha256"), "00", "no SHA-256"),
        ((*FIRST_INPUT, "size_bytes"), -1, "Expected `int` >= 0"),
        (("segment_bytes",), 0, "segments of 0 bytes"),
    ],
)
def test_a_malformed_plan_is_refused_with_a_sentence(path: tuple[str | int, ...], new: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        Plan.from_bytes(json.dumps(replaced(PLAN.to_json(), path, new)).encode())


@pytest.mark.parametrize(
    ("path", "new", "said"),
    [
        ((*FIRST_OUTPUT, "file"), "/etc/passwd", "not where an output"),
        ((*FIRST_OUTPUT, "file"), f"3/../../{OUTPUT.name}.a", "not where an output"),
        ((*FIRST_OUTPUT, "file"), f"3/{OUTPUT.name}", "not where an output"),
        ((*FIRST_OUTPUT, "file"), f"4/{OUTPUT.name}.a1", "no output of partition 3"),
        ((*FIRST_OUTPUT, "first_offset"), 20, "holds the offsets 20..19"),
        ((*FIRST_OUTPUT, "records"), -2, "Expected `int` >= 0"),
        (("plan_sha256",), "", "no hash of its plan"),
        (("seconds", "rewrite"), "long", "Expected `float`, got `str`"),
        (("partitions", 0, "error"), 5, "Expected `str | null`, got `int`"),
    ],
)
def test_a_malformed_manifest_is_refused_with_a_sentence(path: tuple[str | int, ...], new: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        Manifest.from_bytes(json.dumps(replaced(MANIFEST.to_json(), path, new)).encode())


def test_the_same_partition_cannot_be_named_twice() -> None:
    value = copy.deepcopy(json.loads(PLAN.to_bytes()))
    value["partitions"] *= 2
    with pytest.raises(PlanError, match="named twice"):
        Plan.from_bytes(json.dumps(value).encode())


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b'"plan"'])
def test_bytes_that_are_no_plan_are_refused(data: bytes) -> None:
    with pytest.raises(PlanError):
        Plan.from_bytes(data)


def test_truncated_anywhere_a_manifest_is_refused() -> None:
    data = MANIFEST.to_bytes().rstrip()
    for length in range(0, len(data), 7):
        with pytest.raises(PlanError):
            Manifest.from_bytes(data[:length])


def test_a_job_is_inside_its_data_directory_for_any_id() -> None:
    job = JobDir.of(Path("/data"), PLAN.id)
    assert job.output(OUTPUT) == Path("/data/compaction/jobs", PLAN.id, "out", "3", f"{OUTPUT.name}.a1")
    assert job.in_dir(3) == job.path / "in" / "3"
    for wrong in ("", "..", "a/b", "a\0", ".hidden"):
        with pytest.raises(PlanError):
            JobDir.of(Path("/data"), wrong)


def test_statistics_of_partitions_add_up() -> None:
    assert CompactionStats(keys=2, bytes_after=5) + CompactionStats(keys=3) == CompactionStats(keys=5, bytes_after=5)
