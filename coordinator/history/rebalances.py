"""What happened to a group's membership, told from its records alone: who came, who went, what moved.

Kafka writes a group's record when it is made, when a generation's assignments are stored, when a static member is
replaced, when the group becomes empty, and a tombstone when it is deleted. Each record holds the result; two of them
next to each other tell the change. How long a rebalance took and why it began is not in the log: the daemon's own log
has that.

A member is the same one as long as its group instance id is, or its member id if it has none. A partition moved when
another member owns it than in the record before; what nobody owned, or owns now, moves from or to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from coordinator.history.commits import TopicPartition


@dataclass(frozen=True, slots=True)
class GenerationMember:
    """A member of a generation."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    partitions: tuple[TopicPartition, ...] | None  # None: the assignment has a form that is not known here

    @property
    def identity(self) -> str:
        return f"instance {self.group_instance_id}" if self.group_instance_id is not None else self.member_id


@dataclass(frozen=True, slots=True)
class GroupRecord:
    """A group as one record has it; of a tombstone only the first fields mean anything."""

    log_offset: int
    timestamp_ms: int
    is_tombstone: bool
    generation: int = 0
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str | None = None
    members: tuple[GenerationMember, ...] = ()


class Kind(Enum):
    """What a change was; the value is for people."""

    CREATED = "created"
    REBALANCED = "rebalanced"
    STATIC_MEMBER_REPLACED = "static member replaced"  # within its generation: nothing moved
    EMPTY = "empty"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Move:
    """A partition with a new owner, by name (see `names`); None is nobody."""

    topic: str
    partition: int
    source: str | None
    target: str | None


@dataclass(frozen=True, slots=True)
class GroupChange:
    """One step in the life of a group."""

    kind: Kind
    record: GroupRecord
    names: dict[str, str]  # of the members now, by identity
    came: tuple[str, ...]  # names
    went: tuple[str, ...]
    restarted: tuple[str, ...]  # static members that are there with a new member id
    moved: tuple[Move, ...]


def changes(records: Sequence[GroupRecord]) -> list[GroupChange]:
    """The life of a group, from its records in log order. A record that repeats the one before it is no change."""
    found: list[GroupChange] = []
    before: GroupRecord | None = None
    for record in records:
        kind = _kind(before, record)
        if kind is not None:
            found.append(_change(kind, before, record))
            before = record
    return found


def _kind(before: GroupRecord | None, record: GroupRecord) -> Kind | None:
    existed = before is not None and not before.is_tombstone
    if record.is_tombstone:
        return Kind.DELETED if existed else None
    if before is not None and existed and record.generation == before.generation:
        if record.members == before.members:
            return None
        if record.members:
            return Kind.STATIC_MEMBER_REPLACED if before.members else Kind.REBALANCED
    if record.members:
        return Kind.REBALANCED
    return Kind.EMPTY if existed else Kind.CREATED


def _change(kind: Kind, before: GroupRecord | None, record: GroupRecord) -> GroupChange:
    old = {} if before is None else {member.identity: member for member in before.members}
    new = {member.identity: member for member in record.members}
    names = member_names(list(old.values()) + [each for key, each in new.items() if key not in old])
    return GroupChange(
        kind,
        record,
        {identity: names[identity] for identity in new},
        tuple(names[identity] for identity in new if identity not in old),
        tuple(names[identity] for identity in old if identity not in new),
        tuple(
            names[identity]
            for identity, member in new.items()
            if identity in old and old[identity].member_id != member.member_id
        ),
        _moves(old, new, names),
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
    """A short name for each identity: the instance id, or the client id, with as much more as tells them apart."""
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
