"""Tests of the names in a script, which stand for other values at each server, and of what must be equal."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tests.conformance.consumer_clients import BEYOND, Client, Clients
from tests.conformance.consumer_outline import loose_beat, loose_description, ordered_assignment, twice_assigned
from tests.conformance.consumer_side import ConsumerSide
from tests.conformance.embedded import assigned, encoded_assignment, encoded_subscription, in_words
from tests.conformance.known import Disagreement, known_difference

TOPIC = "0123456789abcdef"  # an id


def answer(epoch: int, partitions: list[int] | None = None, error: int = 0) -> ConsumerGroupHeartbeatResponse:
    assignment = None
    if partitions is not None:
        assignment = Assignment(topic_partitions=[TopicPartitions(TOPIC.encode(), partitions)] if partitions else [])
    return ConsumerGroupHeartbeatResponse(error_code=error, member_id="a", member_epoch=epoch, assignment=assignment)


def joined(epoch: int, partitions: list[int]) -> Client:
    client = Client()
    body = {"group_id": "g", "member_id": "a", "member_epoch": 0, "subscribed_topic_names": ["t"]}
    client.learn(body, answer(epoch, partitions))
    return client


def test_a_client_confirms_what_it_was_told_once() -> None:
    client = joined(2, [0, 1])
    assert client.is_behind
    assert client.next_beat()["topic_partitions"] == [{"topic_id": TOPIC, "partitions": [0, 1]}]
    client.held = dict(client.told)
    client.learn(client.next_beat(), answer(2))
    assert "topic_partitions" not in client.next_beat()


@pytest.mark.parametrize("error", [25, 82, 110, 111])
def test_a_fenced_client_has_nothing_and_joins_with_its_subscription(error: int) -> None:
    client = joined(2, [0])
    client.learn({**client.next_beat(), "server_assignor": "range"}, answer(3))
    client.learn(client.next_beat(), answer(0, error=error))
    assert not client.is_member
    assert client.told == client.held == {}
    assert client.next_join()["subscribed_topic_names"] == ["t"]
    assert client.next_join()["server_assignor"] == "range"
    assert client.next_join()["member_epoch"] == 0


def test_a_refused_commitment_changes_no_client() -> None:
    client = joined(2, [0])
    client.learn(client.next_beat(), answer(0, error=42))
    assert client.is_member
    assert client.told == {TOPIC: [0]}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("$epoch:c0", 5),
        ("$epoch:c0:-2", 3),
        ("$epoch:c0:+1", 6),
        ("$own:c0", [{"topic_id": TOPIC, "partitions": [0, 1]}]),
        ("$held:c0", []),
        ("$own:c0:less", [{"topic_id": TOPIC, "partitions": [0]}]),
        ("$own:c0:more", [{"topic_id": TOPIC, "partitions": [0, 1, BEYOND]}]),
        ("$epoch:c9", 0),
        ("$id:c0", None),
    ],
)
def test_names_say_what_a_client_has(name: str, expected: Any) -> None:
    clients = Clients()
    clients.by_slot["c0"] = joined(5, [0, 1])
    assert clients.value_of(name) == expected


def test_what_a_script_confirms_is_what_this_server_told() -> None:
    clients = Clients()
    clients.by_slot["c0"] = client = joined(5, [0, 1])
    clients.sent("c0", {"topic_partitions": "$own:c0:less"})
    assert client.is_behind
    clients.sent("c0", {"topic_partitions": "$own:c0"})
    assert not client.is_behind


def test_topics_and_regular_expressions_have_the_prefix_of_the_script() -> None:
    side = ConsumerSide("none", 0, "x1.2.")
    assert side.resolve({"names": ["$t0", "t0"], "regex": "$re:t[12]"}) == {
        "names": ["x1.2.t0", "t0"],
        "regex": r"x1\.2\.t[12]",
    }
    assert side.comparable_value({"names": ["x1.2.t0"], "regex": r"x1\.2\.t[12]"}) == {
        "names": ["$t0"],
        "regex": "$re:t[12]",
    }


def test_subscriptions_and_assignments_are_told_in_words() -> None:
    owned = {"x1.t0": [1, 0]}
    told = in_words(encoded_subscription("$meta:1:t1,t0:m0", "x1.", owned), "x1.")
    assert told == "subscription of version 1: ['$t0', '$t1'], it owns [('$t0', [0, 1])]"
    given = encoded_assignment("$given:0:t1=2;t0=0,1", "x1.")
    assert in_words(given, "x1.") == "assignment of version 0: [('$t0', [0, 1]), ('$t1', [2])], None"
    assert assigned(given) == {"x1.t0": [0, 1], "x1.t1": [2]}
    assert in_words("for m0 x1.t0", "x1.") is None
    assert assigned("?") == {}


def described(*targets: list[int], names: list[list[str]] | None = None) -> dict[str, Any]:
    members = [
        {
            "member_id": f"m{number}",
            "member_epoch": 3,
            "subscribed_topic_names": names[number] if names else ["$t0"],
            "target_assignment": {"topic_partitions": [{"topic_id": "$t0@1", "partitions": some}]},
        }
        for number, some in enumerate(targets)
    ]
    return {"group_state": "Stable", "group_epoch": 3, "assignment_epoch": 3, "members": members}


def test_equal_subscriptions_must_give_shares_of_equal_sizes() -> None:
    one, other = described([0, 1], [2]), described([0], [1, 2])
    assert loose_description(one, is_settled=True) == loose_description(other, is_settled=True)
    uneven = described([0, 1, 2], [])
    assert loose_description(one, is_settled=True) != loose_description(uneven, is_settled=True)
    assert loose_description(one) == loose_description(uneven)


def test_unequal_subscriptions_must_give_away_as_much() -> None:
    names = [["$t0"], ["$t0", "$t1"]]
    one, other = described([0, 1], [2], names=names), described([0, 1, 2], [], names=names)
    assert loose_description(one, is_settled=True) == loose_description(other, is_settled=True)
    less = described([0], [1], names=names)
    assert loose_description(one, is_settled=True) != loose_description(less, is_settled=True)


def test_a_loose_script_still_compares_epochs_and_members_of_the_group() -> None:
    one = described([0])
    assert loose_description(one) != loose_description({**one, "group_epoch": 4})
    assert loose_description(one) != loose_description({**one, "members": []})
    assert loose_beat({"error_code": 25, "member_epoch": 3}) == {"error_code": 25}


def test_a_partition_that_two_members_have_is_found() -> None:
    assert not twice_assigned(described([0, 1], [2]), "target_assignment")
    assert twice_assigned(described([0, 1], [1]), "target_assignment") == [("$t0@1", 1)]


def test_topics_without_partitions_do_not_count() -> None:
    found: dict[str, Any] = {"topic_partitions": [{"topic_id": "b", "partitions": [1, 0]}, {"topic_id": "a"}]}
    ordered_assignment(found)
    assert found == {"topic_partitions": [{"topic_id": "b", "partitions": [0, 1]}]}


@pytest.mark.parametrize(("instance_id", "is_known"), [("i1", True), ("i0", False), (None, False)])
def test_a_member_that_joins_as_another_instance_alone_is_forgiven(instance_id: str | None, is_known: bool) -> None:
    body = {"group_id": "$g0", "member_id": "a", "member_epoch": 0, "instance_id": instance_id}
    step = {"op": "send", "api": "ConsumerGroupHeartbeat", "c": 0, "v": 1, "as": "c0", "body": body}
    before = {"g0": {"consumer": {"members": [{"member_id": "a", "instance_id": "i0"}]}}}
    found = Disagreement([step], 0, 0, {"member_epoch": 2}, {"member_epoch": 2, "assignment": {}}, before, {}, 0)
    known = known_difference(found)
    assert (known is not None and known.name == "instance-id-of-a-present-member") is is_known


@pytest.mark.parametrize(("member_id", "error", "is_known"), [(None, -1, True), ("a", -1, False), (None, 0, False)])
def test_a_fetch_without_a_member_alone_may_fail(member_id: str | None, error: int, is_known: bool) -> None:
    body = {"groups": [{"group_id": "$g0", "topics": None, "member_id": member_id, "member_epoch": 3}]}
    step = {"op": "send", "api": "OffsetFetch", "c": 0, "v": 9, "body": body}
    kafka = {"groups": [{"group_id": "$g0", "error_code": error}]}
    ours = {"groups": [{"group_id": "$g0", "error_code": 25}]}
    known = known_difference(Disagreement([step], 0, 0, kafka, ours, {}, {}, None))
    assert (known is not None and known.name == "fetch-of-no-member") is is_known
