"""Specs of groups in a short notation, and assignors run to their end.

A topic is written as a name such as "T1"; its id is the name, filled up with zero bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from coordinator.core.consumer_group.assignors.interface import (
    ConsumerGroupPartitionAssignor,
    GroupSpec,
    MemberSpec,
    TargetAssignments,
)

Shares = Mapping[str, Mapping[str, Iterable[int]]]  # member -> topic -> partitions


class Sub(NamedTuple):
    """A member: its topics, and its instance id if it is a static one."""

    topics: tuple[str, ...]
    instance_id: str | None = None


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"\0")


def spec_of(topics: Mapping[str, int], members: Mapping[str, Sub], targets: Shares | None = None) -> GroupSpec:
    """Return a spec. Topics to which no member subscribes are left out of it, as a group leaves them out."""
    subscribed = {name for member in members.values() for name in member.topics}
    specs = {
        member_id: MemberSpec(
            member.instance_id,
            None,
            frozenset(map(topic_id, member.topics)),
            {topic_id(name): tuple(some) for name, some in (targets or {}).get(member_id, {}).items()},
        )
        for member_id, member in members.items()
    }
    is_homogeneous = len({member.topic_ids for member in specs.values()}) <= 1
    return GroupSpec(
        specs, {topic_id(name): count for name, count in topics.items() if name in subscribed}, is_homogeneous
    )


def assigned(assignor: ConsumerGroupPartitionAssignor, spec: GroupSpec) -> tuple[TargetAssignments, int]:
    """Return the target assignments and the number of yields."""
    steps = assignor.steps(spec)
    yields = 0
    while True:
        try:
            next(steps)
        except StopIteration as result:
            found: TargetAssignments = result.value
            return found, yields
        yields += 1


def shares(found: TargetAssignments) -> dict[str, dict[str, tuple[int, ...]]]:
    """Return assignments in the short notation."""
    return {
        member_id: {key.rstrip(b"\0").decode(): some for key, some in assignment.items()}
        for member_id, assignment in found.items()
    }


def with_targets(spec: GroupSpec, found: TargetAssignments) -> GroupSpec:
    """Return the spec of the same group after it has this target."""
    members = {
        member_id: member._replace(target=found.get(member_id, {})) for member_id, member in spec.members.items()
    }
    return spec._replace(members=members)
