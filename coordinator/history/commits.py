"""The commits of one group as columns, in log order, and what stood when.

A commit counts from the moment it takes effect: its own, or that of the marker which ends its transaction; one whose
transaction was aborted, or is still open, never does. What stands at a moment is, for each partition, the record with
the greatest log offset among those that counted by then, unless that is a tombstone. That is what a coordinator
would have loaded from the log as it was (`coordinator.core.offsets.replay`), so "the newest record wins, not the newest
marker" holds here too.

A moment may be a log offset (exact: a coordinator that had read so far) or a time. By time, the records that had been
appended by then count, by their timestamps; ties and a clock that was set back are settled by the log offset.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

TopicPartition: TypeAlias = tuple[str, int]
Ints: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

NEVER: Final = np.iinfo(np.int64).max  # the moment at which an aborted or open transaction counts


@dataclass(frozen=True, slots=True)
class Cut:
    """A moment: only records below this log offset count, and only those appended by this time (ms since the epoch)."""

    before_offset: int = NEVER
    until_ms: int = NEVER - 1


@dataclass(frozen=True, slots=True)
class Standing:
    """A committed offset as it stood."""

    offset: int
    metadata: str
    leader_epoch: int  # -1: none
    committed_ms: int
    log_offset: int


@dataclass(frozen=True, slots=True)
class Markers:
    """The ends of transactions in one partition of the offsets log, in log order."""

    log_offset: Ints
    timestamp_ms: Ints
    producer_id: Ints
    is_commit: Bools

    @classmethod
    def none(cls) -> Markers:
        empty = np.empty(0, np.int64)
        return cls(empty, empty, empty, np.empty(0, np.bool_))


@dataclass(frozen=True, slots=True)
class Commits:
    """Commits and tombstones of a group, one element each, in log order."""

    keys: list[TopicPartition]  # sorted
    key: Ints  # index into `keys`
    log_offset: Ints
    timestamp_ms: Ints
    offset: Ints  # what was committed; -1 in a tombstone
    is_tombstone: Bools
    committed_ms: Ints  # when the coordinator took it; in a tombstone the timestamp
    leader_epoch: Ints
    producer_id: Ints  # -1: in no transaction
    counts_from: Ints  # log offset of what made it count; NEVER if nothing did
    counts_ms: Ints
    metadata: pa.ChunkedArray | pa.Array

    def __len__(self) -> int:
        return len(self.log_offset)

    @property
    def counted(self) -> Bools:
        """Which took effect at all."""
        counted: Bools = self.counts_from != NEVER
        return counted

    def of(self, index: int) -> Standing:
        """One element as a value."""
        return Standing(
            int(self.offset[index]),
            self.metadata[index].as_py() or "",
            int(self.leader_epoch[index]),
            int(self.committed_ms[index]),
            int(self.log_offset[index]),
        )

    def take(self, indexes: Ints | Bools) -> Commits:
        """Some of them (indexes ascending, or a mask); the keys stay."""
        if indexes.dtype == np.bool_:
            indexes = np.flatnonzero(indexes)
        taken: dict[str, Any] = {name: getattr(self, name)[indexes] for name in _ARRAYS}
        return replace(self, **taken, metadata=self.metadata.take(pa.array(indexes)))

    def previous(self) -> Ints:
        """For each element the index of the one before it with the same key; -1: it is the first."""
        order = np.argsort(self.key, kind="stable")
        before = np.full(len(self), -1, np.int64)
        same = self.key[order[1:]] == self.key[order[:-1]]
        before[order[1:][same]] = order[:-1][same]
        return before


_ARRAYS: Final = (
    "key",
    "log_offset",
    "timestamp_ms",
    "offset",
    "is_tombstone",
    "committed_ms",
    "leader_epoch",
    "producer_id",
    "counts_from",
    "counts_ms",
)


def standing_indexes(commits: Commits, cut: Cut) -> dict[TopicPartition, int]:
    """Which element stands for each partition that has an offset at that moment."""
    counts = (commits.counts_from < cut.before_offset) & (commits.counts_ms <= cut.until_ms) & commits.counted
    rows = np.flatnonzero(counts)
    last = np.full(len(commits.keys), -1, np.int64)
    last[commits.key[rows]] = rows  # of repeated indexes the last assignment stays: the greatest log offset
    return {
        commits.keys[number]: int(row) for number, row in enumerate(last) if row >= 0 and not commits.is_tombstone[row]
    }


def standing(commits: Commits, cut: Cut) -> dict[TopicPartition, Standing]:
    """The group's offsets at that moment, in the order of their partitions."""
    return {key: commits.of(row) for key, row in standing_indexes(commits, cut).items()}


def resolve(log_offset: Ints, timestamp_ms: Ints, producer_id: Ints, markers: Markers) -> tuple[Ints, Ints]:
    """(log offset, time) from which each record counts. `producer_id` is -1 outside of transactions."""
    counts_from, counts_ms = log_offset.copy(), timestamp_ms.copy()
    for producer in np.unique(producer_id[producer_id >= 0]):
        rows = np.flatnonzero(producer_id == producer)
        own = np.flatnonzero(markers.producer_id == producer)
        place = np.searchsorted(markers.log_offset[own], log_offset[rows], side="right")  # the first marker behind it
        ended = place < len(own)
        end = own[place[ended]]
        committed = markers.is_commit[end]
        counts_from[rows], counts_ms[rows] = NEVER, NEVER
        counts_from[rows[ended][committed]] = markers.log_offset[end[committed]]
        counts_ms[rows[ended][committed]] = markers.timestamp_ms[end[committed]]
    return counts_from, counts_ms


def no_commits() -> Commits:
    """Of a group that never committed."""
    empty: Any = np.empty(0, np.int64)
    false = np.empty(0, np.bool_)
    return Commits([], empty, empty, empty, empty, false, empty, empty, empty, empty, empty, pa.array([], pa.string()))
