"""Clients that the Kafka port cannot serve: how each is recognised, and the sentence that says what to set instead.

A client of another protocol is recognised by its first four bytes, where Kafka has the length of a request. A client of
a Kafka protocol that is not served is recognised by the API key of its request. Most such clients read ApiVersions
first and send nothing more, which leaves no sign.

The sentence is logged once a minute for each client (`line_limit.rare`), because clients try again for ever.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple


class Knock(NamedTuple):
    """A kind of client, and the sentence for the log. `{http}` in it is replaced by the place of HTTP."""

    kind: str
    sentence: str


TLS: Final = Knock("TLS", "this is a TLS client, and TLS is not on here; set security.protocol=PLAINTEXT in the client")
HTTP: Final = Knock("HTTP", "this is an HTTP client, and this port serves the Kafka protocol; {http}")
SASL: Final = Knock(
    "SASL", "this client wants to log in with SASL, which is not on here; set security.protocol=PLAINTEXT in the client"
)
SHARE_GROUP: Final = Knock(
    "KIP-932", "this client asks for a share group (KIP-932), which is not served here; use a consumer group"
)
STREAMS_GROUP: Final = Knock(
    "KIP-1071",
    "this client asks for the streams group protocol (KIP-1071, group.protocol=streams), which is not served here; "
    "set group.protocol=classic in the client",
)

BY_START: Final[Mapping[bytes, Knock]] = {
    b"\x16\x03": TLS,  # a record of type handshake, version 3.x
    b"GET ": HTTP,
    b"HEAD": HTTP,
    b"POST": HTTP,
    b"PUT ": HTTP,
    b"PATC": HTTP,
    b"DELE": HTTP,
    b"OPTI": HTTP,
    b"CONN": HTTP,
    b"TRAC": HTTP,
    b"PRI ": HTTP,  # HTTP/2 without an upgrade
}
BY_API_KEY: Final[Mapping[int, Knock]] = {
    76: SHARE_GROUP,  # ShareGroupHeartbeat
    77: SHARE_GROUP,  # ShareGroupDescribe
    78: SHARE_GROUP,  # ShareFetch
    79: SHARE_GROUP,  # ShareAcknowledge
    88: STREAMS_GROUP,  # StreamsGroupHeartbeat
    89: STREAMS_GROUP,  # StreamsGroupDescribe
    90: SHARE_GROUP,  # DescribeShareGroupOffsets
    91: SHARE_GROUP,  # AlterShareGroupOffsets
    92: SHARE_GROUP,  # DeleteShareGroupOffsets
    93: STREAMS_GROUP,  # StreamsGroupTopologyDescriptionUpdate
}


def knock_of(start: bytes) -> Knock | None:
    """Return the kind of client that sends these four bytes first; None if they are of none."""
    return BY_START.get(start) or BY_START.get(start[:2])


def sentence_of(knock: Knock, http_address: str) -> str:
    """Return the sentence for the log. `http_address` is that of this daemon, empty if it serves no HTTP."""
    where = f"HTTP is at http://{http_address}/" if http_address else "HTTP is not on here (http.listen)"
    return knock.sentence.format(http=where)


def http_answer(sentence: str) -> bytes:
    """Return the answer to any HTTP request: status 400, with the sentence as its text."""
    body = f"{sentence}\n".encode()
    head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
