"""A request that is answered late, because nothing has happened yet that its client would want to hear."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.context import Context
from coordinator.core.purgatory.deadline_list import ListedOperation

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.group.counters import Counters
    from coordinator.core.group.parked_heartbeat import Release
    from protocol.error_codes import ErrorCode


class WaitingRequest(ListedOperation[Context]):
    """The base of such requests. Its connection has it answered when more bytes arrive, and drops it at its end."""

    __slots__ = ("ticket",)

    def __init__(self, ticket: Ticket) -> None:
        super().__init__()
        self.ticket = ticket

    def release(self, why: Release, context: Context, error: ErrorCode | None = None) -> None:
        """Answer, unless it has ended: with `error`, or as it would be answered now."""
        raise NotImplementedError

    def drop(self, why: Release, counters: Counters) -> bool:
        """End without an answer. False if it has ended."""
        raise NotImplementedError
