"""The present state of a KIP-848 group, as `groups explain` and the console get it."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.consumer_group.live_state import PARTITIONS_READ, RANGES_SHOWN, ranges
from coordinator.core.events import listed
from coordinator.core.events.model import SHOWN_AT_MOST, LiveGroup, LiveMember, Wait
from coordinator.core.group.figures import list_figures
from tests.core.consumer_group.test_migration import settled
from tests.support.consumer_world import ConsumerWorld


def state_of(world: ConsumerWorld) -> LiveGroup:
    story = world.core.story("g", world.clock.now_ms)
    assert story is not None and story.state is not None
    return story.state


def member_of(state: LiveGroup, member_id: str) -> LiveMember:
    return next(each for each in state.members if each.member.member_id == member_id)


def test_members_have_what_they_have_shall_have_and_wait_for() -> None:
    world = ConsumerWorld({"t": 4, "u": 2})
    world.beat("A", 0, topics=["t", "u"])
    world.beat("B", 0, topics=["t", "u"])
    world.advance("2s")
    world.beat("A", 2, owned={"t": [0, 1, 2, 3], "u": [0, 1]})
    world.advance("3s")
    state = state_of(world)
    assert (state.type, state.state, state.generation, state.assignment_epoch) == ("consumer", "Reconciling", 3, 3)
    assert (state.member_count, state.partitions, state.protocol) == (2, 6, "uniform")
    assert (state.waits, state.waits_at_most_ms) == (Wait.REVOCATION, 297_000)
    assert [each.member_id for each in state.waits_for] == ["A"]
    a, b = member_of(state, "A"), member_of(state, "B")
    assert (a.epoch, a.assigned, a.target, a.giving_up) == (2, ["t 0-3", "u 0-1"], ["t 0-2"], ["t 3", "u 0-1"])
    assert (a.revoking, a.awaited, a.step_ms, a.silent_ms) == (3, 0, 3_000, 3_000)
    assert (b.epoch, b.assigned, b.target, b.awaited, b.step_ms) == (3, [], ["t 3", "u 0-1"], 3, 5_000)


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([0, 1, 2, 5, 7, 8], "0-2, 5, 7-8"), ([0, 2, 4], "0, 2, 4")]
)
def test_partitions_are_shown_as_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text


def test_as_many_ranges_are_shown_as_allowed_and_one_more_is_counted() -> None:
    assert " and " not in ranges(range(0, 2 * RANGES_SHOWN, 2))
    assert ranges(range(0, 2 * RANGES_SHOWN + 2, 2)).endswith(", 38 and 1 more")


@pytest.mark.parametrize(("more", "is_shown"), [(0, True), (1, False)])
def test_as_many_partitions_are_named_as_allowed_and_no_more(more: int, is_shown: bool) -> None:
    world = ConsumerWorld({"t": PARTITIONS_READ // 3 + more})  # read as assigned, as target, and for its holders
    world.beat("A", 0, topics=["t"])
    while world.epochs[2] != "Stable":
        world.beat("A", world.consumer_group().members["A"].epoch, owned=world.assigned("A"))
    member = member_of(state_of(world), "A")
    assert member.partitions == PARTITIONS_READ // 3 + more
    assert bool(member.target) is is_shown


def test_as_many_members_are_shown_as_allowed_those_that_are_waited_for_first() -> None:
    world = ConsumerWorld({"t": 1})
    names = [f"m{number:03}" for number in range(SHOWN_AT_MOST + 20)]
    for name in names:
        world.beat(name, 0, topics=["t"])
    for name in names[:-2]:
        world.beat(name, world.consumer_group().members[name].epoch, owned=world.assigned(name))
    state = state_of(world)
    assert (state.member_count, len(state.members)) == (len(names), SHOWN_AT_MOST)
    assert state.members[0].member.member_id == names[-2]


def test_members_of_the_classic_protocol_and_what_matches_nothing_are_told() -> None:
    world, one, _ = settled()
    world.beat("B", 0, topics=["none"], subscribed_topic_regex="x.*")
    state = state_of(world)
    assert (state.classic_members, state.unmatched) == (2, ["none", "x.*"])
    assert member_of(state, one.member_id).is_classic and not member_of(state, "B").is_classic
    assert member_of(state, "B").topics == ["none", "x.*"]


def test_a_static_member_that_is_away_is_waited_for() -> None:
    world = ConsumerWorld({"t": 1})
    world.beat("S", 0, topics=["t"], instance_id="s")
    world.advance("1s")
    world.beat("S", -2, instance_id="s")
    world.advance("5s")
    state = state_of(world)
    assert (state.state, state.waits, state.waits_at_most_ms) == ("Reconciling", Wait.RETURN, 39_000)
    assert member_of(state, "S").epoch == -2


def test_the_list_of_groups_has_its_type_and_its_last_rebalance() -> None:
    world = ConsumerWorld({"t": 1})
    world.advance("1s")
    world.beat("A", 0, topics=["t"])
    began_ms = world.clock.wall_ms
    world.advance("1s")
    (row,) = listed_rows(world)
    assert (row.group, row.type, row.state, row.members, row.rebalances) == ("g", "consumer", "Stable", 1, 1)
    assert row.last_rebalance_ms == began_ms


def listed_rows(world: ConsumerWorld) -> list[Any]:
    steps = list_figures(world.core._registry, world.core.recorder)
    while True:
        try:
            next(steps)
        except StopIteration as result:
            return [row for part in result.value for row in listed.decode(part)]
