"""Detection of offset resets in the log, independent of the tool that made them.

A coordinator accepts only members' commits while the group has members, so commits made while it was Empty came from a
tool. The group's own records, between its commits in the log, give that period. Commits of one request have one commit
time. Requests within a second that name different partitions are one reset, because some tools send one request for
each topic or partition; adjacent deletions belong to it.

Consumers that assign partitions to themselves never become members, so all their commits look like resets. For a group
without any member in the history, a reset is therefore a commit that went back. Where the log was compacted before its
history began, the order of records proves nothing and no reset is reported. Transactional commits never count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from coordinator.history.commits import Bools, Commits, Cut, Ints, Standing, TopicPartition, standing
from coordinator.history.rebalances import GroupRecord

REQUESTS_WITHIN_MS: Final = 1000  # requests at most this far apart are one reset


@dataclass(frozen=True, slots=True)
class Reset:
    """A reset, and the offsets before it."""

    first_offset: int  # log offsets of its first and last record
    last_offset: int
    at_ms: int
    committed: dict[TopicPartition, Standing | None]  # None: it deleted the offset
    before: dict[TopicPartition, Standing | None]  # of the same partitions; None: there was no offset
    went_back: bool  # detected by an offset that went back, because the group never had members
    commits_since: int  # commits of the group after it
    others_while_empty: int  # other commits of the same Empty period


def last_reset(commits: Commits, records: Sequence[GroupRecord], compacted_to: int = 0) -> Reset | None:
    """Return the newest reset of a group; None if none can be detected.

    `records` are the group's own, in log order. Below the log offset `compacted_to` the history has gaps.
    """
    changes_at, occupied = _occupation(records)
    period = np.searchsorted(changes_at, commits.log_offset, side="right") - 1  # -1: before the first group record
    empty = np.where(period >= 0, ~occupied[np.maximum(period, 0)], True) if len(occupied) else period < 0
    went_back = not occupied.any()
    # A compacted log has lost all but the newest group record, so the absence of one proves nothing.
    told = (period >= 0) | (compacted_to == 0) | went_back
    rows = np.flatnonzero(empty & told & (commits.producer_id < 0) & (commits.log_offset >= compacted_to))
    back = _backward(commits)
    found = np.flatnonzero(back[rows] if went_back else ~commits.is_tombstone[rows])
    if not len(found):
        return None
    newest = found[-1]
    run = _run(commits, rows[period[rows] == period[rows[newest]]], int(rows[newest]), back if went_back else None)
    first, last = int(run[0]), int(run[-1])
    stood = standing(commits, Cut(before_offset=int(commits.log_offset[first])))
    keys = [commits.keys[commits.key[row]] for row in run]
    same_period = rows[(period[rows] == period[first]) & ~commits.is_tombstone[rows]]
    return Reset(
        int(commits.log_offset[first]),
        int(commits.log_offset[last]),
        int(commits.committed_ms[first]),
        {
            key: None if commits.is_tombstone[row] else commits.of(int(row))
            for key, row in sorted(zip(keys, run, strict=True), key=lambda pair: pair[0])
        },
        {key: stood.get(key) for key in sorted(keys)},
        went_back,
        int(np.count_nonzero(commits.counted[last + 1 :] & ~commits.is_tombstone[last + 1 :])),
        len(same_period) - int(np.count_nonzero(~commits.is_tombstone[run])),
    )


def _occupation(records: Sequence[GroupRecord]) -> tuple[Ints, Bools]:
    """Return the log offsets of the group records, and a mask of those after which the group had members."""
    offsets = np.array([record.log_offset for record in records], np.int64)
    return offsets, np.array([bool(record.members) and not record.is_tombstone for record in records], np.bool_)


def _backward(commits: Commits) -> Bools:
    """Return a mask of the commits with a lower offset than the previous commit of their partition."""
    before = commits.previous()
    known = (before >= 0) & ~commits.is_tombstone & ~commits.is_tombstone[before]
    back: Bools = known & (commits.offset < commits.offset[before])
    return back


def _run(commits: Commits, rows: Ints, newest: int, back: Bools | None) -> Ints:
    """Return the rows around `newest` that belong to the same reset; `rows` are those of its Empty period.

    With `back`, the mask of commits that went back, only requests that have one: the others are the consumer's own.
    """
    requests = _requests(commits, rows)
    place = next(number for number, request in enumerate(requests) if newest in request)
    run = list(requests[place])
    taken = {int(commits.key[row]) for row in run}

    def joins(request: list[int], near: int) -> bool:
        close = abs(int(commits.committed_ms[request[0]]) - int(commits.committed_ms[near])) <= REQUESTS_WITHIN_MS
        resets = back is None or bool(back[request].any())
        return close and resets and taken.isdisjoint(int(commits.key[row]) for row in request)

    for request in requests[place + 1 :]:
        # In a group that has members these are deletions: `newest` is its newest commit.
        if not joins(request, run[-1]):
            break
        run += request
        taken.update(int(commits.key[row]) for row in request)
    for request in reversed(requests[:place]):
        if not joins(request, run[0]):
            break
        run = request + run
        taken.update(int(commits.key[row]) for row in request)
    return np.array(run, np.int64)


def _requests(commits: Commits, rows: Ints) -> list[list[int]]:
    """Group consecutive rows of one request: same commit time, no partition twice."""
    requests: list[list[int]] = []
    keys: set[int] = set()
    for row in rows.tolist():
        key = int(commits.key[row])
        last = requests[-1][-1] if requests else -1
        same = (
            last >= 0
            and commits.committed_ms[last] == commits.committed_ms[row]
            and commits.is_tombstone[last] == commits.is_tombstone[row]
            and key not in keys
        )
        if same:
            requests[-1].append(row)
            keys.add(key)
        else:
            requests.append([row])
            keys = {key}
    return requests
