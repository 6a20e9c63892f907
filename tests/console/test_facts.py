"""Events tell how often members went; rebalances are seams."""

from __future__ import annotations

from coordinator.console.facts import facts, seams
from coordinator.core.events.model import (
    Cause,
    Change,
    ChangeKind,
    ClientInfo,
    LiveGroup,
    LiveMember,
    Rebalance,
    RebalanceOutcome,
    Story,
    Trigger,
)

NEW = ClientInfo("web-7-b", "", "web-7", "10.0.0.7")
OLD = ClientInfo("web-7-a", "", "web-7", "10.0.0.7")


def rebalance(at_ms: int, *changes: Change, outcome: RebalanceOutcome = RebalanceOutcome.STABLE) -> Rebalance:
    return Rebalance(
        group="g",
        at_ms=at_ms,
        trigger=Trigger(Cause.MEMBER_JOINED, NEW),
        outcome=outcome,
        previous_generation=1,
        generation=2,
        join_ms=300 if outcome is RebalanceOutcome.STABLE else -1,
        sync_ms=20 if outcome is RebalanceOutcome.STABLE else -1,
        changes=list(changes),
    )


STORY = Story(
    at_ms=9_000,
    state=LiveGroup(
        group="g",
        at_ms=9_000,
        state="PreparingRebalance",
        members=[LiveMember(member=NEW), LiveMember(member=ClientInfo("other", "", "other", "10.0.0.8"))],
        rebalance=rebalance(8_000, outcome=RebalanceOutcome.RUNNING),
    ),
    events=[
        rebalance(1_000, Change(ChangeKind.EXPIRED, OLD)),
        rebalance(2_000, Change(ChangeKind.LEFT, OLD), outcome=RebalanceOutcome.INTERRUPTED),
        rebalance(3_000, Change(ChangeKind.DROPPED, OLD), Change(ChangeKind.JOINED, NEW, after_ms=100)),
    ],
)


def test_departures_are_counted_for_the_client_and_not_for_the_member_id() -> None:
    first, second = facts(STORY)
    assert (first.member_id, first.age_ms, first.evictions, first.departures) == ("web-7-b", 5_900, 2, 1)
    assert (second.member_id, second.age_ms, second.evictions, second.departures) == ("other", -1, 0, 0)
    assert facts(Story(at_ms=1)) == []


def test_each_rebalance_is_a_seam_and_the_running_one_reaches_until_now() -> None:
    assert [(seam.at_ms, seam.ended_ms, seam.outcome, seam.event) for seam in seams(STORY)] == [
        (1_000, 1_320, "stable", 0),
        (2_000, 2_000, "interrupted", 1),
        (3_000, 3_320, "stable", 2),
        (8_000, 9_000, "running", 3),
    ]
    assert seams(STORY)[0].culprit == "web-7 (10.0.0.7)"
