"""The data directory: its lock, its identity and its format version.

A lock file refuses a second daemon. `meta.properties` has Kafka's name and keys (version, cluster.id, node.id), so that
tools for Kafka's directories can read it, and more keys: the version of this program's format, and the numbers of
partitions of the offsets log and of the transaction log. Such a number decides where a record is, so it is fixed by the
first start.

A directory taken from Kafka is adopted: its identity is kept, its offsets partitions are counted, and its note of a
clean stop is removed, as Kafka does at a start. A problem that the user can correct is a `DataDirError`: one sentence
that says what to do.
"""

from __future__ import annotations

import base64
import errno
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

from coordinator.config.config import Config, keys
from coordinator.core.topics.names import (
    OFFSETS_TOPIC,
    TRANSACTIONS_TOPIC,
    parse_partition_directory,
    partition_directory,
)
from coordinator.storage.file_names import CLEAN_STOP_NAME, LOCK_NAME, META_NAME
from coordinator.storage.log.fs import NO_ROOM, File, FileSystem, RealFileSystem, read_whole, write_atomically
from coordinator.storage.log.log import remove_tree

FORMAT_VERSION: Final = 1
MOST_PARTITIONS: Final = 10_000  # of the offsets log, as in the setting

_KAFKA_VERSIONS: Final = ("0", "1")  # versions of meta.properties: with ZooKeeper, with KRaft
_FORMAT_KEY: Final = "coordinator.format.version"
_NUMBER: Final = re.compile("[1-9][0-9]{0,9}")


class _CountedTopic(NamedTuple):
    """A log whose number of partitions decides where a record is, so that it is fixed by the first start."""

    name: str
    key: str  # in meta.properties, and of the setting
    noun: str  # in messages


_OFFSETS: Final = _CountedTopic(OFFSETS_TOPIC, "offsets.topic.num.partitions", "offsets")
_TRANSACTIONS: Final = _CountedTopic(TRANSACTIONS_TOPIC, "transaction.state.log.num.partitions", "transaction")
_COUNTED: Final = (_OFFSETS, _TRANSACTIONS)

# Errors that may go away without a change of settings, for example after room was made on the disk.
MAY_PASS: Final = NO_ROOM | {errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR}


class DataDirError(Exception):
    """The data directory cannot be used. The message is one sentence that says what to do.

    `may_pass`: a later start may succeed with the same settings.
    """

    def __init__(self, sentence: str, *, may_pass: bool = False) -> None:
        super().__init__(sentence)
        self.may_pass = may_pass


@dataclass(slots=True)
class DataDir:
    """An open, locked data directory."""

    path: Path
    cluster_id: str
    node_id: int
    offsets_partitions: int
    transaction_partitions: int
    _lock: File

    @classmethod
    def open(
        cls,
        path: Path,
        config: Config,
        fs: FileSystem | None = None,
        new_uuid: Callable[[], uuid.UUID] = uuid.uuid4,
    ) -> Self:
        """Make the directory if absent, lock it, check or write its identity."""
        fs = fs or RealFileSystem()
        try:
            _make(fs, path)
            lock = fs.lock(path / LOCK_NAME)
        except BlockingIOError:
            raise DataDirError(
                f"the data directory {path} is in use by another daemon; stop it, or choose another with --data-dir"
            ) from None
        except OSError as error:
            raise unusable(path, error) from None
        try:
            facts = _read_meta(fs, path)
            updated = _checked(fs, path, config, facts, new_uuid)
            if updated != facts:
                text = "".join(f"{key}={value}\n" for key, value in updated.items())
                write_atomically(fs, path / META_NAME, text.encode())
            if fs.exists(path / CLEAN_STOP_NAME):
                fs.unlink(path / CLEAN_STOP_NAME)  # with it a Kafka would not check what this program appends
                fs.fsync_dir(path)
            for name in fs.listdir(path):
                if name.endswith("-delete") and fs.is_dir(path / name):
                    remove_tree(fs, path / name)  # left by an interrupted deletion of a topic
        except OSError as error:
            lock.close()
            raise unusable(path, error) from None
        except BaseException:
            lock.close()
            raise
        return cls(
            path,
            updated["cluster.id"],
            int(updated["node.id"]),
            int(updated[_OFFSETS.key]),
            int(updated[_TRANSACTIONS.key]),
            lock,
        )

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()


def _make(fs: FileSystem, path: Path) -> None:
    if fs.is_dir(path):
        return
    if not fs.is_dir(path.parent) and path.parent != path:
        _make(fs, path.parent)
    fs.mkdir(path)
    fs.fsync_dir(path.parent)


def unusable(path: Path, error: OSError) -> DataDirError:
    """Return the DataDirError for an error of the operating system."""
    reason = error.strerror or str(error)
    if error.errno in MAY_PASS:
        return DataDirError(
            f"the data directory {path} cannot be used now ({reason}); "
            "make room on its disk or mend it, then start again",
            may_pass=True,
        )
    return DataDirError(
        f"the data directory {path} cannot be used ({reason}); make it writable, or choose another with --data-dir"
    )


