"""Producer ids: never twice in the cluster, whatever happens to nodes, their disks and the list of nodes."""

from __future__ import annotations

import json
import time

import pytest

from coordinator.config.values import Address
from coordinator.core.cluster import PRODUCER_ID_BITS, Cluster
from coordinator.storage.log.fs import write_atomically
from tests.support.topic_logs_world import DATA, ManualTopicLogsWorld
from tests.support.topic_words import producer_id


def cluster(number: int, *others: int) -> Cluster:
    return Cluster.of({each: Address(f"node-{each}", 9092) for each in (number, *others)}, number)


def some(world: ManualTopicLogsWorld, count: int = 3) -> list[int]:
    return [producer_id(world) for _ in range(count)]


def test_a_node_alone_gives_none_of_the_ids_that_a_kafka_counts_from_zero() -> None:
    given = some(ManualTopicLogsWorld())
    assert min(given) > 1 << PRODUCER_ID_BITS
    assert given == [*range(given[0], given[0] + 3)]


def test_nodes_give_different_ids_from_their_first_day_on() -> None:
    given = [some(ManualTopicLogsWorld(cluster=cluster(number, *{1, 2, 3} - {number})), 20) for number in (1, 2, 3)]
    assert len({each for ids in given for each in ids}) == 60
    assert [ids[0] >> PRODUCER_ID_BITS for ids in given] == [2, 3, 4]


def test_a_node_goes_on_above_what_it_gave_before(monkeypatch: pytest.MonkeyPatch) -> None:
    world = ManualTopicLogsWorld(cluster=cluster(1, 2))
    given = some(world, 1500)
    for clock in (0, time.time_ns()):  # wrong, and right
        monkeypatch.setattr(time, "time_ns", lambda clock=clock: clock)
        world.boot(world.fs)
        given += some(world, 10)
    assert given == sorted(set(given))


def test_a_node_that_lost_its_disk_gives_none_of_those_it_gave_before(monkeypatch: pytest.MonkeyPatch) -> None:
    before = some(ManualTopicLogsWorld(cluster=cluster(1, 2)), 1500)
    now = time.time_ns()
    monkeypatch.setattr(time, "time_ns", lambda: now + 60_000_000_000)
    assert min(some(ManualTopicLogsWorld(cluster=cluster(1, 2)))) > max(before)


@pytest.mark.parametrize("view", [Cluster.alone(1), cluster(1, 2)])
def test_a_node_leaves_the_ids_of_earlier_versions_which_began_at_zero_to_those_who_have_them(view: Cluster) -> None:
    world = ManualTopicLogsWorld(cluster=view)
    write_atomically(world.fs, DATA / "producer-ids.json", b'{"reserved_up_to": 3000}')
    world.boot(world.fs)
    assert min(some(world)) > 1 << PRODUCER_ID_BITS


def test_ids_stay_apart_when_a_node_comes_to_the_cluster_or_is_alone_again() -> None:
    world = ManualTopicLogsWorld(cluster=cluster(2, 3))
    given = some(world)
    for view in (cluster(2, 1, 3), cluster(2, 3, 4, 5), Cluster.alone(2)):
        world.cluster = view
        world.boot(world.fs)
        given += some(world)
    assert given == sorted(set(given))
    assert {each >> PRODUCER_ID_BITS for each in given} == {3}


def test_what_may_be_in_use_is_on_disk_before_it_is_given() -> None:
    world = ManualTopicLogsWorld(cluster=cluster(1, 2))
    given = some(world)
    stored = json.loads(world.fs.open(DATA / "producer-ids.json").pread(1000, 0))
    assert stored["reserved_up_to"] > max(given)
