"""Rules about KIP-848 groups: members that do not follow their assignment, and static ones that are away.

No member of such a group stops for a rebalance. What hurts is one member: until it gives up a partition, another one
waits for it. The log of an observed cluster tells of these members too, but not how long they have been silent.
"""

from __future__ import annotations

from typing import Final

from coordinator.core.events.model import (
    BECAUSE,
    IncidentKind,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Story,
    Wait,
)
from coordinator.core.events.words import duration
from coordinator.explain.loops import departures_of
from coordinator.explain.past import PAST_MS, stable_for
from coordinator.explain.polls import polled
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import incidents, is_present, rebalances
from coordinator.explain.waiting import SLOW_MS, at_most, current, is_silent
from coordinator.explain.words import and_more, clock_time, count, since, times

CONSUMER: Final = "consumer"
SILENT_MS: Final = 15_000  # the longest interval of heartbeats that a coordinator can ask for
FAILED_MS: Final = 60_000  # an older failure of an assignor is over
FAR_BEHIND: Final = 2  # epochs


def failed_assignor(story: Story) -> GroupVerdict | None:
    """Recognise a group without a new target, because an assignor of a user fails."""
    state = story.state
    if state is None or state.waits is not Wait.ASSIGNOR:
        return None
    for position, event in incidents(story, IncidentKind.ASSIGNOR_FAILED, within_ms=FAILED_MS):
        return GroupVerdict(
            code=Finding.ASSIGNOR_FAILED,
            sentence=f"Waiting {duration(state.at_ms - event.at_ms)} for its assignor, which fails: {event.reason}",
            advice=(
                "It is asked again each second; members keep the partitions that they have, and new ones get none. "
                "A change of the assignor needs a restart of the coordinator. Until then, members may ask for another "
                "one (group.remote.assignor)."
            ),
            evidence=[position],
            since_ms=event.at_ms,
        )
    return None


