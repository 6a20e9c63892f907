"""DeleteGroups: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.delete_groups`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
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
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from


def decode_delete_groups_request_v0(data: bytes, position: int, left: int) -> DeleteGroupsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        groups_names: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("groups_names has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("groups_names is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        groups_names = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteGroupsRequest(groups_names)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_groups_request_v2(data: bytes, position: int, left: int) -> DeleteGroupsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups_names: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("groups_names has more elements than bytes, or is null")
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
                raise DecodeError("groups_names is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        groups_names = list2
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
        return DeleteGroupsRequest(groups_names)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_delete_groups_request_v0(message: DeleteGroupsRequest) -> bytes:
    try:
        items1 = message.groups_names
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteGroupsRequest", error) from error


def encode_delete_groups_request_v2(message: DeleteGroupsRequest) -> bytes:
    try:
        items1 = message.groups_names
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteGroupsRequest", error) from error


def decode_delete_groups_response_v0(data: bytes, position: int) -> DeleteGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results: list[DeletableGroupResult]
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DeletableGroupResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (error_code_1,) = _unpack_h(data, position)
            position += 2
            list2.append(DeletableGroupResult(group_id_1, error_code_1, None))
        results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteGroupsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_groups_response_v2(data: bytes, position: int) -> DeleteGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[DeletableGroupResult]
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DeletableGroupResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            error_code_1, tags4 = _unpack_hB(data, position)
            position += 3
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                position = skip_tags(data, position, tags4)
            list2.append(DeletableGroupResult(group_id_1, error_code_1, None))
        results = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteGroupsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_groups_response_v3(data: bytes, position: int) -> DeleteGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[DeletableGroupResult]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DeletableGroupResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            error_code_1, n4 = _unpack_hB(data, position)
            position += 3
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            error_message_1: str | None
            if n4:
                error_message_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                error_message_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(DeletableGroupResult(group_id_1, error_code_1, error_message_1))
        results = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteGroupsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_delete_groups_response_v0(message: DeleteGroupsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4, _pack_h(item3.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteGroupsResponse", error) from error


def encode_delete_groups_response_v2(message: DeleteGroupsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_hx(item3.error_code))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteGroupsResponse", error) from error


def encode_delete_groups_response_v3(message: DeleteGroupsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            b6 = item3.error_message
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_hB(item3.error_code, n7) if n7 < 128 else _pack_h(item3.error_code) + uvarint(n7), b8, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteGroupsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DeleteGroupsRequest]]] = {
    0: decode_delete_groups_request_v0,
    1: decode_delete_groups_request_v0,
    2: decode_delete_groups_request_v2,
    3: decode_delete_groups_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DeleteGroupsRequest], bytes]]] = {
    0: encode_delete_groups_request_v0,
    1: encode_delete_groups_request_v0,
    2: encode_delete_groups_request_v2,
    3: encode_delete_groups_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DeleteGroupsResponse]]] = {
    0: decode_delete_groups_response_v0,
    1: decode_delete_groups_response_v0,
    2: decode_delete_groups_response_v2,
    3: decode_delete_groups_response_v3,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DeleteGroupsResponse], bytes]]] = {
    0: encode_delete_groups_response_v0,
    1: encode_delete_groups_response_v0,
    2: encode_delete_groups_response_v2,
    3: encode_delete_groups_response_v3,
}
