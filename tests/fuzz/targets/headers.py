"""Headers of requests and responses: a value that encodes to the same value again, or a ProtocolError."""

from __future__ import annotations

from random import Random
from typing import Final

from protocol.errors import DecodeError, UnsupportedVersionError
from protocol.generated.index import APIS
from protocol.headers import (
    decode_request_header,
    decode_response_header,
    encode_request_header,
    encode_response_header,
)
from tests.fuzz.edits import edited

VERSIONS: Final = [
    (key, version) for key, (_, first, last, _) in sorted(APIS.items()) for version in range(first, last + 1)
]


def check(data: bytes) -> None:
    try:
        header, position = decode_request_header(data)
    except UnsupportedVersionError as error:
        assert error.correlation_id == int.from_bytes(data[4:8], "big", signed=True)
    except DecodeError:
        pass
    else:
        assert 10 <= position <= len(data)
        again, end = decode_request_header(encode_request_header(*header))
        assert again == header
        assert end <= 3 * position, "an unreadable client id may grow, to three bytes for each of its own"
    key, version = VERSIONS[int.from_bytes(data[:2], "big") % len(VERSIONS)]
    try:
        correlation_id, position = decode_response_header(key, version, data[2:])
    except DecodeError:
        return
    assert position <= len(data) - 2
    encoded = encode_response_header(key, version, correlation_id)
    assert decode_response_header(key, version, encoded) == (correlation_id, len(encoded))


def seeds() -> list[bytes]:
    return [encode_request_header(key, version, 7, "client") for key, version in VERSIONS[::9]]


def mutate(data: bytes, chance: Random) -> bytes:
    key, version = chance.choice(VERSIONS)
    client_id = chance.choice((None, "", "c", "client" * 9))
    header = encode_request_header(key, version, chance.getrandbits(31), client_id)
    if header.endswith(b"\0") and chance.random() < 0.5:
        tags = [bytes((tag, size)) + bytes(size) for tag, size in ((1, 0), (chance.randrange(128), 2), (9, 1))]
        header = header[:-1] + bytes((len(tags),)) + b"".join(tags)
    return header if chance.random() < 0.2 else edited(header, chance)
