"""The events of groups (docs/group-events.md): a Parquet table, and the events of one group.

Each segment of a partition of their topic becomes one file, named after its first offset. The file of a segment that
grows is replaced by one with its new events, too. There are no marks: a file has the events up to its largest offset.
Retention may remove segments before they are extracted, and then their events are missing. Damage is skipped.

A question reads the log first and the files afterwards, so an extraction or retention in between hides no event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from coordinator.columnar.batches import CorruptBatchError
from coordinator.columnar.log_reader import LogNotFoundError, Reading, read_range
from coordinator.core.events.model import AnyEvent, Incident, Rebalance, decode_event, shortened
from coordinator.core.topics.names import EVENTS_TOPIC, parse_partition_directory, partition_directory
from coordinator.history.extract import locked
from coordinator.history.layout import EVENTS_DIR, TEMPORARY, TableFile, event_files, events_dir, path_undivided
from coordinator.history.parquet import parquet_bytes, write_table
from coordinator.history.segments import SegmentsError, segment_bases
from coordinator.history.source import HistorySource
from coordinator.storage.log.fs import FileSystem, RealFileSystem

_NUMBERS: Final = ("join_ms", "plan_ms", "sync_ms")
_TEXTS: Final = ("member_id", "instance_id", "client_id", "host", "software", "outcome", "json")
EVENTS: Final = pa.schema(
    [
        ("log_offset", pa.int64()),
        ("at_ms", pa.int64()),
        ("group", pa.string()),
        ("kind", pa.string()),
        ("cause", pa.string()),  # of a rebalance; of an incident: what it is
        ("generation", pa.int64()),
        *((name, pa.string()) for name in _TEXTS[:5]),
        *((name, pa.int64()) for name in _NUMBERS),
        *((name, pa.string()) for name in _TEXTS[5:]),
    ]
)


class StoredEvent(NamedTuple):
    """An event and the offset of its record."""

    log_offset: int
    event: AnyEvent


@dataclass(slots=True)
class ExtractedEvents:
    """The result of an extraction. `problems` are sentences about segments that were left for the next one."""

    segments: int = 0
    events: int = 0
    bytes_written: int = 0
    problems: tuple[str, ...] = ()


def columns(stored: StoredEvent) -> dict[str, Any]:
    """Return an event as a row of the table."""
    event = stored.event
    row: dict[str, Any] = {"log_offset": stored.log_offset, "at_ms": event.at_ms, "group": event.group}
    if isinstance(event, Rebalance):
        member = event.trigger.member
        row |= {"kind": "rebalance", "cause": event.trigger.cause.value, "outcome": event.outcome.value}
        row |= {name: getattr(event, name) if getattr(event, name) >= 0 else None for name in _NUMBERS}
    else:
        member = event.member
        row |= {"kind": "incident", "cause": event.what.value, "outcome": None, **dict.fromkeys(_NUMBERS)}
    row["generation"] = event.generation if event.generation >= 0 else None
    return row | msgspec.structs.asdict(member)


def extract_events(source: HistorySource, fs: FileSystem | None = None) -> ExtractedEvents:
    """Extract every event that is in no file yet. Raises ExtractError, and OSError if a file is not written."""
    fs = fs or RealFileSystem()
    if not _directories(source.data_dir):
        return ExtractedEvents()
    with locked(source, fs):
        return add_events(source, fs)


def add_events(source: HistorySource, fs: FileSystem) -> ExtractedEvents:
    """Do the same while the lock of the history is held."""
    result = ExtractedEvents()
    for partition, directory in _directories(source.data_dir).items():
        _remove_leftovers(events_dir(source.history_dir, partition), fs)
        for missing in _missing(directory, event_files(source.history_dir, partition, fs)):
            try:
                found = _table(list(_read(directory, missing.start, missing.end)))
            except (CorruptBatchError, LogNotFoundError, OSError) as error:
                result.problems += (f"{directory.name}, segment {missing.base}: {error}",)
                continue
            if not found.num_rows:
                continue
            path = path_undivided(source.history_dir, EVENTS_DIR, partition, missing.base)
            known = [pq.ParquetFile(path).read().cast(EVENTS)] if fs.exists(path) else []
            data = parquet_bytes(_sorted(pa.concat_tables([*known, found])))
            write_table(fs, path, data)
            result.segments += 1
            result.events += found.num_rows
            result.bytes_written += len(data)
    return result


class _Missing(NamedTuple):
    """A range of offsets without a file, in the segment that begins at `base`; `end` is None in the last segment."""

    base: int
    start: int
    end: int | None


def _missing(directory: Path, files: Sequence[TableFile]) -> Iterator[_Missing]:
    """Yield what is in the log and not in these files, in log order. Raises SegmentsError."""
    there = {file.start: file for file in files}
    bases = segment_bases(directory)
    start = 0
    for base, following in zip(bases, [*bases, None][1:], strict=True):
        # A segment may begin while one is read to its end, so a file may have events of the next segment.
        start = max(start, _end(there[base]) if base in there else base)
        if following is None or start < following:
            yield _Missing(base, start, following)


def newest_ms(file: TableFile) -> int:
    """Return the time of the newest event of a file."""
    return _largest(file, "at_ms", -1)


def _end(file: TableFile) -> int:
    """Return the offset after the last event of a file."""
    return _largest(file, "log_offset", file.start - 1) + 1


def _largest(file: TableFile, column: str, default: int) -> int:
    metadata = pq.read_metadata(file.path)
    place = EVENTS.get_field_index(column)
    groups = [metadata.row_group(number).column(place).statistics.max for number in range(metadata.num_row_groups)]
    return max(groups, default=default)


def load_events(source: HistorySource, group: str) -> list[StoredEvent]:
    """Return the known events of a group, oldest first; of an incident that was written again, the last record.

    Raises SegmentsError, CorruptBatchError.
    """
    import pyarrow.dataset as ds  # late: it imports pandas where that is installed

    name = shortened(group)
    # The events of a long name may be in another partition of the node than its offsets.
    numbers = [source.partition_of(name)] if name == group else list(range(source.offsets_partitions))
    found: dict[tuple[int, int], AnyEvent] = {}
    for number in numbers:
        directory = source.data_dir / partition_directory(EVENTS_TOPIC, number)
        try:
            for missing in _missing(directory, event_files(source.history_dir, number)):
                for stored in _read(directory, missing.start, missing.end, name.encode()):
                    found[number, stored.log_offset] = stored.event
        except (OSError, LogNotFoundError) as error:
            raise SegmentsError(f"{directory} cannot be read ({error}); mend its permissions") from None
        if files := [str(file.path) for file in event_files(source.history_dir, number)]:
            dataset = ds.dataset(files, schema=EVENTS, format=ds.ParquetFileFormat())
            table = dataset.to_table(columns=["log_offset", "json"], filter=ds.field("group") == name)
            for offset, text in zip(table["log_offset"].to_pylist(), table["json"].to_pylist(), strict=True):
                found[number, offset] = decode_event(text.encode())
    return _once([StoredEvent(offset, found[number, offset]) for number, offset in sorted(found)])


def live_events(source: HistorySource) -> Iterator[tuple[int, pa.Table]]:
    """Yield the partitions of the topic, each with its events that are in no file. Damage is skipped."""
    for partition, directory in _directories(source.data_dir).items():
        spans = list(_missing(directory, event_files(source.history_dir, partition)))
        yield partition, _table([stored for each in spans for stored in _read(directory, each.start, each.end)])


def _once(stored: list[StoredEvent]) -> list[StoredEvent]:
    """Put the last record of each incident in the place of its first."""
    places: dict[Any, int] = {}
    kept: list[StoredEvent] = []
    for each in stored:
        event = each.event
        key = (event.at_ms, event.what, event.member) if isinstance(event, Incident) else (each.log_offset,)
        place = places.setdefault((event.group, *key), len(kept))
        if place == len(kept):
            kept.append(each)
        else:
            kept[place] = each
    return kept


def _read(directory: Path, start: int, end: int | None, key: bytes | None = None) -> Iterator[StoredEvent]:
    """Yield the events of a range of offsets, all or those with one key. What is no event is left out."""
    for piece in read_range(directory, start, end, Reading(skip_corrupt=True)):
        records = piece.records
        keys, values = records.keys().to_pylist(), records.values().to_pylist()
        inside = range(len(records))[piece.rows] if isinstance(piece.rows, slice) else piece.rows.tolist()
        for row in inside:
            if values[row] is None or (key is not None and keys[row] != key):
                continue
            try:
                event = decode_event(values[row])
            except msgspec.MsgspecError:
                continue
            yield StoredEvent(int(records.offset[row]), event)


def _table(found: list[StoredEvent]) -> pa.Table:
    rows = [columns(each) | {"json": msgspec.json.encode(each.event).decode()} for each in found]
    return _sorted(pa.Table.from_pylist(rows, schema=EVENTS))


def _sorted(table: pa.Table) -> pa.Table:
    return table.sort_by([("group", "ascending"), ("log_offset", "ascending")])


def _directories(data_dir: Path) -> dict[int, Path]:
    """Return the directories of the partitions of the topic; none if there is no data directory."""
    found: dict[int, Path] = {}
    for path in sorted(data_dir.iterdir()) if data_dir.is_dir() else ():
        parsed = parse_partition_directory(path.name)
        if parsed is not None and parsed[0] == EVENTS_TOPIC and path.is_dir():
            found[parsed[1]] = path
    return dict(sorted(found.items()))


def _remove_leftovers(directory: Path, fs: FileSystem) -> None:
    """Remove files of a run that was killed while it wrote them."""
    for name in fs.listdir(directory) if fs.is_dir(directory) else []:
        if name.endswith(TEMPORARY):
            fs.unlink(directory / name)
