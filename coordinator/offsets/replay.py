"""Reading a partition of the offsets log back into groups and offsets.

Records come in log order. Of the raw bytes only the newest of each key are kept, and decoded at the end: a log holds
each key many times. Offsets of a transaction wait for its marker; those without one stay pending. A group is what its
last record says, Stable if it has members; an offset of a group without a record makes a simple group.

What cannot be decoded fails the load, but for keys of kinds that we do not know, which are counted and left alone.
Source: spec 12.1, 12.5.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from coordinator.group.group import Group
from coordinator.group.records import load_group
from coordinator.offsets.store import CommittedOffset, OffsetStore
from protocol.errors import DecodeError
from protocol.offsets_records import OffsetKey, decode_group_value, decode_key, decode_offset_value
from protocol.record_batch import ControlType, control_type

if TYPE_CHECKING:
    from coordinator.group.event import Shard
    from protocol.record_batch import BatchHeader, Record

_OLD_OFFSET_KEY: Final = b"\0\0"
_OFFSET_KEY: Final = b"\0\1"
_GROUP_KEY: Final = b"\0\2"

_Raw = tuple[bytes, int]  # value, log offset


class Replay:
    """What has been read so far of one partition."""

    __slots__ = ("_groups", "_offsets", "_open", "_seen", "records", "unknown")

    def __init__(self) -> None:
        self.records = 0
        self.unknown = 0  # records of kinds that are not ours (KIP-848, share groups)
        self._offsets: dict[bytes, _Raw] = {}  # by key, of the newest version
        self._groups: dict[bytes, bytes] = {}  # raw name (length and text) -> newest value
        self._seen: dict[bytes, None] = {}  # raw names of groups that exist, with or without a record
        self._open: dict[int, dict[bytes, _Raw]] = {}  # producer id -> offsets of its open transaction

    def add(self, header: BatchHeader, records: list[Record]) -> None:
        """The next batch of the log."""
        self.records += len(records)
        if header.is_control:
            for record in records:
                end = control_type(record)
                if end is not ControlType.UNKNOWN:
                    self._end_transaction(header.producer_id, commit=end is ControlType.COMMIT)
            return
        pending = self._open.setdefault(header.producer_id, {}) if header.is_transactional else None
        for record in records:
            key = record.key
            if key is None:
                raise DecodeError(f"the record at offset {record.offset} has no key")
            kind = key[:2]
            if kind == _OLD_OFFSET_KEY:  # means the same as version 1 and must be the same entry here
                kind, key = _OFFSET_KEY, _OFFSET_KEY + key[2:]
            if kind == _OFFSET_KEY:
                self._add_offset(key, record, pending)
            elif kind == _GROUP_KEY:
                self._add_group(_raw_name(key), record.value)
            else:
                decode_key(key)  # a key too short to have a kind is an error
                self.unknown += 1

    def _add_offset(self, key: bytes, record: Record, pending: dict[bytes, _Raw] | None) -> None:
        value = record.value
        if value is None:
            self._offsets.pop(key, None)
            for transaction in self._open.values():
                transaction.pop(key, None)
            return
        self._seen[_raw_name(key)] = None
        if pending is None:
            self._offsets[key] = (value, record.offset)
        else:
            pending[key] = (value, record.offset)

    def _add_group(self, name: bytes, value: bytes | None) -> None:
        if value is None:
            self._groups.pop(name, None)
            self._seen.pop(name, None)
        else:
            self._groups[name] = value
            self._seen[name] = None

    def _end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The newest record wins, not the newest marker."""
        for key, (value, offset) in self._open.pop(producer_id, {}).items():
            present = self._offsets.get(key)
            if commit and (present is None or present[1] < offset):
                self._offsets[key] = (value, offset)
                self._seen.setdefault(_raw_name(key))

    def finish(self, shard: Shard, wall_ms: int) -> tuple[list[Group], OffsetStore]:
        """Groups and offsets as the log leaves them. Raises DecodeError if something in it cannot be understood."""
        store = OffsetStore()
        names: dict[str, str] = {}
        for key, (value, log_offset) in self._offsets.items():
            group_id, topic, partition = _offset_key(key, names)
            store.put(group_id, topic, partition, _committed(value, log_offset))
            self._seen.setdefault(_raw_name(key))
        for producer_id, transaction in self._open.items():
            for key, (value, log_offset) in transaction.items():
                group_id, topic, partition = _offset_key(key, names)
                store.put_pending(producer_id, group_id, topic, partition, _committed(value, log_offset))
                self._seen.setdefault(_raw_name(key))
        groups = []
        for name in self._seen:
            group_id = str(decode_key(_GROUP_KEY + name)[0])
            group_value = self._groups.get(name)
            if group_value is not None:
                group = load_group(group_id, decode_group_value(group_value), shard)
            else:
                group = Group(group_id, shard, wall_ms)
                group.is_recorded = True
            groups.append(group)
        return groups, store


def _raw_name(key: bytes) -> bytes:
    """Length and text of the group, with which the keys of groups and of offsets both begin."""
    return key[2 : 4 + int.from_bytes(key[2:4], "big", signed=True)]


def _offset_key(key: bytes, names: dict[str, str]) -> OffsetKey:
    """The decoded key, one string for each group and topic however many partitions they have."""
    decoded = decode_key(key)
    if not isinstance(decoded, OffsetKey):
        raise DecodeError("an offset key of another kind")
    group_id = names.setdefault(decoded.group, decoded.group)
    return OffsetKey(group_id, sys.intern(decoded.topic), decoded.partition)


def _committed(value: bytes, log_offset: int) -> CommittedOffset:
    decoded = decode_offset_value(value)
    return CommittedOffset(
        decoded.offset,
        decoded.leader_epoch,
        decoded.metadata,
        decoded.commit_timestamp_ms,
        decoded.expire_timestamp_ms,
        log_offset,
    )
