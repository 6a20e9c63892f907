"""ListTransactions: the transactions that a coordinator knows."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import INT16, INT32, INT64, NULLABLE_STRING, STRING, array, field, message, struct


@message(ApiKey.LIST_TRANSACTIONS, versions=(0, 2), flexible_since=0)
class ListTransactionsRequest:
    """Ask for the transactions, by state, producer or age if given."""

    state_filters: list[str] = field(array(STRING))
    producer_id_filters: list[int] = field(array(INT64))
    duration_filter: int = field(INT64, since=1, default=-1)
    transactional_id_pattern: str | None = field(NULLABLE_STRING, since=2, default=None)


@struct
class TransactionState:
    transactional_id: str = field(STRING)
    producer_id: int = field(INT64)
    transaction_state: str = field(STRING)


@message(ApiKey.LIST_TRANSACTIONS, versions=(0, 2), flexible_since=0)
class ListTransactionsResponse:
    """The transactions found."""

    throttle_time_ms: int = field(INT32)
    error_code: int = field(INT16)
    unknown_state_filters: list[str] = field(array(STRING))
    transaction_states: list[TransactionState] = field(array(TransactionState))
