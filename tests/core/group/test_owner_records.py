"""The owners of each generation are kept, with the moments at which members gave up what they had."""

from __future__ import annotations

import pytest

from coordinator.core.events.owners import GenerationOwners, Holder
from coordinator.core.group import owner_records
from tests.core.group.test_ownership import cooperative, given, group_of, settle
from tests.support.cluster import Cluster
from tests.support.scripted_member import Member


def newest(member: Member) -> GenerationOwners:
    return member.cluster.core.owners(member.group_id, member.cluster.clock.now_ms).generations[-1]


def held(owners: GenerationOwners) -> dict[str, bytes]:
    return {holder.key: holder.assignment for holder in owners.holders}


def test_eager_members_give_up_all_when_they_rejoin(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0, 1), given(2, 3))
    at_ms = newest(a).at_ms
    a.join()
    cluster.advance("2s")
    b.join()
    cluster.advance("1s")
    settle([a, b], [given(0, 1, 2), given(3)])
    owners = newest(a)
    assert owners.at_ms - at_ms == 3_000
    assert owners.gave_up == [(at_ms, a.member_id), (at_ms + 2_000, b.member_id)]
    assert held(owners) == {a.member_id: given(0, 1, 2), b.member_id: given(3)}


def test_cooperative_members_keep_what_they_own(cluster: Cluster) -> None:
    (a,) = group_of(cluster, given(0, 1, 2), protocols=cooperative())
    b = cluster.member(protocols=cooperative())
    b.join()
    cluster.advance("2s")
    a.join(protocols=cooperative(0, 1, 2))
    settle([a, b], [given(0, 1), given()])
    assert newest(a).gave_up == []
    assert held(newest(a)) == {a.member_id: given(0, 1), b.member_id: given()}


def test_members_that_could_list_partitions_and_list_none_give_up_all(cluster: Cluster) -> None:
    """librdkafka with an eager assignor sends a subscription of version 1."""
    (a,) = group_of(cluster, given(0, 1), protocols=cooperative())
    gave_up_ms = newest(a).at_ms
    a.join(protocols=cooperative())
    cluster.advance("1s")
    settle([a], [given(0, 1)])
    assert newest(a).gave_up == [(gave_up_ms, a.member_id)]


def test_a_member_that_leaves_gives_up_all(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1), protocols=cooperative())
    left_ms = newest(a).at_ms
    b.leave()
    cluster.advance("1s")
    a.join(protocols=cooperative(0))
    settle([a], [given(0, 1)])
    assert newest(a).gave_up == [(left_ms, b.member_id)]
    assert held(newest(a)) == {a.member_id: given(0, 1)}


def test_a_group_that_becomes_empty_has_no_holders(cluster: Cluster) -> None:
    (a,) = group_of(cluster, given(0))
    a.leave()
    assert newest(a).holders == []


def test_a_group_that_was_loaded_has_the_owners_of_its_record(cluster: Cluster) -> None:
    (a,) = group_of(cluster, given(0, 1))
    before = newest(a)
    cluster.crash()
    cluster.load()
    assert newest(a) == GenerationOwners(
        before.at_ms, before.generation, [], [Holder(a.member_id, "client", "127.0.0.1", given(0, 1))]
    )


def test_a_group_without_generations_has_no_owners(cluster: Cluster) -> None:
    assert cluster.core.owners("none", cluster.clock.now_ms).generations == []


def test_an_answer_has_the_newest_generations_that_fit(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = group_of(cluster, given(0), given(1))
    a.join()
    b.join()
    settle([a, b], [given(0), given(1)])
    assert len(cluster.core.owners(a.group_id, cluster.clock.now_ms).generations) == 3
    monkeypatch.setattr(owner_records, "MOST_HOLDERS", 5)
    assert [len(each.holders) for each in cluster.core.owners(a.group_id, cluster.clock.now_ms).generations] == [2, 2]
