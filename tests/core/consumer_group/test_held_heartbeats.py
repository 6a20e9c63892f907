"""Heartbeats that wait while their member has nothing to do, and what answers them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from coordinator.config.config import Config
from coordinator.core.effects import ClientSoftware
from protocol.error_codes import ErrorCode
from tests.support.call import Call
from tests.support.consumer_world import ConsumerWorld

LIBRDKAFKA = ClientSoftware("librdkafka", "2.16.0")
JAVA = ClientSoftware("apache-kafka-java", "4.4.0")
SEND_AGAIN_SOON = (JAVA, ClientSoftware("kgo", "1.22.2"))


def alone(partitions: int = 4, **options: Any) -> ConsumerWorld:
    world = ConsumerWorld({"t": partitions}, **options)
    world.beat("A", 0, topics=["t"])
    return world


def held(world: ConsumerWorld, member_id: str = "A", epoch: int = 2, *, software: ClientSoftware = LIBRDKAFKA) -> Call:
    call = world.beat(member_id, epoch, software=software, can_wait=True)
    assert call.is_parked
    return call


def test_a_member_hears_of_its_next_step_at_once() -> None:
    world = alone()
    call = held(world)
    world.advance("1s")
    assert call.is_parked
    assert world.told(world.beat("B", 0, topics=["t"])) == (3, {})
    assert world.told(call) == (2, {"t": [0, 1]})
    assert world.told(world.beat("A", 2, owned={"t": [0, 1]}))[0] == 3
    assert world.told(world.beat("B", 3)) == (3, {"t": [2, 3]})


def test_its_answer_waits_for_the_records_that_it_tells_of() -> None:
    world = alone()
    call = held(world)
    with world.log_held():
        world.beat("B", 0, topics=["t"])
        assert call.is_parked
    assert world.told(call) == (2, {"t": [0, 1]})


def test_a_failed_append_refuses_the_heartbeat_that_followed_it() -> None:
    world = alone()
    call = held(world)
    with world.log_held():
        world.beat("B", 0, topics=["t"])
        world.fail_appends()
    assert call.error is ErrorCode.NOT_COORDINATOR
    assert world.assigned("A") == {"t": [0, 1, 2, 3]}


def test_it_is_answered_before_the_next_one_is_due() -> None:
    world = alone()
    call = held(world)
    world.advance("4749ms")
    assert call.is_parked
    world.advance("1ms")
    assert world.told(call) == (2, None)
    assert call.answer.heartbeat_interval_ms == 5000


def test_bytes_behind_it_have_it_answered() -> None:
    world = alone()
    call = held(world)
    world.release_held(call)
    assert world.told(call) == (2, None)


def test_an_answer_does_not_renew_the_session() -> None:
    world = alone()
    call = held(world)
    world.advance("5s")
    assert not call.is_parked
    world.advance("39s")
    assert "A" in world.consumer_group().members
    world.advance("2s")
    assert "A" not in world.consumer_group().members


def test_a_member_that_is_removed_elsewhere_hears_of_it() -> None:
    world = alone()
    call = held(world)
    assert world.leave("g", "A").error is ErrorCode.NONE
    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_another_heartbeat_of_the_member_answers_the_first() -> None:
    world = alone()
    call = held(world)
    again = held(world)
    assert world.told(call) == (2, None)
    assert again.is_parked


def test_a_connection_that_ends_leaves_nothing_behind() -> None:
    world = alone()
    call = held(world)
    world.drop_held(call)
    assert not world.consumer_group().held
    world.beat("B", 0, topics=["t"])
    assert call.is_parked


def test_a_stop_answers_them() -> None:
    world = alone()
    call = held(world)
    world.shutdown()
    assert call.error is ErrorCode.NOT_COORDINATOR


def test_many_are_handled_in_steps() -> None:
    world = ConsumerWorld({"t": 200})
    names = [f"m{number}" for number in range(120)]
    for name in names:
        world.beat(name, 0, topics=["t"])
    for _ in range(4):
        for name in names:
            member = world.consumer_group().members[name]
            world.beat(name, member.epoch, owned=world.assigned(name))
    assert world.epochs[2] == "Stable"
    calls = [held(world, name, world.epochs[0]) for name in names]
    world.holds_work = True
    world.beat("new", 0, topics=["t"])
    waiting = [len(calls)]
    while world.core.has_work:
        world.step()
        world.flush()
        waiting.append(sum(call.is_parked for call in calls))
    assert waiting[-1] == 0
    assert max(before - after for before, after in pairwise(waiting)) == 50


@pytest.mark.parametrize(
    "settings",
    [
        {"group_heartbeat_park_ms": 0},
        {"group_consumer_heartbeat_interval_ms": 4000},
        {"group_consumer_waiting_heartbeat_interval_ms": 0},
        {"group_consumer_session_timeout_ms": 700},
    ],
)
def test_nothing_is_held_where_it_is_off_or_the_interval_is_set(settings: dict[str, int]) -> None:
    world = alone(config=Config(**settings))  # type: ignore[arg-type]
    assert not world.beat("A", 2, software=LIBRDKAFKA, can_wait=True).is_parked


def test_no_interval_is_short_where_nothing_is_held() -> None:
    world = alone(config=Config(group_heartbeat_park_ms=0))
    world.beat("B", 0, topics=["t"])
    assert world.told(world.beat("A", 2, software=LIBRDKAFKA, can_wait=True)) == (2, {"t": [0, 1]})
    told = world.beat("A", 2, owned={"t": [0, 1]}, software=LIBRDKAFKA, can_wait=True).answer
    assert (told.member_epoch, told.heartbeat_interval_ms) == (3, 5000)


def test_nothing_is_held_of_clients_that_have_no_such_groups() -> None:
    world = alone()
    assert not world.beat("A", 2, software=ClientSoftware("kafka-python", "1"), can_wait=True).is_parked


@pytest.mark.parametrize("software", SEND_AGAIN_SOON)
def test_java_and_franz_go_are_held_longer_and_send_the_next_one_soon(software: ClientSoftware) -> None:
    world = alone()
    call = held(world, software=software)
    world.advance("5749ms")
    assert call.is_parked
    world.advance("1ms")
    assert world.told(call) == (2, None)
    assert call.answer.heartbeat_interval_ms == 250


@pytest.mark.parametrize("software", SEND_AGAIN_SOON)
def test_they_send_one_soon_after_a_step_too(software: ClientSoftware) -> None:
    world = alone()
    call = held(world, software=software)
    world.beat("B", 0, topics=["t"], software=software, can_wait=True)
    assert call.answer.heartbeat_interval_ms == 5000  # it has partitions to give up, which may take long
    told = world.beat("A", 2, owned={"t": [0, 1]}, software=software, can_wait=True).answer
    assert (told.member_epoch, told.heartbeat_interval_ms) == (3, 250)
    held(world, epoch=3, software=software)


def test_a_client_that_commits_often_sends_heartbeats_as_usual() -> None:
    world = alone()
    intervals = []
    for held_for in ("3s", "3s", "3s", "5s", "3s"):
        call = held(world, software=JAVA)
        world.advance(held_for)
        world.release_held(call)
        intervals.append(call.answer.heartbeat_interval_ms)
    assert intervals == [250, 5000, 5000, 250, 250]


def test_one_that_commits_every_five_seconds_has_one_waiting_from_commit_to_commit() -> None:
    world = alone()
    for held_for in ("1s", "4750ms", "4750ms"):
        call = held(world, software=JAVA)
        world.advance(held_for)
        world.release_held(call)
        assert call.answer.heartbeat_interval_ms == 250


@pytest.mark.parametrize(
    "settings",
    [
        {"group_heartbeat_park_ms": 4000},  # shorter than the interval: it would be more heartbeats than usual
        {"group_consumer_heartbeat_interval_ms": 4000},
        {"group_consumer_session_timeout_ms": 14_000},
    ],
)
def test_they_send_none_soon_where_it_could_not_be_held_for_an_interval(settings: dict[str, int]) -> None:
    world = alone(config=Config(**settings))  # type: ignore[arg-type]
    call = world.beat("A", 2, software=JAVA, can_wait=True)
    world.advance("5s")
    assert call.answer.heartbeat_interval_ms == settings.get("group_consumer_heartbeat_interval_ms", 5000)


def test_a_request_behind_the_last_step_does_not_make_the_next_heartbeat_late() -> None:
    world = alone()
    call = held(world, software=JAVA)
    world.beat("B", 0, topics=["t"], software=JAVA, can_wait=True)
    assert not call.is_parked
    assert world.beat("A", 2, owned={"t": [0, 1]}, software=JAVA).answer.heartbeat_interval_ms == 250


def test_a_client_whose_heartbeats_never_can_be_held_sends_them_as_usual() -> None:
    world = alone()
    call = held(world, software=JAVA)
    world.advance("6s")
    assert call.answer.heartbeat_interval_ms == 250
    intervals = [world.beat("A", 2, software=JAVA).answer.heartbeat_interval_ms for _ in range(4)]
    assert intervals == [250, 5000, 5000, 5000]


def by_regex() -> ConsumerWorld:
    world = ConsumerWorld({"t": 4})
    world.beat("A", 0, subscribed_topic_regex="t.*")
    assert world.told(world.beat("A", 1)) == (2, {"t": [0, 1, 2, 3]})
    return world


@pytest.mark.parametrize("software", [LIBRDKAFKA, JAVA])
def test_a_member_with_a_regular_expression_hears_of_its_next_step_at_once(software: ClientSoftware) -> None:
    world = by_regex()
    call = held(world, software=software)
    world.beat("B", 0, subscribed_topic_regex="t.*")
    assert world.told(call) == (2, {"t": [0, 1]})


def test_a_heartbeat_that_has_its_regular_expression_resolved_again_is_not_held() -> None:
    world = by_regex()
    call = held(world)
    world.topics_image.create("t2", 1)
    world.advance("11s")
    assert world.told(call) == (2, None), "it was held until its time was over"
    assert world.told(world.beat("A", 2, software=LIBRDKAFKA, can_wait=True)) == (2, None)
    assert world.told(world.beat("A", 2))[1] == {"t": [0, 1, 2, 3], "t2": [0]}
    for _ in range(130):
        call = world.beat("A", 3, software=LIBRDKAFKA, can_wait=True)
        if not call.is_parked:
            break
        world.advance("5s")
    assert not call.is_parked, "the interval of group.consumer.regex.refresh.interval.ms is over"


def test_none_is_sent_soon_whose_connection_may_not_have_it_held() -> None:
    world = alone()
    assert world.beat("A", 2, software=JAVA).answer.heartbeat_interval_ms == 5000


def test_a_session_timeout_of_the_group_turns_nothing_off() -> None:
    world = alone()
    world.group_configs["g"] = {"consumer.session.timeout.ms": 60_000}
    held(world)


def test_nothing_is_held_that_changes_something() -> None:
    world = alone()
    world.beat("B", 0, topics=["t"])
    assert not world.beat("A", 2, software=LIBRDKAFKA, can_wait=True).is_parked


def test_the_interval_of_librdkafka_is_short_after_a_step_and_grows_to_the_usual_one() -> None:
    world = alone()
    call = held(world)
    world.beat("B", 0, topics=["t"], software=LIBRDKAFKA, can_wait=True)
    assert call.answer.heartbeat_interval_ms == 5000  # it has partitions to give up, which may take long
    told = world.beat("A", 2, owned={"t": [0, 1]}, software=LIBRDKAFKA, can_wait=True).answer
    intervals, waited = [told.heartbeat_interval_ms], []
    for _ in range(10):
        call = held(world, epoch=3)
        before_ms = world.clock.now_ms
        while call.is_parked:
            world.advance("250ms")
        waited.append(world.clock.now_ms - before_ms)
        intervals.append(call.answer.heartbeat_interval_ms)
        world.advance("250ms")
    assert intervals == [500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 5000]
    assert waited == [interval - 250 for interval in intervals[:-1]]


def test_the_interval_of_librdkafka_grows_when_its_heartbeats_are_not_held_too() -> None:
    world = alone()
    call = held(world)
    world.beat("B", 0, topics=["t"], software=LIBRDKAFKA, can_wait=True)
    assert not call.is_parked
    intervals = [world.beat("A", 2, owned={"t": [0, 1]}, software=LIBRDKAFKA).answer.heartbeat_interval_ms]
    intervals += [world.beat("A", 3, software=LIBRDKAFKA).answer.heartbeat_interval_ms for _ in range(10)]
    assert intervals == [500, 1000, 1500, 2000, 2500, 3000, 3500, 4000, 4500, 5000, 5000]


def test_librdkafka_takes_its_partitions_at_the_usual_interval() -> None:
    """It sends its next heartbeat as soon as it has taken them, and that one waits."""
    world = alone()
    world.beat("B", 0, topics=["t"])
    world.beat("A", 2, owned={"t": [0, 1]})
    call = held(world, epoch=3)
    world.beat("B", -1)
    told = call.answer
    assert (world.told(call)[0], told.heartbeat_interval_ms) == (4, 5000)
    call = held(world, epoch=4)
    world.advance("4749ms")
    assert call.is_parked
