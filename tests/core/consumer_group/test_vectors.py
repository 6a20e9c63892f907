"""The conformance vectors of KIP-848 groups, by their numbers, with the bytes that a client would send."""

from __future__ import annotations

import pytest

from coordinator.config.config import Config
from protocol.error_codes import ErrorCode
from tests.support.consumer_world import ConsumerWorld

ALL = {"t": [0, 1, 2]}


def alone(partitions: int = 3) -> ConsumerWorld:
    """Return a world in which A is the only member of the group, at epoch 2 (vector 1)."""
    world = ConsumerWorld({"t": partitions})
    world.beat("A", 0, topics=["t"])
    world.new_records()
    return world


def pair(steps: int = 6) -> ConsumerWorld:
    """Return a world after the first steps of the worked run: T has six partitions, A was there first, B joins."""
    world = alone(6)
    beats = [
        lambda: world.beat("B", 0, topics=["t"]),
        lambda: world.beat("A", 2),
        lambda: world.beat("B", 3),
        lambda: world.beat("A", 2, owned={"t": [0, 1, 2]}),
        lambda: world.beat("B", 3),
    ]
    for beat in beats[: steps - 1]:
        assert beat().error is ErrorCode.NONE
    world.new_records()
    return world


def test_1_first_member_gets_everything() -> None:
    world = ConsumerWorld({"t": 3})
    assert world.told(world.beat("A", 0, topics=["t"])) == (2, ALL)
    assert world.new_records() == "5 3 7 6 8"
    assert world.epochs == (2, 2, "Stable")


def test_2_plain_heartbeat_writes_nothing() -> None:
    world = alone()
    assert world.told(world.beat("A", 2)) == (2, None)
    assert world.new_records() == ""


def test_3_full_heartbeat_is_told_its_assignment() -> None:
    world = alone()
    assert world.told(world.full("A", 2, ["t"], ALL)) == (2, ALL)
    assert world.new_records() == ""


def test_4_another_client_id_is_recorded() -> None:
    world = alone()
    assert world.told(world.beat("A", 2, client_id="other")) == (2, None)
    assert world.new_records() == "5"


def test_5_heartbeat_of_a_group_that_does_not_exist() -> None:
    assert ConsumerWorld().beat("A", 4).error is ErrorCode.GROUP_ID_NOT_FOUND


def test_6_heartbeat_of_an_unknown_member() -> None:
    assert alone().beat("X", 2).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_7_member_id_is_made_by_the_server_in_version_0_only() -> None:
    world = ConsumerWorld({"t": 3})
    joined = world.beat("", 0, topics=["t"], version=0)
    assert joined.error is ErrorCode.NONE
    assert joined.answer.member_id
    assert world.beat("", 0, topics=["t"], version=1).error is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("owned", [None, {"t": [0]}])
def test_8_join_must_say_that_it_owns_nothing(owned: dict[str, list[int]] | None) -> None:
    world = ConsumerWorld({"t": 3})
    request = world.beat("A", 2, topics=["t"], owned=owned, rebalance_timeout_ms=1000)
    assert request.error is ErrorCode.GROUP_ID_NOT_FOUND
    from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

    join = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="A",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=None if owned is None else world.partitions(owned),
    )
    assert world.send("consumer_heartbeat", join, 1).error is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    "fields",
    [
        {"epoch": 0, "topics": ["t"], "rebalance_timeout_ms": -1},
        {"epoch": -3},
        {"epoch": -2},
        {"epoch": 0, "topics": ["t"], "rack_id": "  "},
        {"epoch": 0, "topics": ["t"], "instance_id": ""},
        {"epoch": 0, "topics": ["t"], "group_id": " "},
        {"epoch": 0},
    ],
)
def test_9_requests_that_are_invalid(fields: dict[str, object]) -> None:
    world = ConsumerWorld({"t": 3})
    assert world.beat("A", **fields).error is ErrorCode.INVALID_REQUEST  # type: ignore[arg-type]


def test_10_assignor_that_is_not_configured() -> None:
    world = ConsumerWorld({"t": 3})
    assert world.beat("A", 0, topics=["t"], server_assignor="sticky").error is ErrorCode.UNSUPPORTED_ASSIGNOR
    assert world.core.group_count == 0


