"""Heartbeats of classic members of a KIP-848 group, which wait until their member is to rejoin."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.effects import ClientSoftware
from protocol.error_codes import ErrorCode
from tests.core.consumer_group.test_migration import consumer_and_classic, rejoin, settled, told
from tests.support.call import Call
from tests.support.consumer_world import ConsumerWorld
from tests.support.scripted_member import Member

LIBRDKAFKA = ClientSoftware("librdkafka", "2.16.0")


def held(world: ConsumerWorld, member: Member, *, software: ClientSoftware = LIBRDKAFKA) -> Call:
    call = world.heartbeat("g", member.member_id, member.generation, software=software, can_wait=True)
    assert call.is_parked
    return call


def test_it_is_answered_when_its_member_has_partitions_to_give_up() -> None:
    world, one, two = settled()
    calls = [held(world, one), held(world, two)]
    world.beat("B", 0, topics=["t"])
    assert [call.error for call in calls] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2


def test_a_newcomer_hears_when_the_partitions_that_it_waits_for_are_free() -> None:
    world, classic = consumer_and_classic()
    classic.join()
    assert told(classic.sync()) == {}
    call = held(world, classic)
    assert world.told(world.beat("A", 2)) == (2, {"t": [0, 1]})
    assert call.is_parked
    world.beat("A", 2, owned={"t": [0, 1]})
    assert call.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert rejoin(classic, {}) == {"t": [2, 3]}


def test_it_is_answered_after_its_time() -> None:
    world, one, _ = settled()
    call = held(world, one)
    world.advance("2749ms")  # just below the interval of 3 s, because its session of 10 s allows no more
    assert call.is_parked
    world.advance("1ms")
    assert call.error is ErrorCode.NONE


def test_bytes_behind_it_have_it_answered() -> None:
    world, one, _ = settled()
    call = held(world, one)
    world.release_held(call)
    assert call.error is ErrorCode.NONE


def test_its_answer_does_not_renew_the_session() -> None:
    world, one, _ = settled()
    held(world, one)
    group = world.consumer_group()
    deadline_ms = group.sessions[one.member_id].deadline_ms
    world.advance("6s")
    assert group.sessions[one.member_id].deadline_ms == deadline_ms


def test_a_member_that_is_removed_hears_of_it() -> None:
    world, one, _ = settled()
    call = held(world, one)
    world.leave("g", one.member_id)
    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_becomes_classic_has_its_members_rejoin_at_once() -> None:
    world, one, two = settled()
    calls = [held(world, one), held(world, two)]
    world.leave("g", "A")
    assert [call.error for call in calls] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2


def test_a_second_heartbeat_answers_the_first() -> None:
    world, one, _ = settled()
    call = held(world, one)
    again = held(world, one)
    assert call.error is ErrorCode.NONE
    assert again.is_parked


def test_a_stop_answers_them() -> None:
    world, one, _ = settled()
    call = held(world, one)
    world.shutdown()
    assert call.error is ErrorCode.NOT_COORDINATOR


def test_none_is_held_where_parking_is_off() -> None:
    world, classic = consumer_and_classic(config=Config(group_heartbeat_park_ms=0))
    classic.join()
    classic.sync()
    call = world.heartbeat("g", classic.member_id, classic.generation, software=LIBRDKAFKA, can_wait=True)
    assert call.error is ErrorCode.NONE


@pytest.mark.parametrize("generation", [1, 9])
def test_none_is_held_of_another_generation(generation: int) -> None:
    world, one, _ = settled()
    call = world.heartbeat("g", one.member_id, generation, software=LIBRDKAFKA, can_wait=True)
    assert call.error is ErrorCode.ILLEGAL_GENERATION
