"""The pauses between attempts: they double up to a limit, with a random part, and begin anew after a success."""

from __future__ import annotations

import asyncio
import random
from typing import Final

FIRST_S: Final = 0.2
LAST_S: Final = 10.0


class Backoff:
    """The pauses of one retried task."""

    def __init__(self, first_s: float = FIRST_S, last_s: float = LAST_S) -> None:
        self._first_s = first_s
        self._last_s = last_s
        self._next_s = first_s

    def succeeded(self) -> None:
        """Begin anew with the shortest pause."""
        self._next_s = self._first_s

    def next_pause_s(self) -> float:
        """Return the next pause in seconds: at most a fifth shorter than its nominal length."""
        pause_s = self._next_s
        self._next_s = min(self._last_s, self._next_s * 2)
        return pause_s * random.uniform(0.8, 1.0)

    async def pause(self) -> None:
        """Sleep for the next pause."""
        await asyncio.sleep(self.next_pause_s())
