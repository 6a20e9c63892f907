"""A KIP-848 group: its members, their targets, and what follows from them.

Members, targets and epochs are what the log holds. The counters beside them are kept by `put`, `remove` and the
setters, so that each question of a heartbeat is one lookup. `change.py` is the only caller of those: it also writes the
records and can undo everything. `holders` says which member has a partition, assigned or still to be given up; a
partition with two holders is a broken invariant. Source: Kafka's `ConsumerGroup` and `ModernGroup`.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple

from coordinator.core.any_group import AnyGroup
from coordinator.core.consumer_group.assignors.assignment import NOTHING_ASSIGNED, Assignment
from coordinator.core.consumer_group.member import STABLE, ConsumerMember
from coordinator.core.consumer_group.progress import ConsumerProgress
from coordinator.core.consumer_group.records import tombstone
from coordinator.core.context import InvariantError
from coordinator.core.group.group import CONSUMER, size_of
from protocol.error_codes import ErrorCode
from protocol.group_records import RecordKind

if TYPE_CHECKING:
    from coordinator.core.consumer_group.append import ConsumerGroupAppend
    from coordinator.core.consumer_group.held_heartbeat import HeldHeartbeat
    from coordinator.core.consumer_group.record_places import RecordPlaces
    from coordinator.core.consumer_group.session import MemberSession
    from coordinator.core.group.member import Protocols
    from coordinator.core.shard import Shard


class ConsumerGroupState(Enum):
    """State of a KIP-848 group. The value is its name on the wire."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class ResolvedRegex(NamedTuple):
    """The topics that match a regular expression."""

    topics: tuple[str, ...]  # sorted
    version: int  # of the topics, when they were looked at
    timestamp_ms: int


UNRESOLVED = ResolvedRegex((), -1, -1)


