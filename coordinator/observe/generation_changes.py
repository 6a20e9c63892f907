"""The members that came, went or changed between two generations, and which of that began the rebalance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, TypeAlias

from coordinator.core.events.model import (
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    Incident,
    IncidentKind,
    Trigger,
    shortened,
)
from coordinator.observe.changes import trigger_of_change, unknown_trigger
from coordinator.observe.departures import as_dropped, took_whole_timeout, went
from coordinator.observe.described import Polls
from coordinator.observe.generations import NO_PARTITIONS, SeenGeneration, SeenMember
from coordinator.observe.moves import Owners, Partitions
from coordinator.observe.offsets import LastCommit

LastCommits: TypeAlias = Callable[[Partitions, int], LastCommit]
"""Returns the last commit of some partitions until a moment."""

MEMBERSHIP: Final = frozenset({ChangeKind.JOINED, ChangeKind.LEFT, ChangeKind.GONE, ChangeKind.DROPPED})


def replacements(group: str, before: SeenGeneration, after: SeenGeneration) -> list[Incident]:
    """Return the static members that were replaced by their next run."""
    return [
        Incident(
            group=shortened(group),
            at_ms=after.at_ms,
            what=IncidentKind.STATIC_MEMBER_REPLACED,
            member=new.client,
            other=former.client,
            generation=after.number,
        )
        for former, new in _same_instances(before, after)
    ]


def changes_between(
    before: SeenGeneration, after: SeenGeneration, polls: Polls, last_commits: LastCommits
) -> list[Change]:
    """Return the changes of the members: replaced ones, those that went, and those that came or changed."""
    same_instances = list(_same_instances(before, after))
    former_ids = {former.client.member_id for former, _ in same_instances}
    new_ids = {new.client.member_id for _, new in same_instances}
    found = [_change(ChangeKind.REPLACED, new) for _, new in same_instances]
    for member_id, member in before.members.items():
        if member_id not in after.members and member.client.member_id not in former_ids:
            found.append(_departure(before, after, member_id, member, polls, last_commits))
    for member_id, member in after.members.items():
        former = before.members.get(member_id)
        if former is None:
            if member.client.member_id not in new_ids:
                found.append(_change(ChangeKind.JOINED, member))
        elif former.topics != member.topics:
            found.append(_change(ChangeKind.RESUBSCRIBED, member))
    return found


def _same_instances(before: SeenGeneration, after: SeenGeneration) -> Iterator[tuple[SeenMember, SeenMember]]:
    """Yield the former and the new run of each static member that has another member id now."""
    instances = {each.client.instance_id: each for each in after.members.values() if each.client.instance_id}
    for former in before.members.values():
        new = instances.get(former.client.instance_id)
        if new is not None and new.client.member_id != former.client.member_id:
            yield former, new


def _change(kind: ChangeKind, member: SeenMember) -> Change:
    return Change(
        kind,
        member.client,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
    )


def _departure(
    before: SeenGeneration,
    after: SeenGeneration,
    member_id: str,
    member: SeenMember,
    polls: Polls,
    last_commits: LastCommits,
) -> Change:
    absent_ms = polls.absent_since_ms(member_id)
    gone_ms = after.at_ms if absent_ms < 0 else min(absent_ms, after.at_ms)
    last = last_commits(member.partitions or NO_PARTITIONS, gone_ms)
    alive_ms = max(last.at_ms, before.at_ms)  # the record of a generation is written when all members are there
    change = went(
        member.client,
        gone_ms=gone_ms,
        heard_ms=alive_ms if last.is_exact else -1,
        alive_ms=alive_ms,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
    )
    if (
        polls.began_ms >= 0
        and took_whole_timeout(after.at_ms - polls.began_ms, before.rebalance_timeout_ms)
        and polls.was_member_at_end(member_id, after.at_ms)
        and not member.client.instance_id  # a static member is not dropped
    ):
        return as_dropped(change, after.at_ms - polls.began_ms)
    return change


def trigger_between(
    before: SeenGeneration, after: SeenGeneration, changes: Sequence[Change], polls: Polls, last_owner: Owners
) -> Trigger:
    """Return what began the rebalance, or that it is not known."""
    if not before.members:
        return _trigger_of_first_members(after, changes)
    first = polls.first_change
    if first is not None:
        same = (each for each in changes if each.member.member_id == first.member.member_id)
        return trigger_of_change(next(same, first))
    causes = [each for each in changes if each.kind is not ChangeKind.DROPPED]
    if polls.is_same_members:
        causes = [each for each in causes if each.kind not in MEMBERSHIP]
    if not causes:
        return _trigger_without_changes(before, after, last_owner)
    if len({each.kind for each in causes}) == 1:
        return trigger_of_change(causes[0])
    back = _left_and_came_back(causes)
    if back is not None:
        return trigger_of_change(back)
    is_one_client = len({(each.member.client_id, each.member.host) for each in causes}) == 1
    return unknown_trigger(causes[0].member if is_one_client else None)


def _trigger_of_first_members(after: SeenGeneration, changes: Sequence[Change]) -> Trigger:
    """Return the trigger for a group that was empty: Kafka makes the member its leader that joined first."""
    joined = {each.member.member_id: each for each in changes if each.kind is ChangeKind.JOINED}
    first = joined.get(after.leader.member_id) or next(iter(joined.values()), None)
    return trigger_of_change(first) if first is not None else unknown_trigger()


def _left_and_came_back(causes: Sequence[Change]) -> Change | None:
    """Return the departure of a client that left and joined again: it cannot have been the other way around."""
    came = {(each.member.client_id, each.member.host) for each in causes if each.kind is ChangeKind.JOINED}
    left = [each for each in causes if each.kind is ChangeKind.LEFT]
    back = [each for each in left if (each.member.client_id, each.member.host) in came]
    return back[0] if len(back) == len(causes) - len(came) == 1 else None


def _trigger_without_changes(before: SeenGeneration, after: SeenGeneration, last_owner: Owners) -> Trigger:
    """Return the trigger of a rebalance after which the members and their topics are the same.

    A cooperative assignor first takes partitions away, and the members that lost them rejoin. A leader rejoins when its
    topics get partitions. Otherwise the leader is a suspect: of members that rejoin with the metadata that they had,
    only the leader begins a rebalance. Other metadata than the topics may have changed, as sticky assignors have it.
    """
    owned = before.owners
    losers = {key for place, key in last_owner.items() if place not in owned}
    members = {each.key: each for each in before.members.values()}
    rejoined = [members[key] for key in losers if key in members]
    if before.is_cooperative and rejoined:
        return Trigger(Cause.PROTOCOLS_CHANGED, rejoined[0].client if len(rejoined) == 1 else ClientInfo())
    if last_owner and after.owners.keys() - last_owner.keys():
        return Trigger(Cause.LEADER_REJOINED, before.leader)
    return unknown_trigger(before.leader)
