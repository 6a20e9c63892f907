"""Limits of what groups keep in memory: each is met exactly, one more is refused, and freed room can be used again."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.group.group import MAX_CACHED_BYTES, topics_of
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster, subscription

FULL_OF_OFFSETS = ErrorCode.INVALID_COMMIT_OFFSET_SIZE
FULL = ErrorCode.GROUP_MAX_SIZE_REACHED
NAME = len("range")
TEN = [("range", b"0123456789")]  # with its name 15 bytes


def joined(cluster: Cluster, group_id: str, protocols: list[tuple[str, bytes]]) -> ErrorCode | None:
    """Join at once, as version 3 does. None: the member is in, and its JoinGroup is parked."""
    call = cluster.join(group_id, protocols=protocols, version=3)
    return None if call.is_parked else call.error


class TestMetadataOfOneGroup:
    def test_is_met_exactly_and_one_byte_more_is_refused(self) -> None:
        cluster = Cluster(Config(group_max_metadata_bytes=2 * (NAME + 10)))
        assert joined(cluster, "g", TEN) is None
        assert joined(cluster, "g", [("range", b"0123456789x")]) is FULL
        assert joined(cluster, "g", TEN) is None
        assert joined(cluster, "g", [("range", b"")]) is FULL
        assert joined(cluster, "other", TEN) is None

    def test_counts_the_protocols_of_a_member_once_when_it_rejoins(self) -> None:
        cluster = Cluster(Config(group_max_metadata_bytes=NAME + 10))
        (member,) = cluster.stable_group(members=1, protocols=TEN)
        assert member.join(protocols=[("range", b"9876543210")]).error is ErrorCode.NONE
        assert member.join(protocols=[("range", b"0123456789x")]).error is FULL
        assert cluster.group().metadata_bytes == NAME + 10

    def test_a_member_that_left_makes_room(self) -> None:
        cluster = Cluster(Config(group_max_metadata_bytes=2 * (NAME + 10)))
        first, _ = cluster.stable_group(protocols=TEN)
        assert joined(cluster, "g", TEN) is FULL
        first.leave()
        assert joined(cluster, "g", TEN) is None


def test_metadata_of_all_groups_is_met_exactly_and_one_byte_more_is_refused() -> None:
    cluster = Cluster(Config(groups_max_metadata_bytes=2 * (NAME + 10)))
    assert joined(cluster, "a", TEN) is None
    assert joined(cluster, "b", [("range", b"0123456789x")]) is FULL
    assert joined(cluster, "b", TEN) is None
    assert joined(cluster, "c", [("r", b"")]) is FULL
    assert cluster.core.totals.metadata_bytes == 2 * (NAME + 10)


class TestMembersOfAllGroups:
    def test_are_as_many_as_allowed_and_one_more_is_refused(self) -> None:
        cluster = Cluster(Config(max_members=2))
        members = [*cluster.stable_group("a", members=1), *cluster.stable_group("b", members=1)]
        assert cluster.core.totals.members == 2
        assert joined(cluster, "a", TEN) is FULL
        assert cluster.join("c").error is FULL  # also before it is given an id
        assert [member.heartbeat().error for member in members] == [ErrorCode.NONE] * 2
        members[1].leave()
        assert joined(cluster, "c", TEN) is None

    def test_those_that_are_members_may_rejoin(self) -> None:
        cluster = Cluster(Config(max_members=2))
        first, second = cluster.stable_group()
        second.join(protocols=[("range", b"other")])
        first.join()
        assert first.generation == second.generation == 2

    def test_members_are_counted_again_when_a_partition_is_loaded(self) -> None:
        cluster = Cluster(Config(max_members=2))
        cluster.stable_group()
        cluster.crash_and_recover()
        assert cluster.core.totals.members == 2
        assert joined(cluster, "g", TEN) is FULL


class TestOffsets:
    def test_are_as_many_as_allowed_and_one_more_is_refused(self) -> None:
        cluster = Cluster(Config(max_offsets=3))
        assert not any(cluster.commit("a", {("t", 0): 1, ("t", 1): 1, ("t", 2): 1}).errors.values())
        refused = cluster.commit("a", {("t", 0): 2, ("t", 3): 2}).errors
        assert refused == {("t", 0): ErrorCode.NONE, ("t", 3): FULL_OF_OFFSETS}
        assert cluster.committed("a") == {("t", 0): 2, ("t", 1): 1, ("t", 2): 1}
        assert cluster.core.metrics.refused_offsets == 1

    def test_one_large_commit_fills_the_room_and_does_not_pass_it(self) -> None:
        cluster = Cluster(Config(max_offsets=3))
        cluster.commit("a", {("t", 0): 1})
        errors = cluster.commit("a", {("t", number): 2 for number in range(5)}).errors
        assert [errors["t", number] for number in range(5)] == [ErrorCode.NONE] * 3 + [FULL_OF_OFFSETS] * 2
        assert cluster.core.offset_count == 3

    def test_a_group_of_refused_offsets_alone_is_not_created(self) -> None:
        cluster = Cluster(Config(max_offsets=1))
        cluster.commit("a", {("t", 0): 1})
        assert cluster.commit("b", {("t", 0): 1}).errors == {("t", 0): FULL_OF_OFFSETS}
        assert list(cluster.core.groups) == ["a"]

    def test_an_offset_that_was_deleted_makes_room(self) -> None:
        cluster = Cluster(Config(max_offsets=1))
        cluster.commit("a", {("t", 0): 1})
        cluster.delete_offsets("a", ("t", 0))
        assert cluster.core.offset_count == 0
        assert cluster.commit("b", {("t", 0): 1}).errors == {("t", 0): ErrorCode.NONE}


@pytest.mark.parametrize("setting", ["group_max_metadata_bytes", "groups_max_metadata_bytes", "max_members"])
def test_no_member_of_today_is_lost_when_a_limit_is_lowered(setting: str) -> None:
    cluster = Cluster()
    members = cluster.stable_group(members=3, protocols=[("range", b"m" * 2000)])
    cluster.config = Config(**{setting: 1024 if setting != "max_members" else 1})
    cluster.crash_and_recover()
    assert [member.heartbeat().error for member in members] == [ErrorCode.NONE] * 3
    for member in members:
        member.join(protocols=[("range", b"m" * 1999)])
    assert {member.generation for member in members} == {2}


def test_faults_that_wait_for_the_log_are_as_many_as_allowed_and_one_more_is_left_out() -> None:
    cluster = Cluster(Config(max_kept_faults=2), partitions=8)
    cluster.expects_faults = True
    names = {cluster.core.partition_for(name): name for name in map(str, range(100))}  # each breaks its partition
    leaders = []
    for name in list(names.values())[:3]:
        cluster.stable_group(name, members=1)
        leaders.append(cluster.group(name).leader)
    for leader in leaders:
        assert leader is not None
        leader.protocols = (("not counted", b""),)
    cluster.clock.now_ms += 10_000  # the sessions end
    cluster.core.advance_clock(cluster.clock.now_ms)
    assert len(cluster.core.take_broken_partitions()) == 3
    assert len(cluster.core.take_faults()) == 2


@pytest.mark.parametrize(("more", "is_shared"), [(0, True), (1, False)])
def test_a_subscription_is_kept_for_equal_ones_up_to_a_size(more: int, is_shared: bool) -> None:
    empty = len(subscription("t"))
    metadata = subscription("t" * (MAX_CACHED_BYTES - empty + 1 + more))
    assert len(metadata) == MAX_CACHED_BYTES + more
    assert (topics_of(metadata) is topics_of(bytes(bytearray(metadata)))) == is_shared


class TestDeletedTopicsThatWait:
    @pytest.fixture
    def cluster(self) -> Cluster:
        cluster = Cluster(Config(max_topics=2))
        for name in "abc":
            cluster.commit(f"of-{name}", {(name, 0): 1})
        cluster.holds_work = True
        return cluster

    def test_are_as_many_as_allowed_and_then_no_further_one_may_be_deleted_until_the_search_begins(
        self, cluster: Cluster
    ) -> None:
        cluster.delete_topic("a", [0])
        cluster.delete_topic("a", [0])  # created again meanwhile
        assert not cluster.core.is_forgetting_many()
        cluster.delete_topic("b", [0])
        assert cluster.core.is_forgetting_many()
        cluster.step()
        assert not cluster.core.is_forgetting_many()
        assert not cluster.core.has_work, "one search is for both"
        cluster.flush()
        assert [cluster.committed(f"of-{name}") for name in "abc"] == [{}, {}, {("c", 0): 1}]

    def test_are_counted_in_a_partition_that_is_loaded(self, cluster: Cluster) -> None:
        cluster.holds_work = False
        cluster.crash()
        for name in "aab":
            assert not cluster.core.is_forgetting_many()
            cluster.delete_topic(name, [0])
        assert cluster.core.is_forgetting_many()
        cluster.load()
        assert not cluster.core.is_forgetting_many()
        assert [cluster.committed(f"of-{name}") for name in "abc"] == [{}, {}, {("c", 0): 1}]

    def test_hold_nothing_back_at_the_end(self, cluster: Cluster) -> None:
        for name in "ab":
            cluster.delete_topic(name, [0])
        cluster.core.stop_background()
        assert not cluster.core.is_forgetting_many()
