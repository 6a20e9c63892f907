"""The delayed operations of the transaction coordinator."""

from __future__ import annotations

from collections.abc import Callable

from coordinator.core.purgatory.purgatory import DelayedOperation
from coordinator.core.transactions.effects import TransactionEvent


class TransactionTimer(DelayedOperation[TransactionEvent]):
    """Calls `act` at its deadline, unless it is cancelled."""

    __slots__ = ("_act",)

    def __init__(self, deadline_ms: int, act: Callable[[TransactionEvent], None]) -> None:
        super().__init__(deadline_ms)
        self._act = act

    def on_complete(self, context: TransactionEvent) -> None:
        self._act(context)
