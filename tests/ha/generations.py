"""Generations of groups: a number names one leader, one set of members and one assignment, and it never goes back.

A join counts once its SyncGroup was answered: a generation that never got so far may be given again after a crash.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator

from tests.ha.history import JOIN, OK, Generation, Operation
from tests.ha.register import Finding, told

NAMES = ("leader", "members", "mark")


def check_generations(operations: Iterable[Operation]) -> list[Finding]:
    """Check all joins of one group."""
    joins = [each for each in operations if each.kind == JOIN and each.outcome == OK]
    joins.sort(key=lambda each: each.start)
    return [*_given_twice(joins), *_gone_back(joins)]


def _of(join: Operation) -> Generation:
    assert isinstance(join.value, Generation)
    return join.value


def _given_twice(joins: list[Operation]) -> Iterator[Finding]:
    known: dict[tuple[int, str], Operation] = {}
    for join in joins:
        for name in NAMES:
            value = getattr(_of(join), name)
            if value is None:
                continue
            other = known.setdefault((_of(join).number, name), join)
            if getattr(_of(other), name) != value:
                sentence = f"Generation {_of(join).number} has two: {name} of {told(other)} and of {told(join)}."
                yield Finding("generation given twice", join.key, sentence, (other, join))


def _gone_back(joins: list[Operation]) -> Iterator[Finding]:
    waiting: list[tuple[float, int, Operation]] = []
    newest: Operation | None = None
    for number, join in enumerate(joins):
        while waiting and waiting[0][0] < join.start:
            ended = heapq.heappop(waiting)[2]
            if newest is None or _of(ended).number > _of(newest).number:
                newest = ended
        if newest is not None and _of(join).number < _of(newest).number:
            sentence = f"{told(join)} began after {told(newest)} had ended, and has a lower generation."
            yield Finding("generation went back", join.key, sentence, (newest, join))
        heapq.heappush(waiting, (join.end, number, join))
