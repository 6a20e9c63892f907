"""Facts about members that the events of their group tell, and its rebalances as seams of the ribbon."""

from __future__ import annotations

from collections import Counter

from coordinator.console.model import MemberFacts, Seam
from coordinator.core.events.model import ChangeKind, ClientInfo, Rebalance, RebalanceOutcome, Story
from coordinator.explain.visits import Key, key_of

EVICTED = frozenset({ChangeKind.EXPIRED, ChangeKind.DROPPED, ChangeKind.EXPELLED})


def facts(story: Story) -> list[MemberFacts]:
    """Return what is known of each member in the story's state."""
    if story.state is None:
        return []
    evicted, left = Counter[Key](), Counter[Key]()
    joined_ms: dict[str, int] = {}
    for event in _rebalances(story):
        for change in event.changes:
            if change.kind in EVICTED:
                evicted[key_of(change.member)] += 1
            elif change.kind is ChangeKind.LEFT:
                left[key_of(change.member)] += 1
            elif change.kind in (ChangeKind.JOINED, ChangeKind.REPLACED):
                joined_ms[change.member.member_id] = event.at_ms + change.after_ms
    return [
        MemberFacts(
            member_id=each.member.member_id,
            age_ms=_age_ms(story, joined_ms, each.member),
            evictions=evicted[key_of(each.member)],
            departures=left[key_of(each.member)],
        )
        for each in story.state.members
    ]


def _age_ms(story: Story, joined_ms: dict[str, int], member: ClientInfo) -> int:
    since_ms = joined_ms.get(member.member_id)
    return -1 if since_ms is None else max(story.at_ms - since_ms, 0)


def seams(story: Story) -> list[Seam]:
    """Return the rebalances of a story, oldest first, the current one included."""
    found = []
    for number, event in enumerate(story.events):
        if isinstance(event, Rebalance):
            found.append(_seam(event, number, event.at_ms + event.took_ms))
    if story.state is not None and story.state.rebalance is not None:
        found.append(_seam(story.state.rebalance, len(story.events), story.at_ms))
    return found


def _rebalances(story: Story) -> list[Rebalance]:
    events = [event for event in story.events if isinstance(event, Rebalance)]
    if story.state is not None and story.state.rebalance is not None:
        events.append(story.state.rebalance)
    return events


def _seam(event: Rebalance, number: int, ended_ms: int) -> Seam:
    is_interrupted = event.outcome is RebalanceOutcome.INTERRUPTED and event.join_ms < 0
    member = event.trigger.member
    return Seam(
        at_ms=event.at_ms,
        ended_ms=event.at_ms if is_interrupted else ended_ms,
        generation=event.generation,
        cause=event.trigger.cause.value,
        culprit=member.full_name if member.is_known else "",
        outcome=event.outcome.value,
        event=number,
    )
