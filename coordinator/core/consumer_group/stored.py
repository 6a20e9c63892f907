"""KIP-848 groups as their records say, decoded: what a start finds of them in the log.

The newest record of each key decides, in whatever order the records stand. So a group that the log has lost parts of is
what the rest says: a record of any kind makes a group, with the epoch of a new one if that record is missing. A value
that cannot be decoded is damaged, and so is its group. Source: Kafka's `GroupMetadataManager.replay`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from coordinator.core.consumer_group.record_places import RecordPlaces, place_of
from protocol.errors import DecodeError
from protocol.group_records import RecordKey, Value, decode_record_key, decode_record_value
from protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
)

RawRecord = tuple[bytes, int]  # value, log offset; as in `core.offsets.raw_records`


class StoredMember(NamedTuple):
    """One member. Either part may be missing in a damaged log."""

    metadata: ConsumerGroupMemberMetadataValue | None = None
    current: ConsumerGroupCurrentMemberAssignmentValue | None = None


_NO_MEMBER = StoredMember()


@dataclass(slots=True)
class StoredGroup:
    """One group. A field has its default if its record is missing."""

    group_id: str
    epoch: int = 1
    metadata_hash: int = 0
    has_old_topics: bool = False  # the record of its topics is there, which Kafka wrote before 4.1
    assignment_epoch: int = 1
    members: dict[str, StoredMember] = field(default_factory=dict)
    targets: dict[str, ConsumerGroupTargetAssignmentMemberValue] = field(default_factory=dict)  # by member id
    regexes: dict[str, ConsumerGroupRegularExpressionValue] = field(default_factory=dict)
    record_offset: int = -1  # log offset of its newest record
    places: RecordPlaces = field(default_factory=dict, compare=False)  # of all its records


class DamagedValue(NamedTuple):
    """A record of a group whose value cannot be decoded."""

    key: bytes
    group_id: str
    log_offset: int
    reason: str


def stored_groups(consumer: Mapping[bytes, RawRecord]) -> tuple[list[StoredGroup], list[DamagedValue]]:
    """Return the groups of these records, and the damaged records, whose groups are left out.

    `consumer` has the newest record of each key; each key can be decoded.
    """
    groups: dict[str, StoredGroup] = {}
    damaged: list[DamagedValue] = []
    for raw_key, (raw_value, log_offset) in sorted(consumer.items(), key=_log_offset):
        key = decode_record_key(raw_key)
        assert key is not None, "its kind was known when it was read"
        group = groups.get(key.group)
        if group is None:
            group = groups[key.group] = StoredGroup(key.group)
        group.record_offset = log_offset
        group.places[raw_key] = place_of(raw_value, log_offset)
        try:
            value = decode_record_value(key.kind, raw_value)
        except DecodeError as error:
            damaged.append(DamagedValue(raw_key, key.group, log_offset, str(error)))
        else:
            _apply(group, key, value)
    return _without(groups, damaged), damaged


def _log_offset(item: tuple[bytes, RawRecord]) -> int:
    return item[1][1]


def _without(groups: dict[str, StoredGroup], damaged: Iterable[DamagedValue]) -> list[StoredGroup]:
    for each in damaged:
        groups.pop(each.group_id, None)
    return list(groups.values())


def _apply(group: StoredGroup, key: RecordKey, value: Value) -> None:
    if isinstance(value, ConsumerGroupMetadataValue):
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash
    elif isinstance(value, ConsumerGroupPartitionMetadataValue):
        group.has_old_topics = True
    elif isinstance(value, ConsumerGroupMemberMetadataValue):
        group.members[key.second] = group.members.get(key.second, _NO_MEMBER)._replace(metadata=value)
    elif isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
        group.assignment_epoch = value.assignment_epoch
    elif isinstance(value, ConsumerGroupTargetAssignmentMemberValue):
        group.targets[key.second] = value
    elif isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
        group.members[key.second] = group.members.get(key.second, _NO_MEMBER)._replace(current=value)
    elif isinstance(value, ConsumerGroupRegularExpressionValue):
        group.regexes[key.second] = value
