"""A connection has a bounded number of requests in flight, and requests by which members join and leave take turns."""

from __future__ import annotations

import resource
from typing import Any

import pytest

from coordinator.core.effects import Effects, Reply, Ticket
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.store import OffsetStore
from coordinator.server.api import delete_topics
from coordinator.server.api.node import Node
from coordinator.server.connection import Connection
from coordinator.server.runtime import REPLIES_AT_ONCE
from coordinator.server.time_slices import TimeSlices
from protocol.api_keys import ApiKey
from protocol.client import encode_frame
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from tests.support.edge import Edge, Peer

AT_MOST = 3
LARGEST = 100_000  # bytes of a request


def test_requests_of_a_connection_in_flight_are_as_many_as_allowed_and_the_next_one_waits() -> None:
    tickets: list[Ticket] = []

    def commit(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        ticket.has_append = True  # it waits for the disk
        tickets.append(ticket)

    edge = Edge({ApiKey.OFFSET_COMMIT: commit}, connection_max_in_flight_requests=AT_MOST)
    peer = edge.peer()
    for number in range(AT_MOST + 1):
        peer.send(OffsetCommitRequest(group_id=f"g-{number}"))
    assert len(tickets) == AT_MOST
    edge.runtime.reply(tickets[0], OffsetCommitResponse())
    edge.runtime.end_of_event()
    edge.loop.run_ready()
    assert len(tickets) == AT_MOST + 1
    assert len(peer.answers) == 1


@pytest.mark.parametrize(("limit", "is_closed"), [(LARGEST, False), (LARGEST - 1, True)])
def test_a_request_with_records_is_as_large_as_allowed_and_no_byte_larger(limit: int, is_closed: bool) -> None:
    edge = Edge({}, socket_request_max_bytes=limit)
    peer = edge.peer()
    peer.connection.data_received(LARGEST.to_bytes(4, "big") + bytes(100))
    edge.loop.run_ready()
    assert peer.transport.is_closed == is_closed


@pytest.mark.parametrize(("more", "is_closed"), [(0, False), (1, True)])
def test_any_other_request_is_as_large_as_allowed_and_no_byte_larger(more: int, is_closed: bool) -> None:
    def answer(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        node.reply(ticket, JoinGroupResponse())

    edge = Edge({ApiKey.JOIN_GROUP: answer}, connection_request_max_bytes=LARGEST)
    peer = edge.peer()
    frame = encode_frame(JoinGroupRequest(), 5, 1, "c")
    name = "g" * min(LARGEST + more - (len(frame) - 4), 32_000)
    rest = LARGEST + more - (len(frame) - 4) - len(name)
    protocols = [JoinGroupRequestProtocol(name="", metadata=bytes(rest - 6))]
    frame = encode_frame(JoinGroupRequest(group_id=name, protocols=protocols), 5, 1, "c")
    assert len(frame) == 4 + LARGEST + more
    peer.connection.data_received(frame)
    edge.loop.run_ready()
    assert (peer.transport.is_closed, len(peer.transport.received) > 0) == (is_closed, not is_closed)


def test_a_connection_is_not_read_while_more_requests_wait_than_may_be_in_flight() -> None:
    def park(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        """Leave the request without an answer."""

    edge = Edge({ApiKey.JOIN_GROUP: park}, connection_max_in_flight_requests=AT_MOST)
    peer = edge.peer()
    for _ in range(1 + AT_MOST):
        peer.send(JoinGroupRequest(group_id="g"))
    assert not peer.transport.is_reading_paused
    peer.send(JoinGroupRequest(group_id="g"))
    assert peer.transport.is_reading_paused


class TestJoins:
    @pytest.fixture
    def edge(self) -> Edge:
        def join(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
            node.reply(ticket, JoinGroupResponse())

        def metadata(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
            node.reply(ticket, MetadataResponse())

        edge = Edge({ApiKey.JOIN_GROUP: join, ApiKey.METADATA: metadata})
        runtime = edge.runtime
        runtime.request_slices = TimeSlices(
            edge.loop.call_soon, lambda: edge.loop.now, runtime.end_of_event, edge._broken, 1e-9
        )
        return edge

    def test_beyond_their_time_in_a_round_take_turns_and_others_do_not_wait(self, edge: Edge) -> None:
        joining = [edge.peer() for _ in range(3)]
        other = edge.peer()
        for peer in joining:
            peer.send(JoinGroupRequest(group_id="g"))
        other.send(MetadataRequest())
        assert [len(peer.answers) for peer in joining] == [1, 0, 0]
        assert len(other.answers) == 1
        edge.loop.run_ready()
        assert [len(peer.answers) for peer in joining] == [1, 1, 1]

    def test_run_at_once_again_in_the_next_round(self, edge: Edge) -> None:
        for _ in range(3):
            peer = edge.peer()
            peer.send(JoinGroupRequest(group_id="g"))
            assert len(peer.answers) == 1
            edge.loop.run_ready()

    def test_that_wait_for_a_turn_are_answered_before_what_was_sent_behind_them(self, edge: Edge) -> None:
        edge.peer().send(JoinGroupRequest(group_id="g"))
        peer = edge.peer()
        peer.send(MetadataRequest(), JoinGroupRequest(group_id="g"), MetadataRequest())
        peer.send(MetadataRequest())
        edge.loop.run_ready()
        assert [type(answer) for answer in peer.answers] == [
            MetadataResponse,
            JoinGroupResponse,
            MetadataResponse,
            MetadataResponse,
        ]


def test_answers_to_a_big_group_do_not_delay_those_of_other_clients_in_the_same_event() -> None:
    tickets: list[Ticket] = []

    def keep(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        tickets.append(ticket)

    edge = Edge({ApiKey.JOIN_GROUP: keep, ApiKey.METADATA: keep})
    members = [edge.peer() for _ in range(REPLIES_AT_ONCE)]
    for peer in members:
        peer.send(JoinGroupRequest(group_id="g"))
    other = edge.peer()
    other.send(MetadataRequest())
    edge.loop.run_ready()
    responses = [JoinGroupResponse() for _ in members] + [MetadataResponse()]
    edge.runtime.execute(Effects(tuple(map(Reply, tickets, responses))))
    next(edge.runtime.time_slices._ring[0])
    assert len(other.answers) == 1
    assert sum(len(peer.answers) for peer in members) < REPLIES_AT_ONCE
    edge.loop.run_ready()
    assert all(len(peer.answers) == 1 for peer in members)


@pytest.mark.parametrize(("below", "is_admitted"), [(1, True), (0, False)])
def test_as_many_open_files_as_reserved_are_left_and_one_less_is_refused(below: int, is_admitted: bool) -> None:
    former = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (1000, former[1]))
    try:
        edge = Edge({}, reserved_open_files=10)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, former)
    connection = Connection(edge.runtime)
    connection.descriptor = 1000 - 10 - below
    assert (edge.runtime.connections.admit(connection) == "") == is_admitted


HALF = encode_frame(MetadataRequest(), 9, 1, "c")[:10]
LIMIT_MS = 60_000


def swept_at(edge: Edge, peer: Peer, now_ms: int) -> bool:
    """Look after silent connections at this time. Return True if the peer's is closed."""
    edge.loop.now = now_ms / 1000
    edge.runtime.connections.sweep(now_ms)
    return peer.transport.is_closed


def test_a_connection_is_silent_for_as_long_as_allowed_and_no_millisecond_longer() -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, now_ms=1000, connections_max_idle_ms=LIMIT_MS)
    peer = edge.peer()
    assert not swept_at(edge, peer, 2000)
    peer.send(MetadataRequest())
    assert not swept_at(edge, peer, 2000 + LIMIT_MS)
    assert swept_at(edge, peer, 2000 + LIMIT_MS + 1)


def test_a_request_takes_as_long_to_arrive_as_allowed_and_no_millisecond_longer() -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, now_ms=1000, connection_frame_timeout_ms=LIMIT_MS)
    peer = edge.peer()
    peer.connection.data_received(HALF[:5])
    edge.loop.now = 30.0
    peer.connection.data_received(HALF[5:])  # does not buy more time
    assert not swept_at(edge, peer, 1000 + LIMIT_MS)
    assert swept_at(edge, peer, 1000 + LIMIT_MS + 1)


def test_answers_wait_for_a_client_that_does_not_read_as_long_as_allowed_and_no_millisecond_longer() -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, now_ms=1000, connection_frame_timeout_ms=LIMIT_MS)
    peer = edge.peer()
    peer.transport.is_full = True
    peer.transport.high = 0
    peer.connection.data_received(encode_frame(MetadataRequest(), 9, 1, "c"))
    edge.loop.run_ready()
    edge.loop.now = 30.0  # nothing was read since the first answer
    assert not swept_at(edge, peer, 1000 + LIMIT_MS)
    assert swept_at(edge, peer, 1000 + LIMIT_MS + 1)
    assert peer.transport.is_aborted


@pytest.mark.parametrize(("more", "is_paused"), [(0, False), (1, True)])
def test_as_many_bytes_as_allowed_wait_behind_a_parked_request_and_one_more_pauses_reading(
    more: int, is_paused: bool
) -> None:
    def park(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        """Leave the request without an answer."""

    edge = Edge({ApiKey.JOIN_GROUP: park, ApiKey.METADATA: answer_metadata}, connection_max_buffered_bytes=2000)
    peer = edge.peer()
    peer.send(JoinGroupRequest(group_id="g"))
    overhead = len(encode_frame(MetadataRequest(), 9, 1, "")) - 4
    for size in (500, 1500 + more):
        peer.connection.data_received(encode_frame(MetadataRequest(), 9, 1, "c" * (size - overhead)))
    assert peer.transport.is_reading_paused == is_paused


@pytest.mark.parametrize(("count", "is_closed"), [(3, False), (4, True)])
def test_a_request_has_as_many_elements_as_allowed_and_one_more_closes_the_connection(
    count: int, is_closed: bool
) -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, request_max_elements=3)
    peer = edge.peer()
    topics = [MetadataRequestTopic(name=f"t{number}") for number in range(count)]
    peer.send(MetadataRequest(topics=topics))
    edge.loop.run_ready()
    assert (peer.transport.is_closed, len(peer.answers)) == (is_closed, 0 if is_closed else 1)


def test_a_client_id_has_as_many_characters_as_allowed_and_one_more_is_cut() -> None:
    seen: list[str] = []

    def answer(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
        seen.append(ticket.client_id)
        node.reply(ticket, MetadataResponse())

    edge = Edge({ApiKey.METADATA: answer}, client_id_max_chars=5)
    peer = edge.peer()
    for client_id in ("abcde", "abcdef", "abcde"):
        peer.send(MetadataRequest(), client_id=client_id)
    assert seen == ["abcde"] * 3


def test_no_topic_is_deleted_while_as_many_as_allowed_wait_for_a_search_of_the_groups() -> None:
    edge = Edge({ApiKey.DELETE_TOPICS: delete_topics.API.handle}, max_topics=2)
    runtime, peer = edge.runtime, edge.peer()
    runtime.core.load_begin(0)
    runtime.core.loaded(0, LoadedState.of((), OffsetStore(), 0), 0, 0)
    asks = DeleteTopicsRequest(topics=[DeleteTopicState(name="unknown")])
    runtime.execute(runtime.core.topic_partitions_deleted("a", [0], 0))
    peer.send(asks)
    assert len(peer.answers) == 1
    runtime.execute(runtime.core.topic_partitions_deleted("b", [0], 0))
    peer.send(asks)
    assert len(peer.answers) == 1
    assert runtime.topics.changes.is_held
    edge.loop.run_ready()  # the search begins
    assert len(peer.answers) == 2
    assert not runtime.topics.changes.is_held


def answer_metadata(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, MetadataResponse())
