"""A group: its members and counters, the predicates that operations decide by, and its invariants.

Only the methods of `Group` change membership, parked requests and the state, so that the counters
(`awaiting_join_count`, `protocol_counts`, `static_members`) agree with the members. Tests run `check_invariants` after
every event. The consequences of a change (rebalances, responses, timers) are in join.py, rebalance.py, sync.py,
heartbeat.py and leave.py. Dicts are used where Kafka's `ClassicGroup` has hash sets, so that members, votes and pending
ids are ordered by the time of joining.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from coordinator.core.any_group import AnyGroup
from coordinator.core.context import InvariantError
from coordinator.core.group.state import (
    DEAD,
    EMPTY,
    ENTERED_FROM,
    PREPARING_REBALANCE,
    STABLE,
    WITH_MEMBERS,
    GroupState,
)
from protocol import consumer
from protocol.error_codes import ErrorCode
from protocol.errors import DecodeError
from protocol.offsets_records import encode_group_key

if TYPE_CHECKING:
    from coordinator.core.effects import Ticket
    from coordinator.core.group.member import Member, Protocols, Timer
    from coordinator.core.group.ownership import FormerOwners
    from coordinator.core.group.progress import RebalanceProgress
    from coordinator.core.shard import Shard

CONSUMER: Final = "consumer"
MAX_GENERATION: Final = 2**31 - 1
MAX_TIMEOUT_MS: Final = 2**31 - 1
LEADERS_REMOVED: Final = 32  # in a small group, before its members are copied
MAX_SUBSCRIPTION_HASHED: Final = 65_536  # bytes
MAX_CACHED_BYTES: Final = 512  # of a cached value; clients send them, so the caches are bounded in bytes too


def size_of(protocols: Protocols) -> int:
    """Return the bytes of a member's protocols."""
    size = 0
    for name, metadata in protocols:
        size += len(name) + len(metadata)
    return size


def topics_of(metadata: bytes) -> frozenset[str]:
    """Return the topics of a subscription, as one shared set for equal subscriptions. Raises DecodeError."""
    return _cached_topics(metadata) if len(metadata) <= MAX_CACHED_BYTES else _decode_topics(metadata)


def _decode_topics(metadata: bytes) -> frozenset[str]:
    return frozenset(consumer.subscribed_topics(metadata))


_cached_topics: Final = lru_cache(256)(_decode_topics)


