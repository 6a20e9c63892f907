"""Rules about this moment: a rebalance that waits, and a member that has fallen silent."""

from __future__ import annotations

from typing import Final

from coordinator.core.events.model import (
    BECAUSE,
    Cause,
    ClientInfo,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Story,
    Wait,
)
from coordinator.core.events.words import duration
from coordinator.explain.polls import polled
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.visits import rebalances
from coordinator.explain.words import and_more, clock_time, count

SLOW_MS: Final = 5_000  # members learn of a rebalance by their heartbeats, one in 3 s
HEARTBEAT_MS: Final = 3_500
SLOW_DISK_MS: Final = 1_000
RECENT_MS: Final = 600_000
AWAY: Final = -2  # the epoch of a static member that has closed and may come back
HEARD_MS: Final = 10_000  # a member that is not parked sends a heartbeat each 3 s by default
ENDED: Final = frozenset({RebalanceOutcome.STABLE, RebalanceOutcome.EMPTY})


def disk(story: Story) -> GroupVerdict | None:
    state = story.state
    evidence = [
        position
        for position, event in rebalances(story)
        if event.trigger.cause is Cause.APPEND_FAILED and story.at_ms - event.at_ms <= RECENT_MS
    ]
    if evidence and any(event.outcome in ENDED for position, event in rebalances(story) if position >= evidence[-1]):
        evidence = []  # it could, later
    waits_ms = _waits_for_disk_ms(state) if state is not None else -1
    if waits_ms < SLOW_DISK_MS and not evidence:
        return None
    if waits_ms >= SLOW_DISK_MS:
        sentence = f"Waiting {duration(waits_ms)} for the coordinator's own disk, which has to take the assignments"
        evidence.append(len(story.events))
    else:
        last = story.events[evidence[-1]] if evidence[-1] < len(story.events) else rebalances(story)[-1][1]
        sentence = (
            f"The coordinator could not write the group's assignments to its disk, last at "
            f"{clock_time(last.at_ms, story.at_ms)}; the group rebalances until it can"
        )
    advice = (
        "Nothing is wrong with the clients: look at the coordinator's log (`append failed`) and at its disk, free "
        "space first. It goes on by itself when writes succeed."
    )
    return GroupVerdict(code=Finding.DISK, sentence=sentence, advice=advice, evidence=evidence)


def _waits_for_disk_ms(state: LiveGroup) -> int:
    rebalance = state.rebalance
    if state.waits is not Wait.DISK or rebalance is None or rebalance.plan_ms < 0:
        return -1
    return state.at_ms - rebalance.at_ms - rebalance.join_ms - rebalance.plan_ms


