"""A data directory, of this coordinator or of a Kafka, and the directory of its history.

The cluster id, the number of partitions of the offsets log and the progress of the cleaner are read from the data
directory's own small files. A history may be anywhere but in a Kafka's data directory, because a Kafka does not start
with an unknown directory there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from coordinator.core.shard import partition_for
from coordinator.core.topics.names import OFFSETS_TOPIC
from coordinator.history.segments import SegmentsError, partitions_in
from coordinator.storage.cleaner_checkpoint import read_checkpoint
from coordinator.storage.file_names import HISTORY_DIR, META_NAME
from coordinator.storage.history_marks import Marks, read_marks
from coordinator.storage.log.fs import RealFileSystem

NO_DATA_DIR: Final = "no-data-dir"  # a name that no directory has
_FORMAT_VERSION: Final = "coordinator.format.version"
_PARTITIONS: Final = "offsets.topic.num.partitions"


@dataclass(frozen=True, slots=True)
class HistorySource:
    """A data directory and its history."""

    data_dir: Path
    history_dir: Path
    cluster_id: str  # empty: unknown
    offsets_partitions: int
    is_kafkas: bool = False  # the data directory was made by a Kafka

    @classmethod
    def of(cls, data_dir: Path, history_dir: Path | None = None, offsets_partitions: int | None = None) -> Self:
        """Inspect a data directory, or a history alone if the data directory does not exist.

        SegmentsError: there is neither. MarksError as `read_marks`.
        """
        facts = _meta(data_dir)
        chosen = history_dir if history_dir is not None else data_dir / HISTORY_DIR
        marks = read_marks(chosen)
        if not data_dir.is_dir():
            if marks is None:
                raise SegmentsError(
                    f"there is no data directory {data_dir}, and no history in {chosen}; "
                    "name them with --data-dir and --history-dir"
                )
            return cls(data_dir, chosen, marks.cluster_id, offsets_partitions or marks.offsets_partitions)
        return cls(
            data_dir,
            chosen,
            facts.get("cluster.id", ""),
            offsets_partitions or _partitions(data_dir, facts, marks),
            is_kafkas=bool(facts) and _FORMAT_VERSION not in facts,
        )

    @classmethod
    def alone(cls, history_dir: Path, offsets_partitions: int | None = None) -> Self | None:
        """Return a history without the log that it was made of; None if there is none. MarksError as `read_marks`."""
        marks = read_marks(history_dir)
        if marks is None:
            return None
        nowhere = history_dir / NO_DATA_DIR
        return cls(nowhere, history_dir, marks.cluster_id, offsets_partitions or marks.offsets_partitions)

    @staticmethod
    def cluster_of(data_dir: Path) -> str:
        """Return the cluster id of a data directory; empty: unknown."""
        return _meta(data_dir).get("cluster.id", "")

    @property
    def would_stop_kafka(self) -> bool:
        """True if the history directory would keep a Kafka from starting."""
        return self.is_kafkas and self.history_dir.resolve().is_relative_to(self.data_dir.resolve())

    def partition_of(self, group: str) -> int:
        """Return the partition of the offsets log that has a group's records."""
        return partition_for(group, self.offsets_partitions)

    def cleaner_checkpoint(self) -> dict[int, int]:
        """Return for partitions of the offsets log the offset up to which they are compacted, as far as known."""
        try:
            return read_checkpoint(RealFileSystem(), self.data_dir)
        except OSError:
            return {}  # it only makes the range of gaps more exact


def _meta(data_dir: Path) -> dict[str, str]:
    try:
        lines = (data_dir / META_NAME).read_text(errors="replace").splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if not line.lstrip().startswith("#"))
    return {key.strip(): value.strip() for key, separator, value in pairs if separator}


def _partitions(data_dir: Path, facts: dict[str, str], marks: Marks | None) -> int:
    told = facts.get(_PARTITIONS, "")
    if told.isdigit() and int(told) > 0:
        return int(told)
    found = partitions_in(data_dir)
    if not found and marks is None:
        raise SegmentsError(
            f"{data_dir} holds no partition of the offsets log ({OFFSETS_TOPIC}-N); name another with --data-dir"
        )
    return max([number + 1 for number in found] + [marks.offsets_partitions if marks else 1])
