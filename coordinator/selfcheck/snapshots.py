"""Check of a snapshot: it can be read, fits the log, and gives the same state as the log alone.

A snapshot that a compaction made useless is no fault: a start reads the log instead. One that fits is followed by the
log behind it and compared with the replay of the whole log, as the two starts would load them. Groups of which the log
only shows that they once had an offset are not compared: compaction drops that.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.offsets.packed_groups import decode_offsets
from coordinator.core.offsets.raw_records import CONSUMER_GROUP_KEY, raw_name
from coordinator.core.offsets.replay import Replay, ReplayedGroup
from coordinator.selfcheck.findings import HoldEnd, LogFinding, PartitionReport, SetAside
from coordinator.selfcheck.records import Followed
from coordinator.storage.file_names import SNAPSHOT_NAME
from coordinator.storage.snapshot import file
from coordinator.storage.snapshot.file import Binding, NoSnapshotError, OlderSnapshotError, SnapshotError
from protocol.offsets_records import encode_group_key, encode_offset_key, encode_offset_value

if TYPE_CHECKING:
    from coordinator.core.offsets.store import OffsetStore
    from coordinator.storage.log.fs import FileSystem
    from protocol.record_batch import BatchHeader

DELETE: Final = "stop the daemon and run `coordinator log repair`, or delete the file"


class SnapshotCheck:
    """The check of the snapshot of one partition. Call `add` for each batch of the log, then `finish`."""

    def __init__(self, fs: FileSystem, report: PartitionReport, partition: int | None) -> None:
        self._report = report
        self._followed: Followed | None = None
        self._binding: Binding | None = None
        self._has_last = False
        try:
            self._binding, base = file.read(fs, report.directory)
        except NoSnapshotError:
            return
        except OlderSnapshotError as error:
            report.notes.append(f"{SNAPSHOT_NAME} is not used, because {error}: a start reads all of the log")
            self._binding = file.read_binding(fs, report.directory)
            return
        except (SnapshotError, OSError) as error:
            self._fault(str(error), "one line in the log, and all of the log is read")
            return
        if partition is not None and self._binding.partition != partition:
            self._fault(f"it is of partition {self._binding.partition}", "one line in the log, and all of it is read")
            self._binding = None
            return
        try:
            for block in base.blocks.values():
                decode_offsets(base.data, block.position)
            self._followed = Followed(base)
        except (ValueError, IndexError, struct.error) as error:
            self._fault(f"the group {block.group_id!r} in it cannot be decoded ({error})", "requests of the group fail")

    def _fault(self, what: str, start: str) -> None:
        self._report.add(LogFinding(SNAPSHOT_NAME, -1, what, start, DELETE, SetAside(SNAPSHOT_NAME)))

    def add(self, header: BatchHeader, batch: bytes) -> None:
        """Take the next batch of the log."""
        binding = self._binding
        if binding is None:
            return
        if header.base_offset == binding.last.base_offset:
            facts = (header.base_offset, header.crc, header.partition_leader_epoch)
            self._has_last = facts == binding.last and header.last_offset < binding.next_offset
        if self._followed is not None:
            self._followed.add(header, batch)

    def finish(self, replay: Replay, found: list[ReplayedGroup], store: OffsetStore, *, is_damaged: bool) -> None:
        """Compare with the whole log, replayed and settled. `is_damaged`: batches of it are missing."""
        binding, report = self._binding, self._report
        if binding is None:
            return
        if binding.next_offset > report.end_offset:
            report.add(
                LogFinding(
                    SNAPSHOT_NAME,
                    -1,
                    f"it covers the log up to offset {binding.next_offset}, which ends at {report.end_offset}: records "
                    "that were on disk are lost",
                    "the daemon does not start",
                    mend=HoldEnd(binding.next_offset),
                )
            )
            return
        followed = self._followed
        if followed is None:
            return
        if binding.log_start_offset != report.start_offset or not self._has_last or not followed.is_complete:
            report.notes.append(
                f"{SNAPSHOT_NAME} is not used, since the log was compacted or replaced behind offset "
                f"{binding.next_offset}: a start reads all of the log"
            )
            return
        if followed.due != report.end_offset:
            return
        settled = followed.replay.settle()
        if is_damaged:
            other, other_store = settled
            report.rescued = [
                *missing_records(([*found, *replay.apart], store), ([*other, *followed.replay.apart], other_store)),
                *missing_consumer_records(replay, followed.replay),
            ]
            report.notes.append(
                f"{SNAPSHOT_NAME} covers what is damaged, and a start from it serves all groups; "
                f"`coordinator log repair` writes {len(report.rescued)} records from it to the end of the log"
            )
            return
        different = _difference(_state(replay, found, store), _state(followed.replay, *settled))
        if different:
            self._fault(
                f"it is not what the log says: {different}", "the daemon serves what the snapshot says, which is wrong"
            )


def missing_records(
    log: tuple[list[ReplayedGroup], OffsetStore], snapshot: tuple[list[ReplayedGroup], OffsetStore]
) -> list[tuple[bytes, bytes | None]]:
    """Return the records that, behind a log with a gap, give the groups and offsets of a snapshot without one."""
    records: list[tuple[bytes, bytes | None]] = []
    groups, expected = ({one.group_id: one.value for one in found} for found, _ in (log, snapshot))
    for group_id in {**groups, **expected}:
        mine, other = log[1].peek(group_id), snapshot[1].peek(group_id)
        for topic in {**mine, **other}:
            old, new = mine.get(topic, {}), other.get(topic, {})
            for partition in {**old, **new}:
                committed = new.get(partition)
                if committed != old.get(partition):
                    value = None if committed is None else encode_offset_value(committed)  # type: ignore[arg-type]
                    records.append((encode_offset_key(group_id, topic, partition), value))
        value = expected.get(group_id)
        if value != groups.get(group_id):
            records.append((encode_group_key(group_id), value))
    return records


def missing_consumer_records(log: Replay, snapshot: Replay) -> list[tuple[bytes, bytes | None]]:
    """Return the records that do the same for KIP-848 groups: tombstones, then values in the order of the log."""
    mine, other = log.consumer, snapshot.consumer
    gone = sorted(mine.keys() - other.keys(), key=lambda key: mine[key][1])
    ended = {raw_name(key) for key in gone if key.startswith(CONSUMER_GROUP_KEY)}  # with all older records
    values = [
        (log_offset, key, value)
        for key, (value, log_offset) in other.items()
        if mine.get(key, (None, -1))[0] != value or raw_name(key) in ended
    ]
    return [*((key, None) for key in gone), *((key, value) for _, key, value in sorted(values))]


def _state(replay: Replay, found: list[ReplayedGroup], store: OffsetStore) -> tuple[dict[str, Any], ...]:
    groups = {one.group_id: (one.value, one.record_offset) for one in (*found, *replay.apart) if one.value is not None}
    damaged = {repr(key): replay.offsets[key] for key in replay.damaged}
    pending = {repr(key): raw for key, raw in replay.open_offsets().items()}
    consumer = {repr(key): raw for key, raw in replay.consumer.items()}
    return groups, dict.fromkeys(store.group_ids(), store), damaged, pending, consumer


def _difference(log: tuple[dict[str, Any], ...], snapshot: tuple[dict[str, Any], ...]) -> str:
    names = (
        "the group",
        "the offsets of group",
        "the damaged record",
        "the offset in an open transaction",
        "the record of a KIP-848 group",
    )
    for name, of_log, of_snapshot in zip(names, log, snapshot, strict=True):
        for key in {**of_log, **of_snapshot}:
            one, other = of_log.get(key), of_snapshot.get(key)
            if name == names[1] and one is not None and other is not None:
                one, other = one.peek(key), other.peek(key)
            if one != other:
                return f"{name} {key} differs"
    return ""