def test_11_member_without_subscription() -> None:
    world = ConsumerWorld({"t": 3})
    assert world.told(world.beat("A", 0, topics=[])) == (1, {})
    assert world.new_records() == "5 8"
    assert world.epochs == (1, 1, "Stable")


def test_12_second_member_gets_what_the_first_one_gives_up() -> None:
    world = alone(6)
    assert world.told(world.beat("B", 0, topics=["t"])) == (3, {})
    assert world.new_records() == "5 3 7 7 6 8"
    assert world.epochs == (3, 3, "Reconciling")
    assert world.told(world.beat("A", 2)) == (2, {"t": [0, 1, 2]})
    assert world.new_records() == "8"
    assert world.told(world.beat("B", 3)) == (3, None)
    assert world.new_records() == "8"
    assert world.told(world.beat("B", 3)) == (3, None)
    assert world.new_records() == ""
    assert world.told(world.beat("A", 2, owned={"t": [0, 1, 2]})) == (3, None)
    assert world.new_records() == "8"
    assert world.told(world.beat("B", 3)) == (3, {"t": [3, 4, 5]})
    assert world.new_records() == "8"
    assert world.epochs == (3, 3, "Stable")
    assert world.told(world.beat("B", -1)) == (-1, None)
    assert world.new_records() == "8t 7t 5t 3"
    assert world.epochs == (4, 3, "Assigning")
    assert world.told(world.beat("A", 3)) == (4, {"t": [0, 1, 2, 3, 4, 5]})
    assert world.new_records() == "7 6 8"
    assert world.epochs == (4, 4, "Stable")


def test_13_member_that_has_not_given_up_yet_waits_without_a_new_deadline() -> None:
    world = pair(3)
    session = world.consumer_group().sessions["A"]
    assert session.rebalance_timer is not None
    deadline_ms = session.rebalance_timer.fires_at_ms
    world.advance("1s")
    assert world.told(world.beat("A", 2, owned={"t": range(6)})) == (2, None)
    assert world.new_records() == ""
    assert session.rebalance_timer.fires_at_ms == deadline_ms


def test_14_member_that_does_not_give_up_in_time_is_removed() -> None:
    world = pair(3)
    for _ in range(10):
        world.advance("30s")
        world.beat("A", 2)
        world.beat("B", 3)
    assert world.epochs == (4, 4, "Stable")
    assert world.assigned("B") == {"t": [0, 1, 2, 3, 4, 5]}
    assert world.beat("A", 2).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_14_removal_is_four_records_and_the_target_waits_for_a_heartbeat() -> None:
    world = pair(3)
    for _ in range(9):
        world.advance("30s")
        world.beat("A", 2)
        world.beat("B", 3)
    world.new_records()
    world.advance("30s")
    assert world.new_records() == "8t 7t 5t 3"
    assert world.epochs == (4, 3, "Assigning")
    assert world.told(world.beat("B", 3)) == (4, {"t": [0, 1, 2, 3, 4, 5]})


def test_15_previous_epoch_is_accepted_if_only_the_answer_was_lost() -> None:
    world = pair(5)
    assert world.told(world.beat("A", 2, owned={"t": [0, 1, 2]})) == (3, None)
    assert world.beat("A", 2).error is ErrorCode.FENCED_MEMBER_EPOCH


def test_16_other_epochs_are_fenced() -> None:
    world = pair()
    world.beat("A", 3, topics=["t", "u"])  # A goes to epoch 3
    assert world.consumer_group().members["A"].epoch == 4
    assert world.beat("A", 5).error is ErrorCode.FENCED_MEMBER_EPOCH
    assert world.beat("A", 2, owned={}).error is ErrorCode.FENCED_MEMBER_EPOCH


def test_17_rejoin_of_a_known_member_keeps_its_epoch_and_assignment() -> None:
    world = pair()
    assert world.told(world.beat("A", 0, topics=["t"])) == (3, {"t": [0, 1, 2]})
    assert world.epochs == (3, 3, "Stable")


def test_18_partitions_of_a_member_that_left_go_to_the_other_one() -> None:
    world = pair()
    assert world.told(world.beat("B", -1)) == (-1, None)
    assert world.epochs == (4, 3, "Assigning")
    assert world.told(world.beat("A", 3)) == (4, {"t": [0, 1, 2, 3, 4, 5]})


