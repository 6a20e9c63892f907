"""Comparison of a compacted log with the memory of the running daemon, before its segments are swapped.

The inputs come in this order: the compacted part, replayed as at a start; rows from memory whose records stand in that
part (`coordinator.core.committed_rows`); the tail of the live log, up to what was durable after the last row.

  - Each row must be found in the compacted part, at the same log offset and with the same content.
  - Each key that the compacted part leaves alive and that has no row must be written again, deleted, or decided by a
    marker in the tail.

If both hold, a restart on the compacted part and the tail loads what memory held. The tail itself and open transactions
are not checked. For a classic group only the offset of its newest record is compared: its members may be ahead of the
log. For a KIP-848 group all its records are compared, by a CRC-32 of their values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from coordinator.core.offsets.raw_records import CONSUMER_KEYS, committed_offset, state_key
from coordinator.core.offsets.replay import Replay
from protocol.errors import DecodeError
from protocol.group_records import decode_record_key
from protocol.offsets_records import decode_key, encode_group_key, encode_offset_key

if TYPE_CHECKING:
    from coordinator.core.committed_rows import ConsumerRow, GroupRow, OffsetRow, Row
    from protocol.record_batch import BatchHeader, Record


class MemoryCheck:
    """The check of one log partition, whose compacted part has been replayed.

    Call `begin_rows`, `add_row` for each row, `add_tail` for each batch, then `difference`. DecodeError: a record
    cannot be read.
    """

    def __init__(self, compacted: Replay) -> None:
        self.rows = 0
        self._compacted = compacted
        self._unseen: set[bytes] = set()  # state keys alive in the compacted part of which no row came
        self._difference: str | None = None

    def begin_rows(self) -> None:
        """Start before the first row, or again if memory was loaded anew meanwhile."""
        self.rows = 0
        self._difference = None
        compacted = self._compacted
        self._unseen = {*compacted.offsets, *compacted.groups} - compacted.beaten_groups()
        self._unseen.update(compacted.living_consumer_groups())

    def add_row(self, row: Row) -> None:
        """Compare the next row from memory."""
        self.rows += 1
        if len(row) == 3:
            self._check_consumer(row)
        elif len(row) != 2:
            self._check_offset(row)
        elif isinstance(row[0], str):
            self._check_group((row[0], row[1]))
        else:
            self._check_damaged(row[0], row[1])

    def _check_damaged(self, key: bytes, log_offset: int) -> None:
        self._unseen.discard(key)
        if all(found_at != log_offset for _, found_at in self._compacted.records_of(key)):
            self._say(f"{_named(key)} at log offset {log_offset} is in quarantine and not in the result")

    def _check_consumer(self, row: ConsumerRow) -> None:
        key, log_offset, crc = row
        self._unseen.discard(key)
        value, found_at = self._compacted.consumer.get(key, (b"", -1))
        if found_at != log_offset:
            self._say(f"{_named(key)} at log offset {log_offset} is in memory and not in the result")
        elif crc32(value) != crc:
            self._say(f"{_named(key)} at log offset {log_offset} differs from what is in memory")

    def _check_offset(self, row: OffsetRow) -> None:
        group_id, topic, partition, log_offset, *content = row
        key = encode_offset_key(group_id, topic, partition)
        self._unseen.discard(key)
        for value, found_at in self._compacted.records_of(key):
            if found_at == log_offset:
                if list(committed_offset(value, found_at)[:5]) != content:
                    self._say(f"{_named(key)} at log offset {log_offset} differs from what is in memory")
                return
        self._say(f"{_named(key)} at log offset {log_offset} is in memory and not in the result")

    def _check_group(self, row: GroupRow) -> None:
        group_id, log_offset = row
        key = state_key(encode_group_key(group_id))
        self._unseen.discard(key)
        found = self._compacted.groups.get(key)
        if found is None or found[1] != log_offset:
            self._say(f"{_named(key)} at log offset {log_offset} is in memory and not in the result")

    def add_tail(self, header: BatchHeader, records: list[Record]) -> None:
        """Take the next batch of the live log behind the compacted part."""
        if header.is_control:
            self._unseen.difference_update(self._compacted.pending_keys(header.producer_id))
            return
        for record in records:
            if record.key is not None:
                self._unseen.discard(state_key(record.key))

    def difference(self) -> str | None:
        """Return the first difference, as a clause of a sentence; None if there is none."""
        if self._difference is None and self._unseen:
            key = min(self._unseen)
            compacted = self._compacted
            found = compacted.offsets.get(key) or compacted.groups.get(key) or compacted.consumer[key]
            self._say(f"{_named(key)} at log offset {found[1]} is in the result and not in memory")
        return self._difference

    def _say(self, clause: str) -> None:
        self._difference = self._difference or clause


def _named(key: bytes) -> str:
    try:
        consumer = decode_record_key(key) if key[:2] in CONSUMER_KEYS else None
        decoded = decode_key(key)
    except DecodeError:
        return f"the record with the key {key!r}"
    if consumer is not None:
        return f"the record of the kind {consumer.kind.name} of group {consumer.group!r}"
    kind = "the offset of group" if len(decoded) > 1 else "the record of group"
    return f"{kind} {', '.join(repr(part) for part in decoded)}"
