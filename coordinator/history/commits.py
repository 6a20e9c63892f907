"""The commits of one group as columns, in log order, and its committed offsets at any moment.

A commit counts from the moment it takes effect: its own, or that of the marker that commits its transaction. One in an
aborted or open transaction never counts. At a moment, a partition has the offset of its record with the greatest log
offset among those that counted by then, unless that record is a tombstone. This is what a coordinator would have loaded
from the log as it was (`coordinator.core.offsets.replay`): the newest record wins, not the newest marker.

A moment is a log offset (exact: a coordinator that had read up to there) or a time. By time, the records count whose
timestamps are not later; ties and a clock that was set back are settled by the log offset.
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
    """The committed offset of a partition at some moment."""

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
    offset: Ints  # the committed offset; -1 in a tombstone
    is_tombstone: Bools
    committed_ms: Ints  # when the coordinator took it; in a tombstone the timestamp
    leader_epoch: Ints
    producer_id: Ints  # -1: in no transaction
    counts_from: Ints  # log offset of the record that made it count; NEVER if there is none
    counts_ms: Ints
    is_open: Bools  # in a transaction that the log has no end of
    metadata: pa.ChunkedArray | pa.Array

    def __len__(self) -> int:
        return len(self.log_offset)

    @property
    def counted(self) -> Bools:
        """Mask of the elements that ever took effect."""
        counted: Bools = self.counts_from != NEVER
        return counted

    def of(self, index: int) -> Standing:
        """Return one element as a value."""
        return Standing(
            int(self.offset[index]),
            self.metadata[index].as_py() or "",
            int(self.leader_epoch[index]),
            int(self.committed_ms[index]),
            int(self.log_offset[index]),
        )

    def take(self, indexes: Ints | Bools) -> Commits:
        """Return these elements (ascending indexes, or a mask), with all keys."""
        if indexes.dtype == np.bool_:
            indexes = np.flatnonzero(indexes)
        taken: dict[str, Any] = {name: getattr(self, name)[indexes] for name in _ARRAYS}
        return replace(self, **taken, metadata=self.metadata.take(pa.array(indexes)))

    def previous(self) -> Ints:
        """Return for each element the index of the one before it with the same key; -1: it is the first."""
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
    "is_open",
)


def standing_indexes(commits: Commits, cut: Cut) -> dict[TopicPartition, int]:
    """Return the index of the element in effect for each partition that has an offset at that moment."""
    counts = (commits.counts_from < cut.before_offset) & (commits.counts_ms <= cut.until_ms) & commits.counted
    rows = np.flatnonzero(counts)
    last = np.full(len(commits.keys), -1, np.int64)
    last[commits.key[rows]] = rows  # the last assignment to an index wins: the greatest log offset
    return {
        commits.keys[number]: int(row) for number, row in enumerate(last) if row >= 0 and not commits.is_tombstone[row]
    }


def standing(commits: Commits, cut: Cut) -> dict[TopicPartition, Standing]:
    """Return the group's offsets at that moment, in the order of their partitions."""
    return {key: commits.of(row) for key, row in standing_indexes(commits, cut).items()}


def resolve(log_offset: Ints, timestamp_ms: Ints, producer_id: Ints, markers: Markers) -> tuple[Ints, Ints, Bools]:
    """Return (log offset, time) from which each record counts, and a mask of those whose transaction has no end.

    `producer_id` is -1 outside of transactions.
    """
    counts_from, counts_ms = log_offset.copy(), timestamp_ms.copy()
    is_open = np.zeros(len(log_offset), np.bool_)
    for producer in np.unique(producer_id[producer_id >= 0]):
        rows = np.flatnonzero(producer_id == producer)
        own = np.flatnonzero(markers.producer_id == producer)
        place = np.searchsorted(markers.log_offset[own], log_offset[rows], side="right")  # the first marker after it
        ended = place < len(own)
        end = own[place[ended]]
        committed = markers.is_commit[end]
        counts_from[rows], counts_ms[rows] = NEVER, NEVER
        is_open[rows] = ~ended
        counts_from[rows[ended][committed]] = markers.log_offset[end[committed]]
        counts_ms[rows[ended][committed]] = markers.timestamp_ms[end[committed]]
    return counts_from, counts_ms, is_open


def no_commits() -> Commits:
    """Return the empty columns of a group that never committed."""
    empty: Any = np.empty(0, np.int64)
    false = np.empty(0, np.bool_)
    metadata = pa.array([], pa.string())
    return Commits([], empty, empty, empty, empty, false, empty, empty, empty, empty, empty, false, metadata)