class Group(AnyGroup):
    """One classic consumer group. The fields correspond to those of Kafka's `ClassicGroup`."""

    __slots__ = (
        "_removed",
        "awaiting_join_count",
        "former_owners",
        "generation",
        "join_timer",
        "leader_id",
        "members",
        "metadata_bytes",
        "new_member_added",
        "pending_join",
        "pending_sync",
        "previous_state",
        "protocol_counts",
        "protocol_name",
        "protocol_type",
        "rebalance",
        "second_round",
        "state",
        "static_members",
        "subscribed_topics",
        "sync_timer",
    )

    def __init__(self, group_id: str, shard: Shard, wall_ms: int) -> None:
        super().__init__(group_id, shard, wall_ms)
        self.state = EMPTY
        self.previous_state = DEAD
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.generation = 0
        self.leader_id: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}  # instance id -> member id
        self.pending_join: dict[str, Timer] = {}  # ids handed out with MEMBER_ID_REQUIRED and not used yet
        self.pending_sync: dict[str, None] = {}
        self.awaiting_join_count = 0
        self.protocol_counts: dict[str, int] = {}
        self.metadata_bytes = 0  # of all protocols of its members
        self.subscribed_topics: frozenset[str] | None = None  # None: not known
        self.new_member_added = False  # extends the initial delay
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None
        self._removed = 0  # leaders, since the members were copied last
        self.rebalance: RebalanceProgress | None = None  # the current one
        self.former_owners: FormerOwners | None = None  # while it rebalances, or partitions are left without an owner
        self.second_round: tuple[int, bool] | None = None  # a generation, and whether members rejoin after it

    # -- predicates ----------------------------------------------------------------------------------------------

    @property
    def all_joined(self) -> bool:
        """True if every member has a parked JoinGroup and no member id is pending."""
        return len(self.members) == self.awaiting_join_count and not self.pending_join

    @property
    def rebalance_timeout_ms(self) -> int:
        """Longest rebalance timeout of the members, limited to 0..MAX_TIMEOUT_MS: clients may send any number."""
        longest = max((member.rebalance_timeout_ms for member in self.members.values()), default=0)
        return min(max(longest, 0), MAX_TIMEOUT_MS)

    @property
    def is_dead(self) -> bool:
        return self.state is DEAD

    @property
    def is_simple(self) -> bool:
        """True if the group only stores offsets (`ClassicGroup.isSimpleGroup`)."""
        return self.protocol_type is None and self.state is EMPTY and not self.pending_join

    @property
    def leader(self) -> Member | None:
        return None if self.leader_id is None else self.members.get(self.leader_id)

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Return whether a member with this type and these protocols may join (`ClassicGroup.supportsProtocols`)."""
        if self.state is EMPTY:
            return protocol_type != "" and len(protocols) > 0
        if self.protocol_type != protocol_type:
            return False
        member_count = len(self.members)
        return any(self.protocol_counts.get(name, 0) == member_count for name, _ in protocols)

    @property
    def has_members(self) -> bool:
        return self.state in WITH_MEMBERS

    @property
    def keeps_all_offsets(self) -> bool:
        """False for a simple group, an Empty one, and consumers in a Stable group with known subscriptions."""
        if self.protocol_type is None or self.state is EMPTY:
            return False
        return self.protocol_type != CONSUMER or self.state is not STABLE or self.subscribed_topics is None

    @property
    def idle_since_ms(self) -> int:
        """When an Empty group that is not simple became so; -1 if age counts from each commit."""
        return self.state_timestamp_ms if self.protocol_type is not None and self.state is EMPTY else -1

    @property
    def may_expire(self) -> bool:
        return self.state is EMPTY and not self.pending_join

    def check_delete(self) -> ErrorCode:
        """Return the error of a DeleteGroups (`ClassicGroup.validateDeleteGroup`). Pending ids do not prevent it."""
        if self.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        return ErrorCode.NON_EMPTY_GROUP if self.has_members else ErrorCode.NONE

    def check_offset_delete(self) -> ErrorCode:
        """Return the error of an OffsetDelete as a whole (`ClassicGroup.validateOffsetDelete`, KIP-496).

        A group with members must be one of consumers, because only their metadata names the topics that are in use.
        """
        if self.state is DEAD:
            return ErrorCode.GROUP_ID_NOT_FOUND
        if self.has_members and self.protocol_type != CONSUMER:
            return ErrorCode.NON_EMPTY_GROUP
        return ErrorCode.NONE

    def tombstones(self) -> tuple[tuple[bytes, bytes | None], ...]:
        return ((encode_group_key(self.group_id), None),)

    def begin_deletion(self, wall_ms: int) -> None:
        for member_id in list(self.pending_join):
            self.remove_pending(member_id)  # such an id does not keep a group; its client asks for a new one
        timestamp_ms = self.state_timestamp_ms
        self.transition(DEAD, wall_ms)
        self.state_timestamp_ms = timestamp_ms  # for `end_deletion`: the time since which the group is empty

    def end_deletion(self) -> None:
        """Put an identical group in the place of this one, which stays Dead.

        With members it is Stable, without parked requests, and their sessions are not started.
        """
        group = Group(self.group_id, self.shard, self.state_timestamp_ms)
        for member in self.members.values():
            group.add(member)
        if group.members:
            group.leader_id = self.leader_id
            group.state = STABLE
        group.protocol_type = self.protocol_type
        group.protocol_name = self.protocol_name
        group.generation = self.generation
        group.is_recorded = self.is_recorded
        group.record_offset = self.record_offset
        group.compute_subscribed_topics()
        self.shard.add(group)

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether members read `topic`. True for a consumer group whose subscription is unknown, to be safe."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER
        return topic in self.subscribed_topics

    # -- members -------------------------------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """Add a member. The first one gives the group its protocol type and becomes the leader."""
        before, totals = self.metadata_bytes, self.shard.totals
        self.enter(member)
        totals.members += 1
        totals.metadata_bytes += self.metadata_bytes - before

    def enter(self, member: Member) -> None:
        """Add a member that is not counted in the totals: a thread is loading its group."""
        if member.member_id in self.members:
            raise InvariantError(self.group_id, f"member {member.member_id!r} is added twice")
        if not self.members:
            self.protocol_type = member.protocol_type
        self.members[member.member_id] = member
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self._count_protocols(member, 1)
        if member.parked_join is not None:
            self.awaiting_join_count += 1
        self.remove_pending(member.member_id)

    def remove(self, member: Member) -> None:
        """Remove a member and its timer. The caller has answered its parked requests, or drops them."""
        if self.members.pop(member.member_id, None) is not member:
            raise InvariantError(self.group_id, f"member {member.member_id!r} is removed and was not in it")
        if self.state is not DEAD:
            self.shard.totals.members -= 1
        instance_id = member.group_instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]
        self._count(member, -1)
        if member.parked_join is not None:
            member.parked_join = None
            self.awaiting_join_count -= 1
        member.parked_sync = None
        self.has_synced(member)
        if self.leader_id == member.member_id:
            # Iterating over a dict skips the places of removed items, so a dict with many of them is copied.
            self._removed += 1
            if self._removed > LEADERS_REMOVED + len(self.members) // 8:
                self._removed = 0
                self.members = self.members.copy()
            self.leader_id = next(iter(self.members), None)  # the earliest in join order
        member.is_gone = True
        if member.session is not None:
            member.session.cancel()
            member.session = None  # breaks the reference cycle member -> timer -> member

    def remove_pending(self, member_id: str) -> bool:
        """Forget a pending member id. Returns False if it was not pending."""
        timer = self.pending_join.pop(member_id, None)
        if timer is None:
            return False
        timer.cancel()
        if not self.pending_join:
            self.pending_join = {}  # an emptied dict keeps its memory
        return True

    def set_protocols(self, member: Member, protocols: Protocols) -> None:
        if member.protocols == protocols:
            return  # most members rejoin with what they have sent before
        self._count(member, -1)
        member.protocols = protocols
        self._count(member, 1)

    def _count(self, member: Member, change: int) -> None:
        """Count the protocols of a member, in the totals too, which must agree even if an invariant is broken."""
        before = self.metadata_bytes
        try:
            self._count_protocols(member, change)
        finally:
            if self.state is not DEAD:
                self.shard.totals.metadata_bytes += self.metadata_bytes - before

    def _count_protocols(self, member: Member, change: int) -> None:
        self.metadata_bytes += change * size_of(member.protocols)
        counts = self.protocol_counts
        for name, _ in member.protocols:
            count = counts.get(name, 0) + change
            if count > 0:
                counts[name] = count
            elif name in counts:
                del counts[name]
            else:
                raise InvariantError(self.group_id, f"no member was counted for {name!r}, and {member!r} lists it")

    def has_synced(self, member: Member) -> None:
        """Stop waiting for the SyncGroup of a member in this generation."""
        self.pending_sync.pop(member.member_id, None)
        if not self.pending_sync:
            self.pending_sync = {}

    # -- parked requests -----------------------------------------------------------------------------------------

    def park_join(self, member: Member, ticket: Ticket) -> Ticket | None:
        """Park a JoinGroup. Returns the ticket of an older one that it replaces."""
        replaced = member.parked_join
        member.parked_join = ticket
        if replaced is None:
            self.awaiting_join_count += 1
        return replaced

    def take_join(self, member: Member) -> Ticket | None:
        """Take the parked JoinGroup of a member out, to be answered now."""
        ticket = member.parked_join
        if ticket is not None:
            member.parked_join = None
            self.awaiting_join_count -= 1
        return ticket

    # -- leader, protocol, topics --------------------------------------------------------------------------------

    def elect_leader(self) -> bool:
        """Choose a leader with a parked JoinGroup, the current one if possible. False if no member has one."""
        leader = self.leader
        if leader is not None and leader.parked_join is not None:
            return True
        for member in self.members.values():
            if member.parked_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    def select_protocol(self) -> str:
        """Return the protocol that all members support and most prefer (`ClassicGroup.selectProtocol`).

        The leader's order breaks ties, then the alphabet.
        """
        member_count = len(self.members)
        votes = {name: 0 for name, count in self.protocol_counts.items() if count == member_count}
        if not votes:
            raise InvariantError(self.group_id, f"its {member_count} members have no protocol in common")
        for member in self.members.values():
            votes[next(name for name, _ in member.protocols if name in votes)] += 1
        most = max(votes.values())
        tied = {name for name, count in votes.items() if count == most}
        leader = self.leader
        if leader is not None:
            for name, _ in leader.protocols:
                if name in tied:
                    return name
        return min(tied)

    def compute_subscribed_topics(self) -> None:
        """Set the topics of this generation, or None if any metadata cannot be decoded (`computeSubscribedTopics`)."""
        self.subscribed_topics = None
        if self.protocol_type != CONSUMER:
            return
        if self.members and self.protocol_name is None:
            return
        topics: frozenset[str] = frozenset()
        seen: set[bytes] = set()
        names = 0
        last = b""  # the topics of the last subscription that was decoded: others may differ in what follows them
        for member in self.members.values():
            metadata = member.metadata(self.protocol_name)
            if last and metadata.startswith(last, 2):
                continue
            if len(metadata) <= MAX_SUBSCRIPTION_HASHED:  # hashing a megabyte takes a millisecond
                if metadata in seen:
                    continue  # most members of a group send the same metadata
                seen.add(metadata)
            names += consumer.topic_count(metadata)
            if names > self.shard.max_subscribed_topics:
                return  # unknown: keeping the group's offsets is better than blocking the event loop
            try:
                read = topics_of(metadata)
            except DecodeError:
                return  # one undecodable subscription makes all of them unknown; the join does not fail
            topics = topics | read if topics else read
            last = metadata[2 : consumer.topics_end(metadata)]
        self.subscribed_topics = topics

    # -- state ---------------------------------------------------------------------------------------------------

    def transition(self, state: GroupState, wall_ms: int) -> None:
        if self.state not in ENTERED_FROM[state]:
            raise InvariantError(self.group_id, f"{self.state.value} cannot become {state.value}")
        counts = self.shard.groups_by_state
        counts[self.state] -= 1
        counts[state] += 1
        self.previous_state = self.state
        self.state = state
        self.state_timestamp_ms = wall_ms

    def advance_generation(self) -> None:
        self.generation = self.generation + 1 if self.generation < MAX_GENERATION else 1

    def cancel_timers(self) -> None:
        """Cancel all timers of the group and of its members."""
        warning = self.rebalance.warning if self.rebalance is not None else None
        for timer in (self.join_timer, self.sync_timer, warning, *self.pending_join.values()):
            if timer is not None:
                timer.cancel()
        self.join_timer = self.sync_timer = None
        self.pending_join.clear()
        for member in self.members.values():
            if member.session is not None:
                member.session.cancel()
                member.session = None

    # -- invariants ----------------------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """Raise InvariantError if an invariant does not hold after an event. Iterates over all members."""
        members = self.members.values()

        def demand(holds: bool, what: str) -> None:
            if not holds:
                raise InvariantError(self.group_id, f"{what}; it is {self!r}")

        demand(
            self.awaiting_join_count == sum(member.parked_join is not None for member in members),
            "awaiting_join_count differs from the parked joins",
        )
        demand(
            self.static_members
            == {m.group_instance_id: m.member_id for m in members if m.group_instance_id is not None},
            "static_members differs from the members",
        )
        counts: dict[str, int] = {}
        for member in members:
            for name, _ in member.protocols:
                counts[name] = counts.get(name, 0) + 1
        demand(counts == self.protocol_counts, "protocol_counts differs from the members")
        demand(
            self.metadata_bytes == sum(size_of(member.protocols) for member in members),
            "metadata_bytes differs from the members",
        )
        demand((self.leader_id is None) == (not self.members), "a group has a leader if and only if it has members")
        demand(self.leader_id is None or self.leader_id in self.members, "the leader is not a member")
        demand(not self.pending_join.keys() & self.members.keys(), "a pending id is a member")
        demand(
            self.pending_sync.keys() <= self.members.keys(), "a SyncGroup is expected from an id that is not a member"
        )
        demand(not any(member.is_gone for member in members), "a member is marked as gone")
        for member in members:
            waiting = member.parked
            if waiting is not None:
                demand(self.state is STABLE, f"a Heartbeat or SyncGroup waits while {self.state.value}")
                demand(waiting.is_of(self, member), "a Heartbeat or SyncGroup waits for something else")
                demand(
                    waiting.fires_at_ms <= member.session_deadline_ms,
                    "a Heartbeat or SyncGroup waits beyond the session of its member",
                )
        if self.state is EMPTY:
            demand(not self.members, "an Empty group has members")
        if self.state in (EMPTY, STABLE):
            demand(all(member.parked_sync is None for member in members), f"a sync is parked while {self.state.value}")
        if self.state is PREPARING_REBALANCE:
            demand(self.join_timer is not None and self.join_timer.is_armed, "no timer will end the join phase")
            demand(not self.pending_sync, "a SyncGroup is expected before the join phase is over")
        if self.state is not DEAD:
            for member in members:
                watched = member.session is not None and member.session.is_armed
                parked = member.parked_join is not None or member.parked_sync is not None
                demand(watched or parked, f"no timer will end the session of {member.member_id}")

    def __repr__(self) -> str:
        kind = f"{self.protocol_type}/{self.protocol_name}" if self.protocol_type is not None else "simple"
        return (
            f"<Group {self.group_id!r} {self.state.value} {kind} G{self.generation} leader={self.leader_id!r}"
            f" {len(self.members)} members, {self.awaiting_join_count} joined, {len(self.pending_join)} pending,"
            f" {len(self.pending_sync)} to sync, {self.in_flight} in flight>"
        )
