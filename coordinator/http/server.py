"""The HTTP port: /healthz, /readyz and /metrics, beside the Kafka port and never in its way.

A thread of its own accepts, and each request gets a short-lived thread, so that a scrape costs the event loop nothing
but what `status` reads. Small on purpose: GET and HEAD, three paths, one request per connection.

Bounds: at most `MAX_REQUESTS` connections at a time (one more is answered 503 at once), `SILENCE_S` between two reads,
`LIFETIME_S` for a whole connection, whatever the client does.

/healthz answers 200 while the daemon can tell its status at all: restart it when this fails. /readyz answers 200 once
groups are loaded and 503 with the reason before: send clients when this succeeds.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from socketserver import BaseServer, TCPServer
from typing import Any, Final, Protocol

from coordinator.config import Config
from coordinator.config_values import parse_address
from coordinator.http.status import ServerStatus

LOG: Final = logging.getLogger("coordinator.http")

MAX_REQUESTS: Final = 16
SILENCE_S: Final = 5.0
LIFETIME_S: Final = 10.0
SWEEP_S: Final = 0.25  # how often over-long connections are looked for; also how long close() takes at most

TEXT: Final = "text/plain; charset=utf-8"
INDEX: Final = "/healthz   is the process alive\n/readyz    does it serve groups\n/metrics   figures for Prometheus\n"
BUSY: Final = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"

Status = Callable[[], ServerStatus]


class HttpPortError(Exception):
    """The HTTP port cannot be opened, although it was asked for. One sentence that says what to do."""


class Answer(Protocol):
    """How one path is answered: from the status and the Accept header to code, content type and body."""

    def __call__(self, status: Status, accept: str) -> tuple[HTTPStatus, str, bytes]: ...


class HttpServer:
    """`start` binds and serves in the background, `close` ends it. `status` is called from the serving threads."""

    def __init__(self, listen: str, status: Status) -> None:
        self._address = parse_address(listen)
        self._status = status
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> tuple[str, int]:
        """The address bound. Raises OSError when it cannot be."""
        server = _Server(self._address.host, self._address.port, self._status)
        self._server = server
        self._thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": SWEEP_S}, name="http", daemon=True
        )
        self._thread.start()
        host, port = server.server_address[:2]
        return str(host), int(port)

    def close(self) -> None:
        """Stop accepting, hang up on whoever is connected. Safe to call twice, and before `start`."""
        server, thread = self._server, self._thread
        self._server = self._thread = None
        if server is None or thread is None:
            return
        server.shutdown()
        thread.join()
        server.server_close()
        server.hang_up()


def open_http(config: Config, status: Status) -> HttpServer | None:
    """Serve where `http.listen` says. None: it says `off`, or it is the default and another process has that port."""
    address = config.http_address
    if address is None:
        return None
    server = HttpServer(config.http_listen, status)
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


class _Server(TCPServer):
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, host: str, port: int, status: Status) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.status = status
        self._lock = threading.Lock()
        self._open: dict[socket.socket, float] = {}  # connection -> when it must be gone, in monotonic seconds
        super().__init__((host, port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            admitted = len(self._open) < MAX_REQUESTS
            if admitted:
                self._open[request] = time.monotonic() + LIFETIME_S
        if not admitted:
            request.setblocking(False)  # a few bytes into an empty send buffer; nobody is waited for
            with contextlib.suppress(OSError):
                request.send(BUSY)
            self.shutdown_request(request)
            return
        threading.Thread(target=self._serve, args=(request, client_address), name="http-request", daemon=True).start()

    def _serve(self, request: socket.socket, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError:
            pass  # the client went away or was hung up on
        except Exception:
            LOG.exception("an HTTP request failed")
        finally:
            with self._lock:
                self._open.pop(request, None)
            self.shutdown_request(request)

    def service_actions(self) -> None:
        """Called by serve_forever between requests: cut connections that outlived their time."""
        now = time.monotonic()
        self.hang_up(lambda deadline: deadline <= now)

    def hang_up(self, overdue: Callable[[float], bool] = lambda deadline: True) -> None:
        with self._lock:
            for request, deadline in self._open.items():
                if overdue(deadline):
                    with contextlib.suppress(OSError):
                        request.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads or writes it

    def handle_error(self, request: Any, client_address: Any) -> None:
        LOG.exception("an HTTP request from %s failed", client_address)


class _Handler(BaseHTTPRequestHandler):
    timeout = SILENCE_S
    server_version = "coordinator"
    sys_version = ""

    def do_GET(self) -> None:
        self._respond(with_body=True)

    def do_HEAD(self) -> None:
        self._respond(with_body=False)

    def _respond(self, *, with_body: bool) -> None:
        answer = ANSWERS.get(self.path.partition("?")[0])
        if answer is None:
            code, kind, body = HTTPStatus.NOT_FOUND, TEXT, f"nothing here; there are:\n{INDEX}".encode()
        else:
            try:
                code, kind, body = answer(_status_of(self.server), self.headers.get("Accept", ""))
            except Exception as error:
                LOG.exception("the status of the daemon could not be read")
                code, kind, body = HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, f"status unknown: {error}\n".encode()
        self.send_response(code)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        LOG.debug("%s " + format, self.address_string(), *args)

    def version_string(self) -> str:
        return self.server_version


def _status_of(server: BaseServer) -> Status:
    if not isinstance(server, _Server):
        raise TypeError(f"{server!r} carries no status")
    return server.status


def _index(status: Status, accept: str) -> tuple[HTTPStatus, str, bytes]:
    return HTTPStatus.OK, TEXT, INDEX.encode()


def _healthz(status: Status, accept: str) -> tuple[HTTPStatus, str, bytes]:
    status()
    return HTTPStatus.OK, TEXT, b"ok\n"


def _readyz(status: Status, accept: str) -> tuple[HTTPStatus, str, bytes]:
    now = status()
    code = HTTPStatus.OK if now.ready else HTTPStatus.SERVICE_UNAVAILABLE
    return code, TEXT, f"{now.reason or ('ready' if now.ready else 'not ready')}\n".encode()


def _metrics(status: Status, accept: str) -> tuple[HTTPStatus, str, bytes]:
    # Here and not above: prometheus_client takes longer to import than all of the above, and the port shall be
    # there, saying 'loading', as early as can be.
    from coordinator.http.exposition import expose

    body, content_type = expose(status().metrics, accept)
    return HTTPStatus.OK, content_type, body


ANSWERS: Final[dict[str, Answer]] = {"/": _index, "/healthz": _healthz, "/readyz": _readyz, "/metrics": _metrics}
