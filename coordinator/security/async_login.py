"""A SASL login on a connection of asyncio."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeAlias

from coordinator.security.sasl_client import Requests, log_in

NONCE_BYTES: Final = 24

Call: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Sends a request and returns its response."""


async def log_in_by(call: Call, mechanism: str, user: str, secret: str) -> int:
    """Log in, and return the lifetime of the session in ms; 0: no end. Raises LoginError, and what `call` raises.

    The steps are taken in a thread, because deriving a key blocks for milliseconds.
    """
    steps = log_in(mechanism, user, secret, secrets.token_urlsafe(NONCE_BYTES))
    response: Any = None
    while not isinstance(step := await asyncio.to_thread(_next_step, steps, response), int):
        response = await call(step)
    return step


def _next_step(steps: Requests, response: Any) -> Any:
    """Return the next request, or the lifetime at the end."""
    try:
        return steps.send(response)
    except StopIteration as end:
        return end.value
