"""Rules of the connections between nodes, over real sockets: only a refusal after a connection is reported."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from coordinator.core.cluster import ClusterNode
from coordinator.core.live_cluster import LiveNode, NodeState
from coordinator.membership.peer_connections import PeerConnections
from coordinator.server.node_links import NodeLinks
from tests.support.eventually import eventually_async


class Peer:
    """The TCP port of another node."""

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.socket.bind(("127.0.0.1", 0))
        self.port: int = self.socket.getsockname()[1]
        self.accepted: list[asyncio.StreamWriter] = []
        self.received = b""
        self._server: asyncio.Server | None = None

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._accept, sock=self.socket)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted.append(writer)
        self.received += await reader.read(1)
        writer.close()

    async def end(self) -> None:
        if self._server is not None:
            self._server.close()
        self.socket.close()
        await asyncio.sleep(0)  # a connection that the loop has accepted last comes to `_accept`
        await asyncio.sleep(0)
        self.drop()
        await asyncio.sleep(0)  # sockets are closed in the next round of the loop

    def drop(self) -> None:
        for each in self.accepted:
            each.transport.abort()

    def node(self, host: str = "127.0.0.1") -> LiveNode:
        return LiveNode(ClusterNode(2, host, self.port), "b1", NodeState.UP, is_fresh=True)


@pytest.fixture
async def peer() -> AsyncIterator[Peer]:
    peer = Peer()
    yield peer
    await peer.end()


class Reports:
    """Connections whose refusals are collected."""

    def __init__(self, *, is_dead: Callable[[int], bool]) -> None:
        self.refused: list[LiveNode] = []
        self._is_dead = is_dead
        self.connections = PeerConnections(self._note, NodeLinks().open_peer)

    async def _note(self, node: LiveNode) -> bool:
        self.refused.append(node)
        return self._is_dead(len(self.refused))


@pytest.fixture
async def reports() -> AsyncIterator[Reports]:
    reports = Reports(is_dead=lambda count: count == 3)
    yield reports
    await reports.connections.close()


async def test_a_port_that_refuses_after_a_connection_is_reported_until_the_node_is_dead(
    peer: Peer, reports: Reports
) -> None:
    await peer.listen()
    reports.connections.follow([peer.node()])
    await eventually_async(lambda: peer.accepted, "the connection is open")
    assert not reports.refused
    await peer.end()
    await eventually_async(lambda: len(reports.refused) == 3, "the refusals are reported")
    await eventually_async(lambda: len(asyncio.all_tasks()) == 1, "no more is tried for a dead node")
    assert set(reports.refused) == {peer.node()}


async def test_a_name_with_several_addresses_is_reported_too(peer: Peer, reports: Reports) -> None:
    """The name `localhost` has ::1 and 127.0.0.1 on most machines; the peer listens at one of them."""
    await peer.listen()
    reports.connections.follow([peer.node("localhost")])
    await eventually_async(lambda: peer.accepted, "the connection is open")
    await peer.end()
    await eventually_async(lambda: len(reports.refused) == 3, "the refusals are reported")


async def test_a_port_that_always_refused_is_not_reported(peer: Peer, reports: Reports) -> None:
    reports.connections.follow([peer.node()])
    await asyncio.sleep(0.2)  # several tries
    assert not reports.refused
    await peer.listen()
    await eventually_async(lambda: peer.accepted, "the connection is opened when the port listens")


async def test_a_connection_that_the_peer_closes_is_opened_again_and_carries_nothing(
    peer: Peer, reports: Reports
) -> None:
    await peer.listen()
    reports.connections.follow([peer.node()])
    for count in range(1, 5):
        await eventually_async(lambda: len(peer.accepted) == count, "the connection is open")  # noqa: B023
        peer.drop()
    assert not reports.refused and peer.received == b""


async def test_a_node_that_is_not_followed_any_more_is_disconnected(peer: Peer, reports: Reports) -> None:
    await peer.listen()
    reports.connections.follow([peer.node()])
    await eventually_async(lambda: peer.accepted, "the connection is open")
    reports.connections.follow([])
    await eventually_async(lambda: peer.accepted[0].is_closing(), "the connection has ended")
    await peer.end()
    assert not reports.refused


async def test_a_connection_that_the_peer_resets_at_once_is_closed_and_opened_again(
    peer: Peer, reports: Reports, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The reset arrives between the end of the connect and the creation of the transport, which has no peer then."""
    loop = asyncio.get_running_loop()
    connect = loop.sock_connect
    was_reset: list[socket.socket] = []

    async def connect_and_be_reset(sock: socket.socket, address: Any) -> None:
        await connect(sock, address)
        if len(was_reset) < 3:
            accepted, _ = peer.socket.accept()
            accepted.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            accepted.close()
            was_reset.append(sock)

    monkeypatch.setattr(loop, "sock_connect", connect_and_be_reset)
    peer.socket.listen()
    reports.connections.follow([peer.node()])
    await eventually_async(lambda: len(was_reset) == 3, "the connection is opened again")
    await peer.listen()
    await eventually_async(lambda: peer.accepted, "the connection is open")
    assert [sock.fileno() for sock in was_reset] == [-1, -1, -1], "they are closed"
    assert not reports.refused
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


async def test_an_error_of_a_report_is_logged_and_the_watch_goes_on(
    peer: Peer, caplog: pytest.LogCaptureFixture
) -> None:
    def is_dead(count: int) -> bool:
        if count == 1:
            raise RuntimeError("a bug")
        return count == 3

    reports = Reports(is_dead=is_dead)
    await peer.listen()
    reports.connections.follow([peer.node()])
    await eventually_async(lambda: peer.accepted, "the connection is open")
    await peer.end()
    await eventually_async(lambda: len(reports.refused) == 3, "the refusals are reported")
    (line,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "could not be watched, this is tried again" in line.getMessage()
    await reports.connections.close()
