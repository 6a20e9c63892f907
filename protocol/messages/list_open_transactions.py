"""ListOpenTransactions: the transactions that a node has open, the oldest of them, for the console.

It is not part of Kafka's protocol: its key is far outside Kafka's range, and ApiVersions does not list it.
"""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.schema import BYTES, INT16, INT32, field, message


@message(ApiKey.LIST_OPEN_TRANSACTIONS, versions=(0, 0), flexible_since=0)
class ListOpenTransactionsRequest:
    """Ask a node for the open transactions that it coordinates."""


@message(ApiKey.LIST_OPEN_TRANSACTIONS, versions=(0, 0), flexible_since=0)
class ListOpenTransactionsResponse:
    """`oldest` is the JSON of a list of `coordinator.core.transactions.open_rows.OpenRow`, of `total` open ones."""

    error_code: int = field(INT16)
    total: int = field(INT32)
    oldest: bytes = field(BYTES, default=b"[]")
