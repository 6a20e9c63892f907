"""The ends of logs: asked of all leaders at once, kept for a moment, unknown where they may not be seen."""

from __future__ import annotations

import pytest

from coordinator.observe import log_ends
from coordinator.observe.log_ends import LogEnds
from protocol.error_codes import ErrorCode
from tests.observe.fake_cluster import FakeCluster
from tests.observe.world import commits_from

KEYS = [("orders", each) for each in range(4)]


def orders() -> FakeCluster:
    cluster = FakeCluster({0: 1, 1: 2, 2: 3, 3: 1}, topic="orders")
    for partition in cluster.leaders:
        cluster.append(partition, commits_from(0, 10 + partition, 100))
    return cluster


async def test_all_ends_are_asked_in_one_request_for_each_node() -> None:
    cluster = orders()
    ends = LogEnds(cluster)  # type: ignore[arg-type]
    assert await ends.ends([*KEYS, ("missing", 0)]) == {("orders", each): 10 + each for each in range(4)}
    assert {name: count for name, count in cluster.asked.items() if "ListOffsets" in name} == {
        "ListOffsetsRequest 1": 1,
        "ListOffsetsRequest 2": 1,
        "ListOffsetsRequest 3": 1,
    }


async def test_an_answer_is_kept_for_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = orders()
    ends = LogEnds(cluster)  # type: ignore[arg-type]
    now = 1_000.0
    monkeypatch.setattr(log_ends.time, "monotonic", lambda: now)
    await ends.ends(KEYS)
    cluster.append(0, commits_from(10, 5, 5))
    assert (await ends.ends(KEYS))[KEYS[0]] == 10
    now += log_ends.KEPT_S
    assert (await ends.ends(KEYS))[KEYS[0]] == 15
    assert cluster.asked["metadata"] == 1


async def test_partitions_that_may_not_be_seen_are_unknown() -> None:
    cluster = orders()
    cluster.errors[1] = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    ends = LogEnds(cluster)  # type: ignore[arg-type]
    assert set(await ends.ends(KEYS)) == {KEYS[0], KEYS[2], KEYS[3]}
    cluster.topic_error = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert await LogEnds(cluster).ends(KEYS) == {}  # type: ignore[arg-type]


async def test_a_node_that_is_down_leaves_the_others_known() -> None:
    cluster = orders()
    cluster.dead.add(1)
    ends = LogEnds(cluster)  # type: ignore[arg-type]
    assert set(await ends.ends(KEYS)) == {KEYS[1], KEYS[2]}


async def test_a_cluster_that_is_gone_leaves_what_was_known_for_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = orders()
    ends = LogEnds(cluster)  # type: ignore[arg-type]
    now = 1_000.0
    monkeypatch.setattr(log_ends.time, "monotonic", lambda: now)
    await ends.ends(KEYS)
    cluster.is_gone = True
    now += 10
    assert len(await ends.ends(KEYS)) == 4
    assert ends.problem
    now += 60
    assert await ends.ends(KEYS) == {}


async def test_a_new_leader_is_found_at_the_next_question() -> None:
    cluster = orders()
    ends = LogEnds(cluster, kept_s=0.0)  # type: ignore[arg-type]
    await ends.ends(KEYS)
    cluster.leaders[0] = 2
    assert KEYS[0] in await ends.ends(KEYS)  # the last known end
    cluster.append(0, commits_from(10, 1))
    assert (await ends.ends(KEYS))[KEYS[0]] == 11


async def test_large_questions_are_split(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_ends, "PER_REQUEST", 1)
    cluster = orders()
    assert len(await LogEnds(cluster).ends(KEYS)) == 4  # type: ignore[arg-type]
    assert cluster.asked["ListOffsetsRequest 1"] == 2
