"""The questions about one group once more, with numpy: the oracle that the SQL is compared with."""

from __future__ import annotations

from typing import Final

import numpy as np

from coordinator.history.commits import NEVER, Commits, Ints
from coordinator.history.questions import DEFAULT_WINDOWS, Answer, CommitRate, Selection

AGAIN: Final = 2  # repeated commits of one offset that count as "no progress"


def listed(commits: Commits, selection: Selection, limit: int) -> Answer:
    """Return the answer of listed.sql."""
    before = _before(commits)
    rows = np.flatnonzero(selection.mask(commits))
    found = []
    for row in rows[len(rows) - min(limit, len(rows)) :][::-1].tolist():
        topic, partition = commits.keys[commits.key[row]]
        gone = bool(commits.is_tombstone[row])
        prior = before[row]
        known = prior >= 0 and not commits.is_tombstone[prior]
        counted = bool(commits.counts_from[row] != NEVER)
        producer_id = int(commits.producer_id[row])
        epoch = int(commits.leader_epoch[row])
        outcome = _outcome(counted=counted, is_open=bool(commits.is_open[row]))
        found.append(
            {
                "timestamp_ms": int(commits.timestamp_ms[row]),
                "topic": topic,
                "partition": partition,
                "offset": None if gone else int(commits.offset[row]),
                "change": int(commits.offset[row] - commits.offset[prior]) if known and not gone and counted else None,
                "metadata": "" if gone else commits.metadata[row].as_py() or "",
                "leader_epoch": epoch if epoch >= 0 else None,
                "log_offset": int(commits.log_offset[row]),
                "transaction": outcome if producer_id >= 0 else None,
                "producer_id": producer_id if producer_id >= 0 else None,
                "total": len(rows),
            }
        )
    return found


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


def rate(commits: Commits, selection: Selection, window_ms: int) -> CommitRate:
    """Return what `questions.rate` returns, of any size."""
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


def stalled(group: str, commits: Commits, selection: Selection, for_ms: int, now_ms: int) -> Answer:
    """Return the answer of stalled.sql, of one group."""
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
            how, since_ms = "no commits", newest_ms
        elif now_ms - moved_ms >= for_ms and again >= AGAIN:
            how, since_ms = "no progress", moved_ms
        else:
            continue
        found.append(
            {
                "group": group,
                "topic": topic,
                "partition": partition,
                "how": how,
                "offset": int(chosen.offset[newest]),
                "since_ms": since_ms,
                "last_commit_ms": newest_ms,
                "commits_since": again,
            }
        )
    return sorted(found, key=lambda each: (each["since_ms"], each["topic"], each["partition"]))


def _last(rows: Ints, key: Ints, keys: int) -> Ints:
    last = np.full(keys, -1, np.int64)
    last[key] = rows
    return last
