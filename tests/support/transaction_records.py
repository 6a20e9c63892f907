"""Records of `__transaction_state` for tests of files."""

from __future__ import annotations

from coordinator.core.transactions.metadata import TransactionMetadata
from coordinator.core.transactions.records import transaction_record
from coordinator.core.transactions.states import TransactionState
from protocol.transaction_records import encode_transaction_key

TransactionRecord = tuple[bytes, bytes | None]
CYCLE = (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)


def state_record(transactional_id: str, number: int = 0, state: TransactionState | None = None) -> TransactionRecord:
    """Return the `number`th record of a transactional id; by default its states follow one another."""
    chosen = CYCLE[number % len(CYCLE)] if state is None else state
    partitions = frozenset() if chosen is TransactionState.EMPTY else frozenset({("orders", 1), ("orders", 0)})
    after = TransactionMetadata(
        producer_id=7,
        producer_epoch=number // len(CYCLE),
        timeout_ms=60_000,
        state=chosen,
        partitions=partitions,
        start_ms=1_700_000_000_000 + number,
        update_ms=1_700_000_000_000 + number,
        client_version=2,
    )
    return transaction_record(transactional_id, None, after)


def forgotten(transactional_id: str) -> TransactionRecord:
    """Return the tombstone of a transactional id."""
    return encode_transaction_key(transactional_id), None
