"""Rules that every assignment keeps, whatever the group; and the bound of each step."""

from __future__ import annotations

import random
import sys
from collections.abc import Generator
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.consumer_group.assignors import pace
from coordinator.core.consumer_group.assignors.interface import GroupSpec, MemberSpec, TargetAssignments
from coordinator.core.consumer_group.assignors.range import RangeAssignor
from coordinator.core.consumer_group.assignors.uniform import UniformAssignor
from tests.core.consumer_group.assigning import assigned, topic_id, with_targets

Assignor = RangeAssignor | UniformAssignor
each_assignor = pytest.mark.parametrize(
    "assignor", [RangeAssignor(), UniformAssignor()], ids=lambda assignor: str(assignor.name)
)


@st.composite
def specs(draw: st.DrawFn, *, is_homogeneous: bool | None = None) -> GroupSpec:
    """Groups with targets of earlier subscriptions and numbers of partitions; no partition is in two of them."""
    chance = draw(st.randoms(use_true_random=False))
    counts = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    topics = {topic_id(f"T{number}"): count for number, count in enumerate(counts)}
    member_ids = draw(st.lists(st.text("abÿ\U0001f600", min_size=1, max_size=4), min_size=1, max_size=9, unique=True))
    if is_homogeneous is None:
        is_homogeneous = draw(st.booleans())
    everything = frozenset(topics)
    subscriptions = {
        member_id: everything if is_homogeneous else frozenset(id for id in topics if chance.random() < 0.5)
        for member_id in member_ids
    }
    targets: dict[str, dict[bytes, list[int]]] = {member_id: {} for member_id in member_ids}
    holders = member_ids[: draw(st.integers(1, len(member_ids)))]
    for id_, count in [*topics.items(), (topic_id("gone"), 3)]:
        for partition in range(count + 1):
            if chance.random() < 0.6:
                targets[chance.choice(holders)].setdefault(id_, []).append(partition)
    subscribed = frozenset().union(*subscriptions.values())
    members = {
        member_id: MemberSpec(
            f"i{number}" if chance.random() < 0.3 else None,
            None,
            subscriptions[member_id],
            {id_: tuple(some) for id_, some in targets[member_id].items()},
        )
        for number, member_id in enumerate(member_ids)
    }
    return GroupSpec(
        members,
        {id_: count for id_, count in topics.items() if id_ in subscribed},
        len(set(subscriptions.values())) == 1,
    )


def sizes(found: TargetAssignments) -> dict[str, int]:
    return {member_id: sum(map(len, each.values())) for member_id, each in found.items()}


def pairs(spec: GroupSpec, member_id: str, found: TargetAssignments) -> set[tuple[bytes, int]]:
    return {(id_, partition) for id_, some in found[member_id].items() for partition in some}


def usable(spec: GroupSpec) -> dict[str, dict[bytes, tuple[int, ...]]]:
    """The present targets without topics and partitions that a member may not keep."""
    return {
        member_id: {
            id_: tuple(partition for partition in some if partition < spec.topics[id_])
            for id_, some in member.target.items()
            if id_ in member.topic_ids
        }
        for member_id, member in spec.members.items()
    }


@each_assignor
@given(spec=specs())
def test_each_partition_has_one_member_which_subscribes_to_its_topic(assignor: Assignor, spec: GroupSpec) -> None:
    found, _ = assigned(assignor, spec)
    owned = [(id_, number) for member_id in found for id_, number in pairs(spec, member_id, found)]
    assert sorted(owned) == sorted((id_, number) for id_, count in spec.topics.items() for number in range(count))
    assert found.keys() == spec.members.keys()
    for member_id, each in found.items():
        assert each.keys() <= spec.members[member_id].topic_ids
        assert all(some and list(some) == sorted(some) and isinstance(some, tuple) for some in each.values())


@each_assignor
@given(spec=specs(), order=st.randoms(use_true_random=False), items=st.integers(1, 40))
def test_neither_the_order_of_the_input_nor_the_steps_change_the_result(
    assignor: Assignor, spec: GroupSpec, order: random.Random, items: int
) -> None:
    members, topics = list(spec.members.items()), list(spec.topics.items())
    order.shuffle(members)
    order.shuffle(topics)
    found, yields = assigned(assignor, spec)
    assert yields == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pace, "ITEMS_PER_STEP_OF_SMALL_GROUP", items)
        again, yields = assigned(assignor, spec._replace(members=dict(members), topics=dict(topics)))
    assert again == found
    assert yields >= (len(members) + sum(spec.topics.values())) // (items + pace.MOST_AT_ONCE)


