"""Check of the records of the transaction log: every key and value is decoded, and the log is replayed as by a start.

A start decodes only the newest value of each transactional id. Here all are, so that a damaged record is found before
it is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from coordinator.core.transactions.records import metadata_of
from coordinator.core.transactions.replay import TransactionReplay
from coordinator.selfcheck.findings import DropRecord, LogFinding, PartitionReport
from protocol.errors import DecodeError
from protocol.record_batch import control_type, read_records
from protocol.transaction_records import decode_transaction_key

if TYPE_CHECKING:
    from protocol.record_batch import BatchHeader

IGNORED: Final = "it is ignored, since a newer record replaces it"
SET_ASIDE: Final = "it is set aside, and its transactional id is not known any more; all others are served"


class TransactionCheck:
    """Checks and replays the batches of one partition."""

    def __init__(self, report: PartitionReport) -> None:
        self._report = report
        self._replay = TransactionReplay()
        self._damaged: list[tuple[str, DropRecord, str]] = []  # file, place, reason

    def add(self, header: BatchHeader, batch: bytes, file: str, base_offset: int, position: int) -> None:
        """Read the next batch. ProtocolError: its records cannot be told apart."""
        for record in read_records(batch, 0, header):
            if header.is_control:
                control_type(record)
                continue
            try:
                transactional_id = decode_transaction_key(record.key or b"")
                if transactional_id is not None and record.value is not None:
                    metadata_of(record.value)
            except DecodeError as error:
                where = DropRecord(base_offset, position, len(batch), record.offset)
                self._damaged.append((file, where, str(error)))
        self._replay.add_batch(header, batch)

    def finish(self, *, is_loadable: bool) -> None:
        """Report what was found, and how many transactional ids a start finds."""
        found = self._replay.settle()
        live = {each.log_offset for each in self._replay.damaged}
        for file, mend, reason in self._damaged:
            what = f"the record at offset {mend.log_offset} cannot be used: {reason}"
            start = SET_ASIDE if mend.log_offset in live else IGNORED
            self._report.add(LogFinding(file, mend.position, what, start, mend=mend))
        if self._replay.unknown:
            self._report.notes.append(f"{self._replay.unknown} records with keys of unknown types are not used")
        if is_loadable:
            self._report.transactional_ids = len(found)