def test_19_last_member_leaves_and_another_one_counts_on() -> None:
    world = pair()
    world.beat("B", -1)
    world.beat("A", -1)
    assert world.epochs == (5, 5, "Empty")
    assert world.told(world.beat("A", 0, topics=["t"]))[0] == 6


def test_20_silent_member_is_removed() -> None:
    world = pair()
    for _ in range(9):
        world.advance("5s")
        world.beat("A", 3)
    assert "B" not in world.consumer_group().members
    assert world.epochs[0] == 4


def static(
    world: ConsumerWorld, member_id: str, epoch: int, **fields: object
) -> tuple[int, dict[str, list[int]] | None]:
    return world.told(world.beat(member_id, epoch, instance_id="i", **fields))  # type: ignore[arg-type]


def away() -> ConsumerWorld:
    """Return a world whose only member, a static one, is away (vector 21)."""
    world = ConsumerWorld({"t": 3})
    static(world, "S", 0, topics=["t"])
    world.new_records()
    assert static(world, "S", -2) == (-2, None)
    return world


def test_21_static_member_goes_away() -> None:
    world = away()
    assert world.new_records() == "8"
    assert world.epochs == (2, 2, "Reconciling")


def test_22_next_run_of_a_static_member_takes_its_place() -> None:
    world = away()
    world.new_records()
    assert static(world, "S2", 0, topics=["t"]) == (2, ALL)
    assert world.new_records() == "8t 7t 5t 5 7 8 8"
    assert world.epochs == (2, 2, "Stable")
    assert world.beat("S", 2, instance_id="i").error is ErrorCode.FENCED_INSTANCE_ID


def test_23_instance_id_in_use() -> None:
    world = ConsumerWorld({"t": 3})
    static(world, "S", 0, topics=["t"])
    assert world.beat("S2", 0, topics=["t"], instance_id="i").error is ErrorCode.UNRELEASED_INSTANCE_ID


def test_24_static_member_that_stays_away_is_removed() -> None:
    world = away()
    world.advance("45s")
    assert world.consumer_group().members == {}
    assert world.epochs[0] == 3


def test_25_unknown_instance_id() -> None:
    world = ConsumerWorld({"t": 3})
    static(world, "S", 0, topics=["t"])
    assert world.beat("S", 2, instance_id="zz").error is ErrorCode.UNKNOWN_MEMBER_ID


def test_26_static_member_that_is_away_is_fenced() -> None:
    world = away()
    assert world.beat("S", 2, instance_id="i").error is ErrorCode.FENCED_MEMBER_EPOCH


def test_27_full_group() -> None:
    world = ConsumerWorld({"t": 3}, config=Config(group_consumer_max_size=1))
    world.beat("A", 0, topics=["t"])
    assert world.beat("B", 0, topics=["t"]).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert world.beat("B", 2).error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_28_member_subscribes_to_another_topic() -> None:
    world = ConsumerWorld({"t1": 2, "t2": 1})
    world.beat("A", 0, topics=["t1"])
    assert world.told(world.beat("A", 2, topics=["t1", "t2"])) == (3, {"t1": [0, 1], "t2": [0]})
    assert world.epochs == (3, 3, "Stable")


def test_29_member_unsubscribes_from_a_topic() -> None:
    world = ConsumerWorld({"t1": 2, "t2": 1})
    world.beat("A", 0, topics=["t1", "t2"])
    owned = {"t1": [0, 1], "t2": [0]}
    assert world.told(world.beat("A", 2, topics=["t1"], owned=owned)) == (2, {"t1": [0, 1]})
    assert world.epochs == (3, 3, "Reconciling")
    assert world.told(world.beat("A", 2, owned={"t1": [0, 1]})) == (3, None)


def test_30_subscribed_topic_is_created() -> None:
    world = ConsumerWorld()
    assert world.told(world.beat("A", 0, topics=["t"])) == (2, {})
    world.topics_image.create("t", 2)
    assert world.told(world.beat("A", 2)) == (3, {"t": [0, 1]})
    assert world.epochs == (3, 3, "Stable")


