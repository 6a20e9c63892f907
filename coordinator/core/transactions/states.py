"""The states of a transactional id. Source: Kafka's `TransactionState`."""

from __future__ import annotations

from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class TransactionState(IntEnum):
    """State of a transactional id; the number is the one in its record."""

    EMPTY = 0  # it has a producer, and nothing was added to a transaction since
    ONGOING = 1
    PREPARE_COMMIT = 2  # decided; markers are being written
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4  # all markers are written
    COMPLETE_ABORT = 5
    DEAD = 6  # the id expires; never stored
    PREPARE_EPOCH_FENCE = 7  # Kafka's, in memory only; here the abort with a raised epoch is one step

    @property
    def label(self) -> str:
        """The name in admin requests: `PrepareCommit`."""
        return "".join(word.capitalize() for word in self.name.split("_"))


STATE_OF_LABEL: Final[Mapping[str, TransactionState]] = MappingProxyType(
    {state.label: state for state in TransactionState}
)
PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
# No transaction is open: a new one may begin, and the id may expire.
IDLE: Final = frozenset({TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
