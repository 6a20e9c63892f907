"""Reading a partition of the offsets log back into groups and offsets.

Records come in log order. Of the raw bytes only the newest of each key are kept, and decoded at the end: a log holds
each key many times. Offsets of a transaction wait for its marker; those without one stay pending. A group is what its
last record says, Stable if it has members; an offset of a group without a record makes a simple group.

What cannot be decoded fails the load, but for keys of kinds that we do not know, which are counted and left alone.
Source: spec 12.1, 12.5.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
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

RawRecord = tuple[bytes, int]  # value, log offset


class Replay:
    """What has been read so far of one partition."""

    __slots__ = ("_open", "_seen", "groups", "offsets", "records", "unknown")

    def __init__(self) -> None:
        self.records = 0
        self.unknown = 0  # records of kinds that are not ours (KIP-848, share groups)
        self.offsets: dict[bytes, RawRecord] = {}  # committed, by state key
        self.groups: dict[bytes, RawRecord] = {}  # newest record of each group that has one, by state key
        self._seen: dict[bytes, None] = {}  # raw names of groups that exist, with or without a record
        self._open: dict[int, dict[bytes, RawRecord]] = {}  # producer id -> offsets of its open transaction

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
                self._add_group(_raw_name(key), record)
            else:
                decode_key(key)  # a key too short to have a kind is an error
                self.unknown += 1

    def _add_offset(self, key: bytes, record: Record, pending: dict[bytes, RawRecord] | None) -> None:
        value = record.value
        if value is None:
            self.offsets.pop(key, None)
            for transaction in self._open.values():
                transaction.pop(key, None)
            return
        self._seen[_raw_name(key)] = None
        if pending is None:
            self.offsets[key] = (value, record.offset)
        else:
            pending[key] = (value, record.offset)

    def _add_group(self, name: bytes, record: Record) -> None:
        value = record.value
        if value is None:
            self.groups.pop(_GROUP_KEY + name, None)
            self._seen.pop(name, None)
        else:
            self.groups[_GROUP_KEY + name] = (value, record.offset)
            self._seen[name] = None

    def records_of(self, key: bytes) -> Iterator[RawRecord]:
        """What may be, or become, the committed offset of a state key: the committed one, and those of open
        transactions."""
        found = self.offsets.get(key)
        if found is not None:
            yield found
        for transaction in self._open.values():
            if key in transaction:
                yield transaction[key]

    def pending_keys(self, producer_id: int) -> list[bytes]:
        """The state keys of the offsets in a producer's open transaction."""
        return list(self._open.get(producer_id, ()))

    def open_offsets(self) -> dict[tuple[int, bytes], RawRecord]:
        """What open transactions hold, by producer id and state key."""
        return {
            (producer_id, key): raw
            for producer_id, transaction in self._open.items()
            for key, raw in transaction.items()
        }

    def _end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """The newest record wins, not the newest marker."""
        for key, (value, offset) in self._open.pop(producer_id, {}).items():
            present = self.offsets.get(key)
            if commit and (present is None or present[1] < offset):
                self.offsets[key] = (value, offset)
                self._seen.setdefault(_raw_name(key))

    def finish(self, shard: Shard, wall_ms: int) -> tuple[list[Group], OffsetStore]:
        """Groups and offsets as the log leaves them. Raises DecodeError if something in it cannot be understood."""
        store = OffsetStore()
        names: dict[str, str] = {}
        for key, (value, log_offset) in self.offsets.items():
            group_id, topic, partition = _offset_key(key, names)
            store.put(group_id, topic, partition, committed_offset(value, log_offset))
            self._seen.setdefault(_raw_name(key))
        for producer_id, transaction in self._open.items():
            for key, (value, log_offset) in transaction.items():
                group_id, topic, partition = _offset_key(key, names)
                store.put_pending(producer_id, group_id, topic, partition, committed_offset(value, log_offset))
                self._seen.setdefault(_raw_name(key))
        groups = []
        for name in self._seen:
            key = _GROUP_KEY + name
            group_id = str(decode_key(key)[0])
            found = self.groups.get(key)
            if found is not None:
                value, record_offset = found
                group = load_group(group_id, decode_group_value(value), record_offset, shard)
            else:
                group = Group(group_id, shard, wall_ms)
                group.is_recorded = True
            groups.append(group)
        return groups, store


def state_key(key: bytes) -> bytes:
    """The key under which a `Replay` has what a record with this key says; empty for kinds that are not ours."""
    kind = key[:2]
    if kind in (_OLD_OFFSET_KEY, _OFFSET_KEY):
        return _OFFSET_KEY + key[2:]
    return _GROUP_KEY + _raw_name(key) if kind == _GROUP_KEY else b""


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


def committed_offset(value: bytes, log_offset: int) -> CommittedOffset:
    """What the value of an offset record says. DecodeError if it cannot be understood."""
    decoded = decode_offset_value(value)
    return CommittedOffset(
        decoded.offset,
        decoded.leader_epoch,
        decoded.metadata,
        decoded.commit_timestamp_ms,
        decoded.expire_timestamp_ms,
        log_offset,
    )
