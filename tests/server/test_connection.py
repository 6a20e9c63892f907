"""One connection at its limits: a fault closes its own connection, many requests are served in turns."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

import pytest

from coordinator.core.effects import Ticket
from coordinator.core.loading import LoadedState
from coordinator.core.offsets.commit_template import RepeatedCommit
from coordinator.core.offsets.store import OffsetStore
from coordinator.core.topics.fetch import SLOTS_PER_STEP
from coordinator.server import connection
from coordinator.server.api import fetch as fetch_api
from coordinator.server.api.handler import Handle
from coordinator.server.api.node import Node
from coordinator.server.api.topic_ids import IdsOfTopics
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.support.cluster import Cluster
from tests.support.edge import Edge, Peer
from tests.support.scripted_member import Member
from tests.support.topics_wire import fetch_request
from tests.support.wire import encode_frame

parked: list[Ticket] = []


@pytest.fixture(autouse=True)
def _no_request_is_parked() -> None:
    parked.clear()


def answer_metadata(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, MetadataResponse(brokers=[MetadataResponseBroker(host="h" * 1000)]))


def answer_too_much(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, ListGroupsResponse(groups=[ListedGroup(group_id="g" * 40_000)]))


def answer_with_many_groups(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, ListGroupsResponse(groups=[ListedGroup(group_id=f"group-{n}") for n in range(10_000)]))


def park(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    parked.append(ticket)


def break_down(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    raise ZeroDivisionError("a defect")


def answer_all_parked_with_a_name_too_long(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    for each in parked:
        node.reply(each, FindCoordinatorResponse(host="h" * 40_000))
    node.reply(ticket, MetadataResponse())


def test_answer_that_does_not_fit_the_version_closes_its_connection_with_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    edge = Edge({ApiKey.LIST_GROUPS: answer_too_much})
    peer = edge.peer()
    peer.send(ListGroupsRequest(), version=0)
    assert peer.transport.is_closed and not peer.answers
    assert [record.exc_info for record in caplog.records] == [None]
    assert "LIST_GROUPS v0 could not be encoded" in caplog.text


def test_answer_that_does_not_fit_leaves_the_connection_that_caused_it_open() -> None:
    edge = Edge({ApiKey.FIND_COORDINATOR: park, ApiKey.METADATA: answer_all_parked_with_a_name_too_long})
    old, new, actor = edge.peer(), edge.peer(), edge.peer()
    old.send(FindCoordinatorRequest(), version=0)
    new.send(FindCoordinatorRequest(), version=3)
    actor.send(MetadataRequest())
    assert old.transport.is_closed, "it must not wait for ever"
    assert not new.transport.is_closed and len(new.answers) == 1
    assert not actor.transport.is_closed and len(actor.answers) == 1


def test_handler_that_raises_closes_its_connection_and_logs_a_traceback(caplog: pytest.LogCaptureFixture) -> None:
    edge = Edge({ApiKey.METADATA: break_down})
    peer = edge.peer()
    peer.send(MetadataRequest())
    assert peer.transport.is_closed
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1 and errors[0].exc_info


def test_request_that_raises_in_the_event_of_another_client_leaves_that_client_connected() -> None:
    """The waiting request runs when the parked one is answered, in an event of another client."""
    edge = Edge(
        {ApiKey.FIND_COORDINATOR: park, ApiKey.LIST_GROUPS: break_down, ApiKey.METADATA: _answer_parked_then_itself}
    )
    first, second, actor = edge.peer(), edge.peer(), edge.peer()
    first.send(FindCoordinatorRequest(), ListGroupsRequest())
    second.send(FindCoordinatorRequest())
    actor.send(MetadataRequest())
    assert first.transport.is_closed
    assert len(second.answers) == 1 and len(actor.answers) == 1


def _answer_parked_then_itself(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    for each in parked:
        node.reply(each, FindCoordinatorResponse())
    node.reply(ticket, MetadataResponse())


def test_many_requests_in_one_read_are_answered_in_turns_and_in_order() -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, connection_max_unsent_bytes=10_000)
    peer = edge.peer()
    peer.send(*[MetadataRequest()] * 100)
    assert 0 < len(peer.answers) < 20, "the rest waits until others have had their turn"
    edge.loop.run_ready()
    assert len(peer.answers) == 100
    assert peer.transport.writes >= 5


def test_answers_to_one_read_do_not_pile_up_for_a_peer_that_reads_none() -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, connection_max_unsent_bytes=10_000)
    peer = edge.peer()
    peer.transport.is_full = True
    peer.send(*[MetadataRequest()] * 100)
    edge.loop.run_ready()
    assert len(peer.answers) < 20
    peer.transport.drain()
    edge.loop.run_ready()
    assert len(peer.answers) == 100


def test_answers_that_wait_count_towards_the_limit_of_new_ones() -> None:
    """The bound is for what the transport holds and what one turn makes together, and is passed by one answer."""
    limit = 10_000
    edge = Edge({ApiKey.METADATA: answer_metadata}, connection_max_unsent_bytes=limit)
    peer = edge.peer()
    peer.send(MetadataRequest())
    answer_bytes = len(peer.transport.received)
    peer.transport.is_full = True
    peer.transport.high = 0
    while peer.transport.unsent + answer_bytes <= limit:
        peer.send(MetadataRequest())
    peer.send(*[MetadataRequest()] * 100)
    edge.loop.run_ready()
    assert limit < peer.transport.unsent <= limit + answer_bytes
    assert edge.runtime.connections.unsent_bytes == peer.transport.unsent


@pytest.mark.parametrize(("room", "is_aborted"), [(0, False), (-1, True)])
def test_unsent_answers_of_all_connections_are_as_many_bytes_as_allowed(room: int, is_aborted: bool) -> None:
    def unsent(**settings: int) -> tuple[int, bool]:
        edge = Edge({ApiKey.METADATA: answer_metadata}, connection_max_unsent_bytes=5000, **settings)
        peers = [edge.peer(), edge.peer()]
        for peer, requests in zip(peers, (8, 6), strict=True):
            peer.transport.is_full = True
            peer.send(*[MetadataRequest()] * requests)
            edge.loop.run_ready()
        return edge.runtime.connections.unsent_bytes, peers[0].transport.is_aborted

    both, _ = unsent()
    assert both > 10_000, "both count"
    assert unsent(queued_max_response_bytes=both + room)[1] == is_aborted


def test_unsent_answers_are_limited_over_all_connections_and_the_greatest_is_aborted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, connection_max_unsent_bytes=5000, queued_max_response_bytes=15_000)
    greatest, small, last = edge.peer(), edge.peer(), edge.peer()
    for peer, requests in ((greatest, 8), (small, 6), (last, 6)):
        peer.transport.is_full = True
        peer.send(*[MetadataRequest()] * requests)
        edge.loop.run_ready()
    assert [peer.transport.is_aborted for peer in (greatest, small, last)] == [True, False, False]
    assert edge.runtime.connections.unsent_bytes == small.transport.unsent + last.transport.unsent
    (record,) = caplog.records
    assert "queued.max.response.bytes=15000" in record.getMessage()
    small.transport.drain()
    last.connection.abort()
    assert edge.runtime.connections.unsent_bytes == 0


def test_peer_that_reads_nothing_is_aborted_and_a_slow_one_is_not(
    caplog: pytest.LogCaptureFixture,
) -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, connection_max_unsent_bytes=5000)
    deaf, slow = edge.peer(), edge.peer()
    for peer in (deaf, slow):
        peer.transport.is_full = True
        peer.send(*[MetadataRequest()] * 10)
    edge.loop.run_ready()
    for _ in range(3):
        edge.loop.advance(edge.config.connection_frame_timeout_ms / 2000 + 1)
        slow.transport.unsent -= 1000
        edge.runtime.connections.sweep(edge.runtime.now_ms())
    assert deaf.transport.is_aborted and not slow.transport.is_aborted
    assert "it read none of" in caplog.text
    assert edge.runtime.connections.unsent_bytes == slow.transport.unsent


def test_a_long_answer_counts_while_it_is_encoded() -> None:
    edge = Edge({ApiKey.LIST_GROUPS: answer_with_many_groups})
    peer = edge.peer()
    peer.send(ListGroupsRequest())
    for _ in range(3):
        edge.runtime.time_slices._step()
    assert edge.runtime.connections.unsent_bytes > 0
    edge.loop.run_ready()
    assert len(peer.answers[0].groups) == 10_000
    assert edge.runtime.connections.unsent_bytes == 0


def test_stopped_connection_reads_nothing_after_an_answer() -> None:
    edge = Edge({ApiKey.FIND_COORDINATOR: park, ApiKey.METADATA: _answer_parked_then_itself})
    peer = edge.peer()
    peer.send(FindCoordinatorRequest())
    peer.connection.stop_reading()
    edge.runtime.reply(parked[0], FindCoordinatorResponse())
    edge.runtime.end_of_event()
    assert len(peer.answers) == 1
    assert peer.transport.is_reading_paused


def test_closed_connection_whose_peer_reads_nothing_is_aborted_after_the_timeout() -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata})
    peer = edge.peer()
    peer.transport.is_full = True
    peer.send(MetadataRequest())
    peer.connection.close("a test")
    edge.runtime.connections.sweep(edge.runtime.now_ms())
    assert len(edge.runtime.connections) == 1, "it still takes a place"
    edge.loop.advance(edge.config.connection_frame_timeout_ms / 1000 + 1)
    edge.runtime.connections.sweep(edge.runtime.now_ms())
    edge.loop.run_ready()
    assert peer.transport.is_aborted
    assert len(edge.runtime.connections) == 0


def test_answers_to_a_peer_that_closed_are_dropped() -> None:
    edge = Edge({ApiKey.FIND_COORDINATOR: park, ApiKey.METADATA: answer_metadata})
    peer = edge.peer()
    peer.send(FindCoordinatorRequest(), MetadataRequest())
    peer.connection.eof_received()
    edge.runtime.reply(parked[0], FindCoordinatorResponse())
    edge.runtime.end_of_event()
    assert peer.transport.writes == 0


def half_a_request(size: int) -> bytes:
    """Return the length of a frame, and the first part of it."""
    return (10 * size).to_bytes(4, "big") + bytes(size - 4)


def test_held_requests_are_limited_over_all_connections_and_the_greatest_is_closed() -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata}, queued_max_request_bytes=10_000)
    greatest, small, last = edge.peer(), edge.peer(), edge.peer()
    greatest.connection.data_received(half_a_request(6_000))
    small.connection.data_received(half_a_request(3_000))
    assert edge.runtime.connections.held_bytes == 9_000
    last.connection.data_received(half_a_request(1_000))
    assert edge.runtime.connections.held_bytes == 10_000
    assert not greatest.transport.is_closed
    last.connection.data_received(b"x")
    assert [peer.transport.is_closed for peer in (greatest, small, last)] == [True, False, False]
    assert edge.runtime.connections.held_bytes == 4_001
    edge.loop.run_ready()
    small.connection.eof_received()
    last.connection.close("a test")
    edge.loop.run_ready()
    assert edge.runtime.connections.held_bytes == 0


def test_requests_behind_a_parked_one_count_as_held_until_they_run() -> None:
    edge = Edge({ApiKey.FIND_COORDINATOR: park, ApiKey.METADATA: answer_metadata})
    peer = edge.peer()
    peer.send(FindCoordinatorRequest(), *[MetadataRequest()] * 5)
    assert edge.runtime.connections.held_bytes > 0
    edge.runtime.reply(parked[0], FindCoordinatorResponse())
    edge.runtime.end_of_event()
    edge.loop.run_ready()
    assert len(peer.answers) == 6
    assert edge.runtime.connections.held_bytes == 0


def test_a_request_that_came_in_parts_is_no_longer_held_once_it_is_whole() -> None:
    edge = Edge({ApiKey.METADATA: answer_metadata})
    peer = edge.peer()
    whole = encode_frame(MetadataRequest(), edge.handlers[ApiKey.METADATA].max_version)
    peer.connection.data_received(whole[:9])
    assert edge.runtime.connections.held_bytes == 9
    peer.connection.data_received(whole[9:] + whole[:2])
    assert edge.runtime.connections.held_bytes == 2
    peer.connection.data_received(whole[2:])
    assert edge.runtime.connections.held_bytes == 0
    assert peer.transport.writes == 2


class TestHeartbeatsThatAreRecognised:
    """A heartbeat that repeats the one before is recognised, in any split of its bytes, and answered like it."""

    @pytest.fixture
    def member(self) -> Member:
        member: Member = Cluster().stable_group()[0]
        return member

    @pytest.fixture
    def edge(self, member: Member) -> Edge:
        def handle(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
            for each, response in node.core.handle(request, ticket, now_ms).replies:
                node.reply(each, response)

        return Edge({ApiKey.HEARTBEAT: handle}, core=member.cluster.core, now_ms=member.cluster.clock.now_ms)

    @pytest.mark.parametrize("version", range(5))
    def test_each_alone_in_its_read(self, edge: Edge, member: Member, version: int) -> None:
        peer = edge.peer()
        for _ in range(3):
            peer.send(beat(member), version=version)
        assert [answer.error_code for answer in peer.answers] == [ErrorCode.NONE] * 3
        assert edge.runtime.heartbeats_by_template == 2

    def test_several_in_one_read(self, edge: Edge, member: Member) -> None:
        peer = edge.peer()
        peer.send(*[beat(member)] * 3)
        edge.loop.run_ready()
        assert [answer.error_code for answer in peer.answers] == [ErrorCode.NONE] * 3
        assert edge.runtime.heartbeats_by_template == 2

    def test_in_parts(self, edge: Edge, member: Member) -> None:
        peer = edge.peer()
        peer.send(beat(member))
        whole = encode_frame(beat(member), 4, correlation_id=77, client_id="peer")
        for part in (whole[:11], whole[11:]):
            peer.connection.data_received(part)
        first, second = peer.transport.received[:16], peer.transport.received[16:]
        assert second == first[:4] + (77).to_bytes(4, "big") + first[8:]
        assert edge.runtime.heartbeats_by_template == 1

    def test_another_heartbeat_of_the_same_size_is_decoded(self, edge: Edge, member: Member) -> None:
        peer = edge.peer()
        peer.send(beat(member))
        peer.send(beat(member, generation=member.generation + 1))
        peer.send(beat(member), client_id="pear")
        assert [answer.error_code for answer in peer.answers] == [0, ErrorCode.ILLEGAL_GENERATION, 0]
        assert edge.runtime.heartbeats_by_template == 0

    def test_rebalance_ends_the_recognition(self, edge: Edge, member: Member) -> None:
        peer = edge.peer()
        peer.send(beat(member))
        peer.send(beat(member))
        member.cluster.member().join()
        peer.send(beat(member))
        assert [answer.error_code for answer in peer.answers] == [0, 0, ErrorCode.REBALANCE_IN_PROGRESS]


class TestCommitsThatAreRecognised:
    """The second commit of a size is remembered, and the third recognised, unless commits always differ."""

    @pytest.fixture
    def edge(self) -> Edge:
        return self.edge_of(None)

    def edge_of(self, amend: Callable[[Any], Any] | None) -> Edge:
        self.taken: list[bool] = []

        def take(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
            self.taken.append(isinstance(request, RepeatedCommit))
            ticket.has_append = True  # not durable yet
            ticket.amend = amend

        edge = Edge({ApiKey.OFFSET_COMMIT: take})
        core = edge.runtime.core
        core.load_begin(0)
        core.loaded(0, LoadedState.of((), OffsetStore(), 0), 0, edge.runtime.now_ms())
        core.handle(commit(0), Ticket(), edge.runtime.now_ms())  # the group exists
        return edge

    def test_from_the_third_on(self, edge: Edge) -> None:
        peer = edge.peer()
        for number in range(5):
            peer.send(commit(number))
        assert self.taken == [False, False, True, True, True]
        peer.send(*[commit(number) for number in range(3)])
        edge.loop.run_ready()
        assert self.taken[5:] == [True] * 3

    def test_by_topic_ids_if_the_answer_needs_nothing_but_these(self) -> None:
        ids = {"t": b"t" * 16}
        for amend, taken in ((IdsOfTopics(ids), [False, False, True]), (lambda answer: answer, [False] * 3)):
            edge = self.edge_of(amend)
            peer = edge.peer()
            for number in range(3):
                peer.send(commit(number))
            edge.loop.run_ready()
            assert self.taken == taken

    def test_commits_that_always_differ_are_no_longer_remembered(self, edge: Edge) -> None:
        peer = edge.peer()
        most = edge.config.connection_max_unused_templates
        for number in range(most + 1):  # the first one is only the first of its size
            peer.send(commit(1, partition=number))
        for number in range(5):
            peer.send(commit(number, partition=number % 2))
        last = commit(1, partition=7)
        peer.send(last, last, last)
        edge.loop.run_ready()
        assert not any(self.taken)

    def test_as_many_as_allowed_stay_unused_and_the_last_of_them_can_still_be_recognised(self, edge: Edge) -> None:
        peer = edge.peer()
        most = edge.config.connection_max_unused_templates
        for number in range(most + 1):
            peer.send(commit(1, partition=number))
        peer.send(commit(2, partition=most))
        edge.loop.run_ready()
        assert self.taken == [False] * (most + 1) + [True]

    def test_one_recognised_commit_keeps_the_memory_going(self, edge: Edge) -> None:
        peer = edge.peer()
        for number in range(3 * edge.config.connection_max_unused_templates):
            one = commit(1, partition=number)
            peer.send(one, one)
            edge.loop.run_ready()  # on a slow machine the second has to wait for its turn
        assert any(self.taken[-4:])

    @pytest.mark.parametrize(("more", "taken"), [(0, [False, False, True]), (1, [False] * 3)])
    def test_a_big_one_is_not_remembered(self, edge: Edge, more: int, taken: list[bool]) -> None:
        peer = edge.peer()
        version = edge.handlers[ApiKey.OFFSET_COMMIT].max_version
        commits = [commit(number, metadata="m" * 4000, partitions=4) for number in range(3)]
        size = len(encode_frame(commits[0], version, client_id="")) - 4
        for each in commits:
            peer.send(each, client_id="c" * (edge.config.connection_max_template_bytes - size + more))
        assert self.taken == taken


def beat(member: Member, *, generation: int | None = None) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=member.group_id,
        member_id=member.member_id,
        generation_id=member.generation if generation is None else generation,
    )


def commit(offset: int, *, partition: int = 0, partitions: int = 1, metadata: str = "") -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id="g",
        topics=[
            OffsetCommitRequestTopic(
                name="t",
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=partition + number, committed_offset=offset, committed_metadata=metadata
                    )
                    for number in range(partitions)
                ],
            )
        ],
    )


READERS: Final[dict[ApiKey, Handle]] = {ApiKey.FETCH: fetch_api.handle, ApiKey.METADATA: answer_metadata}
WAITS: Final = fetch_request({("orders", 0): 0}, max_wait_ms=500)


def reader_of(edge: Edge) -> Peer:
    """Return a client of a server with the empty topic orders."""
    catalogue = edge.runtime.topics.catalogue
    catalogue.add(catalogue.make("orders", bytes(16), 1, {}))
    return edge.peer()


def kinds(peer: Peer) -> list[str]:
    return [type(answer).__name__ for answer in peer.answers]


def test_a_request_behind_a_fetch_that_waits_is_answered_at_once() -> None:
    reader = reader_of(Edge(READERS))
    reader.send(WAITS, version=11)
    assert reader.answers == [] and reader.connection.is_busy
    reader.send(MetadataRequest())
    assert kinds(reader) == ["FetchResponse", "MetadataResponse"]
    [partition] = reader.answers[0].responses[0].partitions
    assert (partition.error_code, partition.records) == (0, b"")
    reader.send(WAITS, version=11)
    assert len(reader.answers) == 2, "the next fetch waits again"


def test_a_request_in_the_same_read_as_a_fetch_is_answered_at_once() -> None:
    reader = reader_of(Edge(READERS))
    reader.send(WAITS, MetadataRequest(), version=11)
    assert kinds(reader) == ["FetchResponse", "MetadataResponse"]


def test_a_request_behind_a_fetch_is_answered_soon_when_the_round_has_no_time_for_it() -> None:
    edge = Edge(READERS, is_timed=True)
    reader = reader_of(edge)
    reader.send(WAITS, version=11)
    edge.runtime.request_slices.spent()
    reader.send(MetadataRequest(), MetadataRequest())
    assert reader.answers == []
    edge.loop.run_ready()
    assert kinds(reader) == ["FetchResponse", "MetadataResponse", "MetadataResponse"]


@pytest.mark.parametrize("long_decoding_s", [0.0, 60.0])  # it is handled in a turn of its own, or at once
def test_a_fetch_that_takes_steps_does_not_wait_when_a_request_is_behind_it(
    long_decoding_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LONG_DECODING_S", long_decoding_s)
    edge = Edge(READERS, is_timed=True)
    reader = reader_of(edge)
    long = fetch_request({("orders", 0): 0}, max_wait_ms=500)
    long.topics[0].partitions *= SLOTS_PER_STEP + 1
    reader.send(long, MetadataRequest(), version=11)
    edge.loop.run_ready()
    assert kinds(reader) == ["FetchResponse", "MetadataResponse"]


def test_a_fetch_behind_a_fetch_waits_for_it() -> None:
    reader = reader_of(Edge(READERS))
    reader.send(WAITS, WAITS, version=11)
    assert reader.answers == [], "or two fetches would answer each other without a pause"


def test_a_fetch_is_not_ended_for_a_client_over_its_quota() -> None:
    reader = reader_of(Edge(READERS))
    reader.send(WAITS, version=11)
    reader.connection._mute(1000)
    reader.send(MetadataRequest())
    assert reader.answers == []
