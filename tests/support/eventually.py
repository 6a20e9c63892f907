"""Waiting for something to become true, with a deadline and a reason: the only waiting that tests with processes do.

Real clients and daemons take the time they take. A test says what must become true and by when; it never sleeps for
"long enough". When the deadline passes, the failure says what was awaited and what was last seen.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

T = TypeVar("T")

STEP_S = 0.02


def eventually(condition: Callable[[], T | None], what: str, *, within_s: float = 20.0) -> T:
    """Return the first true value of `condition()`; fail when none came in time."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what} (last seen: {value!r})")
        time.sleep(STEP_S)


async def eventually_async(condition: Callable[[], T | None], what: str, *, within_s: float = 20.0) -> T:
    """Wait as `eventually` does, on an event loop that goes on meanwhile."""
    deadline = time.monotonic() + within_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what} (last seen: {value!r})")
        await asyncio.sleep(STEP_S)


async def eventually_answered(ask: Callable[[], Awaitable[T | None]], what: str, *, within_s: float = 20.0) -> T:
    """Return the first true answer of `ask()`, which is asked again and again; fail when none came in time."""
    deadline = time.monotonic() + within_s
    while True:
        value = await ask()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {within_s:g} s: {what} (last seen: {value!r})")
        await asyncio.sleep(STEP_S)
