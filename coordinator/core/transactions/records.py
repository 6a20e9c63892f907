"""Converts the state of a transactional id to its record, and back. Source: Kafka's `TransactionLog.valueToBytes`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.transactions.metadata import TransactionMetadata
from coordinator.core.transactions.states import TransactionState
from protocol.errors import DecodeError
from protocol.transaction_records import (
    PartitionsSchema,
    TransactionLogValue,
    decode_transaction_value,
    encode_transaction_key,
    encode_transaction_value,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from coordinator.core.transactions.metadata import TopicPartition


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Return topic -> partitions, both in order."""
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(partitions):
        topics.setdefault(topic, []).append(partition)
    return topics


def transaction_record(
    transactional_id: str, before: TransactionMetadata | None, after: TransactionMetadata | None
) -> tuple[bytes, bytes | None]:
    """Return key and value of the record of a change; None after it: a tombstone."""
    key = encode_transaction_key(transactional_id)
    if after is None:
        return key, None
    partitions = None
    if after.state is not TransactionState.EMPTY:
        partitions = [PartitionsSchema(topic, ids) for topic, ids in by_topic(after.partitions).items()]
    value = TransactionLogValue(
        producer_id=after.producer_id,
        producer_epoch=after.producer_epoch,
        transaction_timeout_ms=after.timeout_ms,
        transaction_status=int(after.state),
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=after.update_ms,
        transaction_start_timestamp_ms=after.start_ms,
        previous_producer_id=(before or after).producer_id,
        next_producer_id=after.next_producer_id,
        client_transaction_version=after.client_version,
    )
    return key, encode_transaction_value(value)


def metadata_of(value: bytes) -> TransactionMetadata:
    """Return the state in the value of a record. DecodeError if it is malformed."""
    stored = decode_transaction_value(value)
    try:
        state = TransactionState(stored.transaction_status)
    except ValueError:
        raise DecodeError(f"a transaction in state {stored.transaction_status}") from None
    return TransactionMetadata(
        producer_id=stored.producer_id,
        producer_epoch=stored.producer_epoch,
        previous_producer_id=stored.previous_producer_id,
        next_producer_id=stored.next_producer_id,
        timeout_ms=stored.transaction_timeout_ms,
        state=state,
        partitions=frozenset(
            (topic.topic, partition)
            for topic in stored.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        start_ms=stored.transaction_start_timestamp_ms,
        update_ms=stored.transaction_last_update_timestamp_ms,
        client_version=stored.client_transaction_version,
    )
