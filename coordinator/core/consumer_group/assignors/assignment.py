"""Assignments: which partitions of which topics, by topic id.

An assignment is a dict from a topic id (16 bytes) to its partitions, a tuple in ascending order that is never empty. It
is never changed in place, because members, targets and answers share it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

Assignment: TypeAlias = Mapping[bytes, tuple[int, ...]]
NOTHING_ASSIGNED: Final[Assignment] = MappingProxyType({})


def assignment_of(pairs: Iterable[tuple[bytes, Iterable[int]]]) -> Assignment:
    """Return an assignment from pairs of topic id and partitions; a topic may be named twice, or have no partition."""
    collected: dict[bytes, set[int]] = {}
    for topic_id, partitions in pairs:
        collected.setdefault(topic_id, set()).update(partitions)
    return {topic_id: tuple(sorted(some)) for topic_id, some in sorted(collected.items()) if some}


def contains(assignment: Assignment, part: Assignment) -> bool:
    """Return whether each partition of `part` is in `assignment`."""
    return all(
        topic_id in assignment and set(partitions) <= set(assignment[topic_id]) for topic_id, partitions in part.items()
    )


def overlaps(one: Assignment, other: Assignment) -> bool:
    """Return whether any partition is in both."""
    return any(
        topic_id in other and not set(partitions).isdisjoint(other[topic_id]) for topic_id, partitions in one.items()
    )


def merged(one: Assignment, other: Assignment) -> Assignment:
    """Return the partitions that are in either."""
    return assignment_of((*one.items(), *other.items()))


def partition_count(assignment: Assignment) -> int:
    """Return the number of partitions of all topics."""
    return sum(map(len, assignment.values()))
