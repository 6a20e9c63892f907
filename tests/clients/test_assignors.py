"""Each assignor gives, through real clients and our coordinator, what its definition says.

The coordinator never looks into an assignment; but what a client computes depends on what the coordinator tells its
leader: the members, their subscriptions, their previous partitions. So the outcome is compared with the definitions,
worked out here by hand for two situations that tell the assignors apart. Members are named a, b, c, which is also the
order of their ids.
"""

from __future__ import annotations

import pytest

from tests.clients.conftest import Crew
from tests.clients.members import LIBRARIES

pytestmark = pytest.mark.integration


def libraries_with(*assignors: str) -> list[tuple[str, str]]:
    return [
        (name, assignor) for assignor in assignors for name, each in LIBRARIES.items() if assignor in each.assignors
    ]


def short(partitions: frozenset[tuple[str, int]]) -> str:
    """{("t0-group-1", 2), ...} as "t0/2 ..." in order."""
    return " ".join(f"{topic.partition('-')[0]}/{index}" for topic, index in sorted(partitions))


TWO_TOPICS_OF_THREE = {
    # each topic apart: the first member takes the odd one
    "range": {"a": "t0/0 t0/1 t1/0 t1/1", "b": "t0/2 t1/2"},
    # all partitions in a row, dealt in turn
    "roundrobin": {"a": "t0/0 t0/2 t1/1", "b": "t0/1 t1/0 t1/2"},
}


@pytest.mark.parametrize(("library", "assignor"), libraries_with("range", "roundrobin"))
def test_two_topics_of_three_partitions_and_two_members(crew: Crew, library: str, assignor: str) -> None:
    crew.topic(3, "t0")
    crew.topic(3, "t1")
    members = [crew.join(library, name, assignor=assignor) for name in ("a", "b")]
    assert {name: short(owned) for name, owned in crew.settles(*members).items()} == TWO_TOPICS_OF_THREE[assignor]


@pytest.mark.parametrize(("library", "assignor"), libraries_with("sticky", "cooperative-sticky"))
def test_two_topics_of_three_partitions_are_balanced_and_what_can_stay_stays(
    crew: Crew, library: str, assignor: str
) -> None:
    crew.topic(3, "t0")
    crew.topic(3, "t1")
    first = crew.join(library, "a", assignor=assignor)
    crew.settles(first)
    second = crew.join(library, "b", assignor=assignor)
    assert sorted(map(len, crew.settles(first, second).values())) == [3, 3]


# t0 has one partition, t1 two, t2 three; a reads t0, b reads t0 and t1, c reads all
DIFFERENT_SUBSCRIPTIONS = {
    "range": {"a": "t0/0", "b": "t1/0", "c": "t1/1 t2/0 t2/1 t2/2"},
    "roundrobin": {"a": "t0/0", "b": "t1/0", "c": "t1/1 t2/0 t2/1 t2/2"},
    "sticky": {"a": "t0/0", "b": "t1/0 t1/1", "c": "t2/0 t2/1 t2/2"},
    "cooperative-sticky": {"a": "t0/0", "b": "t1/0 t1/1", "c": "t2/0 t2/1 t2/2"},
}


# The round-robin assignor of kafka-python 3.0.12 raises KeyError as soon as a member does not read the next topic.
NOT_WITH_DIFFERENT_SUBSCRIPTIONS = ("kafka-python", "roundrobin")


@pytest.mark.parametrize(
    ("library", "assignor"),
    [
        each
        for each in libraries_with("range", "roundrobin", "sticky", "cooperative-sticky")
        if each != NOT_WITH_DIFFERENT_SUBSCRIPTIONS
    ],
)
def test_three_members_with_different_subscriptions(crew: Crew, library: str, assignor: str) -> None:
    topics = [crew.topic(partitions, name) for name, partitions in (("t0", 1), ("t1", 2), ("t2", 3))]
    members = [
        crew.join(library, name, assignor=assignor, topics=tuple(topics[:count]))
        for name, count in (("a", 1), ("b", 2), ("c", 3))
    ]
    assert {name: short(owned) for name, owned in crew.settles(*members).items()} == DIFFERENT_SUBSCRIPTIONS[assignor]


@pytest.mark.parametrize(("library", "assignor"), libraries_with("sticky", "cooperative-sticky"))
def test_when_a_member_leaves_under_sticky_the_others_keep_all_they_had(
    crew: Crew, library: str, assignor: str
) -> None:
    for name in ("t0", "t1", "t2"):
        crew.topic(3, name)
    members = [crew.join(library, name, assignor=assignor) for name in ("a", "b", "c")]
    before = crew.settles(*members)
    assert sorted(map(len, before.values())) == [3, 3, 3]
    crew.leave(members[1])
    after = crew.settles(members[0], members[2])
    assert sorted(map(len, after.values())) == [4, 5]
    assert after["a"] >= before["a"]
    assert after["c"] >= before["c"]
