"""Bytes to messages and back, by API key and version.

The generated module of an API is loaded when the API is first used, so that a client that only joins groups never pays
for the rest. A server asks once for the function of each (key, version) it serves and keeps it: `request_decoder` and
`response_encoder`. The other functions look it up each time, for tests and tools.

Decoders read a body from `position` to its end, ignore what follows, and raise DecodeError and nothing else. That of a
request takes at most as many elements as it is told, and raises TooManyElementsError for more.
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
    """Every version of an API that can be encoded and decoded; empty for an unknown key."""
    if api_key not in APIS:
        return range(0)
    _, first, last, _ = APIS[api_key]
    return range(first, last + 1)


def is_flexible(api_key: int, version: int) -> bool:
    """Whether this version has compact types, tag sections and the newer headers."""
    _check(api_key, version)
    return version >= APIS[api_key][3]


def request_decoder(api_key: int, version: int) -> RequestDecoder:
    """The function that reads a request body: (data, position, most elements) -> message."""
    _check(api_key, version)
    decoder: RequestDecoder = _generated(api_key).DECODE_REQUEST[version]
    return decoder


def request_encoder(api_key: int, version: int) -> Encoder:
    """The function that writes a request body."""
    _check(api_key, version)
    encoder: Encoder = _generated(api_key).ENCODE_REQUEST[version]
    return encoder


def response_decoder(api_key: int, version: int) -> Decoder:
    """The function that reads a response body: (data, position) -> message."""
    _check(api_key, version)
    decoder: Decoder = _generated(api_key).DECODE_RESPONSE[version]
    return decoder


def response_encoder(api_key: int, version: int) -> Encoder:
    """The function that writes a response body."""
    _check(api_key, version)
    encoder: Encoder = _generated(api_key).ENCODE_RESPONSE[version]
    return encoder


def decode_request(api_key: int, version: int, data: bytes, position: int) -> Message:
    """The request whose body starts at `position`."""
    return request_decoder(api_key, version)(data, position, UNLIMITED)


def encode_request(message: Message, version: int) -> bytes:
    """The body of a request."""
    return request_encoder(api_key_of(message), version)(message)


def decode_response(api_key: int, version: int, data: bytes, position: int) -> Message:
    """The response whose body starts at `position`."""
    return response_decoder(api_key, version)(data, position)


def encode_response(message: Message, version: int) -> bytes:
    """The body of a response."""
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
