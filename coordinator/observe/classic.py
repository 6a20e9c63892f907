"""A classic group: its last generation, the events that the next one tells, and its present state.

Kafka writes a record when a generation is complete, when a static member is replaced and when the group is empty. Two
successive records tell who came, who went and which partitions moved. When a rebalance began, and for which member it
waited, is not in the log; answers to DescribeGroups bound it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from coordinator.core.events.model import (
    NAMED_AT_MOST,
    NOBODY,
    SHOWN_AT_MOST,
    AnyEvent,
    Change,
    ChangeKind,
    ClientInfo,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Trigger,
    Wait,
    shortened,
)
from coordinator.observe.changes import counted, trigger_of_change, unknown_trigger
from coordinator.observe.described import SETTLED, Polls, description
from coordinator.observe.generation_changes import LastCommits, changes_between, replacements, trigger_between
from coordinator.observe.generations import NO_PARTITIONS, SeenGeneration, SeenMember, generation_of
from coordinator.observe.moves import Owners, Partitions, count_of, moves
from protocol.offsets_records import GroupValue

PREPARING: Final = "PreparingRebalance"
NEVER: Final = SeenGeneration(-1, -1, 0, "", "", "", {})


@dataclass(slots=True)
class ClassicGroup:
    """The last record of a group, and what was described since."""

    group: str
    generation: SeenGeneration | None = None
    polls: Polls = field(default_factory=Polls)
    _last_owner: Owners = field(default_factory=dict)  # of each partition, also of one that has no owner now

    def apply(self, at_ms: int, value: GroupValue, last_commits: LastCommits) -> list[AnyEvent]:
        """Take a record and return the events that it tells."""
        before, after = self.generation, generation_of(at_ms, value)
        if before is None and after.number == 1 and after.members:
            before = NEVER
        self.generation = after
        events: list[AnyEvent] = []
        if before is None:
            pass  # an earlier record may have been compacted away
        elif after.number == before.number and after.members and before.members:
            events += replacements(self.group, before, after)
        elif after.members or before.members:
            events += replacements(self.group, before, after)
            events.append(self._rebalance(before, after, last_commits))
        self._last_owner = self._owners_after(before, after)
        self.polls = Polls()
        return events

    def _rebalance(self, before: SeenGeneration, after: SeenGeneration, last_commits: LastCommits) -> Rebalance:
        changes = changes_between(before, after, self.polls, last_commits)
        named, counts = counted(changes)
        owners = after.owners
        clients = {each.key: each.client for each in (*before.members.values(), *after.members.values())}
        moved = moves(before.owners, owners, clients)
        began_ms = self.polls.began_ms
        stayed = _only_one(before, after.members) if began_ms >= 0 else None
        return Rebalance(
            group=shortened(self.group),
            at_ms=began_ms if began_ms >= 0 else after.at_ms,
            trigger=trigger_between(before, after, changes, self.polls, self._last_owner),
            outcome=RebalanceOutcome.STABLE if after.members else RebalanceOutcome.EMPTY,
            previous_generation=before.number,
            generation=after.number,
            members_before=len(before.members),
            members_after=len(after.members),
            sync_ms=after.at_ms - began_ms if began_ms >= 0 else -1,
            changes=named,
            counts=counts,
            leader=after.leader,
            last_to_join=stayed or NOBODY,
            rebalance_timeout_ms=after.rebalance_timeout_ms or before.rebalance_timeout_ms,
            protocol=after.protocol,
            partitions=len(owners) if after.has_known_owners else -1,
            partitions_moved=self._moved(owners) if after.has_known_owners else -1,
            unowned_partition_ms=-1,
            shares=moved.shares if after.has_known_owners else [],
        )

    def _moved(self, owners: Owners) -> int:
        """Return how many partitions went to another member than their last owner."""
        last = self._last_owner
        return sum(last.get(place, key) != key for place, key in owners.items())

    def _owners_after(self, before: SeenGeneration | None, after: SeenGeneration) -> Owners:
        """Return the last owners. A partition that has none keeps its last one for one generation."""
        if before is None or not after.members:
            return after.owners
        return {**before.owners, **after.owners}

    def described(self, now_ms: int, state: str, members: Sequence[ClientInfo]) -> None:
        """Take an answer to DescribeGroups."""
        known = self.generation.members if self.generation is not None else {}
        self.polls.add(description(now_ms, state, members), known)

    def owned(self) -> dict[str, tuple[ClientInfo, Partitions]]:
        """Return the clients and their partitions by key."""
        generation = self.generation
        members = generation.members.values() if generation is not None else ()
        return {each.key: (each.client, each.partitions or NO_PARTITIONS) for each in members}

    def running(self, now_ms: int) -> Rebalance | None:
        """Return the rebalance that runs, as far as DescribeGroups told."""
        began_ms = self.polls.began_ms
        if began_ms < 0 or self.polls.last is None:
            return None
        before = self.generation or NEVER
        named, counts = counted(self._changes_so_far(before))
        return Rebalance(
            group=shortened(self.group),
            at_ms=began_ms,
            trigger=self._trigger_so_far(before),
            outcome=RebalanceOutcome.RUNNING,
            previous_generation=before.number,
            generation=before.number,
            members_before=len(before.members),
            sync_ms=now_ms - began_ms,
            changes=named,
            counts=counts,
            rebalance_timeout_ms=before.rebalance_timeout_ms,
            protocol=before.protocol,
            partitions_moved=-1,
            unowned_partition_ms=-1,
        )

    def _trigger_so_far(self, before: SeenGeneration) -> Trigger:
        first = self.polls.first_change
        if first is None:
            return unknown_trigger()
        member = before.members.get(first.member.member_id)
        return trigger_of_change(
            first if member is None else Change(first.kind, member.client, 0, "", member.session_timeout_ms)
        )

    def _changes_so_far(self, before: SeenGeneration) -> list[Change]:
        last = self.polls.last
        present = last.members if last is not None else {}
        came = [Change(ChangeKind.JOINED, client) for each, client in present.items() if each not in before.members]
        gone = [
            Change(ChangeKind.GONE, member.client) for each, member in before.members.items() if each not in present
        ]
        return [*gone, *came]

    def _waits_for(self, generation: SeenGeneration) -> ClientInfo | None:
        """Return the member that the others wait for, if it is the only one of the generation that has not gone."""
        last = self.polls.last
        return _only_one(generation, last.members) if last is not None and last.state == PREPARING else None

    def is_running(self, now_ms: int) -> bool:
        """Return whether DescribeGroups told lately that a rebalance runs."""
        described = self.polls.state_at(now_ms)
        return bool(described) and described not in SETTLED

    def state(self, now_ms: int) -> str:
        """Return the state by Kafka's names."""
        if self.is_running(now_ms):
            return self.polls.state_at(now_ms)
        return "Stable" if self.generation is not None and self.generation.members else "Empty"

    def live(self, now_ms: int) -> LiveGroup | None:
        """Return the present state; None: there is no such group."""
        is_running = self.is_running(now_ms)
        running = self.running(now_ms) if is_running else None
        generation = self.generation or (NEVER if running is not None else None)
        if generation is None:
            return None
        waits_for = self._waits_for(generation) if running is not None else None
        members = [_live_member(each, generation) for each in generation.members.values()]
        if running is not None and self.polls.last is not None:
            present = self.polls.last.members
            members = [each for each in members if each.member.member_id in present]
            members += [LiveMember(member=present[each]) for each in present if each not in generation.members]
        return LiveGroup(
            group=shortened(self.group),
            at_ms=now_ms,
            state=self.state(now_ms),
            since_ms=running.at_ms if running is not None else max(generation.since_ms, generation.at_ms),
            generation=generation.number,
            protocol_type=generation.protocol_type,
            protocol=generation.protocol,
            partitions=len(generation.owners) if generation.has_known_owners else -1,
            member_count=len(members),
            waits=Wait.JOINS if waits_for is not None else Wait.NOTHING,
            waits_for=[waits_for] if waits_for is not None else [],
            waits_for_count=0 if waits_for is None else 1,
            members=members[:SHOWN_AT_MOST],
            rebalance=running,
        )


def _live_member(member: SeenMember, generation: SeenGeneration) -> LiveMember:
    return LiveMember(
        member=member.client,
        partitions=count_of(member.partitions) if member.partitions is not None else -1,
        is_leader=member.client == generation.leader,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        protocols=[generation.protocol] if generation.protocol else [],
        topics=sorted(member.topics)[:NAMED_AT_MOST],
    )


def _only_one(before: SeenGeneration, members: Collection[str]) -> ClientInfo | None:
    """Return the only former member among these ids, if the others are new: those have joined by coming."""
    stayed = [member.client for member_id, member in before.members.items() if member_id in members]
    return stayed[0] if len(stayed) == 1 < len(members) else None
