"""EndTxn: what ends a transaction, what repeats an end, and what is refused.

Clients before KIP-890 keep their epoch, so a repetition looks like the request itself. Since then each end raises the
epoch: a request with the epoch before it is a repetition. While markers are being written each end is told to wait.
Source: `endTransaction` and `endTransactionWithTV1` of Kafka's `TransactionCoordinator`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from coordinator.core.transactions.metadata import EXHAUSTED_FROM
from coordinator.core.transactions.states import PREPARED, TransactionState
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from coordinator.core.transactions.metadata import TransactionMetadata

END: Final = None  # instead of an error: the transaction ends now
_WRONG: Final = ErrorCode.INVALID_TXN_STATE
_RUNNING: Final = ErrorCode.CONCURRENT_TRANSACTIONS
_DONE: Final = ErrorCode.NONE  # it has ended in this way before

Verdict = ErrorCode | None

# By state: the verdict on a commit, and on an abort.
_WITHOUT_EPOCHS: Final[Mapping[TransactionState, tuple[Verdict, Verdict]]] = MappingProxyType(
    {
        TransactionState.EMPTY: (_WRONG, _WRONG),
        TransactionState.ONGOING: (END, END),
        TransactionState.PREPARE_COMMIT: (_RUNNING, _RUNNING),
        TransactionState.PREPARE_ABORT: (_RUNNING, _RUNNING),
        TransactionState.COMPLETE_COMMIT: (_DONE, _WRONG),
        TransactionState.COMPLETE_ABORT: (_WRONG, _DONE),
    }
)
# The same for a request with the present epoch, which may abort a transaction without partitions for a new epoch ...
_NEXT: Final[Mapping[TransactionState, tuple[Verdict, Verdict]]] = MappingProxyType(
    {
        TransactionState.EMPTY: (_WRONG, END),
        TransactionState.ONGOING: (END, END),
        TransactionState.COMPLETE_COMMIT: (_WRONG, END),
        TransactionState.COMPLETE_ABORT: (_WRONG, END),
    }
)
# ... and for one with the epoch before it, which is a repetition.
_REPEATED: Final[Mapping[TransactionState, tuple[Verdict, Verdict]]] = MappingProxyType(
    {
        TransactionState.COMPLETE_COMMIT: (_DONE, _WRONG),
        TransactionState.COMPLETE_ABORT: (_WRONG, _DONE),
    }
)


def verdict_without_epochs(metadata: TransactionMetadata, producer_id: int, epoch: int, *, commit: bool) -> Verdict:
    """Return the error that answers an EndTxn before version 5, NONE for a repetition, or END."""
    if producer_id != metadata.producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if epoch != metadata.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    return _WITHOUT_EPOCHS[metadata.state][not commit]


def verdict_with_epochs(metadata: TransactionMetadata, producer_id: int, epoch: int, *, commit: bool) -> Verdict:
    """Return the error that answers an EndTxn from version 5 on, NONE for a repetition, or END."""
    has_rotated = (
        producer_id == metadata.previous_producer_id and epoch == EXHAUSTED_FROM and metadata.producer_epoch == 0
    )
    if producer_id != metadata.producer_id and not has_rotated:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if metadata.state in PREPARED:  # before the epoch, which may be the next one already
        return ErrorCode.CONCURRENT_TRANSACTIONS
    is_repeated = has_rotated or metadata.producer_epoch == epoch + 1
    if not is_repeated and epoch != metadata.producer_epoch:
        return ErrorCode.PRODUCER_FENCED
    row = (_REPEATED if is_repeated else _NEXT).get(metadata.state)
    if row is None:  # a repetition of what has not happened
        return ErrorCode.PRODUCER_FENCED
    return row[not commit]
