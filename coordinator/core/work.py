"""Work that is too long for one event, in steps with other events between them.

A step is the code of a generator up to its next `yield`. It handles a few hundred items, about a millisecond. The core
reads no clock, so it bounds a step by counting; the runtime decides by time how many steps run before other events.

Requests take turns, so that a long response does not delay a short one. Work that no request waits for (retention, a
deleted topic) runs in the background, one after the other. A generator may `yield` a number of milliseconds for a
pause, until the disk has written what the last step appended.

State that is kept across a `yield` may have changed meanwhile: look groups up again and keep only immutable values.
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
    """The steps of one task. A fault ends it and is passed to `on_fault`."""

    __slots__ = ("_is_running", "_on_fault", "_steps")

    def __init__(self, steps: Steps, on_fault: OnFault) -> None:
        self._steps: Steps | None = steps
        self._on_fault = on_fault
        self._is_running = False

    def cancel(self) -> bool:
        """Run no further step. False if there was none left. A step that calls this is the last one."""
        steps, self._steps = self._steps, None
        if steps is not None and not self._is_running:
            steps.close()
        return steps is not None

    def step(self, context: Context) -> int | None:
        """Run the next step. Returns the pause after it in ms, or None after the last one."""
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
    """Queue of background work, which takes part in the ring as one work."""

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
    """Ring of the works that have a step to run. `run_at(ms, action)` ends pauses."""

    __slots__ = ("_background", "_ring", "_run_at")

    def __init__(self, run_at: Callable[[int, Callable[[Context], None]], object]) -> None:
        self._run_at = run_at
        self._ring: deque[Work | _Background] = deque()
        self._background = _Background()

    @property
    def is_due(self) -> bool:
        """True if there is a step to run now."""
        return bool(self._ring)

    def start(self, steps: Steps, on_fault: OnFault, context: Context) -> Work:
        """Run the first step now. Most works have one step."""
        work = Work(steps, on_fault)
        self._take(work, context)
        return work

    def add_background(self, steps: Steps, on_fault: OnFault) -> Work:
        """Queue work behind the other background work."""
        work = Work(steps, on_fault)
        waiting = self._background.waiting
        waiting.append(work)
        if len(waiting) == 1:
            self._ring.append(self._background)
        return work

    def step(self, context: Context) -> None:
        """Run one step of the next work in the ring."""
        if self._ring:
            self._take(self._ring.popleft(), context)

    def cancel_background(self) -> None:
        """Cancel the background work, at the end of the process."""
        for work in self._background.waiting:
            work.cancel()

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
