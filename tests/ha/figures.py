"""Figures of a run: faults by kind, operations by outcome, and for how long no operation succeeded."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tests.ha.history import COMMIT, FETCH, OK, Operation
from tests.ha.nemesis import PastFault


class Silence(NamedTuple):
    """A time without a successful commit or fetch."""

    seconds: float
    group: str  # empty: of all groups together


def longest_silences(history: Iterable[Operation], faults: Sequence[PastFault]) -> dict[str, tuple[Silence, Silence]]:
    """Return, by kind of fault, the longest silence of all groups together and that of the worst single group.

    It is measured between successes, from the beginning of the fault until the end of the pause after it.
    """
    ends: dict[str, list[float]] = defaultdict(list)
    for each in history:
        if each.kind in (COMMIT, FETCH) and each.outcome == OK and not each.is_final:
            ends[each.key.group].append(each.end)
    together = sorted(itertools.chain.from_iterable(ends.values()))
    found: dict[str, tuple[Silence, Silence]] = {}
    for fault in faults:
        of_all = Silence(_longest(together, fault), "")
        worst = max((Silence(_longest(sorted(times), fault), group) for group, times in ends.items()), default=of_all)
        before = found.get(fault.kind, (of_all, worst))
        found[fault.kind] = max(before[0], of_all), max(before[1], worst)
    return found


def _longest(times: list[float], fault: PastFault) -> float:
    ends = [fault.began_ns, *(at for at in times if fault.began_ns < at < fault.until_ns), fault.until_ns]
    return max(end - start for start, end in itertools.pairwise(ends)) / 1e9


def report(history: Sequence[Operation], faults: Sequence[PastFault]) -> Iterator[str]:
    """Yield the lines of the figures."""
    yield f"{'fault':32} {'times':>5} {'no success, all':>16} {'one group':>10}  which"
    counts = Counter(fault.kind for fault in faults)
    for kind, (of_all, worst) in sorted(longest_silences(history, faults).items()):
        yield f"{kind:32} {counts[kind]:5} {of_all.seconds:14.2f} s {worst.seconds:8.2f} s  {worst.group}"
    yield ""
    outcomes = Counter((each.process.rpartition("-")[0], each.kind, each.outcome) for each in history)
    for (program, kind, outcome), count in sorted(outcomes.items()):
        yield f"{program:16} {kind:7} {outcome:5} {count:8}"
