"""Rules of the membership: which node serves which partition when nodes come, go, freeze and lose the store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import NO_NODE, NodeState, wanted_owner
from coordinator.membership.membership import MembershipSettings
from tests.membership.membership_world import LEASE_S, PARTITIONS, SETTINGS, MembershipWorld, Node, Outage

NO_DELAY = SETTINGS._replace(rebalance_delay_ms=0)
ACTS = ("kill", "freeze", "outage", "outage for all", "stop", "lost answer", "fenced", "store", "store")
DELAY_S = SETTINGS.rebalance_delay_ms / 1000


@pytest.fixture(autouse=True)
def closed_worlds() -> Iterator[None]:
    """End all processes after the test, so that no connection is left to the garbage collector."""
    yield
    while MembershipWorld.opened:
        MembershipWorld.opened.pop().close()


def three_nodes(settings: MembershipSettings = NO_DELAY) -> tuple[MembershipWorld, list[Node]]:
    """Three nodes, each of which serves its share."""
    cluster = MembershipWorld(settings=settings)
    nodes = cluster.start(1, 2, 3)
    cluster.run_until(lambda: is_balanced(cluster), within_s=DELAY_S + 20)
    return cluster, nodes


def share(node: Node, ids: tuple[int, ...] = (1, 2, 3)) -> set[int]:
    return {each for each in range(PARTITIONS) if wanted_owner(each, ids) == node.me.id}


def is_balanced(cluster: MembershipWorld) -> bool:
    ids = tuple(each.me.id for each in cluster.nodes if each.is_alive)
    return all(each.answers == share(each, ids) for each in cluster.nodes if each.is_alive)


def handed_over(nodes: list[Node]) -> int:
    return sum(each.membership.counters.handed_over for each in nodes)


# -- start and balance ---------------------------------------------------------------------------------------------


def test_three_nodes_that_start_together_serve_each_partition_once() -> None:
    cluster = MembershipWorld()
    nodes = cluster.start(1, 2, 3)
    assert cluster.run_until(cluster.all_served, within_s=1.0) < 1.0
    cluster.run(DELAY_S - 2)
    assert handed_over(nodes) == 0, "a node is up for cluster.rebalance.delay.ms before it gets partitions"
    cluster.run(4)
    assert is_balanced(cluster)


def test_few_partitions_are_loaded_at_once() -> None:
    cluster = MembershipWorld()
    (node,) = cluster.start(1)
    cluster.run_until(cluster.all_served, within_s=1.0)
    assert node.host.most_loading == 4


def test_a_node_that_comes_back_gets_its_share_after_the_delay_one_partition_at_a_time() -> None:
    cluster, nodes = three_nodes(SETTINGS)
    nodes[2].kill(proof=True)
    cluster.run_until(cluster.all_served, within_s=2.0)
    cluster.run(5)
    before = handed_over(nodes)
    cluster.most_unserved = 0
    (back,) = cluster.start(3)
    cluster.run(DELAY_S - 1)
    assert handed_over(nodes) == before and not back.answers
    cluster.run_until(lambda: is_balanced(cluster), within_s=5.0)
    assert cluster.most_unserved == 2, "each of the two other nodes hands over one at a time"
    assert not any(each.host.times("give up") for each in nodes[:2])
    assert back.answers == share(back) != set()


def test_a_node_that_starts_alone_after_all_have_died_waits_for_their_leases() -> None:
    cluster, nodes = three_nodes()
    for each in nodes:
        each.kill()
    (back,) = cluster.start(1)
    cluster.run(LEASE_S - 0.5)
    assert not back.answers
    assert cluster.run_until(cluster.all_served, within_s=LEASE_S + 1.5) < LEASE_S + 1.5


def test_a_node_that_starts_after_all_have_left_serves_at_once() -> None:
    cluster, nodes = three_nodes()
    for each in nodes:
        each.do(each.stop())
        cluster.run_until(lambda node=each: node.is_gone, within_s=10.0)  # type: ignore[misc]
    cluster.start(1)
    cluster.run_until(cluster.all_served, within_s=0.5)


def test_a_run_that_follows_a_kill_waits_for_the_lease_of_the_run_before() -> None:
    cluster = MembershipWorld()
    (first,) = cluster.start(1)
    cluster.run_until(cluster.all_served, within_s=1.0)
    first.kill()
    (second,) = cluster.start(1)
    cluster.run(LEASE_S - 0.6)
    assert not second.answers and not second.errors
    cluster.run_until(cluster.all_served, within_s=1.5)


def test_a_second_process_with_the_id_of_a_node_that_lives_does_not_start() -> None:
    cluster, _ = three_nodes()
    epochs = cluster.state.owned()
    (double,) = cluster.start(2)
    cluster.run(3 * LEASE_S)
    assert len(double.errors) == 1 and "another run of node 2" in str(double.errors[0])
    assert cluster.state.owned() == epochs and is_balanced_without(cluster, double)


def is_balanced_without(cluster: MembershipWorld, node: Node) -> bool:
    return not node.answers and cluster.all_served()


def test_the_next_partition_is_handed_over_when_the_last_one_has_been_claimed() -> None:
    cluster = MembershipWorld(settings=NO_DELAY)
    (first,) = cluster.start(1)
    cluster.run_until(cluster.all_served, within_s=1.0)
    order: list[int] = []

    def drained(partition: int) -> None:
        assert all(cluster.state.owned()[each].node == 2 for each in order)
        order.append(partition)

    first.host.drained = drained
    cluster.state.slow_s[2] = 0.03
    cluster.start(2)
    cluster.run_until(lambda: is_balanced(cluster), within_s=5.0)
    assert len(order) > 1


def test_a_change_of_the_map_is_acted_on_before_the_next_heartbeat() -> None:
    cluster = MembershipWorld(settings=NO_DELAY._replace(heartbeat_ms=1400))
    first, second = cluster.start(1, 2)
    cluster.run_until(lambda: is_balanced(cluster), within_s=20)
    first.do(first.stop())
    assert cluster.run_until(lambda: first.is_gone and cluster.all_served(), within_s=1.0) < 1.0
    assert second.answers == set(range(PARTITIONS))


def test_a_node_whose_announcement_got_no_answer_and_was_declared_dead_starts_all_the_same() -> None:
    cluster, _ = three_nodes()
    cluster.state.lost_answers.add((4, "announce"))
    (node,) = cluster.start(4)
    cluster.run(0.1)
    cluster.outage(Outage.SILENT, 4)
    cluster.run(LEASE_S + 0.7)
    assert cluster.state.nodes[4].state is NodeState.EXPIRED
    cluster.outage(None, 4)
    cluster.run_until(node.membership.lease.holds, within_s=5.0)
    assert not node.errors and cluster.state.map().nodes[4].is_up


# -- nodes that end or freeze --------------------------------------------------------------------------------------


def test_the_partitions_of_a_killed_node_are_taken_after_its_lease_and_no_others_move() -> None:
    cluster, nodes = three_nodes()
    kept = {each.me.id: set(each.answers) for each in nodes[:2]}
    moved = set(nodes[2].answers)
    nodes[2].kill()
    cluster.run(LEASE_S - 0.6)
    assert not moved & (nodes[0].answers | nodes[1].answers), "it might be alive until its lease ends"
    cluster.run_until(cluster.all_served, within_s=1.5)
    assert all(each.answers >= kept[each.me.id] for each in nodes[:2])
    assert [each.host.times("give up") for each in nodes[:2]] == [[], []]


def test_the_partitions_of_a_process_that_has_provably_ended_are_taken_at_once() -> None:
    cluster, nodes = three_nodes()
    nodes[2].kill(proof=True)
    assert cluster.run_until(cluster.all_served, within_s=0.5) < 0.5
    assert sum(each.membership.counters.expired_nodes for each in nodes[:2]) >= 1


def test_a_refused_connection_alone_is_no_proof() -> None:
    cluster, _ = three_nodes()
    before = cluster.state.owned()
    cluster.network.close(("10.0.0.3", 9092))
    cluster.network.reset(host="10.0.0.3")
    cluster.run(10)
    assert cluster.state.owned() == before and is_balanced(cluster)


def test_a_node_that_cannot_be_connected_to_is_not_declared_dead() -> None:
    cluster, nodes = three_nodes()
    before = cluster.state.owned()
    cluster.state.ended.add(nodes[2].membership.incarnation)  # a session of it has broken
    for other in nodes[:2]:
        cluster.network.cut(other.host_name, nodes[2].host_name, 60.0)
    cluster.network.reset(host=nodes[2].host_name)
    cluster.run(30)
    assert cluster.state.owned() == before and is_balanced(cluster)


def test_connections_that_end_when_idle_are_opened_again() -> None:
    cluster, nodes = three_nodes()
    for _ in range(5):
        cluster.run(7)
        assert cluster.network.reset() == 2 * 6, "each of three nodes holds a connection to the two others"
    cluster.run(2)
    nodes[0].kill(proof=True)
    cluster.run_until(cluster.all_served, within_s=0.5)


def test_a_frozen_node_gives_all_up_when_it_goes_on() -> None:
    cluster, nodes = three_nodes()
    frozen, moved, incarnation = nodes[0], set(nodes[0].answers), nodes[0].membership.incarnation
    frozen.loop.pause(10)
    assert cluster.run_until(lambda: moved <= nodes[1].answers | nodes[2].answers, within_s=5.0) > LEASE_S - 0.6
    cluster.run(10)
    assert set(frozen.host.serving) == share(frozen), "it has come back, and without a delay it gets its share"
    assert {number for _, what, number in frozen.host.told if what == "give up"} == moved
    assert frozen.membership.incarnation != incarnation
    assert not frozen.host.is_suspended


def test_a_partition_that_breaks_when_it_is_given_up_keeps_no_other_one_from_it() -> None:
    cluster, nodes = three_nodes()
    frozen, moved = nodes[0], set(nodes[0].answers)
    frozen.host.stuck = {min(moved)}
    frozen.loop.pause(10)
    cluster.run(20)
    assert {number for _, what, number in frozen.host.told if what == "give up"} == moved
    assert set(frozen.host.serving) == share(frozen), "it has come back"


def test_a_node_comes_back_although_its_first_try_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster, nodes = three_nodes()
    directory = nodes[0].membership._directory
    announce, broken = directory.announce, [True]

    async def breaks_once(node: ClusterNode, incarnation: str) -> None:
        if broken:
            broken.clear()
            raise ValueError("a bug")
        await announce(node, incarnation)

    monkeypatch.setattr(directory, "announce", breaks_once)
    nodes[0].loop.pause(10)
    cluster.run(20)
    assert not broken
    assert set(nodes[0].host.serving) == share(nodes[0])


def test_an_answer_that_was_read_after_a_freeze_gives_no_lease() -> None:
    cluster, nodes = three_nodes()
    cluster.outage(Outage.SILENT)
    cluster.run_until(lambda: nodes[0].host.is_suspended, within_s=LEASE_S)
    moved = set(nodes[0].host.serving)

    def freeze(node_id: int, method: str) -> None:
        if (node_id, method) == (1, "renew"):
            nodes[0].loop.pause(10)

    cluster.state.arrived = freeze
    cluster.outage(None)
    cluster.run(9)
    cluster.state.arrived = lambda node_id, method: None
    cluster.run(5)
    resumed = nodes[0].host.times("resume")
    assert len(resumed) == 1 and nodes[0].host.times("give up")[-1] < resumed[0]
    assert {number for _, what, number in nodes[0].host.told if what == "give up"} == moved


@pytest.mark.parametrize("freeze_s", [0.5, 1.5, 2.2])
def test_a_short_freeze_costs_nothing(freeze_s: float) -> None:
    cluster, nodes = three_nodes()
    before = cluster.state.owned()
    nodes[0].loop.pause(freeze_s)
    cluster.run(10)
    assert cluster.state.owned() == before and is_balanced(cluster)


def test_a_frozen_node_that_goes_on_before_another_run_of_it_has_ended_stays_away() -> None:
    cluster, nodes = three_nodes()
    nodes[0].loop.pause(10)
    cluster.run(1)
    (replacement,) = cluster.start(1)
    cluster.run(20)
    assert not nodes[0].host.serving
    assert replacement.answers == share(replacement)
    replacement.do(replacement.stop())
    cluster.run(10)
    assert nodes[0].answers == share(nodes[0]), "the id is free again"


# -- the store is away ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outage", list(Outage))
@pytest.mark.parametrize("away_s", [0.7, 1.4, 1.9, 2.4, 2.6, 3.0, 3.5, 60.0])
def test_a_store_that_was_away_for_all_costs_no_take_over(outage: Outage, away_s: float) -> None:
    cluster, nodes = three_nodes()
    before = cluster.state.owned()
    for number, each in enumerate(nodes):
        each.host.told.clear()
        cluster.run(0.17 * number)  # renewals and the outage meet at other moments
    cluster.outage(outage)
    cluster.run(away_s)
    may_answer = [each.membership.lease.holds() for each in nodes]
    assert away_s < 2.5 or may_answer == [False] * 3
    cluster.outage(None)
    cluster.run(10)
    assert cluster.state.owned() == before and is_balanced(cluster)
    for each in nodes:
        assert not each.host.times("give up") and not each.host.times("take")
        lost = 1 if away_s > 2.5 else 0 if away_s < 2.0 else each.membership.counters.lease_losses
        assert len(each.host.times("suspend")) == len(each.host.times("resume")) == lost
        assert each.membership.counters.lease_losses == lost


def test_a_renewal_that_brings_an_old_entry_of_the_node_itself_moves_nothing() -> None:
    cluster, nodes = three_nodes()
    cluster.state.reads_before_renewals = True
    before = cluster.state.owned()
    cluster.outage(Outage.REFUSED)
    cluster.run(10)
    cluster.outage(None)
    cluster.run(10)
    assert cluster.state.owned() == before and handed_over(nodes) == 0


@pytest.mark.parametrize("outage", [Outage.REFUSED, Outage.SILENT])
def test_a_node_that_alone_is_cut_off_from_the_store_loses_its_partitions(outage: Outage) -> None:
    cluster, nodes = three_nodes()
    moved = set(nodes[0].answers)
    cluster.outage(outage, 1)
    lost_s = cluster.run_until(lambda: nodes[0].host.is_suspended, within_s=LEASE_S)
    assert lost_s > LEASE_S - 1.1 and not nodes[0].answers
    cluster.run_until(cluster.all_served, within_s=1.5)
    assert moved <= nodes[1].answers | nodes[2].answers
    cluster.run(30)
    cluster.outage(None, 1)
    cluster.run_until(lambda: is_balanced(cluster), within_s=10.0)
    assert {number for _, what, number in nodes[0].host.told if what == "give up"} == moved
    assert not nodes[0].host.is_suspended


@pytest.mark.parametrize("method", ["claim", "release"])
def test_a_partition_whose_claim_or_release_got_no_answer_is_served_all_the_same(method: str) -> None:
    cluster = MembershipWorld(settings=NO_DELAY)
    cluster.state.lost_answers |= {(1, method), (2, method), (3, method)}
    cluster.start(1)
    cluster.run(1)
    cluster.start(2, 3)
    cluster.run_until(lambda: is_balanced(cluster), within_s=20)
    assert (1, method) not in cluster.state.lost_answers, "the case has happened"


def test_a_release_that_was_refused_is_tried_again() -> None:
    cluster = MembershipWorld(settings=NO_DELAY)
    (first,) = cluster.start(1)
    cluster.run_until(cluster.all_served, within_s=1.0)
    first.host.drain_s = 0.3
    cluster.start(2)
    cluster.run_until(lambda: bool(first.host.times("drain")), within_s=2.0)
    cluster.outage(Outage.REFUSED, 1)
    cluster.run(0.6)
    cluster.outage(None, 1)
    cluster.run_until(lambda: is_balanced(cluster), within_s=10)


def test_a_start_without_a_store_fails_after_two_leases() -> None:
    cluster = MembershipWorld()
    cluster.outage(Outage.REFUSED, 1)
    (node,) = cluster.start(1)
    cluster.run(2 * LEASE_S - 1)
    assert not node.errors
    cluster.run(2)
    assert [str(each) for each in node.errors] == ["the store refuses connections; start it"]


# -- nodes that leave ----------------------------------------------------------------------------------------------


def test_a_node_that_leaves_hands_its_partitions_over_one_after_the_other() -> None:
    cluster, nodes = three_nodes()
    cluster.most_unserved = 0
    nodes[0].do(nodes[0].stop())
    cluster.run_until(lambda: nodes[0].is_gone, within_s=3.0)
    cluster.run_until(cluster.all_served, within_s=0.2)
    assert cluster.most_unserved <= 2, "one that is drained, and the one before it that is still being loaded"
    assert not nodes[0].host.times("give up")
    assert cluster.state.nodes.keys() == {2, 3}


def test_a_node_that_is_alone_releases_all_and_leaves() -> None:
    cluster = MembershipWorld()
    (node,) = cluster.start(1)
    cluster.run_until(cluster.all_served, within_s=1.0)
    node.do(node.stop())
    assert cluster.run_until(lambda: node.is_gone, within_s=1.0) < 1.0
    assert {each.node for each in cluster.state.owned().values()} == {NO_NODE}
    assert not cluster.state.nodes and len(node.host.times("drain")) == PARTITIONS


def test_a_node_that_leaves_while_it_loads_frees_what_it_has_claimed() -> None:
    cluster = MembershipWorld()
    (node,) = cluster.start(1)
    node.host.load_s = 60.0
    cluster.run(1)
    node.do(node.stop())
    cluster.run_until(lambda: node.is_gone, within_s=1.0)
    cluster.start(2)
    cluster.run_until(cluster.all_served, within_s=1.0)


def test_a_membership_that_is_closed_takes_nothing_any_more() -> None:
    cluster = MembershipWorld()
    (node,) = cluster.start(1)
    node.host.load_s = 0.5
    cluster.run(0.3)
    closing = node.do(node.membership.close())
    cluster.run(0.1)
    assert closing.done() and not node.host.serving
    claims = node.membership.counters.claims
    cluster.run(5)
    assert node.membership.counters.claims == claims and not node.host.serving
    assert node.membership.incarnation in {each.incarnation for each in cluster.state.nodes.values()}


@pytest.mark.parametrize("outage", [Outage.REFUSED, Outage.SILENT])
def test_a_node_leaves_although_the_store_is_away(outage: Outage) -> None:
    cluster, nodes = three_nodes()
    cluster.outage(outage)
    nodes[0].do(nodes[0].stop())
    cluster.run_until(lambda: nodes[0].is_gone, within_s=3 * LEASE_S)
    assert not nodes[0].host.serving
    cluster.outage(None)
    cluster.run_until(cluster.all_served, within_s=2 * LEASE_S + 1)


def test_a_partition_that_cannot_be_drained_is_given_up_when_the_node_leaves() -> None:
    cluster, nodes = three_nodes()
    nodes[0].host.drain_s = 1000.0
    held = len(nodes[0].answers)
    nodes[0].do(nodes[0].stop())
    cluster.run_until(lambda: nodes[0].is_gone, within_s=(held + 1) * LEASE_S)
    assert len(nodes[0].host.times("give up")) == held
    cluster.run_until(cluster.all_served, within_s=1.0)


def test_a_draining_node_that_is_killed_is_taken_over() -> None:
    cluster, nodes = three_nodes()
    nodes[0].host.drain_s = 1000.0
    nodes[0].do(nodes[0].stop())
    cluster.run(1)
    assert cluster.state.nodes[1].state is NodeState.DRAINING
    nodes[0].kill()
    cluster.run_until(cluster.all_served, within_s=LEASE_S + 1)


# -- errors --------------------------------------------------------------------------------------------------------


def test_a_partition_that_cannot_be_loaded_is_released_and_tried_again_with_longer_pauses() -> None:
    cluster = MembershipWorld()
    (node,) = cluster.start(1)
    node.host.broken = {3}
    cluster.run(60)
    tries = node.host.times("take", 3)
    pauses = [later - sooner for sooner, later in pairwise(tries)]
    assert pauses[0] < 1.0 and pauses[-1] > 9.0
    assert {partition for partition, ids in cluster.served().items() if not ids} == {3}
    node.host.broken.clear()
    cluster.run_until(cluster.all_served, within_s=11.0)


def test_a_fenced_partition_is_given_up_at_once_and_claimed_anew_if_it_is_still_this_node_s() -> None:
    cluster, nodes = three_nodes()
    partition, epoch = next(iter(nodes[0].host.serving.items()))
    nodes[0].loop.run(lambda: nodes[0].membership.fenced(partition))
    assert partition not in nodes[0].host.serving
    cluster.run_until(lambda: partition in nodes[0].host.serving, within_s=1.0)
    assert nodes[0].host.serving[partition] > epoch


def test_a_node_whose_claim_was_taken_by_another_gives_the_partition_up() -> None:
    cluster, nodes = three_nodes(SETTINGS)
    partition, epoch = next(iter(nodes[0].host.serving.items()))
    stolen = (
        cluster.state.map()
        .owners[partition]
        ._replace(epoch=epoch + 1, node=2, incarnation=nodes[1].membership.incarnation)
    )
    cluster.state._partitions[partition].owned = stolen
    cluster.run_until(lambda: partition not in nodes[0].host.serving, within_s=1.0)
    assert nodes[0].host.times("give up", partition)


def test_two_nodes_that_declare_each_other_dead_come_back_and_serve_each_partition_once() -> None:
    cluster = MembershipWorld(settings=NO_DELAY)
    nodes = cluster.start(1, 2)
    cluster.run_until(lambda: is_balanced(cluster), within_s=10)
    incarnations = {each.membership.incarnation for each in nodes}
    cluster.allows_two = True  # the proof is false here: it says that a process has ended which has not
    cluster.state.ended |= incarnations
    for each in nodes:
        cluster.network.close((each.host_name, 9092))
    cluster.network.reset()
    cluster.run(1)
    assert incarnations.isdisjoint(each.membership.incarnation for each in nodes), "both were declared dead"
    cluster.allows_two = False
    for each in nodes:
        each.listen()
    cluster.run_until(lambda: is_balanced(cluster), within_s=10)


# -- chance --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_no_two_nodes_answer_for_a_partition_whatever_happens(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Kills, freezes, outages and stops at random; the check runs after each event of the world."""
    cluster = MembershipWorld(seed, SETTINGS._replace(rebalance_delay_ms=2000))
    chance = random.Random(seed)
    cluster.start(1, 2, 3)
    for _ in range(25):
        cluster.run(chance.choice((0.05, 0.4, 1.5, 4.0)) * chance.random())
        let_something_happen(cluster, chance)
        gone = sorted({1, 2, 3} - {each.me.id for each in cluster.nodes if each.is_alive})
        if gone and chance.random() < 0.5:
            cluster.start(chance.choice(gone))
    cluster.outage(None)
    cluster.state.lost_answers.clear()
    cluster.run(10)
    if not any(each.is_alive for each in cluster.nodes):
        cluster.start(1)
    cluster.run(30)
    assert is_balanced(cluster), cluster.served()
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


def let_something_happen(cluster: MembershipWorld, chance: random.Random) -> None:
    alive = [each for each in cluster.nodes if each.is_alive]
    if not alive:
        return
    node = chance.choice(alive)
    act = chance.choice(ACTS)
    if act == "kill":
        node.kill(proof=chance.random() < 0.5)
    elif act == "freeze":
        node.loop.pause(chance.choice((0.3, 2.4, 2.8, 3.2, 8.0)))
    elif act.startswith("outage"):
        cluster.outage(chance.choice(list(Outage)), *((node.me.id,) if act == "outage" else ()))
    elif act == "stop" and not node.is_stopping:
        node.do(node.stop())
    elif act == "lost answer":
        method = chance.choice(("claim", "release", "announce", "expire", "drain", "leave"))
        cluster.state.lost_answers.add((node.me.id, method))
    elif act == "fenced":
        node.loop.run(lambda: node.membership.fenced(chance.randrange(PARTITIONS)))
    elif act == "store":
        cluster.outage(None)
