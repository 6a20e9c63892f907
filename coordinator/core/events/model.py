"""The events of a group, and its present state, as records with one JSON form.

The same classes are kept in memory (`recorder`), written to the topic of events, answered to `groups explain` and read
by its rules. msgspec encodes and decodes them; `kind` tells the class. A reader ignores fields that it does not know,
and a field that is missing has its default, so fields are only ever added (docs/group-events.md). All times are in
milliseconds: `at_ms` since the epoch, `*_ms` otherwise durations. Strings come from clients and are shortened.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, TypeVar

import msgspec

from coordinator.core.events.words import duration

SCHEMA_VERSION: Final = 1
NAMED_AT_MOST: Final = 10  # members named in one list of an event; beyond that only their number
SHOWN_AT_MOST: Final = 200  # members of a group in its present state
LONGEST_REASON: Final = 255  # characters; Kafka's clients truncate it to the same length (KIP-800)
LONGEST_NAME: Final = 120  # characters of a member id, client id or group id
UUID_CHARS: Final = 36  # the end of a member id, which makes it unique


def shortened(name: str) -> str:
    """Cut the middle out of a long name. Names come from clients, and records outlive their members."""
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - UUID_CHARS - 3]}...{name[-UUID_CHARS:]}"


class Cause(Enum):
    """Cause of a rebalance. The value is its name in JSON."""

    MEMBER_JOINED = "member_joined"
    PROTOCOLS_CHANGED = "protocols_changed"
    LEADER_REJOINED = "leader_rejoined"
    STATIC_MEMBER_REPLACED = "static_member_replaced"
    MEMBER_LEFT = "member_left"
    SESSION_EXPIRED = "session_expired"
    NO_SYNC = "no_sync"
    APPEND_FAILED = "append_failed"
    OVER_FULL = "over_full"
    FORCED = "forced"
    # Of a KIP-848 group.
    NOT_REVOKED = "not_revoked"
    NO_REJOIN = "no_rejoin"  # of a member of the classic protocol
    TOPICS_CHANGED = "topics_changed"
    REGEX_RESOLVED = "regex_resolved"
    # Of a cluster that is observed: what its log tells.
    MEMBER_GONE = "member_gone"
    UNKNOWN = "unknown"  # also of a KIP-848 group that was loaded in the middle of a rebalance


# Each completes the sentence "because ...".
BECAUSE: Final = {
    Cause.MEMBER_JOINED: "a new member joined",
    Cause.PROTOCOLS_CHANGED: "a member rejoined with other protocols or another subscription",
    Cause.LEADER_REJOINED: "the leader rejoined",
    Cause.STATIC_MEMBER_REPLACED: "a static member was replaced by its next run",
    Cause.MEMBER_LEFT: "a member left",
    Cause.SESSION_EXPIRED: "a member fell silent for its session timeout",
    Cause.NO_SYNC: "a member sent no SyncGroup within the rebalance timeout",
    Cause.APPEND_FAILED: "the assignments could not be written to the log",
    Cause.OVER_FULL: "the group was loaded with more members than group.max.size",
    Cause.FORCED: "it was asked for",
    Cause.NOT_REVOKED: "a member did not give up its partitions within its rebalance timeout",
    Cause.NO_REJOIN: "a member was told to rejoin and did not within its rebalance timeout",
    Cause.TOPICS_CHANGED: "its topics changed: they were created or deleted, or got partitions",
    Cause.REGEX_RESOLVED: "a regular expression of a member matches other topics than before",
    Cause.MEMBER_GONE: "a member left or its session ended, which the log does not tell apart",
    Cause.UNKNOWN: "of something that the log does not tell",
}


class RebalanceOutcome(Enum):
    RUNNING = "running"
    STABLE = "stable"
    EMPTY = "empty"
    INTERRUPTED = "interrupted"


class ChangeKind(Enum):
    """A way in which a member came, went or changed during a rebalance, or just before it."""

    JOINED = "joined"
    LEFT = "left"
    EXPIRED = "expired"  # silent for its session timeout
    DROPPED = "dropped"  # did not rejoin in time, or sent no SyncGroup
    REPLACED = "replaced"  # a static member, by its next run
    RESUBSCRIBED = "resubscribed"  # rejoined with other protocols or another subscription
    EXPELLED = "expelled"  # the group was full
    GONE = "gone"  # observed: it left, or its session ended


GONE: Final = frozenset(
    {ChangeKind.LEFT, ChangeKind.EXPIRED, ChangeKind.DROPPED, ChangeKind.GONE}
)  # the member is no member any more


class IncidentKind(Enum):
    """A kind of incident, during a rebalance or not."""

    STATIC_MEMBER_REPLACED = "static_member_replaced"  # `member` took the place of `other`
    FENCED = "fenced"  # a request of `member` was refused, because `other` holds its instance id
    JOIN_REFUSED = "join_refused"
    COMMIT_REFUSED = "commit_refused"
    UNKNOWN_MEMBER = "unknown_member"  # a request other than a commit named a member that the group does not have
    STALE_GENERATION = "stale_generation"  # a request other than a commit came from an earlier generation
    REBALANCE_SLOW = "rebalance_slow"  # it waits longer than group.rebalance.warn.ms; `member` is the one waited for
    NOT_POLLING = "not_polling"  # `member` tells that it has not polled for `waited_ms` (KIP-714)
    ASSIGNOR_FAILED = "assignor_failed"  # KIP-848: an assignor of a user, for `reason`; the group keeps its target
    GROUP_LOADED = "group_loaded"  # by a start of the coordinator; all sessions began anew
    GROUP_UPGRADED = "group_upgraded"  # `member` joined with the new protocol: a KIP-848 group from now on
    GROUP_DOWNGRADED = "group_downgraded"  # `member` was the last one of the new protocol: a classic group again


class Wait(Enum):
    """Something that a rebalance waits for."""

    NOTHING = "nothing"
    FIRST_MEMBERS = "first_members"  # group.initial.rebalance.delay.ms
    JOINS = "joins"
    PLAN = "plan"  # the SyncGroup of the leader
    DISK = "disk"
    ASSIGNOR = "assignor"  # KIP-848: the target is being computed, or the assignor has failed
    REVOCATION = "revocation"  # KIP-848: a member has to give up partitions
    HEARTBEAT = "heartbeat"  # KIP-848: a member has to learn of its assignment
    RETURN = "return"  # KIP-848: a static member is away, and its session has not ended


class ClientInfo(msgspec.Struct, frozen=True, omit_defaults=True):
    """A member, or the client that a request came from, as an operator can find it."""

    member_id: str = ""
    instance_id: str = ""
    client_id: str = ""
    host: str = ""  # without the slash of Java's form
    software: str = ""  # name and version from ApiVersions, as in "apache-kafka-java 4.4.0"

    @property
    def name(self) -> str:
        """The shortest name that an operator recognises: instance id, else client id, else member id."""
        return self.instance_id or self.client_id or self.member_id or "an unnamed client"

    @property
    def full_name(self) -> str:
        """The name, with where it runs and what it is."""
        where = ", ".join(part for part in (self.host, self.software) if part)
        return f"{self.name} ({where})" if where else self.name

    @property
    def is_known(self) -> bool:
        return bool(self.member_id or self.client_id or self.instance_id)


NOBODY: Final = ClientInfo()


class Trigger(msgspec.Struct, frozen=True, omit_defaults=True):
    """The cause of a rebalance, and the member that it came from."""

    cause: Cause
    member: ClientInfo = NOBODY
    reason: str = ""  # as given by the client, if any (KIP-800)
    session_timeout_ms: int = 0  # of the member; 0: not known
    rebalance_timeout_ms: int = 0  # of the member, which is max.poll.interval.ms in most clients; 0: not known
    subscription_changed: bool = False  # PROTOCOLS_CHANGED: the topics or the assignors, not only the user data
    silent_ms: int = -1  # observed, of a member that went: how long before the log had its last trace; -1: not known


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """A member that came, went or changed. `after_ms`: since the start of the rebalance."""

    kind: ChangeKind
    member: ClientInfo
    after_ms: int = 0
    reason: str = ""
    session_timeout_ms: int = 0  # of the member, as in the trigger; 0: not known
    rebalance_timeout_ms: int = 0
    silent_ms: int = -1


class Share(msgspec.Struct, frozen=True, omit_defaults=True):
    """The partitions that one member lost and gained in a rebalance."""

    member: ClientInfo
    lost: int = 0
    gained: int = 0


class Event(msgspec.Struct, kw_only=True, omit_defaults=True, tag_field="kind"):
    """Fields of every event."""

    group: str
    at_ms: int
    version: int = SCHEMA_VERSION


class Rebalance(Event, kw_only=True, omit_defaults=True, tag="rebalance"):
    """One rebalance, from its trigger to a durable assignment, an empty group, or the next trigger."""

    trigger: Trigger
    outcome: RebalanceOutcome
    previous_generation: int
    generation: int  # the new one, once the join phase is complete
    members_before: int = 0
    members_after: int = 0
    join_ms: int = -1  # duration of the join phase; -1: not complete
    plan_ms: int = -1  # from its end to the SyncGroup of the leader, which carries the assignments; -1: none came
    sync_ms: int = -1  # from its end to the end of the rebalance
    changes: list[Change] = []  # NAMED_AT_MOST of each kind
    counts: dict[str, int] = {}  # by kind of change, all of them
    leader: ClientInfo = NOBODY
    last_to_join: ClientInfo = NOBODY
    last_join_ms: int = -1  # when it joined, since the start
    previous_join_ms: int = -1  # when the one before it joined
    rebalance_timeout_ms: int = 0
    protocol: str = ""
    partitions: int = -1  # assigned in the new generation; -1: not known
    partitions_moved: int = 0  # assigned to another member than their last owner; -1: not known
    # Over all partitions: how long each one that had an owner was without one; -1: not known. The time of rebalances
    # that were interrupted is counted in the one that interrupts them.
    unowned_partition_ms: int = 0
    records_read_twice: int = -1  # at most, of lost partitions: fetched by their owners, not committed; -1: not known
    shares: list[Share] = []  # NAMED_AT_MOST members that lost or gained most
    last_to_revoke: ClientInfo = NOBODY  # KIP-848: the member that gave up its partitions last
    last_revoke_ms: int = -1  # when, since the start
    last_to_reconcile: ClientInfo = NOBODY  # KIP-848: the member that reached its target last
    last_reconcile_ms: int = -1  # when, since the start
    previous_reconcile_ms: int = -1  # when the one before it did
    type: str = "classic"  # or "consumer": the generations are epochs, and the join phase ends with the target

    @property
    def took_ms(self) -> int:
        """Duration so far; the join phase alone if that did not end."""
        return max(self.join_ms, 0) + max(self.sync_ms, 0)

    def text(self) -> str:
        """Return the record as one or two sentences."""
        trigger = self.trigger
        member = trigger.member
        number = "epoch" if self.type == "consumer" else "generation"
        text = f"Group {self.group} left {number} {self.previous_generation} because {BECAUSE[trigger.cause]}"
        if member.member_id:
            text += f" ({member.member_id}, client {member.client_id}@/{member.host})"
        if trigger.reason:
            text += f', giving as its reason "{trigger.reason}"'
        if self.type == "consumer":
            return text + self._reconciled()
        if self.join_ms < 0:
            return text + self._without_join_phase()
        members = "1 member" if self.members_after == 1 else f"{self.members_after} members"
        text += f". {members} joined within {self.join_ms} ms"
        dropped = [change.member.member_id for change in self.changes if change.kind is ChangeKind.DROPPED]
        if dropped:
            text += f", without {', '.join(dropped)}"
            more = self.counts.get(ChangeKind.DROPPED.value, 0) - len(dropped)
            text += f" and {more} more" if more else ""
        text += f"; generation {self.generation} "
        if self.outcome is RebalanceOutcome.STABLE:
            return f"{text}was stable after another {self.sync_ms} ms."
        if self.outcome is RebalanceOutcome.EMPTY:
            return f"{text}is empty."
        if self.outcome is RebalanceOutcome.INTERRUPTED:
            return f"{text}ended after another {self.sync_ms} ms, before it was stable."
        return f"{text}waits for its leader's assignments."

    def _reconciled(self) -> str:
        """Return the end of the text of a KIP-848 group."""
        members = "1 member" if self.members_after == 1 else f"{self.members_after} members"
        if self.outcome is RebalanceOutcome.STABLE:
            return f"; after {self.took_ms} ms {members} had all partitions of epoch {self.generation}."
        if self.outcome is RebalanceOutcome.EMPTY:
            return f"; epoch {self.generation} has no members."
        if self.outcome is RebalanceOutcome.INTERRUPTED:
            return f"; it went on for {self.took_ms} ms, until the next change."
        return f"; epoch {self.generation} is being taken up by {members}."

    def _without_join_phase(self) -> str:
        """Return the end of the text if the join phase did not end, or is not known (of an observed cluster)."""
        if self.outcome is RebalanceOutcome.STABLE:
            members = "1 member" if self.members_after == 1 else f"{self.members_after} members"
            return f"; generation {self.generation} has {members}."
        if self.outcome is RebalanceOutcome.EMPTY:
            return f"; generation {self.generation} is empty."
        return "; members are rejoining." if self.outcome is RebalanceOutcome.RUNNING else "; it was cut short."


class Incident(Event, kw_only=True, omit_defaults=True, tag="incident"):
    """An incident of one client. Repetitions by the same client are counted in it."""

    what: IncidentKind
    member: ClientInfo = NOBODY
    other: ClientInfo = NOBODY  # the other side, if there is one
    error: str = ""  # of the answer, as Kafka names it
    api: str = ""  # of the request
    reason: str = ""
    generation: int = -1
    more: int = 0  # REBALANCE_SLOW: how many others are waited for, beside `member`
    waited_ms: int = -1  # REBALANCE_SLOW: so far; NOT_POLLING: since its last poll, the last time
    at_most_ms: int = -1  # REBALANCE_SLOW: how much longer it waits at most; NOT_POLLING: until the member leaves
    offered: list[str] = []  # JOIN_REFUSED: NAMED_AT_MOST assignors that the member offered
    times: int = 1
    others: int = 0  # how many of these times it was another client, which is not named: too many were alike
    last_ms: int = 0  # since the epoch, the last time; 0: only once

    def text(self) -> str:
        """Return the incident as one sentence."""
        return INCIDENT_TEXT[self.what](self)


def _slow(event: Incident) -> str:
    more = f" and {event.more} more" if event.more else ""
    who = f"{event.member.full_name}{more}" if event.member.is_known else WAIT_TEXT.get(event.reason, event.reason)
    longest = f", at most {duration(event.at_most_ms)} more" if event.at_most_ms >= 0 else ""
    return f"Group {event.group} has been rebalancing for {duration(event.waited_ms)}; it waits for {who}{longest}."


def _replaced(event: Incident) -> str:
    both = " and ".join(f"{client.client_id} on {client.host}" for client in (event.member, event.other))
    within = f" within {duration(event.last_ms - event.at_ms)}" if event.last_ms else ""
    return (
        f"Group {event.group}: {both} have one group.instance.id, {event.member.instance_id}, and take each other's "
        f"place, {event.times} times{within}. Give each process an id of its own."
    )


def _not_polling(event: Incident) -> str:
    return (
        f"Group {event.group}: {event.member.full_name} last polled {duration(event.waited_ms)} ago; it leaves in "
        f"{duration(event.at_most_ms)} unless it polls."
    )


def _refused(event: Incident) -> str:
    return f"Group {event.group}: {event.api} of {event.member.full_name} was refused with {event.error}."


WAIT_TEXT: Final = {
    Wait.NOTHING.value: "nothing",
    Wait.FIRST_MEMBERS.value: "more members (group.initial.rebalance.delay.ms)",
    Wait.JOINS.value: "a client that asked for a member id and did not come back",
    Wait.PLAN.value: "the assignments of its leader",
    Wait.DISK.value: "the disk of the coordinator",
    Wait.ASSIGNOR.value: "its assignor",
    Wait.REVOCATION.value: "a member that has to give up partitions",
    Wait.HEARTBEAT.value: "the next heartbeat of a member",
    Wait.RETURN.value: "a static member that is away",
}
INCIDENT_TEXT: Final[dict[IncidentKind, Callable[[Incident], str]]] = {
    **dict.fromkeys(IncidentKind, _refused),
    IncidentKind.REBALANCE_SLOW: _slow,
    IncidentKind.STATIC_MEMBER_REPLACED: _replaced,
    IncidentKind.NOT_POLLING: _not_polling,
    IncidentKind.ASSIGNOR_FAILED: lambda event: f"Group {event.group} keeps its assignment. {event.reason}".rstrip(),
    IncidentKind.GROUP_LOADED: lambda event: f"Group {event.group} was loaded; its sessions began anew.",
    IncidentKind.GROUP_UPGRADED: lambda event: (
        f"Group {event.group} is a consumer group (KIP-848) from epoch {event.generation} on, because "
        f"{event.member.full_name} joined with that protocol."
    ),
    IncidentKind.GROUP_DOWNGRADED: lambda event: (
        f"Group {event.group} is a classic group from generation {event.generation} on, because its last member of the "
        f"consumer protocol is gone: {event.member.full_name}."
    ),
}

AnyEvent = Rebalance | Incident


class LiveMember(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A member at this moment."""

    member: ClientInfo
    partitions: int = -1  # assigned; -1: not known
    has_joined: bool = False  # its JoinGroup waits for the others
    has_synced: bool = False  # its SyncGroup waits, or was answered in this generation
    is_leader: bool = False
    silent_ms: int = -1  # since its last request that renews the session; -1: it has a waiting request
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = 0
    protocols: list[str] = []
    topics: list[str] = []  # NAMED_AT_MOST of those it subscribes to
    # Of a KIP-848 group:
    revoking: int = 0  # partitions that it must still give up
    awaited: int = 0  # partitions of its target that others hold
    epoch: int = -1  # its member epoch; -2: a static member that is away
    step_ms: int = -1  # since it took its last step towards its target, or joined; -1: not known
    is_classic: bool = False  # it uses the classic protocol
    assigned: list[str] = []  # NAMED_AT_MOST topics with the partitions that it has, as in "orders 0-3, 7"
    target: list[str] = []  # and that it shall have
    giving_up: list[str] = []  # and that it must still give up
    unpolled_ms: int = -1  # since its last poll, when its client told (KIP-714); -1: not known
    told_ms: int = -1  # since its client told that


