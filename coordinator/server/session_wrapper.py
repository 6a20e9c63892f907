"""A connection as one ticket sees it, with a hand on the answer: for faults, and for those who watch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket


class SessionWrapper:
    """Stands in for the connection of one ticket. Subclasses override `answer` or `close`; all else is passed on."""

    __slots__ = ("_session",)

    def __init__(self, session: Any) -> None:
        self._session = session

    @property
    def connection(self) -> Any:
        """The connection itself, under all that wraps it."""
        return getattr(self._session, "connection", self._session)

    def answer(self, ticket: Ticket, response: Any) -> None:
        """Answer the ticket. None: no bytes are sent."""
        self._session.answer(ticket, response)

    def close(self, reason: str, **options: Any) -> None:
        """Close the connection."""
        self._session.close(reason, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)