@given(spec=specs(is_homogeneous=True))
def test_equal_subscriptions_give_equal_shares_and_the_fewest_moves(spec: GroupSpec) -> None:
    found, _ = assigned(UniformAssignor(), spec)
    after = sizes(found)
    assert max(after.values()) - min(after.values()) <= 1
    before = usable(spec)
    for member_id in spec.members:
        had = pairs(spec, member_id, before)
        assert len(had & pairs(spec, member_id, found)) == min(len(had), after[member_id]), (
            "it gives up the excess only"
        )
    counts = sizes(before)
    for member_id, other_id in pairwise(sorted(spec.members, key=lambda each: (-counts[each], each))):
        assert after[member_id] >= after[other_id], "those with the most partitions have the extra ones"


@given(spec=specs())
def test_uniform_moves_nothing_if_nothing_has_changed(spec: GroupSpec) -> None:
    found, _ = assigned(UniformAssignor(), spec)
    assert assigned(UniformAssignor(), with_targets(spec, found))[0] == found


@given(spec=specs(is_homogeneous=False))
def test_different_subscriptions_leave_no_move_that_would_balance_a_topic(spec: GroupSpec) -> None:
    found, _ = assigned(UniformAssignor(), spec)
    after = sizes(found)
    for id_ in spec.topics:
        subscribers = [member_id for member_id, member in spec.members.items() if id_ in member.topic_ids]
        smallest = min(after[member_id] for member_id in subscribers)
        for member_id in subscribers:
            assert id_ not in found[member_id] or after[member_id] - smallest <= 1


@given(spec=specs())
def test_ranges_are_contiguous_equal_and_the_same_in_equal_topics(spec: GroupSpec) -> None:
    found, _ = assigned(RangeAssignor(), spec)
    by_shape: dict[tuple[int, frozenset[str]], list[tuple[tuple[int, ...], ...]]] = {}
    for id_, count in spec.topics.items():
        subscribers = sorted(member_id for member_id, member in spec.members.items() if id_ in member.topic_ids)
        ranges = [found[member_id].get(id_, ()) for member_id in subscribers]
        assert all(list(some) == list(range(some[0], some[-1] + 1)) for some in ranges if some)
        assert max(map(len, ranges)) - min(map(len, ranges)) <= 1
        by_shape.setdefault((count, frozenset(subscribers)), []).append(tuple(ranges))
    assert all(len(set(each)) == 1 for each in by_shape.values())


def group(members: int, topics: int, partitions: int, subscribed: int | None = None) -> GroupSpec:
    """Return a group in which the first member has everything, so that nearly all of it moves."""
    chance = random.Random(848)
    ids = [chance.randbytes(16) for _ in range(topics)]
    everything = frozenset(ids)
    found = {
        f"m{number:05}": MemberSpec(
            None, None, everything if subscribed is None else frozenset(chance.sample(ids, subscribed)), {}
        )
        for number in range(members)
    }
    all_of_it = {id_: tuple(range(partitions)) for id_ in sorted(ids)}
    found["m00000"] = MemberSpec(None, None, everything, all_of_it)
    return GroupSpec(found, dict.fromkeys(ids, partitions), subscribed is None)


@each_assignor
@pytest.mark.parametrize("subscribed", [None, 9, 49], ids=["equal", "a fifth", "nearly all"])
def test_a_small_group_is_assigned_in_one_step(assignor: Assignor, subscribed: int | None) -> None:
    for topics, partitions in ((1, 500), (50, 10)):
        if subscribed is None or topics > 1:
            spec = group(50, topics, partitions, subscribed)
            assert assigned(assignor, spec)[1] == 0


def most_lines_of_a_step(steps: Generator[None, None, Any]) -> tuple[int, int]:
    """Run to the end. Return the most lines that were executed between two yields, and the number of steps."""
    count = most = number = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    former = sys.gettrace()
    sys.settrace(trace)
    try:
        while True:
            count, number = 0, number + 1
            ended = next(steps, steps) is steps
            most = max(most, count)
            if ended:
                return most, number
    finally:
        sys.settrace(former)


@pytest.mark.plain("compiled code executes no lines")
@each_assignor
@pytest.mark.parametrize(
    "shape",
    [(2_500, 10, 400, None), (2_500, 1, 6_000, None), (3, 1, 9_000, None), (2, 4_000, 1, None), (1_500, 40, 100, 4)],
    ids=["members and topics", "one topic", "few members", "many topics", "different subscriptions"],
)
def test_a_step_touches_a_bounded_number_of_items(assignor: Assignor, shape: tuple[int, int, int, int | None]) -> None:
    most, number = most_lines_of_a_step(assignor.steps(group(*shape)))
    assert number > 2
    assert most <= 8 * (pace.ITEMS_PER_STEP + pace.MOST_AT_ONCE), "about eight lines handle an item"
