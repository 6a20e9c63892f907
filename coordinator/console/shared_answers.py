"""Answers that all who ask within a moment share: a hundred pages of one group cost as much as one."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

MOST_ANSWERS: Final = 64  # groups whose last answer is kept

T = TypeVar("T")


class SharedAnswer(Generic[T]):
    """An answer that is asked for again when it is older than `for_s`, once for all who wait for it."""

    def __init__(self, for_s: float, ask: Callable[[], Awaitable[T]]) -> None:
        self._for_s = for_s
        self._ask = ask
        self._asking: asyncio.Task[T] | None = None
        self._asked_at = 0.0

    async def get(self, ask: Callable[[], Awaitable[T]] | None = None) -> T:
        """Return the answer, from now on by `ask` if given. Raises what asking raises, in all who wait for it."""
        self._ask = ask or self._ask
        asking = self._asking
        if asking is None or (asking.done() and time.monotonic() - self._asked_at >= self._for_s):
            asking = self._asking = asyncio.ensure_future(self._answer())
        return await asyncio.shield(asking)

    async def _answer(self) -> T:
        try:
            return await self._ask()
        finally:
            self._asked_at = time.monotonic()


class GroupAnswers(Generic[T]):
    """Shared answers by group, the last MOST_ANSWERS of them."""

    def __init__(self, for_s: float) -> None:
        self._for_s = for_s
        self._answers: OrderedDict[str, SharedAnswer[T]] = OrderedDict()

    async def get(self, group: str, ask: Callable[[], Awaitable[T]]) -> T:
        """Return the answer for a group, by `ask` if it must be asked for now. The newest `ask` counts."""
        answer = self._answers.get(group)
        if answer is None:
            answer = self._answers[group] = SharedAnswer(self._for_s, ask)
            if len(self._answers) > MOST_ANSWERS:
                self._answers.popitem(last=False)
        else:
            self._answers.move_to_end(group)
        return await answer.get(ask)
