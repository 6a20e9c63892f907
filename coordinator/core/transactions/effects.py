"""Effects of the transaction coordinator, and the event during which they are collected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from coordinator.core.effects import Append, Reply

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.transactions.entry import TransactionEntry
    from protocol.messages.write_txn_markers import WriteTxnMarkersRequest


class WriteMarkers(NamedTuple):
    """Write the markers of one transaction into its partitions, wherever they are led.

    The outcome comes back through `TransactionCoordinator.markers_written`.
    """

    request: WriteTxnMarkersRequest  # with one marker
    entry: TransactionEntry  # opaque to the executor


class TransactionEffects(NamedTuple):
    """All effects of one event. `wants_producer_id`: one is to be given to `producer_id_allocated`."""

    replies: tuple[Reply, ...] = ()
    appends: tuple[Append, ...] = ()
    markers: tuple[WriteMarkers, ...] = ()
    wants_producer_id: bool = False


NO_EFFECTS: Final = TransactionEffects()


class TransactionEvent:
    """The current event: its time, and the effects so far."""

    __slots__ = ("appends", "markers", "now_ms", "replies", "wall_ms", "wants_producer_id")

    def __init__(self, now_ms: int, wall_ms: int) -> None:
        self.now_ms = now_ms  # monotonic clock, for timers
        self.wall_ms = wall_ms  # since the epoch, for records
        self.replies: list[Reply] = []
        self.appends: list[Append] = []
        self.markers: list[WriteMarkers] = []
        self.wants_producer_id = False

    def reply(self, ticket: Ticket, response: Any) -> None:
        """Send `response` now."""
        self.replies.append(Reply(ticket, response))

    def effects(self) -> TransactionEffects:
        """Return all effects."""
        return TransactionEffects(tuple(self.replies), tuple(self.appends), tuple(self.markers), self.wants_producer_id)
