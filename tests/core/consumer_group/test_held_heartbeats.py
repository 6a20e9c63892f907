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


def alone(partitions: int = 4, **options: Any) -> ConsumerWorld:
    world = ConsumerWorld({"t": partitions}, **options)
    world.beat("A", 0, topics=["t"])
    return world


def held(world: ConsumerWorld, member_id: str = "A", epoch: int = 2) -> Call:
    call = world.beat(member_id, epoch, software=LIBRDKAFKA, can_wait=True)
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


@pytest.mark.parametrize("name", ["apache-kafka-java", "kgo", "kafka-python"])
def test_nothing_is_held_of_clients_whose_departure_waits_for_the_answer(name: str) -> None:
    world = alone()
    assert not world.beat("A", 2, software=ClientSoftware(name, "1"), can_wait=True).is_parked


def test_a_session_timeout_of_the_group_turns_nothing_off() -> None:
    world = alone()
    world.group_configs["g"] = {"consumer.session.timeout.ms": 60_000}
    held(world)


def test_nothing_is_held_that_changes_something() -> None:
    world = alone()
    world.beat("B", 0, topics=["t"])
    assert not world.beat("A", 2, software=LIBRDKAFKA, can_wait=True).is_parked
