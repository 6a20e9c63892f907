"""Loads a partition of the transaction log in a shared store, from its snapshot and the batches behind it.

The snapshot has the format of those of the offsets log, with the newest record of each transactional id as it is in the
log.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from coordinator.core.transactions.replay import TransactionReplay
from coordinator.storage.snapshot.file import Contents
from coordinator.storage.snapshot.loading import BatchTail

if TYPE_CHECKING:
    from coordinator.core.offsets.replay import Base
    from coordinator.storage.snapshot.file import LastBatch


@dataclass(slots=True)
class LoadedTransactions:
    """Records of a partition below `next_offset`. `replay` is not settled yet."""

    replay: TransactionReplay
    next_offset: int
    last: LastBatch | None  # the batch right below `next_offset`; None: the log is empty
    snapshot_offset: int  # end of the snapshot that was used; -1: none was
    tail_bytes: int  # size of the batches that were read

    @property
    def records(self) -> int:
        """Number of records that were read behind the snapshot."""
        return self.replay.records

    def contents(self) -> Contents:
        """Return the content of a snapshot."""
        return Contents((), {}, {}, self.replay.newest, 0, 0, 0)


class TransactionTail(BatchTail[TransactionReplay]):
    """The tail of a partition of the transaction log."""

    def __init__(self, base: Base | None, last: LastBatch | None, *, is_whole: bool = False) -> None:
        replay = TransactionReplay()
        if base is not None:
            replay.newest = base.consumer
        super().__init__(replay, base, last, is_whole=is_whole)

    def settle(self, end_offset: int) -> LoadedTransactions:
        """Return the records. SnapshotError: records below `end_offset` are missing."""
        last, snapshot_offset = self._ended(end_offset)
        if last is not None:
            self._replay.leader_epoch = max(self._replay.leader_epoch, last.leader_epoch)
        return LoadedTransactions(self._replay, end_offset, last, snapshot_offset, self._bytes)
