"""Answers under access rules that a comparison with Kafka has shown, and the bounds of long ones."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.topics.describe import TOPIC
from coordinator.security.acl.model import AclOperation, Resource
from coordinator.server.api.authorization import groups
from protocol.messages import alter_configs, incremental_alter_configs
from protocol.messages.describe_client_quotas import DescribeClientQuotasRequest
from protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from tests.server.api.authorization_kit import TOPIC_IDS, UNKNOWN_ID, Rights, ask

YES, NO = TOPIC_IDS["yes"], TOPIC_IDS["no"]
REFUSED, UNKNOWN, UNKNOWN_TOPIC_ID = 29, 3, 100
TOPICS = (("gone", (0,)), ("no", (1,)), ("yes", (0, 9)), ("no", (2,)), ("yes", (1,)))  # 9 does not exist


def commit() -> Any:
    return OffsetCommitRequest(
        "g",
        topics=[
            OffsetCommitRequestTopic(
                name=name, partitions=[OffsetCommitRequestPartition(index, committed_metadata="") for index in parts]
            )
            for name, parts in TOPICS
        ],
    )


def delete() -> Any:
    return OffsetDeleteRequest(
        "g",
        topics=[
            OffsetDeleteRequestTopic(name=name, partitions=[OffsetDeleteRequestPartition(index) for index in parts])
            for name, parts in TOPICS
        ],
    )


def answer_of(topic: Any, partition: Any) -> list[Any]:
    """Return the topics of a handler's answer to what is left of TOPICS without `no`."""
    found = {"gone": [(0, UNKNOWN)], "yes": [(9, UNKNOWN), (0, 0), (1, 0)]}
    return [topic(name=name, partitions=[partition(*part) for part in parts]) for name, parts in found.items()]


def told(answer: Any) -> list[tuple[str, list[tuple[int, int]]]]:
    return [
        (each.name, [(part.partition_index, part.error_code) for part in each.partitions]) for each in answer.topics
    ]


ROWS = [
    (
        commit(),
        lambda: OffsetCommitResponse(topics=answer_of(OffsetCommitResponseTopic, OffsetCommitResponsePartition)),
    ),
    (
        delete(),
        lambda: OffsetDeleteResponse(topics=answer_of(OffsetDeleteResponseTopic, OffsetDeleteResponsePartition)),
    ),
]


@pytest.mark.parametrize(("request_", "served"), ROWS)
def test_refused_and_unknown_partitions_keep_their_order_and_a_topic_has_one_entry(request_: Any, served: Any) -> None:
    rights = Rights("READ group g", "DELETE group g", "READ topic yes", "READ topic gone")
    outcome = ask(rights, request_, 0 if isinstance(request_, OffsetDeleteRequest) else 8, lambda _: served())
    assert told(outcome.answer) == [
        ("gone", [(0, UNKNOWN)]),
        ("no", [(1, REFUSED), (2, REFUSED)]),
        ("yes", [(9, UNKNOWN), (0, 0), (1, 0)]),
    ]


def test_refused_and_unknown_ids_keep_their_order() -> None:
    asked = OffsetCommitRequest(
        "g",
        topics=[
            OffsetCommitRequestTopic(topic_id=topic_id, partitions=[OffsetCommitRequestPartition(index)])
            for index, topic_id in enumerate((YES, NO, UNKNOWN_ID, YES, NO))
        ],
    )
    for topic in asked.topics:
        topic.partitions[0].committed_metadata = ""

    def serve(kept: Any) -> Any:
        assert [topic.topic_id for topic in kept.topics] == [YES, UNKNOWN_ID, YES]
        parts = ((UNKNOWN_ID, 2, UNKNOWN_TOPIC_ID), (YES, 0, 0), (YES, 3, 0))
        return OffsetCommitResponse(
            topics=[
                OffsetCommitResponseTopic(topic_id=topic_id, partitions=[OffsetCommitResponsePartition(index, error)])
                for topic_id, index, error in parts
            ]
        )

    outcome = ask(Rights("READ group g", "READ topic yes"), asked, 10, serve)
    found = [
        (topic.topic_id, [(part.partition_index, part.error_code) for part in topic.partitions])
        for topic in outcome.answer.topics
    ]
    assert found == [
        (NO, [(1, REFUSED), (4, REFUSED)]),
        (UNKNOWN_ID, [(2, UNKNOWN_TOPIC_ID)]),
        (YES, [(0, 0), (3, 0)]),
    ]


