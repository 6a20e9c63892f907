"""The views that questions are asked of, and the SQL texts of views and questions, for whichever engine answers.

A table has Parquet files below the marks, and rows of the log beyond them, from which changes of groups are derived.
Other views are SQL over these. `sql/` has the texts, in the dialect that DuckDB and Spark share: a column with
a reserved name has its table before it (`c.group`), and parameters are bound by name (`$since_ms`).

An answer holds for a `Stand` of the history. If an extraction moved the marks or the files meanwhile, a compaction may
have followed, so the text is answered again.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files as resources
from pathlib import Path
from typing import Any, Final, TypeVar

import pyarrow as pa

from coordinator.columnar.consumer_columns import CONSUMERS
from coordinator.history import file_list, layout
from coordinator.history.change_fold import ChangeFold
from coordinator.history.change_rows import CHANGE_SCHEMAS, change_tables
from coordinator.history.commits import NEVER
from coordinator.history.events import EVENTS, live_events
from coordinator.history.lag_table import LAG
from coordinator.history.rows import COMMITS, GROUPS, TRANSACTIONS, Rows, joined, read_blocks
from coordinator.history.segments import partitions_in, segment_bases
from coordinator.history.source import HistorySource
from coordinator.history.tables import marks_of
from coordinator.history.topic_names import kept_names, topic_names
from coordinator.storage.file_names import offsets_log_dir
from coordinator.storage.history_marks import Marks
from coordinator.storage.log.fs import RealFileSystem

Answered = TypeVar("Answered")

TRIES: Final = 3
LP: Final = pa.field("lp", pa.int32())  # the partition of the log
_PARAMETER: Final = re.compile(r"\$(\w+)")


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a history, in a directory of that. If it has marks, only files below that of their partition count."""

    name: str
    schema: pa.Schema
    directory: str
    has_marks: bool = True

    @property
    def full_schema(self) -> pa.Schema:
        return pa.schema([LP, *self.schema])

    def files(self, history_dir: Path, partition: int) -> Iterable[layout.TableFile]:
        """Return the files of a partition; the first one has those of a table that is not divided into partitions."""
        if self.directory == layout.LAG_DIR:
            found = (history_dir / self.directory).rglob("at-*.parquet") if partition == 0 else ()
            return [layout.TableFile(path, 0) for path in sorted(found)]
        list_files = layout.files_by_day if self.directory in layout.BY_DAY else layout.files_undivided
        return list_files(history_dir, self.directory, partition)


_OF_THE_LOG: Final = {"commits": COMMITS, "transactions": TRANSACTIONS, "groups": GROUPS, "consumers": CONSUMERS}
TABLES: Final = (
    *(Table(name, schema, name) for name, schema in (_OF_THE_LOG | CHANGE_SCHEMAS).items()),
    Table("event_records", EVENTS, layout.EVENTS_DIR, has_marks=False),
    Table("lag", LAG, layout.LAG_DIR, has_marks=False),
)
SQL_VIEWS: Final = ("decided_commits", "counted_commits", "progress", "events")  # each over those before it
NAMES: Final = tuple(sorted({*(table.name for table in TABLES), *SQL_VIEWS}))


# -- texts


@cache
def text_of(name: str) -> str:
    """Return the SQL of a view or question."""
    return (resources("coordinator.history") / "sql" / f"{name}.sql").read_text(encoding="utf-8")


def needed(text: str) -> set[str]:
    """Return the views that a text may name, and those that they are made of."""
    found: set[str] = set()
    texts = [text]
    while texts:
        for name in set(re.findall(r"\w+", texts.pop())) & set(NAMES) - found:
            found.add(name)
            texts += [text_of(name)] if name in SQL_VIEWS else []
    return found


