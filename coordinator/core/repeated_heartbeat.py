"""A heartbeat that succeeded and changed nothing, for repetitions of it with the same bytes.

A connection that receives the bytes of its last such heartbeat again asks for a renewal, and decodes the request only
if that is declined. The classic protocol has `group.heartbeat.HeartbeatTemplate`, KIP-848
`consumer_group.heartbeat_template.ConsumerHeartbeatTemplate`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.waiting_request import WaitingRequest


class RepeatedHeartbeat:
    """The base of both templates."""

    __slots__ = ()

    @property
    def may_wait(self) -> bool:
        """Return whether `park` may succeed."""
        raise NotImplementedError

    @property
    def response(self) -> Any:
        """Return the answer to each repetition that is answered at once."""
        raise NotImplementedError

    def renew(self, now_ms: int) -> bool:
        """Renew the session. True: `response` is the answer. False: the request must be handled in full."""
        raise NotImplementedError

    def park(self, ticket: Ticket, context: Context) -> WaitingRequest | None:
        """Renew the session and keep the request for a later answer. None: it must be handled in full."""
        raise NotImplementedError
