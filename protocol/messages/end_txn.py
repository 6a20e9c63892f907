"""EndTxn: commit or abort a transaction."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BOOL, INT16, INT32, INT64, STRING, field, message


@message(ApiKey.END_TXN, versions=(0, 5), flexible_since=3)
class EndTxnRequest:
    """End a transaction."""

    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    committed: bool = field(BOOL)


@message(ApiKey.END_TXN, versions=(0, 5), flexible_since=3)
class EndTxnResponse:
    """The outcome; from version 5 on with the next producer id and epoch."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    producer_id: int = field(INT64, since=5, default=-1)
    producer_epoch: int = field(INT16, since=5, default=-1)
