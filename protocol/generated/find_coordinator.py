"""FindCoordinator: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.find_coordinator`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
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
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_bx = Struct(">bx").pack
_pack_h = Struct(">h").pack
_pack_hih = Struct(">hih").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihh = Struct(">ihh").pack
_pack_ix = Struct(">ix").pack
_unpack_b = Struct(">b").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hih = Struct(">hih").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from


def decode_find_coordinator_request_v0(data: bytes, position: int, left: int) -> FindCoordinatorRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("key is null")
        key = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FindCoordinatorRequest(key, 0, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_find_coordinator_request_v1(data: bytes, position: int, left: int) -> FindCoordinatorRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("key is null")
        key = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (key_type,) = _unpack_b(data, position)
        position += 1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FindCoordinatorRequest(key, key_type, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_find_coordinator_request_v3(data: bytes, position: int, left: int) -> FindCoordinatorRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("key is null")
        key = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        key_type, tags2 = _unpack_bB(data, position)
        position += 2
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            left -= tags2
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FindCoordinatorRequest(key, key_type, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_find_coordinator_request_v4(data: bytes, position: int, left: int) -> FindCoordinatorRequest:
    try:
        size = len(data)
        key_type, n1 = _unpack_bB(data, position)
        position += 2
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        coordinator_keys: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("coordinator_keys has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("coordinator_keys is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        coordinator_keys = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FindCoordinatorRequest("", key_type, coordinator_keys)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_find_coordinator_request_v0(message: FindCoordinatorRequest) -> bytes:
    try:
        b1 = message.key.encode()
        n2 = len(b1)
        return b"".join((_pack_h(n2), b1))
    except UNENCODABLE as error:
        raise unwritable("FindCoordinatorRequest", error) from error


def encode_find_coordinator_request_v1(message: FindCoordinatorRequest) -> bytes:
    try:
        b1 = message.key.encode()
        n2 = len(b1)
        return b"".join((_pack_h(n2), b1, _pack_b(message.key_type)))
    except UNENCODABLE as error:
        raise unwritable("FindCoordinatorRequest", error) from error


def encode_find_coordinator_request_v3(message: FindCoordinatorRequest) -> bytes:
    try:
        b1 = message.key.encode()
        n2 = len(b1) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_bx(message.key_type)))
    except UNENCODABLE as error:
        raise unwritable("FindCoordinatorRequest", error) from error


def encode_find_coordinator_request_v4(message: FindCoordinatorRequest) -> bytes:
    try:
        items1 = message.coordinator_keys
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_bB(message.key_type, n2) if n2 < 128 else _pack_b(message.key_type) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FindCoordinatorRequest", error) from error


def decode_find_coordinator_response_v0(data: bytes, position: int) -> FindCoordinatorResponse:
    try:
        size = len(data)
        error_code, node_id, n1 = _unpack_hih(data, position)
        position += 8
        if n1 < 0:
            raise DecodeError("host is null")
        host = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (port,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FindCoordinatorResponse(0, error_code, "", node_id, host, port, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_find_coordinator_response_v1(data: bytes, position: int) -> FindCoordinatorResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihh(data, position)
        position += 8
        error_message: str | None
        if n1 >= 0:
            error_message = data[position : position + n1].decode("utf-8", "replace")
            position += n1
        else:
            error_message = None
        node_id, n2 = _unpack_ih(data, position)
        position += 6
        if n2 < 0:
            raise DecodeError("host is null")
        host = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        (port,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_find_coordinator_response_v3(data: bytes, position: int) -> FindCoordinatorResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        error_message: str | None
        if n1:
            error_message = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            error_message = None
        node_id, n2 = _unpack_iB(data, position)
        position += 5
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        if not n2:
            raise DecodeError("host is null")
        host = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        port, tags3 = _unpack_iB(data, position)
        position += 5
        if tags3:
            if tags3 > 127:
                tags3, position = read_tag_count_tail(data, position, tags3)
            position = skip_tags(data, position, tags3)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FindCoordinatorResponse(throttle_time_ms, error_code, error_message, node_id, host, port, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_find_coordinator_response_v4(data: bytes, position: int) -> FindCoordinatorResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        coordinators: list[Coordinator]
        n1 -= 1
        if n1 < 0 or n1 * 14 > size - position:
            raise DecodeError("coordinators has more elements than bytes, or is null")
        list2: list[Coordinator] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("key is null")
            key_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            node_id_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("host is null")
            host_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            port_1, error_code_1, n5 = _unpack_ihB(data, position)
            position += 7
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            error_message_1: str | None
            if n5:
                error_message_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
            else:
                error_message_1 = None
            tags6 = data[position]
            position += 1
            if tags6:
                if tags6 > 127:
                    tags6, position = read_tag_count_tail(data, position, tags6)
                position = skip_tags(data, position, tags6)
            list2.append(Coordinator(key_1, node_id_1, host_1, port_1, error_code_1, error_message_1))
        coordinators = list2
        tags7 = data[position]
        position += 1
        if tags7:
            if tags7 > 127:
                tags7, position = read_tag_count_tail(data, position, tags7)
            position = skip_tags(data, position, tags7)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return FindCoordinatorResponse(throttle_time_ms, 0, "", 0, "", 0, coordinators)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_find_coordinator_response_v0(message: FindCoordinatorResponse) -> bytes:
    try:
        b1 = message.host.encode()
        n2 = len(b1)
        return b"".join((_pack_hih(message.error_code, message.node_id, n2), b1, _pack_i(message.port)))
    except UNENCODABLE as error:
        raise unwritable("FindCoordinatorResponse", error) from error


def encode_find_coordinator_response_v1(message: FindCoordinatorResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        b4 = message.host.encode()
        n5 = len(b4)
        return b"".join((_pack_ihh(message.throttle_time_ms, message.error_code, n2), b3, _pack_ih(message.node_id, n5), b4, _pack_i(message.port)))
    except UNENCODABLE as error:
        raise unwritable("FindCoordinatorResponse", error) from error


def encode_find_coordinator_response_v3(message: FindCoordinatorResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.host.encode()
        n5 = len(b4) + 1
        return b"".join((_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_iB(message.node_id, n5) if n5 < 128 else _pack_i(message.node_id) + uvarint(n5), b4, _pack_ix(message.port)))
    except UNENCODABLE as error:
        raise unwritable("FindCoordinatorResponse", error) from error


def encode_find_coordinator_response_v4(message: FindCoordinatorResponse) -> bytes:
    try:
        items1 = message.coordinators
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.key.encode()
            n5 = len(b4) + 1
            b6 = item3.host.encode()
            n7 = len(b6) + 1
            b8 = item3.error_message
            b10 = b"" if b8 is None else b8.encode()
            n9 = 0 if b8 is None else len(b10) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_iB(item3.node_id, n7) if n7 < 128 else _pack_i(item3.node_id) + uvarint(n7), b6, _pack_ihB(item3.port, item3.error_code, n9) if n9 < 128 else _pack_ih(item3.port, item3.error_code) + uvarint(n9), b10, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("FindCoordinatorResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], FindCoordinatorRequest]]] = {
    0: decode_find_coordinator_request_v0,
    1: decode_find_coordinator_request_v1,
    2: decode_find_coordinator_request_v1,
    3: decode_find_coordinator_request_v3,
    4: decode_find_coordinator_request_v4,
    5: decode_find_coordinator_request_v4,
    6: decode_find_coordinator_request_v4,
}

ENCODE_REQUEST: Final[dict[int, Callable[[FindCoordinatorRequest], bytes]]] = {
    0: encode_find_coordinator_request_v0,
    1: encode_find_coordinator_request_v1,
    2: encode_find_coordinator_request_v1,
    3: encode_find_coordinator_request_v3,
    4: encode_find_coordinator_request_v4,
    5: encode_find_coordinator_request_v4,
    6: encode_find_coordinator_request_v4,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], FindCoordinatorResponse]]] = {
    0: decode_find_coordinator_response_v0,
    1: decode_find_coordinator_response_v1,
    2: decode_find_coordinator_response_v1,
    3: decode_find_coordinator_response_v3,
    4: decode_find_coordinator_response_v4,
    5: decode_find_coordinator_response_v4,
    6: decode_find_coordinator_response_v4,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[FindCoordinatorResponse], bytes]]] = {
    0: encode_find_coordinator_response_v0,
    1: encode_find_coordinator_response_v1,
    2: encode_find_coordinator_response_v1,
    3: encode_find_coordinator_response_v3,
    4: encode_find_coordinator_response_v4,
    5: encode_find_coordinator_response_v4,
    6: encode_find_coordinator_response_v4,
}
