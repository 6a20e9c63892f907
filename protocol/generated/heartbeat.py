"""Heartbeat: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.heartbeat`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.heartbeat import (
    HeartbeatRequest,
    HeartbeatResponse,
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
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihx = Struct(">ihx").pack
_unpack_h = Struct(">h").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from


def decode_heartbeat_request_v0(data: bytes, position: int, left: int) -> HeartbeatRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        generation_id, n2 = _unpack_ih(data, position)
        position += 6
        if n2 < 0:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return HeartbeatRequest(group_id, generation_id, member_id, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_heartbeat_request_v3(data: bytes, position: int, left: int) -> HeartbeatRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        generation_id, n2 = _unpack_ih(data, position)
        position += 6
        if n2 < 0:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        (n3,) = _unpack_h(data, position)
        position += 2
        group_instance_id: str | None
        if n3 >= 0:
            group_instance_id = data[position : position + n3].decode("utf-8", "replace")
            position += n3
        else:
            group_instance_id = None
        if position > size:
            raise DecodeError(TOO_SHORT)
        return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_heartbeat_request_v4(data: bytes, position: int, left: int) -> HeartbeatRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        generation_id, n2 = _unpack_iB(data, position)
        position += 5
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
            if n2 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n2:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        n3 = data[position]
        position += 1
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
            if n3 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        group_instance_id: str | None
        if n3:
            group_instance_id = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
        else:
            group_instance_id = None
        tags4 = data[position]
        position += 1
        if tags4:
            if tags4 > 127:
                tags4, position = read_tag_count_tail(data, position, tags4)
            left -= tags4
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags4)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return HeartbeatRequest(group_id, generation_id, member_id, group_instance_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_heartbeat_request_v0(message: HeartbeatRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        b3 = message.member_id.encode()
        n4 = len(b3)
        return b"".join((_pack_h(n2), b1, _pack_ih(message.generation_id, n4), b3))
    except UNENCODABLE as error:
        raise unwritable("HeartbeatRequest", error) from error


def encode_heartbeat_request_v3(message: HeartbeatRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        b3 = message.member_id.encode()
        n4 = len(b3)
        b5 = message.group_instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = -1 if b5 is None else len(b7)
        return b"".join((_pack_h(n2), b1, _pack_ih(message.generation_id, n4), b3, _pack_h(n6), b7))
    except UNENCODABLE as error:
        raise unwritable("HeartbeatRequest", error) from error


def encode_heartbeat_request_v4(message: HeartbeatRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        b3 = message.member_id.encode()
        n4 = len(b3) + 1
        b5 = message.group_instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_iB(message.generation_id, n4) if n4 < 128 else _pack_i(message.generation_id) + uvarint(n4), b3, _pack_B(n6) if n6 < 128 else uvarint(n6), b7, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("HeartbeatRequest", error) from error


def decode_heartbeat_response_v0(data: bytes, position: int) -> HeartbeatResponse:
    try:
        (error_code,) = _unpack_h(data, position)
        position += 2
        return HeartbeatResponse(0, error_code)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_heartbeat_response_v1(data: bytes, position: int) -> HeartbeatResponse:
    try:
        throttle_time_ms, error_code = _unpack_ih(data, position)
        position += 6
        return HeartbeatResponse(throttle_time_ms, error_code)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_heartbeat_response_v4(data: bytes, position: int) -> HeartbeatResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, tags1 = _unpack_ihB(data, position)
        position += 7
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return HeartbeatResponse(throttle_time_ms, error_code)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_heartbeat_response_v0(message: HeartbeatResponse) -> bytes:
    try:
        return _pack_h(message.error_code)
    except UNENCODABLE as error:
        raise unwritable("HeartbeatResponse", error) from error


def encode_heartbeat_response_v1(message: HeartbeatResponse) -> bytes:
    try:
        return _pack_ih(message.throttle_time_ms, message.error_code)
    except UNENCODABLE as error:
        raise unwritable("HeartbeatResponse", error) from error


def encode_heartbeat_response_v4(message: HeartbeatResponse) -> bytes:
    try:
        return _pack_ihx(message.throttle_time_ms, message.error_code)
    except UNENCODABLE as error:
        raise unwritable("HeartbeatResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], HeartbeatRequest]]] = {
    0: decode_heartbeat_request_v0,
    1: decode_heartbeat_request_v0,
    2: decode_heartbeat_request_v0,
    3: decode_heartbeat_request_v3,
    4: decode_heartbeat_request_v4,
}

ENCODE_REQUEST: Final[dict[int, Callable[[HeartbeatRequest], bytes]]] = {
    0: encode_heartbeat_request_v0,
    1: encode_heartbeat_request_v0,
    2: encode_heartbeat_request_v0,
    3: encode_heartbeat_request_v3,
    4: encode_heartbeat_request_v4,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], HeartbeatResponse]]] = {
    0: decode_heartbeat_response_v0,
    1: decode_heartbeat_response_v1,
    2: decode_heartbeat_response_v1,
    3: decode_heartbeat_response_v1,
    4: decode_heartbeat_response_v4,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[HeartbeatResponse], bytes]]] = {
    0: encode_heartbeat_response_v0,
    1: encode_heartbeat_response_v1,
    2: encode_heartbeat_response_v1,
    3: encode_heartbeat_response_v1,
    4: encode_heartbeat_response_v4,
}
