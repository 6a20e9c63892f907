"""The world of a simulation: virtual time, the events to come, and the record of those that happened.

Everything that happens later waits in one queue, ordered by its time and then by the order in which it was asked for.
Nothing else runs, so the same seed gives the same events. All chance comes from generators that are made from the seed
and a name: what one part draws does not change what another one draws, and a run that lacks a client stays alike.

A step is an event that comes from outside of a program: bytes that arrive, work of a disk that ends, a connection that
opens or ends, a fault. Timers and turns of event loops are not counted.
"""

from __future__ import annotations

import hashlib
import heapq
import random
import traceback
from collections import deque
from collections.abc import Callable
from typing import Final

START_S: Final = 1_000.0  # on the monotonic clock of every machine
EPOCH_MS: Final = 1_800_000_000_000  # the wall clock at START_S
LINES_KEPT: Final = 400


class ViolationError(Exception):
    """A promise was broken. The message says which one, and how."""


class World:
    """Virtual time and what happens in it."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.now_s = START_S
        self.steps = 0
        self.running = ""  # the name of the process in which something happens
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)  # the newest
        self.violation: ViolationError | None = None  # the first
        self.after_step: Callable[[], None] = lambda: None
        self._digest = hashlib.sha256()
        self._queue: list[tuple[float, int, Callable[[], None], bool]] = []
        self._asked = 0

    @property
    def digest(self) -> str:
        """The digest of all that happened: two runs with the same one were the same."""
        return self._digest.hexdigest()

    def chance(self, name: str) -> random.Random:
        """Return the generator of one part."""
        return random.Random(f"{self.seed}-{name}")

    def at(self, when_s: float, act: Callable[[], None], *, is_step: bool = False) -> None:
        """Have something happen at a time, or now if that is over."""
        self._asked += 1
        heapq.heappush(self._queue, (max(when_s, self.now_s), self._asked, act, is_step))

    def note(self, line: str) -> None:
        """Record what happened."""
        text = f"{self.now_s - START_S:11.6f} {line}"
        self.lines.append(text)
        self._digest.update(text.encode())

    def violated(self, sentence: str) -> None:
        """Record that a promise was broken. The run ends with the step."""
        if self.violation is None:
            self.note(f"VIOLATED: {sentence}")
            self.violation = ViolationError(sentence)

    def run(self, *, until_s: float, until_step: int) -> None:
        """Let events happen up to a time and a step, or to the first violation."""
        queue = self._queue
        while queue and self.violation is None and self.steps < until_step:
            when_s, _, act, is_step = queue[0]
            if when_s > until_s:
                break
            heapq.heappop(queue)
            self.now_s = when_s
            try:
                act()
            except Exception as error:
                self.violated(f"an exception left a thread: {traceback.format_exc(limit=-4).strip()} ({error!r})")
            if is_step:
                self.steps += 1
                self.after_step()
        if not queue or queue[0][0] > until_s:
            self.now_s = max(self.now_s, until_s)
