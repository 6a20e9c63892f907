"""ListTransactions and DescribeTransactions (KIP-664). They tell what is durable.

Source: `handleListTransactions` and `handleDescribeTransactions` of Kafka's `TransactionCoordinator`.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Final

from coordinator.core.shard import PartitionState
from coordinator.core.transactions.records import by_topic
from coordinator.core.transactions.states import STATE_OF_LABEL, TransactionState
from protocol.error_codes import ErrorCode
from protocol.messages.describe_transactions import TopicData
from protocol.messages.describe_transactions import TransactionState as DescribedTransaction
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from protocol.messages.list_transactions import TransactionState as ListedTransaction

if TYPE_CHECKING:
    from coordinator.core.consumer_group.regex import CompiledRegex
    from coordinator.core.transactions.entry import TransactionEntry, TransactionPartition

LISTED_AT_ONCE: Final = 1000
_NO_FILTER: Final = -1


def listed(
    partitions: Sequence[TransactionPartition],
    request: ListTransactionsRequest,
    wall_ms: int,
    *,
    is_down: bool,
    pattern: CompiledRegex | None = None,
) -> Generator[None, None, ListTransactionsResponse]:
    """Answer ListTransactions in steps. An id that had no transaction yet matches every duration, as in Kafka."""
    if is_down:
        return ListTransactionsResponse(error_code=int(ErrorCode.COORDINATOR_NOT_AVAILABLE))
    if any(partition.state is PartitionState.LOADING for partition in partitions):
        return ListTransactionsResponse(error_code=int(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    states = {STATE_OF_LABEL[name] for name in request.state_filters if name in STATE_OF_LABEL}
    response = ListTransactionsResponse(
        unknown_state_filters=[name for name in dict.fromkeys(request.state_filters) if name not in STATE_OF_LABEL]
    )
    producers = frozenset(request.producer_id_filters)
    at_once = LISTED_AT_ONCE if pattern is None else pattern.names_per_step
    seen = 0
    for partition in partitions:
        for entry in list(partition.entries.values()):
            seen += 1
            if not seen % at_once:
                yield
            metadata = entry.durable
            if (
                metadata is None
                or (producers and metadata.producer_id not in producers)
                or (request.state_filters and metadata.state not in states)
            ):
                continue
            if request.duration_filter > _NO_FILTER and wall_ms - metadata.start_ms <= request.duration_filter:
                continue
            if pattern is not None and not pattern.matching((entry.transactional_id,)):
                continue
            response.transaction_states.append(
                ListedTransaction(entry.transactional_id, metadata.producer_id, metadata.state.label)
            )
    return response


def described(transactional_id: str, refusal: ErrorCode, entry: TransactionEntry | None) -> DescribedTransaction:
    """Return the state of one id, or the error instead of it."""
    metadata = None if entry is None else entry.durable
    if refusal is ErrorCode.NONE and (metadata is None or metadata.state is TransactionState.DEAD):
        refusal = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    if refusal is not ErrorCode.NONE or metadata is None:
        return DescribedTransaction(error_code=int(refusal), transactional_id=transactional_id)
    return DescribedTransaction(
        transactional_id=transactional_id,
        transaction_state=metadata.state.label,
        transaction_timeout_ms=metadata.timeout_ms,
        transaction_start_time_ms=metadata.start_ms,
        producer_id=metadata.producer_id,
        producer_epoch=metadata.producer_epoch,
        topics=[TopicData(topic, ids) for topic, ids in by_topic(metadata.partitions).items()],
    )
