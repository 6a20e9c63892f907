"""Rows of one group in Parquet files, read with little: the row groups that may have it, and few columns if few do.

Rows of a file are sorted by group, so Parquet's statistics leave one or two row groups of a file. `pyarrow.dataset`
would do the same, but it imports pandas where that is installed, and decodes texts row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_TEXTS: Final = ["group", "topic", "metadata"]  # with few values


def rows_of_group(path: Path, schema: pa.Schema, group: str | None) -> pa.Table:
    """Return the rows of a group in a file, or all rows. A number that an older file does not have is null."""
    return _Rows(path, schema, group).read(schema.names)


class _Rows:
    """An open file, and where in it a group may be."""

    def __init__(self, path: Path, schema: pa.Schema, group: str | None) -> None:
        self._schema = schema
        self._group = group
        self._file = pq.ParquetFile(path, read_dictionary=[name for name in _TEXTS if name in schema.names])
        self._row_groups = self._places()

    def _places(self) -> list[int]:
        found = self._file.metadata
        numbers = list(range(found.num_row_groups))
        if self._group is None or not numbers:
            return numbers
        column = self._file.schema.names.index("group")
        return [number for number in numbers if self._may_be_in(found.row_group(number).column(column).statistics)]

    def _may_be_in(self, statistics: pq.Statistics | None) -> bool:
        if statistics is None or not statistics.has_min_max:
            return True
        return bool(statistics.min <= self._group <= statistics.max)

    def read(self, names: Sequence[str]) -> pa.Table:
        """Return these columns."""
        schema = pa.schema([self._schema.field(name) for name in names])
        if not self._row_groups:
            return schema.empty_table()
        there = set(self._file.schema_arrow.names)
        wanted = [name for name in dict.fromkeys(["group", *names]) if name in there]
        table = self._file.read_row_groups(self._row_groups, columns=wanted, use_threads=False)
        if self._group is not None:
            table = table.filter(pc.equal(table["group"], self._group))
        columns = [
            table[field.name].cast(field.type) if field.name in there else pa.nulls(table.num_rows, field.type)
            for field in schema
        ]
        return pa.table(columns, schema=schema)


class LastCommits:
    """The last commits of a group's partitions at a moment, collected from files from the newest to the oldest.

    A file is read in full only if it has a partition for which no newer commit was found; a commit in a transaction
    may not count, so it does not end the search.
    """

    def __init__(self, schema: pa.Schema, group: str, until_ms: int) -> None:
        self._schema = schema
        self._group = group
        self._until_ms = until_ms
        self._found: set[tuple[str, int]] = set()
        self.tables: list[pa.Table] = []

    def note(self, table: pa.Table) -> None:
        """Take the partitions of rows that are newer than all files to come."""
        plain = table.filter(
            pc.and_(pc.is_null(table["producer_id"]), pc.less_equal(table["timestamp_ms"], self._until_ms))
        )
        self._found |= _keys(plain)

    def add(self, path: Path) -> None:
        rows = _Rows(path, self._schema, self._group)
        if self._found and _keys(rows.read(["topic", "partition"])) <= self._found:
            return
        table = rows.read(self._schema.names)
        self.note(table)
        self.tables.append(table)


def _keys(table: pa.Table) -> set[tuple[str, int]]:
    topics = table["topic"].combine_chunks().dictionary_encode()
    names = topics.dictionary.to_pylist()
    pairs = np.unique(np.stack([topics.indices.to_numpy(), table["partition"].to_numpy()]), axis=1)
    return {(names[topic], partition) for topic, partition in pairs.T.tolist()}
