"""Values of records in `__transaction_state`: Kafka's `TransactionLogValue`.

Version 1 is written, both are read. Use these classes through `protocol.transaction_records`, which also has the keys.
"""

from __future__ import annotations

from protocol.schema import INT8, INT16, INT32, INT64, STRING, array, field, nullable_array, record, struct


@struct
class PartitionsSchema:
    """Partitions of one topic that take part in a transaction."""

    topic: str = field(STRING)
    partition_ids: list[int] = field(array(INT32))


@record(versions=(0, 1), flexible_since=1)
class TransactionLogValue:
    """The state of a transactional id."""

    producer_id: int = field(INT64)
    previous_producer_id: int = field(INT64, since=1, default=-1, tag=0)
    next_producer_id: int = field(INT64, since=1, default=-1, tag=1)
    producer_epoch: int = field(INT16)
    transaction_timeout_ms: int = field(INT32)
    transaction_status: int = field(INT8)
    transaction_partitions: list[PartitionsSchema] | None = field(nullable_array(PartitionsSchema))  # None if Empty
    transaction_last_update_timestamp_ms: int = field(INT64)
    transaction_start_timestamp_ms: int = field(INT64)
    client_transaction_version: int = field(INT16, since=1, default=0, tag=2)
