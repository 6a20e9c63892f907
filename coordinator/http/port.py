"""The HTTP port as the daemon sees it: a socket, and a thread with an event loop of its own that serves it.

The loop of the Kafka port is not delayed by HTTP clients: a scrape costs it only what `status` reads. The socket
listens from `start` on. The web framework is imported by the thread when the first client connects: a daemon that no
HTTP client asks starts as fast and takes as little memory as one without the port.
"""

from __future__ import annotations

import asyncio
import logging
import selectors
import socket
import threading
from typing import TYPE_CHECKING, Final

from coordinator.config.listeners import HTTP
from coordinator.config.values import Address, is_loopback
from coordinator.processes.wall_clock import wall_ms

if TYPE_CHECKING:
    from coordinator.config.config import Config
    from coordinator.http.parts import HttpParts
    from coordinator.security.tls_listener import TlsListener

LOG: Final = logging.getLogger("coordinator.http")

BACKLOG: Final = 64


class HttpPortError(Exception):
    """The HTTP port cannot be opened, although it was asked for. One sentence that says what to do."""


class HttpPort:
    """`start` binds and serves in the background, `close` ends it."""

    def __init__(self, address: Address, config: Config, parts: HttpParts, tls: TlsListener | None = None) -> None:
        self._address = address
        self._tls = tls
        self._config = config
        self._parts = parts
        self.bound = ""  # host:port, once it serves
        self._thread: threading.Thread | None = None
        self._waker: tuple[socket.socket, socket.socket] | None = None  # the second is readable once `close` is called

    def start(self) -> tuple[str, int]:
        """Bind and serve; returns the bound address. Raises OSError if it cannot be bound."""
        host = self._address.host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, self._address.port), family=family, backlog=BACKLOG)
        listening.setblocking(False)
        self._waker = socket.socketpair()
        self._waker[1].setblocking(False)
        self._thread = threading.Thread(target=self._run, args=(listening, self._waker[1]), name="http", daemon=True)
        self._thread.start()
        bound_host, port = listening.getsockname()[:2]
        self.bound = str(Address(str(bound_host), int(port)))
        return str(bound_host), int(port)

    def close(self) -> None:
        """Stop accepting and close all connections. Safe to call twice, and before `start`."""
        thread, waker = self._thread, self._waker
        self._thread = self._waker = None
        if thread is None or waker is None:
            return
        waker[0].close()
        thread.join()

    def _run(self, listening: socket.socket, closing: socket.socket) -> None:
        with listening, closing:
            with selectors.DefaultSelector() as selector:  # select() takes no file descriptor above 1023
                selector.register(listening, selectors.EVENT_READ)
                selector.register(closing, selectors.EVENT_READ)
                if any(key.fileobj is closing for key, _ in selector.select()):
                    return
            from coordinator.http.service import serve  # late: see above

            try:
                asyncio.run(serve(listening, closing, self._config, self._parts, self._tls))
            except Exception:
                LOG.exception("the HTTP port failed; it serves no more, restart the daemon to open it again")


def open_http(config: Config, parts: HttpParts) -> HttpPort | None:
    """Serve at `http.listen`. None if that is `off`, or if it is the default and another process has the port."""
    address = config.http_address
    if address is None:
        return None
    server = HttpPort(address, config, parts, _tls_of(config))
    try:
        host, port = server.start()
    except OSError as error:
        reason = f"the HTTP port {address} cannot be opened ({error.strerror or error})"
        if config.is_http_given:
            raise HttpPortError(
                f"{reason}; choose another with --http host:port, or switch it off with --http off"
            ) from None
        LOG.warning(
            "%s: this daemon serves no console, /healthz, /readyz and /metrics; give it a port of its own with --http"
            " host:port, or --http off",
            reason,
        )
        return None
    LOG.info("http listen=%s:%d", host, port)
    if not config.http_token and not is_loopback(host):
        LOG.warning(
            "the HTTP port %s:%d shows groups and their members to every machine that reaches it; set http.token",
            host,
            port,
        )
    return server


def tls_config(config: Config) -> Config | None:
    """Return the settings of the TLS of the port; None if `listener.name.http.ssl.*` gives it no key."""
    own = config.of_listener(HTTP)
    return None if own is config or not (own.ssl_keystore_location or own.ssl_keystore_key) else own


def _tls_of(config: Config) -> TlsListener | None:
    """Return the TLS of the port. Raises HttpPortError."""
    own = tls_config(config)
    if own is None:
        return None
    from coordinator.security.tls_listener import TlsListener  # late: rarely needed
    from coordinator.security.tls_settings import TlsError

    try:
        return TlsListener(HTTP, own, wall_ms)
    except TlsError as error:
        raise HttpPortError(f"listener.name.http: {error}") from None
