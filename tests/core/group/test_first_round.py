"""A newcomer waits in the first round of a cooperative rebalance until an owner rejoins."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from coordinator.core.group.first_round import MOST_BYTES
from protocol.consumer import Assignment, encode_assignment
from protocol.error_codes import ErrorCode
from tests.support.cluster import Cluster
from tests.support.first_round import COOPERATIVE, FirstRound, given, owning

NONE, REBALANCE = ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS


@pytest.fixture
def round_(cluster: Cluster) -> FirstRound:
    return FirstRound(cluster)


def released(cluster: Cluster) -> dict[str, int]:
    return {why: count for why, count in cluster.core.metrics.released_syncs.items() if count}


@pytest.mark.parametrize("first", [True, False])
def test_it_waits_until_the_owner_rejoins(cluster: Cluster, round_: FirstRound, first: bool) -> None:
    call = round_.synced(first=first)
    assert (round_.owner.last_sync.error, round_.keeper.last_sync.error) == (NONE, NONE)
    assert call.is_parked and cluster.state() == "Stable"
    assert round_.owner.commit({("t", 2): 7}).errors == {("t", 2): NONE}, "the owner commits what it gives up"
    round_.owner.join(protocols=owning(0, 1))
    assert call.error is REBALANCE
    assert released(cluster) == {"rebalance": 1}


@pytest.mark.parametrize("first", [True, False])
def test_it_is_answered_when_its_time_is_over(cluster: Cluster, round_: FirstRound, first: bool) -> None:
    call = round_.synced(first=first)
    cluster.advance(2_749)
    assert call.is_parked
    cluster.advance(1)
    assert (call.error, call.answer.assignment) == (NONE, given())
    assert released(cluster) == {"time_over": 1}


def test_its_session_is_that_of_its_sync_group(cluster: Cluster, round_: FirstRound) -> None:
    call = round_.synced(first=True)
    cluster.advance(9_999, heartbeating=[round_.owner, round_.keeper])
    assert call.error is NONE and round_.newcomer.member_id in cluster.group().members
    cluster.advance(1)
    assert round_.newcomer.member_id not in cluster.group().members


def test_bytes_behind_it_release_it(cluster: Cluster, round_: FirstRound) -> None:
    call = round_.synced(first=True)
    waiting = cluster.group().members[round_.newcomer.member_id].parked
    assert waiting is not None
    cluster.execute(cluster.core.release(waiting, cluster.clock.now_ms))
    assert (call.error, released(cluster)) == (NONE, {"next_bytes": 1})


def test_a_second_sync_group_is_answered_with_the_first(cluster: Cluster, round_: FirstRound) -> None:
    call = round_.synced(first=True)
    again = round_.newcomer.sync(can_wait=True)
    assert (call.error, again.error) == (NONE, NONE)


def test_a_heartbeat_on_another_connection_releases_it(cluster: Cluster, round_: FirstRound) -> None:
    call = round_.synced(first=True)
    assert round_.newcomer.park().error is NONE
    assert call.error is NONE
    assert round_.newcomer.park().is_parked


def test_a_newcomer_that_is_removed_and_a_stop(cluster: Cluster, round_: FirstRound) -> None:
    call = round_.synced(first=True)
    round_.newcomer.leave()
    assert call.error is ErrorCode.UNKNOWN_MEMBER_ID
    other = Cluster()
    call = FirstRound(other).synced(first=False)
    other.shutdown()
    assert call.error is ErrorCode.NOT_COORDINATOR


class TestNotHeld:
    @pytest.mark.parametrize("first", [True, False])
    def test_a_client_that_cannot_wait(self, round_: FirstRound, first: bool) -> None:
        assert round_.synced(first=first, can_wait=False).error is NONE

    @pytest.mark.parametrize("first", [True, False])
    def test_a_newcomer_that_gets_partitions(self, round_: FirstRound, first: bool) -> None:
        assert round_.synced(first=first, newcomer=given(9)).error is NONE

    def test_a_newcomer_that_gets_something_in_the_user_data(self, round_: FirstRound) -> None:
        """Kafka Streams assigns standby tasks so."""
        standby = encode_assignment(Assignment(user_data=b"standby"), 1)
        assert round_.synced(first=True, newcomer=standby).error is NONE

    @pytest.mark.parametrize("first", [True, False])
    def test_a_round_in_which_none_gives_up_what_no_other_gets(self, round_: FirstRound, first: bool) -> None:
        """Eager assignors hand a partition over in one round."""
        call = round_.newcomer.sync(can_wait=True) if first else None
        round_.assign(given(0, 1), given(2, 3, 4, 5), given())
        assert (call or round_.newcomer.sync(can_wait=True)).error is NONE

    @pytest.mark.parametrize("first", [True, False])
    def test_a_member_that_says_it_owns_partitions(self, cluster: Cluster, first: bool) -> None:
        """It would miss the answer: it could not commit, and its next subscription would name an old generation."""
        assert FirstRound(cluster, newcomer=owning(7)).synced(first=first).error is NONE

    @pytest.mark.parametrize("metadata", [b"", b"\0\1\0\0\0\1", owning(user_data=bytes(MOST_BYTES))[0][1]])
    def test_a_subscription_that_cannot_be_read_or_is_long(self, cluster: Cluster, metadata: bytes) -> None:
        assert FirstRound(cluster, newcomer=[(COOPERATIVE, metadata)]).synced(first=True).error is NONE

    def test_a_group_with_much_to_read(self, cluster: Cluster) -> None:
        round_ = FirstRound(cluster, newcomer=owning(user_data=bytes(MOST_BYTES - 100)))
        assert round_.synced(first=True).error is NONE

    def test_an_assignment_that_cannot_be_read(self, round_: FirstRound) -> None:
        round_.newcomer.sync(can_wait=True)
        round_.assign(given(0, 1), b"\0\1\0\0\0\1", given())
        assert round_.newcomer.last_sync.error is NONE

    def test_parking_is_off(self) -> None:
        assert FirstRound(Cluster(Config(group_heartbeat_park_ms=0))).synced(first=True).error is NONE

    def test_another_kind_of_group(self) -> None:
        cluster = Cluster()
        a, b = cluster.stable_group(members=2, protocol_type="connect", protocols=owning())
        b.join(protocols=owning(1))
        a.join(protocols=owning(0))
        a.sync({a.member_id: given(), b.member_id: given()})
        assert b.sync(can_wait=True).error is NONE
