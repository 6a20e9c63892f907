"""Replay of a partition of the offsets log into groups and offsets, from its first record or from a snapshot.

Records come in log order. Only the newest raw value of each key is kept, and decoded at the end: a log holds each key
many times. Offsets of a transaction wait for its end marker; without one they stay pending. A group is as its last
record says, Stable if it has members; an offset of a group without a record makes a simple group. KIP-848 groups are
the newest record of each of their keys (`consumer_records.py`).

With a `Base` (a snapshot) the records are those after it. They replace the base's value of a key; a group that they do
not mention keeps its packed block of the base. Without a base, groups are packed here (`packing.py`).

A record that cannot be decoded is set aside (`damaged`) and quarantines its group (`quarantine.py`); a newer one of its
key replaces it. Keys of unknown kinds are counted. Source: Kafka's `GroupCoordinatorShard.replay`.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.offsets.consumer_records import (
    IgnoredRecords,
    divide,
    ended_records,
    is_sound,
    newest_of_each_group,
    without_ended,
)
from coordinator.core.offsets.packed_groups import Block, count_of, encode_block, size_of
from coordinator.core.offsets.packing import pack
from coordinator.core.offsets.raw_records import (
    CONSUMER_GROUP_KEY,
    CONSUMER_KEYS,
    GROUP_KEY,
    NOT_PLAIN,
    OFFSET_KEY,
    OLD_OFFSET_KEY,
    RawRecord,
    absorb,
    committed_offset,
    offset_key,
    raw_name,
    raw_text,
    readable,
    text_of,
)
from coordinator.core.offsets.store import PACKED_AT_MOST, OffsetStore
from protocol.errors import DecodeError
from protocol.record_batch import ControlType, control_type, read_records

if TYPE_CHECKING:
    from protocol.record_batch import BatchHeader, Record

_PARTITION: Final = struct.Struct(">i")
_NO_VALUE: Final = b"\0"  # instead of no bytes, which a block takes for a deletion; neither can be decoded


@dataclass(frozen=True, slots=True)
class Base:
    """The state of a partition below `next_offset`, from a snapshot."""

    next_offset: int
    data: bytes
    blocks: dict[str, Block] = field(default_factory=dict)  # group -> its block
    open: dict[int, dict[bytes, RawRecord]] = field(default_factory=dict)  # producer id -> offsets by state key
    unknown: int = 0
    damaged: dict[bytes, RawRecord] = field(default_factory=dict)  # state key -> a record that cannot be decoded
    consumer: dict[bytes, RawRecord] = field(default_factory=dict)  # key -> newest record of a KIP-848 group


class ReplayedGroup(NamedTuple):
    """One group after replay."""

    group_id: str
    value: bytes | None  # value of its newest record
    record_offset: int  # log offset of that record, or of the group's deletion if offsets outlived it; -1: neither
    block: int  # position of a block, from the base or packed here, with this very record; -1: there is none


class Replay:
    """Collects the records of one partition."""

    __slots__ = (
        "_base",
        "_blocks",
        "_ended",
        "_gone",
        "_open",
        "_removed",
        "_seen",
        "apart",
        "consumer",
        "damaged",
        "damaged_pending",
        "groups",
        "ignored",
        "live",
        "offsets",
        "records",
        "unknown",
    )

    def __init__(self, base: Base | None = None) -> None:
        self.records = 0
        self.unknown = 0  # records of kinds that this coordinator does not use (share groups, streams groups)
        self.offsets: dict[bytes, RawRecord] = {}  # state key -> committed offset
        self.groups: dict[bytes, RawRecord] = {}  # state key -> newest record of the classic group
        self.consumer: dict[bytes, RawRecord] = {}  # key -> newest record of a KIP-848 group
        self.damaged: dict[bytes, str] = {}  # state key of a record in `offsets` -> why it cannot be decoded
        self.damaged_pending: dict[bytes, tuple[str, int]] = {}  # the same in open transactions, with its log offset
        self.live: dict[bytes, RawRecord] = {}  # those of `consumer` that are used, as `settle` found
        self.apart: list[ReplayedGroup] = []  # what is known of the KIP-848 groups besides: they have offsets
        self.ignored: list[IgnoredRecords] = []  # a report for the log
        self._ended: dict[bytes, int] = {}  # raw name of a deleted KIP-848 group -> log offset of its tombstone
        self._seen: dict[bytes, None] = {}  # raw names of groups that exist, even without a record or an offset
        self._gone: dict[bytes, int] = {}  # raw name of a deleted group -> log offset of its tombstone
        self._open: dict[int, dict[bytes, RawRecord]] = {}  # producer id -> offsets of its open transaction
        self._base = base
        self._blocks = b""  # the blocks that `settle` puts into the store
        self._removed: set[bytes] = set()  # state keys with a tombstone after the base
        if base is not None:
            self.unknown = base.unknown
            self.offsets = dict(base.damaged)
            self.consumer = dict(base.consumer)
            self._open = {producer_id: dict(pending) for producer_id, pending in base.open.items()}
            self._gone = {
                raw_text(block.group_id): block.record_offset for block in base.blocks.values() if block.is_deleted
            }

    # -- reading -------------------------------------------------------------------------------------------------

    def add_batch(self, header: BatchHeader, batch: bytes) -> None:
        """Read the next batch of the log, as raw bytes whose checksum is right."""
        if header.attributes & NOT_PLAIN or not absorb(
            batch, header.size_bytes, header.base_offset, header.record_count, self.offsets, self.add_record
        ):
            self.add(header, read_records(batch, 0, header))
        else:
            self.records += header.record_count

    def add(self, header: BatchHeader, records: list[Record]) -> None:
        """Read the next batch of the log, decoded."""
        self.records += len(records)
        if header.is_control:
            for record in records:
                end = control_type(record)
                if end is not ControlType.UNKNOWN:
                    self._end_transaction(header.producer_id, commit=end is ControlType.COMMIT)
            return
        pending = self._open.setdefault(header.producer_id, {}) if header.is_transactional else None
        for record in records:
            self.add_record(record.key, record.value, record.offset, pending)

    def add_record(
        self, key: bytes | None, value: bytes | None, offset: int, pending: dict[bytes, RawRecord] | None = None
    ) -> None:
        """Read the next record. `pending` holds the offsets of its transaction so far; None outside of one."""
        if key is None:  # no cleaner keeps such a record
            self.unknown += 1
            return
        kind = key[:2]
        if kind == OLD_OFFSET_KEY:  # has the meaning of version 1, and so the same state key
            kind, key = OFFSET_KEY, OFFSET_KEY + key[2:]
        if kind == OFFSET_KEY:
            if value is None:
                self._remove_offset(key)
            elif pending is None:
                self.offsets[key] = (value, offset)
            else:
                self._seen[raw_name(key)] = None
                pending[key] = (value, offset)
        elif kind == GROUP_KEY:
            name = raw_name(key)
            if readable(name) is None:
                self._put_unreadable(key, value, offset, pending)
            elif value is None:
                self.groups.pop(GROUP_KEY + name, None)
                self._seen.pop(name, None)
                self._gone[name] = offset
            else:
                self.groups[GROUP_KEY + name] = (value or _NO_VALUE, offset)
                self._seen[name] = None
        elif kind in CONSUMER_KEYS:
            if key not in self.consumer and not is_sound(key):
                self._put_unreadable(key, value, offset, pending)
            elif value is not None:
                self.consumer[key] = (value, offset)
            else:
                self.consumer.pop(key, None)
                if kind == CONSUMER_GROUP_KEY:
                    self._end_consumer_group(raw_name(key), offset)
        elif len(kind) < 2:  # a key too short to have a kind
            self._put_unreadable(key, value, offset, pending)
        else:
            self.unknown += 1

    def _end_consumer_group(self, name: bytes, offset: int) -> None:
        """Delete a KIP-848 group. A classic group of this name with a record of its own stays."""
        self._ended[name] = offset
        block = None if self._base is None or name in self._gone else self._base.blocks.get(text_of(name))
        if GROUP_KEY + name not in self.groups and (block is None or not block.value_size):
            self._seen.pop(name, None)
            self._gone[name] = offset

    def _put_unreadable(
        self, key: bytes, value: bytes | None, offset: int, pending: dict[bytes, RawRecord] | None
    ) -> None:
        """Keep the newest record of a key that names no group among the offsets, where `settle` finds it."""
        if value is None:
            self.offsets.pop(key, None)
        else:
            (self.offsets if pending is None else pending)[key] = (value, offset)

    def _remove_offset(self, key: bytes) -> None:
        found = self.offsets.get(key)
        if self._gone or found is not None:  # otherwise a group of the base stays, as it does without a base
            name = raw_name(key)
            gone_at = self._gone.get(name, -1)
            if (found is not None or gone_at >= 0) and self._committed_at(key) > gone_at:
                self._seen[name] = None
        if found is not None:
            del self.offsets[key]
        if self._base is not None:
            self._removed.add(key)
        for transaction in self._open.values():
            transaction.pop(key, None)

    def _end_transaction(self, producer_id: int, *, commit: bool) -> None:
        """Apply an end marker. The newest record wins, not the newest marker."""
        for key, (value, offset) in self._open.pop(producer_id, {}).items():
            if commit and self._committed_at(key) < offset:
                self.offsets[key] = (value, offset)
                self._seen[raw_name(key)] = None

    def _committed_at(self, key: bytes) -> int:
        """Return the log offset of the committed record of a key; -1 if there is none."""
        found = self.offsets.get(key)
        if found is not None:
            return found[1]
        base = self._base
        if base is None or key in self._removed:
            return -1
        try:
            group_id, topic, partition = offset_key(key)
        except DecodeError:
            return -1  # it would be in `offsets`
        block = base.blocks.get(group_id)
        if block is None:
            return -1
        store = OffsetStore()
        store.adopt(base.data, {group_id: block.position}, block.offsets)
        committed = store.get(group_id, topic, partition)
        return -1 if committed is None else committed.log_offset

    # -- queries during replay -----------------------------------------------------------------------------------

    def records_of(self, key: bytes) -> Iterator[RawRecord]:
        """Yield the records that are, or may become, the committed offset of a state key: the committed one, and those
        of open transactions. Of a key of a KIP-848 group yield its record."""
        found = self.offsets.get(key) or self.consumer.get(key)
        if found is not None:
            yield found
        for transaction in self._open.values():
            if key in transaction:
                yield transaction[key]

    def pending_keys(self, producer_id: int) -> list[bytes]:
        """List the state keys of the offsets in a producer's open transaction."""
        return list(self._open.get(producer_id, ()))

    @property
    def open_transactions(self) -> dict[int, dict[bytes, RawRecord]]:
        """Producer id -> state key -> record, of open transactions; the caller must not change it."""
        return self._open

    def open_offsets(self) -> dict[tuple[int, bytes], RawRecord]:
        """Return the records of open transactions by producer id and state key."""
        return {
            (producer_id, key): raw
            for producer_id, transaction in self._open.items()
            for key, raw in transaction.items()
        }

    def beaten_groups(self) -> set[bytes]:
        """Return the state keys of records of classic groups that newer KIP-848 groups replace."""
        newest = newest_of_each_group(without_ended(self.consumer, self._ended))
        keys = {GROUP_KEY + name: log_offset for name, log_offset in newest.items()}
        return {key for key, log_offset in keys.items() if key in self.groups and self.groups[key][1] < log_offset}

    def living_consumer_groups(self) -> dict[bytes, RawRecord]:
        """Return the records of KIP-848 groups that neither ended nor were replaced by newer classic groups."""
        living = without_ended(self.consumer, self._ended)
        newest = newest_of_each_group(living)
        beaten = {
            name
            for name, log_offset in newest.items()
            if (classic := self.groups.get(GROUP_KEY + name)) is not None and classic[1] > log_offset
        }
        return {key: raw for key, raw in living.items() if raw_name(key) not in beaten} if beaten else living

    # -- the end -------------------------------------------------------------------------------------------------

    def let_go(self) -> None:
        """Free the records one by one, so that other threads run in between."""
        for records in (self.offsets, self.groups, self.consumer, self.live):
            while records:
                records.popitem()

    def settle(self) -> tuple[list[ReplayedGroup], OffsetStore]:
        """Return the classic groups, still raw (`quarantine.restore` decodes them), and the offsets of all groups.

        Fills `damaged`, `damaged_pending`, `live`, `apart` and `ignored`.
        """
        base = self._base
        self.damaged, self.damaged_pending = {}, {}
        store = OffsetStore()
        if base is None:
            packed = pack(self.offsets, self.groups, self._gone, PACKED_AT_MOST)
            self._blocks = packed.data
            store.adopt(packed.data, packed.positions, packed.count)
            names = dict.fromkeys(packed.names)
            unpacked: Iterable[bytes] = packed.left
        else:
            self._blocks = base.data
            positions = {block.group_id: block.position for block in base.blocks.values() if block.offsets}
            store.adopt(base.data, positions, sum(block.offsets for block in base.blocks.values()))
            for block in base.blocks.values():
                if block.offsets > PACKED_AT_MOST:
                    store.of_group(block.group_id)
            for key in self._removed:
                _remove(store, key)
            names = {}
            unpacked = self.offsets
        self._put_offsets(unpacked, store, names)
        for producer_id, transaction in self._open.items():
            for key, (value, log_offset) in transaction.items():
                names[raw_name(key)] = None
                try:
                    group_id, topic, partition = offset_key(key)
                    committed = committed_offset(value, log_offset)
                except DecodeError as error:
                    self.damaged_pending[key] = (str(error), log_offset)
                    continue
                store.put_pending(producer_id, group_id, topic, partition, committed)
        return self._without_consumer_groups(self._found(names, store)), store

    def _without_consumer_groups(self, found: list[ReplayedGroup]) -> list[ReplayedGroup]:
        """Take the KIP-848 groups out of `found`. Of two groups of one name the one with the newer record stays."""
        self.ignored = ended_records(self.consumer, self._ended)
        self.consumer = without_ended(self.consumer, self._ended)
        self.live, self.apart = self.consumer, []
        if not self.consumer:
            return found
        divided = divide(found, self.consumer)
        self.apart = divided.apart
        self.ignored += divided.ignored
        if divided.beaten:
            self.live = {key: raw for key, raw in self.consumer.items() if raw_name(key) not in divided.beaten}
        return divided.classic

    def _put_offsets(self, keys: Iterable[bytes], store: OffsetStore, names: dict[bytes, None]) -> None:
        """Decode the committed offsets of these keys into `store`, and add the raw names of their groups to `names`."""
        known: dict[bytes, tuple[str, str]] = {}  # a key without its partition -> group, topic
        texts: dict[str, str] = {}  # one string for each group however many topics it has
        for key in keys:
            value, log_offset = self.offsets[key]
            prefix = key[:-4]
            parts = known.get(prefix)
            if parts is None:
                names[raw_name(key)] = None
                try:
                    group_id, topic, partition = offset_key(key)
                except DecodeError as error:
                    self.damaged[key] = str(error)
                    continue
                group_id = texts.setdefault(group_id, group_id)
                if len(group_id.encode()) + len(topic.encode()) + 10 == len(key):
                    known[prefix] = (group_id, topic)
            else:
                group_id, topic = parts
                partition = _PARTITION.unpack_from(key, len(key) - 4)[0]
            try:
                committed = committed_offset(value, log_offset)
            except DecodeError as error:
                self.damaged[key] = str(error)
                store.remove(group_id, topic, partition)  # an older value, of the base
                continue
            store.put(group_id, topic, partition, committed)

    def _found(self, names: dict[bytes, None], store: OffsetStore) -> list[ReplayedGroup]:
        """Return every group. `names` are raw names of some groups that have offsets."""
        base, gone = self._base, self._gone
        found: list[ReplayedGroup] = []
        left = {name: None for name in (*self._seen, *names) if readable(name) is not None}
        if base is not None:
            changed = {text_of(name) for name in gone} | {text_of(key[2:]) for key in self.groups}
            data = base.data
            for block in base.blocks.values():
                if block.group_id in changed:
                    left.setdefault(raw_text(block.group_id))
                elif block.record_offset < 0:
                    found.append(ReplayedGroup(block.group_id, None, -1, block.position))
                else:
                    value = data[block.value_at : block.value_at + block.value_size]
                    found.append(ReplayedGroup(block.group_id, value, block.record_offset, block.position))
            if left:
                made = base.blocks.keys() - changed
                left = {name: None for name in left if text_of(name) not in made}
        oldest = self._oldest_apart()
        for name in left:
            group_id = text_of(name)
            position = store.packed_block(group_id) if base is None else -1
            record = self.groups.get(GROUP_KEY + name)
            if record is not None:
                found.append(ReplayedGroup(group_id, record[0], record[1], position))
            elif name in self._seen:
                found.append(ReplayedGroup(group_id, None, -1, position))
            elif name in names or store.has(group_id):
                found.append(ReplayedGroup(group_id, None, self._outlived(name, group_id, store, oldest), position))
        return found

    def _outlived(self, name: bytes, group_id: str, store: OffsetStore, oldest: dict[bytes, int]) -> int:
        """Return the log offset of a group's deletion if an older offset is left, committed or pending; else -1."""
        gone_at = self._gone.get(name, -1)
        if gone_at < 0:
            return -1
        committed = (each.log_offset for found in store.peek(group_id).values() for each in found.values())
        return gone_at if oldest.get(name, gone_at) < gone_at or any(at < gone_at for at in committed) else -1

    def _oldest_apart(self) -> dict[bytes, int]:
        """Return the lowest log offset of the damaged and pending records of each group, by its raw name."""
        oldest: dict[bytes, int] = {}
        pending = ((key, at) for opened in self._open.values() for key, (_, at) in opened.items())
        for key, at in (*((key, self.offsets[key][1]) for key in self.damaged), *pending):
            name = raw_name(key)
            oldest[name] = min(at, oldest.get(name, at))
        return oldest

    def blocks(self, found: list[ReplayedGroup], store: OffsetStore) -> Iterator[bytes]:
        """Yield the blocks of a snapshot of what `settle` returned. Neither may have changed since."""
        data = self._blocks
        for group_id, value, record_offset, position in (*found, *self.apart):
            is_same = position >= 0 and (
                store.packed_block(group_id) == position if store.has(group_id) else not count_of(data, position)
            )
            if is_same:
                yield data[position : position + size_of(data, position)]
            else:
                yield encode_block(group_id, value, record_offset, store.peek(group_id))


def _remove(store: OffsetStore, key: bytes) -> None:
    """Remove the offset of a state key from a base, which has none for a key that cannot be decoded."""
    with suppress(DecodeError):
        store.remove(*offset_key(key))
