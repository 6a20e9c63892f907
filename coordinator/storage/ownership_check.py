"""Check that a data directory has no records of partitions that another node owns, after a change of cluster.nodes.

Ownership is computed from the ids of all nodes, so one node more or less moves partitions to other nodes, but not their
records. If a node started with such records in its directory, the cluster would serve these partitions from empty logs.
So it does not start until the directories have been moved.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from coordinator.core.topics.names import TRANSACTIONS_TOPIC, parse_partition_directory, partition_directory
from coordinator.storage.log.fs import FileSystem, file_size

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from coordinator.core.cluster import Cluster
    from coordinator.core.topics.catalogue import Catalogue


def foreign_logs(fs: FileSystem, data_dir: Path, catalogue: Catalogue, cluster: Cluster) -> str | None:
    """Return the error message, or None if this node owns all records in the directory. Raises OSError."""
    present = set(fs.listdir(data_dir))
    found = [
        (directory, owner)
        for directory, owner in (*_elsewhere(catalogue), *_transactions_elsewhere(present, cluster))
        if directory in present and _has_records(fs, data_dir / directory)
    ]
    if not found:
        return None
    directory, owner = found[0]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return (
        f"the data directory {data_dir} holds records of {directory}{more}, but with the nodes "
        f"{', '.join(map(str, cluster.nodes))} that belongs to node {owner}; put cluster.nodes back, or stop all nodes "
        "and move the directories to their new owners (docs/cluster.md says how)"
    )


def _elsewhere(catalogue: Catalogue) -> Iterator[tuple[str, int]]:
    for topic in catalogue.topics.values():
        for partition in topic.partitions:
            if not partition.is_local:
                yield partition_directory(topic.name, partition.index), partition.leader


def _transactions_elsewhere(present: Iterable[str], cluster: Cluster) -> Iterator[tuple[str, int]]:
    for directory in present:
        parsed = parse_partition_directory(directory)
        if parsed is not None and parsed[0] == TRANSACTIONS_TOPIC:
            owner = cluster.transaction_coordinator(parsed[1])
            if owner is not None and owner.id != cluster.node_id:
                yield directory, owner.id


def _has_records(fs: FileSystem, directory: Path) -> bool:
    names = fs.listdir(directory) if fs.is_dir(directory) else []
    return any(name.endswith(".log") and file_size(fs, directory / name) for name in names)
