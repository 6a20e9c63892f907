"""Requests of the transaction coordinator that need facts beside the message of the client."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from coordinator.core.transactions.metadata import TopicPartition
    from protocol.error_codes import ErrorCode
    from protocol.messages.end_txn import EndTxnRequest


class AddToTransaction(NamedTuple):
    """Add partitions to a transaction, which begins with the first ones (AddPartitionsToTxn, AddOffsetsToTxn)."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    client_version: int  # EPOCH_BUMPS for a client that gets a new epoch with each transaction
    answer: Callable[[ErrorCode], Any]


class VerifyPartitions(NamedTuple):
    """Ask whether partitions are part of an open transaction, before records are appended to them."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    answer: Callable[[Mapping[TopicPartition, ErrorCode]], Any]


class TimeOutTransaction(NamedTuple):
    """Abort an open transaction now, as if it had been open for longer than its timeout. A test asks for it."""

    transactional_id: str


class EndTxn(NamedTuple):
    """End a transaction. `raises_epoch`: the client gets a new epoch with each transaction (from version 5 on)."""

    request: EndTxnRequest
    raises_epoch: bool
