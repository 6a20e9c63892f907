"""Time slices: long work on the event loop is done in short steps, with all other events in between.

The work is a generator that does less than a millisecond of work up to its next `yield`. Once in each round of the
loop the generators take steps in turn until the time of a turn is over. A stall is then no longer than a turn and one
step, however long the work is; its total time hardly grows.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

TURN_S: Final = 0.0005  # a request that arrives meanwhile waits for so long, and for the step that ends the turn
# A turn of long answers. Their steps take as long, so that short turns cost nothing; for requests they do: a thousand
# groups of ten members that join at once were 12 % slower.
ANSWERS_TURN_S: Final = 0.0001
LONGEST_TURN_S: Final = 0.002
PART_OF_ROUND: Final = 4  # a turn may take as much of a long round, so that long work goes on beside very many requests
AT_ONCE_S: Final = (
    0.008  # of one round, for requests without a turn: enough for almost all of a hundred clients with ten each
)
REBALANCING_AT_ONCE_S: Final = 0.00025  # of one round, for requests by which members join and leave

Steps = Iterator[Any]


class TimeSlices:
    """A queue of generators. `call_soon` is the loop's, `clock` in s; `after` ends a turn, `broken` gets faults."""

    def __init__(
        self,
        call_soon: Callable[[Callable[[], None]], object],
        clock: Callable[[], float],
        after: Callable[[], None],
        broken: Callable[[Exception], None],
        rebalancing_at_once_s: float = REBALANCING_AT_ONCE_S,
        turn_s: float = TURN_S,
    ) -> None:
        self._call_soon = call_soon
        self._clock = clock
        self._after = after
        self._broken = broken
        self._ring: deque[Steps] = deque()
        self._is_scheduled = False
        self._emptied: asyncio.Future[None] | None = None
        self._scheduled_at = 0.0
        self._rebalancing_at_once_s = rebalancing_at_once_s
        self._turn_s = turn_s
        self._rebalancing_s = 0.0  # time of requests that changed groups in this round
        self._ends = 0.0  # end of the turn that callers of `begin` share in this round; 0: there was none

    def __len__(self) -> int:
        """Return the number of generators that have not ended."""
        return len(self._ring)

    def add(self, steps: Steps) -> None:
        """Take steps of a generator from the next round of the loop on."""
        self._ring.append(steps)
        self._schedule()

    def begin(self) -> float:
        """Return the time of the clock until which the caller may work at once; 0: none is left, it must `add`.

        All callers of one round of the loop share one turn. A caller that works until it is over calls `spent`.
        """
        if self._is_scheduled:
            return 0.0
        if not self._ends:
            self._ends = self._clock() + AT_ONCE_S
            if not self._rebalancing_s:
                self._call_soon(self._end_round)
        return self._ends

    def spent(self) -> None:
        """End the turn that `begin` gave: no caller gets one before the next round of the loop."""
        self._schedule()

    def may_rebalance(self) -> bool:
        """Return whether a request that changes a group may run now. Otherwise it must take a turn.

        A thousand members that join at once would else run before a heartbeat that has arrived behind them. None runs
        before those that wait for a turn: the members of a group would join so far apart that it begins without some.
        """
        return not self._is_scheduled and self._rebalancing_s < self._rebalancing_at_once_s

    def rebalanced(self, seconds: float) -> None:
        """Count the time of a request that changed a group outside of a turn."""
        if not self._rebalancing_s and not self._ends:
            self._call_soon(self._end_round)
        self._rebalancing_s += seconds

    def _end_round(self) -> None:
        self._ends = self._rebalancing_s = 0.0

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._scheduled_at = self._clock()
            self._call_soon(self._turn)

    async def finished(self) -> None:
        """Return when no generator is left, at the end of the process. They take their turns meanwhile."""
        if self._ring:
            self._emptied = asyncio.get_running_loop().create_future()
            await self._emptied

    def _turn(self) -> None:
        self._is_scheduled = False
        now = self._clock()
        ends = now + min(max(self._turn_s, (now - self._scheduled_at) / PART_OF_ROUND), LONGEST_TURN_S)
        while self._ring:
            self._step()
            if self._clock() >= ends:
                break
        if self._ring:
            self._schedule()
        self._after()
        if self._emptied is not None and not self._ring and not self._emptied.done():
            self._emptied.set_result(None)

    def _step(self) -> None:
        steps = self._ring.popleft()
        try:
            next(steps)
        except StopIteration:
            return
        except Exception as error:
            self._broken(error)
            return
        self._ring.append(steps)
