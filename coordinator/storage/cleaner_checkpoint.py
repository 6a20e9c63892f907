"""`cleaner-offset-checkpoint` in the data directory: the clean offset of each log partition, in Kafka's format.

The lines are the version 0, the number of entries, and "topic partition offset" for each entry. Records below the
offset are compacted, records from it on are dirty; their ratio decides when the next compaction is due. The file is a
hint: if it is lost or wrong, one compaction runs too early. Entries of other topics are kept.
Source: org.apache.kafka.storage.internals.checkpoint `CheckpointFile`, `OffsetCheckpointFile`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.storage.file_names import CLEANER_CHECKPOINT_NAME
from coordinator.storage.log.fs import FileSystem, read_whole, write_atomically

_VERSION: Final = 0

Entries = dict[tuple[str, int], int]


def read_checkpoint(fs: FileSystem, data_dir: Path, topic: str = OFFSETS_TOPIC) -> dict[int, int]:
    """Return the clean offset by partition of a topic; empty if the file cannot be read."""
    return {partition: offset for (each, partition), offset in _read(fs, data_dir).items() if each == topic}


def write_checkpoint(
    fs: FileSystem, data_dir: Path, clean_up_to: Mapping[int, int], topic: str = OFFSETS_TOPIC
) -> None:
    """Set the entries of these partitions; durable on return."""
    entries = _read(fs, data_dir)
    updated = entries | {(topic, partition): offset for partition, offset in clean_up_to.items()}
    if updated == entries:
        return
    lines = [f"{each} {partition} {offset}" for (each, partition), offset in sorted(updated.items())]
    text = "".join(f"{line}\n" for line in (_VERSION, len(lines), *lines))
    write_atomically(fs, data_dir / CLEANER_CHECKPOINT_NAME, text.encode())


def _read(fs: FileSystem, data_dir: Path) -> Entries:
    path = data_dir / CLEANER_CHECKPOINT_NAME
    if not fs.exists(path):
        return {}
    try:
        version, count, *lines = read_whole(fs, path).decode().splitlines()
        if (int(version), int(count)) != (_VERSION, len(lines)):
            return {}
        entries: Entries = {}
        for line in lines:
            topic, partition, offset = line.split()
            entries[topic, int(partition)] = int(offset)
    except ValueError:
        return {}
    return entries
