"""The controller's side: who asks for the catalogue is answered at once, when there is more, or with what is wrong."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from coordinator.config.values import Address
from coordinator.core.cluster import Cluster
from coordinator.core.effects import Ticket
from coordinator.core.topics.catalogue import parse_document
from coordinator.core.topics.feed import MAX_WAIT_MS, ONLY_FACTS, SharedText
from coordinator.server.api import create_topics
from coordinator.server.api import follow_catalogue as follow_api
from coordinator.server.api.api_versions import advertised
from coordinator.server.api.table import HANDLERS
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.follow_catalogue import (
    FollowCatalogueNode,
    FollowCatalogueRequest,
    KnownDocument,
    NewDocument,
)
from tests.support.topic_words import create_request
from tests.support.topics_world import UNANSWERED, TopicsWorld

ADDRESSES = {number: Address(f"node-{number}", 9000 + number) for number in (1, 2, 3)}


def node(number: int) -> TopicsWorld:
    world = TopicsWorld(cluster=Cluster.of(ADDRESSES, number))
    world.topics.begin({})
    return world


@pytest.fixture
def controller() -> TopicsWorld:
    return node(1)


def question(**about: Any) -> FollowCatalogueRequest:
    """Return the request of node 2 to node 1, with the facts that the test changes."""
    facts: dict[str, Any] = {
        "node_id": 2,
        "asked_node_id": 1,
        "cluster_id": "test-cluster",
        "nodes": [FollowCatalogueNode(node_id=n, host=f"node-{n}", port=9000 + n) for n in ADDRESSES],
        "offsets_partitions": 8,
        "lineage": "",
        "revision": 0,
        "max_wait_ms": 5000,
    }
    return FollowCatalogueRequest(**{**facts, **about})


def follow(world: TopicsWorld, **about: Any) -> Ticket:
    return world.send(follow_api.API, question(**about), 0)


def up_to_date(world: TopicsWorld, **about: Any) -> Ticket:
    """The question of a node that has the newest catalogue."""
    catalogue = world.topics.catalogue
    return follow(world, **{"lineage": catalogue.lineage, "revision": catalogue.revision, **about})


def create(world: TopicsWorld, name: str = "orders") -> None:
    assert world.call(create_topics.API, create_request(name, 3), 7).topics[0].error_code == 0


def test_clients_are_not_told_of_it() -> None:
    assert ApiKey.FOLLOW_CATALOGUE in HANDLERS
    assert all(each.api_key < 1000 for each in advertised(HANDLERS))


def test_a_node_that_knows_nothing_gets_everything_at_once(controller: TopicsWorld) -> None:
    create(controller)
    answer = controller.answers[follow(controller)]
    assert (answer.error_code, answer.node_id, answer.revision) == (0, 1, 1)
    received = parse_document(answer.document.decode())
    assert [facts.name for facts in received.topics] == ["orders"]
    assert (received.lineage, received.revision) == (controller.topics.catalogue.lineage, 1)


def test_a_node_that_knows_nothing_gets_even_an_empty_catalogue_for_its_origin(controller: TopicsWorld) -> None:
    answer = controller.answers[follow(controller)]
    assert parse_document(answer.document.decode()).lineage == controller.topics.catalogue.lineage != ""


def test_a_node_that_is_behind_gets_the_newest_at_once(controller: TopicsWorld) -> None:
    for name in ("a", "b", "c"):
        create(controller, name)
    answer = controller.answers[up_to_date(controller, revision=1)]
    assert [facts.name for facts in parse_document(answer.document.decode()).topics] == ["a", "b", "c"]


def test_a_node_that_has_the_newest_waits_for_the_next(controller: TopicsWorld) -> None:
    create(controller, "a")
    second, third = up_to_date(controller), up_to_date(controller, node_id=3)
    assert controller.answer(second) is controller.answer(third) is UNANSWERED
    create(controller, "b")
    for ticket in (second, third):
        assert len(parse_document(controller.answers[ticket].document.decode()).topics) == 2


def test_a_change_that_failed_is_no_news(controller: TopicsWorld) -> None:
    waiting = up_to_date(controller)
    controller.fail_changes = 1
    assert controller.call(create_topics.API, create_request("a", 1), 7).topics[0].error_code != 0
    assert controller.answer(waiting) is UNANSWERED
    assert controller.topics.catalogue.revision == 0


def test_a_node_waits_as_long_as_it_wanted_and_no_longer_than_is_allowed(controller: TopicsWorld) -> None:
    patient = up_to_date(controller, node_id=3, max_wait_ms=10 * MAX_WAIT_MS)
    short = up_to_date(controller, max_wait_ms=5000)
    controller.advance(4999)
    assert controller.answer(short) is UNANSWERED
    controller.advance(1)
    answer = controller.answers[short]
    assert (answer.error_code, answer.document, answer.revision) == (0, None, 0)
    controller.advance(MAX_WAIT_MS)
    assert controller.answers[patient].document is None


def test_who_does_not_want_to_wait_is_answered_at_once(controller: TopicsWorld) -> None:
    assert controller.answers[up_to_date(controller, max_wait_ms=0)].document is None


def test_a_node_has_one_question_open_at_most(controller: TopicsWorld) -> None:
    tickets = [up_to_date(controller) for _ in range(5)]
    assert [controller.answer(ticket) is UNANSWERED for ticket in tickets] == [False] * 4 + [True]
    create(controller)
    assert controller.answers[tickets[-1]].document


def test_at_the_end_of_the_process_who_waits_is_answered(controller: TopicsWorld) -> None:
    waiting = up_to_date(controller)
    controller.execute_topics(controller.topics.shutdown(controller.now_ms))
    assert controller.answers[waiting].document is None


OTHER_NODES = [FollowCatalogueNode(node_id=n, host=f"node-{n}", port=9000 + n) for n in (1, 2, 3, 4)]
REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "cluster id": ({"cluster_id": "other"}, "cluster.id is 'test-cluster' on node 1 and 'other' on node 2"),
    "nodes": ({"nodes": OTHER_NODES}, "cluster.nodes has the nodes 1, 2, 3 on node 1 and 1, 2, 3, 4 on node 2"),
    "partitions": (
        {"offsets_partitions": 50},
        "offsets.topic.num.partitions is 8 on node 1 and 50 on node 2",
    ),
    "another node": ({"asked_node_id": 3}, "node 3 was asked, but this is node 1"),
    "the same node": ({"node_id": 1}, "node 1 runs already"),
    "a stranger": ({"node_id": 9}, "node 9 is not in cluster.nodes"),
}


@pytest.mark.parametrize("why", REFUSALS)
@pytest.mark.parametrize("revision", [ONLY_FACTS, 0])
def test_nodes_that_know_different_clusters_do_not_talk_and_say_where_they_differ(why: str, revision: int) -> None:
    about, sentence = REFUSALS[why]
    world = node(1)
    create(world)
    answer = world.answers[follow(world, revision=revision, **about)]
    assert (answer.error_code, answer.error_message) == (ErrorCode.INCONSISTENT_CLUSTER_ID, sentence)
    assert answer.document is None
    assert world.met_nodes == [(about.get("node_id", 2), sentence)], "it stands in the log of both"


def test_nodes_that_agree_hear_so_also_from_one_that_is_not_the_controller() -> None:
    third = node(3)
    answer = third.answers[follow(third, asked_node_id=3, revision=ONLY_FACTS)]
    assert (answer.error_code, answer.document) == (0, None)
    assert third.answers[follow(third, asked_node_id=3)].error_code == ErrorCode.NOT_CONTROLLER
    assert third.met_nodes == [(2, None), (2, None)]


def test_a_catalogue_that_did_not_come_from_this_controller_is_not_replaced(controller: TopicsWorld) -> None:
    """The controller lost its disk: to follow it would delete the topics of all nodes."""
    answer = controller.answers[follow(controller, lineage="another", revision=0)]
    assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert answer.error_message == (
        "the catalogue of node 2 (topics.json) did not come from node 1; stop both, and copy topics.json to node 1 "
        "from the node whose topics are right"
    )


def test_a_catalogue_newer_than_the_controllers_is_not_replaced(controller: TopicsWorld) -> None:
    create(controller)
    answer = controller.answers[up_to_date(controller, revision=7)]
    assert answer.error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    assert answer.error_message.startswith("the catalogue of node 2 has revision 7, that of node 1 only 1; stop both")


class TestDocuments:
    """Users, rules and quotas go with the catalogue, to nodes that have other ones."""

    @staticmethod
    def text(content: bytes) -> SharedText:
        return SharedText(hashlib.sha256(content).digest(), content)

    def share(self, controller: TopicsWorld, name: str, content: bytes) -> None:
        controller.execute_topics(controller.topics.share(name, self.text(content), controller.now_ms))

    def test_a_node_with_another_text_gets_the_one_of_the_controller_at_once(self, controller: TopicsWorld) -> None:
        self.share(controller, "users.json", b"new")
        old = KnownDocument("users.json", self.text(b"old").digest)
        answer = controller.answers[up_to_date(controller, documents=[old], lineage="")]
        assert answer.documents == [NewDocument("users.json", b"new")]

    def test_only_documents_that_are_asked_for_and_shared_are_sent(self, controller: TopicsWorld) -> None:
        self.share(controller, "users.json", b"new")
        asked = [KnownDocument("acls.json", b"")]
        assert controller.answers[up_to_date(controller, documents=asked, max_wait_ms=0)].documents == []
        assert controller.answers[up_to_date(controller, max_wait_ms=0)].documents == []  # a node of an older version

    def test_a_node_that_has_all_waits_for_the_next_change(self, controller: TopicsWorld) -> None:
        self.share(controller, "users.json", b"new")
        known = [KnownDocument("users.json", self.text(b"new").digest)]
        waiting = up_to_date(controller, documents=known)
        assert controller.answer(waiting) is UNANSWERED
        self.share(controller, "users.json", b"newer")
        answer = controller.answers[waiting]
        assert (answer.document, answer.documents) == (None, [NewDocument("users.json", b"newer")])

    def test_a_document_that_was_removed_is_sent_as_empty(self, controller: TopicsWorld) -> None:
        self.share(controller, "users.json", b"")
        known = [KnownDocument("users.json", self.text(b"some").digest)]
        assert controller.answers[up_to_date(controller, documents=known)].documents == [NewDocument("users.json", b"")]
