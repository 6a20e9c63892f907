"""The tables of changes: `rebalances`, `members` and `moves`, as rows made from the changes of groups.

A change of a group is one row of `rebalances`, a row of `members` for each member before or after it, and a row of
`moves` for each partition with another owner. Rows of one change have the same `log_offset`, that of its record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from coordinator.history.commits import TopicPartition
from coordinator.history.layout import MEMBERS_DIR, MOVES_DIR, REBALANCES_DIR
from coordinator.history.rebalances import GenerationMember, GroupChange, GroupRecord

_COMMON: Final = (
    pa.field("log_offset", pa.int64()),
    pa.field("timestamp_ms", pa.int64()),
    pa.field("group", pa.string()),
)
REBALANCES: Final = pa.schema(
    [
        *_COMMON,
        pa.field("type", pa.string()),  # classic, consumer or share
        pa.field("what", pa.string()),  # a `rebalances.Kind`
        pa.field("generation", pa.int32()),  # of a KIP-848 or a share group its epoch
        pa.field("protocol", pa.string()),  # the assignor
        pa.field("members", pa.int32()),
        pa.field("came", pa.int32()),
        pa.field("went", pa.int32()),
        pa.field("restarted", pa.int32()),  # static members with a new member id
        pa.field("partitions", pa.int32()),  # assigned after it
        pa.field("moved", pa.int32()),  # partitions with another owner
    ]
)
MEMBERS: Final = pa.schema(
    [
        *_COMMON,
        pa.field("generation", pa.int32()),
        pa.field("change", pa.string()),  # came, stayed, restarted or went
        pa.field("member_id", pa.string()),
        pa.field("group_instance_id", pa.string()),
        pa.field("client_id", pa.string()),
        pa.field("client_host", pa.string()),
        pa.field("partitions", pa.int32()),  # null: its assignment is in an unknown format
    ]
)
MOVES: Final = pa.schema(
    [
        *_COMMON,
        pa.field("generation", pa.int32()),
        pa.field("topic", pa.string()),
        pa.field("partition", pa.int32()),
        pa.field("from_member_id", pa.string()),  # null: it had no owner
        pa.field("from_client_id", pa.string()),
        pa.field("to_member_id", pa.string()),  # null: it has none
        pa.field("to_client_id", pa.string()),
    ]
)
CHANGE_SCHEMAS: Final = {REBALANCES_DIR: REBALANCES, MEMBERS_DIR: MEMBERS, MOVES_DIR: MOVES}
# The columns that name a row of a table; of the tables that are not listed, the log offset does.
ROW_NAMES: Final = {MEMBERS_DIR: ("member_id",), MOVES_DIR: ("topic", "partition")}

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Change:
    """A change with its members by identity, before and after."""

    change: GroupChange
    old: dict[str, GenerationMember]
    new: dict[str, GenerationMember]
    common: Row

    def rebalance(self) -> Row:
        record = self.change.record
        return self.common | {
            "type": record.type.value,
            "what": self.change.kind.value,
            "protocol": record.protocol,
            "members": len(self.new),
            "came": len(self.change.came),
            "went": len(self.change.went),
            "restarted": len(self.change.restarted),
            "partitions": sum(len(each.partitions or ()) for each in record.members),
            "moved": len(self.change.moved),
        }

    def members(self) -> Iterator[Row]:
        for identity, member in self.new.items():
            before = self.old.get(identity)
            change = "came" if before is None else "stayed" if before.member_id == member.member_id else "restarted"
            yield self._member(member, change, None if member.partitions is None else len(member.partitions))
        for identity, member in self.old.items():
            if identity not in self.new:
                yield self._member(member, "went", 0)

    def _member(self, member: GenerationMember, change: str, partitions: int | None) -> Row:
        return self.common | {
            "change": change,
            "member_id": member.member_id,
            "group_instance_id": member.group_instance_id,
            "client_id": member.client_id,
            "client_host": member.client_host.lstrip("/"),
            "partitions": partitions,
        }

    def moves(self) -> Iterator[Row]:
        if not self.change.moved:
            return
        source, target = _owners(self.old), _owners(self.new)
        for move in self.change.moved:
            before, after = (owners.get((move.topic, move.partition)) for owners in (source, target))
            yield self.common | {
                "topic": move.topic,
                "partition": move.partition,
                "from_member_id": None if before is None else before.member_id,
                "from_client_id": None if before is None else before.client_id,
                "to_member_id": None if after is None else after.member_id,
                "to_client_id": None if after is None else after.client_id,
            }


def change_tables(found: Iterable[tuple[str, GroupChange]]) -> dict[str, pa.Table]:
    """Return the rows of changes, each with the name of its group, by the names of the tables."""
    rows: dict[str, list[Row]] = {name: [] for name in CHANGE_SCHEMAS}
    for group, change in found:
        record = change.record
        common = {"log_offset": record.log_offset, "timestamp_ms": record.timestamp_ms, "group": group}
        common["generation"] = None if record.is_tombstone else record.generation
        each = _Change(change, _by_identity(change.before), _by_identity(record), common)
        rows[REBALANCES_DIR].append(each.rebalance())
        rows[MEMBERS_DIR] += each.members()
        rows[MOVES_DIR] += each.moves()
    return {name: pa.Table.from_pylist(rows[name], schema) for name, schema in CHANGE_SCHEMAS.items()}


def _by_identity(record: GroupRecord | None) -> dict[str, GenerationMember]:
    return {} if record is None else {member.identity: member for member in record.members}


def _owners(members: dict[str, GenerationMember]) -> dict[TopicPartition, GenerationMember]:
    return {partition: member for member in members.values() for partition in member.partitions or ()}