def test_31_subscribed_topic_gets_partitions() -> None:
    world = ConsumerWorld({"t": 2})
    world.beat("A", 0, topics=["t"])
    world.topics_image.extend("t", 4)
    assert world.told(world.beat("A", 2)) == (3, {"t": [0, 1, 2, 3]})


def by_regex() -> ConsumerWorld:
    world = ConsumerWorld({"a1": 1, "a2": 1, "b": 1})
    assert world.told(world.beat("A", 0, subscribed_topic_regex="a.*")) == (1, {})
    return world


def test_32_regular_expression_is_resolved_behind_the_join() -> None:
    world = by_regex()
    assert world.new_records() == "5 8 16 3"
    assert world.told(world.beat("A", 1)) == (2, {"a1": [0], "a2": [0]})
    assert world.new_records() == "7 6 8"
    world.topics_image.create("a3", 1)
    assert world.told(world.beat("A", 2)) == (2, None)
    world.advance("10001ms")
    assert world.told(world.beat("A", 2)) == (2, None)
    assert world.new_records() == "16 3"
    assert world.told(world.beat("A", 2)) == (3, {"a1": [0], "a2": [0], "a3": [0]})


@pytest.mark.parametrize("regex", ["(a", "(?=x)"])
def test_33_invalid_regular_expression(regex: str) -> None:
    world = ConsumerWorld({"a": 1})
    assert world.beat("A", 0, subscribed_topic_regex=regex).error is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert world.core.group_count == 0


def test_34_regular_expression_is_given_up() -> None:
    world = by_regex()
    world.beat("A", 1)
    world.new_records()
    assert world.told(world.beat("A", 2, subscribed_topic_regex="")) == (2, {})
    assert world.new_records() == "5 16t 3 7 6 8"
    assert world.epochs[0] == 3
    assert world.told(world.beat("A", 2, owned={})) == (3, None)


def test_35_commit_needs_the_epoch_of_the_member() -> None:
    world = pair()
    for version, epoch, error in (
        (9, 3, ErrorCode.NONE),
        (8, 3, ErrorCode.UNSUPPORTED_VERSION),
        (9, 4, ErrorCode.STALE_MEMBER_EPOCH),
    ):
        call = world.commit("g", {("t", 0): 5}, member_id="A", generation=epoch, version=version)
        assert call.errors == {("t", 0): error}


def test_36_commit_with_an_older_epoch_needs_partitions_from_before() -> None:
    world = ConsumerWorld({"t": 2})
    world.beat("A", 0, topics=["t"])
    world.beat("B", 0, topics=["t"])
    world.beat("A", 2)
    world.beat("A", 2, owned={"t": [0]})
    world.beat("B", 3)
    world.beat("B", -1)
    world.beat("A", 3)
    assert world.assigned("A") == {"t": [0, 1]}
    assert world.consumer_group().members["A"].epoch == 4
    call = world.commit("g", {("t", 0): 1, ("t", 1): 1, ("t", 9): 1}, member_id="A", generation=3)
    stale = ErrorCode.STALE_MEMBER_EPOCH
    assert call.errors == {("t", 0): stale, ("t", 1): stale, ("t", 9): stale}
    call = world.commit("g", {("t", 0): 1}, member_id="A", generation=3)
    assert call.errors == {("t", 0): ErrorCode.NONE}


def test_37_commit_without_a_member() -> None:
    world = alone()
    assert world.commit("g", {("t", 0): 1}).errors == {("t", 0): ErrorCode.UNKNOWN_MEMBER_ID}
    world.beat("A", -1)
    assert world.commit("g", {("t", 0): 1}).errors == {("t", 0): ErrorCode.NONE}


@pytest.mark.parametrize(
    ("member_id", "epoch", "error"),
    [
        ("A", 2, ErrorCode.NONE),
        ("A", 1, ErrorCode.STALE_MEMBER_EPOCH),
        ("", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, -1, ErrorCode.NONE),
    ],
)
def test_38_fetch_of_a_member(member_id: str | None, epoch: int, error: ErrorCode) -> None:
    from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchRequestTopics

    world = alone()
    group = OffsetFetchRequestGroup(
        group_id="g",
        member_id=member_id,
        member_epoch=epoch,
        topics=[OffsetFetchRequestTopics(name="t", partition_indexes=[0])],
    )
    (answer,) = world.send("fetch", OffsetFetchRequest(groups=[group]), 9).answer.groups
    assert ErrorCode(answer.error_code) is error
    assert bool(answer.topics) is (error is ErrorCode.NONE)


