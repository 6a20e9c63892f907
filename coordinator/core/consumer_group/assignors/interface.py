"""The interface of an assignor: members and topics in, the target assignment of each member out.

An assignor is given one `GroupSpec` and returns an assignment for each member; a member that is not in the result gets
nothing. `steps` is a generator, so that a large group is assigned in slices with other events between them: it yields
after a bounded number of partitions or members, None or the milliseconds until the next step.
Source: Kafka's `ConsumerGroupPartitionAssignor`, `GroupSpec`, `MemberSubscription`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import NamedTuple, Protocol, TypeAlias

from coordinator.core.consumer_group.assignors.assignment import Assignment

TargetAssignments: TypeAlias = Mapping[str, Assignment]  # member id -> the partitions that it shall own
AssignmentSteps: TypeAlias = Generator[int | None, None, TargetAssignments]


class MemberSpec(NamedTuple):
    """A member, as an assignor sees it."""

    instance_id: str | None
    rack_id: str | None
    topic_ids: frozenset[bytes]  # the topics that it subscribes to and that exist
    target: Assignment  # its present target assignment; may hold topics that are gone or no longer subscribed to


class GroupSpec(NamedTuple):
    """The input of an assignor."""

    members: Mapping[str, MemberSpec]  # by member id
    topics: Mapping[bytes, int]  # the number of partitions of each topic that a member subscribes to, by topic id
    is_homogeneous: bool  # True if all members subscribe to the same topics


class ConsumerGroupPartitionAssignor(Protocol):
    """Assigns the partitions of a group."""

    @property
    def name(self) -> str:
        """The name that members ask for with ServerAssignor, and that group.consumer.assignors lists."""

    @property
    def is_offloaded(self) -> bool:
        """Return whether the result is computed elsewhere, and `steps` only waits for it."""

    def steps(self, spec: GroupSpec) -> AssignmentSteps:
        """Compute the target assignment in steps, and return it."""
