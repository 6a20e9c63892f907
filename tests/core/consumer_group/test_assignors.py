"""The built-in assignors by examples. Those of heterogeneous groups and of `range` are Kafka's own results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from coordinator.core.consumer_group.assignors.range import RangeAssignor
from coordinator.core.consumer_group.assignors.uniform import UniformAssignor
from tests.core.consumer_group.assigning import Shares, Sub, assigned, shares, spec_of, with_targets


class Vector(NamedTuple):
    """A group, and its shares. Members without a share are left out."""

    topics: Mapping[str, int]
    members: Mapping[str, Sub]
    targets: Shares
    expected: Shares


def all_to(topics: tuple[str, ...], *members: str) -> dict[str, Sub]:
    return dict.fromkeys(members, Sub(topics))


def check(vector: Vector, found: Shares) -> None:
    expected = {member: {name: tuple(some) for name, some in each.items()} for member, each in vector.expected.items()}
    assert {member: each for member, each in found.items() if each} == expected
    assert found.keys() == vector.members.keys(), "a member without a share has an entry, too"


BOTH = ("T1", "T2")
RANGE = {
    "two members, two topics": Vector(
        {"T1": 3, "T2": 3},
        all_to(BOTH, "A", "B"),
        {},
        {"A": {"T1": (0, 1), "T2": (0, 1)}, "B": {"T1": (2,), "T2": (2,)}},
    ),
    "static members first, by instance id": Vector(
        {"T1": 7},
        {"z": Sub(("T1",), "i1"), "a": Sub(("T1",), "i2"), "b": Sub(("T1",))},
        {},
        {"z": {"T1": (0, 1, 2)}, "a": {"T1": (3, 4)}, "b": {"T1": (5, 6)}},
    ),
    "different subscriptions": Vector(
        {"T1": 3, "T2": 3, "T3": 2},
        {"A": Sub(("T1", "T2")), "B": Sub(("T3",)), "C": Sub(("T2", "T3"))},
        {},
        {"A": {"T1": (0, 1, 2), "T2": (0, 1)}, "B": {"T3": (0,)}, "C": {"T2": (2,), "T3": (1,)}},
    ),
    "more members than partitions": Vector(
        {"T1": 2}, all_to(("T1",), "A", "B", "C"), {}, {"A": {"T1": (0,)}, "B": {"T1": (1,)}}
    ),
    "targets make no difference": Vector(
        {"T1": 2},
        all_to(("T1",), "A", "B"),
        {"A": {"T1": (1,)}, "B": {"T1": (0,)}},
        {"A": {"T1": (0,)}, "B": {"T1": (1,)}},
    ),
    "ids are compared as UTF-16": Vector(  # by code points, U+1F600 comes after U+FF41
        {"T1": 2},
        all_to(("T1",), "\uff41", "\U0001f600"),
        {},
        {"\U0001f600": {"T1": (0,)}, "\uff41": {"T1": (1,)}},
    ),
    "no topics": Vector({}, all_to((), "A", "B"), {"A": {"T9": (0,)}}, {}),
}

U4_C = {"A": {"T": (0, 1)}, "B": {"T": (3, 4)}, "C": {"T": (2, 5)}}
HOMOGENEOUS = {
    "U1 nothing before": Vector(
        {"T1": 3, "T3": 2}, all_to(("T1", "T3"), "A", "B"), {}, {"A": {"T1": (0, 1, 2)}, "B": {"T3": (0, 1)}}
    ),
    "U2 C joins": Vector(
        {"T1": 3, "T3": 2},
        all_to(("T1", "T3"), "A", "B", "C"),
        {"A": {"T1": (0, 1, 2)}, "B": {"T3": (0, 1)}},
        {"A": {"T1": (0, 1)}, "B": {"T3": (0, 1)}, "C": {"T1": (2,)}},
    ),
    "U3 A left": Vector(
        {"T1": 3, "T3": 2},
        all_to(("T1", "T3"), "B", "C"),
        {"B": {"T3": (0, 1)}, "C": {"T1": (2,)}},
        {"B": {"T1": (0,), "T3": (0, 1)}, "C": {"T1": (1, 2)}},
    ),
    "U4 B joins": Vector(
        {"T": 6},
        all_to(("T",), "A", "B"),
        {"A": {"T": range(6)}},
        {"A": {"T": (0, 1, 2)}, "B": {"T": (3, 4, 5)}},
    ),
    "U4 C joins": Vector({"T": 6}, all_to(("T",), "A", "B", "C"), {"A": {"T": (0, 1, 2)}, "B": {"T": (3, 4, 5)}}, U4_C),
    "U5 the topic grows": Vector(
        {"T": 8},
        all_to(("T",), "A", "B", "C"),
        U4_C,
        {"A": {"T": (0, 1, 6)}, "B": {"T": (3, 4, 7)}, "C": {"T": (2, 5)}},
    ),
    "U6 a topic is dropped": Vector(
        {"T2": 3},
        all_to(("T2",), "A", "B"),
        {"A": {"T1": (0, 1), "T2": (0,)}, "B": {"T2": (1, 2)}},
        {"A": {"T2": (0,)}, "B": {"T2": (1, 2)}},
    ),
    "U7 more members than partitions": Vector(
        {"T": 2}, all_to(("T",), "A", "B", "C"), {}, {"A": {"T": (0,)}, "B": {"T": (1,)}}
    ),
    "no topics": Vector({}, all_to((), "A", "B"), {"A": {"T1": (0,)}}, {}),
    "a partition in two targets stays with the first member": Vector(
        {"T": 4},
        all_to(("T",), "A", "B"),
        {"A": {"T": (0, 1)}, "B": {"T": (1, 2, 3)}},
        {"A": {"T": (0, 1)}, "B": {"T": (2, 3)}},
    ),
    "partitions that do not exist are dropped": Vector(
        {"T": 2}, all_to(("T",), "A", "B"), {"B": {"T": (1, 2, 3)}}, {"A": {"T": (0,)}, "B": {"T": (1,)}}
    ),
    "the highest topics and partitions are given up": Vector(
        {"T1": 2, "T2": 2, "T3": 2},
        all_to(("T1", "T2", "T3"), "A", "B"),
        {"A": {"T1": (0, 1), "T2": (0, 1), "T3": (0, 1)}},
        {"A": {"T1": (0, 1), "T2": (0,)}, "B": {"T2": (1,), "T3": (0, 1)}},
    ),
}

HETEROGENEOUS = {
    "H1 nothing before": Vector(
        {"T1": 3, "T2": 3, "T3": 2},
        {"A": Sub(("T1", "T2")), "B": Sub(("T3",)), "C": Sub(("T2", "T3"))},
        {},
        {"A": {"T1": (0, 1, 2)}, "B": {"T3": (0, 1)}, "C": {"T2": (0, 1, 2)}},
    ),
    "H2 one topic has one subscriber": Vector(
        {"T1": 4, "T2": 4},
        {"A": Sub(("T1", "T2")), "B": Sub(("T2",))},
        {},
        {"A": {"T1": range(4)}, "B": {"T2": range(4)}},
    ),
    "H3 from one member to two": Vector(
        {"T1": 6, "T2": 2},
        {"A": Sub(("T1",)), "B": Sub(("T1", "T2")), "C": Sub(("T1", "T2"))},
        {"A": {"T1": range(6)}, "B": {"T2": (0,)}, "C": {"T2": (1,)}},
        {"A": {"T1": (0, 1, 2)}, "B": {"T1": (3, 5), "T2": (0,)}, "C": {"T1": (4,), "T2": (1,)}},
    ),
    "H4 the smaller member takes a topic": Vector(
        {"T1": 3, "T2": 4},
        {"A": Sub(("T1",)), "B": Sub(("T1", "T2"))},
        {"A": {"T1": (0,)}, "B": {"T1": (1, 2), "T2": range(4)}},
        {"A": {"T1": (0, 1, 2)}, "B": {"T2": range(4)}},
    ),
    "H5 subscriptions have changed": Vector(
        {"T1": 4, "T2": 4},
        {"A": Sub(("T1",)), "B": Sub(("T2",)), "C": Sub(("T1", "T2"))},
        {"A": {"T1": (0, 1), "T2": (0,)}, "B": {"T2": (1, 2)}, "C": {"T1": (2, 3), "T2": (3,)}},
        {"A": {"T1": (0, 1)}, "B": {"T2": (0, 1, 2)}, "C": {"T1": (2, 3), "T2": (3,)}},
    ),
    "a member without topics": Vector(
        {"T1": 2}, {"A": Sub(()), "B": Sub(("T1",))}, {"A": {"T1": (0,)}}, {"B": {"T1": (0, 1)}}
    ),
    "a partition in two targets stays with the first member": Vector(
        {"T1": 2, "T2": 1},
        {"A": Sub(("T1",)), "B": Sub(("T1", "T2"))},
        {"A": {"T1": (0, 1)}, "B": {"T1": (1,), "T2": (0,)}},
        {"A": {"T1": (0, 1)}, "B": {"T2": (0,)}},
    ),
    "partitions that do not exist are dropped": Vector(
        {"T1": 1, "T2": 2},
        {"A": Sub(("T1",)), "B": Sub(("T2",))},
        {"A": {"T1": (0, 1)}, "B": {"T2": (5,)}},
        {"A": {"T1": (0,)}, "B": {"T2": (0, 1)}},
    ),
}


@pytest.mark.parametrize("vector", RANGE.values(), ids=RANGE)
def test_range(vector: Vector) -> None:
    found, _ = assigned(RangeAssignor(), spec_of(vector.topics, vector.members, vector.targets))
    check(vector, shares(found))


@pytest.mark.parametrize("vector", HOMOGENEOUS.values(), ids=HOMOGENEOUS)
def test_uniform_with_equal_subscriptions(vector: Vector) -> None:
    spec = spec_of(vector.topics, vector.members, vector.targets)
    assert spec.is_homogeneous
    check(vector, shares(assigned(UniformAssignor(), spec)[0]))


@pytest.mark.parametrize("vector", HETEROGENEOUS.values(), ids=HETEROGENEOUS)
def test_uniform_with_different_subscriptions(vector: Vector) -> None:
    spec = spec_of(vector.topics, vector.members, vector.targets)
    assert not spec.is_homogeneous
    check(vector, shares(assigned(UniformAssignor(), spec)[0]))


def test_topics_with_the_most_partitions_for_each_subscriber_are_assigned_first() -> None:
    spec = spec_of({"T1": 3, "T2": 4}, {"A": Sub(("T1", "T2")), "B": Sub(("T1", "T2")), "C": Sub(("T1",))})
    found = shares(assigned(UniformAssignor(), spec)[0])
    assert found == {"A": {"T2": (0, 2)}, "B": {"T2": (1, 3)}, "C": {"T1": (0, 1, 2)}}


@pytest.mark.parametrize("assignor", [RangeAssignor(), UniformAssignor()], ids=lambda assignor: str(assignor.name))
def test_a_group_without_members_has_no_targets(assignor: RangeAssignor | UniformAssignor) -> None:
    for is_homogeneous in (True, False):
        spec = spec_of({}, {})._replace(is_homogeneous=is_homogeneous)
        assert assigned(assignor, spec) == ({}, 0)


@pytest.mark.parametrize("assignor", [RangeAssignor(), UniformAssignor()], ids=lambda assignor: str(assignor.name))
@pytest.mark.parametrize("is_mixed", [False, True], ids=["equal", "different"])
def test_a_target_that_stays_is_the_same_object(assignor: RangeAssignor | UniformAssignor, is_mixed: bool) -> None:
    members = {f"m{n}": Sub(("T1", "T2") if n % 2 or not is_mixed else ("T1",)) for n in range(7)}
    spec = spec_of({"T1": 20, "T2": 9}, members)
    first, _ = assigned(assignor, spec)
    again, _ = assigned(assignor, with_targets(spec, first))
    assert all(again[member_id] is first[member_id] for member_id in members)
