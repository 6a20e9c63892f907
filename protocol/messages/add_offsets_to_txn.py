"""AddOffsetsToTxn: make the offsets of a group part of a transaction."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, STRING, field, message


@message(ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), flexible_since=3)
class AddOffsetsToTxnRequest:
    """Announce that a transaction will commit offsets of a group."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    group_id: str = field(STRING)


@message(ApiKey.ADD_OFFSETS_TO_TXN, versions=(0, 4), flexible_since=3)
class AddOffsetsToTxnResponse:
    """The outcome."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
