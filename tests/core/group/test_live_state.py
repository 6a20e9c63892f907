"""The present state of a group says what it waits for, and is quick and bounded whatever its members send."""

from __future__ import annotations

import time

import pytest

from coordinator.config.config import Config
from coordinator.core.coordinator import GroupCoordinator
from coordinator.core.effects import ClientSoftware
from coordinator.core.events.model import (
    LONGEST_NAME,
    NAMED_AT_MOST,
    SHOWN_AT_MOST,
    LiveGroup,
    RebalanceOutcome,
    Wait,
    encode,
)
from coordinator.core.group import live_state as module
from coordinator.core.group.member import Member as CoreMember
from protocol.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from tests.support.cluster import Cluster, subscription

MOST_MS = 20.0  # of processor time, with a wide margin for a loaded machine


def given(*partitions: int) -> bytes:
    return encode_assignment(Assignment(assigned_partitions=[TopicPartitions("t", list(partitions))]), 0)


def live(cluster: Cluster, group_id: str = "g") -> LiveGroup:
    story = cluster.core.story(group_id, cluster.clock.now_ms)
    assert story is not None and story.state is not None
    assert story.at_ms == story.state.at_ms == cluster.clock.wall_ms
    return story.state


def waits(state: LiveGroup) -> tuple[Wait, list[str], int, int]:
    return state.waits, [client.member_id for client in state.waits_for], state.waits_for_count, state.waits_at_most_ms


# -- each Wait ---------------------------------------------------------------------------------------------------------


def test_stable_group_waits_for_nothing(cluster: Cluster) -> None:
    cluster.stable_group()
    state = live(cluster)
    assert waits(state) == (Wait.NOTHING, [], 0, -1)
    assert (state.state, state.generation, state.member_count, state.rebalance) == ("Stable", 1, 2, None)
    assert (state.protocol_type, state.protocol, state.rebalances) == ("consumer", "range", 1)


def test_group_that_starts_waits_for_its_first_members(cluster: Cluster) -> None:
    a = cluster.member()
    a.join()
    cluster.advance("1s")
    assert waits(live(cluster)) == (Wait.FIRST_MEMBERS, [], 0, 2_000)
    cluster.member().join()
    assert waits(live(cluster))[3] == 59_000, "the delay is extended, up to the rebalance timeout"
    cluster.advance("3s")
    assert waits(live(cluster))[3] == 2_000


def test_rebalance_waits_for_joins(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3)
    a.join()
    cluster.advance("4s", heartbeating=[b, c])
    state = live(cluster)
    assert waits(state) == (Wait.JOINS, [b.member_id, c.member_id], 2, 56_000)
    assert [(each.member.member_id, each.has_joined, each.has_synced) for each in state.members] == [
        (b.member_id, False, False),
        (c.member_id, False, False),
        (a.member_id, True, False),
    ]
    assert state.rebalance is not None
    assert (state.rebalance.outcome, state.rebalance.join_ms) == (RebalanceOutcome.RUNNING, -1)