def test_39_transactional_commit() -> None:
    world = pair()
    refused = world.txn_commit("g", {("t", 0): 1}, member_id="A", generation=2)
    assert refused.errors == {("t", 0): ErrorCode.STALE_MEMBER_EPOCH}, "which the API shapes for older clients"
    assert world.txn_commit("g", {("t", 0): 1}).errors == {("t", 0): ErrorCode.NONE}


def test_40_other_apis_on_an_active_group() -> None:
    world = alone()
    assert world.describe("g", version=5).group_state == "Dead"
    assert ErrorCode(world.describe("g", version=6).error_code) is ErrorCode.GROUP_ID_NOT_FOUND
    (deleted,) = world.delete_groups("g").answer.results
    assert ErrorCode(deleted.error_code) is ErrorCode.NON_EMPTY_GROUP
    world.commit("g", {("t", 0): 1}, member_id="A", generation=2)
    assert world.delete_offsets("g", ("t", 0)).errors == {("t", 0): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC}


def test_41_description() -> None:
    world = alone()
    described = world.describe_consumer_group()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Stable", 2, 2)
    assert described.assignor_name == "uniform"
    (member,) = described.members
    assert (member.member_id, member.member_epoch, member.member_type) == ("A", 2, 1)
    assert member.subscribed_topic_names == ["t"]
    for assignment in (member.assignment, member.target_assignment):
        (part,) = assignment.topic_partitions
        assert (part.topic_name, part.partitions) == ("t", [0, 1, 2])


def test_42_empty_classic_group_gives_way_and_its_offsets_stay() -> None:
    world = ConsumerWorld({"t": 3})
    world.commit("g", {("t", 0): 7})
    world.new_records()
    assert world.told(world.beat("A", 0, topics=["t"])) == (2, ALL)
    assert world.new_records() == "2t 5 3 7 6 8"
    assert world.committed("g") == {("t", 0): 7}


def test_50_crash_in_the_middle_changes_no_answer() -> None:
    world = pair(4)
    world.crash_and_recover()
    assert world.told(world.beat("A", 2, owned={"t": [0, 1, 2]})) == (3, None)
    assert world.told(world.beat("B", 3)) == (3, {"t": [3, 4, 5]})
    world.advance("45s")
    assert world.consumer_group().members == {}


def test_51_failed_append_leaves_no_group() -> None:
    world = ConsumerWorld({"t": 3})
    world.failing_with = ErrorCode.NOT_ENOUGH_REPLICAS
    assert world.beat("A", 0, topics=["t"]).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.core.group_count == 0


def test_52_range_with_a_static_member() -> None:
    world = ConsumerWorld({"t": 7}, config=Config(group_consumer_assignors="range"))
    world.beat("S", 0, topics=["t"], instance_id="i1")
    world.beat("B", 0, topics=["t"])
    world.beat("A", 0, topics=["t"])
    targets = world.consumer_group().targets
    (topic_id,) = targets["S"]
    assert {member: targets[member][topic_id] for member in "SAB"} == {"S": (0, 1, 2), "A": (3, 4), "B": (5, 6)}


def test_53_equal_votes_elect_the_first_configured_assignor() -> None:
    world = ConsumerWorld({"t": 4})
    world.beat("A", 0, topics=["t"], server_assignor="range")
    world.beat("B", 0, topics=["t"], server_assignor="uniform")
    assert world.describe_consumer_group().assignor_name == "uniform"


def test_54_empty_group_gives_way_to_a_classic_join() -> None:
    world = alone()
    world.beat("A", -1)
    world.new_records()
    assert world.join("g").error is ErrorCode.MEMBER_ID_REQUIRED
    assert world.new_records() == "6t 3t 2"
    assert world.state() == "PreparingRebalance" or world.state() == "Empty"


def test_4_4_assignor_that_wins_the_vote_anew_raises_the_epoch() -> None:
    world = alone()
    assert world.told(world.beat("A", 2, server_assignor="range")) == (3, None)
    assert world.epochs == (3, 3, "Stable")
    assert world.told(world.beat("A", 3, server_assignor="range")) == (3, None)
