"""One committed offset as a linearizable register, checked exactly in O(n log n).

All commits of a key have different values, so each fetch names the commit that it saw. A commit with its fetches is a
cluster. In any order that explains the history a cluster stands in one piece: nothing else is committed between the
commit and the last fetch that saw it. So cluster A must come before B if an operation of A ended before one of B began.
The history can be explained if, and only if, no two clusters must each come before the other (Gibbons and Korach,
"Testing Shared Memories", 1997). Two of them do only if one was seen for a while (`is_held`): its first end lies before
its last beginning. Times of those must not overlap, and the span of no other cluster may lie within one.

A commit with an unknown outcome may take effect at any later time, or never if no fetch saw it. One that a library may
have sent several times may have several effects, at any time until it was acknowledged; each is a cluster of its own.
"""

from __future__ import annotations

import bisect
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tests.ha.history import COMMIT, EVER, FAIL, FETCH, OK, Key, Operation


class Finding(NamedTuple):
    """A way in which a history is wrong."""

    kind: str
    key: Key
    sentence: str
    operations: tuple[Operation, ...]


def told(operation: Operation) -> str:
    """Return an operation as a person reads it, with its times in seconds."""
    start, end = operation.start / 1e9, operation.end / 1e9
    until = "for ever" if math.isinf(end) else f"{end:.6f}"
    return f"[{operation.kind} {_told_value(operation.value)} by {operation.process}, {start:.6f} to {until}]"


def _told_value(value: object) -> str:
    return "of nothing" if value is None else str(value)


class Cluster(NamedTuple):
    """A commit (None: the beginning, when nothing was committed) and the fetches that saw one effect of it."""

    value: int | None
    commit: Operation | None
    first_end: float
    last_start: float
    first: Operation | None  # the operation that ended first; None: the beginning
    last: Operation | None  # the operation that began last

    @property
    def is_held(self) -> bool:
        return self.first_end < self.last_start


def _cluster(value: int | None, commit: Operation | None, commit_end: float, fetches: Sequence[Operation]) -> Cluster:
    spans: list[tuple[float, float, Operation | None]] = [
        (commit.start if commit else -EVER, commit_end, commit),
        *((each.start, each.end, each) for each in fetches),
    ]
    _, first_end, first = min(spans, key=lambda span: span[1])
    last_start, _, last = max(spans, key=lambda span: span[0])
    return Cluster(value, commit, first_end, last_start, first, last)


def check_register(key: Key, operations: Iterable[Operation]) -> list[Finding]:
    """Check all commits and fetches of one key."""
    findings: list[Finding] = []
    commits: dict[int | None, Operation] = {}
    fetches: list[Operation] = []
    for each in operations:
        if each.kind == COMMIT:
            assert isinstance(each.value, int)
            other = commits.setdefault(each.value, each)
            if other is not each:
                sentence = f"The check needs different values: {told(other)} and {told(each)}."
                findings.append(Finding("value committed twice", key, sentence, (other, each)))
        elif each.kind == FETCH and each.outcome == OK:
            fetches.append(each)
    seen: dict[object, list[Operation]] = defaultdict(list)
    for fetch in fetches:
        finding = _impossible(key, fetch, commits)
        if finding is not None:
            findings.append(finding)
        else:
            seen[fetch.value].append(fetch)
    clusters = [_cluster(None, None, -EVER, seen[None])]
    for value, commit in commits.items():
        clusters += _clusters(commit, seen[value])
    return findings + list(_contradictions(key, clusters))


def _impossible(key: Key, fetch: Operation, commits: dict[int | None, Operation]) -> Finding | None:
    """Return a finding if this fetch alone is wrong."""
    if fetch.value is None:
        return None
    assert isinstance(fetch.value, int)
    commit = commits.get(fetch.value)
    if commit is None:
        return Finding("value never committed", key, f"{told(fetch)}: no client ever sent this value.", (fetch,))
    if commit.outcome == FAIL:
        sentence = f"{told(fetch)} saw the value of {told(commit)}, which was refused: {commit.error}."
        return Finding("refused commit seen", key, sentence, (fetch, commit))
    if fetch.end < commit.start:
        sentence = f"{told(fetch)} ended before {told(commit)} was sent."
        return Finding("value seen before it was sent", key, sentence, (fetch, commit))
    return None


def _clusters(commit: Operation, fetches: list[Operation]) -> Iterator[Cluster]:
    assert isinstance(commit.value, int)
    end = commit.end if commit.outcome == OK else EVER
    if commit.may_repeat:
        for fetch in fetches:
            if fetch.start <= end:  # giving it an effect of its own never hides an order that explains the history
                yield _cluster(commit.value, commit, end, [fetch])
        fetches = [fetch for fetch in fetches if fetch.start > end]
    if fetches or commit.outcome == OK:
        yield _cluster(commit.value, commit, end, fetches)


def _contradictions(key: Key, clusters: list[Cluster]) -> Iterator[Finding]:
    held = sorted((each for each in clusters if each.is_held), key=lambda each: each.first_end)
    begins = [each.first_end for each in held]
    longest: list[int] = []  # number of the cluster that is held longest among those up to here
    for number, cluster in enumerate(held):
        before = longest[-1] if longest else number
        if number != before and cluster.first_end < held[before].last_start:
            yield _contradiction(key, *sorted((held[before], cluster), key=_committed_at))
        longest.append(before if held[before].last_start >= cluster.last_start else number)
    within: dict[int, list[Cluster]] = defaultdict(list)
    for cluster in clusters:
        number = bisect.bisect_left(begins, cluster.last_start) - 1
        if not cluster.is_held and number >= 0 and cluster.first_end < held[longest[number]].last_start:
            within[longest[number]].append(cluster)
    for number, inner in within.items():
        yield _contradiction(key, held[number], *inner)


def _committed_at(cluster: Cluster) -> float:
    return cluster.commit.start if cluster.commit is not None else -EVER


def _contradiction(key: Key, stale: Cluster, newer: Cluster, *more: Cluster) -> Finding:
    """Each of the two clusters must come before the other. `stale` was committed first, and seen when it was over."""
    fetch = stale.last
    assert fetch is not None
    assert newer.first is not None
    assert newer.last is not None
    commit = newer.commit
    is_acknowledged = commit is not None and commit.outcome == OK and commit.end < fetch.start
    proof = commit if commit is not None and is_acknowledged else newer.first
    kind = "stale fetch" if is_acknowledged else "value vanished"
    if fetch.is_final and any(each.commit is not None and each.commit.outcome == OK for each in (newer, *more)):
        kind = "acknowledged commit lost"
    how = "was acknowledged" if is_acknowledged else "had been seen"
    sentence = f"{told(fetch)} is stale: {newer.value} {how} before it began, by {told(proof)}"
    if stale.first is not None:
        sentence += f", and is newer, since {told(stale.first)} had ended when {told(newer.last)} began"
    if more:
        sentence += f"; {len(more)} more commits are missing in the same way"
    operations = [fetch, *(each for each in (proof, newer.last, stale.first) if each is not None)]
    return Finding(kind, key, sentence + ".", tuple(dict.fromkeys(operations)))
