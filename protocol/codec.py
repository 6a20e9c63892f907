"""Encode and decode message bodies by API key and version.

The generated module of an API is loaded when the API is first used, so a client that only joins groups does not load
the others. A server asks once for the function of each (key, version) that it serves and keeps it: `request_decoder`
and `response_encoder`. The other functions look it up on each call; they are for clients, tests and tools.

A decoder reads a body that starts at `position`, ignores bytes behind it, and raises only DecodeError. The decoder of a
request is given a limit of elements and raises TooManyElementsError above it.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

from protocol.api_keys import ApiKey
from protocol.errors import ProtocolError, UnsupportedVersionError
from protocol.generated.index import APIS
from protocol.primitives import UNLIMITED
from protocol.schema import Message, message_spec

Decoder: TypeAlias = Callable[[bytes, int], Message]
RequestDecoder: TypeAlias = Callable[[bytes, int, int], Message]
Encoder: TypeAlias = Callable[[Message], bytes]


@functools.cache
def _generated(api_key: int) -> Any:
    return importlib.import_module(f"protocol.generated.{APIS[api_key][0]}")


def declared_versions(api_key: int) -> range:
    """Return the versions of an API that can be encoded and decoded; empty for an unknown key."""
    if api_key not in APIS:
        return range(0)
    _, first, last, _ = APIS[api_key]
    return range(first, last + 1)


def is_flexible(api_key: int, version: int) -> bool:
    """Return True if this version has compact types, tag sections and the newer headers (KIP-482)."""
    _check(api_key, version)
    return version >= APIS[api_key][3]


def request_decoder(api_key: int, version: int) -> RequestDecoder:
    """Return the function that reads a request body: (data, position, maximum of elements) -> message."""
    _check(api_key, version)
    decoder: RequestDecoder = _generated(api_key).DECODE_REQUEST[version]
    return decoder


def request_encoder(api_key: int, version: int) -> Encoder:
    """Return the function that writes a request body."""
    _check(api_key, version)
    encoder: Encoder = _generated(api_key).ENCODE_REQUEST[version]
    return encoder


def response_decoder(api_key: int, version: int) -> Decoder:
    """Return the function that reads a response body: (data, position) -> message."""
    _check(api_key, version)
    decoder: Decoder = _generated(api_key).DECODE_RESPONSE[version]
    return decoder


def response_encoder(api_key: int, version: int) -> Encoder:
    """Return the function that writes a response body."""
    _check(api_key, version)
    encoder: Encoder = _generated(api_key).ENCODE_RESPONSE[version]
    return encoder


def decode_request(api_key: int, version: int, data: bytes, position: int) -> Message:
    """Decode the request whose body starts at `position`."""
    return request_decoder(api_key, version)(data, position, UNLIMITED)


def encode_request(message: Message, version: int) -> bytes:
    """Encode the body of a request."""
    return request_encoder(api_key_of(message), version)(message)


def decode_response(api_key: int, version: int, data: bytes, position: int) -> Message:
    """Decode the response whose body starts at `position`."""
    return response_decoder(api_key, version)(data, position)


def encode_response(message: Message, version: int) -> bytes:
    """Encode the body of a response."""
    return response_encoder(api_key_of(message), version)(message)


def api_key_of(message: Message) -> ApiKey:
    """Return the API of a request or response; ProtocolError for any other message."""
    key = message_spec(type(message)).api_key
    if key is None:
        raise ProtocolError(f"{type(message).__name__} is not a request or a response")
    return key


def _check(api_key: int, version: int) -> None:
    if version not in declared_versions(api_key):
        raise UnsupportedVersionError(api_key, version)
