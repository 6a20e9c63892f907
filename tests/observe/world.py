"""A state that only remembers, batches of commits, and a directory to mirror into."""

from __future__ import annotations

from collections.abc import Sequence

from coordinator.observe.fetching import FetchedPart
from protocol.offsets_records import OffsetValue, encode_group_key, encode_offset_key, encode_offset_value
from protocol.record_batch import build_batch, iter_batches

NOW_MS = 1_700_000_000_000


class RememberingState:
    """Remembers the last offset of each key, how often each was given, and every other record."""

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, str, int], int] = {}
        self.at_ms: dict[tuple[str, str, int], int] = {}
        self.given = 0
        self.records: list[tuple[int, bytes, bytes | None]] = []
        self.caught_up_times = 0

    def commits(
        self, groups: list[str], topics: list[str], partitions: list[int], offsets: list[int], at_ms: list[int]
    ) -> None:
        for group, topic, partition, offset, at in zip(groups, topics, partitions, offsets, at_ms, strict=True):
            self.offsets[group, topic, partition] = offset
            self.at_ms[group, topic, partition] = at
            self.given += 1

    def record(self, at_ms: int, key: bytes, value: bytes | None) -> None:
        self.records.append((at_ms, key, value))

    def caught_up(self) -> None:
        self.caught_up_times += 1

    @property
    def living(self) -> dict[tuple[str, str, int], int]:
        """The offsets that were not deleted."""
        return {key: offset for key, offset in self.offsets.items() if offset >= 0}


def commit(group: str, offset: int | None, topic: str = "t", partition: int = 0) -> tuple[bytes, bytes | None]:
    """Return key and value of a commit; None as offset: it was deleted."""
    value = None if offset is None else encode_offset_value(OffsetValue(offset, -1, "", NOW_MS, -1))
    return encode_offset_key(group, topic, partition), value


def group_record(group: str, value: bytes | None = b"\0\3") -> tuple[bytes, bytes | None]:
    return encode_group_key(group), value


def batch(base_offset: int, *records: tuple[bytes | None, bytes | None], at_ms: int = NOW_MS, **more: object) -> bytes:
    return bytes(build_batch(list(records), base_offset=base_offset, timestamp_ms=at_ms, **more))  # type: ignore[arg-type]


def commits_from(base_offset: int, count: int, per_batch: int = 1, group: str = "g", pad: int = 0) -> bytes:
    """Return batches of commits, each of its own log offset as the committed one."""
    found = []
    for first in range(base_offset, base_offset + count, per_batch):
        some = range(first, min(first + per_batch, base_offset + count))
        found.append(batch(first, *[commit(group + "x" * pad, offset) for offset in some], at_ms=NOW_MS + first))
    return b"".join(found)


def part(partition: int, from_offset: int, data: bytes, high_watermark: int | None = None) -> FetchedPart:
    ends = [header.last_offset + 1 for _, header in iter_batches(data)]
    return FetchedPart(partition, from_offset, max(ends, default=0) if high_watermark is None else high_watermark, data)


def log_bytes(files: Sequence[object]) -> bytes:
    """Return the content of segment files, one after another."""
    return b"".join(path.read_bytes() for path in sorted(files))  # type: ignore[attr-defined, type-var]
