"""Each rule of the report: found in the events of a group, and not found right below its threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from coordinator.core.events.model import Cause, ChangeKind, ClientInfo, IncidentKind
from coordinator.report.cases import ProblemKind
from coordinator.report.material import Period
from tests.report.stories import POLL_TIMEOUT, START_MS, WEEK, Story, kinds_of, problems_of

OLD, NEW = "apache-kafka-java 3.4.1", "apache-kafka-java 4.1.0"
RUNS = ClientInfo("a-9", "", "a", "host-a", NEW)


def _expires(times: int, *names: str, hours: float = 3) -> Story:
    story = Story().start("a", "b", "c", "d")
    for _ in range(times):
        story.wait(hours=hours)
        for name in names:
            story.goes(name, "expired").wait(seconds=20).comes(name)
    return story


def crash_loop(times: int) -> Story:
    return _expires(times, "a", hours=0.5)


def member(times: int) -> Story:
    return _expires(times, "a", hours=5)


def slow_poll(times: int) -> Story:
    story = Story().start("a", "b", "c")
    for _ in range(times):
        story.wait(hours=4).goes("a", reason=POLL_TIMEOUT).wait(minutes=2).comes("a")
    return story


def host(times: int) -> Story:
    """Let sessions of two clients expire; each time counts twice."""
    story = Story().start("a", "b", host="10.0.0.1").start("c", "d", "e")
    for _ in range(times):
        story.wait(hours=4)
        for name in ("a", "b"):
            story.goes(name, "expired").wait(seconds=20).comes(name, host="10.0.0.1")
    return story


def version(times: int) -> Story:
    """Let clients of the older version go, one after another."""
    story = Story().start("a", "b", software=OLD).start("c", "d", "e", software=NEW)
    for number in range(times):
        name = "ab"[number % 2]
        story.wait(hours=4).goes(name, "expired").wait(seconds=20).comes(name, software=OLD)
    return story


def duplicate_instance(times: int) -> Story:
    one = ClientInfo("a-1", "i-1", "a", "10.0.0.1")
    other = ClientInfo("a-2", "i-1", "a", "10.0.0.2")
    return Story().start("a", "b").incident(IncidentKind.FENCED, one, times, other=other)


def subscription(times: int) -> Story:
    story = Story().start("a", "b")
    for _ in range(times):
        story.wait(hours=3).rebalance(
            Cause.PROTOCOLS_CHANGED, story.members["a"], ChangeKind.RESUBSCRIBED, changed=True
        )
    return story


def topics(times: int) -> Story:
    story = Story().start("a", "b")
    for number in range(times):
        story.wait(hours=3).rebalance(Cause.LEADER_REJOINED, story.members["a"], partitions=13 + number)
    return story


def slow_join(times: int) -> Story:
    story = Story().start("a", "b", "c", "d")
    late = story.members["b"]
    story.facts |= {"last_to_join": late, "last_join_ms": 9_000, "previous_join_ms": 1_000}
    for number in range(times):
        story.wait(hours=20).comes(f"n{number}")
    return story


def static(times: int) -> Story:
    story = Story().start("a", "b", "c")
    for _ in range(times):
        story.wait(hours=24)
        for name in "abc":
            story.goes(name).wait(seconds=15).comes(name).wait(seconds=15)
    return story


def scaling(times: int) -> Story:
    story = Story().start("a", "b")
    for _ in range(times):
        story.wait(hours=3).comes("x").wait(hours=2).goes("x")
    return story


def _replaced(times: int, **facts: Any) -> Story:
    story = Story(**facts).start(*"abcdefghi")
    names = list("abcdefghi")
    for number in range(times):
        story.wait(hours=10).goes(names.pop(0)).wait(minutes=2).comes(f"n{number}")
        names.append(f"n{number}")
    return story


def cooperative(times: int) -> Story:
    return _replaced(times, protocol="range", join_ms=3_000, unowned_partition_ms=90_000, partitions_moved=2)


def consumer_protocol(times: int) -> Story:
    return _replaced(times, join_ms=8_000, unowned_partition_ms=50_000, partitions_moved=2)


def moves(times: int) -> Story:
    return _replaced(times, protocol="roundrobin", partitions_moved=10)


def flapping(times: int) -> Story:
    """Let all members go in turn on one day."""
    story = Story().start("a", "b", "c", "d", "e").wait(hours=24)
    for number in range(times):
        name = "abcde"[number % 5]
        story.wait(minutes=40).goes(name, "expired").wait(seconds=20).comes(name)
    return story


def join_refused(times: int) -> Story:
    story = Story().start("a", "b")
    return story.incident(IncidentKind.JOIN_REFUSED, RUNS, times, error="GROUP_MAX_SIZE_REACHED")


def commit_refused(times: int) -> Story:
    return Story().start("a", "b").incident(IncidentKind.COMMIT_REFUSED, RUNS, times, error="ILLEGAL_GENERATION")


def deploy_lag(records: int) -> Story:
    story = Story().start("a", "b").lags(100).wait(hours=1)
    for name in "ab":
        story.goes(name).wait(seconds=10).comes(name).wait(seconds=10)
    return story.wait(minutes=5).lags(records)


RULES: list[tuple[Callable[[int], Story], ProblemKind, int]] = [
    (crash_loop, ProblemKind.CRASH_LOOP, 4),
    (member, ProblemKind.MEMBER, 4),
    (slow_poll, ProblemKind.SLOW_POLL, 4),
    (host, ProblemKind.HOST, 2),
    (version, ProblemKind.VERSION, 4),
    (duplicate_instance, ProblemKind.DUPLICATE_INSTANCE, 3),
    (subscription, ProblemKind.SUBSCRIPTION, 5),
    (topics, ProblemKind.TOPICS, 5),
    (slow_join, ProblemKind.SLOW_JOIN, 5),
    (static, ProblemKind.STATIC, 4),
    (scaling, ProblemKind.SCALING, 14),
    (cooperative, ProblemKind.COOPERATIVE, 7),
    (consumer_protocol, ProblemKind.CONSUMER_PROTOCOL, 7),
    (moves, ProblemKind.MOVES, 7),
    (flapping, ProblemKind.FLAPPING, 6),
    (join_refused, ProblemKind.JOIN_REFUSED, 3),
    (commit_refused, ProblemKind.COMMIT_REFUSED, 5),
    (deploy_lag, ProblemKind.DEPLOY_LAG, 1_300),
]
each_rule = pytest.mark.parametrize(("made", "kind", "least"), RULES, ids=[kind.value for _, kind, _ in RULES])


@each_rule
def test_it_is_found_and_nothing_else(made: Callable[[int], Story], kind: ProblemKind, least: int) -> None:
    assert kinds_of(made(least)) == {kind}


@each_rule
def test_it_is_not_found_below_its_threshold(made: Callable[[int], Story], kind: ProblemKind, least: int) -> None:
    assert kind not in kinds_of(made(least - 1))


def test_every_kind_has_a_test() -> None:
    assert {kind for _, kind, _ in RULES} == set(ProblemKind)


def test_each_rebalance_is_counted_in_one_finding() -> None:
    story = static(4)
    for _ in range(6):
        story.wait(hours=1).goes("a", reason=POLL_TIMEOUT).wait(minutes=2).comes("a")
    problems = problems_of(story)
    assert {problem.kind for problem in problems} == {ProblemKind.STATIC, ProblemKind.SLOW_POLL}
    assert sum(problem.rebalances for problem in problems) <= len(story.events)


def test_the_advice_carries_its_number() -> None:
    story = Story(unowned_partition_ms=60_000).start("a", "b", "c")
    for _ in range(5):
        story.wait(hours=4).goes("a", reason=POLL_TIMEOUT).wait(minutes=2).comes("a")
    (problem,) = problems_of(story)
    assert (problem.subject, problem.number, problem.rebalances) == ("a (host-a)", 5, 10)
    assert "10 rebalances and 10 partition-minutes without an owner would not have been" in problem.advice


def test_a_silent_member_costs_its_session_timeout_for_its_share() -> None:
    story = Story(partitions=12).start("a", "b", "c").wait(hours=1)
    (gone,) = story.goes("a", "expired", unowned_partition_ms=500).events[-1:]
    change = gone.changes[0]  # type: ignore[union-attr]
    import msgspec

    change = msgspec.structs.replace(change, session_timeout_ms=45_000)
    story.events[-1] = msgspec.structs.replace(gone, changes=[change])
    from tests.report.stories import past_of

    assert past_of([story])["g"].whole["lost_ms"] == 500 + 45_000 * 12 // 3


def test_the_second_rebalance_of_a_cooperative_assignor_belongs_to_the_first() -> None:
    story = Story().start("a", "b", "c")
    for _ in range(5):
        story.wait(hours=4).goes("a", "expired").wait(seconds=20).comes("a").wait(seconds=1)
        story.rebalance(Cause.PROTOCOLS_CHANGED, story.members["b"], ChangeKind.RESUBSCRIBED)
    (problem,) = problems_of(story)
    assert (problem.kind, problem.rebalances) == (ProblemKind.MEMBER, 15)


def test_a_member_that_left_and_still_commits_did_not_poll_in_time() -> None:
    story = Story().start("a", "b", "c")
    for _ in range(4):
        story.wait(hours=4)
        gone = story.members["a"]
        story.goes("a").wait(seconds=2).incident(IncidentKind.COMMIT_REFUSED, gone, error="UNKNOWN_MEMBER_ID")
        story.wait(minutes=2).comes("a")
    assert kinds_of(story) == {ProblemKind.SLOW_POLL}


def test_thresholds_are_those_of_the_period() -> None:
    twice = Period(START_MS, WEEK.until_ms + WEEK.until_ms - START_MS)
    assert {problem.kind for problem in problems_of(subscription(5), period=twice)} == set()
    assert {problem.kind for problem in problems_of(subscription(10), period=twice)} == {ProblemKind.SUBSCRIPTION}


def test_static_members_that_are_restarted_are_no_duplicates() -> None:
    story = Story().start("a", "b")
    same = ClientInfo("a-2", "i-1", "a", "host-a")
    for _ in range(10):
        story.wait(hours=12).incident(
            IncidentKind.STATIC_MEMBER_REPLACED, same, other=ClientInfo("", "i-1", "a", "host-a")
        )
    assert kinds_of(story) == set()
