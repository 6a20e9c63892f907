"""Asks DuckDB, in this process and its memory, the questions about a history.

Views are over Parquet files, which DuckDB reads in place, and over Arrow tables of the log beyond the marks. DuckDB
loads no extension, and sees no variable of Python.
"""

from __future__ import annotations

import glob
import tempfile
import weakref
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import duckdb
import pyarrow as pa

from coordinator.history import views
from coordinator.history.questions import Answer
from coordinator.history.source import HistorySource
from coordinator.history.tables import GroupHistory

_SETTINGS: Final = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "memory_limit": "2GB",  # larger sorts use the temporary directory, which takes a fifth longer
    "preserve_insertion_order": "false",
    "python_enable_replacements": "false",
}
_PARTS: Final = "parts"  # the schema of the views that others are made of
_LP: Final = r"TRY_CAST(regexp_extract(filename, '/lp=(\d+)/[^/]*$', 1) AS INTEGER) AS lp"


class DuckdbViews:
    """A DuckDB in memory, with views of a history."""

    def __init__(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="coordinator-history-")
        self.connection = duckdb.connect(config={**_SETTINGS, "temp_directory": directory.name})
        weakref.finalize(self.connection, directory.cleanup)
        self.connection.execute(f"CREATE SCHEMA {_PARTS}")

    @classmethod
    def of_group(cls, past: GroupHistory) -> Self:
        """Return the views of one group's commits, which are in memory."""
        made = cls()
        for table in views.TABLES[:2]:
            rows = getattr(past.rows, table.name)
            made._add_rows(table.name, views.with_partition(rows, table.schema, past.partition))
        made._add_sql_views(views.SQL_VIEWS[:3])
        return made

    @classmethod
    def of_sources(
        cls,
        sources: Sequence[HistorySource],
        stand: views.Stand,
        names: Collection[str] = views.NAMES,
        *,
        skip_corrupt: bool = False,
    ) -> Self:
        """Return some views of all groups; `names` as `views.needed` returns them. Raises CorruptBatchError."""
        made = cls()
        tables = [table for table in views.TABLES if table.name in names]
        live = views.live_tables(sources, stand, tables, skip_corrupt=skip_corrupt)
        for table in tables:
            made._add_table(table.name, table.full_schema.names, stand.files[table.name], live[table.name])
        made._add_sql_views([name for name in views.SQL_VIEWS if name in names])
        return made

    def _add_rows(self, name: str, rows: pa.Table) -> None:
        self.connection.from_arrow(rows).create_view(name)

    def _add_table(self, name: str, columns: Sequence[str], paths: Sequence[str], live: pa.Table) -> None:
        if not paths:
            self._add_rows(name, live)
            return
        self.connection.execute(f"USE {_PARTS}")
        self._add_rows(f"live_{name}", live)
        patterns = [glob.escape(path) for path in paths]
        stored = self.connection.read_parquet(patterns, union_by_name=True, filename=True)
        stored.create_view(f"stored_{name}")
        self.connection.execute("USE main")
        chosen = ", ".join(f't."{column}"' for column in columns)
        # By name: a column that an older file does not have is null.
        self.connection.execute(
            f"CREATE VIEW {name} AS SELECT {chosen} FROM ("
            f"SELECT {_LP}, * EXCLUDE (filename) FROM {_PARTS}.stored_{name} "
            f"UNION ALL BY NAME SELECT * FROM {_PARTS}.live_{name}) AS t"
        )

    def _add_sql_views(self, names: Sequence[str]) -> None:
        for name in names:
            self.connection.execute(f"CREATE VIEW {name} AS {views.text_of(name)}")

    def ask(self, name: str, parameters: Mapping[str, Any]) -> Answer:
        """Answer the question with this name. Raises duckdb.Error."""
        text = views.text_of(name)
        return rows_of(self.connection.execute(text, views.bound(text, parameters)))

    def lock(self, paths: Sequence[str]) -> None:
        """Let later statements read these files, and nothing else outside of the memory."""
        allowed = [*paths, *map(glob.escape, paths)]
        self.connection.execute("SET allowed_paths = $paths", {"paths": allowed})
        self.connection.execute("SET enable_external_access = false")
        self.connection.execute("SET lock_configuration = true")


def rows_of(answered: duckdb.DuckDBPyConnection) -> Answer:
    """Return the rows of an answer as dictionaries."""
    names = [column[0] for column in answered.description or ()]
    return [dict(zip(names, row, strict=True)) for row in answered.fetchall()]


def ask_all_groups(
    sources: Sequence[HistorySource], name: str, parameters: Mapping[str, Any], *, skip_corrupt: bool = False
) -> Answer:
    """Answer a question about all groups. Raises duckdb.Error, CorruptBatchError, MarksError, HistoryError."""
    names = views.needed(views.text_of(name))

    def answer(stand: views.Stand) -> Answer:
        return DuckdbViews.of_sources(sources, stand, names, skip_corrupt=skip_corrupt).ask(name, parameters)

    return views.steady(sources, names, answer)


def connect(data_dir: Path | str, history_dir: Path | str | None = None) -> duckdb.DuckDBPyConnection:
    """Return a DuckDB with every view of a data directory and its history, for notebooks and programs.

    The views have the log as it is now, and the files below the marks as of now.
    """
    source = HistorySource.of(Path(data_dir), None if history_dir is None else Path(history_dir))
    return views.steady([source], views.NAMES, lambda stand: DuckdbViews.of_sources([source], stand)).connection