def slow_joiner(story: Story) -> GroupVerdict | None:
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or state.waits is not Wait.JOINS or not state.waits_for:
        return None
    if story.unknown:
        return None  # `observed.slow_rebalance` knows less of the member
    waited_ms = state.at_ms - rebalance.at_ms
    if waited_ms < SLOW_MS:
        return None
    member, live = _longest_silent(state)
    who = and_more(member.full_name, state.waits_for_count - 1)
    sentence = f"Waiting {duration(waited_ms)} for {who}{at_most(state.waits_at_most_ms)}"
    code = Finding.SLOW_JOINER
    if live is None:
        advice = (
            f"{member.name} asked for a member id and did not come back with it; the group waits until the id expires. "
            "It probably died while it started: look at its log."
        )
    elif is_silent(live):
        code = Finding.SILENT_MEMBER
        ends_ms = max(live.session_timeout_ms - live.silent_ms, 0)
        sentence += f"; it has been silent for {duration(live.silent_ms)}, and its session ends in {duration(ends_ms)}"
        advice = (
            f"{member.name} sends no heartbeats: it was killed, is frozen, or has lost its network. The group goes on "
            f"without it in {duration(ends_ms)}; a shorter session.timeout.ms shortens this wait."
        )
    elif live.silent_ms > HEARD_MS:
        ends_ms = max(live.session_timeout_ms - live.silent_ms, 0)
        sentence += f"; it was last heard {duration(live.silent_ms)} ago"
        advice = (
            f"If {member.name} is dead, its session ends in {duration(ends_ms)}, and the group goes on without it. If "
            "it lives, its handler is busy and it does not poll: restart it to end this wait."
        )
    else:
        sentence += polled(live)
        advice = (
            f"{member.name} is alive, because it sends heartbeats, but it does not poll, so it does not rejoin: its "
            "handler is busy. Restart it to end this wait; then let it do less between two polls (max.poll.records), "
            f"or lower max.poll.interval.ms ({duration(live.rebalance_timeout_ms)}), which bounds this wait."
        )
    return GroupVerdict(
        code=code,
        sentence=sentence,
        advice=advice,
        culprit=member,
        evidence=[len(story.events)],
        since_ms=rebalance.at_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def _longest_silent(state: LiveGroup) -> tuple[ClientInfo, LiveMember | None]:
    """Return the member that is waited for and has been silent for longest, or a client that is no member yet."""
    waited_for = {member.member_id for member in state.waits_for}
    live = [each for each in state.members if each.member.member_id in waited_for]
    if not live:
        return state.waits_for[0], None
    longest = max(live, key=lambda each: each.silent_ms)
    return longest.member, longest


def is_silent(live: LiveMember) -> bool:
    """Return whether a member has missed its heartbeats.

    Clients send one in each third of the session timeout, usually every 3 s; the answer may wait for another third.
    """
    timeout_ms = live.session_timeout_ms
    return timeout_ms > 0 and live.silent_ms > max(timeout_ms // 2, timeout_ms // 3 + HEARTBEAT_MS)


def slow_leader(story: Story) -> GroupVerdict | None:
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or state.waits is not Wait.PLAN or not state.waits_for:
        return None
    waited_ms = state.at_ms - rebalance.at_ms - rebalance.join_ms
    if waited_ms < SLOW_MS:
        return None
    leader = state.waits_for[0]
    return GroupVerdict(
        code=Finding.SLOW_LEADER,
        sentence=(
            f"Waiting {duration(waited_ms)} for the assignments of the leader, {leader.full_name}"
            f"{at_most(state.waits_at_most_ms)}"
        ),
        advice=(
            f"All members have joined; {leader.name} has to compute who gets what. It is busy or stopped, or its "
            "assignor is slow with so many partitions: look at its log, or restart it."
        ),
        culprit=leader,
        evidence=[len(story.events)],
        since_ms=rebalance.at_ms + rebalance.join_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def initial_delay(story: Story) -> GroupVerdict | None:
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or state.waits is not Wait.FIRST_MEMBERS:
        return None
    waited_ms = state.at_ms - rebalance.at_ms
    return GroupVerdict(
        code=Finding.INITIAL_DELAY,
        sentence=(
            f"Starting: {count(state.member_count, 'member')} joined an empty group {duration(waited_ms)} ago, which "
            f"waits for more of them{at_most(state.waits_at_most_ms)}"
        ),
        advice=(
            "This is normal: group.initial.rebalance.delay.ms lets members that start together share one rebalance. "
            "Lower it on the coordinator for tests."
        ),
        culprit=rebalance.trigger.member,
        evidence=[len(story.events)],
        since_ms=rebalance.at_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def rebalancing(story: Story) -> GroupVerdict | None:
    state, rebalance = story.state, current(story)
    if state is None or rebalance is None or story.unknown or state.type == "consumer":
        return None
    who = f" ({rebalance.trigger.member.full_name})" if rebalance.trigger.member.is_known else ""
    joined = state.member_count - state.waits_for_count if state.waits is Wait.JOINS else state.member_count
    return GroupVerdict(
        code=Finding.REBALANCING,
        sentence=(
            f"Rebalancing for {duration(state.at_ms - rebalance.at_ms)} because {BECAUSE[rebalance.trigger.cause]}"
            f"{who}; {max(joined, 0)} of {count(state.member_count, 'member')} have joined"
        ),
        advice="This is normal for a few seconds: members learn of a rebalance by their next heartbeat.",
        culprit=rebalance.trigger.member,
        evidence=[len(story.events)],
        since_ms=rebalance.at_ms,
        at_most_ms=state.waits_at_most_ms,
    )


def silent_member(story: Story) -> GroupVerdict | None:
    state = story.state
    if state is None or state.rebalance is not None:
        return None
    silent = [each for each in state.members if is_silent(each) and each.epoch != AWAY]
    if not silent:
        return None
    longest = max(silent, key=lambda each: each.silent_ms)
    ends_ms = max(longest.session_timeout_ms - longest.silent_ms, 0)
    partitions = f" Its {count(longest.partitions, 'partition')} stand still." if longest.partitions > 0 else ""
    return GroupVerdict(
        code=Finding.SILENT_MEMBER,
        sentence=(
            f"Stable, but {and_more(longest.member.full_name, len(silent) - 1)} has been silent for "
            f"{duration(longest.silent_ms)}; its session ends in {duration(ends_ms)}"
        ),
        advice=(
            f"It was killed, is frozen, or has lost its network.{partitions} The others take over in "
            f"{duration(ends_ms)}; a shorter {session_setting(state)} shortens this wait."
        ),
        culprit=longest.member,
        since_ms=state.at_ms - longest.silent_ms,
        at_most_ms=ends_ms,
    )


def session_setting(state: LiveGroup | None) -> str:
    """Return the setting of the session timeout of members: of the client, or of the coordinator."""
    is_server = state is not None and state.type == "consumer"
    return "group.consumer.session.timeout.ms of the coordinator" if is_server else "session.timeout.ms"


def current(story: Story) -> Rebalance | None:
    return story.state.rebalance if story.state is not None else None


def at_most(ms: int) -> str:
    return f", at most {duration(ms)} more" if ms >= 0 else ""
