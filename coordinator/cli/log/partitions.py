"""The partitions below a path: itself, those of a data directory, or those of its workers' directories."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from coordinator.cli.errors import CliError
from coordinator.storage.file_names import META_NAME, WORKERS_DIR

_PARTITION: Final = re.compile(r".+-(\d{1,9})")
_SEGMENTS: Final = "*.log"


def data_dirs(path: Path) -> dict[Path, list[Path]]:
    """Return data directory -> its partitions, in order. CliError: there are none."""
    if not path.is_dir():
        raise CliError(f"{path} is no directory; give a data directory or a partition's directory")
    path = path.resolve()
    found = {path.parent: [path]} if is_partition(path) else _below(path)
    if not any(found.values()):
        raise CliError(f"{path} holds no logs; give a data directory or a partition's directory")
    return found


def is_partition(path: Path) -> bool:
    """Return whether a directory is a partition's: by its name, or because it holds segments."""
    if (path / META_NAME).exists():
        return False
    return _PARTITION.fullmatch(path.name) is not None or any(path.glob(_SEGMENTS))


def _below(data_dir: Path) -> dict[Path, list[Path]]:
    partitions = [each for each in data_dir.iterdir() if each.is_dir() and _PARTITION.fullmatch(each.name)]
    found = {data_dir: sorted((one for one in partitions if _is_log(one)), key=_order)}
    workers = data_dir / WORKERS_DIR
    for worker in sorted(workers.iterdir()) if workers.is_dir() else ():
        if worker.is_dir():
            found |= _below(worker)
    return found


def _is_log(directory: Path) -> bool:
    return any(each.suffix == ".log" or "checkpoint" in each.name for each in directory.iterdir())


def _order(partition: Path) -> tuple[str, int]:
    topic, _, number = partition.name.rpartition("-")
    return topic, int(number)
