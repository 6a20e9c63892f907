"""SaslAuthenticate: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.sasl_authenticate`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    read_tag_count_tail,
    read_uvarint_tail,
    skip_tags,
    unreadable,
    unwritable,
    uvarint,
)

_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_q = Struct(">q").pack
_pack_qx = Struct(">qx").pack
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qB = Struct(">qB").unpack_from


def decode_sasl_authenticate_request_v0(data: bytes, position: int, left: int) -> SaslAuthenticateRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        if n1 < 0:
            raise DecodeError("auth_bytes is null")
        auth_bytes = data[position : position + n1]
        position += n1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SaslAuthenticateRequest(auth_bytes)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sasl_authenticate_request_v2(data: bytes, position: int, left: int) -> SaslAuthenticateRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        if not n1:
            raise DecodeError("auth_bytes is null")
        auth_bytes = data[position : position + n1 - 1]
        position += n1 - 1
        tags2 = data[position]
        position += 1
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            left -= tags2
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SaslAuthenticateRequest(auth_bytes)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_sasl_authenticate_request_v0(message: SaslAuthenticateRequest) -> bytes:
    try:
        b1 = message.auth_bytes
        n2 = len(b1)
        return b"".join((_pack_i(n2), b1))
    except UNENCODABLE as error:
        raise unwritable("SaslAuthenticateRequest", error) from error


def encode_sasl_authenticate_request_v2(message: SaslAuthenticateRequest) -> bytes:
    try:
        b1 = message.auth_bytes
        n2 = len(b1) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("SaslAuthenticateRequest", error) from error


def decode_sasl_authenticate_response_v0(data: bytes, position: int) -> SaslAuthenticateResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hh(data, position)
        position += 4
        error_message: str | None
        if n1 >= 0:
            error_message = data[position : position + n1].decode("utf-8", "replace")
            position += n1
        else:
            error_message = None
        (n2,) = _unpack_i(data, position)
        position += 4
        if n2 < 0:
            raise DecodeError("auth_bytes is null")
        auth_bytes = data[position : position + n2]
        position += n2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SaslAuthenticateResponse(error_code, error_message, auth_bytes, 0)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sasl_authenticate_response_v1(data: bytes, position: int) -> SaslAuthenticateResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hh(data, position)
        position += 4
        error_message: str | None
        if n1 >= 0:
            error_message = data[position : position + n1].decode("utf-8", "replace")
            position += n1
        else:
            error_message = None
        (n2,) = _unpack_i(data, position)
        position += 4
        if n2 < 0:
            raise DecodeError("auth_bytes is null")
        auth_bytes = data[position : position + n2]
        position += n2
        (session_lifetime_ms,) = _unpack_q(data, position)
        position += 8
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sasl_authenticate_response_v2(data: bytes, position: int) -> SaslAuthenticateResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hB(data, position)
        position += 3
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        error_message: str | None
        if n1:
            error_message = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            error_message = None
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        if not n2:
            raise DecodeError("auth_bytes is null")
        auth_bytes = data[position : position + n2 - 1]
        position += n2 - 1
        session_lifetime_ms, tags3 = _unpack_qB(data, position)
        position += 9
        if tags3:
            if tags3 > 127:
                tags3, position = read_tag_count_tail(data, position, tags3)
            position = skip_tags(data, position, tags3)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SaslAuthenticateResponse(error_code, error_message, auth_bytes, session_lifetime_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_sasl_authenticate_response_v0(message: SaslAuthenticateResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        b4 = message.auth_bytes
        n5 = len(b4)
        return b"".join((_pack_hh(message.error_code, n2), b3, _pack_i(n5), b4))
    except UNENCODABLE as error:
        raise unwritable("SaslAuthenticateResponse", error) from error


def encode_sasl_authenticate_response_v1(message: SaslAuthenticateResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        b4 = message.auth_bytes
        n5 = len(b4)
        return b"".join((_pack_hh(message.error_code, n2), b3, _pack_i(n5), b4, _pack_q(message.session_lifetime_ms)))
    except UNENCODABLE as error:
        raise unwritable("SaslAuthenticateResponse", error) from error


def encode_sasl_authenticate_response_v2(message: SaslAuthenticateResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.auth_bytes
        n5 = len(b4) + 1
        return b"".join((_pack_hB(message.error_code, n2) if n2 < 128 else _pack_h(message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_qx(message.session_lifetime_ms)))
    except UNENCODABLE as error:
        raise unwritable("SaslAuthenticateResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], SaslAuthenticateRequest]]] = {
    0: decode_sasl_authenticate_request_v0,
    1: decode_sasl_authenticate_request_v0,
    2: decode_sasl_authenticate_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[SaslAuthenticateRequest], bytes]]] = {
    0: encode_sasl_authenticate_request_v0,
    1: encode_sasl_authenticate_request_v0,
    2: encode_sasl_authenticate_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], SaslAuthenticateResponse]]] = {
    0: decode_sasl_authenticate_response_v0,
    1: decode_sasl_authenticate_response_v1,
    2: decode_sasl_authenticate_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[SaslAuthenticateResponse], bytes]]] = {
    0: encode_sasl_authenticate_response_v0,
    1: encode_sasl_authenticate_response_v1,
    2: encode_sasl_authenticate_response_v2,
}
