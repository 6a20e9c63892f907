"""The files of the embedded topics: the catalogue, the producer ids, the producers' state, the log directories.

  topics.json            the catalogue, which decides which topics exist
  producer-ids.json      producer ids below this number may be in use
  topic-producers.json   state of each partition's producers at some offset: a start reads the log from there on
  <topic>-<partition>/   one log each, and topic.id with the id of its topic

Small files are replaced atomically and durably. The state of producers is used only if it matches its log. It is
written anew at each start, because a log that lost its tail in a power cut and grew again could match by accident. A
directory in the way of a new partition is renamed, never reused, unless its topic.id says that it is this partition,
moved here from another node.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.topics.catalogue import CatalogueError, DeletedTopic, Document, parse_document
from coordinator.core.topics.effects import DiskSpace
from coordinator.core.topics.names import (
    DELETED_SUFFIX,
    STRAY_SUFFIX,
    TRANSACTIONS_TOPIC,
    deleted_directory,
    parse_partition_directory,
    partition_directory,
)
from coordinator.storage.file_names import CATALOGUE_NAME, PRODUCER_IDS_NAME, PRODUCERS_NAME
from coordinator.storage.log.fs import FileSystem, read_whole, write_atomically
from coordinator.storage.log.log import Log, LogConfig, remove_tree

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.core.topics.partition import Partition

LOG: Final = logging.getLogger("coordinator.topics")

TOPIC_ID_NAME: Final = "topic.id"
_FORMAT_VERSION: Final = 1
MAX_PRODUCER_ID: Final = 2**62  # half of the ids that fit the protocol: no server gets there, so the file is damaged


class CatalogueStoreError(Exception):
    """A file of the embedded topics cannot be used. The message is one sentence that says what to do."""


class CatalogueStore:
    """The files in one data directory. Methods block: call them in threads, or at the start."""

    def __init__(self, data_dir: Path, config: Config, fs: FileSystem) -> None:
        self.data_dir = data_dir
        self._config = config
        self._fs = fs

    # -- the small files -----------------------------------------------------------------------------------------

    def load_catalogue(self) -> Document:
        """Return the last written catalogue; empty if there is none yet."""
        path = self.data_dir / CATALOGUE_NAME
        if not self._fs.exists(path):
            return Document([], [], "", 0, {}, {}, {})
        try:
            return parse_document(read_whole(self._fs, path).decode())
        except (CatalogueError, UnicodeDecodeError) as error:
            raise CatalogueStoreError(f"the catalogue {path} cannot be used: {error}; restore it from a copy") from None

    def save_catalogue(self, document: str) -> None:
        """Replace the catalogue by `document`."""
        write_atomically(self._fs, self.data_dir / CATALOGUE_NAME, document.encode())

    def disk_space(self) -> DiskSpace:
        """Return the data directory's path, and the space of its file system in bytes."""
        path = self.data_dir.absolute()
        return DiskSpace(str(path), self._fs.total_bytes(path), self._fs.free_bytes(path))

    def load_producer_ids(self) -> int:
        """Return the number below which producer ids may be in use."""
        path = self.data_dir / PRODUCER_IDS_NAME
        if not self._fs.exists(path):
            return 0
        try:
            content = json.loads(read_whole(self._fs, path))
            up_to = content["reserved_up_to"]
            if type(up_to) is not int or not 0 <= up_to < MAX_PRODUCER_ID:
                raise ValueError(f"reserved_up_to is {up_to!r}")
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            # A guess could assign an id twice, and records of two producers would be confused.
            raise CatalogueStoreError(
                f'{path} is damaged ({error}); write {{"reserved_up_to": N}} into it, N above every producer id in use'
            ) from None
        return up_to

    def save_producer_ids(self, up_to: int) -> None:
        """Write that producer ids below `up_to` may be in use."""
        write_atomically(
            self._fs, self.data_dir / PRODUCER_IDS_NAME, json.dumps({"reserved_up_to": up_to}).encode() + b"\n"
        )

    def load_producers(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the state of a partition's producers by directory; empty if unknown."""
        path = self.data_dir / PRODUCERS_NAME
        try:
            if not self._fs.exists(path):
                return {}
            content = json.loads(read_whole(self._fs, path))
            if content["version"] != _FORMAT_VERSION:
                return {}
            partitions: Mapping[str, Mapping[str, Any]] = dict(content["partitions"])
            if not all(isinstance(facts, dict) for facts in partitions.values()):
                raise TypeError("a partition has no facts")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            LOG.warning("%s is not used (%s): the producers' state is read from the logs", path, error)
            return {}
        return partitions

    def save_producers(self, partitions: Mapping[str, Mapping[str, Any]]) -> None:
        """Write the state of producers for the next start."""
        content = {"version": _FORMAT_VERSION, "partitions": partitions}
        write_atomically(self._fs, self.data_dir / PRODUCERS_NAME, json.dumps(content).encode() + b"\n")

    # -- directories ---------------------------------------------------------------------------------------------

    def open_log(self, partition: Partition) -> Log:
        """Open the log of a partition, or create it."""
        return Log.open(self.data_dir / partition.directory, self.log_config(partition), self._fs)

    def log_config(self, partition: Partition) -> LogConfig:
        """Return the limits of segments that the topic has now."""
        settings = partition.topic.settings
        return LogConfig(
            segment_bytes=settings.segment_bytes,
            segment_ms=settings.segment_ms,
            index_interval_bytes=self._config.log_index_interval_bytes,
        )

    def create_log(self, partition: Partition, *, adopts: bool = False) -> Log:
        """Create the log of a new partition. An existing directory is renamed, unless its topic.id is this topic's.

        With `adopts` an existing directory is used whatever its topic.id is.
        """
        path = self.data_dir / partition.directory
        topic_id = partition.topic.topic_id.hex().encode()
        if self._fs.exists(path) and not adopts and self._topic_id_in(path) != topic_id:
            aside = self._free_name(partition.topic.name, partition.index, partition.topic.topic_id, STRAY_SUFFIX)
            LOG.warning("%s was in the way of a new partition and is now %s", path.name, aside.name)
            self._fs.rename(path, aside)
            self._fs.fsync_dir(self.data_dir)
        log = self.open_log(partition)
        try:
            self._note_topic_id(path, topic_id)
        except OSError:
            log.abandon()
            raise
        return log

    def _note_topic_id(self, directory: Path, topic_id: bytes) -> None:
        """Write topic.id, unsynced: it is read only after the directory was moved to another node."""
        note = self._fs.open(directory / TOPIC_ID_NAME, create=True)
        try:
            note.pwrite(topic_id, 0)
        finally:
            note.close()

    def _topic_id_in(self, directory: Path) -> bytes:
        """Return the content of topic.id; empty if there is no such file."""
        path = directory / TOPIC_ID_NAME
        return read_whole(self._fs, path).strip() if self._fs.exists(path) else b""

    def remove_log(self, partition: Partition, log: Log) -> None:
        """Undo `create_log`."""
        log.abandon()
        path = self.data_dir / partition.directory
        if self._fs.is_dir(path):
            remove_tree(self._fs, path)

    def set_aside(self, topic: str, partition: int, topic_id: bytes) -> Path | None:
        """Rename the directory of a deleted partition; returns its new name, or None if there is none."""
        path = self.data_dir / partition_directory(topic, partition)
        if not self._fs.is_dir(path):
            return None
        aside = self._free_name(topic, partition, topic_id, DELETED_SUFFIX)
        self._fs.rename(path, aside)
        return aside

    def _free_name(self, topic: str, partition: int, topic_id: bytes, suffix: str) -> Path:
        path = self.data_dir / deleted_directory(topic, partition, topic_id, suffix)
        number = 1
        while self._fs.exists(path):
            number += 1
            path = self.data_dir / deleted_directory(topic, partition, topic_id, f".{number}{suffix}")
        return path

    def sync_names(self) -> None:
        """Make renames in the data directory durable."""
        self._fs.fsync_dir(self.data_dir)

    def remove_directories(self, paths: Iterable[Path]) -> None:
        """Remove directories that were set aside. A failure is logged, and the next start tries again."""
        for path in paths:
            try:
                remove_tree(self._fs, path)
            except OSError as error:
                LOG.warning("%s was not removed (%s); the next start tries again", path, error)

    def finish_deletions(self, deleted: Iterable[DeletedTopic], live: Iterable[str]) -> None:
        """Complete deletions at start that a crash interrupted, or whose renaming failed."""
        existing = set(live)
        aside = []
        for topic in deleted:
            if topic.name not in existing:  # a topic created again under the name has moved the old directories away
                for index in range(topic.partitions):
                    path = self.set_aside(topic.name, index, topic.topic_id)
                    if path is not None:
                        aside.append(path)
        if aside:
            self.sync_names()
        aside += [
            self.data_dir / name
            for name in self._fs.listdir(self.data_dir)
            if name.endswith(DELETED_SUFFIX) and self._fs.is_dir(self.data_dir / name)
        ]
        self.remove_directories(dict.fromkeys(aside))

    def unknown_directories(self, known: Iterable[str]) -> list[str]:
        """Return partition directories that belong to no topic. They are not touched, only reported.

        The transaction log is in no catalogue, because it is made when the first producer needs it.
        """
        expected = set(known)
        found = []
        for name in self._fs.listdir(self.data_dir):
            parsed = parse_partition_directory(name)
            if (
                name not in expected
                and parsed is not None
                and parsed[0] != TRANSACTIONS_TOPIC
                and self._fs.is_dir(self.data_dir / name)
            ):
                found.append(name)
        return found
