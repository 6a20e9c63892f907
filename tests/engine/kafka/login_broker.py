"""A broker that answers by script and asks for a login, on a port of its own: for what a real one does not do in time.

It keeps Kafka's rules for the order of requests: ApiVersions and a login come first, it ends a connection that is
addressed in another protocol, and it ends one at the first request behind the end of its session (KIP-368).
"""

from __future__ import annotations

import asyncio
import itertools
import math
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Self

from coordinator.config.values import Address
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.headers import decode_request_header, encode_response_header
from protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from protocol.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse

APIS = (ApiKey.API_VERSIONS, ApiKey.METADATA, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE)
FIRST = (ApiVersionsRequest, SaslHandshakeRequest, SaslAuthenticateRequest)
LARGEST = 1 << 20  # of a request; the first bytes of TLS stand for a larger one


class LoginBroker:
    """One broker. Without `mechanism` it wants no login, without `context` no TLS. Create it with `start`."""

    def __init__(self, mechanism: str = "", context: ssl.SSLContext | None = None) -> None:
        self.accepted = b"\0node\0right"  # a token that ends like this is let in
        self.lifetime_ms = 0
        self.seen: list[tuple[int, str]] = []  # connection and name of each request
        self.tokens: list[bytes] = []
        self.before_answer: Callable[[], Awaitable[None]] | None = None  # called before an answer to Metadata
        self._mechanism = mechanism
        self._context = context
        self._numbers = itertools.count()
        self._listener: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> Self:
        self._listener = await asyncio.start_server(self._accept, "127.0.0.1", 0, ssl=self._context)
        return self

    @property
    def address(self) -> Address:
        assert self._listener is not None
        return Address("127.0.0.1", int(self._listener.sockets[0].getsockname()[1]))

    def requests(self, connection: int) -> list[str]:
        return [name for number, name in self.seen if number == connection]

    async def close(self) -> None:
        assert self._listener is not None
        self._listener.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop, number = asyncio.get_running_loop(), next(self._numbers)
        session_end_s = -math.inf if self._mechanism else math.inf
        while (size := int.from_bytes(await reader.readexactly(4), "big")) <= LARGEST:
            frame = await reader.readexactly(size)
            header, position = decode_request_header(frame)
            request = codec.decode_request(header.api_key, header.api_version, frame, position)
            self.seen.append((number, type(request).__name__.removesuffix("Request")))
            if not isinstance(request, FIRST) and loop.time() >= session_end_s:
                return
            answer = await self._answer(request)
            if isinstance(answer, SaslAuthenticateResponse) and not answer.error_code:
                session_end_s = loop.time() + (self.lifetime_ms / 1000 or math.inf)
            body = encode_response_header(header.api_key, header.api_version, header.correlation_id)
            body += codec.encode_response(answer, header.api_version)
            writer.write(len(body).to_bytes(4, "big") + body)

    async def _answer(self, request: Any) -> Any:
        if isinstance(request, ApiVersionsRequest):
            ranges = {key: codec.declared_versions(key) for key in APIS}
            return ApiVersionsResponse(api_keys=[ApiVersion(int(key), r[0], r[-1]) for key, r in ranges.items()])
        if isinstance(request, SaslHandshakeRequest):
            if not self._mechanism:
                return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
            is_known = request.mechanism == self._mechanism
            code = ErrorCode.NONE if is_known else ErrorCode.UNSUPPORTED_SASL_MECHANISM
            return SaslHandshakeResponse(error_code=code, mechanisms=[self._mechanism])
        if isinstance(request, SaslAuthenticateRequest):
            self.tokens.append(request.auth_bytes)
            if not request.auth_bytes.endswith(self.accepted):
                return SaslAuthenticateResponse(
                    error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message="invalid credentials"
                )
            return SaslAuthenticateResponse(session_lifetime_ms=self.lifetime_ms)
        assert isinstance(request, MetadataRequest)
        if self.before_answer is not None:
            await self.before_answer()
        host, port = self.address
        return MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host=host, port=port)])
