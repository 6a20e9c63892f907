"""Settings of one group: its session timeout and heartbeat interval, read at each heartbeat."""

from __future__ import annotations

from tests.support.consumer_world import ConsumerWorld


def test_a_group_has_its_own_heartbeat_interval_also_while_members_wait() -> None:
    world = ConsumerWorld({"t": 4})
    assert world.beat("A", 0, topics=["t"]).answer.heartbeat_interval_ms == 5000
    assert world.beat("B", 0, topics=["t"]).answer.heartbeat_interval_ms == 100
    world.group_configs["g"] = {"consumer.heartbeat.interval.ms": 7000}
    assert world.beat("B", 3).answer.heartbeat_interval_ms == 7000
    assert world.beat("A", 2).answer.heartbeat_interval_ms == 7000
    assert world.beat("X", 0, topics=["t"], group_id="other").answer.heartbeat_interval_ms == 5000


def test_a_group_has_its_own_session_timeout_from_the_next_heartbeat_on() -> None:
    world = ConsumerWorld({"t": 4})
    world.beat("A", 0, topics=["t"])
    world.beat("B", 0, topics=["t"])
    world.group_configs["g"] = {"consumer.session.timeout.ms": 60_000}
    world.beat("A", 2)
    world.advance("46s")
    assert set(world.consumer_group().members) == {"A"}
    world.advance("15s")
    assert not world.consumer_group().members
