"""Decides when a log partition is due for compaction, how far, and in which order: pure functions over facts of logs.

A log is clean up to a checkpoint, the end of the last round, and dirty behind it. It is due when the dirty part is more
than min.cleanable.dirty.ratio of what a round would read, or when a record in it is older than max.compaction.lag.ms. A
round ends at the first segment that must not be touched: the active one; the first dirty one with a record younger than
min.compaction.lag.ms; the one that holds `not_beyond`. The dirtiest partition comes first.

Source: Kafka's LogCleanerManager (cleanableOffsets, maxCompactionDelay, calculateCleanableBytes,
grabFilthiestCompactedLog) and LogToClean. One difference: Kafka never compacts beyond the last stable offset, because
a transaction without a marker may still be decided. Here rules.py keeps such a transaction as it is, so that one that
hangs for ever does not stop compaction.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from coordinator.storage.log.log import Log

LogName: TypeAlias = tuple[str, int]
"""Topic and partition."""

NO_LAG_LIMIT: Final = 2**63 - 1
"""Kafka's default of max.compaction.lag.ms: a log is never due by age alone."""


class ClosedSegment(NamedTuple):
    """A segment that is not written to any more, with every record of it durable."""

    base_offset: int
    size_bytes: int
    max_timestamp_ms: int  # of its youngest record; -1: none
    first_timestamp_ms: int  # the latest of its first batch, as for segment.ms; -1: none
    next_offset: int = -1  # last offset + 1; a plan needs it


class LogFacts(NamedTuple):
    """The facts of an open log that decide whether it is due, and that a plan is made from."""

    partition: int
    closed: tuple[ClosedSegment, ...]  # ascending, from the log's first on
    active_base_offset: int  # where the first segment begins that is not closed, or not durable to its end


def facts_of(partition: int, log: Log) -> LogFacts:
    """Return the facts of a log at this moment. Any thread; no system calls."""
    segments = log.segments
    high_watermark = log.high_watermark
    closed = []
    active_base_offset = segments[0].base_offset
    for segment, successor in pairwise(segments):
        if successor.base_offset > high_watermark:
            break
        active_base_offset = successor.base_offset
        closed.append(
            ClosedSegment(
                segment.base_offset,
                segment.size_bytes,
                segment.max_timestamp,
                segment.first_timestamp,
                segment.next_offset,
            )
        )
    return LogFacts(partition, tuple(closed), active_base_offset)


@dataclass(frozen=True, slots=True)
class Lags:
    """The settings, under Kafka's names; times in milliseconds."""

    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = NO_LAG_LIMIT


@dataclass(frozen=True, slots=True)
class Cleanable:
    """The work that a round would find in one log partition."""

    first_dirty_offset: int
    clean_up_to: int  # exclusive; the base offset of a segment. At most `first_dirty_offset`: there is nothing to do
    clean_bytes: int
    dirty_bytes: int  # those that the round would compact
    delay_ms: int  # how long the oldest dirty record has been due by age; 0: it is not

    @property
    def ratio(self) -> float:
        """Kafka's cleanable ratio; 0 for an empty log."""
        return self.dirty_bytes / total if (total := self.clean_bytes + self.dirty_bytes) else 0.0

    def is_due(self, lags: Lags) -> bool:
        return self.dirty_bytes > 0 and (self.delay_ms > 0 or self.ratio > lags.min_cleanable_dirty_ratio)


def cleanable(
    closed: Sequence[ClosedSegment],
    *,
    active_base_offset: int,
    checkpoint: int | None,
    lags: Lags,
    now_ms: int,
    not_beyond: int | None = None,
) -> Cleanable:
    """Return what there is to compact below the active segment. `closed` ascends, from the log's first segment on.

    `checkpoint` is where the last round ended; one below the start or beyond the end is ignored, and all is dirty.
    `not_beyond` is an offset that must stay as it is: the round ends at its segment's start.
    """

    def closed_from(offset: int) -> Sequence[ClosedSegment]:
        """Return the closed segments from the one that holds `offset` on; each holds all up to the next one's first."""
        if offset >= active_base_offset:
            return ()
        return closed[max((number for number, one in enumerate(closed) if one.base_offset <= offset), default=0) :]

    start = closed[0].base_offset if closed else active_base_offset
    first_dirty = checkpoint if checkpoint is not None and start <= checkpoint <= active_base_offset else start
    dirty = closed_from(first_dirty)
    young_ms = now_ms - max(0, lags.min_compaction_lag_ms)
    end = active_base_offset
    if lags.min_compaction_lag_ms > 0:
        end = min([end, *(segment.base_offset for segment in dirty if segment.max_timestamp_ms > young_ms)])
    if not_beyond is not None:
        end = min([end, *(segment.base_offset for segment in closed_from(not_beyond))])
    return Cleanable(
        first_dirty_offset=first_dirty,
        clean_up_to=end,
        clean_bytes=sum(segment.size_bytes for segment in closed if segment.base_offset < first_dirty),
        dirty_bytes=sum(segment.size_bytes for segment in dirty if segment.base_offset < end),
        delay_ms=_delay_ms(dirty, lags, now_ms),
    )


def _delay_ms(dirty: Sequence[ClosedSegment], lags: Lags, now_ms: int) -> int:
    oldest_ms = min((one.first_timestamp_ms for one in dirty if one.first_timestamp_ms > 0), default=None)
    limit_ms = now_ms - max(0, lags.max_compaction_lag_ms)
    return 0 if oldest_ms is None else max(0, limit_ms - oldest_ms)


def bounded(
    due: Sequence[tuple[int, Cleanable]], closed: Mapping[int, Sequence[ClosedSegment]], max_dirty_bytes: int
) -> tuple[list[tuple[int, Cleanable]], int]:
    """Take segments that are due, up to a number of dirty bytes but at least one, and count the bytes left over.

    `due` is what `dirtiest_first` gives, `closed` the closed segments by partition. A partition that is cut ends with a
    whole segment. Clean bytes do not count, as in Kafka, whose limit is the keys of the dirty part.
    """
    taken: list[tuple[int, Cleanable]] = []
    room = max_dirty_bytes
    for number, found in due:
        dirty = 0
        for segment, following in zip_longest(closed[number], closed[number][1:]):
            end = found.clean_up_to if following is None else following.base_offset
            if segment.base_offset >= found.clean_up_to:
                break
            if end <= found.first_dirty_offset:
                continue
            if segment.size_bytes > room - dirty and (taken or dirty):
                break
            dirty += segment.size_bytes
            cut = replace(found, clean_up_to=end, dirty_bytes=dirty)
        if dirty:
            taken.append((number, cut))
            room -= dirty
    return taken, sum(found.dirty_bytes for _, found in due) - sum(found.dirty_bytes for _, found in taken)


def dirtiest_first(partitions: Iterable[tuple[int, Cleanable]], lags: Lags) -> list[tuple[int, Cleanable]]:
    """Return the (partition number, work) pairs that are due, by dirty ratio; equal ones by number."""
    due = [(number, found) for number, found in partitions if found.is_due(lags)]
    return sorted(due, key=lambda one: (-one[1].ratio, one[0]))
