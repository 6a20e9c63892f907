"""SaslHandshake: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.sasl_handshake`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError
from protocol.messages.sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    unreadable,
    unwritable,
)

_pack_h = Struct(">h").pack
_pack_hi = Struct(">hi").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hi = Struct(">hi").unpack_from


def decode_sasl_handshake_request_v0(data: bytes, position: int, left: int) -> SaslHandshakeRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("mechanism is null")
        mechanism = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SaslHandshakeRequest(mechanism)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_sasl_handshake_request_v0(message: SaslHandshakeRequest) -> bytes:
    try:
        b1 = message.mechanism.encode()
        n2 = len(b1)
        return b"".join((_pack_h(n2), b1))
    except UNENCODABLE as error:
        raise unwritable("SaslHandshakeRequest", error) from error


def decode_sasl_handshake_response_v0(data: bytes, position: int) -> SaslHandshakeResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hi(data, position)
        position += 6
        mechanisms: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("mechanisms has more elements than bytes, or is null")
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("mechanisms is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        mechanisms = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SaslHandshakeResponse(error_code, mechanisms)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_sasl_handshake_response_v0(message: SaslHandshakeResponse) -> bytes:
    try:
        items1 = message.mechanisms
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(message.error_code, n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("SaslHandshakeResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], SaslHandshakeRequest]]] = {
    0: decode_sasl_handshake_request_v0,
    1: decode_sasl_handshake_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[SaslHandshakeRequest], bytes]]] = {
    0: encode_sasl_handshake_request_v0,
    1: encode_sasl_handshake_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], SaslHandshakeResponse]]] = {
    0: decode_sasl_handshake_response_v0,
    1: decode_sasl_handshake_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[SaslHandshakeResponse], bytes]]] = {
    0: encode_sasl_handshake_response_v0,
    1: encode_sasl_handshake_response_v0,
}
