"""The lag of groups: by partition, and at regular moments, with how fast it grows."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from coordinator.console.model import UNOWNED, Lag, PartitionLag, Ribbon
from coordinator.core.events.model import Story
from coordinator.explain.transactions import is_long

UNKNOWN: Final = -1
SAMPLE_S: Final = 15.0
SAMPLE_MS: Final = int(SAMPLE_S * 1000)
SAMPLES: Final = 60
MOST_SAMPLED: Final = 20_000  # groups
MOST_PARTITIONS: Final = 500  # of one group

TopicPartition = tuple[str, int]
Committed = tuple[int, int]  # the offset, and when it was committed; UNKNOWN: not known


def lag_of(
    committed: Mapping[TopicPartition, Committed], ends: Mapping[TopicPartition, int], samples: list[int]
) -> Lag | None:
    """Return the lag of a group with these offsets; None if it has none."""
    if not committed:
        return None
    rows = [
        PartitionLag(
            topic=topic,
            partition=partition,
            committed=offset,
            committed_ms=at_ms,
            end=ends.get((topic, partition), UNKNOWN),
            lag=max(ends[topic, partition] - offset, 0) if (topic, partition) in ends else UNKNOWN,
        )
        for (topic, partition), (offset, at_ms) in committed.items()
    ]
    rows.sort(key=lambda row: (-row.lag, row.topic, row.partition))
    known = [row.lag for row in rows if row.lag != UNKNOWN]
    return Lag(
        total=sum(known) if known else UNKNOWN,
        per_s=per_s(samples, SAMPLE_MS),
        samples=samples,
        sample_ms=SAMPLE_MS,
        partitions=rows[:MOST_PARTITIONS],
        partitions_left_out=max(len(rows) - MOST_PARTITIONS, 0),
    )


def note_owners(lag: Lag | None, ribbon: Ribbon | None) -> None:
    """Note in each partition of a lag the owner that it has at the end of the ribbon."""
    if lag is None or ribbon is None:
        return
    owners = {(row.topic, row.partition): row.spans[-1][2] for row in ribbon.rows if row.spans}
    for each in lag.partitions:
        each.owner = owners.get((each.topic, each.partition), UNOWNED)


def note_held(lag: Lag | None, story: Story) -> None:
    """Note in each partition of a lag the transaction that holds the group back there."""
    held = {(each.topic, each.partition): each for each in story.held if is_long(each.transaction, story)}
    for each in lag.partitions if lag is not None else ():
        found = held.get((each.topic, each.partition))
        if found is not None:
            each.held_at, each.held_by = found.last_stable_offset, found.transaction.transactional_id


class LagSamples:
    """The last `kept` values of at most `most_groups` groups; the one that was sampled longest ago is forgotten."""

    def __init__(self, most_groups: int = MOST_SAMPLED, kept: int = SAMPLES) -> None:
        self._most_groups = most_groups
        self._kept = kept
        self._values: OrderedDict[str, array[int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def add(self, group: str, lag: int) -> None:
        """Note the lag of a group, or UNKNOWN."""
        values = self._values.get(group)
        if values is None:
            values = self._values[group] = array("q")
            if len(self._values) > self._most_groups:
                self._values.popitem(last=False)
        else:
            self._values.move_to_end(group)
            if len(values) >= self._kept:
                del values[0]
        values.append(lag)

    def of(self, group: str) -> list[int]:
        """Return the values of a group, oldest first."""
        values = self._values.get(group)
        return [] if values is None else values.tolist()


def per_s(values: Sequence[int], sample_ms: int) -> float | None:
    """Return the slope of a line through the known values (least squares), in records per second; None: not known."""
    known = [(position, value) for position, value in enumerate(values) if value != UNKNOWN]
    if len(known) < 2 or sample_ms <= 0:
        return None
    mean_position = sum(position for position, _ in known) / len(known)
    mean_value = sum(value for _, value in known) / len(known)
    rise = sum((position - mean_position) * (value - mean_value) for position, value in known)
    run = sum((position - mean_position) ** 2 for position, _ in known)
    return rise / run * 1000 / sample_ms
