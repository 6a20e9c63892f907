"""OffsetCommit beyond the conformance cases: refused partitions, durability, and late or failed appends."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from protocol.error_codes import ErrorCode
from protocol.offsets_records import OffsetKey, OffsetValue
from tests.support.cluster import Cluster
from tests.support.recognised_commits import RecognisedCommits

T0, T1, U0 = ("t", 0), ("t", 1), ("u", 0)
NONE = ErrorCode.NONE


def test_commit_is_visible_and_confirmed_only_when_it_is_durable(cluster: Cluster) -> None:
    with cluster.log_held():
        call = cluster.commit("g", {T0: 5})
        assert call.is_parked
        assert cluster.committed("g") == {}
        assert cluster.list_groups() == {}
        cluster.flush()
        assert call.errors == {T0: NONE}
        assert cluster.committed("g") == {T0: 5}


def test_stored_offset_is_the_one_sent(cluster: Cluster) -> None:
    cluster.commit("g", {T0: 42}, metadata="m", leader_epoch=7)
    (record,) = cluster.written("g")
    assert record.key == OffsetKey("g", "t", 0)
    assert record.value == OffsetValue(42, 7, "m", cluster.clock.wall_ms, -1)
    cluster.crash_and_recover()
    (group,) = cluster.fetch("g").answer.groups
    (partition,) = group.topics[0].partitions
    assert (partition.committed_offset, partition.committed_leader_epoch, partition.metadata) == (42, 7, "m")


def test_null_metadata_is_stored_as_empty_and_negative_offsets_as_sent(cluster: Cluster) -> None:
    cluster.commit("g", {T0: -1}, metadata=None)
    value = cluster.written("g")[0].value
    assert isinstance(value, OffsetValue)
    assert (value.offset, value.metadata) == (-1, "")


@pytest.mark.parametrize("version", range(2, 10))
def test_every_version_commits_and_every_version_fetches(cluster: Cluster, version: int) -> None:
    cluster.commit("g", {T0: version}, version=version)
    for fetch_version in range(1, 10):
        answer = cluster.fetch("g", [T0], version=fetch_version).answer
        topics = answer.topics if fetch_version < 8 else answer.groups[0].topics
        assert topics[0].partitions[0].committed_offset == version


def test_refused_partitions_come_first_and_the_others_are_committed(cluster: Cluster) -> None:
    cluster.existing_topics = {"t": 1, "u": 1}
    call = cluster.commit("g", {T0: 1, T1: 2, ("nowhere", 0): 3, U0: 4})
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(call.errors.items()) == [(T1, unknown), (T0, NONE), (("nowhere", 0), unknown), (U0, NONE)]
    assert [topic.name for topic in call.answer.topics] == ["t", "nowhere", "u"]
    assert cluster.committed("g") == {T0: 1, U0: 4}


def test_group_is_not_checked_if_all_partitions_are_refused(cluster: Cluster) -> None:
    cluster.existing_topics = {}
    call = cluster.commit("g", {T0: 1}, member_id="x", generation=5)
    assert call.errors == {T0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert cluster.commit("g", {}).answer.topics == []
    assert cluster.state() == "none"


def test_unknown_topics_are_accepted_without_the_topic_check() -> None:
    cluster = Cluster(Config(offsets_commit_topic_check=False))
    cluster.existing_topics = {}
    assert cluster.commit("g", {T0: 1}).errors == {T0: NONE}


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("x" * 10, NONE),
        ("x" * 11, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ("é" * 10, NONE),  # two bytes each, and one unit
        ("😀" * 5, NONE),
        ("😀" * 5 + "x", ErrorCode.OFFSET_METADATA_TOO_LARGE),  # two units each
    ],
)
def test_metadata_length_is_counted_in_utf_16_units(metadata: str, error: ErrorCode) -> None:
    cluster = Cluster(Config(offset_metadata_max_bytes=10))
    assert cluster.commit("g", {T0: 1}, metadata=metadata).errors == {T0: error}


def test_commit_without_a_record_creates_no_group(cluster: Cluster) -> None:
    call = cluster.commit("g", {T0: 1}, metadata="x" * 5000)
    assert call.errors == {T0: ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert cluster.state() == "none"


def test_first_failing_check_decides_the_error(cluster: Cluster) -> None:
    a, b = cluster.stable_group(instance_ids=["S0", "S1"])

    def error(**identity: object) -> ErrorCode:
        return cluster.commit("g", {T0: 1}, **identity).errors[T0]

    assert error(instance_id="S9", member_id=a.member_id, generation=9) is ErrorCode.UNKNOWN_MEMBER_ID
    assert error(instance_id="S0", member_id=b.member_id, generation=9) is ErrorCode.FENCED_INSTANCE_ID
    assert error(instance_id="S0", member_id="", generation=-1) is ErrorCode.FENCED_INSTANCE_ID
    assert error(member_id=a.member_id, generation=9) is ErrorCode.ILLEGAL_GENERATION
    a.join()
    b.join()
    assert error(member_id=a.member_id, generation=9) is ErrorCode.ILLEGAL_GENERATION
    assert error(member_id=a.member_id, generation=2) is ErrorCode.REBALANCE_IN_PROGRESS


def test_empty_group_refuses_a_generation(cluster: Cluster) -> None:
    (a,) = cluster.stable_group(members=1)
    a.leave()
    assert a.commit({T0: 1}).errors == {T0: ErrorCode.UNKNOWN_MEMBER_ID}
    assert cluster.commit("g", {T0: 1}, member_id="x").errors == {T0: NONE}


def test_commit_restarts_the_members_session(cluster: Cluster) -> None:
    a, b = cluster.stable_group()
    cluster.advance("9s", heartbeating=[a])
    b.commit({T0: 1})
    cluster.advance("9s", heartbeating=[a])
    assert b.member_id in cluster.group().members


def test_empty_group_id_is_valid_for_a_commit(cluster: Cluster) -> None:
    assert cluster.commit("", {T0: 1}).errors == {T0: NONE}
    assert cluster.committed("") == {T0: 1}
    assert cluster.heartbeat("", "x", 1).error is ErrorCode.INVALID_GROUP_ID
    assert cluster.join("").error is ErrorCode.INVALID_GROUP_ID
    assert cluster.sync("", "x", 1).error is ErrorCode.INVALID_GROUP_ID
    assert cluster.leave("", "x").error is ErrorCode.INVALID_GROUP_ID


class TestFailedAppend:
    @pytest.mark.parametrize(
        ("of_the_log", "of_the_client"),
        [
            (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.COORDINATOR_NOT_AVAILABLE),
            (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.COORDINATOR_NOT_AVAILABLE),
            (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.COORDINATOR_NOT_AVAILABLE),
            (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_COORDINATOR),
            (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_COORDINATOR),
            (ErrorCode.MESSAGE_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
            (ErrorCode.RECORD_LIST_TOO_LARGE, ErrorCode.UNKNOWN_SERVER_ERROR),
            (ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS),
            (ErrorCode.POLICY_VIOLATION, ErrorCode.POLICY_VIOLATION),
        ],
    )
    def test_log_error_is_mapped_to_an_error_for_clients(
        self, cluster: Cluster, of_the_log: ErrorCode, of_the_client: ErrorCode
    ) -> None:
        with cluster.log_held():
            call = cluster.commit("g", {T0: 1})
            cluster.fail_appends(of_the_log)
        assert call.errors == {T0: of_the_client}

    def test_group_created_for_the_commit_is_removed(self, cluster: Cluster) -> None:
        with cluster.log_held():
            cluster.commit("g", {T0: 1})
            cluster.commit("g", {T0: 2})
            assert cluster.state() == "Empty"
            cluster.fail_appends()
        assert cluster.state() == "none"
        assert cluster.committed("g") == {}

    def test_later_appends_fail_too_and_the_next_one_gets_the_right_offset(self, cluster: Cluster) -> None:
        cluster.commit("g", {T0: 1})
        with cluster.log_held():
            first = cluster.commit("g", {T0: 2})
            second = cluster.commit("g", {T0: 3})
            cluster.flush(at_most=1)
            cluster.fail_appends()
        assert first.errors == {T0: NONE}
        assert second.errors == {T0: ErrorCode.NOT_COORDINATOR}
        assert cluster.committed("g") == {T0: 2}
        cluster.commit("g", {T0: 4})
        cluster.crash_and_recover()
        assert cluster.committed("g") == {T0: 4}

    def test_error_replaces_too_large_metadata_but_not_unknown_partitions(self, cluster: Cluster) -> None:
        cluster.existing_topics = {"t": 2}
        with cluster.log_held():
            call = cluster.commit("g", {T0: 1, T1: 2, U0: 3}, metadata={T0: "x" * 5000, T1: "", U0: ""})
            cluster.fail_appends()
        assert call.errors == {
            U0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            T0: ErrorCode.NOT_COORDINATOR,
            T1: ErrorCode.NOT_COORDINATOR,
        }


class TestSlowAppend:
    def test_commit_times_out_and_is_still_applied(self, cluster: Cluster) -> None:
        with cluster.log_held():
            call = cluster.commit("g", {T0: 1})
            cluster.advance(4_999)
            assert call.is_parked
            cluster.advance(1)
            assert call.errors == {T0: ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert cluster.committed("g") == {T0: 1}

    def test_timeout_does_not_fail_later_commits(self, cluster: Cluster) -> None:
        with cluster.log_held():
            first = cluster.commit("g", {T0: 1})
            cluster.advance("3s")
            second = cluster.commit("g", {T0: 2})
            cluster.advance("2s")
            assert (first.is_parked, second.is_parked) == (False, True)
            cluster.advance("2s")
            third = cluster.commit("g", {T0: 3})
        assert second.errors == third.errors == {T0: NONE}

    def test_commits_can_time_out_repeatedly(self, cluster: Cluster) -> None:
        for number in range(3):
            with cluster.log_held():
                call = cluster.commit("g", {T0: number})
                cluster.advance("5s")
                assert call.errors == {T0: ErrorCode.COORDINATOR_NOT_AVAILABLE}
                cluster.fail_appends()
            assert cluster.commit("g", {T0: 100 + number}).errors == {T0: NONE}
            assert cluster.committed("g") == {T0: 100 + number}


class TestTooLargeAppend:
    """Kafka refuses such an append with RecordTooLargeException before any change (CoordinatorRuntime.append)."""

    @pytest.fixture
    def cluster(self) -> Cluster:
        return Cluster(Config(message_max_bytes=10_000), partitions=1)

    def test_an_append_may_be_as_large_as_allowed_and_no_byte_larger(self) -> None:
        def largest(limit: int) -> int:
            """Return how long the metadata of three partitions, all but the last 3,000, may be at most."""
            cluster = Cluster(Config(message_max_bytes=limit), partitions=1)
            for last in range(4000, 0, -1):
                metadata = {("t", 0): "x" * 3000, ("t", 1): "x" * 3000, ("t", 2): "x" * last}
                errors = cluster.commit("g", dict.fromkeys(metadata, 1), metadata=metadata).errors
                if set(errors.values()) == {NONE}:
                    return last
                assert set(errors.values()) == {ErrorCode.UNKNOWN_SERVER_ERROR}
            raise AssertionError("nothing fits")

        fits = largest(10_000)
        assert 6000 + fits < 10_000, "keys and headers count as well"
        assert [largest(10_000 + more) - fits for more in (1, 2, 100)] == [1, 2, 100]

    def test_only_the_too_large_commit_is_refused(self, cluster: Cluster) -> None:
        many = {("t", number): 1 for number in range(10)}
        with cluster.log_held():
            before = cluster.commit("other", {T0: 1})
            too_large = cluster.commit("g", many, metadata=dict.fromkeys(many, "x" * 1000))
            behind = cluster.commit("other", {T1: 2})
            assert too_large.errors == dict.fromkeys(many, ErrorCode.UNKNOWN_SERVER_ERROR)
            assert cluster.state("g") == "none"
            assert before.is_parked and behind.is_parked
        assert (before.errors, behind.errors) == ({T0: NONE}, {T1: NONE})
        cluster.crash_and_recover()
        assert cluster.committed("other") == {T0: 1, T1: 2}

    def test_existing_group_is_unchanged(self, cluster: Cluster) -> None:
        (a,) = cluster.stable_group(members=1)
        many = {("t", number): 1 for number in range(10)}
        assert set(a.commit(many, metadata=dict.fromkeys(many, "x" * 1000)).errors.values()) == {
            ErrorCode.UNKNOWN_SERVER_ERROR
        }
        assert a.commit({T0: 1}).errors == {T0: NONE}
        assert cluster.committed("g") == {T0: 1}
        a.leave()
        assert cluster.delete_groups("g").answer.results[0].error_code == NONE

    def test_too_large_assignments_fail_every_sync_and_the_group_rebalances(self, cluster: Cluster) -> None:
        a, b = cluster.stable_group()
        with cluster.log_held():
            a.join()
            b.join()
            b.sync()
            neighbour = cluster.commit("other", {T0: 1})
            cluster.sync("g", a.member_id, 2, {a.member_id: b"x" * 20_000})
            behind = cluster.commit("other", {T1: 2})
            assert b.last_sync.error is ErrorCode.UNKNOWN_SERVER_ERROR
            assert cluster.state() == "PreparingRebalance"
        assert (neighbour.errors, behind.errors) == ({T0: NONE}, {T1: NONE})
        a.join()
        b.join()
        cluster.settle([a, b])
        assert cluster.state() == "Stable"

    def test_only_the_too_large_recognised_commit_is_refused(self, cluster: Cluster) -> None:
        cluster.recognised = RecognisedCommits()
        many = {("t", number): 1 for number in range(10)}
        for _ in range(3):
            assert set(cluster.commit("g", many, metadata=dict.fromkeys(many, "x" * 1000)).errors.values()) == {
                ErrorCode.UNKNOWN_SERVER_ERROR
            }
        assert cluster.commit("other", {T0: 1}).errors == {T0: NONE}
