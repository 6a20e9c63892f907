"""Schedules for tests in one process: a strategy of Hypothesis, a list for parametrize, and a way to play them.

    @given(schedule=fault_schedules())
    def test_nothing_is_lost(schedule):
        with Coordinator(topics={"orders": 4}) as coordinator:
            ...  # start consumers with the client ids web-1 and web-2
            play_schedule(schedule, coordinator, group="shop", clients=["web-1", "web-2"])
            ...  # all of it is processed

The strategy alone needs the package hypothesis.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from coordinator.testing.errors import CoordinatorTestingError
from coordinator.torture.schedule import FIRST, FIRST_COPY, GAPS_MS, Schedule, Step
from coordinator.torture.take import SERVER_STEPS, TortureTarget, take

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

    from coordinator.testing.server import Coordinator

LOOK_S: Final = 0.002


def single_faults() -> list[Schedule]:
    """Return a schedule for each fault alone. `Schedule.text()` names it."""
    return [Schedule(steps) for steps in FIRST if all(step.do in SERVER_STEPS for step in steps)]


def fault_schedules(*, clients: int = 2, longest: int = 6) -> SearchStrategy[Schedule]:
    """Return a strategy of schedules with `longest` steps at most, for this number of clients.

    A failing schedule is shrunk by leaving out steps and pauses.
    """
    from hypothesis import strategies as st

    alone = [schedule.steps for schedule in single_faults()]

    def with_details(parts: tuple[Sequence[Step], int, int]) -> list[Step]:
        steps, client, gap_ms = parts
        first = msgspec.structs.replace(steps[0], after_ms=gap_ms)
        return [msgspec.structs.replace(each, copy=client if each.copy else 0) for each in (first, *steps[1:])]

    part: Any = st.tuples(st.sampled_from(alone), st.integers(FIRST_COPY, clients), st.sampled_from(GAPS_MS))
    parts = st.lists(part.map(with_details), min_size=1, max_size=longest)
    return parts.map(lambda chosen: Schedule(tuple(step for steps in chosen for step in steps)[:longest]))


def play_schedule(
    schedule: Schedule, coordinator: Coordinator, *, group: str, clients: Sequence[str], patience: float = 2.0
) -> None:
    """Take the steps of a schedule on a server, and return when its faults have been met.

    `clients`: the client ids of the members, that of copy 1 first. `patience`: seconds after which a fault that no
    request has met is taken back. A step that cannot be taken, as that of a member that is away, is left out.

    Raises:
        CoordinatorTestingError: a step happens to a process, and `coordinator torture` alone can take it.
    """
    if strange := [step.do for step in schedule.steps if step.do not in SERVER_STEPS]:
        raise CoordinatorTestingError(f"{strange[0]} is a step for processes: use `coordinator torture -- COMMAND`")
    coordinator.run(_play(schedule, coordinator, TortureTarget(coordinator.verbs, group, tuple(clients)), patience))


async def _play(schedule: Schedule, coordinator: Coordinator, target: TortureTarget, patience: float) -> None:
    before = {fault.number for fault in coordinator.faults}
    for step in schedule.steps:
        await asyncio.sleep(step.after_ms / 1000)
        with contextlib.suppress(CoordinatorTestingError):
            await take(target, step)
    deadline = time.monotonic() + patience
    while missed := [fault for fault in coordinator.faults if not fault.is_over and fault.number not in before]:
        if time.monotonic() > deadline:
            for fault in missed:
                await target.verbs.remove_fault(fault)
            return
        await asyncio.sleep(LOOK_S)
