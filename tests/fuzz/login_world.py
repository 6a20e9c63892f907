"""A server whose listeners have SASL, in memory, and the rules that hold whatever strangers send to it."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from random import Random
from typing import Any, Final

from coordinator.core.coordinator import GroupCoordinator
from coordinator.core.effects import Ticket
from coordinator.security.credentials import Credentials
from coordinator.security.jwks import Jwks
from coordinator.security.mechanisms import ListenerMechanisms
from coordinator.security.oauthbearer import OAUTHBEARER
from coordinator.security.scram import BY_NAME, credential_of
from coordinator.security.token_validator import TokenValidator
from coordinator.server.api.handler import Handle
from coordinator.server.api.table import HANDLERS
from coordinator.server.connection import Connection
from coordinator.server.listener import ServedListener
from coordinator.server.runtime import Runtime
from protocol.api_keys import ApiKey
from tests.conformance import sasl_script as sasl
from tests.fuzz.login_judge import Lines, Thread, Watched, WatchedLogins
from tests.fuzz.strangers import ISSUED, Stranger
from tests.support.edge import Edge, Loop, Transport
from tests.support.tokens import ISSUER

OPEN_APIS: Final = (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
LIFETIMES_MS: Final = (0, sasl.MAX_REAUTH_MS)  # one listener for each
PAUSES_S: Final = (0.0, 0.0, 0.0, 0.05, 0.3, 1.1, 2.2)
IMPATIENCE: Final = 0.1  # share of the pauses after which a stranger that is not read leaves
START_MS: Final = 3_600_000
ROUND_S: Final = 40.0  # longer than connection.login.timeout.ms and the longest delay of a failure
FORGOTTEN_S: Final = 70.0  # and then the failures of an address are forgotten
_DETAILS: Final = re.compile(rf"(['\"(:=]|-?\d).*|\b({'|'.join(key.name for key in ApiKey)})\b( v)?")


class _Transport(Transport):
    def __init__(self, loop: Loop, connection: Connection, peer: tuple[str, int]) -> None:
        super().__init__(loop, connection)
        self.peer = peer

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.peer if name == "peername" else default


class _Edge(Edge):
    """An edge whose APIs have their versions and their shapes, as in a server."""

    def _runtime(self, core: GroupCoordinator | None) -> Runtime:
        self.handlers = {key: HANDLERS[key]._replace(handle=row.handle) for key, row in self.handlers.items()}
        return super()._runtime(core)


class _Guest:
    """A stranger and its connection."""

    def __init__(self, world: World, stranger: Stranger, chance: Random, number: int) -> None:
        self.stranger = stranger
        self.reads = stranger.reads()
        self.watched = Watched(chance.choice(world.mechanisms), stranger.exchange, world.wrong)
        self.connection = Connection(world.edge.runtime, ServedListener("SASL", "SASL_PLAINTEXT", self.watched))
        address = chance.choice(("127.0.0.1", f"10.0.{chance.randrange(256)}.{chance.randrange(256)}"))
        self.transport = _Transport(world.edge.loop, self.connection, (address, number))
        self.peer = f"{address}:{number}"
        self.connection.connection_made(self.transport)


class World:
    """A runtime with two listeners. `outcomes` counts frames, and `connections` connections, by how these ended."""

    def __init__(self) -> None:
        self.wrong: list[str] = []
        self.served = 0  # requests of clients that have logged in
        self.slowest_s, self.slowest = 0.0, b""  # of the processor for one read, and how it begins
        self.outcomes: Counter[str] = Counter()
        self.connections: Counter[str] = Counter()
        self.thread = Thread(self.wrong)
        self.lines = Lines(self.wrong)
        self.edge = _Edge(
            {ApiKey(key): self._handler(ApiKey(key), api.handle) for key, api in HANDLERS.items()}, now_ms=START_MS
        )
        runtime, loop = self.edge.runtime, self.edge.loop
        runtime.logins = self.logins = WatchedLogins(
            runtime.config,
            self.edge.handlers,
            self.thread,  # type: ignore[arg-type]
            now_ms=runtime.now_ms,
            wall_ms=runtime.wall_ms,
            call_later=runtime.call_later,
            end_of_event=runtime.end_of_event,
        )
        rows = BY_NAME.values()
        credentials = Credentials(
            {user: {row: credential_of(row, word, b"salt", 4096) for row in rows} for user, word in sasl.USERS.items()}
        )
        keys = Jwks(
            "file:///keys",
            refresh_ms=10**9,
            retry_backoff_ms=100,
            retry_backoff_max_ms=1000,
            fetch=lambda _: ISSUED.jwks(),
            monotonic=loop.time,
        )
        keys.load()
        tokens = TokenValidator(keys, now_ms=runtime.wall_ms, expected_issuer=ISSUER)
        names = ",".join(("PLAIN", *BY_NAME, OAUTHBEARER))
        nonces = count()
        self.mechanisms = [
            ListenerMechanisms(
                replace(runtime.config, sasl_enabled_mechanisms=names, connections_max_reauth_ms=lifetime_ms),
                credentials,
                lambda: f"nonce{next(nonces)}",
                tokens,
            )
            for lifetime_ms in LIFETIMES_MS
        ]

    def _handler(self, key: ApiKey, usual: Handle) -> Handle:
        def serve(node: Any, request: Any, ticket: Ticket, now_ms: int) -> None:
            self.served += 1
            if not ticket.session.listener.mechanisms.user:
                self.wrong.append(f"{key.name} of a client that has not logged in reached its handler")
            ticket.session.answer(ticket, None)

        return usual if key in OPEN_APIS else serve

    def __enter__(self) -> World:
        logging.getLogger().addHandler(self.lines)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self.lines)
        self.logins.close()

    def meet(self, strangers: Sequence[Stranger], chance: Random) -> None:
        """Let strangers send all that they have, until each is gone. AssertionError says which rule was broken."""
        guests = [_Guest(self, stranger, chance, number) for number, stranger in enumerate(strangers)]
        talking = list(guests)
        while talking:
            guest = chance.choice(talking)
            data = b""
            if not guest.transport.is_closed and not guest.transport.is_reading_paused:
                data = next(guest.reads, b"")
            if data:
                self._deliver(guest, data)
            elif not guest.transport.is_reading_paused or chance.random() < IMPATIENCE:
                talking.remove(guest)
            self._pass(chance)
            guest.stranger.hear(guest.transport.received)
        self._end(guests, chance)
        assert not self.wrong, self.wrong
        for guest in guests:
            reason = _DETAILS.sub("", self.lines.reasons.pop(guest.peer, "")).strip()
            outcome = reason or ("served, and it left" if guest.watched.user else "it left")
            self.outcomes[outcome] += guest.stranger.sent
            self.connections[outcome] += 1

    def _deliver(self, guest: _Guest, data: bytes) -> None:
        started_s = time.thread_time()
        guest.connection.data_received(data)
        took_s = time.thread_time() - started_s
        if took_s > self.slowest_s:
            self.slowest_s, self.slowest = took_s, data[:60]

    def _pass(self, chance: Random) -> None:
        """Let some time pass: a thread may check logins, and timers may fire."""
        self.edge.loop.run_ready()
        while self.thread.jobs and chance.random() < 0.7:
            self.thread.work()
        self.edge.loop.advance(chance.choice(PAUSES_S))
        self.edge.loop.run_ready()

    def _end(self, guests: Sequence[_Guest], chance: Random) -> None:
        """Have the guests leave, or wait to be closed. Nothing of them may be left."""
        for guest in guests:
            way = chance.randrange(3)
            if way == 0 and not guest.transport.is_closed:
                guest.connection.eof_received()
                guest.transport.close()
            elif way == 1:
                guest.transport.abort()
        self.edge.loop.run_ready()
        while self.thread.jobs:
            self.thread.work()
        self.edge.loop.advance(chance.choice((ROUND_S, FORGOTTEN_S)))
        self.edge.loop.run_ready()
        for guest in guests:
            if not guest.transport.is_closed:
                assert guest.watched.user, f"{guest.connection} may stay without a login"
                assert not guest.transport.is_reading_paused, f"{guest.connection} is read no more, and not closed"
                guest.transport.abort()
        self.edge.loop.run_ready()
        runtime = self.edge.runtime
        left = {
            "connections": len(runtime.connections),
            "bytes of requests": runtime.connections.held_bytes,
            "bytes of answers": runtime.connections.unsent_bytes,
            "timers": sum(not timer.is_cancelled for _, _, timer, *_ in self.edge.loop._timers),
            "turns": len(runtime.time_slices) + len(runtime.request_slices),
            "answers": len(runtime.dirty) + sum(guest.connection.is_busy for guest in guests),
            "logins": len(self.thread.jobs) + sum(each.waiting.total() for each in self.logins._threads.values()),
        }
        assert not any(left.values()), f"left behind: {left}"
        self.edge.loop._timers.clear()  # those that were cancelled; other loops forget them at once
