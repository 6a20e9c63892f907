"""What a node's disk says is committed, read from the files while the node is dead and nobody can put it right.

A client that reconnects commits again at once and would hide what a crash had lost; the files cannot be hurried.
"""

from __future__ import annotations

from pathlib import Path

from protocol.errors import DecodeError
from protocol.offsets_records import OffsetKey, decode_key, decode_offset_value
from protocol.record_batch import iter_batches, read_records

TopicPartition = tuple[str, int]


def committed_on_disk(data_dir: Path) -> dict[str, dict[TopicPartition, int]]:
    """By group: the last offset of each partition. A torn end counts as its absence, as it will at the next start."""
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
