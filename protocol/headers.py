"""Request and response headers (Kafka's `RequestHeader` and `ResponseHeader`).

The API and version of a message determine the version of its header: flexible versions have the newer one, with a tag
section (request v2, response v1). There are two exceptions: the response to ApiVersions always has the old header
(KIP-511), because its reader may not know the version, and the client id never became compact. A server therefore reads
key and version first, and an unknown key is an error before anything behind it is read.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from protocol.api_keys import ApiKey
from protocol.codec import is_flexible
from protocol.errors import DecodeError, UnsupportedVersionError
from protocol.generated.index import APIS
from protocol.primitives import MOST_TAGS, TOO_SHORT, read_uvarint, skip_tags

_FIXED: Final = struct.Struct(">hhi")
_LENGTH: Final = struct.Struct(">h")
_CORRELATION: Final = struct.Struct(">i")


class RequestHeader(NamedTuple):
    """The header of a request. A null `client_id` means the same as an empty one."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str | None


def decode_request_header(data: bytes, position: int = 0) -> tuple[RequestHeader, int]:
    """Return the header of a request and the position of its body.

    Raises UnsupportedVersionError, with the correlation id, for a key or version that is not declared.
    """
    try:
        api_key, version, correlation_id = _FIXED.unpack_from(data, position)
        api = APIS.get(api_key)
        if api is None or not api[1] <= version <= api[2]:
            raise UnsupportedVersionError(api_key, version, correlation_id)
        (length,) = _LENGTH.unpack_from(data, position + 8)
        position += 10
        client_id = None
        if length >= 0:
            client_id = data[position : position + length].decode("utf-8", "replace")
            position += length
        if version >= api[3]:
            tags, position = read_uvarint(data, position)
            if tags > MOST_TAGS:
                raise DecodeError(f"the request header has {tags} tagged fields, more than {MOST_TAGS}")
            position = skip_tags(data, position, tags)
    except (struct.error, IndexError):
        raise DecodeError("the request header ends early") from None
    if position > len(data):
        raise DecodeError("the request header ends early")
    return RequestHeader(api_key, version, correlation_id, client_id), position


def encode_request_header(api_key: int, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Encode a request header in the form that its version needs."""
    encoded = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(encoded)
    tags = b"\0" if is_flexible(api_key, version) else b""
    return _FIXED.pack(api_key, version, correlation_id) + _LENGTH.pack(length) + encoded + tags


def encode_response_header(api_key: int, version: int, correlation_id: int) -> bytes:
    """Encode a response header in the form that its version needs."""
    header = _CORRELATION.pack(correlation_id)
    return header + b"\0" if _has_tags(api_key, version) else header


def decode_response_header(api_key: int, version: int, data: bytes) -> tuple[int, int]:
    """Return the correlation id of a response to a request of this version, and the position of its body."""
    try:
        (correlation_id,) = _CORRELATION.unpack_from(data, 0)
        position = 4
        if _has_tags(api_key, version):
            tags, position = read_uvarint(data, position)
            if tags > MOST_TAGS:
                raise DecodeError(f"the response header has {tags} tagged fields, more than {MOST_TAGS}")
            position = skip_tags(data, position, tags)
    except (struct.error, IndexError):
        raise DecodeError(TOO_SHORT) from None
    return correlation_id, position


def _has_tags(api_key: int, version: int) -> bool:
    return api_key != ApiKey.API_VERSIONS and is_flexible(api_key, version)
