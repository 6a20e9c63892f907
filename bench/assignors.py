"""`python bench/assignors.py`: the assignors of KIP-848 groups, by the size of the group.

Each group is assigned once with no targets before, and once more after one member has joined it. Members of the
heterogeneous group subscribe to 10 topics each, chosen at random. The figures are processor time in this thread: of the
whole computation, and of its slowest step, between two of which the server handles other events. A step is the same in
each run, so its fastest run counts. Python's collector is off, because the server times its passes by themselves.
"""

from __future__ import annotations

import gc
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.findings import Findings, Verdict, parser
from bench.report import markdown_table
from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED
from coordinator.core.consumer_group.assignors.interface import (
    ConsumerGroupPartitionAssignor,
    GroupSpec,
    MemberSpec,
    TargetAssignments,
)
from coordinator.core.consumer_group.assignors.range import RangeAssignor
from coordinator.core.consumer_group.assignors.uniform import UniformAssignor

SIZES: Final = (
    (100, 20, 50),
    (1_000, 100, 100),
    (10_000, 100, 1_000),
    (10_000, 1, 100_000),
)  # members, topics, partitions of each
TOPICS_OF_A_MEMBER: Final = 10
STEP_MS: Final = 2.0
TOTAL_MS: Final = 3_000.0


@dataclass(frozen=True, slots=True)
class Kind:
    """One way to assign a group."""

    name: str
    assignor: ConsumerGroupPartitionAssignor
    is_homogeneous: bool


KINDS: Final = (
    Kind("uniform, homogeneous", UniformAssignor(), True),
    Kind("uniform, heterogeneous", UniformAssignor(), False),
    Kind("range, homogeneous", RangeAssignor(), True),
    Kind("range, heterogeneous", RangeAssignor(), False),
)


def group(members: int, topics: int, partitions: int, *, is_homogeneous: bool, seed: int = 1) -> GroupSpec:
    """Return a group without targets. One with more members begins with the members of a smaller one."""
    chance = random.Random(seed)
    ids = sorted(chance.randbytes(16) for _ in range(topics))
    everything = frozenset(ids)
    specs: dict[str, MemberSpec] = {}
    for _ in range(members):
        member_id = chance.randbytes(16).hex()
        some = chance.sample(ids, min(TOPICS_OF_A_MEMBER, topics))
        specs[member_id] = MemberSpec(None, None, everything if is_homogeneous else frozenset(some), NOTHING_ASSIGNED)
    return GroupSpec(specs, dict.fromkeys(ids, partitions), is_homogeneous)


def with_targets(spec: GroupSpec, found: TargetAssignments) -> GroupSpec:
    """Return the same members with targets."""
    members = {
        member_id: member._replace(target=found.get(member_id, NOTHING_ASSIGNED))
        for member_id, member in spec.members.items()
    }
    return spec._replace(members=members)


def timed(assignor: ConsumerGroupPartitionAssignor, spec: GroupSpec) -> tuple[list[float], TargetAssignments]:
    """Assign. Return the milliseconds of each step, and the result."""
    steps = assignor.steps(spec)
    taken: list[float] = []
    while True:
        began = time.thread_time()
        try:
            next(steps)
        except StopIteration as result:
            taken.append((time.thread_time() - began) * 1e3)
            found: TargetAssignments = result.value
            return taken, found
        taken.append((time.thread_time() - began) * 1e3)


def fastest(
    assignor: ConsumerGroupPartitionAssignor, spec: GroupSpec, runs: int
) -> tuple[list[float], TargetAssignments]:
    """Assign again and again. Return the fastest run of each step, and the result."""
    gc.collect()
    gc.disable()
    try:
        best, found = timed(assignor, spec)
        for _ in range(runs - 1):
            taken, _ = timed(assignor, spec)
            best = [min(pair) for pair in zip(best, taken, strict=True)]
    finally:
        gc.enable()
    return best, found


def moves(spec: GroupSpec, found: TargetAssignments) -> int:
    """Return how many partitions are another member's than before, those included that had no member."""
    return sum(
        len(set(partitions).difference(spec.members[member_id].target.get(topic_id, ())))
        for member_id, assignment in found.items()
        for topic_id, partitions in assignment.items()
    )


def check(spec: GroupSpec, found: TargetAssignments) -> None:
    """Fail unless each partition has one member."""
    owned: dict[bytes, list[int]] = {topic_id: [] for topic_id in spec.topics}
    for assignment in found.values():
        for topic_id, partitions in assignment.items():
            owned[topic_id] += partitions
    for topic_id, count in spec.topics.items():
        assert sorted(owned[topic_id]) == list(range(count)), "a partition has no member, or two"


def measure(findings: Findings, kind: Kind, size: tuple[int, int, int], runs: int) -> list[list[str]]:
    members, topics, partitions = size
    shape = f"{members:,} x {topics * partitions:,} ({topics:,} topic{'s' if topics > 1 else ''})"
    before = group(members, topics, partitions, is_homogeneous=kind.is_homogeneous)
    after = group(members + 1, topics, partitions, is_homogeneous=kind.is_homogeneous)
    rows = []
    targets: TargetAssignments = {}
    for what, spec in (("fresh", before), ("one joins", after)):
        spec = with_targets(spec, targets)
        taken, targets = fastest(kind.assignor, spec, runs)
        check(spec, targets)
        total, slowest, moved = sum(taken), max(taken), moves(spec, targets)
        findings.raw.setdefault("assignments", []).append(
            {
                "kind": kind.name,
                "members": members,
                "topics": topics,
                "partitions": topics * partitions,
                "what": what,
                "total_ms": total,
                "slowest_step_ms": slowest,
                "steps": len(taken),
                "moves": moved,
            }
        )
        rows.append([kind.name, shape, what, f"{total:,.1f}", f"{slowest:.2f}", f"{len(taken):,}", f"{moved:,}"])
        findings.progress(f"{kind.name}, {shape}, {what}: {total:,.1f} ms, slowest step {slowest:.2f} ms")
    return rows


def main() -> int:
    arguments = parser(__doc__)
    arguments.add_argument("--runs", type=int, default=5, help="of each; the fastest of each step counts (default 5)")
    args = arguments.parse_args()
    findings = Findings("assignors", "Assignors of KIP-848 groups")
    rows: list[list[str]] = []
    for kind in KINDS:
        for size in SIZES[:2] if args.quick else SIZES:
            if kind.is_homogeneous or size[1] > TOPICS_OF_A_MEMBER:
                findings.attempt(
                    f"ours: {kind.name}, {size[0]:,} members",
                    lambda kind=kind, size=size: rows.extend(measure(findings, kind, size, args.runs)),  # type: ignore[misc]
                )
    headings = ["assignor", "members x partitions", "", "total, ms", "slowest step, ms", "steps", "moves"]
    findings.table("Processor time of one assignment", markdown_table(headings, rows))
    figures = findings.raw.get("assignments", [])
    findings.verdicts = [
        Verdict("the slowest step", STEP_MS, "ms", max((each["slowest_step_ms"] for each in figures), default=None)),
        Verdict("the longest assignment", TOTAL_MS, "ms", max((each["total_ms"] for each in figures), default=None)),
    ]
    return findings.finish(args)


if __name__ == "__main__":
    sys.exit(main())
