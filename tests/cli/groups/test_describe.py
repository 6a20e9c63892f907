"""`coordinator groups` against scripted brokers: clusters, old versions, errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from coordinator.cli.main import main
from protocol.api_keys import ApiKey
from protocol.consumer import Assignment, TopicPartitions, encode_assignment
from protocol.error_codes import ErrorCode
from protocol.messages import consumer_group_describe as newer
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from tests.support.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.integration


def assigned(**topics: list[int]) -> bytes:
    return encode_assignment(
        Assignment(assigned_partitions=[TopicPartitions(name, numbers) for name, numbers in topics.items()]), 0
    )


STABLE = DescribedGroup(
    group_id="shop",
    group_state="Stable",
    protocol_type="consumer",
    protocol_data="range",
    members=[
        DescribedGroupMember(
            member_id="b-2", client_id="b", client_host="/10.0.0.2", member_assignment=assigned(orders=[2])
        ),
        DescribedGroupMember(
            member_id="a-1",
            group_instance_id="static-a",
            client_id="a",
            client_host="/10.0.0.1",
            member_assignment=assigned(orders=[0, 1], refunds=[0]),
        ),
        DescribedGroupMember(member_id="c-3", client_id="c", client_host="/10.0.0.3", member_assignment=assigned()),
    ],
)


class Cluster:
    """Two nodes: the first is the bootstrap node, the second coordinates every group and leads every partition."""

    def __init__(self) -> None:
        self.group = STABLE
        self.group_error = 0
        self.committed = {("orders", 0): 10, ("orders", 1): 4, ("gone", 0): 7}
        self.ends = {("orders", 0): 15, ("orders", 1): 4, ("orders", 2): 9, ("refunds", 0): 0}
        self.groups: dict[int, list[ListedGroup]] = {
            1: [ListedGroup("zoo", "consumer", "Empty", "classic")],
            2: [ListedGroup("shop", "consumer", "Stable", "classic"), ListedGroup("api", "", "Dead", "classic")],
        }
        self.loading = 0  # number of requests to answer with COORDINATOR_LOAD_IN_PROGRESS first
        self.nodes = [ScriptedBroker(self._script(1)), ScriptedBroker(self._script(2))]

    def _script(self, node_id: int) -> dict[type[Any], Any]:
        return {
            MetadataRequest: self._metadata,
            FindCoordinatorRequest: self._find_coordinator,
            ListGroupsRequest: lambda request, version: ListGroupsResponse(groups=self.groups[node_id]),
            DescribeGroupsRequest: self._describe,
            OffsetFetchRequest: self._offset_fetch,
            ListOffsetsRequest: self._list_offsets,
        }

    def _metadata(self, request: MetadataRequest, version: int) -> MetadataResponse:
        wanted = {topic.name for topic in request.topics or ()}
        topics: dict[str, list[int]] = {}
        for name, partition in self.ends:
            topics.setdefault(name, []).append(partition)
        return MetadataResponse(
            brokers=[MetadataResponseBroker(i, "127.0.0.1", node.port) for i, node in enumerate(self.nodes, start=1)],
            controller_id=1,
            topics=[
                MetadataResponseTopic(
                    name=name,
                    partitions=[MetadataResponsePartition(partition_index=each, leader_id=2) for each in partitions],
                )
                for name, partitions in topics.items()
                if request.topics is None or name in wanted
            ],
        )

    def _find_coordinator(self, request: FindCoordinatorRequest, version: int) -> FindCoordinatorResponse:
        if self.loading:
            self.loading -= 1
            return FindCoordinatorResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE)
        where = Coordinator(request.key, 2, "127.0.0.1", self.nodes[1].port)
        return FindCoordinatorResponse(node_id=2, host=where.host, port=where.port, coordinators=[where])

    def _describe(self, request: DescribeGroupsRequest, version: int) -> DescribeGroupsResponse:
        if request.groups != [self.group.group_id]:
            code = ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE
            return DescribeGroupsResponse(
                groups=[DescribedGroup(group_id=request.groups[0], group_state="Dead", error_code=code)]
            )
        if self.group_error:
            return DescribeGroupsResponse(groups=[DescribedGroup(error_code=self.group_error)])
        return DescribeGroupsResponse(groups=[self.group])

    def _offset_fetch(self, request: OffsetFetchRequest, version: int) -> OffsetFetchResponse:
        assert request.topics is None
        return OffsetFetchResponse(
            topics=[
                OffsetFetchResponseTopic(
                    name, [OffsetFetchResponsePartition(partition_index=index, committed_offset=offset, metadata="")]
                )
                for (name, index), offset in self.committed.items()
            ]
        )

    def _list_offsets(self, request: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    topic.name,
                    [
                        ListOffsetsPartitionResponse(
                            partition_index=each.partition_index, offset=self.ends[topic.name, each.partition_index]
                        )
                        for each in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    def run(self, *words: str) -> int:
        return main(["groups", *words, "--bootstrap-server", self.nodes[0].address])


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    with cluster.nodes[0], cluster.nodes[1]:
        yield cluster


def lines(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_the_groups_of_all_nodes_are_listed_with_kafkas_columns(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cluster.run("list") == 0
    assert lines(capsys.readouterr().out) == [
        ["GROUP", "TYPE", "STATE"],
        ["api", "Classic", "Dead"],
        ["shop", "Classic", "Stable"],
        ["zoo", "Classic", "Empty"],
    ]


def test_groups_can_be_listed_by_state(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("list", "--state", "stable,Empty", "--json") == 0
    assert [row["group"] for row in json.loads(capsys.readouterr().out)] == ["shop", "zoo"]


def test_state_is_a_dash_if_the_broker_does_not_tell_it(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    for node in cluster.nodes:
        node.versions[ApiKey.LIST_GROUPS] = (0, 2)
    assert cluster.run("list") == 0
    assert lines(capsys.readouterr().out)[1] == ["api", "-", "-"]
    assert cluster.nodes[0].versions_seen(ListGroupsRequest) == [2]
    assert cluster.run("list", "--state", "Stable") == 1
    assert "do not tell the states of groups" in capsys.readouterr().err


@pytest.mark.parametrize("states", ["Foo", "Stable,Foo", ",", ""])
def test_unknown_state_is_refused_with_the_list_of_states(
    cluster: Cluster, capsys: pytest.CaptureFixture[str], states: str
) -> None:
    assert cluster.run("list", "--state", states) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "choose from PreparingRebalance, CompletingRebalance, Stable, Empty, Dead, " in printed.err
    assert ("Foo" in printed.err) == ("Foo" in states)


def test_empty_list_for_a_state_names_the_state(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("list", "--state", "Assigning") == 0
    assert capsys.readouterr() == ("", "no groups in state Assigning\n")


def test_empty_list_is_reported_on_stderr_and_empty_in_json(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.groups = {1: [], 2: []}
    assert cluster.run("list") == 0
    assert capsys.readouterr() == ("", "no groups\n")
    assert cluster.run("list", "--json") == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_group_is_described_by_its_offsets_and_lag(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("describe", "shop") == 0
    out, err = capsys.readouterr()
    assert err == "group 'shop': Stable, 3 members, 5 partitions, total lag 5 (3 unknown)\n"
    assert lines(out) == [
        ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"],
        ["shop", "gone", "0", "7", "-", "-", "-", "-", "-"],  # committed, but the topic was deleted
        ["shop", "orders", "0", "10", "15", "5", "a-1", "/10.0.0.1", "a"],
        ["shop", "orders", "1", "4", "4", "0", "a-1", "/10.0.0.1", "a"],
        ["shop", "orders", "2", "-", "9", "-", "b-2", "/10.0.0.2", "b"],  # assigned, but nothing committed yet
        ["shop", "refunds", "0", "-", "0", "-", "a-1", "/10.0.0.1", "a"],
        ["shop", "-", "-", "-", "-", "-", "c-3", "/10.0.0.3", "c"],  # a member without partitions
    ]


def test_json_has_numbers_and_nulls(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("describe", "shop", "--offsets", "--json") == 0
    rows = json.loads(capsys.readouterr().out)
    assert rows[1] == {
        "group": "shop",
        "topic": "orders",
        "partition": 0,
        "current_offset": 10,
        "log_end_offset": 15,
        "lag": 5,
        "consumer_id": "a-1",
        "host": "/10.0.0.1",
        "client_id": "a",
    }
    assert rows[0]["lag"] is None


def test_a_group_is_described_by_its_members(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("describe", "shop", "--members") == 0
    assert lines(capsys.readouterr().out) == [
        ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT"],
        ["shop", "a-1", "static-a", "/10.0.0.1", "a", "3", "orders:0,1;refunds:0"],
        ["shop", "b-2", "-", "/10.0.0.2", "b", "1", "orders:2"],
        ["shop", "c-3", "-", "/10.0.0.3", "c", "0", "-"],
    ]
    assert cluster.run("describe", "shop", "--members", "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["assignment"] == {"orders": [0, 1], "refunds": [0]}


def test_a_group_is_described_by_its_state(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("describe", "shop", "--state") == 0
    out = capsys.readouterr().out
    assert re.split(" {2,}", out.splitlines()[0]) == [
        "GROUP",
        "COORDINATOR (ID)",
        "ASSIGNMENT-STRATEGY",
        "STATE",
        "#MEMBERS",
    ]
    assert lines(out)[1] == ["shop", cluster.nodes[1].address, "(2)", "range", "Stable", "3"]


def test_assignment_in_another_format_is_a_dash(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    worker = DescribedGroupMember(member_id="w", client_id="w", client_host="/h", member_assignment=b"\x00\x01xyz")
    for protocol_type in ("connect", "consumer"):  # another protocol, and a consumer whose bytes are broken
        cluster.group = DescribedGroup(
            group_id="shop", group_state="Stable", protocol_type=protocol_type, protocol_data="p", members=[worker]
        )
        assert cluster.run("describe", "shop", "--members") == 0
        assert lines(capsys.readouterr().out)[1] == ["shop", "w", "-", "/h", "w", "-", "-"]


def test_empty_and_rebalancing_groups_are_reported_on_stderr(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.group = DescribedGroup(group_id="shop", group_state="Empty", protocol_type="consumer")
    assert cluster.run("describe", "shop") == 0
    assert capsys.readouterr().err == ("group 'shop': Empty, no members, 3 partitions, total lag 5 (1 unknown)\n")
    cluster.group = DescribedGroup(group_id="shop", group_state="PreparingRebalance", protocol_type="consumer")
    assert cluster.run("describe", "shop") == 0
    assert capsys.readouterr().err.startswith("group 'shop': PreparingRebalance, no members, 3 partitions")


@pytest.mark.parametrize("newest", [5, 6])
def test_unknown_group_ends_with_exit_code_1(cluster: Cluster, capsys: pytest.CaptureFixture[str], newest: int) -> None:
    cluster.nodes[1].versions[ApiKey.DESCRIBE_GROUPS] = (0, newest)  # a Dead state before version 6, an error since
    assert cluster.run("describe", "shoop") == 1
    assert "there is no group 'shoop'" in capsys.readouterr().err


def test_group_of_the_consumer_protocol_is_described_too(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    def describe(request: newer.ConsumerGroupDescribeRequest, version: int) -> newer.ConsumerGroupDescribeResponse:
        topic = newer.TopicPartitions(topic_name="orders", partitions=[1, 0])
        member = newer.Member(
            member_id="m", client_id="n", client_host="/h", assignment=newer.Assignment(topic_partitions=[topic])
        )
        known = request.group_ids == ["next"]
        return newer.ConsumerGroupDescribeResponse(
            groups=[
                newer.DescribedGroup(
                    error_code=0 if known else ErrorCode.GROUP_ID_NOT_FOUND,
                    group_id=request.group_ids[0],
                    group_state="Stable",
                    assignor_name="uniform",
                    members=[member],
                )
            ]
        )

    cluster.nodes[1].script[newer.ConsumerGroupDescribeRequest] = describe
    assert cluster.run("describe", "next") == 0
    assert lines(capsys.readouterr().out)[1:3] == [
        ["next", "gone", "0", "7", "-", "-", "-", "-", "-"],
        ["next", "orders", "0", "10", "15", "5", "m", "/h", "n"],
    ]
    assert cluster.run("describe", "next", "--state") == 0
    assert lines(capsys.readouterr().out)[1][-3:] == ["uniform", "Stable", "1"]
    assert cluster.run("describe", "neither") == 1
    assert "there is no group 'neither'" in capsys.readouterr().err


def test_request_is_retried_while_the_coordinator_loads(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.loading = 2
    assert cluster.run("describe", "shop", "--state") == 0
    assert "shop" in capsys.readouterr().out


def test_retries_end_with_the_timeout(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.loading = 1000
    assert cluster.run("describe", "shop", "--timeout", "0.2") == 1
    assert "who coordinates group 'shop': COORDINATOR_NOT_AVAILABLE" in capsys.readouterr().err


def test_error_of_the_broker_is_printed_with_its_name(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.group_error = ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert cluster.run("describe", "shop") == 1
    assert "describing group 'shop': GROUP_AUTHORIZATION_FAILED" in capsys.readouterr().err


def test_requests_to_an_old_cluster_use_its_versions(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    """Offers the versions of Kafka 1.0."""
    for node in cluster.nodes:
        node.versions = {
            ApiKey.METADATA: (0, 5),
            ApiKey.FIND_COORDINATOR: (0, 1),
            ApiKey.DESCRIBE_GROUPS: (0, 1),
            ApiKey.OFFSET_FETCH: (0, 3),
            ApiKey.LIST_OFFSETS: (0, 2),
        }
    assert cluster.run("describe", "shop") == 0
    assert ["shop", "orders", "0", "10", "15", "5", "a-1", "/10.0.0.1", "a"] in lines(capsys.readouterr().out)


def test_newest_versions_are_used_where_they_add_fields(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert cluster.run("describe", "shop") == 0
    assert set(cluster.nodes[1].versions_seen(DescribeGroupsRequest)) == {6}
    assert set(cluster.nodes[1].versions_seen(OffsetFetchRequest)) == {7}
    assert set(cluster.nodes[0].versions_seen(FindCoordinatorRequest)) == {3}
