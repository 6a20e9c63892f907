"""Writes the tables of changes of one partition, for one extracted segment after another.

Records of groups are few, so they are read again from the files that the extraction of the segment wrote. The files of
changes have names that follow from the segment, as all files of a history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coordinator.history.change_fold import ChangeFold, forget_other_states, read_table
from coordinator.history.change_rows import change_tables
from coordinator.history.layout import CONSUMERS_DIR, GROUPS_DIR, path_by_day, path_undivided
from coordinator.history.parquet import by_day, by_group, parquet_bytes, write_table
from coordinator.storage.log.fs import FileSystem

if TYPE_CHECKING:
    from coordinator.history.extract import Extracted

_RECORDS: Final = (GROUPS_DIR, CONSUMERS_DIR)


@dataclass(slots=True)
class ChangeWriter:
    """The changes of the groups of a partition. `names` are those of topics, by the texts of their ids."""

    history_dir: Path
    partition: int
    names: Mapping[str, str]
    fs: FileSystem
    _fold: ChangeFold | None = field(default=None, init=False)

    def write(self, extracted: Extracted, next_offset: int) -> Extracted:
        """Write the changes in a segment, the next one behind the mark, durably. Return its report with their files."""
        task = extracted.task
        paths = {name: path_undivided(self.history_dir, name, self.partition, task.start) for name in _RECORDS}
        if not any(self._name(path) in extracted.names for path in paths.values()):
            return extracted
        if self._fold is None:
            self._fold = ChangeFold.load(self.history_dir, self.partition, next_offset, self.names, self.fs)
        records = [
            read_table(self.fs, path if self._name(path) in extracted.names else None, name)
            for name, path in paths.items()
        ]
        found = self._fold.add(records[0], records[1], task.end, self.names)
        files = {
            path_by_day(self.history_dir, name, day, self.partition, task.start): parquet_bytes(by_group(own))
            for name, table in change_tables(found).items()
            for day, own in by_day(table)
        }
        for path, data in files.items():
            write_table(self.fs, path, data)
        self._fold.save(self.history_dir, self.partition, self.fs)
        return replace(
            extracted,
            files=extracted.files + len(files),
            bytes_written=extracted.bytes_written + sum(map(len, files.values())),
            names=(*extracted.names, *map(self._name, files)),
        )

    def forget(self, next_offset: int) -> None:
        """Remove the states that are not needed for this mark, which is durable."""
        forget_other_states(self.history_dir, self.partition, next_offset, self.fs)

    def _name(self, path: Path) -> str:
        return str(path.relative_to(self.history_dir))
