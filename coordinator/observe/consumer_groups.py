"""A KIP-848 group: its members and epochs, the rebalances that its records tell, and its present state.

A rebalance begins when the group epoch grows, and ends when each member has reached the target assignment of that
epoch. All records of one heartbeat have one timestamp, and between two of them a group can look settled; so a rebalance
is ended by the first record of a later time (`_settle`). Until then `over` shows it to those who ask.

Further changes before the target assignment is computed belong to the same rebalance; later ones interrupt it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from coordinator.core.events.model import (
    GONE,
    NAMED_AT_MOST,
    NOBODY,
    SHOWN_AT_MOST,
    AnyEvent,
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    Incident,
    IncidentKind,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Trigger,
    Wait,
    shortened,
)
from coordinator.observe.changes import counted, trigger_of_change, unknown_trigger
from coordinator.observe.consumer_members import AWAY, NO_PARTITIONS, MemberState, ObservedConsumerMember
from coordinator.observe.departures import as_dropped, as_expired, took_whole_timeout, went
from coordinator.observe.generations import SeenGeneration
from coordinator.observe.moves import Owners, Partitions, count_of, key_of_member, moves, owners_of
from coordinator.observe.offsets import LastCommit
from protocol.group_records import RecordKind, Value
from protocol.messages.consumer_group_records import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMetadataValue,
)

LastCommits = Callable[[Partitions, int], LastCommit]
CONSUMER: Final = "consumer"
FIRST_EPOCH: Final = 2  # of a new group, in every release
OVER: Final = {"Stable": RebalanceOutcome.STABLE, "Empty": RebalanceOutcome.EMPTY}


@dataclass(slots=True)
class _Running:
    """A rebalance that is not over."""

    at_ms: int
    trigger: Trigger
    previous_epoch: int
    members_before: int
    owners_before: Owners
    clients: dict[str, ClientInfo]
    changes: list[Change]
    assigned_ms: int = -1  # when the target assignment was there
    last_to_revoke: ClientInfo = NOBODY
    last_revoke_ms: int = -1
    unowned_ms: int = 0
    free_since: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(slots=True)
class ObservedConsumerGroup:
    """The members of a group, and its rebalance if one runs."""

    group: str
    session_timeout_ms: int = 0  # of the coordinator, for members of the new protocol; 0: not known
    most_members: int = 20_000
    epoch: int = -1  # -1: not known
    assignment_epoch: int = -1
    members: dict[str, ObservedConsumerMember] = field(default_factory=dict)
    stable_since_ms: int = -1
    running: _Running | None = None
    left_out: int = 0  # members beyond the bound
    _last_ms: int = -1  # of the newest record
    _metadata_hash: int = 0
    _pending: list[Change] = field(default_factory=list)  # changes that have not led to a new epoch yet
    _departed: dict[str, ObservedConsumerMember] = field(
        default_factory=dict
    )  # static members of this moment, by instance id
    _topics_changed: bool = False
    _gone_owners: Owners = field(default_factory=dict)  # of this moment: partitions of members that went

    def convert(self, generation: SeenGeneration | None) -> None:
        """Take over the members of the classic group that this group was until now (an online upgrade)."""
        if generation is None or not generation.members:
            return
        self.epoch = generation.number
        for member_id, member in generation.members.items():
            self.members[member_id] = ObservedConsumerMember(member.client, is_described=True, topics=member.topics)

    @property
    def state(self) -> str:
        """The state by Kafka's names."""
        if not self.members:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        return "Stable" if self._is_reconciled else "Reconciling"

    @property
    def _is_reconciled(self) -> bool:
        return all(each.has_reached(self.assignment_epoch) for each in self.members.values())

    def apply(
        self, at_ms: int, kind: RecordKind, member_id: str, value: Value | None, last_commits: LastCommits
    ) -> list[AnyEvent]:
        """Take a record and return the events that end before it."""
        events = self._settle(at_ms)
        self._last_ms = max(self._last_ms, at_ms)
        if isinstance(value, ConsumerGroupMetadataValue):
            events += self._new_epoch(at_ms, value)
        elif isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
            self.assignment_epoch = value.assignment_epoch
            if self.running is not None and self.running.assigned_ms < 0 and value.assignment_epoch >= self.epoch:
                self.running.assigned_ms = at_ms
        elif isinstance(value, ConsumerGroupMemberMetadataValue):
            events += self._described(at_ms, member_id, value)
        elif isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
            self._owns(at_ms, member_id, value)
        elif kind is RecordKind.CONSUMER_MEMBER:
            self._gone(at_ms, member_id, last_commits)
        elif kind in (RecordKind.CONSUMER_TOPICS, RecordKind.CONSUMER_REGEX):
            self._topics_changed = True
        elif kind is RecordKind.CONSUMER_TARGET_EPOCH:
            self.assignment_epoch = -1
        return events

    def _settle(self, at_ms: int) -> list[AnyEvent]:
        """Return the rebalance if it was over before `at_ms`."""
        if at_ms <= self._last_ms:
            return []
        self._departed.clear()
        self._gone_owners = {}
        self._pending = []  # a change and its epoch have one timestamp
        event = self.over()
        if event is None:
            return []
        self._ended()
        return [event]

    def over(self) -> Rebalance | None:
        """Return the rebalance if it is over and no event yet."""
        if self.running is None or self.state not in OVER:
            return None
        return self.event(OVER[self.state], self._last_ms)

    # -- records -----------------------------------------------------------------------------------------------

    def _new_epoch(self, at_ms: int, value: ConsumerGroupMetadataValue) -> list[AnyEvent]:
        former, self.epoch = self.epoch, value.epoch
        is_other_hash = value.metadata_hash != self._metadata_hash
        self._metadata_hash = value.metadata_hash
        pending, self._pending = self._pending, []
        topics_changed, self._topics_changed = self._topics_changed, False
        if (former < 0 and value.epoch > FIRST_EPOCH) or (value.epoch <= former and not pending):
            return []  # the first record that is known of a group that existed before, or a repetition
        running = self.running
        if running is not None and running.assigned_ms < 0:
            running.changes += [_at(each, at_ms - running.at_ms) for each in pending][: 2 * NAMED_AT_MOST]
            return []
        events: list[AnyEvent] = []
        if running is not None:
            events.append(self.event(RebalanceOutcome.INTERRUPTED, at_ms))
        if pending:
            trigger = trigger_of_change(pending[0])
        elif is_other_hash or topics_changed:
            trigger = Trigger(Cause.TOPICS_CHANGED)
        else:
            trigger = unknown_trigger()
        came = sum(each.kind is ChangeKind.JOINED for each in pending)
        went_away = sum(each.kind in GONE for each in pending)
        owners = self._owners()
        self.running = _Running(
            at_ms=at_ms,
            trigger=trigger,
            previous_epoch=max(former, 0),
            members_before=len(self.members) - came + went_away,
            owners_before={**self._gone_owners, **owners},
            clients={each.key: each.client for each in self.members.values()}
            | {key_of_member(each.member): each.member for each in pending},
            changes=pending,
            free_since=dict.fromkeys(self._gone_owners.keys() - owners.keys(), at_ms),
        )
        return events

    def _described(self, at_ms: int, member_id: str, value: ConsumerGroupMemberMetadataValue) -> list[AnyEvent]:
        member = self.members.get(member_id)
        if member is None:
            member = self._member(member_id)
            if member is None:
                return []
        is_new = not member.is_described
        is_changed = member.describe(member_id, value)
        member.heard_ms = at_ms
        former = self._departed.pop(member.client.instance_id, None) if member.client.instance_id else None
        if former is not None:
            self._pending = [each for each in self._pending if each.member != former.client]
            member.assigned, member.revoking, member.epoch = former.assigned, former.revoking, former.epoch
            return [
                Incident(
                    group=shortened(self.group),
                    at_ms=at_ms,
                    what=IncidentKind.STATIC_MEMBER_REPLACED,
                    member=member.client,
                    other=former.client,
                    generation=self.epoch,
                )
            ]
        if is_new or is_changed:
            self._change(_change(ChangeKind.JOINED if is_new else ChangeKind.RESUBSCRIBED, member))
        return []

    def _member(self, member_id: str) -> ObservedConsumerMember | None:
        """Return a new member; None: there are too many. Compaction may leave its records in any order."""
        if len(self.members) >= self.most_members:
            self.left_out += 1
            return None
        return self.members.setdefault(member_id, ObservedConsumerMember(ClientInfo(member_id=shortened(member_id))))

    def _owns(self, at_ms: int, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue) -> None:
        member = self.members.get(member_id) or self._member(member_id)
        if member is None:
            return
        was_revoking = member.state is MemberState.UNREVOKED_PARTITIONS
        owned = member.owned
        member.own(at_ms, value)
        if value.member_epoch != AWAY:
            member.heard_ms = at_ms
        running = self.running
        if running is not None:
            if was_revoking and member.state is not MemberState.UNREVOKED_PARTITIONS:
                running.last_to_revoke, running.last_revoke_ms = member.client, at_ms - running.at_ms
            _note_free(running, at_ms, owned, member.owned)

    def _gone(self, at_ms: int, member_id: str, last_commits: LastCommits) -> None:
        member = self.members.pop(member_id, None)
        if member is None:
            return
        if member.client.instance_id:
            self._departed[member.client.instance_id] = member
        self._gone_owners |= owners_of([(member.key, member.owned)])
        last = last_commits(member.owned, at_ms)
        heard_ms = max(last.at_ms, member.heard_ms)
        change = went(
            member.client,
            gone_ms=at_ms,
            heard_ms=heard_ms if last.is_exact else -1,
            alive_ms=member.heard_ms,  # a commit does not renew the session
            session_timeout_ms=member.session_timeout_ms or self.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
        )
        waited_ms = at_ms - member.state_since_ms
        if member.epoch == AWAY:
            change = as_expired(change)
        elif member.state is MemberState.UNREVOKED_PARTITIONS and took_whole_timeout(
            waited_ms, member.rebalance_timeout_ms
        ):
            change = as_dropped(change)
        self._change(change)
        running = self.running
        if running is not None:
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                running.last_to_revoke, running.last_revoke_ms = member.client, at_ms - running.at_ms
            _note_free(running, at_ms, member.owned, NO_PARTITIONS)

    def _change(self, change: Change) -> None:
        if len(self._pending) < 2 * NAMED_AT_MOST:
            self._pending.append(change)

    # -- rebalances --------------------------------------------------------------------------------------------

    def _owners(self) -> Owners:
        return owners_of((each.key, each.owned) for each in self.members.values())

    def _ended(self) -> None:
        self.running = None
        self.stable_since_ms = self._last_ms

    def event(self, outcome: RebalanceOutcome, now_ms: int) -> Rebalance:
        """Return the record of the rebalance as it is now; one must run."""
        running = self.running
        assert running is not None
        owners = self._owners()
        clients = running.clients | {each.key: each.client for each in self.members.values()}
        found = moves(running.owners_before, owners, clients)
        named, counts = counted(running.changes)
        assigned_ms = running.assigned_ms
        if assigned_ms < 0 and outcome is RebalanceOutcome.EMPTY:
            assigned_ms = now_ms
        return Rebalance(
            group=shortened(self.group),
            at_ms=running.at_ms,
            trigger=running.trigger,
            outcome=outcome,
            previous_generation=running.previous_epoch,
            generation=self.epoch,
            members_before=running.members_before,
            members_after=len(self.members),
            join_ms=assigned_ms - running.at_ms if assigned_ms >= 0 else -1,
            plan_ms=0 if assigned_ms >= 0 else -1,
            sync_ms=now_ms - assigned_ms if assigned_ms >= 0 else -1,
            changes=named,
            counts=counts,
            rebalance_timeout_ms=max((each.rebalance_timeout_ms for each in self.members.values()), default=0),
            protocol=self._assignor,
            partitions=len(owners),
            partitions_moved=found.moved,
            unowned_partition_ms=running.unowned_ms,
            shares=[] if outcome is RebalanceOutcome.RUNNING else found.shares,
            last_to_revoke=running.last_to_revoke,
            last_revoke_ms=running.last_revoke_ms,
            type=CONSUMER,
        )

    @property
    def _assignor(self) -> str:
        """The assignor that most members ask for; empty: the coordinator's default."""
        votes: dict[str, int] = {}
        for member in self.members.values():
            if member.assignor:
                votes[member.assignor] = votes.get(member.assignor, 0) + 1
        return shortened(max(votes, key=lambda name: votes[name], default=""))

    # -- the present -------------------------------------------------------------------------------------------

    def owned(self) -> dict[str, tuple[ClientInfo, Partitions]]:
        """Return the clients and their partitions by key."""
        return {each.key: (each.client, each.owned) for each in self.members.values()}

    def live(self, now_ms: int) -> LiveGroup | None:
        """Return the present state; None: there is no such group."""
        if self.epoch < 0 and not self.members:
            return None
        waits, waited_for, at_most_ms = self._waits(now_ms)
        shown = sorted(self.members.values(), key=lambda each: each not in waited_for)[:SHOWN_AT_MOST]
        running = self.running if self.state not in OVER else None
        since_ms = self.stable_since_ms if self.running is None else self._last_ms
        return LiveGroup(
            group=shortened(self.group),
            at_ms=now_ms,
            state=self.state,
            since_ms=running.at_ms if running is not None else since_ms,
            generation=max(self.epoch, 0),
            protocol_type=CONSUMER,
            protocol=self._assignor,
            partitions=sum(count_of(each.owned) for each in self.members.values()),
            member_count=len(self.members),
            waits=waits,
            waits_for=[each.client for each in waited_for[:NAMED_AT_MOST]],
            waits_for_count=len(waited_for),
            waits_at_most_ms=at_most_ms,
            members=[self._live_member(each) for each in shown],
            rebalance=self.event(RebalanceOutcome.RUNNING, now_ms) if running is not None else None,
            type=CONSUMER,
        )

    def _live_member(self, member: ObservedConsumerMember) -> LiveMember:
        return LiveMember(
            member=member.client,
            partitions=count_of(member.owned),
            session_timeout_ms=member.session_timeout_ms or self.session_timeout_ms,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            protocols=[member.assignor] if member.assignor else [],
            topics=[*sorted(member.topics), *([member.regex] if member.regex else [])][:NAMED_AT_MOST],
            revoking=member.revoking_count,
        )

    def _waits(self, now_ms: int) -> tuple[Wait, list[ObservedConsumerMember], int]:
        """Return what the rebalance waits for, the members, and for how long it can be at most."""
        if self.running is None or self.epoch > self.assignment_epoch:
            return Wait.NOTHING, [], -1
        revoking = [each for each in self.members.values() if each.state is MemberState.UNREVOKED_PARTITIONS]
        if revoking:
            ends = [each.state_since_ms + each.rebalance_timeout_ms for each in revoking]
            return Wait.REVOCATION, revoking, max(max(ends) - now_ms, 0)
        behind = [
            each
            for each in self.members.values()
            if not each.has_reached(self.assignment_epoch) and each.state is not MemberState.UNRELEASED_PARTITIONS
        ]
        return (Wait.HEARTBEAT, behind, -1) if behind else (Wait.NOTHING, [], -1)


def _note_free(running: _Running, at_ms: int, before: Partitions, after: Partitions) -> None:
    """Count how long partitions are without an owner."""
    old = {(topic, number) for topic, numbers in before.items() for number in numbers}
    new = {(topic, number) for topic, numbers in after.items() for number in numbers}
    for place in old - new:
        running.free_since[place] = at_ms
    for place in new - old:
        running.unowned_ms += at_ms - running.free_since.pop(place, at_ms)


def _change(kind: ChangeKind, member: ObservedConsumerMember) -> Change:
    return Change(kind, member.client, rebalance_timeout_ms=member.rebalance_timeout_ms)


def _at(change: Change, after_ms: int) -> Change:
    return Change(
        change.kind,
        change.member,
        after_ms,
        change.reason,
        change.session_timeout_ms,
        change.rebalance_timeout_ms,
        change.silent_ms,
    )
