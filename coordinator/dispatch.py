"""From the first four bytes of a request to everything needed to serve it.

A frame begins with its API key and version. Those four bytes are the key of a table whose rows hold the decoder, the
handler and the encoder of that one version, so that dispatch is a single look-up. Rows are made when first asked for:
a client uses a dozen of them, and the generated code of an API is loaded with its first request.
"""

from __future__ import annotations

from collections.abc import Mapping

from coordinator.api.handler import Api
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.messages.heartbeat import HeartbeatResponse


class Route:
    """One served (API, version)."""

    __slots__ = (
        "decode",
        "encode",
        "handle",
        "is_flexible",
        "key",
        "name",
        "requests",
        "shape",
        "success_body",
        "success_size",
        "version",
    )

    def __init__(self, api: Api, version: int) -> None:
        self.key = int(api.key)
        self.name = ApiKey(api.key).name
        self.version = version
        self.is_flexible = codec.is_flexible(self.key, version)
        self.decode = codec.request_decoder(self.key, version)
        self.encode = codec.response_encoder(self.key, version)
        self.handle = api.handle
        self.shape = api.shape
        self.requests = 0  # how many were decoded and handled
        # What a recognised heartbeat is answered with (connection.py): these, and its correlation id between them.
        self.success_size = self.success_body = b""
        if api.key is ApiKey.HEARTBEAT:
            self.success_body = (b"\0" if self.is_flexible else b"") + self.encode(HeartbeatResponse())
            self.success_size = (4 + len(self.success_body)).to_bytes(4, "big")

    def __repr__(self) -> str:
        return f"<Route {self.name} v{self.version}: {self.requests} requests>"


class Routes(dict[bytes, Route]):
    """The table. Indexing makes the row; KeyError means that nobody serves this key or version."""

    def __init__(self, handlers: Mapping[int, Api]) -> None:
        super().__init__()
        self._handlers = handlers

    def __missing__(self, head: bytes) -> Route:
        api = self._handlers.get(int.from_bytes(head[:2], "big", signed=True))
        version = int.from_bytes(head[2:4], "big", signed=True)
        if len(head) < 4 or api is None or not api.min_version <= version <= api.max_version:
            raise KeyError(head)
        route = self[head] = Route(api, version)
        return route
