"""Each rebalance record says which partitions moved, who lost and gained them, and how long they had no owner."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest

from coordinator.core.events.model import NAMED_AT_MOST, Rebalance, RebalanceOutcome
from coordinator.core.group.member import Member as CoreMember
from coordinator.core.group.member import Protocols
from coordinator.core.group.ownership import HELD, FormerOwners, OwnerChanges, changes, count_partitions
from coordinator.core.group.read_twice import ReadTwice
from coordinator.core.shard import Shard
from protocol.consumer import Assignment, Subscription, TopicPartitions, encode_assignment, encode_subscription
from protocol.errors import DecodeError
from tests.support.cluster import Cluster
from tests.support.scripted_member import Member

UNKNOWN = (-1, -1, -1, [])
EAGER = (("range", encode_subscription(Subscription(topics=["t"]), 0)),)


def given(*partitions: int, topic: str = "t") -> bytes:
    return encode_assignment(Assignment(assigned_partitions=[TopicPartitions(topic, list(partitions))]), 0)


def cooperative(*owned: int, topics: Sequence[str] = ("t",)) -> tuple[tuple[str, bytes], ...]:
    listed = [TopicPartitions("t", list(owned))]
    return (("range", encode_subscription(Subscription(topics=list(topics), owned_partitions=listed), 1)),)


def settle(members: Sequence[Member], assignments: Iterable[bytes]) -> Rebalance:
    """All sync, and the leader assigns."""
    for member in members:
        member.take_id()
    plan = {member.member_id: data for member, data in zip(members, assignments, strict=True)}
    leader = next(member for member in members if member.is_leader)
    for member in members:
        member.sync(plan if member is leader else None)
    cluster = leader.cluster
    while cluster.core.has_work and not cluster.holds_work:
        cluster.step()
    return cluster.rebalances[-1]


def group_of(cluster: Cluster, *assignments: bytes, **identity: object) -> list[Member]:
    """A Stable group with these assignments, the leader first."""
    members = cluster.stable_group(members=len(assignments), **identity)
    for member in members:
        member.join()
    settle(members, assignments)
    return members


def counts(event: Rebalance) -> tuple[int, int, int, list[tuple[str, int, int]]]:
    shares = [(share.member.member_id[-2:], share.lost, share.gained) for share in event.shares]
    return event.partitions, event.partitions_moved, event.unowned_partition_ms, shares


def ends(*members: Member) -> list[str]:
    return [member.member_id[-2:] for member in members]


def test_first_assignments_are_gained_and_not_moved(cluster: Cluster) -> None:
    a, b = cluster.member(), cluster.member()
    for member in (a, b):
        member.join()
    cluster.advance("6s")  # the initial delay, twice
    event = settle([a, b], [given(0, 1, 2), given(3)])
    first, second = ends(a, b)
    assert counts(event) == (4, 0, 0, [(first, 0, 3), (second, 0, 1)])
    assert cluster.group().former_owners is None


def test_eager_member_gives_up_all_when_it_rejoins(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0, 1), given(2, 3))
    a.join()
    cluster.advance("2s")
    b.join()
    cluster.advance("1s")
    event = settle([a, b], [given(0, 1), given(2, 3)])
    assert counts(event) == (4, 0, 2 * 3_000 + 2 * 1_000, [])


def test_partition_that_moves_has_no_owner_from_its_former_owners_join_to_the_durable_assignment(
    cluster: Cluster,
) -> None:
    a, b = group_of(cluster, given(0, 1, 2), given(3))
    b.join(protocols=(("range", b"\0\0\0\0\0\1\0\1t\0\0\0\1u"),))
    cluster.advance("1s")
    a.join()
    with cluster.log_held():
        settle([a, b], [given(0), given(1, 2, 3)])
        cluster.advance("500ms")
    first, second = ends(a, b)
    unowned = 3 * 500 + 1_500
    assert counts(cluster.rebalances[-1]) == (4, 2, unowned, [(first, 2, 0), (second, 0, 2)])


def test_member_that_joins_takes_partitions_from_others(cluster: Cluster) -> None:
    (a,) = group_of(cluster, given(0, 1))
    b = cluster.member()
    b.join()
    cluster.advance("2s")
    a.join()
    event = settle([a, b], [given(0), given(1)])
    assert counts(event) == (2, 1, 0, [(ends(a)[0], 1, 0), (ends(b)[0], 0, 1)])


def test_cooperative_member_keeps_what_it_lists(cluster: Cluster) -> None:
    """First round: the partition that moves is given to no member. Second round: its former owner has revoked it."""
    (a,) = group_of(cluster, given(0, 1, 2), protocols=cooperative())
    b = cluster.member(protocols=cooperative())
    b.join()
    cluster.advance("2s")
    a.join(protocols=cooperative(0, 1, 2))
    cluster.advance("1s")
    first_round = settle([a, b], [given(0, 1), given()])
    assert counts(first_round) == (2, 0, 0, [(ends(a)[0], 1, 0)])
    cluster.advance("700ms")
    a.join(protocols=cooperative(0, 1))  # it has revoked one
    cluster.advance("300ms")
    b.join()
    cluster.advance("100ms")
    second_round = settle([a, b], [given(0, 1), given(2)])
    assert counts(second_round) == (3, 1, 400, [(ends(b)[0], 0, 1)])
    assert cluster.group().former_owners is None


def test_partition_that_stays_without_owner_is_counted_when_it_is_given_again(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1), protocols=cooperative(0))
    b.leave()
    cluster.advance("1s")
    a.join(protocols=cooperative(0))
    first_round = settle([a], [given(0)])
    assert counts(first_round) == (1, 0, 0, [(ends(b)[0], 1, 0)])
    cluster.advance("5s", heartbeating=[a])
    a.join(protocols=cooperative(0))
    event = settle([a], [given(0, 1)])
    assert counts(event) == (2, 1, 6_000, [(ends(a)[0], 0, 1)])


def test_partition_of_a_topic_that_is_no_longer_subscribed_is_forgotten(cluster: Cluster) -> None:
    (a,) = group_of(cluster, given(0, topic="u"), protocols=cooperative(topics=("t", "u")))
    a.join(protocols=cooperative())
    settle([a], [given(0)])
    assert cluster.group().former_owners is None


def test_cooperative_member_that_revokes_later_gives_up_later(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0, 1), given(2), protocols=cooperative())
    a.join(protocols=cooperative(0, 1))
    cluster.advance("1s")
    b.join(protocols=cooperative(2))
    cluster.advance("1s")
    a.join(protocols=cooperative(0))  # interrupts
    cluster.advance("1s")
    b.join()
    event = settle([a, b], [given(0), given(1, 2)])
    assert counts(event)[:3] == (3, 1, 1_000)


def test_members_that_leave_give_up_all_when_they_leave(cluster: Cluster) -> None:
    a, b, c = group_of(cluster, given(0), given(1, 2), given(3))
    cluster.leave("g", b.member_id, c.member_id)
    cluster.advance("4s")
    a.join()
    event = settle([a], [given(0, 1, 2, 3)])
    assert counts(event) == (4, 3, 3 * 4_000, [(ends(a)[0], 0, 3), (ends(b)[0], 2, 0), (ends(c)[0], 1, 0)])


def test_member_that_expires_gives_up_all_when_it_is_removed(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1, 2))
    cluster.advance("10s", heartbeating=[a])
    cluster.advance("1s")
    a.join()
    event = settle([a], [given(0, 1, 2)])
    assert counts(event) == (3, 2, 2 * 1_000, [(ends(a)[0], 0, 2), (ends(b)[0], 2, 0)])


def test_member_that_does_not_rejoin_owns_until_it_is_dropped(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1))
    a.join()
    cluster.advance("60s", heartbeating=[b])
    cluster.advance("2s")
    event = settle([a], [given(0, 1)])
    assert counts(event) == (2, 1, 62_000 + 2_000, [(ends(a)[0], 0, 1), (ends(b)[0], 1, 0)])


def test_interrupted_rebalances_are_counted_by_the_one_that_ends(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1))
    a.join()
    b.join()  # both have their JoinGroup answers, and no assignments
    cluster.advance("1s")
    c = cluster.member()
    c.join()
    interrupted = cluster.rebalances[-1]
    assert interrupted.outcome is RebalanceOutcome.INTERRUPTED
    assert counts(interrupted) == (-1, 0, 0, [])
    cluster.advance("1s")
    a.join()
    b.join()
    event = settle([a, b, c], [given(0), given(), given(1)])
    assert counts(event) == (2, 1, 2 * 2_000, [(ends(b)[0], 1, 0), (ends(c)[0], 0, 1)])


def test_member_removed_during_an_interrupted_rebalance_is_counted(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1))
    a.join()
    b.join()
    cluster.advance("1s")
    b.leave()
    cluster.advance("1s")
    a.join()
    event = settle([a], [given(0, 1)])
    assert counts(event) == (2, 1, 2 * 2_000, [(ends(a)[0], 0, 1), (ends(b)[0], 1, 0)])


def test_next_run_of_a_static_member_is_the_same_owner(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1), instance_ids=["S0", "S1"])
    b.leave()
    cluster.advance("3s")
    again = cluster.member(instance_id="S1")
    again.join()
    cluster.advance("1s")
    a.join()
    event = settle([a, again], [given(0), given(1)])
    assert counts(event) == (2, 0, 4_000, [])


def test_static_member_that_is_replaced_during_a_rebalance_is_the_same_owner(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1), instance_ids=["S0", "S1"])
    a.join()
    cluster.advance("1s")
    again = cluster.member(instance_id="S1")
    again.join()
    cluster.advance("1s")
    event = settle([a, again], [given(0), given(1)])
    assert counts(event) == (2, 0, 2_000 + 1_000, [])
    assert b.member_id not in cluster.group().members


def test_static_member_that_does_not_rejoin_owns_all_the_time(cluster: Cluster) -> None:
    a, b = group_of(cluster, given(0), given(1), instance_ids=[None, "S1"], session_timeout="120s")
    a.join()
    cluster.advance("60s")
    plan = {a.member_id: given(0), b.member_id: given(1)}
    a.sync(plan)
    assert counts(cluster.rebalances[-1]) == (2, 0, 60_000, [])


def test_group_that_becomes_empty_has_no_partitions_and_keeps_nothing(cluster: Cluster) -> None:
    (a,) = group_of(cluster, given(0, 1))
    a.leave()
    assert counts(cluster.rebalances[-1]) == (0, 0, 0, [(ends(a)[0], 2, 0)])
    assert cluster.group().former_owners is None


def test_members_with_the_largest_numbers_are_named(cluster: Cluster) -> None:
    plan = [given(*range(10 * number, 10 * number + number % 10 + 1)) for number in range(20)]
    members = group_of(cluster, *[given()] * 20)
    for member in members:
        member.join()
    event = settle(members, plan)
    assert [share.gained for share in event.shares] == [10, 10, 9, 9, 8, 8, 7, 7, 6, 6][:NAMED_AT_MOST]


@pytest.mark.parametrize("data", [b"\0", b"\0\0\0\0\0\1", b"\xff\xff", b"\0\0\0\0\0\1\0\1t\0\0\0\2\0\0\0\0", b"for me"])
@pytest.mark.parametrize("when", ["before", "after", "both"])
def test_undecodable_assignments_leave_the_fields_unknown(cluster: Cluster, data: bytes, when: str) -> None:
    (a,) = group_of(cluster, data if when != "after" else given(0))
    a.join()
    event = settle([a], [data if when != "before" else given(0)])
    assert counts(event) == UNKNOWN


def test_groups_of_other_protocol_types_leave_the_fields_unknown(cluster: Cluster) -> None:
    (a,) = group_of(cluster, given(0), protocol_type="connect")
    a.join()
    assert counts(settle([a], [given(1)])) == UNKNOWN
    assert cluster.group().former_owners is None


def test_subscription_without_the_fields_of_its_version_owns_nothing(cluster: Cluster) -> None:
    (a,) = group_of(cluster, given(0), protocols=(("range", b"\0\1\0\0\0\1\0\1t\xff\xff\xff\xff"),))
    a.join()
    cluster.advance("1s")
    assert counts(settle([a], [given(0)])) == (1, 0, 1_000, [])


def large(partitions: int, first: int = 0) -> bytes:
    return given(*range(first, first + partitions))


@pytest.mark.parametrize(
    ("assignments", "is_known"),
    [
        ([large(16_000, 16_000 * number) for number in range(6)], True),
        ([large(16_000, 16_000 * number) for number in range(7)], False),  # more than 100,000 partitions
        ([large(16_500)], False),  # more than 64 KiB of one member
        ([encode_assignment(Assignment([TopicPartitions(f"t{n}", [0]) for n in range(2_000)]), 0)], True),
        ([encode_assignment(Assignment([TopicPartitions(f"t{n}", [0]) for n in range(2_001)]), 0)], False),
    ],
)
def test_more_than_a_limit_leaves_the_fields_unknown(
    cluster: Cluster, assignments: list[bytes], is_known: bool
) -> None:
    members = group_of(cluster, *[given()] * len(assignments))
    for member in members:
        member.join()
    event = settle(members, assignments)
    assert event.generation == members[0].generation
    assert (counts(event) != UNKNOWN) is is_known


# -- one rebalance of members that are made up -------------------------------------------------------------------------

Sent = tuple[int, Protocols]


def outcome(
    members: dict[str, tuple[bytes, list[Sent], bytes | None]], topics: frozenset[str] | None = None
) -> tuple[OwnerChanges | None, int]:
    """The changes at 100 ms, and the number of steps. Of each member: before, its JoinGroups, after (None: removed)."""
    former = FormerOwners()
    stay = []
    for name, (before, joins, after) in members.items():
        member = CoreMember(name, None, "client", "/h", 1, 1, "consumer", (), before)
        for at_ms, protocols in joins:
            member.protocols = protocols
            former.joined(member, at_ms)
        former.keep({name: member})
        if after is None:
            former.removed(member, 50)
        else:
            stay.append(member)
    given_to = {name: after for name, (_, _, after) in members.items() if after is not None}
    read_twice = ReadTwice("g", Shard(0, {}, {}), lambda *_: -1, 0)
    counting = changes(former, former.take(), stay, given_to, "range", topics, 100, read_twice, 10_000)
    steps = 1
    while True:
        try:
            next(counting)
        except StopIteration as end:
            return end.value, steps
        steps += 1


def test_assignments_of_more_bytes_than_a_limit_are_not_counted() -> None:
    data = encode_assignment(Assignment([TopicPartitions("t", [0])], b"x" * 20_000), 0)
    for number, is_known in ((500, True), (1_000, False)):
        found, _ = outcome({f"m{n}": (data, [(0, EAGER)], data) for n in range(number)})
        assert (found is not None) is is_known


def test_1000_members_with_100_partitions_each_are_counted_in_many_steps() -> None:
    """The loop must not be held for 20 ms: each step handles some thousands of partitions."""
    parts = [large(100, 100 * number) for number in range(1_000)]
    found, steps = outcome({f"m{n}": (parts[n], [(0, EAGER)], parts[n - 1]) for n in range(1_000)})
    assert found is not None and (found.partitions, found.moved, found.unowned_ms) == (100_000, 100_000, 10_000_000)
    assert steps > 40


def test_partitions_without_owner_are_carried_up_to_a_limit() -> None:
    for number, carried in ((10_000, 1), (10_001, 0)):
        found, _ = outcome({"a": (large(number), [(0, EAGER)], None)})
        assert found is not None and len(found.carried) == carried
    found, _ = outcome({"a": (large(3), [(0, EAGER)], None)}, frozenset({"u"}))
    assert found is not None and found.carried == []


@pytest.mark.parametrize("seed", range(60))
def test_random_rebalances_agree_with_a_count_of_each_partition(seed: int) -> None:
    chance = random.Random(seed)
    size, count = chance.randint(1, 40), chance.randint(1, 6)
    names = [f"m{number}" for number in range(count)]
    before = {p: chance.choice([*names, ""]) for p in range(size)}
    removed = {name for name in names if chance.random() < 0.2}
    after = {p: chance.choice([*(set(names) - removed), "", before[p]]) for p in range(size)}
    after = {p: "" if name in removed else name for p, name in after.items()}
    joins: dict[str, list[tuple[int, set[int] | None]]] = {}
    for name in names:
        owned = {p for p in before if before[p] == name}
        joins[name] = []
        for at_ms in sorted(chance.sample(range(50), chance.randint(0, 1 if name in removed else 2))):
            owned = {p for p in owned if chance.random() < 0.7}
            joins[name].append((at_ms, owned if chance.random() < 0.8 else None))

    def since(p: int) -> int | None:
        name = before[p]
        for at_ms, owned in joins[name]:
            if owned is None or p not in owned:
                return at_ms
        return 50 if name in removed else None

    found, _ = outcome(
        {
            name: (
                given(*(p for p in before if before[p] == name)),
                [(at_ms, EAGER if owned is None else cooperative(*owned)) for at_ms, owned in joins[name]],
                None if name in removed else given(*(p for p in after if after[p] == name)),
            )
            for name in names
        }
    )
    assert found is not None
    assert found.partitions == sum(name != "" for name in after.values())
    assert found.moved == sum(before[p] != "" and after[p] not in ("", before[p]) for p in before)
    given_up = [since(p) for p in before if before[p] and after[p]]
    assert found.unowned_ms == sum(100 - at_ms for at_ms in given_up if at_ms is not None)
    assert {member.member_id: (lost, gained) for member, lost, gained in found.shares} == {
        name: numbers
        for name in names
        if (
            numbers := (
                sum(before[p] == name != after[p] for p in before),
                sum(after[p] == name != before[p] for p in before),
            )
        )
        != (0, 0)
    }
    carried = {p: (each.owner[0], each.since_ms) for each in found.carried for p in each.partitions["t"]}
    expected = {p: (before[p], since(p)) for p in before if before[p] and not after[p]}
    assert carried == {p: (name, HELD if at_ms is None else at_ms) for p, (name, at_ms) in expected.items()}


@pytest.mark.parametrize("seed", range(40))
def test_random_stories_of_eager_members_agree_with_a_diary(cluster: Cluster, seed: int) -> None:
    """Members come, leave and rejoin, and interrupt rebalances. The diary follows the owner of each partition."""
    chance = random.Random(seed)
    members = group_of(cluster, given(0, 1, 2), given(3, 4, 5), session_timeout="5m")
    owner = {p: members[p // 3].member_id for p in range(6)}
    given_up: dict[int, int] = {}

    def gives_up(member: Member) -> None:
        for p in owner:
            if owner[p] == member.member_id:
                given_up.setdefault(p, cluster.clock.now_ms)

    for _ in range(12):
        cluster.advance("1s")
        for _ in range(chance.randint(1, 3)):  # the last one leads to the assignment
            if len(members) < 5 and chance.random() < 0.4:
                members.append(cluster.member(session_timeout="5m"))
                members[-1].join()
            if len(members) > 2 and chance.random() < 0.4:
                gone = members.pop(chance.randrange(len(members)))
                gives_up(gone)
                gone.leave()
            if cluster.state() == "Stable":
                leader = next(member for member in members if member.member_id == cluster.group().leader_id)
                gives_up(leader)
                leader.join()
            for member in chance.sample(members, len(members)):
                if cluster.state() == "PreparingRebalance" and not member.is_waiting:
                    gives_up(member)
                    member.join()
                    cluster.advance(chance.choice([0, 300, 2_000]))
        assert cluster.state() == "CompletingRebalance"
        plan = {p: chance.choice(members) for p in range(6)}
        event = settle(members, [given(*(p for p in plan if plan[p] is member)) for member in members])
        assert event.outcome is RebalanceOutcome.STABLE
        assert event.partitions == 6
        assert event.partitions_moved == sum(owner[p] != plan[p].member_id for p in plan)
        assert event.unowned_partition_ms == sum(cluster.clock.now_ms - at_ms for at_ms in given_up.values())
        owner = {p: plan[p].member_id for p in plan}
        given_up.clear()
        assert cluster.group().former_owners is None


def test_large_group_is_counted_in_steps_after_the_answers(cluster: Cluster) -> None:
    members = group_of(cluster, *(given(*range(100 * number, 100 * number + 100)) for number in range(200)))
    for member in members:
        member.join()
    cluster.holds_work = True
    recorded = len(cluster.rebalances)
    settle(members, [given(*range(100 * number, 100 * number + 100)) for number in (*range(1, 200), 0)])
    assert cluster.state() == "Stable" and len(cluster.rebalances) == recorded
    # The next rebalance waits for it, so that the records keep their order and what is carried is not lost.
    (later,) = members[:1]
    later.join()
    cluster.advance("1s")
    for member in members[1:]:
        member.join()
    settle(members, [given(*range(100 * number, 100 * number + 100)) for number in (*range(1, 200), 0)])
    assert len(cluster.rebalances) == recorded
    steps = 0
    while cluster.core.has_work:
        cluster.step()
        steps += 1
    assert steps >= 4
    first, second = cluster.rebalances[recorded:]
    assert (first.partitions, first.partitions_moved, first.unowned_partition_ms) == (20_000, 20_000, 0)
    assert (second.partitions, second.partitions_moved, second.unowned_partition_ms) == (20_000, 0, 100 * 1_000)
    assert second.generation == first.generation + 1
    assert cluster.group().former_owners is None


def test_as_many_rebalances_wait_to_be_counted_as_allowed_and_one_more_is_recorded_at_once(
    cluster: Cluster,
) -> None:
    shares = [given(*range(100 * number, 100 * number + 100)) for number in range(200)]
    members = group_of(cluster, *shares)
    cluster.holds_work = True
    recorded = len(cluster.rebalances)

    def rebalance() -> int:
        for member in members:
            member.join()
        shares.append(shares.pop(0))  # all partitions move
        settle(members, shares)
        return len(cluster.rebalances) - recorded

    assert rebalance() == 0
    waiting = cluster.group().former_owners
    assert waiting is not None and waiting.counting == 1
    waiting.counting = cluster.config.group_max_uncounted_rebalances - 1
    assert [rebalance(), rebalance()] == [0, 1]
    last = cluster.rebalances[-1]
    assert (last.partitions_moved, last.unowned_partition_ms) == (-1, -1)
    while cluster.core.has_work:
        cluster.step()
    first, second = cluster.rebalances[recorded + 1 :]
    assert (first.partitions_moved, second.partitions_moved) == (20_000, 20_000)
    assert [first.generation, second.generation] == [last.generation - 2, last.generation - 1]
    assert cluster.rebalances[-1].partitions == 20_000


def test_partitions_are_counted_as_the_decoder_does() -> None:
    assert count_partitions(b"") == count_partitions(given()) == 0
    assert count_partitions(given(1, 2, 3)) == 3
    for data in (
        given(1, 2)[:-9],
        given(1, 2)[:5],
        b"\0",
        b"\0\0\0\0\0\1\xff\xff\0\0\0\0",
        b"\0\0\0\0\0\1\0\0\xff\0\0\0",
    ):
        with pytest.raises(DecodeError):
            count_partitions(data)


def test_members_that_never_owned_anything_are_forgotten_when_they_go(cluster: Cluster) -> None:
    """A leader that never assigns: the others come and go, and no rebalance ends."""
    (stays,) = cluster.stable_group(members=1)
    for _ in range(50):
        comes = cluster.member()
        comes.join()
        stays.join()
        comes.take_id()
        comes.leave()
    former_owners = cluster.group().former_owners
    assert former_owners is not None and len(former_owners.holdings) <= 2
