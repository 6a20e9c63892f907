"""Questions about one group's commits: the list of them, their rate, and the partitions that stand still.

Each function takes the group's `Commits` and returns plain values; none reads files or prints. Only commits that took
effect count, not those of aborted or open transactions. Progress is the difference to the previous commit of the same
partition. The first commit of a partition, the first after a deletion, and one that goes back (a reset) have none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt

from coordinator.history.commits import NEVER, Commits, Ints

MAX_CELLS: Final = 20_000_000  # partitions times windows
DEFAULT_WINDOWS: Final = 60
AGAIN: Final = 2  # repeated commits of one offset that count as "no progress"


class QuestionError(Exception):
    """The question cannot be answered as asked. The message is one sentence that says what to do."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The partitions and the range of time (ms since the epoch, both ends included) that a question is about."""

    topics: Sequence[str] = ()  # none: all
    partitions: Sequence[int] = ()
    since_ms: int = -NEVER
    until_ms: int = NEVER

    def wants(self, topic: str, partition: int) -> bool:
        """Return whether a partition is selected."""
        return (not self.topics or topic in self.topics) and (not self.partitions or partition in self.partitions)

    def mask(self, commits: Commits) -> npt.NDArray[np.bool_]:
        """Return a mask of the selected commits."""
        wanted = np.array([self.wants(*key) for key in commits.keys], np.bool_)
        inside = (commits.timestamp_ms >= self.since_ms) & (commits.timestamp_ms <= self.until_ms)
        mask: npt.NDArray[np.bool_] = inside & wanted[commits.key] if len(wanted) else inside
        return mask


@dataclass(frozen=True, slots=True)
class Committed:
    """One commit or deletion."""

    timestamp_ms: int
    topic: str
    partition: int
    offset: int | None  # None: deleted
    change: int | None  # None: there was no offset before
    metadata: str
    leader_epoch: int | None
    log_offset: int
    transaction: str | None  # "committed", "aborted", or "open": the log has no end of it
    producer_id: int | None  # of the transaction


def listed(commits: Commits, selection: Selection, limit: int) -> tuple[list[Committed], int]:
    """Return the newest `limit` selected commits and deletions, oldest first, and the number of all selected ones."""
    before = _before(commits)
    rows = np.flatnonzero(selection.mask(commits))
    found = []
    for row in rows[len(rows) - min(limit, len(rows)) :].tolist():
        topic, partition = commits.keys[commits.key[row]]
        gone = bool(commits.is_tombstone[row])
        prior = before[row]
        known = prior >= 0 and not commits.is_tombstone[prior]
        counted = commits.counts_from[row] != NEVER
        producer_id = int(commits.producer_id[row])
        epoch = int(commits.leader_epoch[row])
        found.append(
            Committed(
                int(commits.timestamp_ms[row]),
                topic,
                partition,
                None if gone else int(commits.offset[row]),
                int(commits.offset[row] - commits.offset[prior]) if known and not gone and counted else None,
                "" if gone else commits.metadata[row].as_py() or "",
                epoch if epoch >= 0 else None,
                int(commits.log_offset[row]),
                _outcome(counted=bool(counted), is_open=bool(commits.is_open[row])) if producer_id >= 0 else None,
                producer_id if producer_id >= 0 else None,
            )
        )
    return found, len(rows)


def _outcome(*, counted: bool, is_open: bool) -> str:
    if counted:
        return "committed"
    return "open" if is_open else "aborted"


def _before(commits: Commits) -> Ints:
    """Return for each element the previous one of its partition that took effect; -1: none."""
    counted = np.flatnonzero(commits.counted)
    before = np.full(len(commits), -1, np.int64)
    earlier = commits.take(counted).previous()
    before[counted] = np.where(earlier >= 0, counted[earlier], -1)
    return before


@dataclass(frozen=True, slots=True)
class CommitRate:
    """Commits and progress for each partition (first axis) and window (second)."""

    keys: list[tuple[str, int]]
    window_ms: int
    starts_ms: Ints
    commits: Ints
    progress: Ints
    resets: Ints  # commits that went back


