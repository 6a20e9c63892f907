"""Members of both protocols in one group: upgrade, downgrade, and what classic members are answered (vectors 43-49)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from coordinator.config.config import Config
from protocol.consumer import (
    Assignment,
    Subscription,
    TopicPartitions,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from protocol.error_codes import ErrorCode
from tests.support.consumer_world import ConsumerWorld
from tests.support.scripted_member import Member

Owned = Mapping[str, list[int]]


def parts(owned: Owned) -> list[TopicPartitions]:
    return [TopicPartitions(topic, partitions) for topic, partitions in owned.items()]


def subscribed(*topics: str, owned: Owned | None = None, version: int = 1) -> tuple[tuple[str, bytes], ...]:
    subscription = Subscription(topics=list(topics), owned_partitions=parts(owned or {}))
    return (("range", encode_subscription(subscription, version)),)


def given(owned: Owned, user_data: bytes | None = None) -> bytes:
    return encode_assignment(Assignment(assigned_partitions=parts(owned), user_data=user_data), 1)


def told(call: Any) -> dict[str, list[int]]:
    """Return the assignment in the answer to a SyncGroup."""
    assert call.error is ErrorCode.NONE, call.answer
    return {each.topic: list(each.partitions) for each in decode_assignment(call.answer.assignment).assigned_partitions}


def classic_group(world: ConsumerWorld, shares: tuple[Owned, ...], **identity: Any) -> list[Member]:
    """Return the members of a Stable classic group, which are assigned these partitions."""
    members = [world.member(protocols=subscribed("t"), **identity) for _ in shares]
    for member in members:
        member.join()
    world.advance("3s")
    for member in members:
        while member.is_waiting:
            world.advance("1s")
        member.take_id()
    leader = next(member for member in members if member.is_leader)
    for member in members:
        if member is not leader:
            member.sync()
    leader.sync({member.member_id: given(share) for member, share in zip(members, shares, strict=True)})
    assert world.state() == "Stable"
    world.new_records()
    return members


def rejoin(member: Member, owned: Owned, *topics: str) -> dict[str, list[int]]:
    """Let a member revoke down to `owned`, join, and sync. Returns what it is assigned."""
    call = member.join(protocols=subscribed(*(topics or ("t",)), owned=owned))
    assert call.error is ErrorCode.NONE, call.answer
    assert (call.answer.leader, call.answer.members) == ("", [])
    return told(member.sync())


def upgraded() -> tuple[ConsumerWorld, Member, Member]:
    """Return the world of vector 43: A has joined the classic group of C1 and C2."""
    world = ConsumerWorld({"t": 4})
    one, two = classic_group(world, ({"t": [0, 1]}, {"t": [2, 3]}))
    assert one.generation == 1
    assert world.told(world.beat("A", 0, topics=["t"])) == (2, {})
    return world, one, two


def settled() -> tuple[ConsumerWorld, Member, Member]:
    """Return that world when all three have what they are to have."""
    world, one, two = upgraded()
    owned: dict[Member, dict[str, list[int]]] = {one: {"t": [0, 1]}, two: {"t": [2, 3]}}
    for _ in range(4):
        for member in (one, two):
            if member.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS:
                owned[member] = rejoin(member, owned[member])
    epoch, assignment = world.told(world.full("A", 2, ["t"], {}))
    assert assignment is not None
    world.full("A", epoch, ["t"], assignment)
    assert world.epochs[2] == "Stable"
    world.new_records()
    return world, one, two


# -- upgrade -------------------------------------------------------------------------------------------------------


def test_43_a_classic_group_is_upgraded_by_the_first_join_of_the_other_protocol() -> None:
    world, one, two = upgraded()
    assert world.new_records() == "2t 5 5 3 7 7 6 8 8 5 3 7 7 6 8"
    assert world.epochs == (2, 2, "Reconciling")
    assert world.assigned(one.member_id) == {"t": [0, 1]}
    assert one.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    kept = rejoin(one, {"t": [0, 1]})
    assert len(kept["t"]) + len(rejoin(two, {"t": [2, 3]})["t"]) == 3
    assert sorted(each.member_type for each in world.describe_consumer_group().members) == [0, 0, 1]


def test_the_subscription_type_is_looked_at_again_after_an_upgrade() -> None:
    world = ConsumerWorld({"t": 3})
    (one,) = classic_group(world, ({"t": [0, 1, 2]},), instance_id="k")
    world.beat("A", 0, topics=["t"], server_assignor="range")
    world.leave("g", one.member_id)
    world.member(protocols=subscribed(), instance_id="k").join()
    group = world.consumer_group()
    assert [list(target.values()) for target in group.targets.values() if target] == [[(0, 1, 2)]]


def test_all_members_have_their_share_when_each_has_rejoined() -> None:
    world, one, two = settled()
    shares = [world.assigned(each)["t"] for each in ("A", one.member_id, two.member_id)]
    assert sorted(each for share in shares for each in share) == [0, 1, 2, 3]
    assert one.heartbeat().error is ErrorCode.NONE


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_44_no_upgrade_by_policy(policy: str) -> None:
    world = ConsumerWorld({"t": 4}, config=Config(group_consumer_migration_policy=policy))
    one, _ = classic_group(world, ({"t": [0, 1]}, {"t": [2, 3]}))
    assert world.beat("A", 0, topics=["t"]).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert one.heartbeat().error is ErrorCode.NONE
    assert world.new_records() == ""


def test_45_no_upgrade_of_another_protocol_type() -> None:
    world = ConsumerWorld({"t": 4})
    classic_group(world, ({"t": [0, 1]},), protocol_type="connect")
    assert world.beat("A", 0, topics=["t"]).error is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.state() == "Stable"


@pytest.mark.parametrize("assignment", [given({"t": [0]}, b"sticky"), b"\0", b"\xff\xff\xff"])
def test_no_upgrade_if_an_assignment_would_be_lost_or_cannot_be_read(assignment: bytes) -> None:
    world = ConsumerWorld({"t": 4})
    (one,) = classic_group(world, ({"t": [0, 1]},))
    one.join()
    one.sync({one.member_id: assignment})
    world.new_records()
    call = world.beat("A", 0, topics=["t"])
    assert call.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert call.answer.error_message.startswith("Cannot upgrade the classic group g to consumer group: ")
    assert (world.state(), world.new_records()) == ("Stable", "")


def test_a_partition_of_two_members_stays_with_the_first_one() -> None:
    world = ConsumerWorld({"t": 4})
    one, two = classic_group(world, ({"t": [0, 1, 2]}, {"t": [1, 2, 3], "gone": [0]}))
    world.beat("A", 0, topics=["t"])
    assert (world.assigned(one.member_id), world.assigned(two.member_id)) == ({"t": [0, 1, 2]}, {"t": [3]})


def test_joins_that_wait_are_told_to_rejoin_and_find_the_new_group() -> None:
    world = ConsumerWorld({"t": 4})
    one, two = classic_group(world, ({"t": [0, 1]}, {"t": [2, 3]}))
    waiting = one.join(protocols=subscribed("t", "u"))
    assert waiting.is_parked
    assert world.told(world.beat("A", 0, topics=["t"]))[0] == 2
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert rejoin(one, {"t": [0, 1]}, "t", "u") == world.assigned(one.member_id)
    assert two.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_refused_upgrade_changes_nothing() -> None:
    world = ConsumerWorld({"t": 4}, config=Config(group_consumer_max_size=1))
    (one,) = classic_group(world, ({"t": [0, 1]},))
    assert world.beat("A", 0, topics=["t"]).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (world.state(), world.new_records()) == ("Stable", "")
    assert one.heartbeat().error is ErrorCode.NONE


def test_the_offsets_of_an_upgraded_group_stay() -> None:
    world = ConsumerWorld({"t": 4})
    (one,) = classic_group(world, ({"t": [0, 1]},))
    world.commit("g", {("t", 0): 5}, member_id=one.member_id, generation=1)
    with world.log_held():
        world.commit("g", {("t", 1): 7}, member_id=one.member_id, generation=1)
        world.beat("A", 0, topics=["t"])
        assert world.consumer_group().in_flight == 2
    assert world.committed("g") == {("t", 0): 5, ("t", 1): 7}
    assert world.consumer_group().in_flight == 0


@pytest.mark.parametrize("was_rebalancing", [False, True])
def test_a_failed_upgrade_leaves_the_classic_group(was_rebalancing: bool) -> None:
    world = ConsumerWorld({"t": 4})
    one, two = classic_group(world, ({"t": [0, 1]}, {"t": [2, 3]}))
    if was_rebalancing:
        one.join(protocols=subscribed("t", "u"))
    with world.log_held():
        call = world.beat("A", 0, topics=["t"])
        again = one.join(protocols=subscribed("t"))
        world.fail_appends()
    assert call.error is ErrorCode.NOT_COORDINATOR
    assert again.error is ErrorCode.NOT_COORDINATOR
    assert world.state() == ("PreparingRebalance" if was_rebalancing else "Stable")
    expected = ErrorCode.REBALANCE_IN_PROGRESS if was_rebalancing else ErrorCode.NONE
    assert two.heartbeat(1).error is expected
    assert not world.core.consumer_group_ids
    assert world.core.totals.members == 2
    world.advance("20s")
    assert world.state() == "Empty"


def test_a_crash_after_an_upgrade_keeps_sessions_of_their_own_length() -> None:
    world, one, two = upgraded()
    world.crash_and_recover()
    assert one.heartbeat(1).error is ErrorCode.REBALANCE_IN_PROGRESS
    world.advance("9s")
    assert set(world.consumer_group().members) == {"A", one.member_id, two.member_id}
    world.advance("2s")
    assert set(world.consumer_group().members) == {"A"}


# -- downgrade -----------------------------------------------------------------------------------------------------


def test_46_the_last_member_of_the_protocol_leaves_the_group_to_the_classic_ones() -> None:
    world, one, _ = settled()
    epoch = world.consumer_group().epoch
    world.beat("A", -1)
    assert world.new_records() == "8t 8t 8t 7t 7t 7t 6t 5t 5t 5t 3t 2"
    assert (world.group().generation, world.state()) == (epoch, "PreparingRebalance")
    assert one.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.describe_consumer_group().error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_downgraded_group_goes_on_as_a_classic_one() -> None:
    world, one, two = settled()
    world.beat("A", -1)
    for member in (one, two):
        member.join(protocols=subscribed("t"))
    leader = one if one.is_leader else two
    assert len(leader.last_join.answer.members) == 2
    for member in (one, two):
        if member is not leader:
            member.sync()
    leader.sync({one.member_id: given({"t": [0, 1]}), two.member_id: given({"t": [2, 3]})})
    assert world.state() == "Stable"
    assert one.heartbeat().error is ErrorCode.NONE
    world.crash_and_recover()
    assert world.state() == "Stable"


def test_the_session_of_the_last_member_ends_and_the_group_becomes_classic() -> None:
    world, one, two = settled()
    world.advance("46s", heartbeating=[one, two])
    assert world.state() == "PreparingRebalance"


def test_no_downgrade_by_policy_or_if_a_classic_member_goes() -> None:
    world = ConsumerWorld({"t": 4}, config=Config(group_consumer_migration_policy="upgrade"))
    (one,) = classic_group(world, ({"t": [0, 1]},))
    world.beat("A", 0, topics=["t"])
    world.beat("A", -1)
    assert world.epochs == (3, 2, "Assigning")
    assert world.leave("g", one.member_id).error is ErrorCode.NONE
    assert world.epochs == (4, 4, "Empty")


def test_a_failed_downgrade_leaves_the_group() -> None:
    world, one, _ = settled()
    before, generation = world.epochs, one.generation
    with world.log_held():
        call = world.beat("A", -1)
        waiting = one.join(protocols=subscribed("t"))
        assert waiting.is_parked
        world.fail_appends()
    assert call.error is ErrorCode.NOT_COORDINATOR
    assert waiting.error is not ErrorCode.NONE
    assert world.epochs == before
    assert one.heartbeat(generation).error is ErrorCode.NONE
    assert world.core.totals.members == 3
    assert not world.core.groups
    world.advance("11s")
    assert set(world.consumer_group().members) == {"A"}


def static_pair() -> tuple[ConsumerWorld, Member]:
    """Return a group of the static member `i`, of the consumer protocol, and a classic member that has its share."""
    world = ConsumerWorld({"t": 2})
    world.beat("S", 0, topics=["t"], instance_id="i")
    classic = world.member(protocols=subscribed("t"))
    classic.join()
    classic.sync()
    world.full("S", 2, ["t"], {"t": [0]}, instance_id="i")
    rejoin(classic, {})
    assert world.epochs[2] == "Stable"
    world.new_records()
    return world, classic


def test_a_static_member_that_comes_back_with_the_classic_protocol_makes_the_group_classic() -> None:
    world, classic = static_pair()
    back = world.member(protocols=subscribed("t"), instance_id="i")
    call = back.join()
    assert (call.error, call.answer.generation_id) == (ErrorCode.NONE, 3)
    assert world.new_records() == "8t 7t 5t 5 7 8 5 8 8t 8t 7t 7t 6t 5t 5t 3t 2"
    assert (world.state(), world.group().generation) == ("Stable", 3)
    assert told(back.sync()) == {"t": [0]}
    assert classic.heartbeat().error is ErrorCode.NONE


def test_it_begins_a_rebalance_if_it_subscribes_to_something_else() -> None:
    world, classic = static_pair()
    world.member(protocols=subscribed("t", "u"), instance_id="i").join()
    assert world.state() == "PreparingRebalance"
    assert classic.heartbeat(world.group().generation).error is ErrorCode.REBALANCE_IN_PROGRESS


# -- classic members -----------------------------------------------------------------------------------------------


def consumer_and_classic(**options: Any) -> tuple[ConsumerWorld, Member]:
    """Return the world of vector 47: C has joined the group of A."""
    world = ConsumerWorld({"t": 4}, **options)
    world.beat("A", 0, topics=["t"])
    world.new_records()
    return world, world.member(protocols=subscribed("t"))


def test_47_a_classic_client_gets_an_id_and_joins_at_once() -> None:
    world, _ = consumer_and_classic()
    first = world.join("g", "", protocols=subscribed("t"), version=9)
    assert first.error is ErrorCode.MEMBER_ID_REQUIRED
    assert world.new_records() == ""
    answer = world.join("g", first.answer.member_id, protocols=subscribed("t"), version=9).answer
    assert (answer.error_code, answer.generation_id, answer.protocol_type, answer.protocol_name) == (
        0,
        3,
        "consumer",
        "range",
    )
    assert (answer.leader, answer.members, answer.skip_assignment) == ("", [], False)
    assert world.new_records() == "5 3 7 7 6 8"


def test_48_sync_heartbeat_and_their_refusals() -> None:
    world, classic = consumer_and_classic()
    assert classic.join().error is ErrorCode.NONE
    assert told(classic.sync()) == {}
    assert classic.sync(generation=2).error is ErrorCode.ILLEGAL_GENERATION
    assert classic.sync(protocol_name="other").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.heartbeat("g", "A", 2).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.sync("g", "A", 2).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert classic.heartbeat().error is ErrorCode.NONE
    assert classic.heartbeat(2).error is ErrorCode.ILLEGAL_GENERATION
    epoch, _ = world.told(world.beat("A", 2))
    assert epoch == 2
    assert classic.heartbeat().error is ErrorCode.NONE
    assert world.told(world.beat("A", 2, owned={"t": [0, 1]})) == (3, None)
    assert classic.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    assert rejoin(classic, {}) == {"t": [2, 3]}


def test_49_a_member_that_is_told_to_rejoin_and_does_not_is_removed() -> None:
    world, classic = consumer_and_classic()
    classic.join(rebalance_timeout="20s")
    classic.sync()
    world.beat("A", 2)
    world.beat("A", 2, owned={"t": [0, 1]})
    assert classic.heartbeat().error is ErrorCode.REBALANCE_IN_PROGRESS
    world.advance("19s", heartbeating=[classic])
    assert classic.member_id in world.consumer_group().members
    world.advance("2s", heartbeating=[classic])
    assert classic.member_id not in world.consumer_group().members


def test_a_member_that_joins_and_never_syncs_is_removed() -> None:
    world, classic = consumer_and_classic()
    classic.join(rebalance_timeout="5s", session_timeout="30s")
    world.advance("4s")
    assert classic.member_id in world.consumer_group().members
    world.advance("2s")
    assert set(world.consumer_group().members) == {"A"}


def test_a_member_changes_its_protocol_under_its_id_and_keeps_its_place() -> None:
    world, classic = consumer_and_classic()
    classic.join(rebalance_timeout="20s")
    member_id = classic.member_id
    assert world.told(world.beat(member_id, 0, topics=["t"]))[0] == 3
    assert world.consumer_group().classic_count == 0
    assert classic.heartbeat().error is ErrorCode.UNKNOWN_MEMBER_ID
    world.advance("30s")  # neither of its classic timers ends the new session
    assert set(world.consumer_group().members) == {"A", member_id}
    assert world.join("g", "A", protocols=subscribed("t")).error is ErrorCode.NONE


@pytest.mark.parametrize(
    ("protocol_type", "protocols", "error"),
    [
        ("connect", subscribed("t"), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", (), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", (("roundrobin", b"\0\1"),), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", (("range", b"\0"),), ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ("consumer", (("range", b"x" * 2000),), ErrorCode.GROUP_MAX_SIZE_REACHED),
    ],
)
def test_refused_joins(protocol_type: str, protocols: tuple[tuple[str, bytes], ...], error: ErrorCode) -> None:
    world, classic = consumer_and_classic(config=Config(group_max_metadata_bytes=1024))
    classic.join()
    world.new_records()
    call = world.join("g", "new", protocol_type=protocol_type, protocols=protocols, version=9)
    assert (call.error, call.answer.member_id) == (error, "")
    assert world.new_records() == ""


def test_a_member_rejoins_although_the_metadata_of_its_group_are_at_the_limit() -> None:
    world, classic = consumer_and_classic(config=Config(group_max_metadata_bytes=1024))
    padded = (("range", subscribed("t")[0][1] + b"x" * 900),)
    assert classic.join(protocols=padded).error is ErrorCode.NONE
    assert classic.join(protocols=padded).error is ErrorCode.NONE
    assert classic.join(protocols=(("range", padded[0][1] + b"x" * 200),)).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.core.totals.metadata_bytes == len("range") + len(padded[0][1])


def test_static_classic_members() -> None:
    world, _ = consumer_and_classic()
    one = world.member(protocols=subscribed("t"), instance_id="i")
    one.join()
    told(one.sync())
    other = world.join("g", "stranger", instance_id="i", protocols=subscribed("t"))
    assert other.error is ErrorCode.FENCED_INSTANCE_ID
    unknown = world.join("g", "stranger", instance_id="j", protocols=subscribed("t"))
    assert unknown.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.heartbeat("g", "stranger", 3, instance_id="i").error is ErrorCode.FENCED_INSTANCE_ID
    former = one.member_id
    epoch = world.consumer_group().epoch
    again = world.join("g", "", instance_id="i", protocols=subscribed("t"))
    assert again.error is ErrorCode.NONE
    assert again.answer.member_id != former
    assert world.consumer_group().epoch == epoch


def test_members_of_either_protocol_leave_in_one_request() -> None:
    world, classic = consumer_and_classic()
    classic.join()
    world.beat("S", 0, topics=["t"], instance_id="s")
    epoch = world.consumer_group().epoch
    call = world.leave("g", "stranger", ("", "s"), ("x", "s"), ("", "none"), "A")
    errors = [ErrorCode(each.error_code) for each in call.answer.members]
    assert errors == [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.NONE,
    ]
    assert (world.group().generation, set(world.group().members)) == (epoch, {classic.member_id})
