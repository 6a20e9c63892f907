"""Data directories of random logs, and an oracle that reads such a log record by record.

The oracle uses no columns, Parquet or cuts. It keeps the state that a coordinator would have in memory in plain dicts,
transactions included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from coordinator.history.commits import NEVER, Standing, TopicPartition
from coordinator.history.layout import BY_DAY, UNDIVIDED
from coordinator.history.source import HistorySource
from protocol.offsets_records import OffsetKey, OffsetValue, decode_key, decode_offset_value
from protocol.record_batch import BatchHeader, ControlType, Record, control_type, iter_batches, read_records
from tests.compaction.logs import Segment

GROUPS: Final = ("g", "h", "ä😀")
Offsets = dict[TopicPartition, Standing]


def data_dir(
    directory: Path, segments: Sequence[Segment], *, partition: int = 0, cluster_id: str = "test"
) -> HistorySource:
    """Write a data directory with one offsets partition that has these segments, the last of them active."""
    directory.mkdir(parents=True, exist_ok=True)
    facts = f"version=1\ncluster.id={cluster_id}\nnode.id=1\ncoordinator.format.version=1\n"
    (directory / "meta.properties").write_text(f"{facts}offsets.topic.num.partitions={partition + 1}\n")
    write_segments(directory / f"__consumer_offsets-{partition}", segments)
    return HistorySource.of(directory)


def write_segments(directory: Path, segments: Sequence[Segment]) -> None:
    """Write exactly these segments, and remove others."""
    directory.mkdir(parents=True, exist_ok=True)
    wanted = {segment.name for segment in segments}
    for path in directory.glob("*.log"):
        if path.name not in wanted:
            path.unlink()
    for segment in segments:
        (directory / segment.name).write_bytes(segment.data)


def records_of(segments: Sequence[Segment]) -> Iterator[tuple[BatchHeader, Record]]:
    """Yield all records in log order."""
    for segment in segments:
        for position, header in iter_batches(segment.data):
            for record in read_records(segment.data, position, header):
                yield header, record


@dataclass(frozen=True, slots=True)
class Effect:
    """A commit or deletion that took effect."""

    key: OffsetKey
    value: OffsetValue | None
    log_offset: int
    from_offset: int  # log offset and time of the record that made it count: itself, or the marker of its transaction
    from_ms: int

    def standing(self) -> Standing | None:
        value = self.value
        if value is None:
            return None
        return Standing(value.offset, value.metadata, value.leader_epoch, value.commit_timestamp_ms, self.log_offset)


def effects(segments: Sequence[Segment]) -> list[Effect]:
    """Return the effects of the log in the order in which they took effect."""
    found: list[Effect] = []
    open_: dict[int, list[tuple[OffsetKey, OffsetValue, int]]] = {}
    for header, record in records_of(segments):
        if header.is_control:
            kind = control_type(record)
            if kind is not ControlType.UNKNOWN:
                for key, value, offset in open_.pop(header.producer_id, []):
                    if kind is ControlType.COMMIT:
                        found.append(Effect(key, value, offset, record.offset, record.timestamp_ms))
            continue
        key = decode_key(record.key) if record.key is not None else None
        if not isinstance(key, OffsetKey):
            continue
        value = None if record.value is None else decode_offset_value(record.value)
        if header.is_transactional and value is not None:
            open_.setdefault(header.producer_id, []).append((key, value, record.offset))
        else:
            found.append(Effect(key, value, record.offset, record.offset, record.timestamp_ms))
    return found


def replay(found: Sequence[Effect], group: str, counts: Callable[[Effect], bool]) -> Offsets:
    """Return the group's offsets after the effects that count; the newest record of a partition decides."""
    newest: dict[OffsetKey, Effect] = {}
    for effect in found:
        if effect.key.group == group and counts(effect):
            present = newest.get(effect.key)
            if present is None or present.log_offset < effect.log_offset:
                newest[effect.key] = effect
    stood = {(key.topic, key.partition): effect.standing() for key, effect in newest.items()}
    return {key: standing for key, standing in sorted(stood.items()) if standing is not None}


def before(log_offset: int) -> Callable[[Effect], bool]:
    """Return the offsets in a coordinator that has read the log up to this offset."""
    return lambda effect: effect.from_offset < log_offset


def until(moment_ms: int) -> Callable[[Effect], bool]:
    """Return the offsets by the records appended up to this time."""
    return lambda effect: effect.from_ms <= moment_ms


EVERYTHING: Final = before(NEVER)


def tables(history_dir: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table, in one order."""
    found = {}
    for name in (*BY_DAY, *UNDIVIDED):
        rows = [
            row for path in (history_dir / name).rglob("*.parquet") for row in pq.ParquetFile(path).read().to_pylist()
        ]
        found[name] = sorted(rows, key=str)
    return found
