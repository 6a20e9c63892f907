"""The directory of an observation: its lock, and whose log it mirrors.

`meta.properties` has the keys of a data directory, so every command that reads files works on it, and one more: the id
of the observed topic. The node id is -1, which no broker has, so that neither this daemon nor a Kafka serves clients
from a mirror by mistake. A directory of another cluster is refused. If the topic was deleted and created again, its
former log is moved into a directory of its own beside the new one, complete with its history.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from coordinator.observe.cluster import NO_TOPIC_ID
from coordinator.observe.errors import ObserveError
from coordinator.storage.file_names import LOCK_NAME, META_NAME, offsets_partition
from coordinator.storage.log.fs import File, FileSystem, read_whole, write_atomically

SET_ASIDE: Final = "set-aside-"

_CLUSTER_KEY: Final = "cluster.id"
_PARTITIONS_KEY: Final = "offsets.topic.num.partitions"
_TOPIC_KEY: Final = "observed.topic.id"
_UNKNOWN_ID: Final = "unknown"


@dataclass(frozen=True, slots=True)
class ObservedLog:
    """The log that a directory mirrors."""

    cluster_id: str
    topic_id: bytes  # all zero: the cluster has no topic ids
    partitions: int

    def why_other(self, now: ObservedLog) -> str:
        """Return a clause that says why `now` is another log of the same cluster; empty if it is not."""
        if NO_TOPIC_ID not in (self.topic_id, now.topic_id) and self.topic_id != now.topic_id:
            return "the topic was deleted and created again"
        if now.partitions < self.partitions:
            return f"the topic has {now.partitions} partitions, and had {self.partitions}"
        return ""

    def to_text(self) -> str:
        """Return the content of meta.properties."""
        facts = {
            "version": "1",
            _CLUSTER_KEY: self.cluster_id,
            "node.id": "-1",
            "coordinator.format.version": "1",
            _PARTITIONS_KEY: str(self.partitions),
            _TOPIC_KEY: self.topic_id.hex() if self.topic_id != NO_TOPIC_ID else _UNKNOWN_ID,
        }
        return "".join(f"{key}={value}\n" for key, value in facts.items())

    @classmethod
    def from_text(cls, text: str, path: Path) -> Self:
        """Parse it. ObserveError: the directory belongs to a daemon or to a Kafka, or the file is damaged."""
        pairs = (line.partition("=") for line in text.splitlines() if not line.lstrip().startswith("#"))
        facts = {key.strip(): value.strip() for key, _, value in pairs}
        if _TOPIC_KEY not in facts:
            raise ObserveError(
                f"{path.parent} is the data directory of a coordinator or of a Kafka, and no observation; choose "
                "another with --data-dir"
            )
        try:
            topic_id = NO_TOPIC_ID if facts[_TOPIC_KEY] == _UNKNOWN_ID else bytes.fromhex(facts[_TOPIC_KEY])
            return cls(facts[_CLUSTER_KEY], topic_id, int(facts[_PARTITIONS_KEY]))
        except (KeyError, ValueError):
            raise ObserveError(
                f"{path} is damaged; restore it from a copy, or move {path.parent} away to begin anew"
            ) from None


class ObservedDirectory:
    """An open, locked directory."""

    def __init__(self, path: Path, fs: FileSystem, lock: File, log: ObservedLog | None) -> None:
        self.path = path
        self.log = log  # None: nothing has been mirrored yet
        self._fs = fs
        self._lock = lock

    @classmethod
    def open(cls, path: Path, fs: FileSystem) -> Self:
        """Make the directory if absent, and lock it. ObserveError: it cannot be used."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            lock = fs.lock(path / LOCK_NAME)
        except BlockingIOError:
            raise ObserveError(
                f"the directory {path} is in use by another daemon; stop it, or choose another with --data-dir"
            ) from None
        except OSError as error:
            raise ObserveError(
                f"the directory {path} cannot be used ({error.strerror or error}); make it writable, or choose another "
                "with --data-dir"
            ) from None
        try:
            meta = path / META_NAME
            if fs.exists(meta):
                text = read_whole(fs, meta).decode(errors="replace")
                return cls(path, fs, lock, ObservedLog.from_text(text, meta))
            if any(offsets_partition(name) is not None for name in fs.listdir(path)):
                raise ObserveError(
                    f"{path} holds an offsets log without {META_NAME}, so it is unknown whose; choose another "
                    "directory with --data-dir"
                )
            return cls(path, fs, lock, None)
        except BaseException:
            lock.close()
            raise

    def check_cluster(self, cluster_id: str) -> None:
        """Raise ObserveError if the directory mirrors another cluster."""
        if self.log is not None and cluster_id and self.log.cluster_id and cluster_id != self.log.cluster_id:
            raise ObserveError(
                f"{self.path} mirrors the cluster {self.log.cluster_id}, but --bootstrap-server leads to {cluster_id}; "
                "choose another directory with --data-dir for it"
            )

    def belongs_to(self, log: ObservedLog) -> None:
        """Write durably which log the directory mirrors."""
        if log != self.log:
            write_atomically(self._fs, self.path / META_NAME, log.to_text().encode())
            self.log = log

    def set_aside(self, stamp: str) -> Path:
        """Move everything into a directory of its own and return that; all files must be closed.

        The file that says whose log it is moves last, so that a crash is noticed at the next start, and continued.
        """
        fs = self._fs
        target = self.path / f"{SET_ASIDE}{stamp}"
        with contextlib.suppress(FileExistsError):
            fs.mkdir(target)
        names = [name for name in fs.listdir(self.path) if name != LOCK_NAME and not name.startswith(SET_ASIDE)]
        for name in sorted(names, key=lambda each: each == META_NAME):
            fs.rename(self.path / name, target / name)
        fs.fsync_dir(target)
        fs.fsync_dir(self.path)
        self.log = None
        return target

    def close(self) -> None:
        """Release the lock."""
        self._lock.close()
