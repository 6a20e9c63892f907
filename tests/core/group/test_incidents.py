"""Requests that tell of a member in trouble, replaced static members and slow rebalances leave incidents."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.effects import ClientSoftware
from coordinator.core.events.model import Incident, IncidentKind, Wait
from coordinator.core.group.group import Group
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster, subscription
from tests.support.scripted_member import Member

TP = {("t", 0): 5}
STRANGER = "stranger-00000000-0000-4000-8000-000000000099"


def incidents(cluster: Cluster) -> list[Incident]:
    return [event for event in cluster.core.recorder.events("g") if isinstance(event, Incident)]


def only(cluster: Cluster) -> tuple[IncidentKind, str, str, str, int]:
    (event,) = incidents(cluster)
    assert event.at_ms == cluster.clock.wall_ms
    return event.what, event.api, event.error, event.member.member_id, event.generation


@pytest.fixture
def pair(cluster: Cluster) -> list[Member]:
    return cluster.stable_group(instance_ids=[None, "S1"], client_id="app")


# -- refusals ----------------------------------------------------------------------------------------------------------


def test_heartbeat_of_an_unknown_member(cluster: Cluster, pair: list[Member]) -> None:
    cluster.heartbeat("g", STRANGER, 1)
    assert only(cluster) == (IncidentKind.UNKNOWN_MEMBER, "HEARTBEAT", "UNKNOWN_MEMBER_ID", STRANGER, 1)


def test_heartbeat_of_an_earlier_generation(cluster: Cluster, pair: list[Member]) -> None:
    pair[0].heartbeat(generation=0)
    expected = IncidentKind.STALE_GENERATION, "HEARTBEAT", "ILLEGAL_GENERATION", pair[0].member_id, 0
    assert only(cluster) == expected


def test_sync_of_an_unknown_member(cluster: Cluster, pair: list[Member]) -> None:
    cluster.sync("g", STRANGER, 1)
    assert only(cluster) == (IncidentKind.UNKNOWN_MEMBER, "SYNC_GROUP", "UNKNOWN_MEMBER_ID", STRANGER, 1)


def test_sync_of_an_earlier_generation(cluster: Cluster, pair: list[Member]) -> None:
    pair[0].sync(generation=0)
    expected = IncidentKind.STALE_GENERATION, "SYNC_GROUP", "ILLEGAL_GENERATION", pair[0].member_id, 0
    assert only(cluster) == expected


@pytest.mark.parametrize("api", ["heartbeat", "sync", "join", "commit"])
def test_former_run_of_a_static_member_is_fenced_by_the_holder_of_its_instance(
    cluster: Cluster, pair: list[Member], api: str
) -> None:
    _, b = pair
    again = cluster.member(instance_id="S1", client_id="app-2")
    again.join()
    again.take_id()
    cluster.core.recorder.groups["g"].events.clear()
    send = {
        "heartbeat": lambda: b.heartbeat(),
        "sync": lambda: b.sync(),
        "join": lambda: b.join(),
        "commit": lambda: b.commit(TP),
    }[api]
    call = send()
    error = next(iter(call.errors.values())) if api == "commit" else call.error
    assert error is ErrorCode.FENCED_INSTANCE_ID
    (event,) = incidents(cluster)
    assert (event.what, event.error) == (IncidentKind.FENCED, "FENCED_INSTANCE_ID")
    assert (event.member.member_id, event.member.instance_id) == (b.member_id, "S1")
    assert (event.other.member_id, event.other.client_id) == (again.member_id, "app-2")
    assert cluster.core.recorder.groups["g"].fencings == 2


def test_join_of_an_unknown_member(cluster: Cluster, pair: list[Member]) -> None:
    cluster.join(member_id=STRANGER, protocols=pair[0].protocols)
    assert only(cluster) == (IncidentKind.UNKNOWN_MEMBER, "JOIN_GROUP", "UNKNOWN_MEMBER_ID", STRANGER, -1)


def test_join_with_another_protocol(cluster: Cluster, pair: list[Member]) -> None:
    cluster.join(protocols=(("sticky", b""),), client_id="odd", software=ClientSoftware("sarama", "1.43"))
    assert only(cluster) == (IncidentKind.JOIN_REFUSED, "JOIN_GROUP", "INCONSISTENT_GROUP_PROTOCOL", "", -1)
    assert incidents(cluster)[0].member.full_name == "odd (127.0.0.1, sarama 1.43)"


def test_join_of_a_full_group() -> None:
    cluster = Cluster(Config(group_max_size=2))
    cluster.stable_group()
    cluster.join(protocols=cluster.member().protocols)
    assert only(cluster) == (IncidentKind.JOIN_REFUSED, "JOIN_GROUP", "GROUP_MAX_SIZE_REACHED", "", -1)


@pytest.mark.parametrize(
    ("member_id", "generation", "error"), [(STRANGER, 1, "UNKNOWN_MEMBER_ID"), (None, 0, "ILLEGAL_GENERATION")]
)
def test_stale_commit(cluster: Cluster, pair: list[Member], member_id: str | None, generation: int, error: str) -> None:
    member_id = member_id or pair[0].member_id
    cluster.commit("g", TP, member_id=member_id, generation=generation)
    assert only(cluster) == (IncidentKind.COMMIT_REFUSED, "OFFSET_COMMIT", error, member_id, generation)
    assert cluster.core.recorder.groups["g"].commits_refused == 1


def test_commit_between_join_and_sync(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    b.commit(TP)
    expected = IncidentKind.COMMIT_REFUSED, "OFFSET_COMMIT", "REBALANCE_IN_PROGRESS", b.member_id, 2
    assert only(cluster) == expected


def test_requests_of_an_ordinary_rebalance_are_no_incidents(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    b.leave()
    assert a.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    a.sync()
    a.commit(TP)
    a.join()
    a.sync()
    assert incidents(cluster) == []


# -- static members ----------------------------------------------------------------------------------------------------


def test_replacement_names_both_clients(cluster: Cluster) -> None:
    cluster.stable_group(instance_ids=[None, "S1"], client_id="first", software=ClientSoftware("java", "4.4"))
    previous = cluster.group().static_members["S1"]
    for name in ("second", "third", "second", "third"):
        cluster.join(
            instance_id="S1",
            client_id=name,
            software=ClientSoftware("aiokafka", ""),
            protocols=cluster.member().protocols,
        )
    events = incidents(cluster)
    assert [(event.what, event.other.full_name, event.member.client_id, event.times) for event in events] == [
        (IncidentKind.STATIC_MEMBER_REPLACED, "S1 (127.0.0.1, java 4.4)", "second", 4),
    ]
    first = events[0]
    assert (first.other.member_id, first.other.client_id) == (previous, "first")
    assert cluster.core.recorder.groups["g"].fencings == 4


def test_replacement_that_is_not_durable_restores_the_name_of_the_former_run(cluster: Cluster) -> None:
    cluster.stable_group(instance_ids=[None, "S1"], client_id="first")
    cluster.join(instance_id="S1", client_id="second", protocols=cluster.member().protocols)
    with cluster.log_held():
        cluster.join(instance_id="S1", client_id="third", protocols=cluster.member().protocols)
        cluster.fail_appends()
    story = cluster.core.story("g", cluster.clock.now_ms)
    assert story is not None and story.state is not None
    assert [each.member.client_id for each in story.state.members if each.member.instance_id] == ["second"]


def test_replacement_during_a_rebalance_is_a_change(cluster: Cluster) -> None:
    a, _ = cluster.stable_group(instance_ids=[None, "S1"])
    a.join()
    again = cluster.member(instance_id="S1")
    again.join()
    cluster.settle([a, again])
    assert cluster.rebalances[-1].counts == {"replaced": 1}


# -- slow rebalances ---------------------------------------------------------------------------------------------------


def slow(cluster: Cluster) -> list[Incident]:
    return [event for event in cluster.events if isinstance(event, Incident)]


def test_slow_rebalance_says_for_whom_it_waits_and_how_long_at_most(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3)
    b.client_id = "slow"
    a.join()
    cluster.advance("9s", heartbeating=[b, c])
    assert slow(cluster) == []
    cluster.advance("2s", heartbeating=[b, c])
    (event,) = slow(cluster)
    assert (event.what, event.reason) == (IncidentKind.REBALANCE_SLOW, Wait.JOINS.value)
    assert (event.member.member_id, event.more) == (b.member_id, 1)
    assert (event.waited_ms, event.at_most_ms) == (10_000, 50_000)
    assert "waits for client (127.0.0.1) and 1 more, at most 50 s more." in event.text()
    cluster.advance("40s", heartbeating=[b, c])
    assert len(slow(cluster)) == 1, "it is said once"


def test_slow_rebalance_waits_for_a_client_with_an_id_that_it_has_not_used(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1, session_timeout="60s")
    a.join()
    a.sync()
    cluster.join(client_id="lost", protocols=a.protocols, session_timeout="60s")  # gets an id, and is not heard again
    b = cluster.member(session_timeout="60s")
    b.join()
    a.join()
    cluster.advance("10s")
    (event,) = slow(cluster)
    assert (event.member.client_id, event.more) == ("lost", 0)


def test_slow_leader_is_named(cluster: Cluster) -> None:
    a, b = cluster.stable_group(session_timeout="60s")
    a.join()
    b.join()
    b.sync()
    cluster.advance("10s")
    (event,) = slow(cluster)
    assert (event.reason, event.member.member_id, event.more, event.at_most_ms) == ("plan", a.member_id, 0, 50_000)


def test_slow_disk_is_named(cluster: Cluster) -> None:
    a, b = cluster.stable_group(session_timeout="60s")
    a.join()
    b.join()
    with cluster.log_held():
        cluster.advance("8s")
        a.sync()
        cluster.advance("2s")
        (event,) = slow(cluster)
    assert (event.reason, event.member.is_known, event.at_most_ms) == ("disk", False, -1)
    assert event.text() == "Group g has been rebalancing for 10 s; it waits for the disk of the coordinator."


@pytest.mark.parametrize("end", ["stable", "empty", "interrupted", "deleted"])
def test_warning_is_cancelled_at_the_end(cluster: Cluster, end: str) -> None:
    a, b = cluster.stable_group(session_timeout="60s")
    a.join()
    if end == "stable":
        b.join()
        cluster.settle([a, b])
    elif end == "empty":
        a.leave()
        b.leave()
    elif end == "interrupted":
        b.join()
        cluster.advance("6s")
        a.leave()
        b.join()
        cluster.advance("6s")
        b.sync()
    else:
        a.leave()
        b.leave()
        cluster.delete_groups("g")
    cluster.advance("59s")
    assert slow(cluster) == []
    assert cluster.core.timers.warnings.waiting == 0


def test_warning_is_cancelled_when_the_partition_is_unloaded(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    a.join()
    cluster.shutdown()
    assert cluster.core.timers.warnings.waiting == 0


def test_initial_delay_is_no_slow_rebalance_unless_it_is_longer() -> None:
    for delay_ms, expected in ((3_000, []), (30_000, [(Wait.FIRST_MEMBERS.value, 20_000)])):
        cluster = Cluster(Config(group_initial_rebalance_delay_ms=delay_ms))
        member = cluster.member()
        member.join()
        cluster.advance("9s")
        if not member.is_waiting:
            member.sync()
        cluster.advance("21s", heartbeating=[] if member.is_waiting else [member])
        assert [(event.reason, event.at_most_ms) for event in slow(cluster)] == expected


def test_initial_delay_that_members_extend_ends_with_the_rebalance_timeout(cluster: Cluster) -> None:
    for pause in ("2500ms", "2500ms", "2500ms", "2s", "2s"):
        cluster.member(session_timeout="60s").join()
        cluster.advance(pause)
    (event,) = slow(cluster)
    assert (event.reason, event.waited_ms, event.at_most_ms) == ("first_members", 10_000, 50_000)


def test_warning_can_be_turned_off() -> None:
    cluster = Cluster(Config(group_rebalance_warn_ms=0))
    a, b = cluster.stable_group()
    a.join()
    cluster.advance("50s", heartbeating=[b])
    assert slow(cluster) == [] and cluster.core.timers.warnings.waiting == 0


# -- numbers of a rebalance --------------------------------------------------------------------------------------------


def members(cluster: Cluster) -> list[tuple[int, int]]:
    return [(event.members_before, event.members_after) for event in cluster.rebalances]


def test_members_before_and_after_a_join(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    c = cluster.member()
    c.join()
    a.join()
    b.join()
    cluster.settle([a, b, c])
    assert members(cluster) == [(0, 2), (2, 3)]


def test_members_before_and_after_some_left(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3)
    cluster.leave("g", b.member_id, c.member_id)
    a.join()
    a.sync()
    assert members(cluster)[-1] == (3, 1)
    assert cluster.rebalances[-1].counts == {"left": 2}


def test_members_before_and_after_some_left_during_the_rebalance(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3)
    a.join()
    b.leave()
    c.leave()
    a.sync()
    assert members(cluster)[-1] == (3, 1)
    assert cluster.rebalances[-1].counts == {"left": 2}


def test_members_before_and_after_some_sent_no_sync(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3, session_timeout="120s")
    for member in (a, b, c):
        member.join()
    a.sync()
    cluster.advance("60s")
    a.join()
    a.sync()
    assert members(cluster)[-1] == (3, 1)
    assert cluster.rebalances[-1].counts == {"dropped": 2}


def test_members_of_an_interrupted_generation_are_those_that_had_joined_it(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    leader = a.member_id
    cluster.member().join()
    assert members(cluster)[-1] == (2, 2)
    b.join()
    a.leave()
    assert members(cluster)[-1] == (2, 2)
    assert cluster.rebalances[-1].leader.member_id == leader


def test_members_that_expire_during_a_rebalance(cluster: Cluster) -> None:
    a, b, c = cluster.stable_group(members=3)
    a.join()
    cluster.advance("11s", heartbeating=[c])
    c.join()
    cluster.settle([a, c])
    assert members(cluster)[-1] == (3, 2)
    assert cluster.rebalances[-1].counts == {"expired": 1}
    assert cluster.rebalances[-1].changes[0].member.member_id == b.member_id


def test_change_of_a_subscription_during_a_rebalance_is_recorded(cluster: Cluster) -> None:
    a, b = cluster.stable_group(protocols=(("range", subscription("t")),))
    a.join()
    b.join(protocols=(("range", subscription("t", "u")),))
    cluster.settle([a, b])
    assert cluster.rebalances[-1].counts == {"resubscribed": 1}


def test_other_owned_partitions_alone_are_no_change_of_a_subscription(cluster: Cluster) -> None:
    a, b = cluster.stable_group(protocols=(("range", subscription("t")),))
    a.join()
    b.join(protocols=(("range", subscription("t")[:-4] + b"\0\0\0\1x"),))
    cluster.settle([a, b])
    assert cluster.rebalances[-1].counts == {}


def test_loaded_group_with_too_many_members(cluster: Cluster) -> None:
    cluster.stable_group(members=3)
    cluster.config = Config(group_max_size=2)
    cluster.crash_and_recover()
    group: Group = cluster.group()
    assert group.rebalance is not None
    cluster.advance("60s")
    assert members(cluster)[-1] == (3, 0)
