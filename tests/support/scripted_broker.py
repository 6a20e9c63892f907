"""A Kafka broker that answers by script: for clients of ours that must get along with clusters and old versions.

Not a fake of our own server, but of the others: brokers of another release, a cluster of several nodes, a coordinator
that is still loading, something that is no broker at all. A script maps a request class to a function from
(request, version) to the response; each broker offers the versions it is given, and real frames go over real sockets.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from protocol import codec
from protocol.api_keys import ApiKey
from protocol.headers import decode_request_header, encode_response_header
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.schema import message_spec

Script = Mapping[type[Any], Callable[[Any, int], Any]]


class ScriptedBroker:
    """One node. `seen` holds every request with the version it came in."""

    def __init__(self, script: Script | None = None, versions: Mapping[ApiKey, tuple[int, int]] | None = None) -> None:
        self.script: dict[type[Any], Callable[[Any, int], Any]] = dict(script or {})
        self.versions = dict(versions or {})
        self.seen: list[tuple[Any, int]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept, name="scripted-broker", daemon=True)

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def versions_seen(self, request: type[Any]) -> list[int]:
        return [version for each, version in self.seen if isinstance(each, request)]

    def __enter__(self) -> ScriptedBroker:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes accept, which close alone does not
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def _accept(self) -> None:
        serving: list[threading.Thread] = []
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                break
            self._open.append(connection)
            serving.append(threading.Thread(target=self._serve, args=(connection,), daemon=True))
            serving[-1].start()
        for thread in serving:
            thread.join(10)

    def _serve(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while (frame := _read_frame(connection)) is not None:
                header, position = decode_request_header(frame)
                request = codec.decode_request(header.api_key, header.api_version, frame, position)
                answer = self._answer(request, header.api_version)
                body = encode_response_header(header.api_key, header.api_version, header.correlation_id)
                body += codec.encode_response(answer, header.api_version)
                connection.sendall(len(body).to_bytes(4, "big") + body)

    def _answer(self, request: Any, version: int) -> Any:
        if isinstance(request, ApiVersionsRequest):
            return ApiVersionsResponse(api_keys=[ApiVersion(int(k), low, high) for k, (low, high) in self._offered()])
        self.seen.append((request, version))
        return self.script[type(request)](request, version)

    def _offered(self) -> list[tuple[ApiKey, tuple[int, int]]]:
        """Return the ranges of the APIs in the script: all declared versions, unless the test says otherwise."""
        offered = {}
        for request in self.script:
            key = message_spec(request).api_key
            if key is not None:
                declared = codec.declared_versions(key)
                offered[ApiKey(key)] = (declared[0], declared[-1])
        return list({**offered, **self.versions}.items())


def _read_frame(connection: socket.socket) -> bytes | None:
    data = b""
    while len(data) < 4 or len(data) < 4 + int.from_bytes(data[:4], "big"):
        more = connection.recv(1 << 16)
        if not more:
            return None
        data += more
    return data[4:]
