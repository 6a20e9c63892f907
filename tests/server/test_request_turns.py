"""Connections that pipeline requests share the turns of the event loop; a lone request waits for no turn."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator.core.effects import Ticket
from coordinator.server import time_slices
from coordinator.server.api.node import Node
from coordinator.server.connection import CHECKED_EVERY, SMALL_READ
from protocol.api_keys import ApiKey
from protocol.messages.heartbeat import HeartbeatRequest
from protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.cluster import Cluster
from tests.support.edge import Edge, Peer
from tests.support.wire import encode_frame

PUSHED = 900  # heartbeats in one read: more than SMALL_READ bytes, and fewer than connection.max.in.flight.requests


def handle_in_core(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    for each, response in node.core.handle(request, ticket, now_ms).replies:
        node.reply(each, response)


def answer_metadata(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None:
    node.reply(ticket, MetadataResponse())


class World:
    """A group with one member, whose heartbeats any connection may send."""

    def __init__(self) -> None:
        member = Cluster().stable_group()[0]
        self.edge = Edge(
            {ApiKey.HEARTBEAT: handle_in_core, ApiKey.METADATA: answer_metadata},
            core=member.cluster.core,
            now_ms=member.cluster.clock.now_ms,
            is_timed=True,
        )
        self.request = HeartbeatRequest(
            group_id=member.group_id, generation_id=member.generation, member_id=member.member_id
        )
        self.frame = encode_frame(self.request, 4, 7, "peer")

    def beating_peer(self) -> Peer:
        """A connection whose next heartbeat is recognised by its bytes."""
        peer = self.edge.peer()
        peer.connection.data_received(self.frame)
        peer.transport.received = b""
        return peer


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """The time for requests that run at once is over at the first read of the clock."""
    monkeypatch.setattr(time_slices, "AT_ONCE_S", 0.0)
    return World()


def answered(peer: Peer) -> int:
    size = 4 + int.from_bytes(peer.transport.received[:4], "big")
    assert len(peer.transport.received) % size == 0
    return len(peer.transport.received) // size


def test_recognised_heartbeats_of_one_read_stop_when_their_time_is_over(world: World) -> None:
    peer = world.beating_peer()
    peer.connection.data_received(world.frame * PUSHED)
    assert answered(peer) == CHECKED_EVERY
    world.edge.loop.run_ready()
    assert answered(peer) == PUSHED


def test_pipelining_connections_share_one_turn_and_others_are_not_read(world: World) -> None:
    peers = [world.beating_peer() for _ in range(10)]
    for peer in peers:
        peer.connection.data_received(world.frame * PUSHED)
    assert [answered(peer) for peer in peers] == [CHECKED_EVERY] + [0] * 9
    assert [peer.transport.is_reading_paused for peer in peers] == [False] + [True] * 9
    world.edge.loop.run_ready()
    assert [answered(peer) for peer in peers] == [PUSHED] * 10
    assert not any(peer.transport.is_reading_paused for peer in peers)
    assert world.edge.runtime.connections.held_bytes == 0


def test_a_second_read_while_the_first_waits_for_its_turn_is_the_last_one(world: World) -> None:
    peer = world.beating_peer()
    peer.connection.data_received(world.frame * PUSHED)
    assert not peer.transport.is_reading_paused, "a client that sent ten requests at once is not paused for them"
    peer.connection.data_received(world.frame)
    assert peer.transport.is_reading_paused
    assert world.edge.runtime.connections.held_bytes == (PUSHED - CHECKED_EVERY) * (len(world.frame) - 4) + len(
        world.frame
    )
    world.edge.loop.run_ready()
    assert answered(peer) == PUSHED + 1
    assert not peer.transport.is_reading_paused


def test_a_lone_request_does_not_wait_behind_connections_that_push(world: World) -> None:
    pushing, beating, other = world.beating_peer(), world.beating_peer(), world.edge.peer()
    pushing.connection.data_received(world.frame * PUSHED)
    beating.connection.data_received(world.frame)
    other.send(MetadataRequest())
    assert answered(beating) == 1
    assert len(other.answers) == 1


def test_parts_of_a_long_request_are_read_in_turns(world: World) -> None:
    """The second of two connections that send long requests is read in the next round of the loop."""
    first, second = world.edge.peer(), world.edge.peer()
    part = (10 * SMALL_READ).to_bytes(4, "big") + bytes(2 * SMALL_READ)
    first.connection.data_received(part)
    second.connection.data_received(part)
    assert [peer.transport.is_reading_paused for peer in (first, second)] == [False, True]
    assert world.edge.runtime.connections.held_bytes == 2 * len(part)
    world.edge.loop.run_ready()
    assert not second.transport.is_reading_paused
    assert world.edge.runtime.connections.held_bytes == 2 * len(part)


def test_connection_that_ends_while_it_waits_for_its_turn_holds_nothing(world: World) -> None:
    first, second = world.beating_peer(), world.beating_peer()
    first.connection.data_received(world.frame * PUSHED)
    second.connection.data_received(world.frame * PUSHED)
    first.connection.eof_received()
    second.connection.abort()
    world.edge.loop.run_ready()
    assert world.edge.runtime.connections.held_bytes == 0
    assert len(world.edge.runtime.request_slices) == 0
