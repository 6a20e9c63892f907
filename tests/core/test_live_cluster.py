"""Rules of the living cluster: the wanted owner of a partition, what a node decides from a map, and who is told."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from coordinator.core.cluster import ClusterNode, StaticOwnership
from coordinator.core.live_cluster import (
    NEVER_OWNED,
    NO_NODE,
    ClusterMap,
    Decision,
    LiveNode,
    LiveOwnership,
    NodeState,
    OwnedPartition,
    decide,
    wanted_owner,
)

PARTITIONS = 16
UP, DRAINING, EXPIRED = NodeState.UP, NodeState.DRAINING, NodeState.EXPIRED

node_ids = st.sets(st.integers(1, 12), max_size=6)


def live(number: int, state: NodeState = UP, *, fresh: bool = True, run: str = "1") -> LiveNode:
    return LiveNode(ClusterNode(number, f"host-{number}", 9092), f"{number}.{run}", state, fresh)


def view(*nodes: LiveNode, owners: dict[int, OwnedPartition] | None = None) -> ClusterMap:
    return ClusterMap({each.node.id: each for each in nodes}, owners or {})


def owned(number: int, epoch: int = 1, run: str = "1") -> OwnedPartition:
    return OwnedPartition(epoch, number, f"{number}.{run}")


def decision(seen: ClusterMap, me: int, held: dict[int, int] | None = None, run: str = "1") -> Decision:
    return decide(seen, PARTITIONS, me, f"{me}.{run}", held or {})


NOTHING = Decision({}, (), {}, {}, ())
MINE = next(each for each in range(PARTITIONS) if wanted_owner(each, (1, 2)) == 1)  # of nodes 1 and 2
OTHERS = next(each for each in range(PARTITIONS) if wanted_owner(each, (1, 2)) == 2)


@st.composite
def maps(draw: st.DrawFn) -> ClusterMap:
    """Any map: owners may be nodes that never were, or earlier runs."""
    nodes = [
        live(number, draw(st.sampled_from(NodeState)), fresh=draw(st.booleans()), run=draw(st.sampled_from("12")))
        for number in sorted(draw(node_ids))
    ]
    claims = st.builds(owned, st.integers(1, 12), st.integers(1, 5), st.sampled_from("12"))
    owners = draw(st.dictionaries(st.integers(0, PARTITIONS - 1), st.one_of(claims, st.just(NEVER_OWNED))))
    return view(*nodes, owners=owners)


# -- the wanted owner ----------------------------------------------------------------------------------------------


@given(st.integers(0, 200), node_ids)
def test_each_partition_is_wanted_by_one_of_the_nodes(partition: int, ids: set[int]) -> None:
    wanted = wanted_owner(partition, ids)
    assert wanted in ids if ids else wanted == NO_NODE
    assert wanted == wanted_owner(partition, sorted(ids, reverse=True)), "the order of the nodes plays no part"


@given(st.integers(0, 200), node_ids, st.integers(1, 12))
def test_a_node_that_leaves_moves_its_own_partitions_only(partition: int, ids: set[int], gone: int) -> None:
    before = wanted_owner(partition, ids | {gone})
    assert before == gone or wanted_owner(partition, ids - {gone}) == before


@given(st.integers(0, 200), node_ids, st.integers(1, 12))
def test_a_node_that_comes_takes_partitions_and_moves_no_others(partition: int, ids: set[int], come: int) -> None:
    after = wanted_owner(partition, ids | {come})
    assert after in (come, wanted_owner(partition, ids))


def test_the_shares_are_about_equal() -> None:
    owners = [wanted_owner(each, (1, 2, 3)) for each in range(3000)]
    assert all(850 < owners.count(number) < 1150 for number in (1, 2, 3))


def test_the_wanted_owner_does_not_change_between_versions() -> None:
    """Nodes of two versions must agree during an upgrade."""
    assert [wanted_owner(each, (1, 2, 3)) for each in range(12)] == [1, 2, 2, 2, 2, 3, 3, 1, 3, 3, 2, 1]


# -- decisions -----------------------------------------------------------------------------------------------------


@given(maps())
def test_no_two_nodes_claim_the_same_partition_from_the_same_map(seen: ClusterMap) -> None:
    claims = [set(decide(seen, PARTITIONS, each.node.id, each.incarnation, {}).claim) for each in seen.nodes.values()]
    assert sum(map(len, claims)) == len(set().union(*claims))


@given(maps())
def test_every_free_partition_is_claimed_if_a_node_is_up(seen: ClusterMap) -> None:
    claimed: dict[int, int] = {}
    for each in seen.nodes.values():
        claimed |= decide(seen, PARTITIONS, each.node.id, each.incarnation, {}).claim
    free = {each for each in range(PARTITIONS) if seen.owner(each) is None}
    assert claimed.keys() == (free if any(each.is_up for each in seen.nodes.values()) else set())
    assert all(epoch == seen.owners.get(each, NEVER_OWNED).epoch for each, epoch in claimed.items())


@given(maps(), st.data())
def test_a_partition_is_in_one_part_of_a_decision(seen: ClusterMap, data: st.DataObject) -> None:
    held = data.draw(st.dictionaries(st.integers(0, PARTITIONS - 1), st.integers(1, 6)))
    made = decide(seen, PARTITIONS, 1, "1.1", held)
    parts = [*made.claim, *made.lost, *made.hand_over, *made.release]
    assert len(parts) == len(set(parts))
    assert {*made.lost, *made.hand_over} <= held.keys() and not {*made.claim, *made.release} & held.keys()
    assert all(seen.nodes[to].is_up and to != 1 for to in made.hand_over.values())


@given(maps(), st.data())
def test_a_node_that_acts_on_its_decisions_has_soon_nothing_to_do(seen: ClusterMap, data: st.DataObject) -> None:
    """All nodes that are up act in turns; then each partition is where it is wanted, after one move at most."""
    nodes = {number: each for number, each in seen.nodes.items() if each.is_up}
    seen = seen._replace(nodes=nodes)
    owners = dict(seen.owners)
    held: dict[int, dict[int, int]] = {number: {} for number in nodes}
    for _ in range(3):
        for number in data.draw(st.permutations(sorted(nodes))):
            made = decide(seen._replace(owners=owners), PARTITIONS, number, nodes[number].incarnation, held[number])
            for partition, epoch in {**made.release, **{each: held[number][each] for each in made.hand_over}}.items():
                owners[partition] = OwnedPartition(epoch, NO_NODE, "")
                held[number].pop(partition, None)
            for partition, epoch in made.claim.items():
                owners[partition] = OwnedPartition(epoch + 1, number, nodes[number].incarnation)
                held[number][partition] = epoch + 1
    now = seen._replace(owners=owners)
    for number, each in nodes.items():
        assert decide(now, PARTITIONS, number, each.incarnation, held[number]) == NOTHING
        assert held[number].keys() == {one for one in range(PARTITIONS) if wanted_owner(one, nodes) == number}


def test_without_nodes_there_is_nothing_to_do() -> None:
    assert decision(view(), 1) == NOTHING


def test_a_node_alone_claims_all() -> None:
    assert decision(view(live(1)), 1).claim == dict.fromkeys(range(PARTITIONS), 0)


def test_the_partitions_of_an_earlier_run_of_a_node_are_free() -> None:
    seen = view(live(1, run="2"), owners={3: owned(1, epoch=7, run="1")})
    assert seen.owner(3) is None
    assert decision(seen, 1, run="2").claim[3] == 7


def test_the_partitions_of_a_silent_node_are_not_free_until_it_is_expired() -> None:
    silent = view(live(1), live(2, fresh=False), owners={MINE: owned(2), OTHERS: owned(2)})
    made = decision(silent, 1)
    assert not {MINE, OTHERS} & made.claim.keys() and made.expire == (2,)
    expired = view(live(1), live(2, EXPIRED, fresh=False), owners={MINE: owned(2), OTHERS: owned(2)})
    made = decision(expired, 1)
    assert {MINE, OTHERS} <= made.claim.keys() and made.expire == ()


def test_a_node_does_not_declare_itself_dead() -> None:
    assert decision(view(live(1, fresh=False)), 1).expire == ()


def test_a_draining_node_claims_nothing_and_hands_all_over() -> None:
    seen = view(live(1, DRAINING), live(2), owners={MINE: owned(1), OTHERS: owned(1)})
    made = decision(seen, 1, {MINE: 1, OTHERS: 1})
    assert made == NOTHING._replace(hand_over={MINE: 2, OTHERS: 2})


def test_a_draining_node_that_is_alone_keeps_what_it_has() -> None:
    assert decision(view(live(1, DRAINING), owners={0: owned(1)}), 1, {0: 1}) == NOTHING


def test_a_partition_is_handed_over_only_to_a_node_that_is_up() -> None:
    owners = {OTHERS: owned(1)}
    assert decision(view(live(1), live(2), owners=owners), 1, {OTHERS: 1}).hand_over == {OTHERS: 2}
    for other in (live(2, fresh=False), live(2, DRAINING), live(2, EXPIRED)):
        assert decision(view(live(1), other, owners=owners), 1, {OTHERS: 1}).hand_over == {}


def test_a_claim_that_another_node_took_is_lost() -> None:
    seen = view(live(1), live(2), owners={MINE: owned(2, epoch=2)})
    assert decision(seen, 1, {MINE: 1}).lost == (MINE,)


def test_a_claim_that_was_released_is_lost() -> None:
    seen = view(live(1), owners={MINE: OwnedPartition(1, NO_NODE, "")})
    assert decision(seen, 1, {MINE: 1}).lost == (MINE,)


def test_a_map_that_is_older_than_a_claim_does_not_end_it() -> None:
    assert decision(view(live(1), owners={MINE: owned(2, epoch=1)}), 1, {MINE: 2}).lost == ()
    assert decision(view(live(1)), 1, {MINE: 1}).lost == ()


def test_a_node_that_was_declared_dead_or_replaced_has_lost_all() -> None:
    for mine in (live(1, EXPIRED), live(1, run="2"), live(3)):
        seen = view(mine, owners={MINE: owned(1)})
        made = decision(seen, 1, {MINE: 1, OTHERS: 4})
        assert made.lost == tuple(sorted((MINE, OTHERS)))
        assert not made.claim and not made.release, "it must announce itself first"


def test_a_claim_of_this_run_that_it_does_not_hold_is_released() -> None:
    """The answer to the claim, or to its release, was lost."""
    seen = view(live(1), live(2), owners={MINE: owned(1, epoch=4), OTHERS: owned(1, epoch=5)})
    made = decision(seen, 1)
    assert made.release == {MINE: 4, OTHERS: 5} and not made.release.keys() & made.claim.keys()


# -- ownership as others are told ----------------------------------------------------------------------------------


def ids(nodes: dict[int, ClusterNode]) -> list[int]:
    return list(nodes)


def test_nodes_are_those_that_were_heard_of_in_ascending_order() -> None:
    me = live(2).node
    nodes = {2: me}
    ownership = LiveOwnership(me, nodes)
    ownership.update(view(live(2), live(3)))
    assert ids(nodes) == [2, 3]
    ownership.update(view(live(5, DRAINING), live(2, fresh=False), live(1), live(4, EXPIRED), live(3, fresh=False)))
    assert ids(nodes) == [1, 2, 5], "this node is always one of them"
    assert ownership.controller == 1
    ownership.update(view(live(2)))
    assert ids(nodes) == [2] and ownership.controller == 2


def test_an_address_that_changed_is_taken_over_but_not_that_of_this_node() -> None:
    me = ClusterNode(1, "here", 1)
    nodes = {1: me}
    ownership = LiveOwnership(me, nodes)
    ownership.update(view(live(1), live(2)))
    moved = live(2)._replace(node=ClusterNode(2, "elsewhere", 9093))
    ownership.update(view(live(1), moved))
    assert nodes == {1: me, 2: moved.node}


def test_the_owner_is_the_node_whose_claim_holds_and_which_was_heard_of() -> None:
    me = live(1).node
    ownership = LiveOwnership(me, {1: me})
    assert ownership.owner_of_offsets_partition(0) == NO_NODE
    owners = {0: owned(1), 1: owned(2), 2: owned(3), 3: owned(4), 4: owned(2, run="0"), 5: owned(9)}
    ownership.update(
        view(live(1), live(2, DRAINING), live(3, fresh=False), live(4, EXPIRED), owners=owners),
    )
    assert [ownership.owner_of_offsets_partition(each) for each in range(6)] == [1, 2, *[NO_NODE] * 4]


def test_nodes_of_the_rule_for_topics_stay_and_lead_their_topics() -> None:
    configured = {number: live(number).node for number in (1, 2, 3)}
    nodes = dict(configured)
    ownership = LiveOwnership(configured[2], nodes, StaticOwnership(configured))
    ownership.update(view(live(2), live(3, EXPIRED), live(4)))
    assert ids(nodes) == [1, 2, 3, 4]
    assert ownership.controller == 1
    leaders = {ownership.owner_of_topic_partition("orders", each) for each in range(9)}
    assert leaders == {1, 2, 3} and leaders <= nodes.keys()


def test_a_node_leads_all_of_its_own_topics_without_a_rule() -> None:
    me = live(2).node
    ownership = LiveOwnership(me, {2: me})
    ownership.update(view(live(1), live(2)))
    assert ownership.owner_of_topic_partition("orders", 5) == 2


def test_the_transaction_log_has_the_numbers_behind_the_offsets_log() -> None:
    me = live(1).node
    ownership = LiveOwnership(me, {1: me}, first_transaction_partition=2)
    ownership.update(view(live(1), live(2), owners={0: owned(1), 2: owned(2), 3: owned(1)}))
    assert [ownership.owner_of_transaction_partition(each) for each in range(2)] == [2, 1]
    assert ownership.owner_of_offsets_partition(1) == NO_NODE
