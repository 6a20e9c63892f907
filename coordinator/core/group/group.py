"""What a group is: its members and counters, the predicates that operations decide by, and what must always hold.

Only the methods here change membership, parked requests and the state, so that the counters (`awaiting_join_count`,
`protocol_counts`, `static_members`) cannot drift from the members; `check_invariants` says what that means and tests
run it after every event. What happens *because* of a change (rebalances, answers, timers) is not here but in join.py,
rebalance.py, sync.py, heartbeat.py and leave.py.

Dicts stand where Kafka has hash sets: members, votes and pending ids have one order, that of joining (spec C.17).
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from coordinator.core.context import InvariantError
from coordinator.core.group.state import DEAD, EMPTY, ENTERED_FROM, PREPARING_REBALANCE, STABLE, GroupState
from protocol import consumer
from protocol.errors import DecodeError

if TYPE_CHECKING:
    from coordinator.core.context import Context
    from coordinator.core.effects import Ticket
    from coordinator.core.group.history import Rebalance, RebalanceOutcome
    from coordinator.core.group.member import Member, Protocols, Timer
    from coordinator.core.shard import Shard

CONSUMER: Final = "consumer"
MAX_GENERATION: Final = 2**31 - 1
MAX_TIMEOUT_MS: Final = 2**31 - 1
MAX_SUBSCRIBED_NAMES: Final = (
    50_000  # of topics, in all subscriptions of a group: so many are read when a generation begins
)
LONGEST_REMEMBERED_BYTES: Final = 512  # what is remembered comes from clients, so it is bounded in bytes too


def topics_of(metadata: bytes) -> frozenset[str]:
    """The topics of a subscription; DecodeError. Groups mostly read what others read too: one set for all of them."""
    return _remembered_topics(metadata) if len(metadata) <= LONGEST_REMEMBERED_BYTES else _read_topics(metadata)


def _read_topics(metadata: bytes) -> frozenset[str]:
    return frozenset(consumer.subscribed_topics(metadata))


_remembered_topics: Final = lru_cache(256)(_read_topics)


class Group:
    """See the module. Fields as in spec 1.1."""

    __slots__ = (
        "awaiting_join_count",
        "generation",
        "group_id",
        "in_flight",
        "is_recorded",
        "join_timer",
        "leader_id",
        "members",
        "new_member_added",
        "pending_join",
        "pending_sync",
        "previous_state",
        "protocol_counts",
        "protocol_name",
        "protocol_type",
        "rebalance",
        "rebalances",
        "record_offset",
        "shard",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "sync_timer",
    )

    def __init__(self, group_id: str, shard: Shard, wall_ms: int) -> None:
        self.group_id = group_id
        self.shard = shard
        self.state = EMPTY
        self.previous_state = DEAD
        self.state_timestamp_ms = wall_ms  # -1: unknown (a record of an old version)
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
        self.subscribed_topics: frozenset[str] | None = None  # None: not known
        self.new_member_added = False  # grants an extension of the initial delay
        self.join_timer: Timer | None = None
        self.sync_timer: Timer | None = None
        self.in_flight = 0  # appends of this group that are not durable yet
        self.is_recorded = False  # something of it is durable; until then it is not listed
        self.record_offset = -1  # where its newest durable record stands in the log; -1: it has none
        self.rebalance: Rebalance | None = None  # the one that runs
        self.rebalances: list[Rebalance] | None = None  # those that ended, oldest first

    # -- predicates ----------------------------------------------------------------------------------------------

    @property
    def all_joined(self) -> bool:
        """Nobody is missing: every member has a parked JoinGroup, and no id is out."""
        return len(self.members) == self.awaiting_join_count and not self.pending_join

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that any member asked for. Clients may send anything; timers need something sensible."""
        longest = max((member.rebalance_timeout_ms for member in self.members.values()), default=0)
        return min(max(longest, 0), MAX_TIMEOUT_MS)

    @property
    def is_simple(self) -> bool:
        """Used to store offsets only."""
        return self.protocol_type is None and self.state is EMPTY and not self.pending_join

    @property
    def leader(self) -> Member | None:
        return None if self.leader_id is None else self.members.get(self.leader_id)

    def supports(self, protocol_type: str, protocols: Protocols) -> bool:
        """Whether a member with this type and these protocols may enter (spec 1.3)."""
        if self.state is EMPTY:
            return protocol_type != "" and len(protocols) > 0
        if self.protocol_type != protocol_type:
            return False
        everybody = len(self.members)
        return any(self.protocol_counts.get(name, 0) == everybody for name, _ in protocols)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether members read `topic`. If a consumer group's subscription is not known: yes, to be safe."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER
        return topic in self.subscribed_topics

    # -- members -------------------------------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        """Take a member in. The first one gives the group its protocol type and becomes leader."""
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
        """Take a member out, with its timer. Its parked requests must have been answered, or be nobody's any more."""
        if self.members.pop(member.member_id, None) is not member:
            raise InvariantError(self.group_id, f"member {member.member_id!r} is removed and was not in it")
        instance_id = member.group_instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]
        self._count_protocols(member, -1)
        if member.parked_join is not None:
            member.parked_join = None
            self.awaiting_join_count -= 1
        member.parked_sync = None
        self.has_synced(member)
        if self.leader_id == member.member_id:
            self.leader_id = next(iter(self.members), None)  # the earliest in join order
        member.is_gone = True
        if member.session is not None:
            member.session.cancel()
            member.session = None  # and the cycle member -> timer -> member is gone

    def remove_pending(self, member_id: str) -> bool:
        """Forget an id that was handed out; False if it was not."""
        timer = self.pending_join.pop(member_id, None)
        if timer is None:
            return False
        timer.cancel()
        if not self.pending_join:
            self.pending_join = {}  # a dict that was emptied keeps its room
        return True

    def set_protocols(self, member: Member, protocols: Protocols) -> None:
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)

    def _count_protocols(self, member: Member, change: int) -> None:
        counts = self.protocol_counts
        for name, _ in member.protocols:
            count = counts.get(name, 0) + change
            if count > 0:
                counts[name] = count
            elif name in counts:
                del counts[name]
            else:
                raise InvariantError(self.group_id, f"nobody was counted for {name!r}, and {member!r} lists it")

    def has_synced(self, member: Member) -> None:
        """Its SyncGroup of this generation is no longer awaited."""
        self.pending_sync.pop(member.member_id, None)
        if not self.pending_sync:
            self.pending_sync = {}

    # -- parked requests -----------------------------------------------------------------------------------------

    def park_join(self, member: Member, ticket: Ticket) -> Ticket | None:
        """Park a JoinGroup; returns the ticket of an older one that it replaces."""
        replaced = member.parked_join
        member.parked_join = ticket
        if replaced is None:
            self.awaiting_join_count += 1
        return replaced

    def take_join(self, member: Member) -> Ticket | None:
        """The parked JoinGroup of a member, to be answered now."""
        ticket = member.parked_join
        if ticket is not None:
            member.parked_join = None
            self.awaiting_join_count -= 1
        return ticket

    # -- leader, protocol, topics --------------------------------------------------------------------------------

    def elect_leader(self) -> bool:
        """A leader with a parked JoinGroup, the present one if possible. False if nobody has one."""
        leader = self.leader
        if leader is not None and leader.parked_join is not None:
            return True
        for member in self.members.values():
            if member.parked_join is not None:
                self.leader_id = member.member_id
                return True
        return False

    def select_protocol(self) -> str:
        """What all support and most prefer; the leader's order breaks ties, then the alphabet (spec 1.7)."""
        everybody = len(self.members)
        votes = {name: 0 for name, count in self.protocol_counts.items() if count == everybody}
        if not votes:
            raise InvariantError(self.group_id, f"its {everybody} members have no protocol in common")
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
        """What the members of this generation read, as far as their metadata can be understood (spec 11.3)."""
        self.subscribed_topics = None
        if self.protocol_type != CONSUMER:
            return
        if self.members and self.protocol_name is None:
            return
        topics: frozenset[str] = frozenset()
        seen: set[bytes] = set()
        names = 0
        for member in self.members.values():
            metadata = member.metadata(self.protocol_name)
            if metadata in seen:
                continue  # members of a group mostly say the same
            seen.add(metadata)
            names += consumer.topic_count(metadata)
            if names > MAX_SUBSCRIBED_NAMES:
                return  # not known: the group's offsets are kept rather than the event loop held
            try:
                read = topics_of(metadata)
            except DecodeError:
                return  # one that cannot be read makes the whole unknown; a join never fails for it
            topics = topics | read if topics else read
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
        """Nothing fires for this group any more."""
        for timer in (self.join_timer, self.sync_timer, *self.pending_join.values()):
            if timer is not None:
                timer.cancel()
        self.join_timer = self.sync_timer = None
        self.pending_join.clear()
        for member in self.members.values():
            if member.session is not None:
                member.session.cancel()
                member.session = None

    # -- history -------------------------------------------------------------------------------------------------

    def end_rebalance(self, outcome: RebalanceOutcome, context: Context) -> None:
        """The running rebalance is over: keep its record, tell the log."""
        rebalance, self.rebalance = self.rebalance, None
        if rebalance is None:
            return
        rebalance.ended(outcome, context.now_ms)
        kept = context.config.group_max_rebalance_history
        if kept:
            if self.rebalances is None:
                self.rebalances = [rebalance]  # a list, not a deque: that takes 600 bytes for its first entry
            else:
                self.rebalances.append(rebalance)
                del self.rebalances[:-kept]
        context.on_rebalance(rebalance)

    # -- what must hold ------------------------------------------------------------------------------------------

    def check_invariants(self) -> None:
        """Raise InvariantError if anything that must hold after every event does not. Walks all members."""
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
        demand((self.leader_id is None) == (not self.members), "there is a leader exactly if there are members")
        demand(self.leader_id is None or self.leader_id in self.members, "the leader is not a member")
        demand(not self.pending_join.keys() & self.members.keys(), "a pending id is a member")
        demand(self.pending_sync.keys() <= self.members.keys(), "somebody who is no member is expected to sync")
        demand(not any(member.is_gone for member in members), "a member is marked as gone")
        if self.state is EMPTY:
            demand(not self.members, "an Empty group has members")
        if self.state in (EMPTY, STABLE):
            demand(all(member.parked_sync is None for member in members), f"a sync is parked while {self.state.value}")
        if self.state is PREPARING_REBALANCE:
            demand(self.join_timer is not None and self.join_timer.is_armed, "nothing will end the join phase")
            demand(not self.pending_sync, "syncs are expected before the join phase is over")
        if self.state is not DEAD:
            for member in members:
                watched = member.session is not None and member.session.is_armed
                parked = member.parked_join is not None or member.parked_sync is not None
                demand(watched or parked, f"nothing will end the session of {member.member_id}")

    def __repr__(self) -> str:
        kind = f"{self.protocol_type}/{self.protocol_name}" if self.protocol_type is not None else "simple"
        return (
            f"<Group {self.group_id!r} {self.state.value} {kind} G{self.generation} leader={self.leader_id!r}"
            f" {len(self.members)} members, {self.awaiting_join_count} joined, {len(self.pending_join)} pending,"
            f" {len(self.pending_sync)} to sync, {self.in_flight} in flight>"
        )
