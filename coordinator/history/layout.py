"""Paths of the tables of a history below its directory, and the facts in their names.

      marks.json                                        how far each partition has been extracted
      commits/date=2026-11-20/lp=3/seg-<offset>.parquet  offsets committed and deleted, by UTC day and log partition
      rebalances/, members/, moves/                     changes of groups, in the same form
      groups/lp=3/seg-<offset>.parquet                  states of classic groups; so consumers/ and transactions/
      files/lp=3.jsonl                                  the list of these files
      states/lp=3/<table>-<offset>.parquet              the groups at a log offset, from which changes are derived
      events/lp=3/…  lag/date=2026-11-20/at-<ms>.parquet  events of groups, from their own topic, and their lag

A file holds the rows of one segment (and of one day), or of several that were joined. Its name has the first log offset
it may hold. Only files below their partition's mark count; events and lag have no marks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final

from coordinator.storage.log.fs import FileSystem, RealFileSystem

COMMITS_DIR: Final = "commits"
REBALANCES_DIR: Final = "rebalances"
MEMBERS_DIR: Final = "members"
MOVES_DIR: Final = "moves"
GROUPS_DIR: Final = "groups"
CONSUMERS_DIR: Final = "consumers"
TRANSACTIONS_DIR: Final = "transactions"
EVENTS_DIR: Final = "events"
STATES_DIR: Final = "states"
LAG_DIR: Final = "lag"
BY_DAY: Final = (COMMITS_DIR, REBALANCES_DIR, MEMBERS_DIR, MOVES_DIR)  # tables with a directory for each day
UNDIVIDED: Final = (GROUPS_DIR, CONSUMERS_DIR, TRANSACTIONS_DIR)
TEMPORARY: Final = ".tmp"  # the end of the name of a file that is being written

_FILE: Final = re.compile(r"seg-(\d{20})\.parquet")
_DATE: Final = re.compile(r"date=(\d{4}-\d{2}-\d{2})")
_DAY_MS: Final = 86_400_000
_EPOCH: Final = date(1970, 1, 1)
_REAL: Final = RealFileSystem()


@dataclass(frozen=True, slots=True)
class TableFile:
    """A Parquet file of one partition."""

    path: Path
    start: int  # the first log offset it may hold


def file_name(start: int) -> str:
    """Return the name of the file of the segment that begins at a log offset."""
    return f"seg-{start:020d}.parquet"


def path_by_day(history_dir: Path, table: str, day: int, partition: int, start: int) -> Path:
    """Return the path for a `day`, whole days since 1970 in UTC. Days outside the calendar go to the nearest in it."""
    return history_dir / table / day_directory(day) / f"lp={partition}" / file_name(start)


def day_directory(day: int) -> str:
    """Return the name of the directory of a `day`."""
    ordinal = min(max(_EPOCH.toordinal() + day, date.min.toordinal()), date.max.toordinal())
    return f"date={date.fromordinal(ordinal)}"


def path_undivided(history_dir: Path, table: str, partition: int, start: int) -> Path:
    """Return the path in a table without days."""
    return history_dir / table / f"lp={partition}" / file_name(start)


def day_of(timestamp_ms: int) -> int:
    """Return whole days since 1970, as `path_by_day` takes them."""
    return timestamp_ms // _DAY_MS


def files_by_day(
    history_dir: Path,
    table: str,
    partition: int,
    *,
    since_ms: int | None = None,
    until_ms: int | None = None,
    fs: FileSystem = _REAL,
) -> Iterator[TableFile]:
    """Yield one partition's files of the days that overlap the range, ascending by day, then offset."""
    for directory in _paths(fs, history_dir / table):
        found = _DATE.fullmatch(directory.name)
        if found is None:
            continue
        begin_ms = int(datetime.fromisoformat(found[1]).replace(tzinfo=UTC).timestamp()) * 1000
        # The first and last day hold the times outside the calendar too.
        is_edge = found[1] in (str(date.min), str(date.max))
        if not is_edge and since_ms is not None and begin_ms + _DAY_MS <= since_ms:
            continue
        if not is_edge and until_ms is not None and begin_ms > until_ms:
            continue
        yield from _files(fs, directory / f"lp={partition}")


def files_undivided(history_dir: Path, table: str, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    """Return one partition's files of a table without days, ascending by offset."""
    return _files(fs, history_dir / table / f"lp={partition}")


def commit_files(
    history_dir: Path,
    partition: int,
    *,
    since_ms: int | None = None,
    until_ms: int | None = None,
    fs: FileSystem = _REAL,
) -> Iterator[TableFile]:
    return files_by_day(history_dir, COMMITS_DIR, partition, since_ms=since_ms, until_ms=until_ms, fs=fs)


def group_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    return files_undivided(history_dir, GROUPS_DIR, partition, fs)


def consumer_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    return files_undivided(history_dir, CONSUMERS_DIR, partition, fs)


def transaction_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    return files_undivided(history_dir, TRANSACTIONS_DIR, partition, fs)


def events_dir(history_dir: Path, partition: int) -> Path:
    return history_dir / EVENTS_DIR / f"lp={partition}"


def event_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    return files_undivided(history_dir, EVENTS_DIR, partition, fs)


def all_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    """Return every file of one partition that the list of files may have."""
    by_day = (each for table in BY_DAY for each in files_by_day(history_dir, table, partition, fs=fs))
    undivided = (each for table in UNDIVIDED for each in files_undivided(history_dir, table, partition, fs))
    return [*by_day, *undivided]


def has_files(history_dir: Path) -> bool:
    """Return whether there is any table."""
    return any(next((history_dir / name).rglob("seg-*.parquet"), None) for name in (*BY_DAY, *UNDIVIDED))


def temporary_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[Path]:
    """Return the files that a run left behind when it was killed while writing."""
    days = [day for table in BY_DAY for day in _paths(fs, history_dir / table)]
    parents = [*days, *(history_dir / name for name in (*UNDIVIDED, STATES_DIR))]
    found = [path for parent in parents for path in _paths(fs, parent / f"lp={partition}")]
    return [path for path in found if path.name.endswith(TEMPORARY)]


def _files(fs: FileSystem, directory: Path) -> list[TableFile]:
    found = [TableFile(path, int(name[1])) for path in _paths(fs, directory) if (name := _FILE.fullmatch(path.name))]
    return sorted(found, key=lambda each: each.start)


def _paths(fs: FileSystem, directory: Path) -> list[Path]:
    return [directory / name for name in fs.listdir(directory)] if fs.is_dir(directory) else []
