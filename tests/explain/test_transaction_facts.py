"""Facts about open transactions: questions to nodes of which one may not answer, and what is concluded from answers."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.events.model import HeldPartition, LiveGroup, PendingOffsets, Story
from coordinator.explain import transaction_facts as module
from coordinator.explain.transaction_facts import ClusterLeaders, NodeRequest, cluster_leaders, transaction_facts
from protocol.error_codes import ErrorCode
from protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from protocol.messages.list_transactions import TransactionState as ListedState
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.record_batch import ControlType, build_batch, build_control_batch

STABLE, HIGH = 10, 20
PRODUCER = 4


class Nodes:
    """Two nodes with partitions of the topic `t`, all led by node 1. Producer 4 holds each of them at offset 10."""

    def __init__(self) -> None:
        self.ends: dict[int, tuple[int, int]] = {0: (STABLE, HIGH)}
        self.starts = [STABLE, STABLE]  # of the transaction, at the first and the second question
        self.state: TransactionState | None = TransactionState(
            transactional_id="tx",
            transaction_state="Ongoing",
            transaction_timeout_ms=60_000,
            transaction_start_time_ms=77,
            producer_id=PRODUCER,
            topics=[TopicData("t", list(range(100)))],
        )
        self.data = PartitionData()
        self.down: set[tuple[int, type[Any]]] = set()
        self.asked: list[NodeRequest] = []

    def ask(self, committed: dict[int, int], *pending: PendingOffsets) -> Story:
        state = LiveGroup(group="g", at_ms=1_000, state="Stable", pending_offsets=list(pending))
        story = Story(at_ms=1_000, state=state)
        places = {("t", index): offset for index, offset in committed.items()}
        steps = transaction_facts(story, places, ClusterLeaders([1, 2], dict.fromkeys(places, 1)))
        try:
            requests = next(steps)
            while True:
                requests = steps.send([self._answer(each) for each in requests])
        except StopIteration:
            return story

    def held(self, committed: dict[int, int]) -> list[HeldPartition]:
        return self.ask(committed).held

    def _answer(self, asked: NodeRequest) -> Any:
        self.asked.append(asked)
        request = asked.request
        return None if (asked.node_id, type(request)) in self.down else ANSWERS[type(request)](self, asked)


def _ends(nodes: Nodes, asked: NodeRequest) -> ListOffsetsResponse:
    request: Any = asked.request
    (topic,) = request.topics
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                "t",
                [
                    ListOffsetsPartitionResponse(
                        each.partition_index, offset=nodes.ends[each.partition_index][1 - request.isolation_level]
                    )
                    for each in topic.partitions
                ],
            )
        ]
    )


def _data(nodes: Nodes, asked: NodeRequest) -> FetchResponse:
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[nodes.data])])


def _producers(nodes: Nodes, asked: NodeRequest) -> DescribeProducersResponse:
    request: Any = asked.request
    (topic,) = request.topics
    start = nodes.starts.pop(0)
    producers = [
        ProducerState(producer_id=9, current_txn_start_offset=STABLE + 5),
        ProducerState(producer_id=PRODUCER, last_timestamp=55, current_txn_start_offset=start),
    ]
    found = [PartitionResponse(index, active_producers=producers) for index in topic.partition_indexes]
    return DescribeProducersResponse(topics=[TopicResponse("t", found)])


def _listed(nodes: Nodes, asked: NodeRequest) -> ListTransactionsResponse:
    request: Any = asked.request
    assert request.producer_id_filters == [PRODUCER]
    if asked.node_id == 1 or nodes.state is None:
        return ListTransactionsResponse()
    return ListTransactionsResponse(transaction_states=[ListedState("tx", PRODUCER, "Ongoing")])


def _described(nodes: Nodes, asked: NodeRequest) -> DescribeTransactionsResponse:
    assert asked.node_id == 2, "the node that listed it coordinates it"
    assert nodes.state is not None
    return DescribeTransactionsResponse(transaction_states=[nodes.state])


ANSWERS: dict[type[Any], Any] = {
    ListOffsetsRequest: _ends,
    FetchRequest: _data,
    DescribeProducersRequest: _producers,
    ListTransactionsRequest: _listed,
    DescribeTransactionsRequest: _described,
}


def batch(base_offset: int, producer: int = 7, *, is_transactional: bool = True) -> bytes:
    return bytes(
        build_batch(
            [(b"k", b"v")],
            base_offset=base_offset,
            timestamp_ms=1,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=0,
            is_transactional=is_transactional,
        )
    )


def marker(base_offset: int, kind: ControlType, producer: int = 7) -> bytes:
    return bytes(
        build_control_batch(kind, base_offset=base_offset, timestamp_ms=1, producer_id=producer, producer_epoch=0)
    )


def test_a_group_at_the_last_stable_offset_is_held_back_by_the_transaction_that_begins_there() -> None:
    (held,) = Nodes().held({0: STABLE})
    assert (held.name, held.committed, held.last_stable_offset, held.high_watermark) == ("t-0", 10, 10, 20)
    transaction = held.transaction
    assert (transaction.transactional_id, transaction.state) == ("tx", "Ongoing")
    assert (transaction.start_ms, transaction.timeout_ms, transaction.is_hanging) == (77, 60_000, False)


def test_a_group_that_reads_uncommitted_records_is_not_held_back() -> None:
    assert Nodes().held({0: STABLE + 1}) == []


def test_a_partition_without_an_open_transaction_is_not_looked_at_further() -> None:
    nodes = Nodes()
    nodes.ends[0] = (HIGH, HIGH)
    assert nodes.held({0: HIGH}) == []
    assert {type(each.request) for each in nodes.asked} == {ListOffsetsRequest}


@pytest.mark.parametrize(
    ("records", "is_held"),
    [
        (marker(9, ControlType.COMMIT), True),
        (batch(7) + batch(8) + marker(9, ControlType.ABORT), True),
        (batch(8) + marker(9, ControlType.ABORT) + batch(STABLE), True),
        (batch(7) + marker(8, ControlType.ABORT) + batch(9), False),
        (batch(8, producer=6) + marker(9, ControlType.ABORT), False),
        (batch(8, is_transactional=False) + marker(9, ControlType.COMMIT), False),
        (marker(8, ControlType.COMMIT), False),
        (b"", False),
    ],
    ids=[
        "a marker",
        "aborted records",
        "aborted records and the open transaction",
        "a new transaction of the same producer",
        "records of another producer",
        "records without a transaction",
        "an answer that ends too early",
        "no records",
    ],
)
def test_behind_the_committed_offset_nothing_may_be_readable(records: bytes, is_held: bool) -> None:
    nodes = Nodes()
    nodes.data = PartitionData(aborted_transactions=[AbortedTransaction(7, 7)], records=records)
    assert bool(nodes.held({0: 7})) is is_held


@pytest.mark.parametrize("problem", ["error", "down"])
def test_a_partition_that_may_not_be_read_counts_as_readable(problem: str) -> None:
    nodes = Nodes()
    nodes.data = PartitionData(records=marker(9, ControlType.COMMIT))
    if problem == "error":
        nodes.data.error_code = int(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    else:
        nodes.down = {(1, FetchRequest)}
    assert nodes.held({0: 9}) == []


def test_a_transaction_that_all_coordinators_deny_is_hanging() -> None:
    nodes = Nodes()
    nodes.state = None
    (held,) = nodes.held({0: STABLE})
    assert (held.transaction.producer_id, held.transaction.transactional_id) == (PRODUCER, "")
    assert held.transaction.is_hanging and held.transaction.start_ms == 55


@pytest.mark.parametrize("state", ["CompleteCommit", "Empty"])
def test_a_transaction_that_its_coordinator_has_ended_is_hanging_if_it_is_still_there(state: str) -> None:
    nodes = Nodes()
    assert nodes.state is not None
    nodes.state.transaction_state, nodes.state.topics = state, []
    (held,) = nodes.held({0: STABLE})
    assert held.transaction.is_hanging
    nodes.starts = [STABLE, -1]
    assert nodes.held({0: STABLE}) == [], "it ended between the questions"


def test_a_transaction_in_other_partitions_is_not_that_of_this_one() -> None:
    nodes = Nodes()
    assert nodes.state is not None
    nodes.state.topics = [TopicData("t", [1]), TopicData("u", [0])]
    (held,) = nodes.held({0: STABLE})
    assert held.transaction.is_hanging and not held.transaction.transactional_id


@pytest.mark.parametrize("request_type", [ListTransactionsRequest, DescribeTransactionsRequest])
def test_while_a_coordinator_does_not_answer_no_transaction_is_called_hanging(request_type: type[Any]) -> None:
    nodes = Nodes()
    nodes.down = {(2, request_type)}
    (held,) = nodes.held({0: STABLE})
    assert not held.transaction.is_hanging and not held.transaction.transactional_id


def test_the_partitions_with_most_behind_are_examined_and_not_more_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "EXAMINED", 2)
    nodes = Nodes()
    nodes.ends = {index: (STABLE, HIGH + index) for index in range(4)}
    assert [each.partition for each in nodes.held(dict.fromkeys(range(4), STABLE))] == [3, 2]


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("Ongoing", [("tx", False, 77)]),
        ("CompleteCommit", []),  # it has ended since
        (None, [("", True, 900)]),
    ],
)
def test_the_transaction_of_pending_offsets_is_found_by_its_producer(
    state: str | None, expected: list[tuple[str, bool, int]]
) -> None:
    nodes = Nodes()
    if state is None:
        nodes.state = None
    else:
        assert nodes.state is not None
        nodes.state.transaction_state = state
    story = nodes.ask({}, PendingOffsets(producer_id=PRODUCER, count=1, partitions=["in-0"], since_ms=900))
    found = [(each.transactional_id, each.is_hanging, each.start_ms) for each in story.offsets_pending_in]
    assert found == expected


def test_leaders_are_those_of_the_answer_to_metadata() -> None:
    partitions = [
        MetadataResponsePartition(partition_index=0, leader_id=2),
        MetadataResponsePartition(partition_index=1, leader_id=-1),
    ]
    answer = MetadataResponse(
        brokers=[MetadataResponseBroker(2, "h", 1), MetadataResponseBroker(1, "h", 2)],
        topics=[MetadataResponseTopic(name="t", partitions=partitions)],
    )
    assert cluster_leaders(answer) == ([1, 2], {("t", 0): 2})
