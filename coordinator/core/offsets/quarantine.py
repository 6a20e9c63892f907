"""Quarantine: groups of which a record cannot be decoded or applied are set aside, and all others are served.

A quarantined group is not in memory. Its requests are refused with QUARANTINE_ERROR, since its committed offsets may
not be the newest: an answer without them would move its consumers. Its records stay in the log, in snapshots and
through compactions as they are. It ends when a start finds sound records (after `coordinator log repair`), or when an
administrator deletes the group (`delete_quarantined`).

A record whose key names no group is set aside alone: no client can ask for what it holds. docs/quarantine.md explains
the choices.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from coordinator.core.consumer_group.restore import restored
from coordinator.core.consumer_group.stored import StoredGroup, stored_groups
from coordinator.core.context import InvariantError
from coordinator.core.group.group import Group
from coordinator.core.group.records import load_group
from coordinator.core.offsets.consumer_records import in_deletion_order
from coordinator.core.offsets.raw_records import raw_name, raw_text, readable
from protocol.error_codes import ErrorCode
from protocol.errors import DecodeError
from protocol.offsets_records import decode_group_value

if TYPE_CHECKING:
    from coordinator.core.consumer_group.group import ConsumerGroup
    from coordinator.core.offsets.replay import Replay, ReplayedGroup
    from coordinator.core.shard import Shard

# Clients report it to the application and do not retry. NOT_COORDINATOR, which they retry for ever, would hide the
# fault; any answer about offsets would let `auto.offset.reset` decide.
QUARANTINE_ERROR: Final = ErrorCode.UNKNOWN_SERVER_ERROR


class DamagedRecord(NamedTuple):
    """A record that cannot be decoded or applied."""

    group_id: str | None  # None: its key names no group
    log_offset: int
    reason: str


@dataclass(slots=True)
class QuarantinedGroup:
    """A group that is not served."""

    group_id: str
    reason: str  # of its first damaged record
    log_offset: int  # of that record
    record_offset: int  # of the group's newest record; -1: it has none
    keys: list[bytes]  # state keys of its damaged offsets, committed and pending, and of its KIP-848 records
    records: int  # damaged records

    @property
    def message(self) -> str:
        """Sentence for an administrator."""
        reason = self.reason.strip().rpartition("\n")[2]
        return (
            f"the group is quarantined, because its record at log offset {self.log_offset} cannot be used ({reason}); "
            "stop the daemon and run `coordinator log repair`, or delete the group"
        )


@dataclass(slots=True)
class Quarantine:
    """The quarantined groups and records of a partition."""

    groups: dict[str, QuarantinedGroup]
    # State key of a damaged committed record -> its log offset; of those without a group, too, and of each record of a
    # quarantined KIP-848 group.
    offsets: dict[bytes, int]
    damaged: list[DamagedRecord]  # as loaded, for the log

    @classmethod
    def empty(cls) -> Quarantine:
        return cls({}, {}, [])

    @property
    def record_count(self) -> int:
        """Number of records that are set aside."""
        unnamed = sum(readable(raw_name(key)) is None for key in self.offsets)
        return unnamed + sum(group.records for group in self.groups.values())

    def release(self, group_id: str) -> None:
        """Forget a group whose tombstones are durable."""
        group = self.groups.pop(group_id, None)
        for key in group.keys if group is not None else ():
            self.offsets.pop(key, None)


class Restored(NamedTuple):
    """The groups that a replay leaves; the offsets are in its store."""

    groups: list[Group]
    quarantine: Quarantine
    stored: list[StoredGroup]
    consumer_groups: list[ConsumerGroup]


def restore(found: Iterable[ReplayedGroup], replay: Replay, shard: Shard, wall_ms: int) -> Restored:
    """Create the groups that `replay.settle` has returned. Those with damaged records are quarantined."""
    quarantine = Quarantine.empty()
    _collect(replay, quarantine)
    groups = []
    for group_id, value, record_offset, _ in found:
        if value is not None:
            group = _load(group_id, value, record_offset, shard, quarantine)
        else:
            group = Group(group_id, shard, wall_ms)
            group.is_recorded = True
        quarantined = quarantine.groups.get(group_id)
        if quarantined is not None:
            quarantined.record_offset = record_offset if value is not None else -1
        elif group is not None:
            groups.append(group)
    return Restored(groups, quarantine, *_consumer_groups(replay, shard, wall_ms, quarantine))


def _consumer_groups(
    replay: Replay, shard: Shard, wall_ms: int, quarantine: Quarantine
) -> tuple[list[StoredGroup], list[ConsumerGroup]]:
    """Create the KIP-848 groups, and complete the quarantine with their damaged records and with all their keys."""
    if not replay.consumer:
        return [], []
    stored, damaged = stored_groups(replay.live)
    for each in damaged:
        _add(quarantine, DamagedRecord(each.group_id, each.log_offset, each.reason), None)
    groups = []
    for one in stored:
        try:
            groups.append(restored(one, shard, wall_ms))
        except Exception as error:  # a defect that one group meets must not stop the others
            reason = "".join(traceback.format_exception(error))
            _add(quarantine, DamagedRecord(one.group_id, one.record_offset, reason), None)
    if not quarantine.groups:
        return stored, groups
    by_name: dict[bytes, QuarantinedGroup] = {raw_text(name): group for name, group in quarantine.groups.items()}
    keys: dict[bytes, list[bytes]] = {}
    for key, (_, log_offset) in replay.consumer.items():
        name = raw_name(key)
        if name in by_name:
            keys.setdefault(name, []).append(key)
            quarantine.offsets[key] = log_offset
    for name, of_group in keys.items():
        by_name[name].keys += in_deletion_order(of_group)
    served = {one.group_id for one in stored} - quarantine.groups.keys()
    return [one for one in stored if one.group_id in served], [one for one in groups if one.group_id in served]


def _load(group_id: str, value: bytes, record_offset: int, shard: Shard, quarantine: Quarantine) -> Group | None:
    """Create a group from its record; None if it is quarantined for that record."""
    try:
        return load_group(group_id, decode_group_value(value), record_offset, shard)
    except (DecodeError, InvariantError) as error:
        reason = str(error)
    except Exception as error:  # a defect that one group meets must not stop the others
        reason = "".join(traceback.format_exception(error))
    _add(quarantine, DamagedRecord(group_id, record_offset, reason), None)
    return None


def _collect(replay: Replay, quarantine: Quarantine) -> None:
    """Add the damaged offsets to the quarantine."""
    for key, reason in replay.damaged.items():
        log_offset = replay.offsets[key][1]
        quarantine.offsets[key] = log_offset
        _add(quarantine, DamagedRecord(readable(raw_name(key)), log_offset, reason), key)
    for key, (reason, log_offset) in replay.damaged_pending.items():
        _add(quarantine, DamagedRecord(readable(raw_name(key)), log_offset, reason), key)


def _add(quarantine: Quarantine, record: DamagedRecord, key: bytes | None) -> None:
    quarantine.damaged.append(record)
    group_id = record.group_id
    if group_id is None:
        return
    group = quarantine.groups.get(group_id)
    if group is None:
        group = QuarantinedGroup(group_id, record.reason, record.log_offset, -1, [], 0)
        quarantine.groups[group_id] = group
    group.records += 1
    if key is not None:
        group.keys.append(key)
