"""Each rebalance record says how many records of lost partitions were sent to their former owners and not committed."""

from __future__ import annotations

from coordinator.core.group.ownership import LOST_COST, PER_STEP
from coordinator.core.group.read_twice import COUNTED_AT_MOST
from tests.core.group.test_ownership import cooperative, given, group_of, settle
from tests.support.cluster import Cluster

HOST = "/127.0.0.1"


def commit(cluster: Cluster, offsets: dict[int, int]) -> None:
    """Commit as a tool does, for a group that is empty."""
    cluster.commit("g", {("t", partition): offset for partition, offset in offsets.items()})


def reads(cluster: Cluster, client_id: str = "client", **ends: int) -> None:
    """Let a client have read partitions 0 to 9 of the topic up to these offsets (p0=..., p1=...)."""
    for name, end in ends.items():
        cluster.read_up_to["t", int(name[1:]), client_id, HOST] = end


def test_records_that_the_former_owner_did_not_commit_are_counted(cluster: Cluster) -> None:
    commit(cluster, {0: 10, 1: 20, 2: 30, 3: 5})
    a, b = group_of(cluster, given(0), given(1, 2, 3))
    reads(cluster, p0=1_000, p1=25, p2=30, p3=105)
    b.leave()
    a.join()
    event = settle([a], [given(0, 1, 2, 3)])
    assert event.partitions_moved == 3
    assert event.records_read_twice == 5 + 0 + 100
    assert cluster.read_up_to == {("t", 0, "client", HOST): 1_000}, "the next owner begins anew"


def test_all_committed_is_nothing_to_be_read_twice(cluster: Cluster) -> None:
    commit(cluster, {0: 10, 1: 20})
    a, b = group_of(cluster, given(0), given(1))
    reads(cluster, p1=20)
    b.leave()
    a.join()
    assert settle([a], [given(0, 1)]).records_read_twice == 0


def test_a_slow_poller_that_holds_one_batch_is_counted(cluster: Cluster) -> None:
    """It is alive and reads no more; it is dropped because it does not rejoin."""
    commit(cluster, {1: 500})
    a, b = group_of(cluster, given(0), given(1))
    reads(cluster, p1=1_000)
    a.join()
    cluster.advance("60s", heartbeating=[b])
    event = settle([a], [given(0, 1)])
    assert (event.partitions_moved, event.records_read_twice) == (1, 500)


def test_what_is_committed_until_the_new_assignment_counts(cluster: Cluster) -> None:
    commit(cluster, {1: 500})
    a, b = group_of(cluster, given(0), given(1))
    reads(cluster, p1=1_000)
    c = cluster.member()
    c.join()
    b.commit({("t", 1): 990})
    a.join()
    b.join()
    assert settle([a, b, c], [given(0), given(), given(1)]).records_read_twice == 10


def test_partitions_without_a_committed_offset_or_a_known_reader_are_left_out(cluster: Cluster) -> None:
    commit(cluster, {0: 0, 2: 20})
    a, b = group_of(cluster, given(0), given(1, 2))
    reads(cluster, p1=40)
    b.leave()
    a.join()
    assert settle([a], [given(0, 1, 2)]).records_read_twice == -1
    reads(cluster, p0=3, p1=40)
    a.leave()
    assert cluster.rebalances[-1].records_read_twice == 3, "only what is known"


def test_a_committed_offset_beyond_what_was_read_takes_nothing_away(cluster: Cluster) -> None:
    commit(cluster, {0: 100, 1: 0})
    (a,) = group_of(cluster, given(0, 1))
    reads(cluster, p0=50, p1=7)
    a.leave()
    assert cluster.rebalances[-1].records_read_twice == 7


def test_partitions_that_stay_are_not_counted(cluster: Cluster) -> None:
    commit(cluster, {0: 0})
    (a,) = group_of(cluster, given(0))
    reads(cluster, p0=50)
    a.join()
    assert settle([a], [given(0)]).records_read_twice == -1
    assert cluster.read_up_to


def test_a_group_that_becomes_empty_counts_what_its_last_member_read(cluster: Cluster) -> None:
    commit(cluster, {0: 20})
    group_of(cluster, given(0))
    reads(cluster, p0=120)
    cluster.advance("11s")
    event = cluster.rebalances[-1]
    assert (event.members_after, event.records_read_twice) == (0, 100)


def test_a_cooperative_owner_is_counted_when_another_member_gets_the_partition(cluster: Cluster) -> None:
    """It goes on until it has revoked the partition, and commits then."""
    commit(cluster, {0: 0, 1: 0})
    (a,) = group_of(cluster, given(0, 1), protocols=cooperative())
    b = cluster.member(protocols=cooperative())
    b.join()
    a.join(protocols=cooperative(0, 1))
    assert settle([a, b], [given(0), given()]).records_read_twice == -1
    reads(cluster, p0=70, p1=80)
    a.commit({("t", 1): 78})
    a.join(protocols=cooperative(0))
    b.join()
    assert settle([a, b], [given(0), given(1)]).records_read_twice == 2


def test_the_next_run_of_a_static_member_is_the_reader(cluster: Cluster) -> None:
    commit(cluster, {0: 0, 1: 0})
    a, _ = group_of(cluster, given(0), given(1), instance_ids=["S0", "S1"])
    again = cluster.member(instance_id="S1", client_id="pod-b")
    again.join()
    reads(cluster, client_id="pod-b", p1=9)
    again.take_id()
    cluster.leave("g", (again.member_id, "S1"))
    a.join()
    assert settle([a], [given(0, 1)]).records_read_twice == 9


def test_many_partitions_are_counted_in_steps_up_to_a_limit(cluster: Cluster) -> None:
    """A commit that comes while they are counted is of the next owner, and is left out."""
    count = COUNTED_AT_MOST + 1_000
    for first in range(0, count, 500):
        commit(cluster, dict.fromkeys(range(first, first + 500), 1))
    a, b = group_of(cluster, given(*range(count)), given())
    for partition in range(count):
        cluster.read_up_to["t", partition, "client", HOST] = 3
    a.leave()
    b.join()
    b.take_id()
    cluster.holds_work = True
    b.sync({b.member_id: given(*range(count))})
    cluster.advance("1s")
    late = COUNTED_AT_MOST - 1  # it is the last one that is looked up
    b.commit({("t", late): 2})
    steps = 0
    while cluster.core.has_work:
        cluster.step()
        steps += 1
    assert steps >= LOST_COST * COUNTED_AT_MOST // PER_STEP
    event = cluster.rebalances[-1]
    assert event.partitions_moved == count
    assert len(cluster.read_up_to) == count - COUNTED_AT_MOST
    assert event.records_read_twice == 2 * (COUNTED_AT_MOST - 1)
