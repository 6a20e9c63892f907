"""Check of the small files beside a log: they can be read, and none is ahead of the log.

Of this coordinator it is `recovery-checkpoint`, which refuses a start if records that were on disk are gone. Of Kafka
these are the leader epochs, the snapshots of producers, and the checkpoints in the data directory.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import google_crc32c

from coordinator.selfcheck.findings import ForgetSegments, HoldEnd, LogFinding, PartitionReport, SetAside
from coordinator.storage.file_names import CLEANER_CHECKPOINT_NAME
from coordinator.storage.log.checkpoint import RECOVERY_CHECKPOINT_NAME, Checkpoint
from coordinator.storage.log.errors import CorruptLogError
from coordinator.storage.log.fs import FileSystem, read_whole
from coordinator.storage.log.inventory import EPOCHS_NAME, leader_epochs, refuse_loss

if TYPE_CHECKING:
    from pathlib import Path

_PRODUCERS: Final = re.compile(r"(\d{20})\.snapshot")
_PRODUCERS_CRC_FROM: Final = 6  # behind the version and the checksum
OF_DATA_DIR: Final = (
    CLEANER_CHECKPOINT_NAME,
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
)
IGNORED: Final = "nothing, since this coordinator does not use the file; a Kafka writes it again"


class Known(NamedTuple):
    """Content of `recovery-checkpoint`, as far as a start uses it."""

    start_offset: int = 0
    recovery_point: int = 0
    clean_segment: int = -1
    clean_size: int = -1

    def is_clean(self, base_offset: int, size: int) -> bool:
        """Return whether the newest segment was closed in order with this size, so that a start trusts it."""
        return (self.clean_segment, self.clean_size) == (base_offset, size)

    def too_far(self, end_offset: int) -> LogFinding:
        """Return the finding for a log that ends below the recovery point."""
        return LogFinding(
            RECOVERY_CHECKPOINT_NAME,
            -1,
            f"records up to offset {self.recovery_point} were on disk, and the sound part of the log ends at "
            f"{end_offset}",
            "the daemon does not start",
            mend=HoldEnd(self.recovery_point),
        )


def check_checkpoint(fs: FileSystem, report: PartitionReport, bases: Sequence[int]) -> Known:
    """Check `recovery-checkpoint` and its list of segments."""
    directory = report.directory
    start = "the daemon does not start"
    try:
        checkpoint = Checkpoint.read(fs, directory)
    except CorruptLogError as error:
        aside = SetAside(RECOVERY_CHECKPOINT_NAME)
        report.add(LogFinding(RECOVERY_CHECKPOINT_NAME, -1, error.reason, start, mend=aside))
        return Known()
    if checkpoint is None:
        if not bases:
            report.notes.append("there are no segments: a start makes an empty log")
        return Known()
    if not bases:
        what = f"no segment is left of a log that ended at offset {checkpoint.recovery_point} or behind it"
        report.add(LogFinding(RECOVERY_CHECKPOINT_NAME, -1, what, start, mend=SetAside(RECOVERY_CHECKPOINT_NAME)))
        return Known()
    if checkpoint.segments and checkpoint.leader_epochs == leader_epochs(fs, directory):
        try:
            refuse_loss(fs, directory, bases, checkpoint)
        except CorruptLogError as error:
            what = error.reason.partition("; restore")[0]
            report.add(LogFinding(error.path.name, error.position, what, start, mend=ForgetSegments()))
    return Known(
        checkpoint.log_start_offset, checkpoint.recovery_point, checkpoint.clean_segment, checkpoint.clean_size
    )


def check_kafka_files(fs: FileSystem, report: PartitionReport) -> None:
    """Check the files of a Kafka beside the segments."""
    directory = report.directory
    for name in fs.listdir(directory):
        what = ""
        if name == EPOCHS_NAME:
            what = _fault_in_epochs(read_whole(fs, directory / name), report.end_offset)
        elif found := _PRODUCERS.fullmatch(name):
            data = read_whole(fs, directory / name)
            crc = int.from_bytes(data[2:_PRODUCERS_CRC_FROM], "big")
            if int(found[1]) > report.end_offset:
                what = f"it is of offset {int(found[1])}, and the log ends at {report.end_offset}"
            elif len(data) < _PRODUCERS_CRC_FROM or google_crc32c.value(data[_PRODUCERS_CRC_FROM:]) != crc:
                what = "its checksum does not match"
        if what:
            report.add(LogFinding(name, -1, what, IGNORED, mend=SetAside(name)))


def _fault_in_epochs(data: bytes, end_offset: int) -> str:
    try:
        version, count, *lines = data.decode().splitlines()
        entries = [(int(epoch), int(start)) for epoch, start in (line.split() for line in lines)]
    except ValueError:
        return "it cannot be read"
    if version != "0" or int(count) != len(entries) or sorted(entries) != entries:
        return "it is not a list of leader epochs in order"
    if entries and entries[-1][1] > end_offset:
        return f"its epoch {entries[-1][0]} begins at offset {entries[-1][1]}, and the log ends at {end_offset}"
    return ""


def check_data_dir(fs: FileSystem, data_dir: Path, ends: dict[str, int]) -> list[LogFinding]:
    """Check the checkpoints in a data directory. `ends` are the end offsets by name of a partition's directory."""
    findings = []
    for name in OF_DATA_DIR:
        if not fs.exists(data_dir / name):
            continue
        start = IGNORED if name != CLEANER_CHECKPOINT_NAME else "one compaction runs too early or too late"
        try:
            version, count, *lines = read_whole(fs, data_dir / name).decode().splitlines()
            entries = [(topic, int(number), int(offset)) for topic, number, offset in map(str.split, lines)]
            fault = "" if (version, int(count)) == ("0", len(entries)) else "its lines are not as many as it says"
        except ValueError:
            entries, fault = [], "it cannot be read"
        for topic, number, offset in entries:
            end = ends.get(f"{topic}-{number}")
            if end is not None and offset > end:
                fault = fault or f"it says {offset} for {topic}-{number}, and the log ends at {end}"
        if fault:
            findings.append(LogFinding(name, -1, fault, start, mend=SetAside(name)))
    return findings
