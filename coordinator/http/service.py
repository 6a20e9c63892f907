"""The HTTP port's event loop: an aiohttp server with bounds on its connections.

Bounds: http.max.connections at a time, of which a new one replaces the oldest that is not being answered, else the
oldest; `LIFETIME_S` for a request to arrive and for its answer to be read; http.max.line.bytes of
its path and of each of its headers, of which it has 128 at most.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from aiohttp import web

from coordinator.http.routes import application

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.http.parts import HttpParts
    from coordinator.security.tls_listener import TlsListener

LOG: Final = logging.getLogger("coordinator.http")

LIFETIME_S = 10.0  # not Final, because tests change it
IDLE_S: Final = 5.0  # a connection without a request
SWEEP_S: Final = 0.25  # between looks for connections past their deadline
ACCEPTED_S: Final = 0.005  # after which a new connection is counted: asyncio accepts many at once
HANDLED_S: Final = 0.5  # that a stop waits for answers


async def serve(
    listening: socket.socket, closing: socket.socket, config: Config, parts: HttpParts, tls: TlsListener | None = None
) -> None:
    """Serve until `closing` can be read."""
    loop = asyncio.get_running_loop()
    bounds = Bounds(config.http_max_connections)
    app = application(config, parts)
    app.middlewares.insert(0, bounds.note)
    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_QuietLogger(LOG),
        keepalive_timeout=IDLE_S,
        max_line_size=config.http_max_line_bytes,
        max_field_size=config.http_max_line_bytes,
        handler_cancellation=True,
        shutdown_timeout=HANDLED_S,
    )
    await runner.setup()
    server = runner.server
    assert server is not None

    def accept() -> asyncio.Protocol:
        loop.call_later(ACCEPTED_S, bounds.make_room, server)
        return server()

    listener = await loop.create_server(accept, sock=listening, ssl=None if tls is None else _newest_context(tls))
    renewing = None if tls is None else loop.create_task(tls.renew())
    try:
        async with bounds.sweeping(server):
            await loop.sock_recv(closing, 1)
    finally:
        listener.close()
        if renewing is not None:
            renewing.cancel()
        await runner.cleanup()


def _newest_context(tls: TlsListener) -> ssl.SSLContext:
    """Return a context that hands each handshake over to the newest one of `tls`."""
    first = tls.context

    def choose(handshake: ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        handshake.context = tls.context

    first.sni_callback = choose
    return first


class Bounds:
    """The connections of the port: how many there are, and for how long each has been busy with one request."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._since: dict[web.RequestHandler, float] = {}  # when its request began to arrive, or its answer to leave
        self._handled: dict[web.RequestHandler, int] = {}  # requests that are handled now

    @web.middleware
    async def note(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Note that a request is handled, for as long as that takes."""
        protocol = request.protocol
        self._handled[protocol] = self._handled.get(protocol, 0) + 1
        try:
            return await handler(request)
        finally:
            self._since[protocol] = time.monotonic()
            if self._handled[protocol] == 1:
                del self._handled[protocol]
            else:
                self._handled[protocol] -= 1

    def make_room(self, server: web.Server) -> None:
        """Close connections if there are more than allowed: the oldest that are not being answered, else the oldest."""
        living = [each for each in server.connections if each.transport is not None]
        excess = len(living) - self._most
        if excess > 0:
            living.sort(key=lambda each: each in self._handled)
            for each in living[:excess]:
                each.force_close()

    @asynccontextmanager
    async def sweeping(self, server: web.Server) -> AsyncIterator[None]:
        """Close connections past their deadline, until the block ends."""
        task = asyncio.create_task(self._sweep(server))
        try:
            yield
        finally:
            task.cancel()

    async def _sweep(self, server: web.Server) -> None:
        while True:
            await asyncio.sleep(min(SWEEP_S, LIFETIME_S / 2))
            now = time.monotonic()
            connections = server.connections
            self._since = {each: self._since.get(each, now) for each in connections}
            for each in connections:
                if each not in self._handled and now - self._since[each] >= LIFETIME_S:
                    each.force_close()


class _QuietLogger(logging.LoggerAdapter[logging.Logger]):
    """Requests that are malformed are no errors of the daemon: they are told at debug level."""

    def log(self, level: int, msg: object, *args: object, **kwargs: object) -> None:
        super().log(logging.DEBUG, msg, *args, **kwargs)  # type: ignore[arg-type]
