"""InitProducerId: an id for an idempotent or transactional producer."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT16, INT32, INT64, NULLABLE_STRING, field, message


@message(ApiKey.INIT_PRODUCER_ID, versions=(0, 6), flexible_since=2)
class InitProducerIdRequest:
    """Ask for a producer id, or for the next epoch of one."""

    transactional_id: str | None = field(NULLABLE_STRING)
    transaction_timeout_ms: int = field(INT32)
    producer_id: int = field(INT64, since=3, default=-1)
    producer_epoch: int = field(INT16, since=3, default=-1)
    enable2_pc: bool = field(BOOL, since=6)
    keep_prepared_txn: bool = field(BOOL, since=6)


@message(ApiKey.INIT_PRODUCER_ID, versions=(0, 6), flexible_since=2)
class InitProducerIdResponse:
    """The producer id and its epoch."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, default=-1)
    producer_epoch: int = field(INT16)
    ongoing_txn_producer_id: int = field(INT64, since=6, default=-1)
    ongoing_txn_producer_epoch: int = field(INT16, since=6, default=-1)
