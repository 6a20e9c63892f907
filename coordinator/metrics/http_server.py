"""The HTTP port: /healthz, /readyz and /metrics, served outside of the event loop of the Kafka port.

One thread with a selector reads requests and writes responses, so a connection that sends nothing, or does not read,
delays no other, and a scrape costs the event loop only what `status` reads. GET and HEAD, one request per connection.

A POST is a command: it may take long, so a thread of its own runs it (`Commands`), test.verbs.max.running at a time.

Bounds: http.max.connections at a time, of which a new one replaces the oldest; `LIFETIME_S` for each;
http.max.head.bytes of a request. Requests are answered one after another, /metrics after all others.

/healthz answers 200 while the daemon can read its status; restart it when this fails. /readyz answers 200 once groups
are loaded, and 503 with the reason before; send clients once it succeeds.
"""

from __future__ import annotations

import contextlib
import logging
import selectors
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Final

from coordinator.config.config import Config
from coordinator.config.values import Address, parse_address
from coordinator.metrics.health import ServerStatus
from coordinator.metrics.http_connection import HttpConnection

if TYPE_CHECKING:
    from email.message import Message

LOG: Final = logging.getLogger("coordinator.http")

LIFETIME_S: Final = 10.0
BACKLOG: Final = 64
SWEEP_S: Final = 0.25  # between looks for connections past their deadline
COSTLY: Final = b"/metrics"  # takes tens of ms, so probes are answered first

Status = Callable[[], ServerStatus]


class HttpPortError(Exception):
    """The HTTP port cannot be opened, although it was asked for. One sentence that says what to do."""


# (path, query, headers) to status and JSON; called in a thread of its own, and may block
Commands = Callable[[str, str, "Message"], tuple[HTTPStatus, bytes]]


