"""Work that is too long for one event, done in steps between which everything else may happen.

A step is what a generator does until its next `yield`. It looks at no more than some hundred things, so that it takes
about a millisecond. The core cannot read a clock: it bounds a step by counting, and the runtime decides by time how
many steps it takes before others have their turn.

What a request asked for takes its steps by turns with the others, so that a long answer does not hold up a short one.
What nobody waits for (retention, a deleted topic) is in the background: one such work after the other. A work may
`yield` a number of milliseconds to be left alone for as long, until the disk has taken what the last step gave it.

Whatever is remembered over a `yield` may have changed meanwhile: look groups up again, keep only immutable values.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coordinator.core.context import Context

Steps = Generator[int | None, None, None]
OnFault = Callable[[Exception, "Context"], None]


class Work:
    """Some steps, and who hears of a fault in them; after that there are none."""

    __slots__ = ("_is_running", "_on_fault", "_steps")

    def __init__(self, steps: Steps, on_fault: OnFault) -> None:
        self._steps: Steps | None = steps
        self._on_fault = on_fault
        self._is_running = False

    def cancel(self) -> bool:
        """No further step. False if there was none left. May be called from within one, which then is the last."""
        steps, self._steps = self._steps, None
        if steps is not None and not self._is_running:
            steps.close()
        return steps is not None

    def step(self, context: Context) -> int | None:
        """Do the next step. Returns for how many ms to be left alone, 0 for not at all; None: that was the last."""
        steps = self._steps
        if steps is None:
            return None
        self._is_running = True
        try:
            pause_ms = next(steps) or 0
        except StopIteration:
            self._steps = None
            return None
        except Exception as fault:
            self._steps = None
            self._on_fault(fault, context)
            return None
        finally:
            self._is_running = False
        return None if self._steps is None else pause_ms


class _Background:
    """One work after the other, to the ring of works like a single one."""

    __slots__ = ("waiting",)

    def __init__(self) -> None:
        self.waiting: deque[Work] = deque()

    def step(self, context: Context) -> int | None:
        pause_ms = self.waiting[0].step(context)
        if pause_ms is None:
            self.waiting.popleft()
            return 0 if self.waiting else None
        return pause_ms


class WorkQueue:
    """What is to be done, step by step. `run_at(ms, action)` is where pauses end."""

    __slots__ = ("_background", "_ring", "_run_at")

    def __init__(self, run_at: Callable[[int, Callable[[Context], None]], object]) -> None:
        self._run_at = run_at
        self._ring: deque[Work | _Background] = deque()
        self._background = _Background()

    @property
    def is_due(self) -> bool:
        """Whether there is a step to do now."""
        return bool(self._ring)

    def start(self, steps: Steps, on_fault: OnFault, context: Context) -> Work:
        """Do the first step now; most works have no other."""
        work = Work(steps, on_fault)
        self._take(work, context)
        return work

    def add_background(self, steps: Steps, on_fault: OnFault) -> Work:
        """After all that is in the background already."""
        work = Work(steps, on_fault)
        waiting = self._background.waiting
        waiting.append(work)
        if len(waiting) == 1:
            self._ring.append(self._background)
        return work

    def step(self, context: Context) -> None:
        """One step of the work whose turn it is."""
        if self._ring:
            self._take(self._ring.popleft(), context)

    def finish(self, context: Context) -> None:
        """The process ends: requests get their answers, and what nobody waits for is given up."""
        for work in self._background.waiting:
            work.cancel()
        while self._ring:
            self.step(context)

    def _take(self, work: Work | _Background, context: Context) -> None:
        pause_ms = work.step(context)
        if pause_ms is None:
            return
        if pause_ms:
            self._run_at(context.now_ms + pause_ms, lambda later: self._ring.append(work))
        else:
            self._ring.append(work)

    def __repr__(self) -> str:
        return f"<WorkQueue {len(self._ring)} due, {len(self._background.waiting)} in the background>"
