"""Makes a failing schedule shorter: steps are left out as long as it fails in the same way (Zeller's ddmin)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from coordinator.torture.schedule import Schedule

Outcome = TypeVar("Outcome")


def shrink(
    schedule: Schedule,
    outcome: Outcome,
    attempt: Callable[[Sequence[Schedule]], tuple[Schedule, Outcome] | None],
    *,
    at_once: int,
    tell: Callable[[int], None],
) -> tuple[Schedule, Outcome]:
    """Return the shortest schedule that was found to fail in the same way, and its outcome.

    `attempt` plays some schedules, `at_once` at most, and returns the first that still fails; None if none does.
    `tell` gets the number of steps that are left.
    """
    size = max(len(schedule.steps) // 2, 1)
    while len(schedule.steps) > 1:
        tell(len(schedule.steps))
        candidates = list(_shorter(schedule, size))
        chunks = (candidates[start : start + at_once] for start in range(0, len(candidates), at_once))
        found = next((each for each in map(attempt, chunks) if each is not None), None)
        if found is not None:
            schedule, outcome = found
            size = min(size, max(len(schedule.steps) // 2, 1))
        elif size == 1:
            break
        else:
            size = max(size // 2, 1)
    return schedule, outcome


def _shorter(schedule: Schedule, size: int) -> Iterator[Schedule]:
    for first in range(0, len(schedule.steps), size):
        shorter = schedule.without(first, size)
        if shorter.steps:
            yield shorter
