"""LeaveGroup: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.leave_group`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
    MemberResponse,
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
_pack_hx = Struct(">hx").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihi = Struct(">ihi").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from


def decode_leave_group_request_v0(data: bytes, position: int, left: int) -> LeaveGroupRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_h(data, position)
        position += 2
        if n2 < 0:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return LeaveGroupRequest(group_id, member_id, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_leave_group_request_v3(data: bytes, position: int, left: int) -> LeaveGroupRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_i(data, position)
        position += 4
        members: list[MemberIdentity]
        if n2 < 0 or n2 * 4 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[MemberIdentity] = []
        for _ in range(n2):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_h(data, position)
            position += 2
            group_instance_id_1: str | None
            if n5 >= 0:
                group_instance_id_1 = data[position : position + n5].decode("utf-8", "replace")
                position += n5
            else:
                group_instance_id_1 = None
            list3.append(MemberIdentity(member_id_1, group_instance_id_1, None))
        members = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return LeaveGroupRequest(group_id, "", members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_leave_group_request_v4(data: bytes, position: int, left: int) -> LeaveGroupRequest:
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
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        members: list[MemberIdentity]
        n2 -= 1
        if n2 < 0 or n2 * 3 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[MemberIdentity] = []
        for _ in range(n2):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
                if n5 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            group_instance_id_1: str | None
            if n5:
                group_instance_id_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
            else:
                group_instance_id_1 = None
            tags6 = data[position]
            position += 1
            if tags6:
                if tags6 > 127:
                    tags6, position = read_tag_count_tail(data, position, tags6)
                left -= tags6
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags6)
            list3.append(MemberIdentity(member_id_1, group_instance_id_1, None))
        members = list3
        tags7 = data[position]
        position += 1
        if tags7:
            if tags7 > 127:
                tags7, position = read_tag_count_tail(data, position, tags7)
            left -= tags7
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags7)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return LeaveGroupRequest(group_id, "", members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_leave_group_request_v5(data: bytes, position: int, left: int) -> LeaveGroupRequest:
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
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        members: list[MemberIdentity]
        n2 -= 1
        if n2 < 0 or n2 * 4 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[MemberIdentity] = []
        for _ in range(n2):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
                if n5 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            group_instance_id_1: str | None
            if n5:
                group_instance_id_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
            else:
                group_instance_id_1 = None
            n6 = data[position]
            position += 1
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
                if n6 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            reason_1: str | None
            if n6:
                reason_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
            else:
                reason_1 = None
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                left -= tags7
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags7)
            list3.append(MemberIdentity(member_id_1, group_instance_id_1, reason_1))
        members = list3
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            left -= tags8
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return LeaveGroupRequest(group_id, "", members)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_leave_group_request_v0(message: LeaveGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        b3 = message.member_id.encode()
        n4 = len(b3)
        return b"".join((_pack_h(n2), b1, _pack_h(n4), b3))
    except UNENCODABLE as error:
        raise unwritable("LeaveGroupRequest", error) from error


def encode_leave_group_request_v3(message: LeaveGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        items3 = message.members
        n4 = len(items3)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_i(n4)]
        for item5 in items3:
            b6 = item5.member_id.encode()
            n7 = len(b6)
            b8 = item5.group_instance_id
            b10 = b"" if b8 is None else b8.encode()
            n9 = -1 if b8 is None else len(b10)
            parts += (_pack_h(n7), b6, _pack_h(n9), b10)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("LeaveGroupRequest", error) from error


def encode_leave_group_request_v4(message: LeaveGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        items3 = message.members
        n4 = len(items3) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4)]
        for item5 in items3:
            b6 = item5.member_id.encode()
            n7 = len(b6) + 1
            b8 = item5.group_instance_id
            b10 = b"" if b8 is None else b8.encode()
            n9 = 0 if b8 is None else len(b10) + 1
            parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), b10, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("LeaveGroupRequest", error) from error


def encode_leave_group_request_v5(message: LeaveGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        items3 = message.members
        n4 = len(items3) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_B(n4) if n4 < 128 else uvarint(n4)]
        for item5 in items3:
            b6 = item5.member_id.encode()
            n7 = len(b6) + 1
            b8 = item5.group_instance_id
            b10 = b"" if b8 is None else b8.encode()
            n9 = 0 if b8 is None else len(b10) + 1
            b11 = item5.reason
            b13 = b"" if b11 is None else b11.encode()
            n12 = 0 if b11 is None else len(b13) + 1
            parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), b10, _pack_B(n12) if n12 < 128 else uvarint(n12), b13, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("LeaveGroupRequest", error) from error


def decode_leave_group_response_v0(data: bytes, position: int) -> LeaveGroupResponse:
    try:
        (error_code,) = _unpack_h(data, position)
        position += 2
        return LeaveGroupResponse(0, error_code, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_leave_group_response_v1(data: bytes, position: int) -> LeaveGroupResponse:
    try:
        throttle_time_ms, error_code = _unpack_ih(data, position)
        position += 6
        return LeaveGroupResponse(throttle_time_ms, error_code, [])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_leave_group_response_v3(data: bytes, position: int) -> LeaveGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihi(data, position)
        position += 10
        members: list[MemberResponse]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list2: list[MemberResponse] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_h(data, position)
            position += 2
            group_instance_id_1: str | None
            if n4 >= 0:
                group_instance_id_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                group_instance_id_1 = None
            (error_code_1,) = _unpack_h(data, position)
            position += 2
            list2.append(MemberResponse(member_id_1, group_instance_id_1, error_code_1))
        members = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return LeaveGroupResponse(throttle_time_ms, error_code, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_leave_group_response_v4(data: bytes, position: int) -> LeaveGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        members: list[MemberResponse]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list2: list[MemberResponse] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            group_instance_id_1: str | None
            if n4:
                group_instance_id_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                group_instance_id_1 = None
            error_code_1, tags5 = _unpack_hB(data, position)
            position += 3
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(MemberResponse(member_id_1, group_instance_id_1, error_code_1))
        members = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return LeaveGroupResponse(throttle_time_ms, error_code, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_leave_group_response_v0(message: LeaveGroupResponse) -> bytes:
    try:
        return _pack_h(message.error_code)
    except UNENCODABLE as error:
        raise unwritable("LeaveGroupResponse", error) from error


def encode_leave_group_response_v1(message: LeaveGroupResponse) -> bytes:
    try:
        return _pack_ih(message.throttle_time_ms, message.error_code)
    except UNENCODABLE as error:
        raise unwritable("LeaveGroupResponse", error) from error


def encode_leave_group_response_v3(message: LeaveGroupResponse) -> bytes:
    try:
        items1 = message.members
        n2 = len(items1)
        parts: list[bytes] = [_pack_ihi(message.throttle_time_ms, message.error_code, n2)]
        for item3 in items1:
            b4 = item3.member_id.encode()
            n5 = len(b4)
            b6 = item3.group_instance_id
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_h(n5), b4, _pack_h(n7), b8, _pack_h(item3.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("LeaveGroupResponse", error) from error


def encode_leave_group_response_v4(message: LeaveGroupResponse) -> bytes:
    try:
        items1 = message.members
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.member_id.encode()
            n5 = len(b4) + 1
            b6 = item3.group_instance_id
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b8, _pack_hx(item3.error_code))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("LeaveGroupResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], LeaveGroupRequest]]] = {
    0: decode_leave_group_request_v0,
    1: decode_leave_group_request_v0,
    2: decode_leave_group_request_v0,
    3: decode_leave_group_request_v3,
    4: decode_leave_group_request_v4,
    5: decode_leave_group_request_v5,
}

ENCODE_REQUEST: Final[dict[int, Callable[[LeaveGroupRequest], bytes]]] = {
    0: encode_leave_group_request_v0,
    1: encode_leave_group_request_v0,
    2: encode_leave_group_request_v0,
    3: encode_leave_group_request_v3,
    4: encode_leave_group_request_v4,
    5: encode_leave_group_request_v5,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], LeaveGroupResponse]]] = {
    0: decode_leave_group_response_v0,
    1: decode_leave_group_response_v1,
    2: decode_leave_group_response_v1,
    3: decode_leave_group_response_v3,
    4: decode_leave_group_response_v4,
    5: decode_leave_group_response_v4,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[LeaveGroupResponse], bytes]]] = {
    0: encode_leave_group_response_v0,
    1: encode_leave_group_response_v1,
    2: encode_leave_group_response_v1,
    3: encode_leave_group_response_v3,
    4: encode_leave_group_response_v4,
    5: encode_leave_group_response_v4,
}
