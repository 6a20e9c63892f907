"""The newest record of each key of a log whose keys are compared as bytes: the transaction log.

Nothing in that log is transactional. Should it hold transactions all the same, their records count as any others, as at
a start; if a job left out one of an aborted transaction, the comparison finds that and its result is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.record_batch import read_records

if TYPE_CHECKING:
    from coordinator.core.offsets.raw_records import RawRecord
    from protocol.record_batch import BatchHeader, Record


class NewestRecords:
    """Collects the records of one partition, in log order."""

    def __init__(self) -> None:
        self.records: dict[bytes, RawRecord] = {}  # by key: value and log offset; a tombstone removes its key

    def add_batch(self, header: BatchHeader, batch: bytes) -> None:
        """Add the next batch, as raw bytes. DecodeError: a record cannot be read."""
        self.add(header, read_records(batch, 0, header))

    def add(self, header: BatchHeader, records: list[Record]) -> None:
        """Add the records of the next batch."""
        if not header.is_control:
            for record in records:
                self.add_record(record.key, record.value, record.offset)

    def add_record(self, key: bytes | None, value: bytes | None, offset: int) -> None:
        """Add the next record. One without a key is never the newest of any."""
        if key is None:
            return
        if value is None:
            self.records.pop(key, None)
        else:
            self.records[key] = (value, offset)
