"""ListGroups: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.list_groups`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
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
_pack_hi = Struct(">hi").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihi = Struct(">ihi").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from


def decode_list_groups_request_v0(data: bytes, position: int, left: int) -> ListGroupsRequest:
    try:
        return ListGroupsRequest([], [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_groups_request_v3(data: bytes, position: int, left: int) -> ListGroupsRequest:
    try:
        size = len(data)
        tags1 = data[position]
        position += 1
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            left -= tags1
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupsRequest([], [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_groups_request_v4(data: bytes, position: int, left: int) -> ListGroupsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        states_filter: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("states_filter has more elements than bytes, or is null")
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
                raise DecodeError("states_filter is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        states_filter = list2
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
        return ListGroupsRequest(states_filter, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_groups_request_v5(data: bytes, position: int, left: int) -> ListGroupsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        states_filter: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("states_filter has more elements than bytes, or is null")
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
                raise DecodeError("states_filter is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        states_filter = list2
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        types_filter: list[str]
        n5 -= 1
        if n5 < 0 or n5 > size - position:
            raise DecodeError("types_filter has more elements than bytes, or is null")
        left -= n5
        if left < 0:
            raise TooManyElementsError
        list6: list[str] = []
        for _ in range(n5):
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
                if n8 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n8:
                raise DecodeError("types_filter is null")
            element7 = data[position : position + n8 - 1].decode("utf-8", "replace")
            position += n8 - 1
            list6.append(element7)
        types_filter = list6
        tags9 = data[position]
        position += 1
        if tags9:
            if tags9 > 127:
                tags9, position = read_tag_count_tail(data, position, tags9)
            left -= tags9
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupsRequest(states_filter, types_filter)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_groups_request_v0(message: ListGroupsRequest) -> bytes:
    try:
        return b""
    except UNENCODABLE as error:
        raise unwritable("ListGroupsRequest", error) from error


def encode_list_groups_request_v3(message: ListGroupsRequest) -> bytes:
    try:
        return b"\0"
    except UNENCODABLE as error:
        raise unwritable("ListGroupsRequest", error) from error


def encode_list_groups_request_v4(message: ListGroupsRequest) -> bytes:
    try:
        items1 = message.states_filter
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListGroupsRequest", error) from error


def encode_list_groups_request_v5(message: ListGroupsRequest) -> bytes:
    try:
        items1 = message.states_filter
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        items6 = message.types_filter
        n7 = len(items6) + 1
        parts.append(_pack_B(n7) if n7 < 128 else uvarint(n7))
        for item8 in items6:
            b9 = item8.encode()
            n10 = len(b9) + 1
            parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListGroupsRequest", error) from error


def decode_list_groups_response_v0(data: bytes, position: int) -> ListGroupsResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hi(data, position)
        position += 6
        groups: list[ListedGroup]
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[ListedGroup] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(ListedGroup(group_id_1, protocol_type_1, "", ""))
        groups = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupsResponse(0, error_code, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_groups_response_v1(data: bytes, position: int) -> ListGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihi(data, position)
        position += 10
        groups: list[ListedGroup]
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[ListedGroup] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(ListedGroup(group_id_1, protocol_type_1, "", ""))
        groups = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupsResponse(throttle_time_ms, error_code, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_groups_response_v3(data: bytes, position: int) -> ListGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[ListedGroup]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[ListedGroup] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(ListedGroup(group_id_1, protocol_type_1, "", ""))
        groups = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupsResponse(throttle_time_ms, error_code, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_groups_response_v4(data: bytes, position: int) -> ListGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[ListedGroup]
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[ListedGroup] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            tags6 = data[position]
            position += 1
            if tags6:
                if tags6 > 127:
                    tags6, position = read_tag_count_tail(data, position, tags6)
                position = skip_tags(data, position, tags6)
            list2.append(ListedGroup(group_id_1, protocol_type_1, group_state_1, ""))
        groups = list2
        tags7 = data[position]
        position += 1
        if tags7:
            if tags7 > 127:
                tags7, position = read_tag_count_tail(data, position, tags7)
            position = skip_tags(data, position, tags7)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupsResponse(throttle_time_ms, error_code, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_groups_response_v5(data: bytes, position: int) -> ListGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[ListedGroup]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[ListedGroup] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            n6 = data[position]
            position += 1
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            if not n6:
                raise DecodeError("group_type is null")
            group_type_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list2.append(ListedGroup(group_id_1, protocol_type_1, group_state_1, group_type_1))
        groups = list2
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupsResponse(throttle_time_ms, error_code, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_groups_response_v0(message: ListGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1)
        parts: list[bytes] = [_pack_hi(message.error_code, n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4)
            b6 = item3.protocol_type.encode()
            n7 = len(b6)
            parts += (_pack_h(n5), b4, _pack_h(n7), b6)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListGroupsResponse", error) from error


def encode_list_groups_response_v1(message: ListGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1)
        parts: list[bytes] = [_pack_ihi(message.throttle_time_ms, message.error_code, n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4)
            b6 = item3.protocol_type.encode()
            n7 = len(b6)
            parts += (_pack_h(n5), b4, _pack_h(n7), b6)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListGroupsResponse", error) from error


def encode_list_groups_response_v3(message: ListGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            b6 = item3.protocol_type.encode()
            n7 = len(b6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b6, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListGroupsResponse", error) from error


def encode_list_groups_response_v4(message: ListGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            b6 = item3.protocol_type.encode()
            n7 = len(b6) + 1
            b8 = item3.group_state.encode()
            n9 = len(b8) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), b8, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListGroupsResponse", error) from error


def encode_list_groups_response_v5(message: ListGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            b6 = item3.protocol_type.encode()
            n7 = len(b6) + 1
            b8 = item3.group_state.encode()
            n9 = len(b8) + 1
            b10 = item3.group_type.encode()
            n11 = len(b10) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), b8, _pack_B(n11) if n11 < 128 else uvarint(n11), b10, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListGroupsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ListGroupsRequest]]] = {
    0: decode_list_groups_request_v0,
    1: decode_list_groups_request_v0,
    2: decode_list_groups_request_v0,
    3: decode_list_groups_request_v3,
    4: decode_list_groups_request_v4,
    5: decode_list_groups_request_v5,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ListGroupsRequest], bytes]]] = {
    0: encode_list_groups_request_v0,
    1: encode_list_groups_request_v0,
    2: encode_list_groups_request_v0,
    3: encode_list_groups_request_v3,
    4: encode_list_groups_request_v4,
    5: encode_list_groups_request_v5,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ListGroupsResponse]]] = {
    0: decode_list_groups_response_v0,
    1: decode_list_groups_response_v1,
    2: decode_list_groups_response_v1,
    3: decode_list_groups_response_v3,
    4: decode_list_groups_response_v4,
    5: decode_list_groups_response_v5,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ListGroupsResponse], bytes]]] = {
    0: encode_list_groups_response_v0,
    1: encode_list_groups_response_v1,
    2: encode_list_groups_response_v1,
    3: encode_list_groups_response_v3,
    4: encode_list_groups_response_v4,
    5: encode_list_groups_response_v5,
}
