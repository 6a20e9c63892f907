"""The particular rules of single APIs, and of the authorization layer. The answers are those of Kafka 4.4."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.core.effects import Ticket
from coordinator.core.offsets.commit_template import RepeatedCommit
from coordinator.security.acl.model import CLUSTER as THE_CLUSTER
from coordinator.security.acl.model import AclOperation, Resource, ResourceType
from protocol.api_keys import ApiKey
from protocol.messages import create_topics as ct
from protocol.messages import delete_topics as dt
from protocol.messages import describe_groups, fetch, metadata
from protocol.messages import incremental_alter_configs as ic
from protocol.messages import offset_delete as od
from protocol.messages import offset_fetch as of
from protocol.messages.describe_topic_partitions import Cursor
from protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from tests.server.api.authorization_kit import (
    ALICE,
    UNKNOWN_ID,
    Everything,
    Rights,
    answered,
    ask,
    layer_of,
    received,
)
from tests.server.api.test_authorization import (
    CLUSTER,
    GROUP,
    NO_ID,
    TOPIC,
    TXN,
    YES_ID,
    coordinators,
    create,
    created,
    delete_offsets,
    describe_configs,
    fetch_from,
    fetch_offsets,
    fetched,
    find,
    grow,
    grown,
    metadata_of,
    not_created,
    offsets_of,
    page,
    pages,
    produce_to,
    produced,
    topic_metadata,
)
from tests.support.topics_wire import batch

MINIMUM = -(2**31)


def unreached(_: Any) -> Any:
    raise AssertionError("the handler was reached")


# -- groups ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "code", "message"),
    [(0, GROUP, "Group authorization failed."), (1, TXN, "Transactional Id authorization failed.")],
)
def test_a_refused_coordinator_has_a_message_only_in_the_versions_with_one_key(
    kind: int, code: int, message: str
) -> None:
    one = ask(Rights(), find(3, "g", kind=kind), 3, unreached).answer
    assert (one.error_code, one.error_message, one.node_id, one.port) == (code, message, -1, -1)
    (found,) = ask(Rights(), find(4, "g", kind=kind), 4, unreached).answer.coordinators
    assert (found.error_code, found.error_message) == (code, "")


def test_the_coordinator_of_a_share_group_needs_a_right_on_the_cluster() -> None:
    request = find(6, "g", kind=2)
    (found,) = ask(Rights(), request, 6, unreached).answer.coordinators
    assert (found.error_code, found.error_message) == (CLUSTER, "Cluster authorization failed.")
    assert ask(Rights("CLUSTER_ACTION cluster"), request, 6, lambda _: coordinators(g=42)).handled is not None
    assert ask(Rights(), find(5, "g", kind=2), 5, lambda _: coordinators(g=42)).handled is not None


def test_a_sync_without_its_protocol_is_invalid_before_it_is_refused() -> None:
    request = SyncGroupRequest("g", 1, "m")
    assert ask(Rights(), request, 5, lambda _: SyncGroupResponse(error_code=23)).answer.error_code == 23
    assert ask(Rights(), request, 4, unreached).answer.error_code == GROUP


def test_operations_of_a_group_are_shown_only_without_an_error() -> None:
    request = describe_groups.DescribeGroupsRequest(["g", "h"], include_authorized_operations=True)
    served = describe_groups.DescribeGroupsResponse(
        groups=[describe_groups.DescribedGroup(group_id="g"), describe_groups.DescribedGroup(69, group_id="h")]
    )
    access = Rights("DESCRIBE group g", "DESCRIBE group h", "DELETE group g")
    answer = ask(access, request, 5, lambda _: served).answer
    assert [each.authorized_operations for each in answer.groups] == [1 << 8 | 1 << 6, MINIMUM]


# -- offsets -----------------------------------------------------------------------------------------------------


def test_an_error_of_a_group_stays_alone_in_the_answer_to_a_fetch_of_offsets() -> None:
    access = Rights("DESCRIBE group g", "DESCRIBE topic yes")
    served = of.OffsetFetchResponse(groups=[offsets_of("g", 16)])
    answer = ask(access, fetch_offsets(8, g=("yes", "no")), 8, lambda _: served).answer
    assert answer.groups == [offsets_of("g", 16)]


def test_all_topics_of_a_group_are_those_that_may_be_described() -> None:
    access = Rights("DESCRIBE group g", "DESCRIBE topic yes")
    served = of.OffsetFetchResponse(groups=[offsets_of("g", no=0, yes=0)])
    answer = ask(access, fetch_offsets(7, g=None), 7, lambda _: served).answer
    assert [topic.name for topic in answer.topics] == ["yes"]


def test_a_group_that_is_named_twice_may_be_answered_once() -> None:
    asked = [of.OffsetFetchRequestGroup("g", topics=None), of.OffsetFetchRequestGroup("g", topics=None)]
    asked.append(of.OffsetFetchRequestGroup("x", topics=None))
    served = of.OffsetFetchResponse(groups=[offsets_of("g", yes=0)])
    access = Rights("DESCRIBE group g", "DESCRIBE topic yes")
    answer = ask(access, of.OffsetFetchRequest(groups=asked), 8, lambda _: served).answer
    assert answer == answered(of.OffsetFetchResponse(groups=[offsets_of("g", yes=0), offsets_of("x", GROUP)]), 8)


def test_the_group_is_looked_up_although_no_topic_may_be_deleted_from_it() -> None:
    served = od.OffsetDeleteResponse(error_code=69)
    outcome = ask(Rights("DELETE group g"), delete_offsets("no"), 0, lambda _: served)
    assert outcome.handled == delete_offsets()
    assert outcome.answer == served


# -- records -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("txn", "error"), [("t", 0), ("other", TXN), (None, TXN)])
def test_a_transactional_batch_needs_its_transactional_id(txn: str | None, error: int) -> None:
    request = produce_to("yes", txn=txn, records=batch(producer=(1, 0, 0), is_transactional=True))
    outcome = ask(Rights("WRITE transactional_id t", "WRITE topic yes"), request, 9, lambda _: produced(yes=0))
    assert outcome.answer == answered(produced(yes=error), 9)


@pytest.mark.parametrize(("names", "kept"), [(("no", "yes"), ("yes",)), (("no",), None)])
def test_a_refused_batch_without_an_answer_closes_the_connection(names: tuple[str, ...], kept: Any) -> None:
    outcome = ask(Rights("WRITE topic yes"), produce_to(*names, acks=0), 9, lambda _: None)
    assert outcome.handled == (kept and received(produce_to(*kept, acks=0), 9))
    assert outcome.answer is None
    assert outcome.closed == "a batch sent with acks=0 was refused: TOPIC_AUTHORIZATION_FAILED"


@pytest.mark.parametrize(
    ("version", "about"), [(14, {"replica_id": 1}), (16, {"replica_state": fetch.ReplicaState(1, 0)})]
)
def test_a_follower_needs_a_right_on_the_cluster_to_fetch(version: int, about: dict[str, Any]) -> None:
    request = fetch_from(version, "yes", **about)
    answer = ask(Rights("READ topic yes"), request, version, unreached).answer
    assert answer.responses[0].partitions[0].error_code == TOPIC
    assert ask(Rights("CLUSTER_ACTION cluster"), request, version, lambda _: fetched(yes=0)).handled == received(
        request, version
    )


def test_a_fetch_in_a_session_is_refused_by_its_handler() -> None:
    served = fetch.FetchResponse(error_code=70)
    assert ask(Rights(), fetch_from(16, "no", session_id=7, session_epoch=3), 16, lambda _: served).answer == served


@pytest.mark.parametrize(
    ("txn", "rights", "error"),
    [
        (None, ("IDEMPOTENT_WRITE cluster",), 0),
        (None, ("WRITE topic any",), 0),
        (None, ("READ topic any", "WRITE group g"), CLUSTER),
        ("t", ("WRITE transactional_id t",), 0),
        ("t", ("IDEMPOTENT_WRITE cluster",), TXN),
    ],
)
def test_who_gets_a_producer_id(txn: str | None, rights: tuple[str, ...], error: int) -> None:
    answer = ask(Rights(*rights), InitProducerIdRequest(txn, 9), 4, lambda _: InitProducerIdResponse()).answer
    assert answer.error_code == error


# -- metadata ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [0, 12])
def test_metadata_of_all_topics_leaves_out_what_may_not_be_described(version: int) -> None:
    access = Rights("DESCRIBE topic yes")
    request = metadata.MetadataRequest(topics=[] if version == 0 else None)
    outcome = ask(access, request, version, lambda _: topic_metadata(("no", 0), ("yes", 0)))
    assert [topic.name for topic in outcome.answer.topics] == ["yes"]
    assert access.logged == []


def test_metadata_by_id_hides_the_name_of_a_refused_topic_and_tells_its_id() -> None:
    asked = [metadata.MetadataRequestTopic(topic_id) for topic_id in (NO_ID, UNKNOWN_ID, YES_ID)]
    request = metadata.MetadataRequest(topics=asked, include_topic_authorized_operations=True)
    served = [
        metadata.MetadataResponseTopic(100, None, UNKNOWN_ID),
        metadata.MetadataResponseTopic(0, "yes", YES_ID, topic_authorized_operations=3576),
    ]
    access = Rights("DESCRIBE topic yes", "READ topic yes")
    outcome = ask(access, request, 12, lambda _: metadata.MetadataResponse(topics=list(served)))
    assert [each.topic_id for each in outcome.handled.topics] == [UNKNOWN_ID, YES_ID]
    assert outcome.answer.topics == [
        metadata.MetadataResponseTopic(100, None, UNKNOWN_ID),
        metadata.MetadataResponseTopic(0, "yes", YES_ID, topic_authorized_operations=1 << 8 | 1 << 3),
        metadata.MetadataResponseTopic(TOPIC, None, NO_ID),
    ]


@pytest.mark.parametrize("rights", [("CREATE topic new",), ("CREATE cluster",)])
def test_a_topic_is_created_for_who_may_create_it(rights: tuple[str, ...]) -> None:
    access = Rights("DESCRIBE topic new", *rights)
    assert ask(access, metadata_of("new"), 9, lambda _: topic_metadata(("new", 3))).answer.topics[0].error_code == 3
    assert access.logged == []


@pytest.mark.parametrize(("auto_create", "may_create"), [(False, True), (True, False)])
def test_an_unknown_topic_needs_no_right_to_create_if_none_is_created(auto_create: bool, may_create: bool) -> None:
    request = metadata_of("new")
    request.allow_auto_topic_creation = may_create
    served = topic_metadata(("new", 3))
    outcome = ask(Rights("DESCRIBE topic new"), request, 9, lambda _: served, auto_create=auto_create)
    assert outcome.answer.topics[0].error_code == 3


def test_operations_are_shown_for_unknown_topics_but_not_for_refused_ones() -> None:
    request = metadata_of("gone", "no")
    request.include_topic_authorized_operations = request.include_cluster_authorized_operations = True
    request.allow_auto_topic_creation = False
    answer = ask(Rights("DESCRIBE topic gone"), request, 9, lambda _: topic_metadata(("gone", 3))).answer
    assert [topic.topic_authorized_operations for topic in answer.topics] == [1 << 8, MINIMUM]
    assert answer.cluster_authorized_operations == 0


def test_metadata_that_is_invalid_is_answered_by_its_handler() -> None:
    request = metadata.MetadataRequest(topics=[metadata.MetadataRequestTopic(NO_ID, None)])
    assert ask(Rights(), request, 11, lambda _: topic_metadata(("", 42))).answer.topics[0].error_code == 42


# -- the catalogue -----------------------------------------------------------------------------------------------


def test_pages_of_all_topics_are_cut_from_those_that_may_be_described() -> None:
    access = Rights("DESCRIBE topic yes")
    outcome = ask(access, pages(), 0, lambda _: page(("yes", 0, 9)))
    assert outcome.handled == pages("yes")
    assert outcome.answer == page(("yes", 0, 1 << 8))
    assert ask(Rights(), pages(), 0, unreached).answer == page()


def test_a_cursor_at_a_refused_topic_begins_with_the_next_one() -> None:
    request = pages("aaa", "no", "yes", cursor=Cursor("no", 1))
    outcome = ask(Rights("DESCRIBE topic yes", "DESCRIBE topic aaa"), request, 0, lambda _: page(("yes", 0, 9)))
    assert outcome.handled == pages("yes")
    assert outcome.answer == page(("yes", 0, 1 << 8), ("no", TOPIC, MINIMUM))


@pytest.mark.parametrize("cursor", [Cursor("other", 0), Cursor("no", -1)])
def test_an_invalid_cursor_is_answered_by_the_handler(cursor: Cursor) -> None:
    request = pages("no", "yes", cursor=cursor)
    assert ask(Rights(), request, 0, lambda _: page(("no", 42, MINIMUM))).handled == request


def test_the_settings_of_a_new_topic_are_shown_to_who_may_describe_them() -> None:
    access = Rights("CREATE cluster")
    served = ct.CreateTopicsResponse(topics=[created("yes"), ct.CreatableTopicResult("dup", error_code=42)])
    outcome = ask(access, create("yes", "dup", "dup"), 7, lambda _: served)
    assert outcome.handled == create("yes", "dup", "dup")
    assert outcome.answer.topics == [
        ct.CreatableTopicResult("yes", YES_ID, 0, None, TOPIC, -1, -1, []),
        ct.CreatableTopicResult("dup", error_code=42),
    ]
    assert access.logged == []


def test_topics_that_are_named_twice_are_refused_by_the_handler() -> None:
    outcome = ask(Rights(), create("no", "dup", "dup"), 7, lambda _: ct.CreateTopicsResponse())
    assert outcome.handled == create("dup", "dup")
    assert outcome.answer.topics == [not_created("no")]
    assert ask(Rights(), grow("no", "dup", "dup"), 3, lambda _: grown(dup=42)).handled == grow("dup", "dup")


def test_a_topic_that_is_deleted_by_its_id_tells_its_name_to_who_may_describe_it() -> None:
    asked = [dt.DeleteTopicState(None, topic_id) for topic_id in (NO_ID, UNKNOWN_ID, YES_ID)]
    asked += [dt.DeleteTopicState("no", NO_ID), dt.DeleteTopicState("dup"), dt.DeleteTopicState("dup")]
    outcome = ask(
        Rights("DESCRIBE topic no", "DELETE topic other"), dt.DeleteTopicsRequest(topics=asked), 6, served_none
    )
    assert outcome.handled.topics == [asked[1], *asked[3:]]
    message = "Topic authorization failed."
    assert outcome.answer.responses == [
        dt.DeletableTopicResult("no", NO_ID, TOPIC, message),
        dt.DeletableTopicResult(None, YES_ID, TOPIC, message),
    ]
    assert ask(Rights("DELETE cluster"), dt.DeleteTopicsRequest(topics=asked), 6, served_none).handled.topics == asked


def served_none(_: Any) -> Any:
    return dt.DeleteTopicsResponse()


# -- settings ----------------------------------------------------------------------------------------------------


def test_resources_that_are_named_twice_or_unknown_are_refused_by_the_handler() -> None:
    resources = [ic.AlterConfigsResource(kind, name) for kind, name in ((2, "no"), (2, "dup"), (2, "dup"), (99, "x"))]
    results = [ic.AlterConfigsResourceResponse(42, "bad", kind, name) for kind, name in ((2, "dup"), (99, "x"))]
    served = ic.IncrementalAlterConfigsResponse(responses=list(results))
    outcome = ask(Rights(), ic.IncrementalAlterConfigsRequest(resources=resources), 1, lambda _: served)
    assert outcome.handled.resources == resources[1:]
    assert outcome.answer == ic.IncrementalAlterConfigsResponse(
        responses=[ic.AlterConfigsResourceResponse(TOPIC, "Topic authorization failed.", 2, "no"), *results]
    )


# -- the audit log, and the layer --------------------------------------------------------------------------------


def test_a_resource_is_looked_up_once_with_the_number_of_its_references() -> None:
    access = Rights()
    ask(access, describe_configs("1", "metrics", "no"), 4, unreached)
    assert set(access.logged) == {
        (AclOperation.DESCRIBE_CONFIGS, THE_CLUSTER, 2),
        (AclOperation.DESCRIBE_CONFIGS, Resource(ResourceType.TOPIC, "no"), 1),
    }


def test_the_layer_asks_for_the_rights_of_the_principal_at_its_address() -> None:
    asked: list[tuple[Any, ...]] = []
    ticket = Ticket(SimpleNamespace(principal=ALICE), api_key=11, client_host="/10.0.0.7")
    node: Any = SimpleNamespace(topics=None, reply=lambda ticket, response: None)
    layer_of(Rights(), asked)(unreached, node, SimpleNamespace(group_id="g"), ticket, 0)  # type: ignore[arg-type]
    assert asked == [(ALICE, "10.0.0.7", ApiKey.JOIN_GROUP)]


def let_pass(request: Any, key: ApiKey) -> None:
    handled = []
    layer_of(Rights())(lambda *args: handled.append(args), None, request, Ticket(api_key=int(key)), 5)
    assert [args[1:] for args in handled] == [(request, handled[0][2], 5)]


def test_requests_without_rights_are_let_pass() -> None:
    let_pass(None, ApiKey.API_VERSIONS)


@pytest.mark.plain("a compiled class takes no template of another type")
def test_recognised_commits_are_let_pass() -> None:
    let_pass(RepeatedCommit(cast(Any, None), (), b"", {}), ApiKey.OFFSET_COMMIT)


def test_an_api_without_a_check_is_not_served() -> None:
    ticket = Ticket(SimpleNamespace(principal=ALICE), api_key=9999)
    node: Any = SimpleNamespace(topics=None)
    with pytest.raises(KeyError):
        layer_of(Everything())(unreached, node, None, ticket, 0)  # type: ignore[arg-type]