class ConsumerGroup(AnyGroup):
    """One group. Counters: names of topics, regular expressions, assignors, and stable members of each epoch."""

    __slots__ = (
        "assignment_epoch",
        "assignor_votes",
        "assigns_after_ms",
        "classic_count",
        "classic_protocols",
        "epoch",
        "has_old_topics",
        "held",
        "holders",
        "is_assigning",
        "is_deleted",
        "is_releasing",
        "last_append",
        "members",
        "metadata_bytes",
        "metadata_hash",
        "name_counts",
        "progress",
        "record_places",
        "regex_counts",
        "regex_topic_counts",
        "regexes",
        "resolving",
        "seen_topics_version",
        "sessions",
        "stable_at",
        "static_members",
        "targets",
        "totals",
        "was_homogeneous",
    )

    def __init__(self, group_id: str, shard: Shard, wall_ms: int) -> None:
        super().__init__(group_id, shard, wall_ms)
        # -- in the log --
        self.epoch = 1  # also without a record of it, as in Kafka from 4.2 on
        self.metadata_hash = 0
        self.has_old_topics = False  # an old record of kind 4 is in the log
        self.assignment_epoch = 1
        self.members: dict[str, ConsumerMember] = {}
        self.targets: dict[str, Assignment] = {}
        self.regexes: dict[str, ResolvedRegex] = {}
        self.record_places: RecordPlaces = {}  # of the durable records
        # -- derived --
        self.static_members: dict[str, str] = {}  # instance id -> member id
        self.holders: dict[bytes, dict[int, str]] = {}  # topic id -> partition -> member id
        self.name_counts: dict[str, int] = {}  # topic name -> members that subscribe to it by name
        self.regex_counts: dict[str, int] = {}
        self.regex_topic_counts: dict[str, int] = {}  # topic name -> resolved regular expressions that match it
        self.assignor_votes: dict[str, int] = {}
        self.classic_count = 0
        self.classic_protocols: dict[str, int] = {}  # protocol name -> members of the classic protocol that offer it
        self.metadata_bytes = 0  # of the protocols of those
        self.stable_at: dict[int, int] = {}  # member epoch -> members with state STABLE
        self.was_homogeneous = True  # `is_homogeneous` when a member was written or removed last
        # -- of this process --
        self.sessions: dict[str, MemberSession] = {}
        self.held: dict[str, HeldHeartbeat] = {}  # by member id
        self.is_releasing = False  # a step that looks for held heartbeats to be handled is queued
        self.seen_topics_version = -1  # of the topics, when the metadata hash was compared last
        self.is_assigning = False  # its target is being computed in slices, or elsewhere
        self.assigns_after_ms = -1  # monotonic: its assignor has failed, and is asked again then
        self.resolving = False  # the regular expressions are being resolved
        self.last_append: ConsumerGroupAppend | None = None  # the newest one, if it may be in flight
        self.progress = ConsumerProgress(wall_ms)  # for the flight recorder
        self.is_deleted = False  # or no longer coordinated by this node
        self.totals = shard.totals  # others while a thread loads it

    # -- questions -----------------------------------------------------------------------------------------------

    @property
    def state(self) -> ConsumerGroupState:
        """The state, which follows from epochs and members."""
        if self.is_deleted:
            return ConsumerGroupState.DEAD
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if self.stable_at.get(self.assignment_epoch, 0) < len(self.members):
            return ConsumerGroupState.RECONCILING
        return ConsumerGroupState.STABLE

    @property
    def is_dead(self) -> bool:
        return self.is_deleted

    @property
    def has_members(self) -> bool:
        return bool(self.members)

    def check_delete(self) -> ErrorCode:
        if self.is_deleted:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NON_EMPTY_GROUP if self.members else ErrorCode.NONE

    def check_offset_delete(self) -> ErrorCode:
        return ErrorCode.GROUP_ID_NOT_FOUND if self.is_deleted else ErrorCode.NONE

    def tombstones(self) -> tuple[tuple[bytes, bytes | None], ...]:
        """Return the tombstones of all records of the group, in Kafka's order."""
        group_id, members = self.group_id, self.members
        return (
            *[tombstone(RecordKind.CONSUMER_CURRENT, group_id, member_id) for member_id in members],
            *[tombstone(RecordKind.CONSUMER_TARGET, group_id, member_id) for member_id in members],
            tombstone(RecordKind.CONSUMER_TARGET_EPOCH, group_id),
            *[tombstone(RecordKind.CONSUMER_MEMBER, group_id, member_id) for member_id in members],
            *[tombstone(RecordKind.CONSUMER_REGEX, group_id, regex) for regex in self.regexes],
            *([tombstone(RecordKind.CONSUMER_TOPICS, group_id)] if self.has_old_topics else ()),
            tombstone(RecordKind.CONSUMER_GROUP, group_id),
        )

    def begin_deletion(self, wall_ms: int) -> None:
        self.is_deleted = True

    def end_deletion(self) -> None:
        self.is_deleted = False

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member reads `topic`."""
        return topic in self.name_counts or topic in self.regex_topic_counts

    def subscribed_names(self) -> set[str]:
        """Return the names of all topics that members subscribe to, whether they exist or not."""
        return {*self.name_counts, *self.regex_topic_counts}

    def topics_of_member(self, member: ConsumerMember) -> frozenset[str]:
        """Return the names of the topics of one member; those of its regular expression only once it is resolved."""
        resolved = self.regexes.get(member.regex) if member.regex else None
        return member.topic_names if resolved is None else member.topic_names.union(resolved.topics)

    @property
    def is_homogeneous(self) -> bool:
        """True if all members subscribe to the same topics (`ModernGroup.subscriptionType`)."""
        count = len(self.members)
        if not self.regex_counts:
            is_by_name = all(topic in self.name_counts for topic in self.regex_topic_counts)
            return is_by_name and all(of_name == count for of_name in self.name_counts.values())
        is_by_regex = next(iter(self.regex_counts.values())) == count and not self.name_counts
        return is_by_regex and all(of_topic == 1 for of_topic in self.regex_topic_counts.values())

    def assignor_name(self, configured: tuple[str, ...]) -> str:
        """Return the assignor with the most votes; the first configured one of those with equal votes."""
        return max(configured, key=lambda name: self.assignor_votes.get(name, 0))

    def supports_classic(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return whether a member of the classic protocol may join (`ConsumerGroup.supportsClassicProtocols`)."""
        return protocol_type == CONSUMER and any(
            self.classic_protocols.get(name, 0) == self.classic_count for name, _ in protocols
        )

    def target_of(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, NOTHING_ASSIGNED)

    def holder_of(self, topic_id: bytes, partition: int) -> str | None:
        """Return the member that has a partition; None if it is free."""
        of_topic = self.holders.get(topic_id)
        return None if of_topic is None else of_topic.get(partition)

    # -- changes, by `change.ConsumerGroupChange` only -----------------------------------------------------------

    def put(self, member: ConsumerMember) -> ConsumerMember | None:
        """Add a member, or replace the value of one. Returns the former value."""
        former = self.members.get(member.member_id)
        if former is not None:
            self._count(former, -1, member)
        else:
            self.totals.members += 1
        self.members[member.member_id] = member
        self._count(member, 1, former)
        return former

    def remove(self, member_id: str) -> ConsumerMember:
        """Remove a member. Returns its value."""
        former = self.members.pop(member_id)
        self.totals.members -= 1
        self._count(former, -1, None)
        return former

    def put_regex(self, regex: str, resolved: ResolvedRegex | None) -> ResolvedRegex | None:
        """Set the topics of a regular expression; None removes them. Returns the former ones."""
        former = self.regexes.pop(regex, None)
        for topic in former.topics if former is not None else ():
            _add(self.regex_topic_counts, topic, -1)
        if resolved is not None:
            self.regexes[regex] = resolved
            for topic in resolved.topics:
                _add(self.regex_topic_counts, topic, 1)
        return former

    def _count(self, member: ConsumerMember, change: int, other: ConsumerMember | None) -> None:
        """Count a member in or out. `other` is its value after or before: what is the same there is left alone."""
        if other is None or other.topic_names != member.topic_names:
            for name in member.topic_names:
                _add(self.name_counts, name, change)
        if member.regex and (other is None or other.regex != member.regex):
            _add(self.regex_counts, member.regex, change)
        if member.assignor is not None:
            _add(self.assignor_votes, member.assignor, change)
        if member.classic is not None:
            self.classic_count += change
            for name, _ in member.classic.protocols:
                _add(self.classic_protocols, name, change)
            size = change * size_of(member.classic.protocols)
            self.metadata_bytes += size
            self.totals.metadata_bytes += size
        if member.state == STABLE:
            _add(self.stable_at, member.epoch, change)
        if member.instance_id is not None:
            if change > 0:
                self.static_members[member.instance_id] = member.member_id
            elif self.static_members.get(member.instance_id) == member.member_id:
                del self.static_members[member.instance_id]
        if other is None or other.assigned is not member.assigned or other.pending is not member.pending:
            self._hold(member, member.assigned, change)
            self._hold(member, member.pending, change)

    def _hold(self, member: ConsumerMember, assignment: Assignment, change: int) -> None:
        for topic_id, partitions in assignment.items():
            of_topic = self.holders.setdefault(topic_id, {})
            for partition in partitions:
                holder = of_topic.get(partition)
                if change > 0:
                    if holder is not None:
                        raise InvariantError(
                            self.group_id,
                            f"partition {partition} given to {member.member_id!r} is held by {holder!r}",
                        )
                    of_topic[partition] = member.member_id
                elif holder != member.member_id:
                    raise InvariantError(
                        self.group_id, f"partition {partition} of {member.member_id!r} is held by {holder!r}"
                    )
                else:
                    del of_topic[partition]
            if not of_topic:
                del self.holders[topic_id]

    def cancel_timers(self) -> None:
        """End all sessions: the group is no longer coordinated here."""
        self.progress.cancel()
        for session in self.sessions.values():
            session.cancel()
        self.sessions.clear()

    def __repr__(self) -> str:
        return (
            f"<ConsumerGroup {self.group_id!r} {self.state.value} epoch {self.epoch}/{self.assignment_epoch}:"
            f" {len(self.members)} members>"
        )


def _add(counts: dict[Any, int], key: Any, change: int) -> None:
    count = counts.get(key, 0) + change
    if count:
        counts[key] = count
    else:
        counts.pop(key, None)
