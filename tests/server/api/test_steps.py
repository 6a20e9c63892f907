"""Long requests in steps: the answer is that of one step, each step is bounded, and others run in between."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.core.group import describe
from coordinator.core.offsets import deleted_topics, deletion, fetch
from protocol.error_codes import ErrorCode
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.support.call import Call
from tests.support.cluster import Cluster

GROUPS = 47


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(describe, "GROUPS_PER_STEP", 5)
    monkeypatch.setattr(fetch, "OFFSETS_PER_STEP", 5)
    monkeypatch.setattr(deletion, "RECORDS_PER_STEP", 5)
    monkeypatch.setattr(deleted_topics, "GROUPS_PER_STEP", 5)
    monkeypatch.setattr(describe, "DESCRIBED_PER_STEP", 5)
    return 5


@pytest.fixture
def many() -> Cluster:
    """Groups with an offset each, and one with many."""
    cluster = Cluster(Config(group_initial_rebalance_delay_ms=0))
    for number in range(GROUPS):
        cluster.commit(f"group-{number}", {("t", 0): number})
    cluster.commit("big", {(topic, partition): partition for topic in ("t", "u") for partition in range(30)})
    cluster.stable_group("live", members=7)
    return cluster


NAMES = [*(f"group-{number}" for number in range(GROUPS)), "big", "live", "unknown"]
REQUESTS: dict[str, tuple[str, Any, int]] = {
    "list": ("list", ListGroupsRequest(), 5),
    "list some": ("list", ListGroupsRequest(states_filter=["stable"]), 4),
    "describe": ("describe", DescribeGroupsRequest(groups=NAMES), 6),
    "fetch all": ("fetch", OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="big", topics=None)]), 8),
    "fetch stable": ("fetch", OffsetFetchRequest(group_id="big", topics=None, require_stable=True), 7),
    "fetch many": (
        "fetch",
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None) for name in NAMES]),
        9,
    ),
}


def steps_of(cluster: Cluster, call: Call) -> int:
    """Take the steps; the first was taken when the request came."""
    steps = 1
    while cluster.core.has_work:
        assert call.answer is None
        cluster.step()
        steps += 1
    assert call.answer is not None
    return steps


@pytest.mark.parametrize("name", REQUESTS)
def test_in_steps_the_answer_is_what_it_is_at_once(many: Cluster, name: str, request: pytest.FixtureRequest) -> None:
    at_once = many.send(*REQUESTS[name])
    assert at_once.answer is not None, "few enough for one step"
    request.getfixturevalue("small_steps")
    many.holds_work = True
    call = many.send(*REQUESTS[name])
    assert steps_of(many, call) > 5
    assert call.answer == at_once.answer


@pytest.mark.usefixtures("small_steps")
def test_a_short_request_is_answered_while_a_long_one_takes_its_steps(many: Cluster) -> None:
    many.holds_work = True
    long = many.send(*REQUESTS["list"])
    short = many.send("fetch", OffsetFetchRequest(group_id="group-3", topics=None), 5)
    assert short.answer is not None
    assert long.answer is None


@pytest.mark.usefixtures("small_steps")
def test_groups_may_end_and_begin_during_a_listing(many: Cluster) -> None:
    many.holds_work = True
    call = many.send(*REQUESTS["list"])
    many.step()
    many.delete_groups("group-46")
    many.delete_groups("group-0")
    many.commit("a-new-one", {("t", 0): 1})
    steps_of(many, call)
    names = [group.group_id for group in call.answer.groups]
    assert names == sorted(names)
    assert {"group-46", "group-0", "a-new-one"}.isdisjoint(names)
    assert len(names) == GROUPS + 2 - 2


@pytest.mark.usefixtures("small_steps")
def test_the_offsets_of_one_group_are_those_of_one_moment(many: Cluster) -> None:
    many.holds_work = True
    call = many.send(*REQUESTS["fetch all"])
    many.step()
    many.commit("big", {("t", 0): 99, ("u", 29): 99})
    many.delete_offsets("big", ("u", 28))
    steps_of(many, call)
    (group,) = call.answer.groups
    answered = {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in group.topics
        for partition in topic.partitions
    }
    assert answered == {(topic, partition): partition for topic in ("t", "u") for partition in range(30)}


@pytest.mark.usefixtures("small_steps")
def test_offsets_that_come_and_go_between_all_steps_change_no_answer(many: Cluster) -> None:
    many.holds_work = True
    call = many.send(*REQUESTS["fetch all"])
    step = 0
    while many.core.has_work:
        many.step()
        if call.answer is None:
            many.commit("big", {("t", 100 + step): 1, ("t", 0): 100 + step, ("u", 100 + step): 1})
            many.delete_offsets("big", ("t", 29 - step))
        step += 1
    assert step > 60 // 5
    (group,) = call.answer.groups
    for topic in group.topics:
        offsets = [(partition.partition_index, partition.committed_offset) for partition in topic.partitions]
        assert offsets == [(partition, partition) for partition in range(30)]


@pytest.mark.usefixtures("small_steps")
def test_a_long_fetch_reads_nothing_before_its_turn(many: Cluster) -> None:
    """The first steps of ten such requests, which run with the requests, would all be in one round of the loop."""
    many.holds_work = True
    call = many.send(*REQUESTS["fetch all"])
    many.commit("big", {("t", 0): 99})
    steps_of(many, call)
    (group,) = call.answer.groups
    assert group.topics[0].partitions[0].committed_offset == 99


@pytest.mark.usefixtures("small_steps")
def test_the_members_of_a_long_group_are_described_in_steps_as_of_one_moment(many: Cluster) -> None:
    request = DescribeGroupsRequest(groups=["live"])
    at_once = many.send("describe", request, 6)
    many.holds_work = True
    call = many.send("describe", request, 6)
    many.step()
    for member in many.core.groups["live"].members.values():
        member.assignment = b"of the next generation"
    assert steps_of(many, call) == 2
    assert call.answer == at_once.answer


@pytest.mark.usefixtures("small_steps")
def test_deleting_very_many_groups_takes_steps_and_one_answer(many: Cluster) -> None:
    many.holds_work = True
    call = many.send("delete_groups", DeleteGroupsRequest(groups_names=NAMES), 2)
    assert 0 < GROUPS + 2 - len(many.core.groups) <= 5
    steps = 1
    while many.core.has_work:
        before = len(many.core.groups)
        many.step()
        many.flush()
        assert before - len(many.core.groups) <= 5
        steps += 1
    assert steps > GROUPS // 5
    errors = {result.group_id: ErrorCode(result.error_code) for result in call.answer.results}
    assert errors.pop("live") is ErrorCode.NON_EMPTY_GROUP
    assert errors.pop("unknown") is ErrorCode.GROUP_ID_NOT_FOUND
    assert set(errors.values()) == {ErrorCode.NONE}
    assert list(many.core.groups) == ["live"]
    many.crash_and_recover()
    assert list(many.core.groups) == ["live"]


@pytest.mark.usefixtures("small_steps")
def test_a_deleted_topic_is_forgotten_in_steps_and_what_is_committed_meanwhile_stays(many: Cluster) -> None:
    many.holds_work = True
    many.delete_topic("t", range(30))
    many.step()
    for name in ("group-0", "group-23", "group-46"):
        many.commit(name, {("t", 0): 1000})
    many.holds_work = False
    many.advance("1m")
    assert {name: many.committed(name) for name in many.core.groups if "group-" in name and many.committed(name)} == {
        name: {("t", 0): 1000} for name in ("group-0", "group-23", "group-46")
    }
    assert set(many.committed("big")) == {("u", partition) for partition in range(30)}


@pytest.mark.usefixtures("small_steps")
def test_a_partition_that_is_given_up_during_long_work_stops_it(many: Cluster) -> None:
    many.holds_work = True
    call = many.send(*REQUESTS["list"])
    many.delete_topic("t", range(30))
    many.shutdown()
    assert call.answer is not None
    assert not many.core.has_work


def test_durable_records_are_applied_in_bounded_parts(many: Cluster) -> None:
    with many.log_held():
        calls = [many.commit(f"group-{number}", {("t", 1): 5}) for number in range(GROUPS)]
        for partition in range(2):
            high_watermark = many.log.flush(partition, None)
            assert high_watermark is not None
            events = 0
            while many.core.is_behind(partition, high_watermark):
                before = sum(call.answer is not None for call in calls)
                many.execute(many.core.appended(partition, high_watermark, many.clock.now_ms, 4))
                assert 0 < sum(call.answer is not None for call in calls) - before <= 4
                events += 1
            assert events > 3
    assert all(call.answer is not None for call in calls)
