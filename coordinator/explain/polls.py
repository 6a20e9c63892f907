"""Rules about members that do not poll, as their clients tell it (KIP-714)."""

from __future__ import annotations

from typing import Final

from coordinator.core.events.model import Incident, IncidentKind, LiveMember, Story
from coordinator.core.events.words import duration
from coordinator.explain.verdict import Finding, GroupVerdict
from coordinator.explain.words import and_more, count

LEAST_MS: Final = 10_000
NEWEST_MS: Final = 60_000  # what a client told earlier is not the present


def not_polling(story: Story) -> GroupVerdict | None:
    """Recognise a member that has not polled for half of its max.poll.interval.ms, before it leaves for it."""
    state = story.state
    if state is None or state.rebalance is not None:
        return None
    found = [each for each in state.members if is_not_polling(each)]
    if not found:
        return None
    longest = max(found, key=unpolled_ms)
    since_ms = unpolled_ms(longest)
    ends_ms = max(longest.rebalance_timeout_ms - since_ms, 0)
    partitions = f" Its {count(longest.partitions, 'partition')} stand still." if longest.partitions > 0 else ""
    name = longest.member.name
    evidence = [
        position
        for position, event in enumerate(story.events)
        if isinstance(event, Incident)
        and event.what is IncidentKind.NOT_POLLING
        and event.member.member_id == longest.member.member_id
    ]
    return GroupVerdict(
        code=Finding.NOT_POLLING,
        sentence=(
            f"Stable, but {and_more(longest.member.full_name, len(found) - 1)} last polled {duration(since_ms)} ago; "
            f"it leaves the group in {duration(ends_ms)} unless it polls"
        ),
        advice=(
            f"{name} sends heartbeats, but its handler is busy.{partitions} Look at what it works on; then let it take "
            "less at once (max.poll.records, a smaller batch, a timeout on what it calls), or raise "
            f"max.poll.interval.ms ({duration(longest.rebalance_timeout_ms)} now) above its longest work."
        ),
        culprit=longest.member,
        evidence=evidence,
        since_ms=state.at_ms - since_ms,
        at_most_ms=ends_ms,
    )


def is_not_polling(live: LiveMember) -> bool:
    """Return whether a member said lately that it had not polled for half of its rebalance timeout."""
    if live.unpolled_ms < 0 or live.told_ms > NEWEST_MS:
        return False
    return live.unpolled_ms >= max(live.rebalance_timeout_ms // 2, LEAST_MS)


def unpolled_ms(live: LiveMember) -> int:
    """Return for how long it has not polled, if it has not since it told."""
    return live.unpolled_ms + live.told_ms


def polled(live: LiveMember | None) -> str:
    """Return what is known of the last poll of a member, as the end of a sentence; empty if nothing is."""
    if live is None or live.unpolled_ms < 0 or live.told_ms > NEWEST_MS:
        return ""
    return f"; it last polled {duration(unpolled_ms(live))} ago"