def told_transaction_partitions(data_dir: Path) -> int | None:
    """Return the number of partitions of the transaction log that a data directory tells; None: it tells none.

    Raises DataDirError.
    """
    told = _read_meta(RealFileSystem(), data_dir).get(_TRANSACTIONS.key, "")
    return int(told) if _NUMBER.fullmatch(told) else None


def _read_meta(fs: FileSystem, path: Path) -> dict[str, str]:
    if not fs.exists(path / META_NAME):
        return {}
    try:
        text = read_whole(fs, path / META_NAME).decode()
    except UnicodeDecodeError:
        raise DataDirError(f"{path / META_NAME} is not text; restore it from a copy") from None
    facts = {}
    for line in text.splitlines():
        key, separator, value = line.partition("=")
        if line.strip() and not line.lstrip().startswith("#"):
            if not separator:
                raise DataDirError(f"{path / META_NAME} has the line {line!r}, which is no key=value; restore the file")
            facts[key.strip()] = value.strip()
    return facts


def _checked(
    fs: FileSystem, path: Path, config: Config, facts: dict[str, str], new_uuid: Callable[[], uuid.UUID]
) -> dict[str, str]:
    """Return the new content of meta.properties. DataDirError: config and directory disagree."""
    meta = path / META_NAME
    updated = dict(facts)
    if facts.get("version", "1") not in _KAFKA_VERSIONS:
        raise DataDirError(
            f"{meta} has the unknown version {facts['version']}; choose another directory with --data-dir"
        )
    version = updated.setdefault(_FORMAT_KEY, str(FORMAT_VERSION))
    if version != str(FORMAT_VERSION):
        raise DataDirError(
            f"the data directory {path} has format version {version}, but this program knows only {FORMAT_VERSION}; "
            "start the version that wrote it, or choose another directory with --data-dir"
        )
    updated.setdefault("version", "1")
    if config.cluster_nodes and not config.cluster_id and "cluster.id" not in facts:
        raise DataDirError(
            f"the data directory {path} belongs to no cluster yet; set cluster.id to a name of your choice, the same "
            "on every node of cluster.nodes"
        )
    cluster_id = updated.setdefault("cluster.id", config.cluster_id or _new_cluster_id(new_uuid))
    if config.cluster_id and config.cluster_id != cluster_id:
        raise DataDirError(
            f"the data directory {path} belongs to the cluster {cluster_id}, but cluster.id is {config.cluster_id}; "
            "remove the setting, or choose another directory with --data-dir"
        )
    node_id = updated.setdefault("node.id", facts.get("broker.id", str(config.node_id)))
    if node_id != str(config.node_id):
        raise DataDirError(
            f"the data directory {path} belongs to node {node_id}, but node.id is {config.node_id}; "
            f"set node.id={node_id}, or choose another directory with --data-dir"
        )
    for topic in _COUNTED:
        _check_partitions(topic, fs, path, config, updated)
    return updated


def _check_partitions(
    topic: _CountedTopic, fs: FileSystem, path: Path, config: Config, updated: dict[str, str]
) -> None:
    """Set or check the number of partitions of a log. DataDirError: config and directory disagree."""
    meta = path / META_NAME
    asked: int = getattr(config, keys()[topic.key].attribute)
    present = _partitions_in(topic, fs, path)
    if config.cluster_nodes and present <= asked:
        present = asked  # a node has only some of them, so they cannot be counted
    partitions = updated.setdefault(topic.key, str(present or asked))
    if not (_NUMBER.fullmatch(partitions) and 1 <= int(partitions) <= MOST_PARTITIONS):
        raise DataDirError(
            f"{meta} has {topic.key}={partitions[:40]!r}, which is not from 1 to {MOST_PARTITIONS}; restore the "
            "file from a copy, or write the number that this directory has always had"
        )
    if present > int(partitions):  # records would be looked for in another partition
        raise DataDirError(
            f"{meta} has {topic.key}={partitions}, but there is {path / partition_directory(topic.name, present - 1)}; "
            f"restore the file from a copy, or write the number that this directory has always had, at least {present}"
        )
    # The default is not a request: a directory keeps its number, for example the 50 of one from Kafka.
    if partitions != str(asked) and asked != keys()[topic.key].default:
        raise DataDirError(
            f"the data directory {path} has {partitions} {topic.noun} partitions, which cannot change any more; "
            f"set {topic.key}={partitions}, or choose another directory with --data-dir"
        )


def _partitions_in(topic: _CountedTopic, fs: FileSystem, path: Path) -> int:
    """Return the number of partitions of a log in a directory from Kafka; 0 if it has none."""
    parsed = map(parse_partition_directory, fs.listdir(path))
    numbers = [found[1] for found in parsed if found is not None and found[0] == topic.name]
    return max(numbers) + 1 if numbers else 0


def _new_cluster_id(new_uuid: Callable[[], uuid.UUID]) -> str:
    """Return 22 characters of URL-safe base 64, like Kafka's `Uuid.randomUuid`."""
    while (made := base64.urlsafe_b64encode(new_uuid().bytes).decode().rstrip("=")).startswith("-"):
        pass  # a leading dash looks like an option on a command line
    return made
