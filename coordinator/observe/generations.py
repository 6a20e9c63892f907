"""Generations of a classic group, as its records hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from coordinator.core.events.model import NOBODY, ClientInfo, shortened
from coordinator.observe.moves import Owners, Partitions, key_of_member, owners_of
from protocol.consumer import decode_assignment, subscribed_topics
from protocol.errors import DecodeError
from protocol.offsets_records import GroupValue, MemberValue

CONSUMER: Final = "consumer"
COOPERATIVE: Final = "cooperative"  # in the names of assignors that take partitions away in a rebalance of its own
NO_PARTITIONS: Final[Partitions] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SeenMember:
    """A member of a generation."""

    client: ClientInfo
    session_timeout_ms: int
    rebalance_timeout_ms: int
    topics: frozenset[str]
    partitions: Partitions | None  # None: not known

    @property
    def key(self) -> str:
        return key_of_member(self.client)


@dataclass(frozen=True, slots=True)
class SeenGeneration:
    """One record of a group."""

    at_ms: int
    since_ms: int  # of its state; -1: not known
    number: int
    protocol_type: str
    protocol: str
    leader_id: str
    members: Mapping[str, SeenMember]  # by member id

    @property
    def leader(self) -> ClientInfo:
        found = self.members.get(self.leader_id)
        return found.client if found is not None else NOBODY

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of the members."""
        return max((each.rebalance_timeout_ms for each in self.members.values()), default=0)

    @property
    def owners(self) -> Owners:
        return owners_of((each.key, each.partitions or NO_PARTITIONS) for each in self.members.values())

    @property
    def has_known_owners(self) -> bool:
        return all(each.partitions is not None for each in self.members.values())

    @property
    def is_cooperative(self) -> bool:
        return COOPERATIVE in self.protocol


def generation_of(at_ms: int, value: GroupValue) -> SeenGeneration:
    """Return the generation in a record. A subscription or assignment that cannot be read is left out."""
    is_consumer = value.protocol_type == CONSUMER
    return SeenGeneration(
        at_ms=at_ms,
        since_ms=value.current_state_timestamp_ms,
        number=value.generation,
        protocol_type=value.protocol_type,
        protocol=shortened(value.protocol or ""),
        leader_id=value.leader or "",
        members={each.member_id: _member(each, is_consumer=is_consumer) for each in value.members},
    )


def _member(value: MemberValue, *, is_consumer: bool) -> SeenMember:
    return SeenMember(
        client=ClientInfo(
            shortened(value.member_id),
            shortened(value.group_instance_id or ""),
            shortened(value.client_id),
            value.client_host.lstrip("/"),
        ),
        session_timeout_ms=value.session_timeout_ms,
        rebalance_timeout_ms=value.rebalance_timeout_ms
        if value.rebalance_timeout_ms >= 0
        else value.session_timeout_ms,
        topics=_topics(value.subscription) if is_consumer else frozenset(),
        partitions=_assignment(value.assignment) if is_consumer else None,
    )


def _topics(data: bytes) -> frozenset[str]:
    try:
        return frozenset(subscribed_topics(data))
    except DecodeError:
        return frozenset()


def _assignment(data: bytes) -> Partitions | None:
    try:
        found = decode_assignment(data)
    except DecodeError:
        return None
    return {each.topic: tuple(sorted(each.partitions)) for each in found.assigned_partitions}
