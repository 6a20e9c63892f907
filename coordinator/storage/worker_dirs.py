"""The directories of workers, and the moves of partitions between them when the number of workers changes.

A worker is a node with a data directory `DATA/workers/<node id>`; a daemon without workers keeps everything in DATA.
The owner of a partition follows from the number of workers, unless the catalogue of topics assigns it manually. Before
anything starts, with the lock of every directory held, each partition's directory is renamed into the directory of its
owner. A rename is atomic and repeating all of them is harmless, so the next start completes moves that a crash cut off.

The newest catalogue of topics is copied to the controller, the first node. Files about moved partitions (compaction
jobs, producers' state) are removed and made again from the logs. Producer ids stay: each node has a range of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from coordinator.core.cluster import StaticOwnership
from coordinator.core.topics.catalogue import CatalogueError, Document, parse_document
from coordinator.core.topics.names import COORDINATOR_TOPICS, OFFSETS_TOPIC, parse_partition_directory
from coordinator.storage.data_dir import DataDirError
from coordinator.storage.file_names import (
    CATALOGUE_NAME,
    CLEANER_CHECKPOINT_NAME,
    COMPACTION_DIR,
    HISTORY_DIR,
    LOCK_NAME,
    PRODUCERS_NAME,
    WORKERS_DIR,
)
from coordinator.storage.history_marks import read_marks
from coordinator.storage.log.fs import File, FileSystem, read_whole, remove_directory, write_atomically

_ABOUT_MOVED: Final = (PRODUCERS_NAME, CLEANER_CHECKPOINT_NAME)
LOCK_WAIT_S: Final = 20.0  # workers of a killed supervisor finish requests before they end


def worker_dir(data_dir: Path, node_id: int) -> Path:
    """Return the directory of one worker."""
    return data_dir / WORKERS_DIR / str(node_id)


def homes(fs: FileSystem, data_dir: Path) -> dict[int, Path]:
    """Return the existing directories of workers by node id."""
    parent = data_dir / WORKERS_DIR
    if not fs.is_dir(parent):
        return {}
    return {int(name): parent / name for name in fs.listdir(parent) if name.isdecimal() and fs.is_dir(parent / name)}


def arrange(
    fs: FileSystem,
    data_dir: Path,
    node_ids: Sequence[int],
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Move every partition to its owner among `node_ids`; to DATA if there is one id. Returns the number of moves.

    The caller holds the lock of `data_dir`. DataDirError: an old worker still runs, or a partition exists twice.
    """
    known = homes(fs, data_dir)
    if len(node_ids) == 1:
        if not known:
            return 0
        owner_dirs = {node_ids[0]: data_dir}
    else:
        owner_dirs = {node_id: worker_dir(data_dir, node_id) for node_id in node_ids}
        for path in (data_dir / WORKERS_DIR, *owner_dirs.values()):
            if not fs.is_dir(path):
                fs.mkdir(path)
                fs.fsync_dir(path.parent)
    locks: list[File] = []
    try:
        for path in known.values():
            locks.append(_locked(fs, path, sleep))  # noqa: PERF401 - on failure the earlier locks are released
        sources = [data_dir, *known.values()]
        assigned = _bring_catalogue(fs, sources, owner_dirs[min(node_ids)])
        return _move_partitions(fs, sources, owner_dirs, assigned)
    finally:
        for lock in locks:
            lock.close()


def _locked(fs: FileSystem, path: Path, sleep: Callable[[float], None]) -> File:
    waited_s = 0.0
    while True:
        try:
            return fs.lock(path / LOCK_NAME)
        except BlockingIOError:
            if waited_s >= LOCK_WAIT_S:
                raise DataDirError(
                    f"a worker of an earlier start still uses {path}; end it, then start again"
                ) from None
            sleep(0.1)
            waited_s += 0.1


def _bring_catalogue(fs: FileSystem, sources: Sequence[Path], target: Path) -> Mapping[str, Mapping[int, int]]:
    """Copy the newest catalogue among `sources` to `target`, the controller's directory.

    Returns the manual assignments in it, by topic.
    """
    found: list[tuple[int, Path, bytes, Document]] = []
    for source in sources:
        path = source / CATALOGUE_NAME
        if fs.exists(path):
            data = read_whole(fs, path)
            try:
                document = parse_document(data.decode())
                found.append((document.revision, source, data, document))
            except (CatalogueError, UnicodeDecodeError) as error:
                raise DataDirError(f"the catalogue {path} cannot be used: {error}; restore it from a copy") from None
    if not found:
        return {}
    revision, source, data, document = max(found, key=lambda each: (each[0], each[1] == target))
    if source != target and all(each[1] != target or each[0] < revision for each in found):
        write_atomically(fs, target / CATALOGUE_NAME, data)
    return document.assignments()


def _refuse_with_history(fs: FileSystem, source: Path, topic: str, partition: int) -> None:
    """Raise DataDirError if the partition has a history, which would have a silent gap after a move."""
    if topic != OFFSETS_TOPIC:
        return
    marks = read_marks(source / HISTORY_DIR, fs)
    if marks is not None and partition in marks.partitions:
        raise DataDirError(
            f"{OFFSETS_TOPIC}-{partition} would move, but its history is in {source / HISTORY_DIR}; keep the number of "
            "workers, or move that directory away (coordinator history reads it there, too) and begin a new history"
        )


def _move_partitions(
    fs: FileSystem,
    sources: Sequence[Path],
    owner_dirs: dict[int, Path],
    assigned: Mapping[str, Mapping[int, int]],
) -> int:
    ownership = StaticOwnership(owner_dirs)
    moves: list[tuple[Path, Path]] = []
    for source in sources:
        for name in fs.listdir(source):
            parsed = parse_partition_directory(name)
            if parsed is None or not fs.is_dir(source / name):
                continue
            topic, partition = parsed
            if topic in COORDINATOR_TOPICS:
                owner = ownership.owner_of_offsets_partition(partition)
            else:
                owner = ownership.owner_of_topic_partition(topic, partition, assigned.get(topic, {}).get(partition))
            target = owner_dirs[owner]
            if target != source:
                if fs.exists(target / name):
                    raise DataDirError(
                        f"{name} is both in {source} and in {target}; move the one that is not wanted away, then "
                        "start again"
                    )
                _refuse_with_history(fs, source, topic, partition)
                moves.append((source / name, target / name))
    touched = {path.parent for move in moves for path in move}
    for path in sorted(touched):
        for name in _ABOUT_MOVED:
            if fs.exists(path / name):
                fs.unlink(path / name)
        if fs.is_dir(path / COMPACTION_DIR):
            remove_directory(fs, path / COMPACTION_DIR)
        fs.fsync_dir(path)
    for old, new in moves:
        fs.rename(old, new)
    for path in sorted(touched):
        fs.fsync_dir(path)
    return len(moves)
