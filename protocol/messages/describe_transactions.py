"""DescribeTransactions: the state of transactions."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, STRING, array, field, message, struct


@message(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible_since=0)
class DescribeTransactionsRequest:
    """Ask for the state of some transactional ids."""

    transactional_ids: list[str] = field(array(STRING))


@struct
class TopicData:
    topic: str = field(STRING)
    partitions: list[int] = field(array(INT32))


@struct
class TransactionState:
    error_code: int = field(INT16)
    transactional_id: str = field(STRING)
    transaction_state: str = field(STRING)
    transaction_timeout_ms: int = field(INT32)
    transaction_start_time_ms: int = field(INT64)
    producer_id: int = field(INT64)
    producer_epoch: int = field(INT16)
    topics: list[TopicData] = field(array(TopicData))


@message(ApiKey.DESCRIBE_TRANSACTIONS, versions=(0, 0), flexible_since=0)
class DescribeTransactionsResponse:
    """The state of each."""

    throttle_time_ms: int = field(INT32)
    transaction_states: list[TransactionState] = field(array(TransactionState))
