"""Quotas at a connection: the answer says for how long its client is muted, and nothing is read meanwhile (KIP-219)."""

from __future__ import annotations

from typing import Any

from coordinator.core.effects import Ticket
from coordinator.security.quotas.model import CLIENT_ID, IP, USER, Entity, entity_of
from coordinator.server.api.node import Node
from protocol.api_keys import ApiKey
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from protocol.messages.fetch import FetchRequest, FetchResponse
from protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from tests.support.edge import Edge, Peer

SLOW = entity_of([(USER, "ANONYMOUS"), (CLIENT_ID, "slow")])
FREE = 1000  # requests: a burst of ten seconds
RATE = 100.0


def heartbeat(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, HeartbeatResponse())


def create(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, CreateTopicsResponse())


def fetch(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, FetchResponse())


def served(entity: Entity, **quotas: float) -> Edge:
    edge = Edge({ApiKey.HEARTBEAT: heartbeat, ApiKey.CREATE_TOPICS: create, ApiKey.FETCH: fetch})
    edge.runtime.quotas.update({entity: quotas})
    return edge


def pass_time(edge: Edge, seconds: float) -> None:
    edge.loop.advance(seconds)
    edge.loop.run_ready()


def beat(peer: Peer, times: int, client_id: str = "slow") -> None:
    peer.send(*(HeartbeatRequest(group_id="g") for _ in range(times)), client_id=client_id)


def test_a_client_over_its_rate_is_told_and_muted_until_then() -> None:
    edge = served(SLOW, request_rate=RATE)
    peer = edge.peer()
    pass_time(edge, 0.001)
    beat(peer, FREE)
    assert [each.throttle_time_ms for each in peer.answers] == [0] * FREE
    beat(peer, 201)  # in one read: one more is answered, and the others wait
    throttled = peer.answers[FREE:]
    assert len(throttled) == 1
    assert throttled[0].throttle_time_ms > 0
    assert peer.transport.is_reading_paused
    pass_time(edge, throttled[0].throttle_time_ms / 1000 - 0.001)
    assert len(peer.answers) == FREE + 1
    pass_time(edge, 0.002)
    assert len(peer.answers) > FREE + 1


def test_other_clients_are_not_muted() -> None:
    edge = served(SLOW, request_rate=RATE)
    slow, other = edge.peer(), edge.peer()
    beat(slow, FREE + 10)
    assert slow.transport.is_reading_paused
    beat(other, FREE + 500, client_id="other")
    assert [each.throttle_time_ms for each in other.answers] == [0] * (FREE + 500)
    assert not other.transport.is_reading_paused


def test_a_muted_client_that_hangs_up_leaves_nothing() -> None:
    edge = served(SLOW, request_rate=RATE)
    peer = edge.peer()
    beat(peer, FREE + 10)
    peer.connection.connection_lost(None)
    pass_time(edge, 60)
    assert len(edge.runtime.connections) == 0
    assert len(peer.answers) <= FREE + 1


def test_created_topics_count_by_their_number() -> None:
    edge = served(SLOW, controller_mutation_rate=1.0)
    peer = edge.peer()
    topics = [CreatableTopic(name=f"t{number}") for number in range(20)]
    peer.send(CreateTopicsRequest(topics=topics), client_id="slow")
    assert peer.answers[0].throttle_time_ms > 0


def test_the_bytes_of_an_answer_count_with_the_next_request() -> None:
    edge = served(SLOW, consumer_byte_rate=1.0)
    peer = edge.peer()
    peer.send(FetchRequest(), client_id="slow")
    assert peer.answers[0].throttle_time_ms == 0
    peer.send(FetchRequest(), client_id="slow")
    assert peer.answers[1].throttle_time_ms > 0


def test_an_address_that_connects_too_fast_is_not_served() -> None:
    edge = served(entity_of([(IP, "127.0.0.1")]), connection_creation_rate=1.0)
    peers = [edge.peer() for _ in range(20)]
    for peer in peers:
        beat(peer, 1)
    refused = [peer for peer in peers if not peer.answers]
    assert 0 < len(refused) < 20
    pass_time(edge, 60)
    assert all(peer.transport.is_closed and not peer.answers for peer in refused)
    assert len(edge.runtime.connections) == 20 - len(refused)
