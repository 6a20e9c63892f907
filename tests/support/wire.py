"""Raw Kafka over a socket: the requests of a client library, without its logic.

`Wire` is one connection on an event loop. `send` sends a request and returns a future, so a test pipelines by not
awaiting. Responses are matched in order by `protocol.client`; one with another correlation id than that of the oldest
request fails all waiting requests, as in real clients. `send_bytes` sends any bytes. `call` sends one request on a
separate connection, for tests without an event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
from collections import deque
from types import TracebackType
from typing import Any

from coordinator.security.sasl_client import log_in
from protocol import client
from protocol.client import decode_response as decode_answer
from protocol.codec import api_key_of

ANSWER_S = 30.0
MAX_ANSWER_BYTES = 1 << 30
_SIZE = struct.Struct(">i")


def encode_frame(message: Any, version: int, correlation_id: int = 0, client_id: str | None = "wire") -> bytes:
    """Encode a request as it goes over the wire, its size first."""
    return client.encode_frame(message, version, correlation_id, client_id)


class ConnectionEnded(Exception):  # noqa: N818 - an event, not an error of the test
    """The server closed the connection before it answered."""


class Wire:
    """One connection. Use `async with await Wire.connect(port) as wire`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, client_id: str | None) -> None:
        self._reader = reader
        self._writer = writer
        self._client_id = client_id
        self._protocol = client.ClientConnection(client_id, MAX_ANSWER_BYTES)
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self.ended = asyncio.Event()
        self._task = asyncio.create_task(self._read_answers())

    @classmethod
    async def connect(
        cls,
        port: int,
        *,
        client_id: str | None = "wire",
        host: str = "127.0.0.1",
        tls: ssl.SSLContext | None = None,
        login: tuple[str, str, str] | None = None,
    ) -> Wire:
        """Connect, over TLS if there is a context, and log in by (mechanism, user, password) if that is given."""
        reader, writer = await asyncio.open_connection(host, port, limit=1 << 26, ssl=tls)
        wire = cls(reader, writer, client_id)
        if login is not None:
            try:
                await wire.log_in(*login)
            except BaseException:
                await wire.close()
                raise
        return wire

    async def log_in(self, mechanism: str, user: str, password: str) -> int:
        """Log in; returns for how many ms the login lasts."""
        steps = log_in(mechanism, user, password, "nonce")
        answer: Any = None
        try:
            while True:
                request = steps.send(answer)
                answer = await self.request(request, 1)
        except StopIteration as end:
            return int(end.value)

    def certificate(self) -> bytes:
        """Return the certificate of the server, as DER."""
        found: bytes = self._writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return found

    async def __aenter__(self) -> Wire:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._writer.close()
        with contextlib.suppress(OSError):  # the server may have closed it first
            await self._writer.wait_closed()
        self._fail_waiting("the test closed the connection")

    def send(self, message: Any, version: int) -> asyncio.Future[Any]:
        """Send a request; returns the future of its response."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if self.ended.is_set():
            future.set_exception(ConnectionEnded("already ended"))
            return future
        self._writer.write(self._protocol.send(message, version))
        self._waiting.append(future)
        return future

    def send_unanswered(self, message: Any, version: int) -> None:
        """Send a request that gets no response: Produce with acks=0."""
        self._writer.write(encode_frame(message, version, -1, self._client_id))

    async def request(self, message: Any, version: int, *, within_s: float = ANSWER_S) -> Any:
        """Send a request and wait for its response."""
        async with asyncio.timeout(within_s):  # in Python 3.11 `wait_for` may swallow a cancellation
            return await self.send(message, version)

    def send_bytes(self, data: bytes) -> None:
        """Send any bytes, exactly as given."""
        self._writer.write(data)

    async def drain(self) -> None:
        await self._writer.drain()

    async def ends(self, *, within_s: float = 10.0) -> bool:
        """Return True if the server closes the connection in time."""
        try:
            await asyncio.wait_for(self.ended.wait(), within_s)
        except TimeoutError:
            return False
        return True

    async def _read_answers(self) -> None:
        reason: BaseException = ConnectionEnded("the server closed the connection")
        try:
            while data := await self._reader.read(1 << 20):
                for answer in self._protocol.receive(data):
                    future = self._waiting.popleft()
                    if not future.done():
                        future.set_result(answer)
        except OSError:
            pass
        except Exception as error:
            reason = error
        self.ended.set()
        self._fail_waiting(reason)

    def _fail_waiting(self, reason: BaseException | str) -> None:
        error = reason if isinstance(reason, BaseException) else ConnectionEnded(reason)
        for future in self._waiting:
            if not future.done():
                future.set_exception(error)
                future.exception()  # prevents the warning about an exception that was never retrieved
        self._waiting.clear()


def receive_frame(connection: socket.socket) -> bytes:
    """Read one frame from a blocking socket, without its length; empty at end of file."""
    prefix = _receive(connection, 4)
    return _receive(connection, _SIZE.unpack(prefix)[0]) if prefix else b""


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            return b""
        data += more
    return data


def is_closed(connection: socket.socket, *, within_s: float = 10.0) -> bool:
    """Return True if the server closes this connection without another byte."""
    connection.settimeout(within_s)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:  # it closed with bytes of the client still unread
        return True


def call(port: int, message: Any, version: int, *, within_s: float = ANSWER_S) -> Any:
    """Send one request on a separate connection and return its response."""
    with socket.create_connection(("127.0.0.1", port), timeout=within_s) as connection:
        connection.sendall(encode_frame(message, version, 1))
        frame = receive_frame(connection)
    if not frame:
        raise ConnectionEnded(f"the server closed the connection on {type(message).__name__}")
    return decode_answer(api_key_of(message), version, frame)[1]
