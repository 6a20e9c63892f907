"""Producer ids: every idempotent producer gets a number that was never used before and is never used again.

Ids are reserved on disk in blocks, before the first of a block is handed out. A crash loses the rest of a block, which
does not matter: there are 2^63 ids. Requests that come while a block is being reserved wait for it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from coordinator.core.topics.effects import ReserveProducerIds
from protocol.error_codes import ErrorCode
from protocol.messages.init_producer_id import InitProducerIdResponse

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.topics.effects import Outbox

BLOCK_SIZE: Final = 1000
FIRST_EPOCH: Final = 0


class ProducerIds:
    """Hands out producer ids. `reserved_up_to` is stored on disk: ids below it may be in use."""

    def __init__(self, reserved_up_to: int = 0) -> None:
        self._next = reserved_up_to
        self._reserved_up_to = reserved_up_to
        self._is_reserving = False
        self._waiting: deque[Ticket] = deque()

    def restore(self, reserved_up_to: int) -> None:
        """Take the stored reservation at start. All reserved ids count as used."""
        self._next = self._reserved_up_to = reserved_up_to

    def new_producer_id(self, ticket: Ticket, out: Outbox) -> None:
        """Handle one request without a transactional id."""
        self._waiting.append(ticket)
        self._serve(out)

    def _serve(self, out: Outbox) -> None:
        while self._waiting and self._next < self._reserved_up_to:
            out.reply(
                self._waiting.popleft(), InitProducerIdResponse(producer_id=self._next, producer_epoch=FIRST_EPOCH)
            )
            self._next += 1
        if self._waiting and not self._is_reserving:
            self._is_reserving = True
            out.do(ReserveProducerIds(self._reserved_up_to + BLOCK_SIZE))

    def reserved(self, up_to: int, error: ErrorCode, out: Outbox) -> None:
        """Take the result of a `ReserveProducerIds`."""
        self._is_reserving = False
        if error is ErrorCode.NONE:
            self._reserved_up_to = up_to
            self._serve(out)
            return
        while self._waiting:  # the write failed: clients retry, and the next request reserves again
            out.reply(self._waiting.popleft(), InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
