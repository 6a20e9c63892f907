"""The machine of a simulated node: clocks of virtual time, chance from the seed, and threads that the world moves."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from coordinator.simulation.world import EPOCH_MS, START_S
from coordinator.storage.machine import Machine

if TYPE_CHECKING:
    from coordinator.simulation.loop import SimulatedLoop

READING_S: Final = 0.000_02  # that passes with each reading of the clock, so that turns end while time stands still


class NoCollector:
    """Stands for the module gc: one process holds many nodes, whose objects must not be frozen."""

    def __init__(self) -> None:
        self.callbacks: list[object] = []

    def get_threshold(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def get_count(self) -> tuple[int, int, int]:
        return 0, 0, 0

    def set_threshold(self, *thresholds: int) -> None:
        pass

    def freeze(self) -> None:
        pass

    unfreeze = enable = disable = freeze


class SimulatedMachine(Machine):
    """The machine of one process. `wall_jump_ms`: how far its wall clock is from the world's time."""

    def __init__(self, loop: SimulatedLoop, chance: random.Random, wall_jump_ms: int = 0) -> None:
        self.collector = NoCollector()
        self.wall_jump_ms = wall_jump_ms
        self._loop = loop
        self._chance = chance
        self._readings = 0

    def monotonic(self) -> float:
        self._readings += 1
        return self._loop.time() + self._readings * READING_S

    def boot_time(self) -> float:
        return self._loop.time()

    def thread_time(self) -> float:
        return self._loop.time()

    def wall_ms(self) -> int:
        return EPOCH_MS + int((self._loop.time() - START_S) * 1000) + self.wall_jump_ms

    def random_bytes(self, count: int) -> bytes:
        return self._chance.randbytes(count)

    def new_uuid(self) -> UUID:
        return UUID(bytes=self.random_bytes(16), version=4)

    def writer(self, name: str) -> SimulatedWriter:
        return SimulatedWriter(self._loop)


class SimulatedWriter:
    """`WriterQueue` whose jobs are events of the world, one after another."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self._jobs: deque[Callable[[], None]] = deque()

    def put(self, job: Callable[[], None]) -> None:
        self._jobs.append(job)
        if len(self._jobs) == 1:
            self._loop.in_thread(self._run)

    def _run(self) -> None:
        if self._jobs:  # else `join` has run them
            self._jobs[0]()
            self._jobs.popleft()
            if self._jobs:
                self._loop.in_thread(self._run)

    def join(self) -> None:
        while self._jobs:
            self._jobs.popleft()()
