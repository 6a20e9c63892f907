"""Questions to a live cluster, which a few nodes in memory answer."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.shard import partition_for
from coordinator.observe.cluster import TopicLayout
from coordinator.observe.errors import ClusterProblem
from coordinator.observe.live_groups import LiveGroups
from coordinator.processes.wall_clock import wall_ms
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from tests.observe.written import WrittenLog, member

TOPIC = bytes(15) + b"\7"


class Nodes:
    """Two nodes, each with groups and their states."""

    def __init__(self) -> None:
        self.leaders = {0: 1, 1: 2}
        self.groups: dict[str, tuple[str, list[str]]] = {}  # state and member ids
        self.asked: list[list[str]] = []
        self.is_down = False
        self.session_timeout = "45000"
        self.may_ask = True

    async def layouts(self, topics: list[str]) -> dict[str, TopicLayout]:
        if self.is_down:
            raise ClusterProblem("the cluster cannot be reached; trying again")
        return {topics[0]: TopicLayout(leaders=self.leaders)}

    async def node(self, node_id: int) -> Node:
        return Node(self, node_id)

    def of(self, node_id: int) -> dict[str, tuple[str, list[str]]]:
        return {
            group: each
            for group, each in self.groups.items()
            if self.leaders[partition_for(group, len(self.leaders))] == node_id
        }


class Node:
    """One of the nodes, as a link to it."""

    def __init__(self, nodes: Nodes, node_id: int) -> None:
        self.nodes = nodes
        self.node_id = node_id

    async def call(self, request: Any, response: type, max_version: int | None = None) -> Any:
        groups = self.nodes.of(self.node_id)
        if isinstance(request, ListGroupsRequest):
            found = [(group, state) for group, (state, _) in groups.items() if state in request.states_filter]
            return ListGroupsResponse(groups=[ListedGroup(group, "consumer", state) for group, state in found])
        if isinstance(request, DescribeGroupsRequest):
            self.nodes.asked.append(request.groups)
            return DescribeGroupsResponse(groups=[self._described(group, groups) for group in request.groups])
        if isinstance(request, DescribeConfigsRequest):
            (asked,) = request.resources
            (name,) = asked.configuration_keys or []
            configs = [DescribeConfigsResourceResult(name, self.nodes.session_timeout)] if self.nodes.may_ask else []
            error = ErrorCode.NONE if self.nodes.may_ask else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            return DescribeConfigsResponse(results=[DescribeConfigsResult(error_code=error, configs=configs)])
        assert isinstance(request, MetadataRequest) and request.topics is not None
        return MetadataResponse(
            topics=[
                MetadataResponseTopic(name="orders", topic_id=each.topic_id)
                if each.topic_id == TOPIC
                else MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=each.topic_id)
                for each in request.topics
            ]
        )

    def _described(self, group: str, groups: dict[str, tuple[str, list[str]]]) -> DescribedGroup:
        if group not in groups:
            return DescribedGroup(error_code=ErrorCode.GROUP_ID_NOT_FOUND, group_id=group)
        state, members = groups[group]
        return DescribedGroup(
            group_id=group,
            group_state=state,
            members=[DescribedGroupMember(each, None, each[:5], "/10.0.0.1", b"", b"") for each in members],
        )


@pytest.fixture
def nodes() -> Nodes:
    return Nodes()


@pytest.fixture
def log() -> WrittenLog:
    log = WrittenLog()
    log.now_ms = wall_ms() - 60_000
    for group in ("shop", "mail", "news"):
        log.generation(member("web-1", [0]), number=1, group=group)
    log.now_ms = wall_ms()
    return log


async def test_groups_that_rebalance_are_described_at_their_coordinators(nodes: Nodes, log: WrittenLog) -> None:
    live = LiveGroups(nodes, lambda: log.state)  # type: ignore[arg-type]
    nodes.groups = {
        "shop": ("PreparingRebalance", ["web-1-1", "web-2-1"]),
        "mail": ("Stable", ["web-1-1"]),
        "news": ("CompletingRebalance", ["web-1-1"]),
    }
    await live.poll()
    assert sorted(group for asked in nodes.asked for group in asked) == ["news", "shop"]
    states = {group: log.state.row(group, wall_ms()).state for group in ("shop", "mail", "news")}
    assert states == {"shop": "PreparingRebalance", "mail": "Stable", "news": "CompletingRebalance"}
    story = log.state.story("shop", wall_ms())
    assert story is not None and story.state is not None and story.state.rebalance is not None
    assert story.state.rebalance.trigger.member.client_id == "web-2"


async def test_a_group_that_is_shown_is_described_too(nodes: Nodes, log: WrittenLog) -> None:
    live = LiveGroups(nodes, lambda: log.state)  # type: ignore[arg-type]
    nodes.groups = {"mail": ("Stable", ["web-1-1"])}
    live.watch("mail")
    live.watch("gone")
    await live.poll()
    assert sorted(group for asked in nodes.asked for group in asked) == ["gone", "mail"]
    story = log.state.story("mail", wall_ms())
    assert story is not None and not any("answered lately" in sentence for sentence in story.unknown)


async def test_topic_ids_get_their_names_and_ids_of_no_topic_are_not_asked_for_again(
    nodes: Nodes, log: WrittenLog
) -> None:
    live = LiveGroups(nodes, lambda: log.state)  # type: ignore[arg-type]
    log.state.topics.note([TOPIC, bytes(16)])
    await live.poll()
    assert log.state.topic_names == {TOPIC: "orders"} and not log.state.topics.missing


async def test_a_cluster_that_cannot_be_asked_is_a_problem_and_no_end(nodes: Nodes, log: WrittenLog) -> None:
    live = LiveGroups(nodes, lambda: log.state)  # type: ignore[arg-type]
    nodes.is_down = True
    with pytest.raises(ClusterProblem):
        await live.poll()


async def test_the_session_timeout_of_kip_848_groups_is_asked_for_and_a_missing_right_is_no_problem(
    nodes: Nodes, log: WrittenLog
) -> None:
    handed: list[int] = []
    log.state.consumer_session_timeout = handed.append  # type: ignore[method-assign]
    nodes.may_ask = False
    live = LiveGroups(nodes, lambda: log.state)  # type: ignore[arg-type]
    await live.poll()
    assert handed == []
    nodes.may_ask = True
    await live.poll()
    assert handed == []  # it asks now and then only
    live = LiveGroups(nodes, lambda: log.state)  # type: ignore[arg-type]
    await live.poll()
    assert handed == [45_000]
