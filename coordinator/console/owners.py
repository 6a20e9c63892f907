"""The ownership ribbon of a group of this coordinator.

Of a classic group it comes from the generations that the coordinator keeps, of a KIP-848 group from the changes of its
members. A group that has changed its protocol has both, one time behind the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from coordinator.console.facts import seams
from coordinator.console.model import Ribbon, RibbonMember
from coordinator.console.names import member_names
from coordinator.console.ribbon import ribbon
from coordinator.core.events.model import LiveGroup, Story
from coordinator.core.events.owners import GenerationOwners, Holder, MemberOwns, OwnersAnswer
from coordinator.core.events.ownership_log import OwnerChange
from protocol.consumer import decode_assignment
from protocol.errors import DecodeError

COOPERATIVE: Final = "cooperative-sticky"  # its members keep their partitions while they rejoin
REBALANCING: Final = frozenset({"PreparingRebalance", "CompletingRebalance"})


def ribbon_of(story: Story, owners: OwnersAnswer) -> Ribbon | None:
    """Return the ribbon over all that is kept; None if nothing is."""
    if not owners.generations and not owners.changes:
        return None
    state = story.state
    now = {each.member.instance_id or each.member.member_id for each in state.members} if state is not None else set()
    clients: dict[str, Holder | MemberOwns] = {
        holder.key: holder for generation in owners.generations for holder in generation.holders
    }
    clients |= {change.key: change for change in owners.changes}
    names = member_names((key, holder.client_id) for key, holder in clients.items())
    members = {
        key: RibbonMember(key=key, name=names[key], client_id=holder.client_id, host=holder.host, is_member=key in now)
        for key, holder in clients.items()
    }
    changes = [*_changes(owners.generations)]
    if state is not None and owners.generations:
        changes += _given_up_now(state, owners.generations[-1], now)
    changes += [OwnerChange(each.at_ms, each.key, each.partitions) for each in owners.changes]
    since_ms = min(
        [each.at_ms for each in owners.generations[:1]] + [owners.changes_from_ms for _ in owners.changes[:1]]
    )
    return ribbon(
        changes, members, seams(story), from_ms=since_ms, until_ms=max(story.at_ms, since_ms), known_from_ms=since_ms
    )


def _changes(generations: list[GenerationOwners]) -> Iterator[OwnerChange]:
    before: set[str] = set()
    for generation in generations:
        gone = before - {holder.key for holder in generation.holders}
        for at_ms, key in generation.gave_up:
            gone.discard(key)
            yield OwnerChange(at_ms, key, {})
        for key in gone:
            yield OwnerChange(generation.at_ms, key, {})
        for holder in generation.holders:
            yield OwnerChange(generation.at_ms, holder.key, partitions_of(holder.assignment))
        before = {holder.key for holder in generation.holders}


def _given_up_now(state: LiveGroup, newest: GenerationOwners, now: set[str]) -> Iterator[OwnerChange]:
    """Yield what members have given up in the rebalance that is running. Its beginning stands for each one's time."""
    if state.state not in REBALANCING or state.rebalance is None:
        return
    at_ms = max(state.rebalance.at_ms, newest.at_ms)
    has_joined = {each.member.instance_id or each.member.member_id for each in state.members if each.has_joined}
    all_joined = state.state != "PreparingRebalance"
    for holder in newest.holders:
        is_gone = holder.key not in now and len(state.members) == state.member_count
        gave_up = state.protocol != COOPERATIVE and (all_joined or holder.key in has_joined)
        if is_gone or gave_up:
            yield OwnerChange(at_ms, holder.key, {})


@lru_cache(maxsize=4096)  # an assignment often stays from one generation to the next
def partitions_of(assignment: bytes) -> dict[str, list[int]]:
    """Return the partitions by topic of an assignment; none if it is in an unknown format. Must not be changed."""
    try:
        return {each.topic: each.partitions for each in decode_assignment(assignment).assigned_partitions}
    except DecodeError:
        return {}
