"""Changes of a group's membership, derived from its records: members that came and went, partitions that moved.

Kafka writes the record of a classic group when the group is created, when a generation's assignments are stored, when
a static member is replaced, when the group becomes empty, and a tombstone when it is deleted. Each record holds the new
state, and of a KIP-848 group each event gives one (`consumer_groups.py`). Two consecutive states give the change. The
cause and the duration of a rebalance are in its event, if that is known.

A member is identified by its group instance id, or by its member id if it has none. A partition moved if its owner
differs from that in the previous record; None stands for no owner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

from coordinator.core.events.model import Rebalance
from coordinator.history.commits import TopicPartition

MOST_APART_MS: Final = 60_000  # the record of a generation and the end of its rebalance


class GroupType(Enum):
    """Types of groups, as Kafka's tools name them. Those of the last two have epochs."""

    CLASSIC = "classic"
    CONSUMER = "consumer"  # KIP-848
    SHARE = "share"  # KIP-932: a partition may have several owners, and none of its moves is derived


@dataclass(frozen=True, slots=True)
class GenerationMember:
    """A member of a generation."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    partitions: tuple[TopicPartition, ...] | None  # None: the assignment is in an unknown format
    # The rest is of members of KIP-848 and share groups.
    target: tuple[TopicPartition, ...] | None = None
    epoch: int | None = None
    is_classic: bool = False  # its protocol

    @property
    def identity(self) -> str:
        return f"instance {self.group_instance_id}" if self.group_instance_id is not None else self.member_id


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """The state of a group in one record. Only the first three fields of a tombstone have a meaning."""

    log_offset: int
    timestamp_ms: int
    is_tombstone: bool
    generation: int = 0  # of a group with epochs its epoch
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: tuple[GenerationMember, ...] = ()
    type: GroupType = GroupType.CLASSIC
    state: str | None = None  # of a group with epochs, as Kafka names it


class Kind(Enum):
    """Kinds of changes; the values are shown to users."""

    CREATED = "created"
    REBALANCED = "rebalanced"
    STATIC_MEMBER_REPLACED = "static member replaced"  # within its generation, so no partition moved
    RECONCILED = "reconciled"  # members of a group with epochs gave up or took over partitions, within its epoch
    EMPTY = "empty"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Move:
    """A partition with a new owner, by name (see `GroupChange.names`); None: no owner."""

    topic: str
    partition: int
    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True)
class GroupChange:
    """One change of a group."""

    kind: Kind
    before: GroupRecord | None  # the state before; None: not known, or no group
    record: GroupRecord  # the state after
    names: dict[str, str]  # of the members after the change, by identity
    came: tuple[str, ...]  # names
    went: tuple[str, ...]
    restarted: tuple[str, ...]  # static members with a new member id
    moved: tuple[Move, ...]


def changes(records: Sequence[GroupRecord]) -> list[GroupChange]:
    """Return the changes of a group, from its records in log order. A record that repeats the previous one is none."""
    found: list[GroupChange] = []
    before: GroupRecord | None = None
    for record in records:
        kind = _kind(before, record)
        if kind is not None:
            found.append(_change(kind, before, record))
            before = record
    return found


def reasons(found: Sequence[GroupChange], events: Sequence[Rebalance]) -> list[Rebalance | None]:
    """Return for each change the rebalance that led to it; None if that is not known.

    Its generation is that of the change, and it ended about when the record was written: a group that is deleted and
    created again has the same generations again.
    """
    by_generation: dict[int, list[Rebalance]] = {}
    for event in events:
        if event.generation > event.previous_generation:
            by_generation.setdefault(event.generation, []).append(event)

    def reason(change: GroupChange) -> Rebalance | None:
        def apart_ms(event: Rebalance) -> int:
            return abs(event.at_ms + event.took_ms - change.record.timestamp_ms)

        same = by_generation.get(change.record.generation, ()) if change.kind in (Kind.REBALANCED, Kind.EMPTY) else ()
        nearest = min(same, key=apart_ms, default=None)
        return nearest if nearest is not None and apart_ms(nearest) <= MOST_APART_MS else None

    return [reason(change) for change in found]


def _kind(before: GroupRecord | None, record: GroupRecord) -> Kind | None:
    existed = before is not None and not before.is_tombstone
    if record.is_tombstone:
        return Kind.DELETED if existed else None
    if before is not None and record.type is before.type is not GroupType.CLASSIC:
        return _epoch_kind(before, record)
    if before is not None and existed and record.generation == before.generation:
        if record.members == before.members:
            return None
        if record.members:
            return Kind.STATIC_MEMBER_REPLACED if before.members else Kind.REBALANCED
    if record.members:
        return Kind.REBALANCED
    return Kind.EMPTY if existed else Kind.CREATED


def _epoch_kind(before: GroupRecord, record: GroupRecord) -> Kind | None:
    """Return the kind of change from one state of a group with epochs to the next. A new target alone is none."""
    if not record.members:
        return Kind.EMPTY if before.members else None
    if record.generation != before.generation:
        return Kind.REBALANCED
    old, new = ({each.identity: (each.member_id, each.partitions) for each in one.members} for one in (before, record))
    if old == new:
        return None
    same = old.keys() == new.keys() and all(old[each][1] == new[each][1] for each in new)
    return Kind.STATIC_MEMBER_REPLACED if same else Kind.RECONCILED


def _change(kind: Kind, before: GroupRecord | None, record: GroupRecord) -> GroupChange:
    old = {} if before is None else {member.identity: member for member in before.members}
    new = {member.identity: member for member in record.members}
    names = member_names(list(old.values()) + [each for key, each in new.items() if key not in old])
    return GroupChange(
        kind,
        before,
        record,
        {identity: names[identity] for identity in new},
        tuple(names[identity] for identity in new if identity not in old),
        tuple(names[identity] for identity in old if identity not in new),
        tuple(
            names[identity]
            for identity, member in new.items()
            if identity in old and old[identity].member_id != member.member_id
        ),
        () if GroupType.SHARE in (record.type, before and before.type) else _moves(old, new, names),
    )


def _moves(
    old: dict[str, GenerationMember], new: dict[str, GenerationMember], names: dict[str, str]
) -> tuple[Move, ...]:
    source = _owners(old)
    target = _owners(new)
    return tuple(
        Move(*partition, _name(source.get(partition), names), _name(target.get(partition), names))
        for partition in sorted(source.keys() | target.keys())
        if source.get(partition) != target.get(partition)
    )


def _owners(members: dict[str, GenerationMember]) -> dict[TopicPartition, str]:
    return {partition: identity for identity, member in members.items() for partition in member.partitions or ()}


def _name(identity: str | None, names: dict[str, str]) -> str | None:
    return None if identity is None else names[identity]


def member_names(members: Sequence[GenerationMember]) -> dict[str, str]:
    """Return a short name for each identity: the instance id, or the client id with part of the member id if needed."""
    names: dict[str, str] = {}
    clients: dict[str, int] = {}
    for member in members:
        clients[member.client_id] = clients.get(member.client_id, 0) + 1
    for member in members:
        if member.group_instance_id is not None:
            names[member.identity] = member.group_instance_id
        elif clients[member.client_id] == 1 and member.client_id:
            names[member.identity] = member.client_id
        else:  # Kafka's member ids are the client id and a random UUID
            tail = member.member_id.removeprefix(f"{member.client_id}-")
            names[member.identity] = f"{member.client_id}-{tail[:8]}" if member.client_id else member.member_id
    return names
