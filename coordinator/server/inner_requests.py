"""Requests that one part of a node sends to another: their answers go to a function instead of a connection.

An answer of None says that there is none: the lease of the node has ended meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from coordinator.core.effects import Ticket


class InnerSession:
    """Stands for the connection of an inner request."""

    __slots__ = ("_then",)

    def __init__(self, then: Callable[[Any], None]) -> None:
        self._then = then

    def answer(self, _ticket: Ticket, response: Any) -> None:
        """Take the answer."""
        self._then(response)

    def close(self, reason: str) -> None:
        """Say that there is no answer."""
        self._then(None)


def inner_ticket(then: Callable[[Any], None]) -> Ticket:
    """Return a ticket whose answer is given to `then`."""
    return Ticket(InnerSession(then))