def test_a_fetch_of_offsets_ends_with_refused_and_unknown_ids_in_their_order() -> None:
    topics = [OffsetFetchRequestTopics(topic_id=topic_id) for topic_id in (UNKNOWN_ID, NO, YES, UNKNOWN_ID)]
    for index, topic in enumerate(topics):
        topic.partition_indexes = [index]

    def serve(kept: Any) -> Any:
        assert [topic.topic_id for topic in kept.groups[0].topics] == [YES]
        parts = [OffsetFetchResponsePartitions(2, 7, metadata="")]
        topics = [OffsetFetchResponseTopics("yes", YES, parts)]
        return OffsetFetchResponse(groups=[OffsetFetchResponseGroup("g", topics)])

    asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup("g", topics=topics)])
    outcome = ask(Rights("DESCRIBE group g", "DESCRIBE topic yes"), asked, 10, serve)
    (group,) = outcome.answer.groups
    assert [(topic.topic_id, topic.partitions[0].error_code) for topic in group.topics] == [
        (YES, 0),
        (UNKNOWN_ID, UNKNOWN_TOPIC_ID),
        (NO, REFUSED),
        (UNKNOWN_ID, UNKNOWN_TOPIC_ID),
    ]


def test_a_commit_of_which_all_is_refused_has_one_entry_for_each_topic() -> None:
    outcome = ask(Rights("READ group g"), commit(), 8, lambda _: None)
    assert outcome.handled is None
    assert [name for name, _ in told(outcome.answer)] == ["gone", "no", "yes"]


@pytest.mark.parametrize("module", [alter_configs, incremental_alter_configs])
def test_settings_without_a_value_are_left_to_the_handler(module: Any) -> None:
    request_class = getattr(module, module.__name__.rpartition(".")[2].title().replace("_", "") + "Request")
    asked = [
        module.AlterConfigsResource(TOPIC, name, [module.AlterableConfig(name="retention.ms", value=value)])
        for name, value in (("no", None), ("yes", "1"))
    ]
    served = getattr(module, request_class.__name__.replace("Request", "Response"))
    outcome = ask(Rights(), request_class(resources=asked), 1, lambda _: served(responses=[]))
    assert [each.resource_name for each in outcome.handled.resources] == ["no"]
    assert [(each.resource_name, each.error_code) for each in outcome.answer.responses] == [("yes", REFUSED)]


def test_a_refusal_of_the_quotas_has_no_list_of_them() -> None:
    outcome = ask(Rights(), DescribeClientQuotasRequest(), 1, lambda _: None)
    assert (outcome.answer.error_code, outcome.answer.entries) == (31, None)


class Counting(Rights):
    """Counts the decisions since the last step."""

    def __init__(self, *rights: str) -> None:
        super().__init__(*rights)
        self.steps = [0]

    def may(self, operation: AclOperation, resource: Resource, *, is_logged: bool = True, count: int = 1) -> bool:
        self.steps[-1] += 1
        return super().may(operation, resource, is_logged=is_logged, count=count)

    def operations(self, resource: Resource) -> int:
        self.steps[-1] += 1
        return super().operations(resource)

    def end_step(self) -> None:
        self.steps.append(0)


NAMES = [f"g{number}" for number in range(47)]


def test_very_many_groups_are_listed_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "GROUPS_PER_STEP", 5)
    rights = Counting("DESCRIBE group g3", "DESCRIBE group g46")
    listed = ListGroupsResponse(groups=[ListedGroup(group_id=name) for name in NAMES])
    outcome = ask(rights, ListGroupsRequest(), 4, lambda _: listed, each_step=rights.end_step)
    assert [each.group_id for each in outcome.answer.groups] == ["g3", "g46"]
    assert len(rights.steps) >= 47 // 5
    assert max(rights.steps) <= 6  # and the decision about the cluster


def test_the_operations_on_very_many_groups_are_told_in_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "GROUPS_PER_STEP", 5)
    rights = Counting(*(f"DESCRIBE group {name}" for name in NAMES))
    request = DescribeGroupsRequest([*NAMES, "no"], include_authorized_operations=True)
    described = DescribeGroupsResponse(groups=[DescribedGroup(group_id=name, error_message=None) for name in NAMES])

    def serve(_: Any) -> Any:
        rights.end_step()  # the check of the request itself is over
        return described

    outcome = ask(rights, request, 5, serve, each_step=rights.end_step)
    assert [each.group_id for each in outcome.answer.groups] == ["no", *NAMES]
    assert {each.authorized_operations for each in outcome.answer.groups[1:]} == {1 << AclOperation.DESCRIBE}
    assert len(rights.steps) >= 47 // 5
    assert max(rights.steps[1:]) <= 5
