"""What a restore or an undo would change, partition by partition, from what stood then and what stands now.

Pure: what stood then comes from history, what stands now and how far each partition's log reaches come from the
brokers, or are unknown. As Kafka's own reset tool does, an offset that the log no longer holds is moved to the nearest
one it does: a consumer that starts outside of its log goes wherever `auto.offset.reset` says, which may be its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from coordinator.history.commits import Standing, TopicPartition


@dataclass(frozen=True, slots=True)
class Reach:
    """What the brokers say of the partitions: the first and next offset of each that exists and has a leader."""

    start: Mapping[TopicPartition, int]
    end: Mapping[TopicPartition, int]
    existing: frozenset[TopicPartition]


@dataclass(frozen=True, slots=True)
class Today:
    """An offset as it stands now."""

    offset: int
    metadata: str


class Act(Enum):
    """What happens to a partition; the value is for people."""

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
    now: int | None  # None: no offset, or not known
    then: int | None  # None: there was no offset
    target: int | None  # what would be committed; differs from `then` where the log does not reach
    metadata: str
    then_ms: int | None  # when `then` was committed
    note: str

    @property
    def change(self) -> int | None:
        """From now to the target."""
        return self.target - self.now if self.target is not None and self.now is not None else None


def make_plan(
    then: Mapping[TopicPartition, Standing | None],
    now: Mapping[TopicPartition, Today] | None,
    reach: Reach | None,
    *,
    delete_new: bool,
) -> list[PartitionReset]:
    """A step for each partition that had an offset then, or has one now. `None`: the brokers were not asked."""
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
    """Every offset that the plan wants to stand in the end, whether it does already or not."""
    return {(step.topic, step.partition): step.target for step in steps if step.target is not None}
