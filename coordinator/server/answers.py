"""The answers of a connection: the slot that each request holds in their order, and the encoding of a response."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Final

from coordinator.core.effects import UNKNOWN_SOFTWARE, ClientSoftware, Ticket
from coordinator.server.api.chunked_responses import in_pieces
from protocol import codec

if TYPE_CHECKING:
    from collections.abc import Iterator

    from coordinator.server.dispatch import Route

BARE_TOKEN: Final = -1  # the version of a login without headers (SaslHandshake 0)
_SIZE_AND_CORRELATION: Final = struct.Struct(">ii")


class Slot(Ticket):
    """The ticket of a request, as its connection uses it: a place in the ordered answers."""

    __slots__ = ("answer", "is_long", "received_s", "route")

    def __init__(
        self,
        session: Any,
        api_key: int,
        version: int = 0,
        correlation_id: int = 0,
        client_id: str = "",
        client_host: str = "",
        client_software: ClientSoftware = UNKNOWN_SOFTWARE,
        route: Route | None = None,
    ) -> None:
        # One call and one allocation for each request: the attributes of Ticket are set here, too.
        self.session = session
        self.amend = None
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.client_host = client_host
        self.client_software = client_software
        self.describable = None
        self.may_be_held = False
        self.held = None
        self.delayed_fetch = None
        self.is_followed = False
        self.has_append = False
        self.throttle_ms = 0
        self.route = route  # None: the answer is encoded already, or belongs to a version that is not served
        self.received_s = 0.0  # seconds of `monotonic`, if the time to the answer is measured; else 0
        self.is_long = False  # the request was long, so the answer may be
        self.answer: bytes | list[bytes] | None = (
            None  # its bytes, or the pieces of a long one: encoded, and waiting for the answers before it
        )


def encode(slot: Slot, response: Any) -> bytes | Iterator[bytes]:
    """Return the frame of an answer, or, if it is long, an iterator over the pieces of its body."""
    route = slot.route
    if slot.version == BARE_TOKEN:
        return len(response).to_bytes(4, "big") + bytes(response)
    if route is None:  # an ApiVersions of a version that is not served
        body = codec.encode_response(response, slot.version)
        return _SIZE_AND_CORRELATION.pack(4 + len(body), slot.correlation_id) + body
    if isinstance(response, bytes):  # the answer to a recognised commit, which was encoded before
        return frame(slot, route, response)
    if slot.amend is not None:
        response = slot.amend(response)
    if slot.throttle_ms:
        response.throttle_time_ms = slot.throttle_ms
    if route.amplifies or slot.is_long:
        pieces = in_pieces(
            route.array, route.version, response, route.encode, route.shape, is_flexible=route.is_flexible
        )
        if pieces is not None:
            return pieces
    if route.shape is not None:
        response = route.shape(response, slot.version)
    return frame(slot, route, route.encode(response))


def frame(slot: Slot, route: Route, body: bytes) -> bytes:
    """Return the frame around an encoded answer, and observe the time that it took."""
    return frame_start(slot, route, len(body)) + body


def frame_start(slot: Slot, route: Route, body_bytes: int) -> bytes:
    """Return the bytes in front of an encoded answer, and observe the time that it took."""
    if slot.received_s:
        route.latency.observe(slot.session.monotonic() - slot.received_s, route.sample_mask + 1)
    if route.answer_is_flexible:
        return _SIZE_AND_CORRELATION.pack(5 + body_bytes, slot.correlation_id) + b"\0"
    return _SIZE_AND_CORRELATION.pack(4 + body_bytes, slot.correlation_id)