class HttpServer:
    """`start` binds and serves in the background, `close` ends it. `status` is called from the serving thread."""

    def __init__(self, config: Config, status: Status, commands: Commands | None = None) -> None:
        self._config = config
        self._address = parse_address(config.http_listen)
        self.bound = ""  # host:port, once it serves
        self._status = status
        self._commands = commands
        self._commanding = threading.Semaphore(config.test_verbs_max_running)
        self._listening: socket.socket | None = None
        self._thread: threading.Thread | None = None
        self._is_closing = threading.Event()
        self._waker: tuple[socket.socket, socket.socket] | None = None  # the thread waits for the second to be readable
        self._selector = selectors.DefaultSelector()
        self._open: dict[HttpConnection, None] = {}  # in order of arrival
        self._asked: list[HttpConnection] = []  # connections whose request is complete and not answered yet

    def start(self) -> tuple[str, int]:
        """Bind and serve; returns the bound address. Raises OSError if it cannot be bound."""
        host = self._address.host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listening = socket.create_server((host, self._address.port), family=family, backlog=BACKLOG)
        listening.setblocking(False)
        self._listening = listening
        self._waker = socket.socketpair()
        self._selector.register(listening, selectors.EVENT_READ)
        self._selector.register(self._waker[1], selectors.EVENT_READ, self._waker)
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)
        self._thread.start()
        bound_host, port = listening.getsockname()[:2]
        self.bound = str(Address(str(bound_host), int(port)))
        return str(bound_host), int(port)

    def close(self) -> None:
        """Stop accepting, close all connections. Safe to call twice, and before `start`."""
        listening, thread, waker = self._listening, self._thread, self._waker
        self._listening = self._thread = self._waker = None
        if listening is None or thread is None or waker is None:
            return
        self._is_closing.set()
        waker[0].close()
        thread.join()
        waker[1].close()
        listening.close()
        self._selector.close()

    def _serve(self) -> None:
        while not self._is_closing.is_set():
            try:
                self._round()
            except Exception:
                LOG.exception("a round of the HTTP port failed")
                time.sleep(SWEEP_S)
        for connection in list(self._open):
            self._hang_up(connection)

    def _round(self) -> None:
        """Read and write what the sockets allow now; answer all cheap requests and at most one for /metrics."""
        for key, _ in self._selector.select(0 if self._asked else SWEEP_S):
            connection = key.data
            if self._is_closing.is_set():
                return
            if connection is None:
                self._accept()
            elif connection not in self._open:
                continue  # a new connection replaced it in this round
            elif connection.is_asked:  # its response is being sent
                if not connection.write():
                    self._hang_up(connection)
            elif not connection.read():
                self._hang_up(connection)
            elif connection.is_asked:
                self._selector.unregister(connection.socket)
                if self._is_command(connection) and self._commanding.acquire(blocking=False):
                    del self._open[connection]
                    threading.Thread(target=self._command, args=(connection,), name="http-command", daemon=True).start()
                else:
                    self._asked.append(connection)
        self._asked.sort(key=lambda connection: COSTLY in connection.head[:64])
        while self._asked:
            connection = self._asked.pop(0)
            commands = self._busy if self._is_command(connection) else None
            if not connection.answer(_answer(connection, self._status, commands)):
                self._hang_up(connection)
            else:
                self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)
            if COSTLY in connection.head[:64]:
                break
        now = time.monotonic()
        for connection in [each for each in self._open if each.deadline <= now]:
            self._hang_up(connection)

    def _is_command(self, connection: HttpConnection) -> bool:
        return self._commands is not None and connection.head.startswith(b"POST ")

    def _command(self, connection: HttpConnection) -> None:
        """Run a command to its end and answer it, in a thread of its own."""
        try:
            connection.socket.settimeout(LIFETIME_S)
            connection.socket.sendall(_answer(connection, self._status, self._commands))
        except OSError as error:
            LOG.debug("%s did not take its answer: %s", connection.address, error)
        finally:
            connection.close()
            self._commanding.release()

    def _busy(self, path: str, query: str, headers: Message) -> tuple[HTTPStatus, bytes]:
        """Answer a command for which there is no slot."""
        return (
            HTTPStatus.SERVICE_UNAVAILABLE,
            b'{"error":"%d verbs run already, wait for one to end"}' % self._config.test_verbs_max_running,
        )

    def _accept(self) -> None:
        """Accept the waiting connections; at the limit, each replaces the oldest one."""
        listening = self._listening
        for _ in range(BACKLOG):
            try:
                if listening is None:
                    return
                accepted, address = listening.accept()
            except OSError:
                return
            if len(self._open) >= self._config.http_max_connections:
                self._hang_up(next((each for each in self._open if not each.is_asked), next(iter(self._open))))
            connection = HttpConnection(
                accepted, str(address[0]), time.monotonic() + LIFETIME_S, self._config.http_max_head_bytes
            )
            self._open[connection] = None
            self._selector.register(accepted, selectors.EVENT_READ, connection)

    def _hang_up(self, connection: HttpConnection) -> None:
        self._open.pop(connection, None)
        if connection in self._asked:
            self._asked.remove(connection)
        with contextlib.suppress(KeyError, ValueError):  # not registered while it waits for its response
            self._selector.unregister(connection.socket)
        connection.close()


def open_http(config: Config, status: Status, commands: Commands | None = None) -> HttpServer | None:
    """Serve at `http.listen`. None if that is `off`, or if it is the default and another process has the port."""
    address = config.http_address
    if address is None:
        return None
    server = HttpServer(config, status, commands)
    try:
        host, port = server.start()
    except OSError as error:
        reason = f"the HTTP port {address} cannot be opened ({error.strerror or error})"
        if config.is_http_given:
            raise HttpPortError(
                f"{reason}; choose another with --http host:port, or switch it off with --http off"
            ) from None
        LOG.warning(
            "%s: this daemon serves no /healthz, /readyz and /metrics; give it a port of its own with --http host:port,"
            " or --http off",
            reason,
        )
        return None
    LOG.info("http listen=%s:%d", host, port)
    return server


def _answer(connection: HttpConnection, status: Status, commands: Commands | None) -> bytes:
    """Return the whole response to the request of a connection."""
    # Imported late: the parser of the standard library takes longer to import than all of the above, and a daemon that
    # a test waits for should be up first.
    from coordinator.metrics.http_handler import HttpHandler

    out = BytesIO()
    try:
        HttpHandler(connection.head, out, connection.address, status, commands)
    except Exception:
        LOG.exception("an HTTP request from %s failed", connection.address)
    return out.getvalue()
