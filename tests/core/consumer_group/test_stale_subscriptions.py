"""Regular expressions that are not resolved yet, and what Kafka 4.4 takes from before the event then (measured)."""

from __future__ import annotations

from typing import Any

from protocol.error_codes import ErrorCode
from tests.support.consumer_world import ConsumerWorld

RANGE: dict[str, Any] = {"server_assignor": "range"}


def targets(world: ConsumerWorld) -> dict[str, dict[str, list[int]]]:
    group = world.consumer_group()
    names = {topic.topic_id: name for name in world.topics_image.names() if (topic := world.topics_image.by_name(name))}
    return {
        member_id: {names[topic_id]: list(some) for topic_id, some in target.items()}
        for member_id, target in sorted(group.targets.items())
    }


def resolved(regex: str, **fields: Any) -> ConsumerWorld:
    """Return a world in which D has joined with a regular expression that is resolved; the target is not computed."""
    world = ConsumerWorld({"t0": 7, "t1": 4})
    assert world.beat("D", 0, subscribed_topic_regex=regex, **RANGE, **fields).error is ErrorCode.NONE
    assert world.epochs == (3, 2, "Assigning")
    return world


def test_the_first_member_stands_for_all_of_a_group_that_was_homogeneous() -> None:
    world = resolved("t0", instance_id="zz")
    world.beat("L", 0, subscribed_topic_regex="none", instance_id="i1", **RANGE)
    assert targets(world) == {"D": {}, "L": {}}


def test_a_member_gets_topics_of_the_first_one_while_its_own_are_not_known() -> None:
    world = resolved("t0", instance_id="i0")
    world.beat("G", 0, topics=[], **RANGE)
    assert targets(world) == {"D": {"t0": [0, 1, 2, 3]}, "G": {"t0": [4, 5, 6]}}
    assert world.assigned("G") == {}


def test_a_group_stays_heterogeneous_when_the_member_with_the_resolved_expression_leaves() -> None:
    world = resolved("t0")
    world.beat("L", 0, topics=["t1"], **RANGE)
    world.beat("D", -1)
    world.beat("A", 0, topics=[], subscribed_topic_regex="none", **RANGE)
    assert targets(world) == {"A": {}, "L": {"t1": [0, 1, 2, 3]}}


def test_a_topic_that_grew_counts_although_its_expression_is_dropped_in_the_same_heartbeat() -> None:
    world = resolved("t.*")
    assert world.told(world.beat("D", 2))[0] == 3
    world.topics_image.extend("t0", 8)
    world.beat("D", 3, subscribed_topic_regex="t1")
    assert world.epochs[:2] == (4, 4)


def test_a_static_member_that_was_away_may_commit_with_any_epoch() -> None:
    world = ConsumerWorld({"t0": 2})
    world.beat("S", 0, topics=["t0"], instance_id="i")
    world.beat("S", -2, instance_id="i")
    assert world.told(world.beat("S2", 0, topics=["t0"], instance_id="i")) == (2, {"t0": [0, 1]})
    for epoch, error in ((1, ErrorCode.NONE), (0, ErrorCode.NONE), (-1, ErrorCode.STALE_MEMBER_EPOCH)):
        answer = world.commit("g", {("t0", 0): 5}, member_id="S2", generation=epoch, version=9).answer
        assert answer.topics[0].partitions[0].error_code == error
