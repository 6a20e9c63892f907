"""From the first four bytes of a request to everything needed to serve it.

A frame begins with its API key and version. Those four bytes are the key of a table whose rows hold the decoder, the
handler and the encoder of that one version, so that dispatch is a single look-up. Rows are made when first asked for:
a client uses a dozen of them, and the generated code of an API is loaded with its first request.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from coordinator.metrics.histogram import LATENCY_BOUNDS_S, Histogram
from coordinator.server.api.chunked_responses import AMPLIFIES
from coordinator.server.api.handler import Api
from protocol import codec
from protocol.api_keys import ApiKey
from protocol.messages.heartbeat import HeartbeatResponse

# Of these the time to the answer is measured for one request in sixteen, which then stands for all of them.
FREQUENT: Final = frozenset({ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.OFFSET_COMMIT, ApiKey.OFFSET_FETCH, ApiKey.HEARTBEAT})
SAMPLED: Final = 16


class Route:
    """One served (API, version)."""

    __slots__ = (
        "amplifies",
        "answer_is_flexible",
        "decode",
        "encode",
        "handle",
        "is_flexible",
        "key",
        "latency",
        "max_elements",
        "name",
        "requests",
        "sample_mask",
        "shape",
        "success_body",
        "success_size",
        "version",
    )

    def __init__(self, api: Api, version: int, latency: Histogram) -> None:
        self.key = int(api.key)
        self.name = ApiKey(api.key).name
        self.version = version
        self.is_flexible = codec.is_flexible(self.key, version)
        self.answer_is_flexible = self.is_flexible and api.key is not ApiKey.API_VERSIONS  # its header never is
        self.decode = codec.request_decoder(self.key, version)
        self.encode = codec.response_encoder(self.key, version)
        self.max_elements = api.max_elements
        self.amplifies = self.key in AMPLIFIES
        self.handle = api.handle
        self.shape = api.shape
        self.requests = 0  # how many were decoded and handled
        self.sample_mask = SAMPLED - 1 if api.key in FREQUENT else 0  # measured are requests with these bits 0
        self.latency = latency  # of its API: from the request's arrival to its answer, in seconds
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
        self.latency: dict[str, Histogram] = {}  # by the API's name

    def __missing__(self, head: bytes) -> Route:
        api = self._handlers.get(int.from_bytes(head[:2], "big", signed=True))
        version = int.from_bytes(head[2:4], "big", signed=True)
        if len(head) < 4 or api is None or not api.min_version <= version <= api.max_version:
            raise KeyError(head)
        latency = self.latency.setdefault(ApiKey(api.key).name, Histogram(LATENCY_BOUNDS_S))
        route = self[head] = Route(api, version, latency)
        return route
