"""SyncGroup: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.sync_group`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
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
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihi = Struct(">ihi").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hi = Struct(">hi").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihi = Struct(">ihi").unpack_from


def decode_sync_group_request_v0(data: bytes, position: int, left: int) -> SyncGroupRequest:
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
        (n3,) = _unpack_i(data, position)
        position += 4
        assignments: list[SyncGroupRequestAssignment]
        if n3 < 0 or n3 * 6 > size - position:
            raise DecodeError("assignments has more elements than bytes, or is null")
        left -= n3
        if left < 0:
            raise TooManyElementsError
        list4: list[SyncGroupRequestAssignment] = []
        for _ in range(n3):
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            (n6,) = _unpack_i(data, position)
            position += 4
            if n6 < 0:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n6]
            position += n6
            list4.append(SyncGroupRequestAssignment(member_id_1, assignment_1))
        assignments = list4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SyncGroupRequest(group_id, generation_id, member_id, None, None, None, assignments)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sync_group_request_v3(data: bytes, position: int, left: int) -> SyncGroupRequest:
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
        (n4,) = _unpack_i(data, position)
        position += 4
        assignments: list[SyncGroupRequestAssignment]
        if n4 < 0 or n4 * 6 > size - position:
            raise DecodeError("assignments has more elements than bytes, or is null")
        left -= n4
        if left < 0:
            raise TooManyElementsError
        list5: list[SyncGroupRequestAssignment] = []
        for _ in range(n4):
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_i(data, position)
            position += 4
            if n7 < 0:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n7]
            position += n7
            list5.append(SyncGroupRequestAssignment(member_id_1, assignment_1))
        assignments = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sync_group_request_v4(data: bytes, position: int, left: int) -> SyncGroupRequest:
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
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
        assignments: list[SyncGroupRequestAssignment]
        n4 -= 1
        if n4 < 0 or n4 * 3 > size - position:
            raise DecodeError("assignments has more elements than bytes, or is null")
        left -= n4
        if left < 0:
            raise TooManyElementsError
        list5: list[SyncGroupRequestAssignment] = []
        for _ in range(n4):
            n6 = data[position]
            position += 1
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
                if n6 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n6:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            if not n7:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n7 - 1]
            position += n7 - 1
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                left -= tags8
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags8)
            list5.append(SyncGroupRequestAssignment(member_id_1, assignment_1))
        assignments = list5
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
        return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, None, None, assignments)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sync_group_request_v5(data: bytes, position: int, left: int) -> SyncGroupRequest:
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
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
            if n4 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        protocol_type: str | None
        if n4:
            protocol_type = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
        else:
            protocol_type = None
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
            if n5 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        protocol_name: str | None
        if n5:
            protocol_name = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
        else:
            protocol_name = None
        n6 = data[position]
        position += 1
        if n6 > 127:
            n6, position = read_uvarint_tail(data, position, n6)
        assignments: list[SyncGroupRequestAssignment]
        n6 -= 1
        if n6 < 0 or n6 * 3 > size - position:
            raise DecodeError("assignments has more elements than bytes, or is null")
        left -= n6
        if left < 0:
            raise TooManyElementsError
        list7: list[SyncGroupRequestAssignment] = []
        for _ in range(n6):
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
                if n8 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n8:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n8 - 1].decode("utf-8", "replace")
            position += n8 - 1
            n9 = data[position]
            position += 1
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            if not n9:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n9 - 1]
            position += n9 - 1
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                left -= tags10
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags10)
            list7.append(SyncGroupRequestAssignment(member_id_1, assignment_1))
        assignments = list7
        tags11 = data[position]
        position += 1
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            left -= tags11
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags11)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SyncGroupRequest(group_id, generation_id, member_id, group_instance_id, protocol_type, protocol_name, assignments)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_sync_group_request_v0(message: SyncGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        b3 = message.member_id.encode()
        n4 = len(b3)
        items5 = message.assignments
        n6 = len(items5)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_ih(message.generation_id, n4), b3, _pack_i(n6)]
        for item7 in items5:
            b8 = item7.member_id.encode()
            n9 = len(b8)
            b10 = item7.assignment
            n11 = len(b10)
            parts += (_pack_h(n9), b8, _pack_i(n11), b10)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("SyncGroupRequest", error) from error


def encode_sync_group_request_v3(message: SyncGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        b3 = message.member_id.encode()
        n4 = len(b3)
        b5 = message.group_instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = -1 if b5 is None else len(b7)
        items8 = message.assignments
        n9 = len(items8)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_ih(message.generation_id, n4), b3, _pack_h(n6), b7, _pack_i(n9)]
        for item10 in items8:
            b11 = item10.member_id.encode()
            n12 = len(b11)
            b13 = item10.assignment
            n14 = len(b13)
            parts += (_pack_h(n12), b11, _pack_i(n14), b13)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("SyncGroupRequest", error) from error


def encode_sync_group_request_v4(message: SyncGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        b3 = message.member_id.encode()
        n4 = len(b3) + 1
        b5 = message.group_instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        items8 = message.assignments
        n9 = len(items8) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_iB(message.generation_id, n4) if n4 < 128 else _pack_i(message.generation_id) + uvarint(n4), b3, _pack_B(n6) if n6 < 128 else uvarint(n6), b7, _pack_B(n9) if n9 < 128 else uvarint(n9)]
        for item10 in items8:
            b11 = item10.member_id.encode()
            n12 = len(b11) + 1
            b13 = item10.assignment
            n14 = len(b13) + 1
            parts += (_pack_B(n12) if n12 < 128 else uvarint(n12), b11, _pack_B(n14) if n14 < 128 else uvarint(n14), b13, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("SyncGroupRequest", error) from error


def encode_sync_group_request_v5(message: SyncGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        b3 = message.member_id.encode()
        n4 = len(b3) + 1
        b5 = message.group_instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        b8 = message.protocol_type
        b10 = b"" if b8 is None else b8.encode()
        n9 = 0 if b8 is None else len(b10) + 1
        b11 = message.protocol_name
        b13 = b"" if b11 is None else b11.encode()
        n12 = 0 if b11 is None else len(b13) + 1
        items14 = message.assignments
        n15 = len(items14) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_iB(message.generation_id, n4) if n4 < 128 else _pack_i(message.generation_id) + uvarint(n4), b3, _pack_B(n6) if n6 < 128 else uvarint(n6), b7, _pack_B(n9) if n9 < 128 else uvarint(n9), b10, _pack_B(n12) if n12 < 128 else uvarint(n12), b13, _pack_B(n15) if n15 < 128 else uvarint(n15)]
        for item16 in items14:
            b17 = item16.member_id.encode()
            n18 = len(b17) + 1
            b19 = item16.assignment
            n20 = len(b19) + 1
            parts += (_pack_B(n18) if n18 < 128 else uvarint(n18), b17, _pack_B(n20) if n20 < 128 else uvarint(n20), b19, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("SyncGroupRequest", error) from error


def decode_sync_group_response_v0(data: bytes, position: int) -> SyncGroupResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hi(data, position)
        position += 6
        if n1 < 0:
            raise DecodeError("assignment is null")
        assignment = data[position : position + n1]
        position += n1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SyncGroupResponse(0, error_code, None, None, assignment)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sync_group_response_v1(data: bytes, position: int) -> SyncGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihi(data, position)
        position += 10
        if n1 < 0:
            raise DecodeError("assignment is null")
        assignment = data[position : position + n1]
        position += n1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sync_group_response_v4(data: bytes, position: int) -> SyncGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        if not n1:
            raise DecodeError("assignment is null")
        assignment = data[position : position + n1 - 1]
        position += n1 - 1
        tags2 = data[position]
        position += 1
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SyncGroupResponse(throttle_time_ms, error_code, None, None, assignment)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_sync_group_response_v5(data: bytes, position: int) -> SyncGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        protocol_type: str | None
        if n1:
            protocol_type = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            protocol_type = None
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        protocol_name: str | None
        if n2:
            protocol_name = data[position : position + n2 - 1].decode("utf-8", "replace")
            position += n2 - 1
        else:
            protocol_name = None
        n3 = data[position]
        position += 1
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
        if not n3:
            raise DecodeError("assignment is null")
        assignment = data[position : position + n3 - 1]
        position += n3 - 1
        tags4 = data[position]
        position += 1
        if tags4:
            if tags4 > 127:
                tags4, position = read_tag_count_tail(data, position, tags4)
            position = skip_tags(data, position, tags4)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return SyncGroupResponse(throttle_time_ms, error_code, protocol_type, protocol_name, assignment)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_sync_group_response_v0(message: SyncGroupResponse) -> bytes:
    try:
        b1 = message.assignment
        n2 = len(b1)
        return b"".join((_pack_hi(message.error_code, n2), b1))
    except UNENCODABLE as error:
        raise unwritable("SyncGroupResponse", error) from error


def encode_sync_group_response_v1(message: SyncGroupResponse) -> bytes:
    try:
        b1 = message.assignment
        n2 = len(b1)
        return b"".join((_pack_ihi(message.throttle_time_ms, message.error_code, n2), b1))
    except UNENCODABLE as error:
        raise unwritable("SyncGroupResponse", error) from error


def encode_sync_group_response_v4(message: SyncGroupResponse) -> bytes:
    try:
        b1 = message.assignment
        n2 = len(b1) + 1
        return b"".join((_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b1, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("SyncGroupResponse", error) from error


def encode_sync_group_response_v5(message: SyncGroupResponse) -> bytes:
    try:
        b1 = message.protocol_type
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.protocol_name
        b6 = b"" if b4 is None else b4.encode()
        n5 = 0 if b4 is None else len(b6) + 1
        b7 = message.assignment
        n8 = len(b7) + 1
        return b"".join((_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8), b7, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("SyncGroupResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], SyncGroupRequest]]] = {
    0: decode_sync_group_request_v0,
    1: decode_sync_group_request_v0,
    2: decode_sync_group_request_v0,
    3: decode_sync_group_request_v3,
    4: decode_sync_group_request_v4,
    5: decode_sync_group_request_v5,
}

ENCODE_REQUEST: Final[dict[int, Callable[[SyncGroupRequest], bytes]]] = {
    0: encode_sync_group_request_v0,
    1: encode_sync_group_request_v0,
    2: encode_sync_group_request_v0,
    3: encode_sync_group_request_v3,
    4: encode_sync_group_request_v4,
    5: encode_sync_group_request_v5,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], SyncGroupResponse]]] = {
    0: decode_sync_group_response_v0,
    1: decode_sync_group_response_v1,
    2: decode_sync_group_response_v1,
    3: decode_sync_group_response_v1,
    4: decode_sync_group_response_v4,
    5: decode_sync_group_response_v5,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[SyncGroupResponse], bytes]]] = {
    0: encode_sync_group_response_v0,
    1: encode_sync_group_response_v1,
    2: encode_sync_group_response_v1,
    3: encode_sync_group_response_v1,
    4: encode_sync_group_response_v4,
    5: encode_sync_group_response_v5,
}
