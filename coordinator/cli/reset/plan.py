"""The plan of a restore or an undo: the change of each partition, from its offsets then and now.

Pure: the offsets of then come from history; today's offsets and the ranges of the partitions' logs come from the
brokers, or are unknown. An offset outside the log is moved to the nearest one in it, as Kafka's own reset tool does: a
consumer that starts outside the log goes to wherever `auto.offset.reset` says, which may be the end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.history.commits import Standing, TopicPartition


@dataclass(frozen=True, slots=True)
class Reach:
    """First and end offsets of the partitions that exist and have a leader, as told by the brokers."""

    start: Mapping[TopicPartition, int]
    end: Mapping[TopicPartition, int]
    existing: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Today:
    """A committed offset of today."""

    offset: int
    metadata: str


class Act(Enum):
    """Actions on a partition; the values are shown to users."""

    COMMIT = "set"
    SAME = "unchanged"
    DELETE = "deleted"
    LEAVE = "left alone"
    GONE = "not possible"


@dataclass(frozen=True, slots=True)
class PartitionReset:
    """One partition of the plan."""

    topic: str
    partition: int
    act: Act
    now: int | None  # None: no offset, or unknown
    then: int | None  # None: there was no offset
    target: int | None  # the offset to commit; differs from `then` if that is outside the log
    metadata: str
    then_ms: int | None  # when `then` was committed
    note: str

    @property
    def change(self) -> int | None:
        """The difference between `now` and the target."""
        return self.target - self.now if self.target is not None and self.now is not None else None


def make_plan(
    then: Mapping[TopicPartition, Standing | None],
    now: Mapping[TopicPartition, Today] | None,
    reach: Reach | None,
    *,
    delete_new: bool,
) -> list[PartitionReset]:
    """Return a step for each partition that had an offset then or has one now. `None`: the brokers did not answer."""
    partitions = then.keys() | (now or {}).keys()
    return [
        _step(key, then.get(key), None if now is None else now.get(key), reach, delete_new=delete_new)
        for key in sorted(partitions)
    ]


def _step(
    key: TopicPartition, then: Standing | None, now: Today | None, reach: Reach | None, *, delete_new: bool
) -> PartitionReset:
    today = None if now is None else now.offset
    if then is None:
        if now is None:
            return PartitionReset(*key, Act.SAME, None, None, None, "", None, "had no offset, and has none")
        if delete_new:
            return PartitionReset(*key, Act.DELETE, today, None, None, "", None, "had no offset then")
        return PartitionReset(*key, Act.LEAVE, today, None, None, "", None, "had no offset then")
    target, note = then.offset, ""
    if reach is not None:
        if key not in reach.existing:
            return PartitionReset(*key, Act.GONE, today, target, None, "", then.committed_ms, "does not exist any more")
        start, end = reach.start.get(key), reach.end.get(key)
        if start is not None and target < start:
            target, note = start, f"its log now begins at {start}: set to that"
        elif end is not None and target > end:
            target, note = end, f"its log now ends at {end}: set to that"
    same = now is not None and (now.offset, now.metadata) == (target, then.metadata)
    return PartitionReset(
        *key, Act.SAME if same else Act.COMMIT, today, then.offset, target, then.metadata, then.committed_ms, note
    )


def targets(steps: list[PartitionReset]) -> dict[TopicPartition, int]:
    """Return every offset that the partitions should have after the plan, including unchanged ones."""
    return {(step.topic, step.partition): step.target for step in steps if step.target is not None}
