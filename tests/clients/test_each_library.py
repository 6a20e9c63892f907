"""The life of a consumer group with each of three unmodified client libraries.

One member, then more; leaving, dying, restarting; committing and coming back. The coordinator's own view and the
libraries' view must agree at every step.
"""

from __future__ import annotations

import time

import pytest

from tests.clients.conftest import Crew
from tests.clients.members import check_one_owner_in_each_generation
from tests.clients.producers import produce_with
from tests.support.eventually import eventually
from tests.support.questions import committed_offsets

pytestmark = pytest.mark.integration


def test_a_single_member_owns_every_partition_and_reads_what_was_produced(crew: Crew, library: str) -> None:
    topic = crew.topic(4)
    crew.produce(topic, {index: [f"{index}-{n}".encode() for n in range(5)] for index in range(4)})
    member = crew.join(library)
    crew.settles(member)
    eventually(lambda: len(member.received) >= 20, "the member reads all records")
    assert sorted(member.values()) == sorted(f"{index}-{n}".encode() for index in range(4) for n in range(5))


def test_partitions_stay_disjoint_and_complete_while_members_come_and_go(crew: Crew, library: str) -> None:
    crew.topic(6)
    first = crew.join(library, "a")
    assert len(crew.settles(first)["a"]) == 6
    second = crew.join(library, "b")
    assert sorted(map(len, crew.settles(first, second).values())) == [3, 3]
    third = crew.join(library, "c")
    assert sorted(map(len, crew.settles(first, second, third).values())) == [2, 2, 2]
    crew.leave(second)
    assert sorted(map(len, crew.settles(first, third).values())) == [3, 3]
    crew.leave(first)
    assert len(crew.settles(third)["c"]) == 6
    check_one_owner_in_each_generation(first, second, third)


def test_a_killed_members_partitions_are_taken_over_when_its_session_has_timed_out(crew: Crew, library: str) -> None:
    session_timeout_ms = 2500
    crew.topic(4)
    survivor = crew.join(library, "a", session_timeout_ms=session_timeout_ms)
    victim = crew.join_as_process(library, "b", session_timeout_ms=session_timeout_ms)
    crew.settles(survivor, victim)
    victim.kill()
    killed_at = time.monotonic()
    assert len(crew.settles(survivor)["a"]) == 4
    took_ms = (time.monotonic() - killed_at) * 1000
    # its last heartbeat may have been one interval before its death
    assert took_ms >= session_timeout_ms - survivor.options.heartbeat_ms - 100, (
        f"taken over too early: {took_ms:.0f} ms"
    )


def test_a_static_member_comes_back_without_a_rebalance(crew: Crew, library: str) -> None:
    crew.topic(4)
    other = crew.join("aiokafka", "b", instance_id="instance-b")
    member = crew.join(library, "a", instance_id="instance-a", session_timeout_ms=20_000)
    before = crew.settles(member, other)
    rebalances_before = (len(other.revoked), list(other.ownerships))
    members_before = set(crew.view().assignments)
    crew.leave(member)
    again = crew.join(library, "a", instance_id="instance-a", session_timeout_ms=20_000)
    assert crew.settles(again, other) == before
    assert (len(other.revoked), list(other.ownerships)) == rebalances_before, "the other member saw a rebalance"
    view = crew.view()
    assert len(set(view.assignments) - members_before) == 1, "the restarted member has a new member id"
    assert sorted(each or "" for each in view.instance_ids.values()) == ["instance-a", "instance-b"]


def test_a_group_resumes_where_it_committed(crew: Crew, library: str) -> None:
    topic = crew.topic(2)
    crew.produce(topic, {0: [b"a0", b"a1", b"a2"], 1: [b"b0", b"b1", b"b2"]})
    member = crew.join(library, "first")
    eventually(lambda: len(member.received) == 6, "all six records are read")
    member.commit({(topic, 0): 3, (topic, 1): 2})
    assert member.committed((topic, 0)) == 3
    crew.leave(member)
    assert committed_offsets(crew.daemon.port, crew.group) == {(topic, 0): 3, (topic, 1): 2}

    crew.produce(topic, {0: [b"a3"]})
    again = crew.join(library, "second")
    eventually(lambda: len(again.received) >= 2, "what was not committed is read")
    crew.settles(again)
    assert sorted(again.values()) == [b"a3", b"b2"]


def test_a_consumer_that_manages_its_own_partitions_commits_without_being_a_member(crew: Crew, library: str) -> None:
    topic = crew.topic(2)
    crew.produce(topic, {0: [b"a0", b"a1"], 1: [b"b0"]})
    consumer = crew.join(library, topics=(), assigned=((topic, 0),))
    eventually(lambda: consumer.values() == [b"a0", b"a1"], "the assigned partition is read, and no other")
    consumer.commit({(topic, 0): 1})
    assert consumer.committed((topic, 0)) == 1
    assert consumer.committed((topic, 1)) is None
    view = crew.view()
    assert (view.state, view.assignments, view.protocol_type) == ("Empty", {}, "")
    crew.leave(consumer)

    again = crew.join(library, topics=(), assigned=((topic, 0),))
    eventually(lambda: again.values() == [b"a1"], "it goes on at the committed offset")


@pytest.mark.parametrize("producer", ["aiokafka", "kafka-python", "confluent-kafka"])
def test_what_each_library_produces_is_consumed_by_another(crew: Crew, producer: str) -> None:
    topic = crew.topic(1)
    values = [f"value-{n}".encode() for n in range(50)]
    produce_with(producer, crew.daemon.address, topic, values)
    reader = {"aiokafka": "kafka-python", "kafka-python": "confluent-kafka", "confluent-kafka": "aiokafka"}[producer]
    member = crew.join(reader)
    eventually(lambda: len(member.received) >= 50, "all values are read")
    assert member.values() == values
