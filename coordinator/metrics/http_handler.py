"""One request of the HTTP port: parses it, and writes the response."""

from __future__ import annotations

import logging
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from io import BytesIO
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from coordinator.metrics.http_server import Commands, Status

LOG: Final = logging.getLogger("coordinator.http")

TEXT: Final = "text/plain; charset=utf-8"
INDEX: Final = "/healthz   is the process alive\n/readyz    does it serve groups\n/metrics   figures for Prometheus\n"


class Responder(Protocol):
    """Answers one path: takes the status and the Accept header, returns code, content type and body."""

    def __call__(self, status: Status, accept: str) -> tuple[HTTPStatus, str, bytes]: ...


class HttpHandler(BaseHTTPRequestHandler):
    """The parser and writer of the standard library, on two buffers instead of a socket."""

    server_version = "coordinator"
    sys_version = ""

    def __init__(self, head: bytes, out: BytesIO, address: str, status: Status, commands: Commands | None) -> None:
        self.rfile = BytesIO(head)
        self.wfile = out
        self.client_address = (address, 0)
        self._status = status
        self._commands = commands
        self.close_connection = True
        self.handle_one_request()

    def do_GET(self) -> None:
        self._respond(with_body=True)

    def do_HEAD(self) -> None:
        self._respond(with_body=False)

    def do_POST(self) -> None:
        path, _, query = self.path.partition("?")
        if self._commands is None:
            code, body = HTTPStatus.NOT_FOUND, b'{"error":"no verbs here; start with --profile test"}'
        else:
            code, body = self._commands(path, query, self.headers)
        self._send(code, "application/json", body + b"\n", with_body=True)

    def _respond(self, *, with_body: bool) -> None:
        answer = ANSWERS.get(self.path.partition("?")[0])
        if answer is None:
            code, kind, body = HTTPStatus.NOT_FOUND, TEXT, f"nothing here; there are:\n{INDEX}".encode()
        else:
            try:
                code, kind, body = answer(self._status, self.headers.get("Accept", ""))
            except Exception as error:
                LOG.exception("the status of the daemon could not be read")
                code, kind, body = HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, f"status unknown: {error}\n".encode()
        self._send(code, kind, body, with_body=with_body)

    def _send(self, code: HTTPStatus, kind: str, body: bytes, *, with_body: bool) -> None:
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
    # Imported late: prometheus_client takes longer to import than all of the above, and the port should answer
    # "loading" as early as possible.
    from coordinator.metrics.exposition import expose

    body, content_type = expose(status().metrics, accept)
    return HTTPStatus.OK, content_type, body


ANSWERS: Final[dict[str, Responder]] = {"/": _index, "/healthz": _healthz, "/readyz": _readyz, "/metrics": _metrics}
