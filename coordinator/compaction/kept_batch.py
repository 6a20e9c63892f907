"""Comparison of a batch that a compaction kept with the batch of the input: records may be missing, none may be added.

Most batches keep their base timestamp, and then a record that survives has the same bytes: bytes are compared, cut at
the lengths of the records. Where a batch is compressed, or its deltas were written anew (the delete horizon of KIP-534
is stored in the base timestamp), the records of both are decoded.
"""

from __future__ import annotations

from typing import Final

from protocol.errors import ProtocolError
from protocol.record_batch import HEADER_BYTES, BatchHeader, read_records

_KEPT_ATTRIBUTES: Final = 0x38  # a delete horizon may be added, and an emptied batch has no codec
NOT_BYTEWISE: Final = 0x0F  # codec, timestamp type: the header, too, says what the records mean


def check_kept(header: BatchHeader, batch: bytes, old_header: BatchHeader, old: bytes) -> str | None:
    """Return why `batch`, of the outputs, is not what is left of `old`, of the inputs; None if it is.

    The checksums have been verified.
    """
    if batch == old:
        return None
    if _facts(header) != _facts(old_header):
        return f"the batch at {header.base_offset} has another header"
    if (
        header.base_timestamp == old_header.base_timestamp
        and not (header.attributes | old_header.attributes) & NOT_BYTEWISE
    ):
        try:
            there = iter(_cut(old, old_header.record_count))
            if all(record in there for record in _cut(batch, header.record_count)):  # in the same order
                return None
        except IndexError:
            pass  # decoding the records finds the reason
    try:
        records = {record.offset: record for record in read_records(old, 0, old_header)}
        for record in read_records(batch, 0, header):
            found = records.pop(record.offset, None)
            if found is None:
                return f"the record at offset {record.offset} is in no input"
            if found != record:
                return f"the record at offset {record.offset} was changed"
    except ProtocolError as error:
        return f"the batch at offset {header.base_offset}: {error}"
    return None


def _facts(header: BatchHeader) -> tuple[int, ...]:
    return (
        header.base_offset,
        header.last_offset_delta,
        header.partition_leader_epoch,
        header.attributes & _KEPT_ATTRIBUTES,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
    )


def _cut(batch: bytes, count: int) -> list[bytes]:
    """Return the bytes of each record. IndexError if lengths and count do not fit, or a length has over two bytes."""
    records = []
    position = HEADER_BYTES
    for _ in range(count):
        start = position
        length = batch[position]
        position += 1
        if length > 127:
            high = batch[position]
            length = length & 127 | high << 7
            position += 1
            if high > 127:
                raise IndexError
        if length & 1:
            raise IndexError
        position += length >> 1
        records.append(batch[start:position])
    if position != len(batch):
        raise IndexError
    return records
