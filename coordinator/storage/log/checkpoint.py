"""`recovery-checkpoint`: a log's start offset, its recovery point, and the list of its segments.

A small text file in the log's directory, replaced atomically. The start offset moves when records are deleted and must
not move back after a crash. Records below the recovery point were durable when it was written: damage below it is loss
and stops the start, damage beyond it may be the torn tail of a crash. After a clean close the file also holds the size
of the newest segment; if the size still matches, nothing was written since and nothing needs to be checked.

`inventory.py` explains the list of segments. The first line is the checksum of all others: a start offset with another
digit would drop segments. Every value is an integer and unknown keys are ignored, so an earlier version can read the
file of a later one; an earlier version writes neither a list nor a checksum.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import google_crc32c

from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem, read_whole, write_atomically

RECOVERY_CHECKPOINT_NAME: Final = "recovery-checkpoint"
NO_EPOCHS: Final = -1  # there is no leader-epoch-checkpoint; else a CRC-32
_VERSION: Final = 1
_SEGMENT: Final = "segment."
_CHECKSUM: Final = "checksum="


class ListedSegment(NamedTuple):
    """A segment of the log, and how many bytes of its file are acknowledged and on the device."""

    base_offset: int
    size_bytes: int


class Checkpoint(NamedTuple):
    """State of a log at one moment. `clean_*` are -1 unless the log was closed cleanly."""

    log_start_offset: int = 0
    recovery_point: int = 0
    clean_segment: int = -1
    clean_size: int = -1
    leader_epochs: int = NO_EPOCHS  # checksum of Kafka's file of leader epochs when the segments were listed
    segments: tuple[ListedSegment, ...] = ()  # in order; empty: unknown

    def write(self, fs: FileSystem, directory: Path) -> None:
        """Replace the file; durable on return."""
        facts = {
            "version": _VERSION,
            "log.start.offset": self.log_start_offset,
            "recovery.point": self.recovery_point,
            "clean.segment": self.clean_segment,
            "clean.size": self.clean_size,
            "leader.epochs": self.leader_epochs,
            **{f"{_SEGMENT}{base_offset}": size for base_offset, size in self.segments},
        }
        data = "".join(f"{key}={value}\n" for key, value in facts.items()).encode()
        checksum = f"{_CHECKSUM}{google_crc32c.value(data)}\n".encode()
        write_atomically(fs, directory / RECOVERY_CHECKPOINT_NAME, checksum + data)

    @classmethod
    def read(cls, fs: FileSystem, directory: Path) -> Checkpoint | None:
        """Return the checkpoint; None if there is no file: a new log, or one that came from Kafka."""
        path = directory / RECOVERY_CHECKPOINT_NAME
        if not fs.exists(path):
            return None
        try:
            text = read_whole(fs, path).decode()
            first, _, rest = text.partition("\n")
            if first.startswith(_CHECKSUM):
                if int(first[len(_CHECKSUM) :]) != google_crc32c.value(rest.encode()):
                    raise ValueError("the checksum does not match")
            elif not first.startswith("version="):  # as the file of an earlier version begins
                raise ValueError("its first line is damaged")
            lines = text.splitlines()
            facts = {key: int(value) for key, _, value in (line.partition("=") for line in lines)}
            if facts["version"] != _VERSION:
                raise CorruptLogError(
                    path,
                    0,
                    f"format version {facts['version']} is not known to this program; start the version that wrote "
                    "it, or remove the file to start without it (deleted records may reappear)",
                )
            listed = (ListedSegment(int(key[len(_SEGMENT) :]), facts[key]) for key in facts if key.startswith(_SEGMENT))
            return cls(
                facts["log.start.offset"],
                facts["recovery.point"],
                facts["clean.segment"],
                facts["clean.size"],
                facts.get("leader.epochs", NO_EPOCHS),
                tuple(sorted(listed)),
            )
        except (KeyError, ValueError) as error:
            raise CorruptLogError(
                path, 0, "not a checkpoint; remove the file to start without it (deleted records may reappear)"
            ) from error
