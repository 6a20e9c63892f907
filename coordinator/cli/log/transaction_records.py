"""Records of `__transaction_state` for `coordinator log dump`: their fields as plain data, and a line for each."""

from __future__ import annotations

from typing import Any, Final

from coordinator.core.transactions.records import metadata_of
from coordinator.core.transactions.states import TransactionState
from protocol.errors import DecodeError
from protocol.transaction_records import decode_transaction_key

TRANSACTION: Final = "transaction"


def transaction_facts(key: bytes, value: bytes | None) -> dict[str, Any]:
    """Return the content of a record. Raises DecodeError, also for a key of an unknown version."""
    transactional_id = decode_transaction_key(key)
    if transactional_id is None:
        raise DecodeError("a key of an unknown version")
    facts: dict[str, Any] = {"kind": TRANSACTION, "transactional_id": transactional_id}
    if value is None:
        return {**facts, "tombstone": True}
    found = metadata_of(value)
    return facts | {
        "producer_id": found.producer_id,
        "producer_epoch": found.producer_epoch,
        "state": found.state.label,
        "partitions": [f"{topic}-{partition}" for topic, partition in sorted(found.partitions)],
        "timeout_ms": found.timeout_ms,
        "start_ms": found.start_ms,
        "update_ms": found.update_ms,
        "previous_producer_id": found.previous_producer_id,
        "next_producer_id": found.next_producer_id,
        "client_version": found.client_version,
    }


def transaction_line(facts: dict[str, Any]) -> str:
    """Return the line for what `transaction_facts` returned, without the log offset."""
    of = f"{TRANSACTION} of {facts['transactional_id']!r}: "
    if "tombstone" in facts:
        return of + "deleted"
    words = [facts["state"], f"producer {facts['producer_id']} epoch {facts['producer_epoch']}"]
    if facts["next_producer_id"] >= 0:
        words.append(f"next producer {facts['next_producer_id']}")
    words.append(f"timeout {facts['timeout_ms']} ms")
    if facts["partitions"] or facts["state"] != TransactionState.EMPTY.label:
        words.append(f"partitions {', '.join(facts['partitions']) or 'none'}")
    return of + ", ".join(words)
