"""The states of KIP-848 and share groups, from their records: one after each batch that has some, as `GroupRecord`s.

The records of one event are in one batch, perhaps with those of more events. The newest record of each key decides, as
at a start of the coordinator (`coordinator.core.consumer_group.stored`); a record of any kind makes a group. A member
owns what it is assigned and what it has not given up yet, because no other member can have that. Of a log that was
compacted before it was read, the states before the compaction have only what is left of them.

A share group has the same records with less in them: a member has its target as soon as it hears of it, and partitions
may have several owners. A group may change its protocol. The tombstones of one protocol are then in the batch of the
other one, and are no deletion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from coordinator.columnar.consumer_columns import SHARE
from coordinator.history.commits import TopicPartition
from coordinator.history.rebalances import GenerationMember, GroupRecord, GroupType

FIRST_EPOCH: Final = 1  # of a group and of a target without a record
Row = dict[str, Any]


class _Group:
    """The newest row of each key."""

    def __init__(self) -> None:
        self.epoch = self.assignment_epoch = FIRST_EPOCH
        self.members: dict[str, Row] = {}
        self.targets: dict[str, Row] = {}
        self.current: dict[str, Row] = {}

    def apply(self, row: Row) -> None:
        kind = row["kind"].removeprefix(SHARE)
        if kind in ("group", "target_epoch"):
            epoch = FIRST_EPOCH if row["tombstone"] else row["epoch"]
            if kind == "group":
                self.epoch = epoch
            else:
                self.assignment_epoch = epoch
        elif (values := getattr(self, _OF_MEMBERS.get(kind, ""), None)) is not None:
            if row["tombstone"]:
                values.pop(row["name"], None)
            else:
                values[row["name"]] = row

    def state(self, group_type: GroupType) -> str:
        member_ids = self.members.keys() | self.current.keys()
        if not member_ids:
            return "Empty"
        if group_type is GroupType.SHARE:
            return "Stable"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        places = (self.current.get(each, {}) for each in member_ids)
        done = all(each.get("state") == "stable" and each["epoch"] == self.assignment_epoch for each in places)
        return "Stable" if done else "Reconciling"

    def record(self, last: Row, names: Mapping[str, str]) -> GroupRecord:
        members = [self._member(each, names) for each in sorted(self.members.keys() | self.current.keys())]
        votes = [row["assignor"] for row in self.members.values() if row["assignor"]]
        group_type = GroupType.SHARE if last["kind"].startswith(SHARE) else GroupType.CONSUMER
        return GroupRecord(
            last["log_offset"],
            last["timestamp_ms"],
            is_tombstone=False,
            generation=self.epoch,
            protocol_type=group_type.value,
            protocol=max(sorted(votes), key=votes.count, default=None),
            members=tuple(members),
            type=group_type,
            state=self.state(group_type),
        )

    def _member(self, member_id: str, names: Mapping[str, str]) -> GenerationMember:
        member, current = self.members.get(member_id, {}), self.current.get(member_id, {})
        target = self.targets.get(member_id)
        return GenerationMember(
            member_id,
            member.get("group_instance_id"),
            member.get("client_id") or "",
            member.get("client_host") or "",
            _partitions((*(current.get("assignment") or ()), *(current.get("pending") or ())), names),
            target=None if target is None else _partitions(target["assignment"] or (), names),
            epoch=current.get("epoch"),
            is_classic=member.get("protocol") == "classic",
        )


_OF_MEMBERS: Final = {"member": "members", "target": "targets", "current": "current"}
_OF_STATE: Final = ("group", "target_epoch", *_OF_MEMBERS)
KINDS_OF_STATE: Final = (*_OF_STATE, *(SHARE + kind for kind in _OF_STATE))  # the kinds of rows that a state is made of
KINDS_OF_GROUP: Final = ("group", SHARE + "group")  # the kinds of rows whose tombstone deletes a group


def _partitions(parts: Iterable[Row], names: Mapping[str, str]) -> tuple[TopicPartition, ...]:
    return tuple(
        sorted(
            (names.get(each["topic_id"], each["topic_id"]), number) for each in parts for number in each["partitions"]
        )
    )


def _states(table: pa.Table, names: Mapping[str, str]) -> Iterator[tuple[int, GroupRecord]]:
    """Yield the state after each batch, with the base offset of that."""
    group = _Group()
    for batch_offset, some in groupby(table.to_pylist(), itemgetter("batch_offset")):
        rows = list(some)
        for row in rows:
            group.apply(row)
        last = rows[-1]
        if any(row["kind"] in KINDS_OF_GROUP and row["tombstone"] for row in rows):
            group = _Group()
            yield batch_offset, GroupRecord(last["log_offset"], last["timestamp_ms"], is_tombstone=True)
        else:
            yield batch_offset, group.record(last, names)


def merged(classic: Sequence[GroupRecord], table: pa.Table, names: Mapping[str, str]) -> list[GroupRecord]:
    """Return the states of a group under both protocols, in log order, from its classic ones and its other rows.

    `names` are those of topics, by the texts of their ids.
    """
    states = list(_states(table, names))
    if not states:
        return list(classic)
    upgraded: set[int] = set()  # log offsets of tombstones of the classic protocol that are no deletion
    written = {record.log_offset for record in classic if not record.is_tombstone}
    deleted = [record.log_offset for record in classic if record.is_tombstone]
    kept = []
    for batch_offset, record in states:
        if record.is_tombstone and record.log_offset + 1 in written:
            continue  # a downgrade
        upgraded.update(
            each for each in deleted if batch_offset <= each < record.log_offset and not record.is_tombstone
        )
        kept.append(record)
    return sorted(
        [*(record for record in classic if record.log_offset not in upgraded), *kept],
        key=lambda record: record.log_offset,
    )
