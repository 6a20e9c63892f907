"""Rules about groups of a cluster that is observed.

Of a classic group the log tells nothing while a rebalance runs, and DescribeGroups does not name the members that have
not rejoined.
"""

from __future__ import annotations

from typing import Final

from coordinator.core.events.model import (
    BECAUSE,
    NOBODY,
    Cause,
    ChangeKind,
    ClientInfo,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Story,
    Wait,
)
from coordinator.core.events.words import duration
from coordinator.explain.past import PAST_MS, stable_for
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import rebalances
from coordinator.explain.waiting import SLOW_MS, current
from coordinator.explain.words import clock_time

NAMED_ONLY: Final = frozenset({"share", "streams"})
LEADER_PLANS: Final = "CompletingRebalance"


def not_explained(story: Story) -> GroupVerdict | None:
    state = story.state
    if state is None or state.type not in NAMED_ONLY:
        return None
    return GroupVerdict(
        code=Finding.NOT_EXPLAINED,
        sentence=f"A {state.type} group: only its name and its type are read from the log",
        advice="Ask Kafka's own tools for its members.",
    )


def slow_rebalance(story: Story) -> GroupVerdict | None:
    """Recognise a classic group that rebalances for long. It waits for a former member if only one is left."""
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or not story.unknown or state.type != "classic":
        return None
    waited_ms = state.at_ms - rebalance.at_ms
    if waited_ms < SLOW_MS:
        return None
    culprit = state.waits_for[0] if state.waits is Wait.JOINS and state.waits_for else NOBODY
    if state.state == LEADER_PLANS:
        what = "for the assignments of its leader, which DescribeGroups does not name"
        advice = "The leader is busy or stopped, or its assignor is slow with so many partitions: look at the logs."
    elif culprit.is_known:
        what = f"for {culprit.full_name}, the only former member that is left"
        advice = _advice_on_joiner(state, culprit, waited_ms)
    else:
        what = "for members to rejoin; which ones have not is not known"
        advice = (
            "Look for a member that does not poll, because its handler is busy, or that has died: the wait ends with "
            f"its session or with the rebalance timeout ({duration(rebalance.rebalance_timeout_ms)})."
        )
    return GroupVerdict(
        code=Finding.SLOW_REBALANCE,
        sentence=f"Waiting at least {duration(waited_ms)} {what}{_because(rebalance)}",
        advice=advice,
        culprit=culprit,
        evidence=[len(story.events)],
        since_ms=rebalance.at_ms,
    )


def _advice_on_joiner(state: LiveGroup, culprit: ClientInfo, waited_ms: int) -> str:
    live = next((each for each in state.members if each.member == culprit), LiveMember(member=culprit))
    if 0 < live.session_timeout_ms < waited_ms:
        return (
            f"{culprit.name} is alive, because its session would have ended, but it does not poll, so it does not "
            "rejoin: its handler is busy. Restart it to end this wait; then let it do less between two polls "
            f"(max.poll.records), or lower max.poll.interval.ms ({duration(live.rebalance_timeout_ms)})."
        )
    return (
        f"{culprit.name} has died, and its session has not ended yet, or it lives and does not poll, because its "
        "handler is busy: look at its process."
    )


def rebalancing(story: Story) -> GroupVerdict | None:
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or not story.unknown:
        return None
    waited = duration(state.at_ms - rebalance.at_ms)
    least = "at least " if state.type == "classic" else ""
    return GroupVerdict(
        code=Finding.REBALANCING,
        sentence=f"Rebalancing for {least}{waited}{_because(rebalance)}",
        advice="This is normal for a few seconds: members learn of a rebalance by their next heartbeat.",
        culprit=rebalance.trigger.member,
        evidence=[len(story.events)],
        since_ms=rebalance.at_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def _because(rebalance: Rebalance) -> str:
    trigger = rebalance.trigger
    if trigger.cause is Cause.UNKNOWN:
        return "; why it began is not known yet"
    who = f" ({trigger.member.full_name})" if trigger.member.is_known else ""
    return f"; it began because {BECAUSE[trigger.cause]}{who}"


def past_slow_rebalance(story: Story) -> GroupVerdict | None:
    """Recognise a rebalance that took long, where the log or DescribeGroups tells no more than that."""
    for position, event in _recent(story):
        dropped = [each for each in event.changes if each.kind is ChangeKind.DROPPED]
        if event.took_ms < SLOW_MS or not (dropped or event.join_ms < 0):
            continue
        culprit, why = event.last_to_join, "rejoined last"
        if dropped:
            culprit, why = dropped[0].member, "did not rejoin, or give up its partitions, in time and was dropped"
        because = (
            f", because {culprit.full_name} {why}" if culprit.is_known else "; which member it waited for is not known"
        )
        advice = (
            f"{culprit.name} did not poll meanwhile, because its handler was busy. Let it do less between two polls "
            "(max.poll.records), or lower max.poll.interval.ms, which bounds such a wait."
            if culprit.is_known
            else "Look in the logs of the members for one that did not poll at that time."
        )
        least = "at least " if event.join_ms < 0 else ""
        return GroupVerdict(
            code=Finding.PAST_SLOW_REBALANCE,
            sentence=(
                f"Stable for {stable_for(story)}; the rebalance at {clock_time(event.at_ms, story.at_ms)} took "
                f"{least}{duration(event.took_ms)}{because}"
            ),
            advice=advice,
            culprit=culprit,
            evidence=[position],
            since_ms=event.at_ms,
        )
    return None


def _recent(story: Story) -> list[tuple[int, Rebalance]]:
    """Return the rebalances of an observed group with members that ended lately, the newest first."""
    state = story.state
    if state is None or state.rebalance is not None or not state.members or not story.unknown:
        return []
    return [
        (position, event)
        for position, event in reversed(rebalances(story))
        if story.at_ms - event.at_ms <= PAST_MS
        and event.members_before > 0
        and event.outcome is not RebalanceOutcome.RUNNING
    ]
