"""Committed offsets read from the files of a stopped node.

A client that reconnects commits again at once and would hide an offset that a crash had lost; the files show it.
"""

from __future__ import annotations

from pathlib import Path

from protocol.errors import DecodeError
from protocol.offsets_records import OffsetKey, decode_key, decode_offset_value
from protocol.record_batch import iter_batches, read_records

TopicPartition = tuple[str, int]


def committed_on_disk(data_dir: Path) -> dict[str, dict[TopicPartition, int]]:
    """Return by group the last offset of each partition. A torn end is skipped, as the next start does."""
    committed: dict[str, dict[TopicPartition, int]] = {}
    for segment in sorted(data_dir.glob("__consumer_offsets-*/*.log")):
        data = segment.read_bytes()
        try:
            for position, header in iter_batches(data):
                for record in read_records(data, position, header):
                    key = decode_key(record.key or b"")
                    if isinstance(key, OffsetKey):
                        group = committed.setdefault(key.group, {})
                        if record.value is None:
                            group.pop((key.topic, key.partition), None)
                        else:
                            group[key.topic, key.partition] = decode_offset_value(record.value).offset
        except DecodeError:
            continue
    return committed
