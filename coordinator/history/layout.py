"""Paths of the tables of a history below its directory, and the facts in their names.

      marks.json                                        how far each partition has been extracted
      commits/date=2026-11-20/lp=3/seg-<offset>.parquet  offsets committed and deleted, by UTC day and log partition
      groups/lp=3/seg-<offset>.parquet                   states of classic groups
      consumers/lp=3/seg-<offset>.parquet                records of KIP-848 groups
      transactions/lp=3/seg-<offset>.parquet             ends of transactions
      files/lp=3.jsonl                                  the list of these files
      events/lp=3/seg-<offset>.parquet                  events of groups, from their own topic

A file holds the rows of one segment (and of one day), or of several that an observer joined. Its name has the first log
offset it may hold. Only files below their partition's mark count; events have no marks.
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
GROUPS_DIR: Final = "groups"
CONSUMERS_DIR: Final = "consumers"
TRANSACTIONS_DIR: Final = "transactions"
EVENTS_DIR: Final = "events"
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


def commits_path(history_dir: Path, day: int, partition: int, start: int) -> Path:
    """Return the path for a `day`, whole days since 1970 in UTC. Days outside the calendar go to the nearest in it."""
    ordinal = min(max(_EPOCH.toordinal() + day, date.min.toordinal()), date.max.toordinal())
    return history_dir / COMMITS_DIR / f"date={date.fromordinal(ordinal)}" / f"lp={partition}" / file_name(start)


def groups_path(history_dir: Path, partition: int, start: int) -> Path:
    return history_dir / GROUPS_DIR / f"lp={partition}" / file_name(start)


def consumers_path(history_dir: Path, partition: int, start: int) -> Path:
    return history_dir / CONSUMERS_DIR / f"lp={partition}" / file_name(start)


def transactions_path(history_dir: Path, partition: int, start: int) -> Path:
    return history_dir / TRANSACTIONS_DIR / f"lp={partition}" / file_name(start)


def events_dir(history_dir: Path, partition: int) -> Path:
    return history_dir / EVENTS_DIR / f"lp={partition}"


def events_path(history_dir: Path, partition: int, start: int) -> Path:
    return events_dir(history_dir, partition) / file_name(start)


def event_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    return _files(fs, events_dir(history_dir, partition))


def day_of(timestamp_ms: int) -> int:
    """Return whole days since 1970, as `commits_path` takes them."""
    return timestamp_ms // _DAY_MS


def commit_files(
    history_dir: Path,
    partition: int,
    *,
    since_ms: int | None = None,
    until_ms: int | None = None,
    fs: FileSystem = _REAL,
) -> Iterator[TableFile]:
    """Yield one partition's files of commits, of the days that overlap the range, ascending by day, then offset."""
    for directory in _paths(fs, history_dir / COMMITS_DIR):
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


def group_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    return _files(fs, history_dir / GROUPS_DIR / f"lp={partition}")


def consumer_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    return _files(fs, history_dir / CONSUMERS_DIR / f"lp={partition}")


def transaction_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    return _files(fs, history_dir / TRANSACTIONS_DIR / f"lp={partition}")


def all_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[TableFile]:
    """Return every file of one partition."""
    return [
        *commit_files(history_dir, partition, fs=fs),
        *group_files(history_dir, partition, fs),
        *consumer_files(history_dir, partition, fs),
        *transaction_files(history_dir, partition, fs),
    ]


def has_files(history_dir: Path) -> bool:
    """Return whether there is any table."""
    tables = (COMMITS_DIR, GROUPS_DIR, CONSUMERS_DIR)
    return any(next((history_dir / name).rglob("seg-*.parquet"), None) for name in tables)


def temporary_files(history_dir: Path, partition: int, fs: FileSystem = _REAL) -> list[Path]:
    """Return the files that a run left behind when it was killed while writing."""
    others = [history_dir / name for name in (GROUPS_DIR, CONSUMERS_DIR, TRANSACTIONS_DIR)]
    parents = [*_paths(fs, history_dir / COMMITS_DIR), *others]
    found = [path for parent in parents for path in _paths(fs, parent / f"lp={partition}")]
    return [path for path in found if path.name.endswith(TEMPORARY)]


def _files(fs: FileSystem, directory: Path) -> list[TableFile]:
    found = [TableFile(path, int(name[1])) for path in _paths(fs, directory) if (name := _FILE.fullmatch(path.name))]
    return sorted(found, key=lambda each: each.start)


def _paths(fs: FileSystem, directory: Path) -> list[Path]:
    return [directory / name for name in fs.listdir(directory)] if fs.is_dir(directory) else []