class PendingOffsets(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Offsets of a group that an open transaction has sent and not committed yet."""

    producer_id: int
    count: int  # of partitions
    partitions: list[str] = []  # NAMED_AT_MOST of them, as in "orders-0"
    since_ms: int = -1  # since the epoch: the first of them that is still there


class LiveGroup(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A group at this moment, as its coordinator sees it."""

    group: str
    at_ms: int
    state: str  # as Kafka names it; empty: not known
    since_ms: int = -1  # since the epoch; -1: not known
    loaded_at_ms: int = -1  # since the epoch: when this coordinator loaded the group's partition, or created it
    generation: int = 0
    protocol_type: str = ""
    protocol: str = ""
    partitions: int = -1  # assigned; -1: not known
    member_count: int = 0
    waits: Wait = Wait.NOTHING
    waits_for: list[ClientInfo] = []  # NAMED_AT_MOST members that have not joined, or not synced, in this rebalance
    waits_for_count: int = 0
    waits_at_most_ms: int = -1  # until the deadline of the current phase
    members: list[LiveMember] = []  # SHOWN_AT_MOST, those that are waited for first
    rebalance: Rebalance | None = None  # the current one
    rebalances: int = 0  # since the coordinator started
    commits_refused: int = 0
    fencings: int = 0
    version: int = SCHEMA_VERSION
    type: str = "classic"  # classic, consumer, share, streams
    # Of a KIP-848 group, whose `generation` is the group epoch:
    assignment_epoch: int = -1  # of the target
    classic_members: int = 0  # members that use the classic protocol
    unmatched: list[str] = []  # NAMED_AT_MOST subscribed names without a topic, and regular expressions
    pending_offsets: list[PendingOffsets] = []  # NAMED_AT_MOST transactions with offsets of this group


class HoldingTransaction(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """An open transaction, as its coordinator tells of it."""

    producer_id: int
    transactional_id: str = ""  # empty: no coordinator tells of it
    state: str = ""  # Ongoing, PrepareCommit or PrepareAbort; empty: not known
    start_ms: int = -1  # since the epoch; of one that no coordinator tells of: its last batch in the partition
    timeout_ms: int = -1
    is_hanging: bool = False  # all coordinators were asked, and none has it open


class HeldPartition(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A partition where a group can read no more committed records, because a transaction is open there."""

    topic: str
    partition: int
    committed: int  # by the group
    last_stable_offset: int
    high_watermark: int
    transaction: HoldingTransaction

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


class Story(msgspec.Struct, kw_only=True, omit_defaults=True):
    """All that is known of a group: its state (None: there is no such group now) and its events, oldest first."""

    at_ms: int
    state: LiveGroup | None = None
    events: list[AnyEvent] = []
    version: int = SCHEMA_VERSION
    unknown: list[str] = []  # observed: sentences, each names what the log of another cluster does not tell
    # Asked of the leaders of the partitions and of the transaction coordinators, by the command or the console:
    held: list[HeldPartition] = []  # those with the most records behind the last stable offset first
    offsets_pending_in: list[HoldingTransaction] = []  # the transactions of `state.pending_offsets`


_T = TypeVar("_T")

_ENCODER: Final = msgspec.json.Encoder()
_EVENTS: Final = msgspec.json.Decoder(AnyEvent)
_STORIES: Final = msgspec.json.Decoder(Story)


def encode(record: AnyEvent | LiveGroup | Story) -> bytes:
    """Return the JSON of a record."""
    return _ENCODER.encode(record)


def decode_event(data: bytes) -> AnyEvent:
    """Decode one event. Raises msgspec.DecodeError or msgspec.ValidationError."""
    event: AnyEvent = _decoded(_EVENTS, data)
    return event


def decode_story(data: bytes) -> Story:
    """Decode a story. Raises msgspec.DecodeError or msgspec.ValidationError."""
    return _decoded(_STORIES, data)


def _decoded(decoder: msgspec.json.Decoder[_T], data: bytes) -> _T:
    try:
        return decoder.decode(data)
    except (UnicodeDecodeError, RecursionError) as error:  # msgspec lets these two through
        raise msgspec.DecodeError(str(error)) from None
