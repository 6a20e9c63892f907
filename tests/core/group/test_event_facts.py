"""Facts that events carry for the rules of `groups explain`."""

from __future__ import annotations

import pytest

from coordinator.core.events.model import Incident, IncidentKind, Rebalance
from protocol.consumer import Subscription, encode_subscription
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster


def test_trigger_has_the_timeouts_of_its_member(cluster: Cluster) -> None:
    _, b = cluster.stable_group(session_timeout="20s", rebalance_timeout="70s")
    b.leave()
    (event,) = [each for each in _story(cluster) if isinstance(each, Rebalance) and each.trigger.member.member_id]
    assert event.trigger.session_timeout_ms == 20_000 and event.trigger.rebalance_timeout_ms == 70_000


@pytest.mark.parametrize(
    ("protocols", "changed"),
    [
        ([("range", ["t"], b"other user data")], False),
        ([("range", ["t", "u"], None)], True),
        ([("range", ["t"], None), ("sticky", ["t"], None)], True),
    ],
)
def test_user_data_alone_is_no_change_of_the_subscription(
    cluster: Cluster, protocols: list[tuple[str, list[str], bytes | None]], changed: bool
) -> None:
    _, b = cluster.stable_group()
    b.join(protocols=[(name, encode_subscription(Subscription(topics, data), 0)) for name, topics, data in protocols])
    rebalance = cluster.group().rebalance
    assert rebalance is not None and rebalance.trigger.subscription_changed is changed


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0\xff\xff\xff\xff", b"\0\0\0\0\0\x02\0\x01t"])
def test_metadata_that_cannot_be_read_is_no_change(cluster: Cluster, metadata: bytes) -> None:
    _, b = cluster.stable_group(protocols=[("range", metadata)])
    b.join(protocols=[("range", metadata + b"!" * 8)])
    rebalance = cluster.group().rebalance
    assert rebalance is not None and not rebalance.trigger.subscription_changed


def test_refused_join_names_the_assignors_that_were_offered(cluster: Cluster) -> None:
    cluster.stable_group()
    call = cluster.join(protocols=[("sticky", b""), ("mine", b"")])
    assert call.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    (incident,) = [each for each in _story(cluster) if isinstance(each, Incident)]
    assert incident.offered == ["sticky", "mine"]


def test_processes_that_replace_each_other_are_one_incident(cluster: Cluster) -> None:
    cluster.stable_group(members=1, instance_ids=["S0"], client_id="one")
    for number in range(8):
        cluster.join(instance_id="S0", client_id=("two", "one")[number % 2])
    replaced = [each for each in cluster.events if isinstance(each, Incident)]
    assert len(replaced) == 4 and replaced[0].times == 8  # published at 1, 2, 4 and 8
    assert replaced[0].what is IncidentKind.STATIC_MEMBER_REPLACED
    assert replaced[0].text() == (
        "Group g: two on 127.0.0.1 and one on 127.0.0.1 have one group.instance.id, S0, and take each other's place, "
        "8 times within 0 ms. Give each process an id of its own."
    )


def test_state_tells_when_the_group_was_loaded(cluster: Cluster) -> None:
    cluster.stable_group()
    cluster.advance("5s")
    cluster.crash_and_recover()
    story = cluster.core.story("g", cluster.clock.now_ms)
    assert story is not None and story.state is not None
    assert story.state.loaded_at_ms == cluster.clock.wall_ms > story.state.since_ms


def _story(cluster: Cluster) -> list[Rebalance | Incident]:
    story = cluster.core.story("g", cluster.clock.now_ms)
    assert story is not None
    current = story.state.rebalance if story.state is not None else None
    return [*story.events[1:], *([current] if current is not None else [])]
