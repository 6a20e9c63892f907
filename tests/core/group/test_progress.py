"""Each rebalance leaves one record that explains its cause in plain words."""

from __future__ import annotations

from coordinator.config.config import Config
from coordinator.core.events.model import Cause, ChangeKind, Rebalance, RebalanceOutcome, encode
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster


def dropped(record: Rebalance) -> list[str]:
    return [change.member.member_id for change in record.changes if change.kind is ChangeKind.DROPPED]


def test_record_names_the_member_and_the_duration_of_each_phase(cluster: Cluster) -> None:
    a, b = cluster.stable_group(client_id="orders-app")
    cluster.advance("10s", heartbeating=[a])
    cluster.advance("2s")
    a.join()
    cluster.advance("1s")
    a.sync()
    record = cluster.rebalances[-1]
    assert record is cluster.core.recorder.events("g")[-1]
    assert (record.trigger.cause, record.trigger.member.member_id) == (Cause.SESSION_EXPIRED, b.member_id)
    assert (record.join_ms, record.sync_ms, record.outcome) == (2_000, 1_000, RebalanceOutcome.STABLE)
    assert record.text() == (
        "Group g left generation 1 because a member fell silent for its session timeout"
        f" ({b.member_id}, client orders-app@/127.0.0.1). 1 member joined within 2000 ms;"
        " generation 2 was stable after another 1000 ms."
    )


def test_member_that_did_not_rejoin_is_named(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    cluster.advance("60s", heartbeating=[b])
    a.sync()
    record = cluster.rebalances[-1]
    assert (record.trigger.cause, dropped(record)) == (Cause.LEADER_REJOINED, [b.member_id])
    assert f"without {b.member_id}; generation 2 was stable" in record.text()


def test_ten_at_most_of_the_members_that_did_not_rejoin_are_named(cluster: Cluster) -> None:
    members = cluster.stable_group(members=14)
    members[0].join()
    cluster.advance("60s", heartbeating=members[1:], every="9s")
    members[0].sync()
    assert "and 3 more;" in cluster.rebalances[-1].text()


def test_long_client_names_are_shortened(cluster: Cluster) -> None:
    """Records outlive their members, in every group."""
    name = "n" * 255
    members = cluster.stable_group(members=12, client_id=name, instance_ids=["i" * 30_000])
    members[1].join()
    cluster.advance("60s", heartbeating=members[2:], every="9s")
    record = cluster.rebalances[-1]
    assert max(len(change.member.member_id) for change in record.changes) <= 255 and len(encode(record)) < 10_000
    assert record.trigger.member.member_id[-36:] in {member.member_id[-36:] for member in members}
    assert record.text().isascii()


def test_reason_of_a_client_is_kept(cluster: Cluster) -> None:
    a, _ = cluster.stable_group()
    cluster.join(member_id=a.member_id, protocols=a.protocols, reason="rebalance enforced by user")
    story = cluster.core.story("g", cluster.clock.now_ms)
    assert story is not None and story.state is not None and story.state.rebalance is not None
    assert story.state.rebalance.text().endswith(
        'giving as its reason "rebalance enforced by user"; members are rejoining.'
    )


def test_interrupted_rebalance_is_recorded_as_interrupted(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    a.join()
    b.join()
    b.leave()
    assert cluster.rebalances[-1].outcome is RebalanceOutcome.INTERRUPTED
    assert "before it was stable" in cluster.rebalances[-1].text()


def test_rebalance_that_ends_empty_is_recorded(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    record = cluster.rebalances[-1]
    assert (record.trigger.cause, record.outcome) == (Cause.MEMBER_LEFT, RebalanceOutcome.EMPTY)
    assert record.text().endswith("0 members joined within 0 ms; generation 2 is empty.")


def test_each_cause_is_recorded_and_counted() -> None:
    cluster = Cluster()
    a, b, c = cluster.stable_group(members=3, instance_ids=[None, None, "S0"])
    a.join()  # the leader
    b.join()
    c.join()
    a.sync()
    cluster.advance("60s", heartbeating=[a, b, c])  # b and the static c never sync
    with cluster.log_held():
        a.join()
        a.sync()
        cluster.fail_appends(ErrorCode.MESSAGE_TOO_LARGE)
    assert a.last_sync.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert cluster.core.metrics.rebalances_by_cause == {
        "member_joined": 1,
        "leader_rejoined": 1,
        "no_sync": 1,
        "append_failed": 1,
    }


def test_newest_records_are_kept() -> None:
    cluster = Cluster(Config(group_max_rebalance_history=2))
    (a,) = cluster.stable_group(members=1)
    for _ in range(4):
        a.join()
        a.sync()
    assert [record.generation for record in cluster.core.recorder.events("g") if isinstance(record, Rebalance)] == [
        4,
        5,
    ]
    assert len(cluster.rebalances) == 5


def test_records_can_be_disabled() -> None:
    cluster = Cluster(Config(group_max_rebalance_history=0))
    cluster.stable_group(members=1)
    assert cluster.core.recorder.events("g") == []
    assert len(cluster.rebalances) == 1


def test_reprs_are_readable(cluster: Cluster) -> None:
    a, _ = cluster.stable_group(instance_ids=["S0"])
    assert "Stable consumer/range G1" in repr(cluster.group())
    assert "instance='S0'" in repr(cluster.group().members[a.member_id])
    assert "active" in repr(cluster.core.partition(0))
    assert "1 events of 1 groups" in repr(cluster.core.recorder)