def bound(text: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the parameters that a text has; an engine refuses others."""
    return {name: parameters[name] for name in _PARAMETER.findall(text)}


# -- files and logs


@dataclass(frozen=True, slots=True)
class Stand:
    """The marks of each source, the files of each table that count, and when those without marks were written."""

    marks: tuple[Marks, ...]
    files: Mapping[str, Sequence[str]]
    written_ns: tuple[int, ...]

    @classmethod
    def of(cls, sources: Sequence[HistorySource], names: Collection[str]) -> Stand:
        """Look at the sources, for some views with those that they are made of. Raises MarksError, HistoryError."""
        marks = tuple(map(marks_of, sources))
        files: dict[str, Sequence[str]] = {}
        for table in (each for each in TABLES if each.name in names):
            found = (
                path
                for source, own in zip(sources, marks, strict=True)
                for path in _paths(table, source.history_dir, own, source.offsets_partitions)
            )
            files[table.name] = tuple(dict.fromkeys(found))  # each once: workers may share a history
        replaced = [path for table in TABLES if not table.has_marks for path in files.get(table.name, ())]
        return cls(marks, files, tuple(map(_written_ns, replaced)))

    def parts(self, sources: Sequence[HistorySource], *, are_whole: bool) -> list[Part]:
        """Return the log beyond the marks, as whole partitions or as segments."""
        return [
            part
            for source, own in zip(sources, self.marks, strict=True)
            for part in _parts(source, own, are_whole=are_whole)
        ]

    def size(self, sources: Sequence[HistorySource]) -> int:
        """Return the bytes of the files, and of the segments with the log beyond the marks."""
        stored = sum(Path(path).stat().st_size for paths in self.files.values() for path in paths)
        parts = self.parts(sources, are_whole=True)
        return stored + sum(segment.stat().st_size for part in parts for segment in part.segments())


def steady(sources: Sequence[HistorySource], names: Collection[str], answer: Callable[[Stand], Answered]) -> Answered:
    """Return an answer during which no mark and no file moved, or that of the last of TRIES tries."""
    for _ in range(TRIES - 1):
        stand = Stand.of(sources, names)
        try:
            found = answer(stand)
        except Exception:
            if stand == Stand.of(sources, names):
                raise
            continue
        if stand == Stand.of(sources, names):
            return found
    return answer(Stand.of(sources, names))


def _written_ns(path: str) -> int:
    """Return when a file was written; 0: it was removed meanwhile."""
    try:
        return Path(path).stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _paths(table: Table, history_dir: Path, marks: Marks, partitions: int) -> Iterator[str]:
    """Yield the files of a table that count, without those whose rows another one has (see `history.joining`)."""
    for partition in range(max([partitions, *(each + 1 for each in marks.partitions)])):
        end = marks.of(partition).next_offset
        files = [file for file in table.files(history_dir, partition) if not table.has_marks or file.start < end]
        lines = file_list.read(history_dir, partition) if files and table.has_marks else []
        listed = {name for line in lines for name in line.files}
        starts = [line.start for line in lines]
        for file in files:
            place = bisect_right(starts, file.start) - 1
            is_inside = place >= 0 and file.start < lines[place].end
            if not is_inside or str(file.path.relative_to(history_dir)) in listed:
                yield str(file.path)


@dataclass(frozen=True, slots=True)
class Part:
    """Ranges of a partition of the log: from an offset to below another one, None: to its end."""

    source: HistorySource
    partition: int
    ranges: tuple[tuple[int, int | None], ...]

    @property
    def directory(self) -> Path:
        return offsets_log_dir(self.source.data_dir, self.partition)

    def segments(self) -> Iterator[Path]:
        """Yield the files from the first offset on."""
        bases = segment_bases(self.directory)
        for base, following in zip(bases, [*bases[1:], NEVER], strict=True):
            path = self.directory / f"{base:020}.log"
            if self.ranges and following > self.ranges[0][0] and path.exists():
                yield path


def _parts(source: HistorySource, marks: Marks, *, are_whole: bool) -> Iterator[Part]:
    for partition in partitions_in(source.data_dir) if source.data_dir.is_dir() else []:
        start = marks.of(partition).next_offset
        bases = segment_bases(offsets_log_dir(source.data_dir, partition))
        begins = [start, *(base for base in bases if base > start)]
        ranges = tuple(zip(begins, [*begins[1:], None], strict=True)) if bases else ()
        for some in [ranges] if are_whole else zip(ranges, strict=True):
            yield Part(source, partition, some)


def with_partition(table: pa.Table, schema: pa.Schema, partition: int) -> pa.Table:
    """Return rows of a partition with the column `lp` before the others."""
    return table.cast(schema).add_column(0, LP, pa.repeat(pa.scalar(partition, LP.type), table.num_rows))


def read_part(part: Part, tables: Sequence[Table], *, skip_corrupt: bool) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of a part of the log, each with the name of its table. Raises CorruptBatchError."""
    schemas = {table.name: table.schema for table in tables}
    records: list[Rows] = []
    for start, end in part.ranges:
        for block in read_blocks(part.directory, part.partition, start, end, skip_corrupt=skip_corrupt):
            for name in schemas.keys() & _OF_THE_LOG.keys():
                yield name, with_partition(getattr(block.rows, name), schemas[name], part.partition)
            records.append(replace(block.rows, commits=COMMITS.empty_table()))
    if part.ranges and schemas.keys() & CHANGE_SCHEMAS.keys():
        source, rows = part.source, joined(records)
        names = kept_names(source.history_dir) | topic_names(source.data_dir)
        fold = ChangeFold.load(source.history_dir, part.partition, part.ranges[0][0], names, RealFileSystem())
        for name, table in change_tables(fold.add(rows.groups, rows.consumers, NEVER, names)).items():
            if name in schemas:
                yield name, with_partition(table, schemas[name], part.partition)


def live_tables(
    sources: Sequence[HistorySource], stand: Stand, tables: Sequence[Table], *, skip_corrupt: bool
) -> dict[str, pa.Table]:
    """Return the rows of these tables that are in no file. Raises CorruptBatchError."""
    found = {table.name: [table.full_schema.empty_table()] for table in tables}
    are_whole = bool(found.keys() & CHANGE_SCHEMAS.keys())
    for part in stand.parts(sources, are_whole=are_whole) if are_whole or found.keys() & _OF_THE_LOG.keys() else ():
        for name, rows in read_part(part, tables, skip_corrupt=skip_corrupt):
            found[name].append(rows)
    if "event_records" in found:
        for source in sources:
            found["event_records"] += [with_partition(rows, EVENTS, number) for number, rows in live_events(source)]
    return {name: pa.concat_tables(parts) for name, parts in found.items()}