def slow_revocation(story: Story) -> GroupVerdict | None:
    """Recognise a member that keeps partitions which it has to give up, while others wait for them."""
    state = story.state
    if state is None or state.waits is not Wait.REVOCATION or not state.waits_for:
        return None
    live = _live(state)
    waited_ms = _waited_ms(story, live)
    if waited_ms < SLOW_MS:
        return None
    member = live.member
    others = state.waits_for_count - 1
    silent, is_dead = _silence(live)
    revoking = (
        sum(each.revoking for each in state.members if each.member in state.waits_for) if others else live.revoking
    )
    what = f"{count(revoking, 'partition')}{_named(live.giving_up) if not others else ''}"
    waiting = sum(each.awaited > 0 for each in state.members)
    wait = f"; {count(waiting, 'member')} {'waits' if waiting == 1 else 'wait'} for them" if waiting else ""
    advice = (
        f"{member.name} was told to give them up and has not: its handler is busy and it does not poll, or its "
        "callback for revoked partitions takes long. Restart it to end this wait; then let it do less between two "
        "polls (max.poll.records), or lower max.poll.interval.ms, which bounds this wait."
    )
    if is_dead:
        advice = (
            f"{member.name} sends no heartbeats: it was killed, is frozen, or has lost its network. Its partitions go "
            "to the others when its session ends."
        )
    elif live.is_classic:
        advice = f"It uses the classic protocol, so it gives them up when it rejoins, which it does by a poll. {advice}"
    return GroupVerdict(
        code=Finding.SLOW_REVOCATION,
        sentence=(
            f"Waiting {duration(waited_ms)} for {and_more(member.full_name, others)} to give up {what}"
            f"{at_most(state.waits_at_most_ms)}{silent or polled(live)}{wait}{_behind(state, live)}"
        ),
        advice=advice,
        culprit=member,
        evidence=_evidence(story),
        since_ms=state.at_ms - waited_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def silent_follower(story: Story) -> GroupVerdict | None:
    """Recognise a member that does not take up its new assignment, because it sends no heartbeats."""
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or state.type != CONSUMER or state.waits is not Wait.HEARTBEAT:
        return None
    waited_ms = state.at_ms - rebalance.at_ms
    live = _live(state) if state.waits_for else max(state.members, key=lambda each: each.silent_ms, default=None)
    if live is None or waited_ms < SILENT_MS:
        return None
    if live.silent_ms < SILENT_MS and not story.unknown:
        return None  # it is on its way
    member = live.member
    silent, _ = _silence(live)
    return GroupVerdict(
        code=Finding.SILENT_MEMBER,
        sentence=(
            f"Waiting {duration(waited_ms)} for {and_more(member.full_name, state.waits_for_count - 1)}, which has not "
            f"taken up its new assignment{silent}{_behind(state, live)}"
        ),
        advice=(
            f"{member.name} learns of it by its next heartbeat and has sent none: it was killed, is frozen, or has "
            "lost its network. The group goes on without it when its session ends."
        ),
        culprit=member,
        evidence=_evidence(story),
        since_ms=rebalance.at_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def slow_rejoin(story: Story) -> GroupVerdict | None:
    """Recognise a member of the classic protocol that was told to rejoin and does not, although it lives."""
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or state.waits is not Wait.HEARTBEAT or not state.waits_for:
        return None
    live = _live(state)
    waited_ms = state.at_ms - rebalance.at_ms
    if not live.is_classic or waited_ms < SLOW_MS or live.silent_ms >= SILENT_MS:
        return None
    member = live.member
    return GroupVerdict(
        code=Finding.SLOW_JOINER,
        sentence=(
            f"Waiting {duration(waited_ms)} for {and_more(member.full_name, state.waits_for_count - 1)} to rejoin"
            f"{at_most(state.waits_at_most_ms)}; it uses the classic protocol{polled(live)}{_behind(state, live)}"
        ),
        advice=(
            f"{member.name} is alive, because it sends heartbeats, but it does not poll, so it does not rejoin: its "
            "handler is busy. Restart it to end this wait, with group.protocol=consumer if its library has it; then "
            f"let it do less between two polls, or lower max.poll.interval.ms ({duration(live.rebalance_timeout_ms)})."
        ),
        culprit=member,
        evidence=_evidence(story),
        since_ms=rebalance.at_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def static_away(story: Story) -> GroupVerdict | None:
    """Recognise a static member that has closed and may come back: its partitions are kept for it."""
    state = story.state
    if state is None or state.waits is not Wait.RETURN or not state.waits_for:
        return None
    live = _live(state)
    closed = f" {duration(live.step_ms)} ago" if live.step_ms >= 0 else ""
    have = "its" if state.waits_for_count == 1 else "their"
    partitions = sum(each.partitions for each in state.members if each.member in state.waits_for)
    return GroupVerdict(
        code=Finding.STATIC_AWAY,
        sentence=(
            f"{and_more(live.member.full_name, state.waits_for_count - 1)} closed{closed} and may come back, because "
            f"it has a group.instance.id; {have} {count(partitions, 'partition')} stand still"
            f"{at_most(state.waits_at_most_ms)}"
        ),
        advice=(
            "If it restarts, all is well. If it was stopped for good, remove it (`coordinator groups kick`), or wait "
            "until its session ends."
        ),
        culprit=live.member,
        since_ms=state.at_ms - live.step_ms if live.step_ms >= 0 else -1,
        at_most_ms=state.waits_at_most_ms,
    )


def evicted(story: Story) -> GroupVerdict | None:
    """Recognise a member that was removed because it did not give up its partitions, once or again and again."""
    for key, _, departures in departures_of(story, lambda visit: visit.not_revoked):
        last = departures[-1]
        limit = f" of {duration(last.rebalance_timeout_ms)}" if last.rebalance_timeout_ms else ""
        back = "and has come back" if is_present(story, key) else "and has not come back"
        when = (
            since(departures[0].ended_ms, story)
            if len(departures) > 1
            else (f"at {clock_time(last.ended_ms, story.at_ms)}")
        )
        return GroupVerdict(
            code=Finding.REVOCATION_LOOP if len(departures) > 1 else Finding.NOT_REVOKED,
            sentence=(
                f"{last.member.full_name} was removed {times(len(departures))} {when}, because it did not give up its "
                f"partitions within its rebalance timeout{limit}, {back}"
            ),
            advice=(
                f"{last.member.name} did not poll for its max.poll.interval.ms, because its handler was busy, or its "
                "callback for revoked partitions takes longer. Let it do less between two polls (max.poll.records), or "
                "raise max.poll.interval.ms above its longest work. What it had not committed is read again by others."
            ),
            culprit=last.member,
            evidence=[visit.event for visit in departures],
            since_ms=departures[0].ended_ms,
        )
    return None


def reconciling(story: Story) -> GroupVerdict | None:
    """Describe a rebalance that runs, without one that is to blame."""
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or story.unknown or state.type != CONSUMER:
        return None
    trigger = rebalance.trigger
    who = f" ({trigger.member.full_name})" if trigger.member.is_known else ""
    there = sum(_has_target(each, state) for each in state.members)
    return GroupVerdict(
        code=Finding.REBALANCING,
        sentence=(
            f"Rebalancing for {duration(state.at_ms - rebalance.at_ms)} because {BECAUSE[trigger.cause]}{who}; "
            f"{there} of {count(state.member_count, 'member')} {'has' if there == 1 else 'have'} all partitions of "
            f"epoch {state.generation}"
        ),
        advice="This is normal for a few seconds: members follow by their heartbeats, and none of them stops.",
        culprit=trigger.member,
        evidence=_evidence(story),
        since_ms=rebalance.at_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def past_slow_member(story: Story) -> GroupVerdict | None:
    """Recognise a member that made the last rebalance long, by giving up or taking up its partitions late."""
    for position, event in _recent(story):
        if event.took_ms < SLOW_MS:
            continue
        late_ms = event.last_reconcile_ms - max(event.previous_reconcile_ms, event.last_revoke_ms, 0)
        if event.last_revoke_ms >= SLOW_MS:
            culprit = event.last_to_revoke
            why = f"took {duration(event.last_revoke_ms)} to give up its partitions"
            advice = (
                f"{culprit.name} did not poll meanwhile, because its handler was busy, or its callback for revoked "
                "partitions took long. Let it do less between two polls (max.poll.records)."
            )
        elif late_ms >= SLOW_MS:
            culprit = event.last_to_reconcile
            why = f"took up its partitions {duration(late_ms)} after the others"
            advice = f"{culprit.name} sent no heartbeats meanwhile: look for a pause of its process or network."
        else:
            continue
        return GroupVerdict(
            code=Finding.PAST_SLOW_REVOCATION,
            sentence=(
                f"Stable for {stable_for(story)}; the rebalance at {clock_time(event.at_ms, story.at_ms)} took "
                f"{duration(event.took_ms)}, because {culprit.full_name} {why}"
            ),
            advice=advice,
            culprit=culprit,
            evidence=[position],
            since_ms=event.at_ms,
        )
    return None


# -- parts of sentences ------------------------------------------------------------------------------------------


def _live(state: LiveGroup) -> LiveMember:
    """Return the first member that is waited for."""
    first = state.waits_for[0]
    return next((each for each in state.members if each.member == first), LiveMember(member=first))


def _waited_ms(story: Story, live: LiveMember) -> int:
    """Return how long a member has been asked for its partitions: not longer than its last step is ago."""
    rebalance = current(story)
    if live.step_ms >= 0:
        return live.step_ms
    return story.at_ms - rebalance.at_ms if rebalance is not None else -1


def _silence(live: LiveMember) -> tuple[str, bool]:
    """Return a part of a sentence about the silence of a member, and whether it has missed its heartbeats."""
    if live.silent_ms < SILENT_MS:
        return "", False
    ends_ms = max(live.session_timeout_ms - live.silent_ms, 0)
    text = f"; it has been silent for {duration(live.silent_ms)}, and its session ends in {duration(ends_ms)}"
    return text, is_silent(live)


def _behind(state: LiveGroup, live: LiveMember) -> str:
    if live.epoch < 0 or state.generation - live.epoch < FAR_BEHIND:
        return ""
    return f"; it is at epoch {live.epoch}, the group at {state.generation}"


def _named(partitions: list[str]) -> str:
    return f" ({', '.join(partitions)})" if partitions else ""


def _has_target(live: LiveMember, state: LiveGroup) -> bool:
    return live.epoch == state.generation and not live.revoking and not live.awaited


def _evidence(story: Story) -> list[int]:
    return [len(story.events)] if current(story) is not None else []


def _recent(story: Story) -> list[tuple[int, Rebalance]]:
    """Return the rebalances of a group with members that ended lately, the newest first."""
    state = story.state
    if state is None or state.type != CONSUMER or state.rebalance is not None or not state.members:
        return []
    return [
        (position, event)
        for position, event in reversed(rebalances(story))
        if story.at_ms - event.at_ms <= PAST_MS
        and event.members_before > 0
        and event.outcome is not RebalanceOutcome.RUNNING
    ]
