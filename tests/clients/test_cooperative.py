"""Cooperative rebalancing (KIP-429): a member gives up what moves, and nothing else, and reads on meanwhile."""

from __future__ import annotations

import pytest

from tests.clients.conftest import Crew
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("library", ["confluent-kafka", "kafka-python"])
def test_a_cooperative_member_gives_up_only_the_partitions_that_move(crew: Crew, library: str) -> None:
    topic = crew.topic(6)
    first = crew.join(library, "a", assignor="cooperative-sticky")
    before = crew.settles(first)["a"]
    second = crew.join(library, "b", assignor="cooperative-sticky")
    after = crew.settles(first, second)
    assert sorted(map(len, after.values())) == [3, 3]
    given_up = [partition for each in first.revoked for partition in each]
    assert sorted(given_up) == sorted(before - after["a"]), "each partition that moved was revoked once, no other"

    crew.produce(topic, {index: [f"value-{index}".encode()] for index in range(6)})
    eventually(lambda: len(first.received) + len(second.received) >= 6, "everything is read")
    assert sorted(first.values() + second.values()) == [f"value-{index}".encode() for index in range(6)]

    kept = (list(first.revoked), after["a"])
    crew.leave(second)
    assert len(crew.settles(first)["a"]) == 6
    assert (first.revoked, kept[1] <= first.assignment()) == (kept[0], True), "a takeover disturbs no other member"
