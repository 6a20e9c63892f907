"""Incidents of real clients: `groups explain` names cause and culprit while they last (docs/stuck-groups.md)."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from coordinator.core.events.model import Story, decode_story
from coordinator.explain.rules import explain
from coordinator.explain.verdict import Finding, GroupVerdict
from protocol.messages.explain_group import ExplainGroupRequest
from tests.clients.conftest import Crew
from tests.clients.incidents_page import note
from tests.clients.members import ClientMember
from tests.support.daemon import Daemon
from tests.support.eventually import eventually
from tests.support.wire import call

SHORT_SESSION = {"session_timeout_ms": 1500, "heartbeat_ms": 300}


def story_of(crew: Crew) -> Story | None:
    answer = call(crew.daemon.port, ExplainGroupRequest(group_id=crew.group), 0)
    return None if answer.story is None else decode_story(answer.story)


def is_stable_for(crew: Crew, ms: int) -> bool:
    story = story_of(crew)
    return story is not None and story.state is not None and story.at_ms - story.state.since_ms > ms


def explained(crew: Crew, code: Finding, culprit: str, within_s: float = 60.0) -> GroupVerdict:
    """Wait until the headline names this cause and this client; the incident goes on meanwhile."""

    def is_named(verdicts: list[GroupVerdict]) -> GroupVerdict | None:
        named = {verdicts[0].culprit.client_id, verdicts[0].culprit.instance_id}
        return verdicts[0] if verdicts[0].code is code and culprit in named else None

    return _concluded(crew, is_named, f"{code} of {culprit}", within_s)


def explained_any(crew: Crew, code: Finding) -> GroupVerdict:
    """Wait until one of the verdicts, headline or not, names this cause."""
    return _concluded(
        crew, lambda verdicts: next((each for each in verdicts if each.code is code), None), f"{code}", 60
    )


def _concluded(
    crew: Crew, wanted: Callable[[list[GroupVerdict]], GroupVerdict | None], what: str, within_s: float
) -> GroupVerdict:
    seen: list[GroupVerdict] = []

    def found() -> tuple[GroupVerdict, Story] | None:
        story = story_of(crew)
        seen[:] = [] if story is None else explain(story)
        verdict = wanted(seen) if seen else None
        return None if verdict is None or story is None else (verdict, story)

    try:
        verdict, story = eventually(found, what, within_s=within_s)
    except AssertionError as failure:
        raise AssertionError(f"{failure}; it says {seen}") from None
    note(verdict, story)
    return verdict


@contextmanager
def repeatedly(member: ClientMember, action: Callable[[], None]) -> Iterator[None]:
    """Have the thread of a member do something between its polls, again and again, as a slow handler does."""
    is_over = threading.Event()

    def drive() -> None:
        while not is_over.is_set():
            member.do(action)
            is_over.wait(1.0)

    driver = threading.Thread(target=drive, daemon=True)
    driver.start()
    try:
        yield
    finally:
        is_over.set()
        driver.join(timeout=60)


def test_all_wait_for_a_member_that_does_not_poll(crew: Crew) -> None:
    crew.topic(4)
    slow = crew.join("confluent-kafka", "slow-1", rebalance_timeout_ms=60_000)
    crew.settles(slow)
    work_is_over = threading.Event()
    handler = threading.Thread(target=lambda: slow.do(lambda: work_is_over.wait(50)), daemon=True)
    handler.start()
    fast = crew.join("aiokafka", "fast")
    verdict = explained(crew, Finding.SLOW_JOINER, "slow-1")
    assert "slow-1" in verdict.sentence and "127.0.0.1" in verdict.sentence and verdict.at_most_ms > 0
    work_is_over.set()
    handler.join()
    crew.settles(slow, fast, within_s=60)


def test_a_member_exceeds_its_poll_interval_again_and_again(crew: Crew) -> None:
    crew.topic(4)
    fast = crew.join("aiokafka", "fast")
    slow = crew.join("confluent-kafka", "slow-2", rebalance_timeout_ms=6000)
    crew.settles(fast, slow)
    with repeatedly(slow, lambda: time.sleep(8)):
        explained(crew, Finding.POLL_INTERVAL, "slow-2", within_s=90)


def test_a_process_dies_whenever_it_has_partitions(crew: Crew) -> None:
    crew.topic(4)
    steady = crew.join("aiokafka", "steady", **SHORT_SESSION)
    for _ in range(3):
        doomed = crew.join_as_process("aiokafka", "crashes", **SHORT_SESSION)
        crew.settles(steady, doomed)
        doomed.kill()
    explained(crew, Finding.CRASH_LOOP, "crashes")


def test_two_processes_have_one_instance_id(crew: Crew) -> None:
    crew.topic(4)
    one = crew.join("aiokafka", "host-a", instance_id="only-one")
    crew.settles(one)
    crew.join("aiokafka", "host-b", instance_id="only-one")
    verdict = explained(crew, Finding.SHARED_INSTANCE_ID, "only-one")
    assert "host-a" in verdict.sentence and "host-b" in verdict.sentence


def test_the_leader_takes_long_to_assign(crew: Crew, monkeypatch: pytest.MonkeyPatch) -> None:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor

    assign = RangePartitionAssignor.assign.__func__
    is_fast = threading.Event()

    def slow_assign(cls: Any, *arguments: Any) -> Any:
        is_fast.wait(50)
        return assign(cls, *arguments)

    monkeypatch.setattr(RangePartitionAssignor, "assign", classmethod(slow_assign))
    crew.topic(4)
    crew.join("aiokafka", "slow-leader", session_timeout_ms=60_000, rebalance_timeout_ms=60_000)
    explained(crew, Finding.SLOW_LEADER, "slow-leader")
    is_fast.set()


def test_assignors_have_nothing_in_common(crew: Crew) -> None:
    crew.topic(4)
    one = crew.join("confluent-kafka", "by-range", assignor="range")
    crew.settles(one)
    crew.join("confluent-kafka", "by-turns", assignor="roundrobin")
    explained(crew, Finding.ASSIGNORS_DISJOINT, "by-turns")


def test_a_member_has_nothing_to_do(crew: Crew) -> None:
    crew.topic(1)
    one = crew.join("aiokafka", "one")
    crew.settles(one)
    crew.join("aiokafka", "two")
    eventually(lambda: len(crew.view().assignments) == 2, "two members")
    told = explained_any(crew, Finding.IDLE_MEMBERS)
    assert "1 partition" in told.sentence


def test_a_member_was_removed_and_commits(crew: Crew) -> None:
    topic = crew.topic(4)
    steady = crew.join("confluent-kafka", "steady", **SHORT_SESSION)
    stopped = crew.join_as_process("aiokafka", "paused", **SHORT_SESSION)
    crew.settles(steady, stopped)
    os.kill(stopped._process.pid, signal.SIGSTOP)
    try:
        crew.settles(steady)
    finally:
        os.kill(stopped._process.pid, signal.SIGCONT)
    assert topic
    explained(crew, Finding.SESSION_TOO_SHORT, "paused")


def test_a_member_changes_its_subscription_again_and_again(crew: Crew) -> None:
    first, second = crew.topic(2, "first"), crew.topic(2, "second")
    steady = crew.join("aiokafka", "steady")
    flapping = crew.join("confluent-kafka", "flapping")
    crew.settles(steady, flapping)
    topics = [[first], [first, second]]

    def subscribe() -> None:
        flapping._consumer.subscribe(topics[0])  # type: ignore[attr-defined]
        topics.reverse()

    with repeatedly(flapping, subscribe):
        explained(crew, Finding.SUBSCRIPTION_FLAPPING, "flapping")


def test_members_are_replaced_one_after_another(crew: Crew) -> None:
    crew.topic(6)
    members = [crew.join("confluent-kafka", f"web-{number}") for number in range(3)]
    crew.settles(*members, within_s=60)
    eventually(lambda: is_stable_for(crew, 1500), "the group is older than its first rebalance")
    for number in range(3):
        crew.leave(members[number])
        members[number] = crew.join("confluent-kafka", f"web-{number}")
        crew.settles(*members, within_s=60)
    assert "replaced so far: 3 clients" in explained_any(crew, Finding.ROLLING_DEPLOY).sentence


def test_the_group_is_full(tmp_path: Path) -> None:
    overrides = ("group.initial.rebalance.delay.ms=0", "group.max.size=2")
    with Daemon(tmp_path, overrides=overrides) as daemon:
        crew = Crew(daemon)
        crew.topic(4)
        members = [crew.join("confluent-kafka", f"one-of-{number}") for number in range(2)]
        crew.settles(*members, within_s=60)
        crew.join("confluent-kafka", "one-too-many")
        explained(crew, Finding.GROUP_FULL, "one-too-many")
        crew.close()
