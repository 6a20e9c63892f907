"""Replay of a partition of `__transaction_state`: the newest record of each transactional id.

A record that cannot be decoded is set aside and reported; the ids of all others are served. Source: Kafka's
`TransactionStateManager.loadTransactionMetadata`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from coordinator.core.transactions.records import metadata_of
from protocol.errors import DecodeError
from protocol.record_batch import read_records
from protocol.transaction_records import decode_transaction_key

if TYPE_CHECKING:
    from coordinator.core.offsets.raw_records import RawRecord
    from coordinator.core.transactions.metadata import TransactionMetadata
    from protocol.record_batch import BatchHeader


class DamagedTransaction(NamedTuple):
    """A record that cannot be decoded, and why."""

    log_offset: int
    reason: str


class TransactionReplay:
    """Collects the records of one partition, batch by batch in log order."""

    def __init__(self) -> None:
        self.records = 0
        self.unknown = 0  # keys of unknown versions
        self.leader_epoch = 0  # the highest: a Kafka that had the log may have written markers with it
        self.damaged: list[DamagedTransaction] = []
        self.newest: dict[bytes, RawRecord] = {}  # by key; records with unknown or damaged keys, too

    def add_batch(self, header: BatchHeader, batch: bytes) -> None:
        """Read the next batch, as raw bytes whose checksum is right."""
        self.leader_epoch = max(self.leader_epoch, header.partition_leader_epoch)
        if header.is_control:
            return
        for record in read_records(batch, 0, header):
            self.records += 1
            if record.value is None:
                self.newest.pop(record.key or b"", None)
            else:
                self.newest[record.key or b""] = record.value, record.offset

    def settle(self) -> dict[str, TransactionMetadata]:
        """Return the state of each transactional id."""
        found: dict[str, TransactionMetadata] = {}
        for key, (value, offset) in self.newest.items():
            try:
                transactional_id = decode_transaction_key(key)
                if transactional_id is None:
                    self.unknown += 1
                else:
                    found[transactional_id] = metadata_of(value)
            except DecodeError as error:
                self.damaged.append(DamagedTransaction(offset, str(error)))
        return found