def test_rebalance_waits_for_a_member_id_that_was_handed_out(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    cluster.join(client_id="new", protocols=a.protocols)
    cluster.member().join()
    a.join()
    state = live(cluster)
    assert (state.waits, state.waits_for_count) == (Wait.JOINS, 1)
    assert state.waits_for[0].client_id == "new"


def test_rebalance_waits_for_the_plan_of_the_leader(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    b.sync()
    cluster.advance("5s", heartbeating=[a])
    state = live(cluster)
    assert waits(state) == (Wait.PLAN, [a.member_id], 1, 55_000)
    assert [(each.member.member_id, each.has_synced, each.is_leader) for each in state.members] == [
        (a.member_id, False, True),
        (b.member_id, True, False),
    ]


def test_rebalance_waits_for_the_disk(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    with cluster.log_held():
        a.sync()
        assert waits(live(cluster)) == (Wait.DISK, [], 0, -1)
    assert live(cluster).waits is Wait.NOTHING


def test_empty_group_waits_for_nothing(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    state = live(cluster)
    assert (state.state, state.members, state.member_count, state.partitions) == ("Empty", [], 0, -1)
    assert waits(state) == (Wait.NOTHING, [], 0, -1)


def test_group_that_is_not_known_has_no_story(cluster: Cluster) -> None:
    assert cluster.core.story("none", cluster.clock.now_ms) is None


def test_group_that_was_deleted_has_only_events(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    cluster.delete_groups("g")
    story = cluster.core.story("g", cluster.clock.now_ms)
    assert story is not None and story.state is None and len(story.events) == 2


# -- members -----------------------------------------------------------------------------------------------------------


def test_silence_of_a_member_begins_with_its_last_request(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    cluster.advance("2s", heartbeating=[a], every="2s")
    cluster.advance("1s")
    assert [(each.silent_ms, each.session_timeout_ms) for each in live(cluster).members] == [
        (1_000, 10_000),
        (3_000, 10_000),
    ]
    a.join()
    assert {each.member.member_id: each.silent_ms for each in live(cluster).members} == {
        b.member_id: 3_000,
        a.member_id: -1,
    }


def test_members_of_a_loaded_group_are_silent_since_the_start(cluster: Cluster) -> None:
    cluster.stable_group(client_id="app", software=ClientSoftware("java", "4.4"))
    cluster.advance("2s")
    cluster.crash_and_recover()
    cluster.advance("1s")
    state = live(cluster)
    assert [each.silent_ms for each in state.members] == [1_000, 1_000]
    assert [(each.member.client_id, each.member.software, each.has_synced) for each in state.members] == [
        ("app", "", True)
    ] * 2


def test_partitions_and_topics_of_members(cluster: Cluster) -> None:
    a, b = cluster.stable_group(protocols=(("range", subscription("t", "a")), ("sticky", subscription("t"))))
    a.join()
    b.join()
    a.sync({a.member_id: given(0, 1), b.member_id: given(2)})
    b.sync()
    state = live(cluster)
    assert [(each.partitions, each.topics, each.protocols) for each in state.members] == [
        (2, ["a", "t"], ["range", "sticky"]),
        (1, ["a", "t"], ["range", "sticky"]),
    ]
    assert state.partitions == 3
    a.join()
    assert live(cluster).partitions == -1, "nothing is assigned while members rejoin"


@pytest.mark.parametrize("protocol_type", ["consumer", "connect"])
def test_partitions_and_topics_that_cannot_be_read_are_unknown(cluster: Cluster, protocol_type: str) -> None:
    cluster.stable_group(members=1, protocol_type=protocol_type, protocols=(("range", b"\0\0\0\0\0\2\0\1t"),))
    (member,) = live(cluster).members
    assert (member.partitions, member.topics) == (-1, [])
    assert live(cluster).partitions == -1


def test_counters_of_incidents(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=["S0"])
    b.commit({("t", 0): 1}, generation=0)
    cluster.join(instance_id="S0", client_id="twin", protocols=a.protocols)
    state = live(cluster)
    assert (state.rebalances, state.commits_refused, state.fencings) == (1, 1, 1)
    assert {each.member.client_id for each in state.members} == {"client", "twin"}


# -- bounds ------------------------------------------------------------------------------------------------------------


def large(
    cluster: Cluster, count: int, protocols: tuple[tuple[str, bytes], ...], assignment: bytes
) -> GroupCoordinator:
    """A Stable group of many members, made without their requests."""
    cluster.stable_group(members=1)
    group = cluster.group()
    for number in range(count - 1):
        member = CoreMember(
            f"m-{number}", None, "client", "/127.0.0.1", 60_000, 10_000, "consumer", protocols, assignment
        )
        group.members[member.member_id] = member
    return cluster.core


def processor_ms(core: GroupCoordinator, now_ms: int) -> float:
    best = float("inf")
    for _ in range(5):
        begun = time.process_time()
        core.story("g", now_ms)
        best = min(best, (time.process_time() - begun) * 1_000)
    return best


def test_group_of_10_000_members_is_described_quickly(cluster: Cluster) -> None:
    core = large(cluster, 10_000, (("range", subscription("t")),), given(1))
    state = live(cluster)
    assert (len(state.members), state.member_count, state.partitions) == (SHOWN_AT_MOST, 10_000, -1)
    assert processor_ms(core, cluster.clock.now_ms) < MOST_MS


def test_members_that_are_waited_for_are_shown_first(cluster: Cluster) -> None:
    members = cluster.stable_group(members=SHOWN_AT_MOST + 20)
    for member in members[:-15]:
        member.join()
    state = live(cluster)
    assert [each.member.member_id for each in state.members[:15]] == [each.member_id for each in members[-15:]]
    assert len(state.members) == SHOWN_AT_MOST
    assert len(state.waits_for) == NAMED_AT_MOST and state.waits_for_count == 15


def test_large_subscriptions_and_assignments_are_read_up_to_a_limit(cluster: Cluster) -> None:
    topics = [f"topic-{number}" for number in range(900)]
    subscriptions = [
        (("range", encode_subscription(Subscription(topics=topics, user_data=b"%d" % number), 0)),)
        for number in range(100)
    ]
    many = encode_assignment(Assignment([TopicPartitions(topic, [0]) for topic in topics]), 0)
    core = large(cluster, 1, (), b"")
    group = cluster.group()
    for number, protocols in enumerate(subscriptions):
        group.members[f"m-{number}"] = CoreMember(
            f"m-{number}", None, "client", "/127.0.0.1", 60_000, 10_000, "consumer", protocols, many
        )
    state = live(cluster)
    read = [each for each in state.members if each.partitions == 900]
    unread = [each for each in state.members[1:] if each.partitions == -1 and each.topics == []]
    assert 0 < len(read) < module.MAX_TOPICS_READ // 900 + 1 and len(unread) > 80
    assert processor_ms(core, cluster.clock.now_ms) < MOST_MS


def test_long_names_are_shortened() -> None:
    cluster = Cluster(Config())
    name = "n" * 10_000
    cluster.stable_group(
        members=5,
        client_id="c" * 300,
        instance_ids=[f"{number}{name}" for number in range(5)],
        protocols=((name, subscription(name)),),
    )
    state = live(cluster)
    assert all(len(each.member.instance_id) <= LONGEST_NAME for each in state.members)
    assert all(len(name) <= LONGEST_NAME for each in state.members for name in (*each.protocols, *each.topics))
    assert len(encode(state)) < 50_000
