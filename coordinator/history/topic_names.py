"""Names of topics by their ids, from the files of a data directory: a daemon's catalogue, or a Kafka's directories.

The records of KIP-848 groups have the ids only. A topic that was deleted meanwhile is called by its id.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from coordinator.columnar.consumer_columns import topic_id_text
from coordinator.core.topics.catalogue import CatalogueError, parse_document
from coordinator.core.topics.names import parse_partition_directory
from coordinator.storage.file_names import CATALOGUE_NAME
from coordinator.storage.log.fs import FileSystem, write_atomically

KEPT_NAME: Final = "topic-names.json"  # in a history whose log is not at hand
KAFKAS_NAME: Final = "partition.metadata"
_ID: Final = "topic_id:"


def topic_names(data_dir: Path) -> dict[str, str]:
    """Return the name of each topic that is known, by the text of its id. A file that cannot be read is left out."""
    try:
        document = parse_document((data_dir / CATALOGUE_NAME).read_text())
    except (OSError, UnicodeDecodeError, CatalogueError):
        return _of_kafka(data_dir)
    found = {topic_id_text(topic.topic_id): topic.name for topic in document.deleted}
    return found | {topic_id_text(topic.topic_id): topic.name for topic in document.topics}


def kept_names(history_dir: Path) -> dict[str, str]:
    """Return the names that a history keeps: those of a log that is not in files at hand."""
    try:
        return msgspec.json.decode((history_dir / KEPT_NAME).read_bytes(), type=dict[str, str])
    except (OSError, msgspec.MsgspecError):
        return {}


def keep_names(history_dir: Path, names: dict[str, str], fs: FileSystem) -> None:
    """Add names to those that a history keeps; durable on return."""
    kept = kept_names(history_dir)
    if kept != kept | names:
        write_atomically(fs, history_dir / KEPT_NAME, msgspec.json.encode(kept | names, order="deterministic"))


def _of_kafka(data_dir: Path) -> dict[str, str]:
    found = {}
    for path in sorted(data_dir.glob(f"*/{KAFKAS_NAME}")):
        parsed = parse_partition_directory(path.parent.name)
        try:
            lines = path.read_text(errors="replace").splitlines()
        except OSError:
            continue
        for line in lines:
            if parsed is not None and line.startswith(_ID):
                found[line.removeprefix(_ID).strip()] = parsed[0]
    return found
