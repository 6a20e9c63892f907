"""Data directories with a given number of live offsets, for benchmarks of start-up: made once, kept in bench/build.

A group has a hundred offsets (ten topics of ten partitions), or another number, committed once, in batches of one
record or of a hundred: what a member that commits each partition alone, and one that commits all of them, leave behind.
Groups go to the partition that a coordinator gives them. `expected` says what an OffsetFetch must answer. The records
are ten minutes old when they are written; a server on them must be started with `RETENTION`, so that they
do not expire.
"""

from __future__ import annotations

import shutil
import struct
import time
from pathlib import Path
from typing import Final

from bench.measure import BUILD
from coordinator.core.shard import partition_for
from protocol.offsets_records import offset_key_prefix
from protocol.record_batch import build_batch

PARTITIONS: Final = 8
PER_GROUP: Final = 100
TOPICS: Final = 10
SEGMENT_BYTES: Final = 100_000_000
RETENTION: Final = "offsets.retention.minutes=5256000"  # ten years
_VALUE: Final = struct.Struct(">hqihq")  # an OffsetValue of version 3 without metadata
_PARTITION: Final = struct.Struct(">i")


def group_name(number: int) -> str:
    return f"group-{number:07d}"


def expected(number: int, topic: int, partition: int) -> int:
    """The offset of `topic-<topic>`/`partition` in a group."""
    return number * 1000 + topic * 10 + partition


def cached(offsets: int, per_batch: int, per_group: int = PER_GROUP) -> Path:
    """The directory; written when it is not there yet. A server must be given a copy."""
    path = BUILD / "offsets" / f"{offsets}-by-{per_batch}-in-{offsets // per_group}-groups"
    if not (path / "meta.properties").exists():
        partial = path.with_name(path.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.rmtree(path, ignore_errors=True)
        write(partial, offsets, per_batch, per_group)
        partial.rename(path)
    return path


def copy_of(directory: Path, into: Path) -> Path:
    """A server's own copy: hard links would let it write into ours."""
    shutil.rmtree(into, ignore_errors=True)
    shutil.copytree(directory, into)
    return into


class _Log:
    """One partition, written segment after segment."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        self.directory = directory
        self.next_offset = 0
        self._size = SEGMENT_BYTES
        self._file = None

    def add(self, records: list[tuple[bytes | None, bytes | None]], now_ms: int) -> None:
        batch = build_batch(records, base_offset=self.next_offset, timestamp_ms=now_ms)
        if self._file is None or self._size + len(batch) > SEGMENT_BYTES:
            self.close()
            self._file = (self.directory / f"{self.next_offset:020d}.log").open("wb", buffering=1 << 20)
            self._size = 0
        self._file.write(batch)
        self._size += len(batch)
        self.next_offset += len(records)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


def write(data_dir: Path, offsets: int, per_batch: int, per_group: int) -> None:
    now_ms = int(time.time() * 1000) - 600_000
    logs = [_Log(data_dir / f"__consumer_offsets-{number}") for number in range(PARTITIONS)]
    for number in range(offsets // per_group):
        name = group_name(number)
        log = logs[partition_for(name, PARTITIONS)]
        records: list[tuple[bytes | None, bytes | None]] = []
        for topic in range(TOPICS):
            prefix = offset_key_prefix(name, f"topic-{topic}")
            for partition in range(per_group // TOPICS):
                value = _VALUE.pack(3, expected(number, topic, partition), -1, 0, now_ms)
                records.append((prefix + _PARTITION.pack(partition), value))
        for start in range(0, len(records), per_batch):
            log.add(records[start : start + per_batch], now_ms)
    for log in logs:
        log.close()
    facts = "version=1\ncluster.id=bench00000000000000000\nnode.id=1\ncoordinator.format.version=1\n"
    (data_dir / "meta.properties").write_text(f"{facts}offsets.topic.num.partitions={PARTITIONS}\n")
