"""The table from the first four bytes of a request to everything needed to serve it.

A frame begins with its API key and version. Those four bytes are the key of a table whose rows hold the decoder, the
handler and the encoder of that one version, so that dispatch is a single look-up. Rows are made when first asked for:
a client uses a dozen of them, and the generated code of an API is loaded with its first request.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final

from coordinator.metrics.histogram import LATENCY_BOUNDS_S, Histogram
from coordinator.server.api.handler import Api, Handle
from coordinator.server.frame_templates import HEARTBEATS
from protocol import codec
from protocol.api_keys import ApiKey

Layer = Callable[[Handle, Any, Any, Any, int], None]  # (handle, node, request, ticket, now_ms)

WITHOUT_QUOTA: Final = frozenset((ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE))  # no throttle_time_ms
SAMPLED: Final = 16  # of requests of a sampled API, one in so many is timed and counts for all of them; a power of two


class Route:
    """One served (API, version)."""

    __slots__ = (
        "amplifies",
        "answer_is_flexible",
        "array",
        "decode",
        "encode",
        "handle",
        "has_layer",
        "has_quota",
        "heartbeat_template",
        "is_flexible",
        "is_intercepted",
        "is_size_limited",
        "key",
        "latency",
        "max_elements",
        "may_be_held",
        "name",
        "parked",
        "rebalances",
        "recognised",
        "requests",
        "sample_mask",
        "shape",
        "version",
        "waits_for_log",
    )

    def __init__(self, api: Api, version: int, latency: Histogram, most_elements: int) -> None:
        self.key = int(api.key)
        self.name = ApiKey(api.key).name
        self.version = version
        self.is_flexible = codec.is_flexible(self.key, version)
        self.answer_is_flexible = self.is_flexible and api.key is not ApiKey.API_VERSIONS  # its header never is
        self.decode = codec.request_decoder(self.key, version)
        self.encode = codec.response_encoder(self.key, version)
        self.max_elements = min(api.max_elements, most_elements)
        self.is_size_limited = not api.has_own_size_limit
        self.waits_for_log = api.waits_for_log
        self.rebalances = api.rebalances
        self.array = api.array_of(version)  # at which a long answer is cut
        self.amplifies = api.amplifies
        self.handle = api.handle
        self.has_quota = api.key.is_kafkas and self.key not in WITHOUT_QUOTA
        self.has_layer = False  # a layer before the handler must see a request that was not seen before
        self.is_intercepted = False  # a layer before the handler must see each request
        self.heartbeat_template = HEARTBEATS.get(self.key)  # None: it is no heartbeat
        # A request may wait for news of its group: core/group/first_round.py for SyncGroup.
        self.may_be_held = self.heartbeat_template is not None or api.key is ApiKey.SYNC_GROUP
        self.shape = api.shape
        self.requests = 0  # decoded and handled so far
        self.recognised = 0  # heartbeats that were recognised by their bytes and answered at once
        self.parked = 0  # heartbeats that were parked where they were read
        self.sample_mask = SAMPLED - 1 if api.is_sampled else 0  # a request is timed if these bits of `requests` are 0
        self.latency = latency  # of the API: from the arrival of a request to its answer, in seconds

    def __repr__(self) -> str:
        return f"<Route {self.name} v{self.version}: {self.requests} requests>"


class Routes(dict[bytes, Route]):
    """The table. Indexing makes the row; KeyError means that this key or version is not served."""

    def __init__(self, handlers: Mapping[int, Api], most_elements: int) -> None:
        super().__init__()
        self._most_elements = most_elements  # of a request of any API
        self._handlers = handlers
        self._layers: dict[Layer, Collection[int] | None] = {}
        self.pipelined = frozenset(key for key, api in handlers.items() if api.is_pipelined)
        # Requests by which members join and leave: their keys, and as the first two bytes of a frame.
        self.rebalancing_keys = frozenset(key for key, api in handlers.items() if api.rebalances)
        self.rebalancing = frozenset(key.to_bytes(2, "big") for key in self.rebalancing_keys)
        self.latency: dict[str, Histogram] = {}  # by the API's name

    def __missing__(self, head: bytes) -> Route:
        api = self._handlers.get(int.from_bytes(head[:2], "big", signed=True))
        version = int.from_bytes(head[2:4], "big", signed=True)
        if len(head) < 4 or api is None or not api.min_version <= version <= api.max_version:
            raise KeyError(head)
        latency = self.latency.setdefault(ApiKey(api.key).name, Histogram(LATENCY_BOUNDS_S))
        route = self[head] = Route(api, version, latency, self._most_elements)
        self._wrap(route)
        return route

    def add_layer(self, layer: Layer, apis: Collection[int] | None = None) -> None:
        """Have requests go through a layer before their handler. The layer that was added last comes first.

        `apis`: those whose requests it must see, all of them; None: it sees the requests of all APIs, but no heartbeat
        or commit that is recognised by its bytes.
        """
        self._layers[layer] = apis
        self._wrap_all()

    def remove_layer(self, layer: Layer) -> None:
        """Take a layer away. Nothing happens if it is not there."""
        self._layers.pop(layer, None)
        self._wrap_all()

    def _wrap_all(self) -> None:
        for route in self.values():
            self._wrap(route)

    def _wrap(self, route: Route) -> None:
        route.handle = self._handlers[route.key].handle
        route.is_intercepted = route.has_layer = False
        for layer, apis in self._layers.items():
            if apis is None or route.key in apis:
                route.handle = partial(layer, route.handle)
                route.has_layer = True
                route.is_intercepted = route.is_intercepted or apis is not None
