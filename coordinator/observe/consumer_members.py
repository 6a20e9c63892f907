"""The members of a KIP-848 group, as three kinds of records hold each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Final

from coordinator.core.events.model import ClientInfo, shortened
from coordinator.observe.moves import Partitions, count_of, key_of_member
from protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    CurrentPartitions,
)

AWAY: Final = -2  # the epoch of a static member that closed and may come back
NO_PARTITIONS: Final[Partitions] = MappingProxyType({})


class MemberState(IntEnum):
    """States of a member in its current assignment, by Kafka's numbers."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1  # it must give up partitions
    UNRELEASED_PARTITIONS = 2  # it waits for partitions that others have not given up
    UNKNOWN = 127


STATES: Final[Mapping[int, MemberState]] = {state.value: state for state in MemberState}


@dataclass(slots=True)
class ObservedConsumerMember:
    """A member: what its client said, and what it owns now."""

    client: ClientInfo
    is_described: bool = False
    topics: frozenset[str] = frozenset()
    regex: str = ""
    rebalance_timeout_ms: int = 0
    session_timeout_ms: int = 0  # of a member of the classic protocol; 0: that of the coordinator
    assignor: str = ""
    epoch: int = 0
    state: MemberState = MemberState.STABLE
    state_since_ms: int = -1
    assigned: Partitions = field(default_factory=lambda: NO_PARTITIONS)
    revoking: Partitions = field(default_factory=lambda: NO_PARTITIONS)
    heard_ms: int = -1  # the last record that a heartbeat of it caused

    @property
    def key(self) -> str:
        return key_of_member(self.client)

    @property
    def owned(self) -> Partitions:
        """The partitions that no other member can get: the assigned ones, and those that it must still give up."""
        if not self.revoking:
            return self.assigned
        topics = {*self.assigned, *self.revoking}
        return {topic: (*self.assigned.get(topic, ()), *self.revoking.get(topic, ())) for topic in sorted(topics)}

    @property
    def revoking_count(self) -> int:
        return count_of(self.revoking)

    def has_reached(self, epoch: int) -> bool:
        """Return whether it has taken up the assignment of an epoch."""
        return self.state is MemberState.STABLE and self.epoch == epoch

    def describe(self, member_id: str, value: ConsumerGroupMemberMetadataValue) -> bool:
        """Take what the client said; return whether it subscribes to something else than before."""
        self.client = ClientInfo(
            shortened(member_id),
            shortened(value.instance_id or ""),
            shortened(value.client_id),
            value.client_host.lstrip("/"),
        )
        self.is_described = True
        before = self.topics, self.regex
        self.topics = frozenset(value.subscribed_topic_names)
        self.regex = value.subscribed_topic_regex or ""
        self.rebalance_timeout_ms = max(value.rebalance_timeout_ms, 0)
        self.assignor = value.server_assignor or ""
        classic = value.classic_member_metadata
        self.session_timeout_ms = classic.session_timeout_ms if classic is not None else 0
        return before != (self.topics, self.regex)

    def own(self, at_ms: int, value: ConsumerGroupCurrentMemberAssignmentValue) -> None:
        """Take its current assignment."""
        state = STATES.get(value.state, MemberState.UNKNOWN)
        if state is not self.state or value.member_epoch != self.epoch:
            self.state_since_ms = at_ms
        self.state, self.epoch = state, value.member_epoch
        self.assigned = by_topic(value.assigned_partitions)
        self.revoking = by_topic(value.partitions_pending_revocation)


def by_topic(found: Iterable[CurrentPartitions]) -> Partitions:
    """Return partitions by topic id in hexadecimal."""
    return {each.topic_id.hex(): tuple(sorted(each.partitions)) for each in found if each.partitions}
