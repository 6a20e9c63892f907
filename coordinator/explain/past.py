"""Rules about a group that waits for nothing now: what its last rebalance cost, who is gone, and whether it is well."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from coordinator.core.events.model import NOBODY, ChangeKind, ClientInfo, Rebalance, Story
from coordinator.core.events.words import duration
from coordinator.explain.clues import ADVICE, clue, likely
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import Visit, is_present, key_of, rebalances, visits
from coordinator.explain.waiting import RECENT_MS, SLOW_MS
from coordinator.explain.words import and_more, clock_time, count

PAST_MS: Final = 1_800_000  # a slow rebalance is told for so long
AFTER_RESTART_MS: Final = 60_000
SETTLED_MS: Final = 5_000  # a second rebalance of cooperative assignors has begun by then
VANISHED: Final = frozenset({ChangeKind.LEFT, ChangeKind.EXPIRED, ChangeKind.GONE})
HOW_IT_WENT: Final = {
    ChangeKind.LEFT: "left",
    ChangeKind.EXPIRED: "fell silent for its session timeout",
    ChangeKind.DROPPED: "did not rejoin in time",
    ChangeKind.GONE: "left or lost its session",
}


def no_such_group(story: Story) -> GroupVerdict | None:
    if story.state is not None:
        return None
    last = max((event.at_ms for event in story.events), default=story.at_ms)
    return GroupVerdict(
        code=Finding.NO_SUCH_GROUP,
        sentence=f"There is no such group now; its last event was at {clock_time(last, story.at_ms)}",
        advice="It was deleted, or its last offset has expired. It comes back with the first member that joins.",
        since_ms=last,
    )


def member_lost(story: Story) -> GroupVerdict | None:
    """Recognise a member that went lately, did not say that it stops, and has not come back."""
    state = story.state
    gone = [each for each in visits(story) if each.how in VANISHED and not each.reason]
    if state is None or state.rebalance is not None or not state.members or not gone:
        return None
    last = max(gone, key=lambda each: each.ended_ms)
    if story.at_ms - last.ended_ms > RECENT_MS or is_present(story, key_of(last.member)):
        return None
    session = f" of {duration(last.session_timeout_ms)}" if last.session_timeout_ms else ""
    how = HOW_IT_WENT[last.how or ChangeKind.EXPIRED]
    if last.how is ChangeKind.EXPIRED:
        how += session
        advice = (
            f"{last.member.name} did not leave in good order: it was killed, is frozen, or has lost its network. Look "
            "at its process and its log; the others have its partitions."
        )
    elif last.how is ChangeKind.GONE:
        advice = ADVICE[likely(last)].format(name=last.member.name)
    else:
        limit = f" ({duration(last.poll_interval_ms)})" if last.poll_interval_ms else ""
        advice = (
            f"If {last.member.name} was stopped, all is well. If it still runs, it did not poll for its "
            f"max.poll.interval.ms{limit}: its handler is busy, and it comes back when that has ended."
        )
    return GroupVerdict(
        code=Finding.MEMBER_LOST,
        sentence=(
            f"Stable for {stable_for(story)} without {last.member.full_name}, which {how} at "
            f"{clock_time(last.ended_ms, story.at_ms)} and has not come back{clue(last)}"
        ),
        advice=advice,
        culprit=last.member,
        evidence=[last.event],
        since_ms=last.ended_ms,
    )


def past_slow_joiner(story: Story) -> GroupVerdict | None:
    found = _last_slow(story, lambda event: event.join_ms)
    if found is None:
        return None
    position, event = found
    culprit, why = _held_up_by(event)
    if not culprit.is_known:
        return None
    return GroupVerdict(
        code=Finding.PAST_SLOW_JOINER,
        sentence=(
            f"Stable for {stable_for(story)}; the rebalance at {clock_time(event.at_ms, story.at_ms)} took "
            f"{duration(event.took_ms)}, because {culprit.full_name} {why}"
        ),
        advice=(
            f"{culprit.name} did not poll meanwhile, because its handler was busy. Let it do less between two polls "
            "(max.poll.records), or lower max.poll.interval.ms, which bounds such a wait."
        ),
        culprit=culprit,
        evidence=[position],
        since_ms=event.at_ms,
    )


def _held_up_by(event: Rebalance) -> tuple[ClientInfo, str]:
    for change in event.changes:
        if change.kind is ChangeKind.DROPPED and change.after_ms >= SLOW_MS:
            return change.member, f"did not rejoin within {duration(event.join_ms)} and was dropped"
    late_ms = event.last_join_ms - max(event.previous_join_ms, 0)
    if late_ms < SLOW_MS:
        return NOBODY, ""
    return event.last_to_join, f"was the last to rejoin, {duration(late_ms)} after the others"


def past_slow_leader(story: Story) -> GroupVerdict | None:
    found = _last_slow(story, lambda event: event.plan_ms)
    if found is None:
        return None
    position, event = found
    return GroupVerdict(
        code=Finding.PAST_SLOW_LEADER,
        sentence=(
            f"Stable for {stable_for(story)}; the rebalance at {clock_time(event.at_ms, story.at_ms)} took "
            f"{duration(event.took_ms)}, because its leader, {event.leader.full_name}, took "
            f"{duration(event.plan_ms)} to send the assignments"
        ),
        advice="The leader was busy or paused, or its assignor is slow with so many partitions: look at its log.",
        culprit=event.leader,
        evidence=[position],
        since_ms=event.at_ms,
    )


def _last_slow(story: Story, phase_ms: Callable[[Rebalance], int]) -> tuple[int, Rebalance] | None:
    """Return the last rebalance of a group that had members, if a phase of it took long. None while one runs."""
    state = story.state
    if state is None or state.rebalance is not None or not state.members:
        return None
    for position, event in reversed(rebalances(story)):
        if story.at_ms - event.at_ms > PAST_MS:
            return None
        if event.members_before > 0 and phase_ms(event) >= SLOW_MS:
            return position, event
    return None


def just_restarted(story: Story) -> GroupVerdict | None:
    state = story.state
    if state is None or not state.members or state.rebalance is not None:
        return None
    ago_ms = story.at_ms - state.loaded_at_ms
    if state.since_ms >= state.loaded_at_ms or ago_ms > AFTER_RESTART_MS:
        return None
    unheard = [each for each in state.members if 0 <= ago_ms <= each.silent_ms]
    heard = f"; {count(len(unheard), 'member')} not heard since" if unheard else "; all members were heard since"
    return GroupVerdict(
        code=Finding.JUST_RESTARTED,
        sentence=f"Stable; the coordinator was restarted {duration(ago_ms)} ago{heard}",
        advice="Sessions began anew with the restart: a member that has died meanwhile is removed after its session.",
        culprit=unheard[0].member if unheard else NOBODY,
        since_ms=state.loaded_at_ms,
    )


def idle_members(story: Story) -> GroupVerdict | None:
    """Recognise more members than partitions."""
    state = story.state
    if state is None or state.rebalance is not None or story.at_ms - state.since_ms < SETTLED_MS:
        return None
    idle = [each.member for each in state.members if each.partitions == 0]
    if not idle or not 0 < state.partitions < state.member_count:
        return None
    have = "has" if len(idle) == 1 else "have"
    are = "is" if state.partitions == 1 else "are"
    return GroupVerdict(
        code=Finding.IDLE_MEMBERS,
        sentence=(
            f"Stable for {stable_for(story)}, but {len(idle)} of {state.member_count} members {have} nothing to do: "
            f"there {are} only {count(state.partitions, 'partition')} "
            f"({and_more(idle[0].full_name, len(idle) - 1)})"
        ),
        advice=(
            f"Give the topics more partitions, or run {count(state.partitions, 'member')}. Idle members are only a "
            "reserve, and each of them makes rebalances longer."
        ),
        culprit=idle[0],
        since_ms=state.since_ms,
    )


def nothing_to_read(story: Story) -> GroupVerdict | None:
    """Recognise subscriptions that match no topic."""
    state = story.state
    if state is None or not state.unmatched or not state.members or state.rebalance is not None:
        return None
    if state.since_ms >= 0 and story.at_ms - state.since_ms < SETTLED_MS:
        return None
    what = and_more(", ".join(state.unmatched[:3]), len(state.unmatched) - 3)
    some = "there is nothing to read" if state.partitions == 0 else "a part of its subscriptions has nothing to read"
    readers = [each for each in state.members if set(each.topics) & set(state.unmatched)]
    return GroupVerdict(
        code=Finding.NO_TOPICS,
        sentence=f"Stable for {stable_for(story)}, but {some}: no topic matches {what}",
        advice=(
            "Create the topic, or correct the name or the pattern in the client. A regular expression has to match the "
            "whole name (RE2). Members hear of a new topic by their next heartbeat."
        ),
        culprit=readers[0].member if readers else NOBODY,
        since_ms=state.since_ms,
    )


def empty(story: Story) -> GroupVerdict | None:
    state = story.state
    if state is None or state.member_count or state.rebalance is not None:
        return None
    gone = [each for each in visits(story) if each.how is not None]
    if not gone:
        never = not state.protocol_type
        return GroupVerdict(
            code=Finding.EMPTY,
            sentence="Empty: it has never had members, only offsets" if never else "Empty: it has no members",
            advice="Nothing reads for it. Start a consumer with this group.id; it goes on at the committed offsets.",
            since_ms=state.since_ms,
        )
    last = max(gone, key=lambda each: each.ended_ms)
    return GroupVerdict(
        code=Finding.EMPTY,
        sentence=f"Empty for {duration(story.at_ms - last.ended_ms)}: the last member, {_went(last, story)}",
        advice="Nothing reads for it. Start a consumer with this group.id; it goes on at the committed offsets.",
        culprit=last.member,
        evidence=[last.event],
        since_ms=last.ended_ms,
    )


def _went(visit: Visit, story: Story) -> str:
    how = HOW_IT_WENT[visit.how or ChangeKind.LEFT]
    reason = f' ("{visit.reason}")' if visit.reason else ""
    return f"{visit.member.full_name}, {how} at {clock_time(visit.ended_ms, story.at_ms)}{reason}"


def healthy(story: Story) -> GroupVerdict | None:
    state = story.state
    if state is None:
        return None
    has = f", {count(state.partitions, 'partition')}" if state.partitions >= 0 else ""
    return GroupVerdict(
        code=Finding.HEALTHY,
        sentence=f"Healthy for {stable_for(story)}: {count(state.member_count, 'member')}{has}",
        advice="Nothing to do.",
        since_ms=state.since_ms,
    )


def stable_for(story: Story) -> str:
    state = story.state
    return duration(story.at_ms - state.since_ms) if state is not None and state.since_ms >= 0 else "an unknown time"
