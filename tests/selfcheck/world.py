"""A partition of the offsets log on a disk in memory, as a daemon leaves it, and ways to damage it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from coordinator.selfcheck.findings import PartitionReport
from coordinator.selfcheck.partition import check_partition
from coordinator.selfcheck.repair import carry_out, plan_of, sentences
from coordinator.simulation.disk import LossyFileSystem
from coordinator.storage.log.log import Log, LogConfig
from coordinator.storage.log.segment import Entry
from coordinator.storage.snapshot import file as snapshot_file
from coordinator.storage.snapshot.loading import Loaded, binding_of, keep, load
from protocol.offsets_records import OffsetValue, encode_offset_key, encode_offset_value
from protocol.record_batch import build_batch, read_header
from tests.storage.log.batches import append

DIRECTORY = Path("/data/__consumer_offsets-0")
CONFIG = LogConfig(segment_bytes=900, index_interval_bytes=150)
GROUPS = ("g0", "g1", "g2", "g3")
Record = tuple[bytes | None, bytes | None]


def commit(number: int, group: str | None = None) -> Record:
    """Return the record of the `number`th commit: of a group and a partition that depend on it."""
    group = GROUPS[number % len(GROUPS)] if group is None else group
    value = encode_offset_value(OffsetValue(number, -1, "", 1_000 + number, -1))
    return encode_offset_key(group, "t", number % 3), value


class Disk:
    """The files of one partition. `batches` are two records each."""

    def __init__(self, batches: int = 30, *, fs: LossyFileSystem | None = None) -> None:
        self.fs = fs or LossyFileSystem()
        if fs is None:
            self.fs.mkdir(DIRECTORY.parent)
            self.fs.fsync_dir(Path("/"))
            for number in range(batches):
                self.append(commit(2 * number), commit(2 * number + 1))

    def append(self, *records: Record, timestamp_ms: int = -1) -> None:
        """Append a batch, as a daemon does in one run."""
        log = self.open()
        offset = log.log_end_offset
        when = 1_000 + offset if timestamp_ms < 0 else timestamp_ms
        batch = build_batch(records, base_offset=offset, timestamp_ms=when)
        append(log, [Entry(batch, offset + len(records) - 1, when)])
        log.close()

    def open(self) -> Log:
        return Log.open(DIRECTORY, CONFIG, self.fs, snapshot_file.evidence(self.fs, DIRECTORY, 0))

    def load(self, *, use_snapshot: bool = True) -> Loaded:
        """Start, load, and end the process."""
        log = self.open()
        try:
            return load(self.fs, log, 0, chunk_bytes=1 << 16, use_snapshot=use_snapshot)
        finally:
            log.abandon()

    def keep(self) -> None:
        """Write a snapshot of all records."""
        log = self.open()
        loaded = load(self.fs, log, 0, chunk_bytes=1 << 16)
        binding = binding_of(log, 0, loaded)
        assert binding is not None
        keep(self.fs, DIRECTORY, binding, loaded)
        log.close()

    # -- files

    @property
    def names(self) -> list[str]:
        return self.fs.listdir(DIRECTORY)

    @property
    def segments(self) -> list[str]:
        return [name for name in self.names if name.endswith(".log")]

    def read(self, name: str) -> bytes:
        file = self.fs.open(DIRECTORY / name)
        return file.pread(file.size(), 0)

    def write(self, name: str, data: bytes) -> None:
        file = self.fs.open(DIRECTORY / name, create=True)
        file.truncate(0)
        file.pwrite(data, 0)
        file.fsync()
        self.fs.fsync_dir(DIRECTORY)

    def remove(self, name: str) -> None:
        self.fs.unlink(DIRECTORY / name)
        self.fs.fsync_dir(DIRECTORY)

    def flip(self, name: str, position: int, mask: int = 0x40) -> None:
        data = bytearray(self.read(name))
        data[position] ^= mask
        self.write(name, bytes(data))

    def starts(self, name: str) -> list[int]:
        """Return where the batches of a sound segment begin."""
        data, position, found = self.read(name), 0, []
        while position < len(data):
            found.append(position)
            position += read_header(data, position).size_bytes
        return found

    # -- the commands

    def verify(self, *, is_served: bool = False) -> PartitionReport:
        return check_partition(
            self.fs, DIRECTORY, is_served=is_served, index_interval_bytes=CONFIG.index_interval_bytes
        )

    def plan(self) -> list[str]:
        return list(sentences(self.fs, plan_of(self.fs, self.verify())))

    def repair(self) -> list[str]:
        """Repair as the command does. Returns the names of files that keep what was taken out."""
        kept: list[str] = []
        for _ in range(5):
            plan = plan_of(self.fs, self.verify())
            if plan.is_empty:
                break
            kept += carry_out(self.fs, plan, CONFIG.index_interval_bytes)
        return kept

    def what(self) -> list[str]:
        """Return the findings as sentences."""
        return [str(finding) for finding in self.verify().findings]


def committed(loaded: Loaded, groups: Sequence[str] = GROUPS) -> dict[tuple[str, int], int]:
    """Return the committed offset by group and partition."""
    return {
        (group, partition): committed.offset
        for group in groups
        for partition, committed in loaded.store.peek(group).get("t", {}).items()
    }
