"""The client's half of a connection, without I/O: requests become frames, and received bytes become responses.

A broker answers the requests of a connection in their order, so the response that comes next belongs to the oldest
request without one; its correlation id must say the same, as in Kafka's `NetworkClient` and `InFlightRequests`.
The caller owns the socket. Every error is a `ProtocolError`, after which the connection must be closed.
"""

from __future__ import annotations

import struct
from collections import deque
from typing import Final

from protocol import codec
from protocol.errors import ResponseMismatchError
from protocol.frames import FrameReader
from protocol.headers import decode_response_header, encode_request_header
from protocol.schema import Message

_SIZE: Final = struct.Struct(">i")


def encode_frame(request: Message, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Encode a request as it goes over the wire: its size, its header and its body."""
    header = encode_request_header(codec.api_key_of(request), version, correlation_id, client_id)
    body = codec.encode_request(request, version)
    return _SIZE.pack(len(header) + len(body)) + header + body


def decode_response(api_key: int, version: int, frame: bytes) -> tuple[int, Message]:
    """Return the correlation id and the message of a response; `frame` comes without its size."""
    correlation_id, position = decode_response_header(api_key, version, frame)
    return correlation_id, codec.decode_response(api_key, version, frame, position)


def common_versions(api_key: int, offered: range) -> range:
    """Return the versions of an API that a broker offers and this package declares; empty if there are none."""
    declared = codec.declared_versions(api_key)
    return range(max(declared.start, offered.start), min(declared.stop, offered.stop))


class ClientConnection:
    """Numbers the requests of one connection and matches each response to its request."""

    def __init__(self, client_id: str | None, max_response_bytes: int) -> None:
        self._client_id = client_id
        self._frames = FrameReader(max_response_bytes)
        self._last_id = 0
        self._in_flight: deque[tuple[int, int, int]] = deque()  # correlation id, API key, version

    def send(self, request: Message, version: int) -> bytes:
        """Return the bytes to send for a request that will be answered (Produce with acks=0 is not)."""
        frame = encode_frame(request, version, self._last_id + 1, self._client_id)
        self._last_id += 1
        self._in_flight.append((self._last_id, codec.api_key_of(request), version))
        return frame

    def receive(self, data: bytes) -> list[Message]:
        """Take bytes as they were received; return the responses that they complete, in order.

        Raises DecodeError for bytes that are no response, ResponseMismatchError for one to another request.
        """
        return [self._match(frame) for frame in self._frames.feed(data)]

    def _match(self, frame: bytes) -> Message:
        if not self._in_flight:
            raise ResponseMismatchError("a response without a request")
        expected_id, api_key, version = self._in_flight.popleft()
        correlation_id, message = decode_response(api_key, version, frame)
        if correlation_id != expected_id:
            raise ResponseMismatchError(f"a response to request {correlation_id}, where {expected_id} is due")
        return message