def rate(commits: Commits, selection: Selection, window_ms: int) -> CommitRate:
    """Count commits and progress in each window; windows begin at multiples of their length.

    Without `since_ms`, returns the `DEFAULT_WINDOWS` windows up to the newest selected commit.
    QuestionError: there would be too many windows.
    """
    before = _before(commits)
    rows = np.flatnonzero(selection.mask(commits) & commits.counted & ~commits.is_tombstone)
    if not len(rows):
        none = np.empty((0, 0), np.int64)
        return CommitRate([], window_ms, np.empty(0, np.int64), none, none, none)
    times = commits.timestamp_ms[rows]
    last = int(times.max()) // window_ms
    first = int(times.min()) // window_ms
    if selection.since_ms == -NEVER:
        first = max(first, last - DEFAULT_WINDOWS + 1)
    rows = rows[times // window_ms >= first]
    numbers, place = np.unique(commits.key[rows], return_inverse=True)
    shape = (len(numbers), last - first + 1)
    if shape[0] * shape[1] > MAX_CELLS:
        raise QuestionError(
            f"that would be {shape[1]} windows for each of {shape[0]} partitions; take a longer --window or less time"
        )
    cell = (place, commits.timestamp_ms[rows] // window_ms - first)
    prior = before[rows]
    known = (prior >= 0) & ~commits.is_tombstone[prior]
    counts = np.zeros(shape, np.int64)
    progress = np.zeros(shape, np.int64)
    resets = np.zeros(shape, np.int64)
    moved = np.where(known, commits.offset[rows] - commits.offset[prior], 0)
    np.add.at(counts, cell, 1)
    # An offset that went back was reset: progress counts from there on.
    np.add.at(progress, cell, np.maximum(moved, 0))
    np.add.at(resets, cell, moved < 0)
    starts = np.arange(first, last + 1, dtype=np.int64) * window_ms
    return CommitRate([commits.keys[number] for number in numbers], window_ms, starts, counts, progress, resets)


class Standstill(Enum):
    """Ways in which a partition stands still; the values are shown to users."""

    STUCK = "no progress"
    SILENT = "no commits"


@dataclass(frozen=True, slots=True)
class Stalled:
    """A partition that stands still."""

    topic: str
    partition: int
    kind: Standstill
    offset: int
    since_ms: int  # STUCK: the first commit of this offset; SILENT: the last commit
    last_commit_ms: int
    commits_since: int  # repeated commits of the same offset


def stalled(commits: Commits, selection: Selection, for_ms: int, now_ms: int) -> list[Stalled]:
    """Return the partitions that have stood still for `for_ms` at `now_ms`, the longest standing first."""
    rows = np.flatnonzero(selection.mask(commits) & commits.counted & (commits.timestamp_ms <= now_ms))
    chosen = commits.take(rows)
    if not len(rows):
        return []
    before = chosen.previous()
    moved = (before < 0) | (chosen.offset != chosen.offset[before])  # -1 in a deletion, which differs from any commit
    indexes = np.arange(len(rows))
    last = _last(indexes, chosen.key, len(chosen.keys))
    last_move = _last(indexes[moved], chosen.key[moved], len(chosen.keys))
    total = np.cumsum(np.bincount(chosen.key, minlength=len(chosen.keys)))  # commits of this key and those before it
    rank = np.empty(len(rows), np.int64)
    rank[np.argsort(chosen.key, kind="stable")] = indexes
    found = []
    for number, (topic, partition) in enumerate(chosen.keys):
        newest, move = int(last[number]), int(last_move[number])
        if newest < 0 or chosen.is_tombstone[newest]:
            continue
        again = int(total[number] - 1 - rank[move])
        newest_ms, moved_ms = int(chosen.timestamp_ms[newest]), int(chosen.timestamp_ms[move])
        if now_ms - newest_ms >= for_ms:
            kind, since_ms = Standstill.SILENT, newest_ms
        elif now_ms - moved_ms >= for_ms and again >= AGAIN:
            kind, since_ms = Standstill.STUCK, moved_ms
        else:
            continue
        found.append(Stalled(topic, partition, kind, int(chosen.offset[newest]), since_ms, newest_ms, again))
    return sorted(found, key=lambda each: (each.since_ms, each.topic, each.partition))


def _last(rows: Ints, key: Ints, keys: int) -> Ints:
    last = np.full(keys, -1, np.int64)
    last[key] = rows
    return last
