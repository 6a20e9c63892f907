"""The bounds of logins: their tokens and time, those that wait for a thread, and the failures that are remembered."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from coordinator.config.config import Config
from coordinator.core.effects import Ticket
from coordinator.security.credentials import Credentials
from coordinator.security.mechanisms import ListenerMechanisms
from coordinator.security.sasl_server import Blocking, SaslAuthenticationError
from coordinator.server import logins as module
from coordinator.server.api.node import Node
from coordinator.server.api.table import HANDLERS
from coordinator.server.connection import Connection
from coordinator.server.listener import ServedListener
from coordinator.server.logins import Logins
from protocol.api_keys import ApiKey
from tests.support.edge import Edge, Transport

HERE = "192.0.2.1"


class FakeSession:
    """A connection. `evaluate`: what its exchange does with a token."""

    peer = f"{HERE}:1"
    is_closed = False

    def __init__(self, evaluate: Callable[[bytes], Any], address: str = HERE, user: str = "alice") -> None:
        self.address = address
        self.closed: list[str] = []
        server = SimpleNamespace(mechanism="SCRAM-SHA-256", claimed=user, evaluate=evaluate, is_complete=False)
        self.authenticator = SimpleNamespace(exchange=lambda: server, why_refused=str)

    def close(self, reason: str, *, kind: str) -> None:
        self.closed.append(reason)

    def answer(self, ticket: Any, response: Any) -> None: ...

    def await_login(self, timer: Any) -> None: ...


class FakeNode:
    """Logins, with timers that fire at once."""

    def __init__(self) -> None:
        self.logins = Logins(
            Config(),
            HANDLERS,
            asyncio.get_running_loop(),
            now_ms=lambda: 1000,
            wall_ms=lambda: 0,
            call_later=self._call_later,
            end_of_event=lambda: None,
        )

    def _call_later(self, _delay_ms: int, callback: Callable[[], None]) -> asyncio.TimerHandle:
        callback()
        return cast("asyncio.TimerHandle", None)

    def take(self, session: FakeSession, token: bytes = b"") -> FakeSession:
        self.logins.take_token(cast("Any", SimpleNamespace(session=session, version=2)), token)
        return session

    def held_ms(self, user: str) -> int:
        return self.logins._held_ms(HERE, user)


def go_on(_token: bytes) -> bytes:
    return b""


def refuse(_token: bytes) -> bytes:
    raise SaslAuthenticationError("wrong")


async def test_a_token_is_as_long_as_allowed_and_no_byte_longer() -> None:
    node = FakeNode()
    assert node.take(FakeSession(go_on), bytes(8_192)).closed == []
    (reason,) = node.take(FakeSession(go_on), bytes(8_193)).closed
    assert "longer than 8192 bytes" in reason


@pytest.mark.parametrize(
    ("bound", "addresses"),
    [("MOST_WAITING", [HERE, "192.0.2.2", "192.0.2.3"]), ("MOST_WAITING_OF_ADDRESS", [HERE, HERE, HERE])],
)
async def test_as_many_logins_wait_for_the_thread_as_allowed_and_one_more_is_closed(
    monkeypatch: pytest.MonkeyPatch, bound: str, addresses: list[str]
) -> None:
    monkeypatch.setattr(module, bound, 2)
    node, may_end = FakeNode(), threading.Event()

    def hash_slowly() -> bytes:
        may_end.wait(10)
        return b""

    try:
        sessions = [node.take(FakeSession(lambda _: Blocking(hash_slowly), address)) for address in addresses]
        assert [len(each.closed) for each in sessions] == [0, 0, 1]
        assert "too many logins wait already" in sessions[-1].closed[0]
    finally:
        may_end.set()
        node.logins.close()


async def test_failures_of_as_many_users_are_remembered_as_allowed_and_one_more_replaces_the_oldest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MOST_FAILURES", 2)
    node = FakeNode()
    for user in ("ann", "bob") * module.FREE_FAILURES:
        node.take(FakeSession(refuse, user=user))
    assert node.held_ms("ann") == node.held_ms("bob") > 0
    node.take(FakeSession(refuse, user="cid"))
    assert node.held_ms("ann") == 0
    assert node.held_ms("bob") > 0


async def test_a_login_is_held_back_longer_each_time_up_to_the_bound() -> None:
    node, held = FakeNode(), list[int]()
    for _ in range(12):
        node.take(FakeSession(refuse))
        held.append(node.held_ms("alice"))
    assert held[:5] == [0, 0, 200, 400, 800]
    assert held[-1] == held[-2] == Config().connection_failed_authentication_delay_max_ms


def unanswered(node: Node, request: Any, ticket: Ticket, now_ms: int) -> None: ...


class SaslPeer:
    """A client on a listener with SASL that has only connected."""

    def __init__(self) -> None:
        rows = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
        config = replace(Config(), sasl_enabled_mechanisms="PLAIN")
        mechanisms = ListenerMechanisms(config, Credentials({}), lambda: "nonce", None)
        self.edge = Edge(dict.fromkeys(rows, unanswered))
        self.connection = Connection(self.edge.runtime, ServedListener("OUT", "SASL_PLAINTEXT", mechanisms))
        self.transport = Transport(self.edge.loop, self.connection)
        self.connection.connection_made(self.transport)

    def is_closed_after(self, milliseconds: int) -> bool:
        self.edge.loop.advance(milliseconds / 1000)
        self.edge.loop.run_ready()
        return self.transport.is_closed


def test_a_login_takes_as_long_as_allowed_and_no_millisecond_longer() -> None:
    peer = SaslPeer()
    assert not peer.is_closed_after(29_999)
    assert peer.is_closed_after(1)


def test_a_request_before_the_login_is_as_large_as_allowed_and_no_byte_larger() -> None:
    for size, is_closed in ((524_288, False), (524_289, True)):
        peer = SaslPeer()
        peer.connection.data_received(size.to_bytes(4, "big"))
        assert peer.is_closed_after(1000) is is_closed
