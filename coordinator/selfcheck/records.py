"""Check of the records of an offsets log: every key and value is decoded, and the log is replayed as by a start.

Replay decodes only the newest record of each key. Here all are, so that a damaged record is found before its key is
read. A record that a newer one replaces does no harm; any other quarantines its group at a start.

A tombstone needs no earlier record: compaction removes what it deletes. The opposite is a fault: a key of version 0 and
one of version 1 mean the same offset, but a cleaner compares bytes. Where the tombstone has the other version, it goes
some day, and the deleted offset comes back.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.context import InvariantError
from coordinator.core.group.records import load_group
from coordinator.core.group.state import GroupState
from coordinator.core.offsets.raw_records import (
    CONSUMER_KEYS,
    NOT_PLAIN,
    OLD_OFFSET_KEY,
    PLAIN_FIELDS,
    PLAIN_VALUE,
    absorb,
    committed_offset,
    raw_name,
    readable,
    state_key,
)
from coordinator.core.offsets.replay import Base, Replay
from coordinator.core.shard import Shard
from coordinator.selfcheck.findings import REPAIR, DropRecord, LogFinding, PartitionReport
from protocol.errors import DecodeError, ProtocolError
from protocol.group_records import decode_record_key, decode_record_value
from protocol.offsets_records import (
    GroupKey,
    OffsetKey,
    UnknownKey,
    decode_group_value,
    decode_key,
    decode_offset_value,
)
from protocol.record_batch import control_type, read_records

if TYPE_CHECKING:
    from coordinator.core.offsets.raw_records import RawRecord
    from protocol.record_batch import BatchHeader

MOST_KNOWN: Final = 100_000  # starts of keys that were decoded before
_PLAIN_FIELDS: Final = len(PLAIN_FIELDS)
_PARTITION_BYTES: Final = 4  # at the end of an offset key


class _Damaged(NamedTuple):
    file: str
    mend: DropRecord
    key: bytes
    group: str | None
    what: str
    before: str  # what the key had before, as a clause


class RecordCheck:
    """Checks and replays the batches of one partition."""

    def __init__(self, report: PartitionReport) -> None:
        self.replay = Replay()
        self._report = report
        self._known: dict[bytes, None] = {}
        self._damaged: list[_Damaged] = []
        self._old_keys: dict[
            bytes, list[tuple[str, DropRecord]]
        ] = {}  # state key -> its values with a key of version 0
        self._shard = Shard(0, {}, dict.fromkeys(GroupState, 0))

    def add(self, header: BatchHeader, batch: bytes, file: str, base_offset: int, position: int) -> None:
        """Read the next batch. ProtocolError: its records cannot be told apart."""
        if header.is_control:
            for record in read_records(batch, 0, header):
                control_type(record)
        else:
            offsets, others = _records_of(header, batch)
            if offsets and not others and self._are_known(offsets):
                self.replay.records += header.record_count
                self.replay.offsets.update(offsets)  # as `add_batch` does, without reading the batch again
                return
            place = DropRecord(base_offset, position, len(batch), -1)
            self._look_at(((key, value, offset) for key, (value, offset) in offsets.items()), file, place)
            self._look_at(others, file, place)
        self.replay.add_batch(header, batch)

    def _are_known(self, offsets: dict[bytes, RawRecord]) -> bool:
        """Return True for plain values of keys whose groups and topics were decoded before."""
        known = self._known
        if not all(key[:-_PARTITION_BYTES] in known for key in offsets):
            return False
        values = [value for value, _ in offsets.values()]
        count = len(values)
        if set(map(len, values)) != {PLAIN_VALUE.size}:
            return False
        fields = struct.unpack(">" + PLAIN_FIELDS * count, b"".join(values))
        return fields[::_PLAIN_FIELDS].count(3) == count and not any(fields[3::_PLAIN_FIELDS])

    def _look_at(self, records: Iterable[tuple[bytes | None, bytes | None, int]], file: str, place: DropRecord) -> None:
        for key, value, offset in records:
            where = DropRecord(place.base_offset, place.position, place.size, offset)
            if key is None:
                self._note(file, where, b"", None, f"the record at offset {offset} has no key")
            else:
                self._look_closely(key, value, file, where)

    def _look_closely(self, key: bytes, value: bytes | None, file: str, where: DropRecord) -> None:
        offset = where.log_offset
        group: str | None = None
        try:
            if key[:2] in CONSUMER_KEYS:
                group = readable(raw_name(key))
                _check_consumer_record(key, value)
                return
            decoded = decode_key(key)
            if isinstance(decoded, UnknownKey):
                self._report.unknown[decoded.version] = self._report.unknown.get(decoded.version, 0) + 1
                return
            group = decoded.group
            if isinstance(decoded, OffsetKey):
                self._note_version(key, value, file, where)
                if value is not None:
                    decode_offset_value(value)
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                if key[:2] != OLD_OFFSET_KEY and len(key) == 10 + len(group.encode()) + len(decoded.topic.encode()):
                    self._known[key[:-_PARTITION_BYTES]] = None
            elif isinstance(decoded, GroupKey) and value is not None:
                load_group(group, decode_group_value(value), offset, self._shard)
        except (DecodeError, InvariantError) as error:
            if value is not None or group is None:
                self._note(file, where, key, group, f"the record at offset {offset} cannot be used: {error}")

    def _note_version(self, key: bytes, value: bytes | None, file: str, where: DropRecord) -> None:
        """Remember the values with a key of version 0; their own tombstone removes them."""
        if key[:2] == OLD_OFFSET_KEY:
            if value is None:
                self._old_keys.pop(state_key(key), None)
            else:
                self._old_keys.setdefault(state_key(key), []).append((file, where))

    def _note(self, file: str, where: DropRecord, key: bytes, group: str | None, what: str) -> None:
        self._damaged.append(_Damaged(file, where, key, group, what, self._before(key)))

    def _before(self, key: bytes) -> str:
        replay, same = self.replay, state_key(key)
        found = replay.offsets.get(same) or replay.groups.get(same) or replay.consumer.get(same)
        if found is None:
            return "nothing older of its key is left"
        if same in replay.offsets:
            with suppress(DecodeError):
                return f"its key goes back to offset {committed_offset(*found).offset} (log offset {found[1]})"
        return f"its key goes back to the record at log offset {found[1]}"

    def finish(self, live: dict[bytes, RawRecord]) -> None:
        """Report what was found. `live` are the damaged records that a start finds, after `replay.settle`."""
        quarantined = {offset for _, offset in live.values()} | {offset for _, offset in self.replay.groups.values()}
        quarantined |= {offset for _, offset in self.replay.damaged_pending.values()}
        quarantined |= {offset for _, offset in self.replay.live.values()}
        for file, mend, _, group, what, before in self._damaged:
            if group is None:
                start = (
                    "all groups are served, because its key names none; it is set aside if it is the newest of its key"
                )
            elif mend.log_offset not in quarantined:
                start = "it is ignored, since a newer record replaces it"
            else:
                start = f"the group {group!r} is quarantined: its requests are answered UNKNOWN_SERVER_ERROR"
            advice = f"{REPAIR}; without the record {before}"
            if group is not None:
                advice += f"; `coordinator groups delete {group}` gives the group up"
            self._report.add(LogFinding(file, mend.position, what, start, advice, mend))
        for key, values in self._old_keys.items():
            if key in self.replay.offsets:
                continue
            for file, mend in values:
                self._report.add(
                    LogFinding(
                        file,
                        mend.position,
                        f"the record at offset {mend.log_offset} has a key of version 0, and was deleted by a "
                        "tombstone with a key of version 1, which no cleaner takes for its own",
                        "it stays deleted, until a compaction removes the tombstone; then the offset comes back",
                        REPAIR,
                        mend,
                    )
                )


def _check_consumer_record(key: bytes, value: bytes | None) -> None:
    """Decode a record of a KIP-848 group. Raises DecodeError."""
    decoded = decode_record_key(key)
    if decoded is not None and value is not None:
        decode_record_value(decoded.kind, value)


def _records_of(
    header: BatchHeader, batch: bytes
) -> tuple[dict[bytes, RawRecord], list[tuple[bytes | None, bytes | None, int]]]:
    """Return the committed offsets of a batch by key, if it has each key once, and its other records."""
    if not header.attributes & NOT_PLAIN:
        offsets: dict[bytes, RawRecord] = {}
        others: list[tuple[bytes | None, bytes | None, int]] = []
        is_plain = absorb(
            batch,
            header.size_bytes,
            header.base_offset,
            header.record_count,
            offsets,
            lambda key, value, offset: others.append((key, value, offset)),
        )
        if is_plain and len(offsets) + len(others) == header.record_count:
            return offsets, others
    return {}, [(record.key, record.value, record.offset) for record in read_records(batch, 0, header)]


class Followed:
    """A snapshot and the batches behind it, replayed as by a start."""

    def __init__(self, base: Base) -> None:
        self.replay = Replay(base)
        self.due = base.next_offset
        self.is_complete = True

    def add(self, header: BatchHeader, batch: bytes) -> None:
        """Take the next batch of the log, if it lies behind the snapshot."""
        if header.last_offset < self.due or not self.is_complete:
            return
        if header.base_offset != self.due or header.record_count != header.last_offset_delta + 1:
            self.is_complete = False  # compacted since: a start does not use the snapshot
            return
        self.due = header.last_offset + 1
        try:
            self.replay.add_batch(header, batch)
        except ProtocolError:
            self.is_complete = False
