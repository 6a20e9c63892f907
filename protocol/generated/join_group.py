"""JoinGroup: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.join_group`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, EncodeError, TooManyElementsError
from protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
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
_pack_hih = Struct(">hih").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihi = Struct(">ihi").pack
_pack_ihiB = Struct(">ihiB").pack
_pack_ihih = Struct(">ihih").pack
_pack_ii = Struct(">ii").pack
_pack_iiB = Struct(">iiB").pack
_pack_iih = Struct(">iih").pack
_pack_o = Struct(">?").pack
_pack_oB = Struct(">?B").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hih = Struct(">hih").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihiB = Struct(">ihiB").unpack_from
_unpack_ihih = Struct(">ihih").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iih = Struct(">iih").unpack_from
_unpack_oB = Struct(">?B").unpack_from


def decode_join_group_request_v0(data: bytes, position: int, left: int) -> JoinGroupRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        session_timeout_ms, n2 = _unpack_ih(data, position)
        position += 6
        if n2 < 0:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        (n3,) = _unpack_h(data, position)
        position += 2
        if n3 < 0:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n3].decode("utf-8", "replace")
        position += n3
        (n4,) = _unpack_i(data, position)
        position += 4
        protocols: list[JoinGroupRequestProtocol]
        if n4 < 0 or n4 * 6 > size - position:
            raise DecodeError("protocols has more elements than bytes, or is null")
        left -= n4
        if left < 0:
            raise TooManyElementsError
        list5: list[JoinGroupRequestProtocol] = []
        for _ in range(n4):
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_i(data, position)
            position += 4
            if n7 < 0:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n7]
            position += n7
            list5.append(JoinGroupRequestProtocol(name_1, metadata_1))
        protocols = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupRequest(group_id, session_timeout_ms, -1, member_id, None, protocol_type, protocols, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_request_v1(data: bytes, position: int, left: int) -> JoinGroupRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        session_timeout_ms, rebalance_timeout_ms, n2 = _unpack_iih(data, position)
        position += 10
        if n2 < 0:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        (n3,) = _unpack_h(data, position)
        position += 2
        if n3 < 0:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n3].decode("utf-8", "replace")
        position += n3
        (n4,) = _unpack_i(data, position)
        position += 4
        protocols: list[JoinGroupRequestProtocol]
        if n4 < 0 or n4 * 6 > size - position:
            raise DecodeError("protocols has more elements than bytes, or is null")
        left -= n4
        if left < 0:
            raise TooManyElementsError
        list5: list[JoinGroupRequestProtocol] = []
        for _ in range(n4):
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_i(data, position)
            position += 4
            if n7 < 0:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n7]
            position += n7
            list5.append(JoinGroupRequestProtocol(name_1, metadata_1))
        protocols = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, None, protocol_type, protocols, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_request_v5(data: bytes, position: int, left: int) -> JoinGroupRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        session_timeout_ms, rebalance_timeout_ms, n2 = _unpack_iih(data, position)
        position += 10
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
        (n4,) = _unpack_h(data, position)
        position += 2
        if n4 < 0:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n4].decode("utf-8", "replace")
        position += n4
        (n5,) = _unpack_i(data, position)
        position += 4
        protocols: list[JoinGroupRequestProtocol]
        if n5 < 0 or n5 * 6 > size - position:
            raise DecodeError("protocols has more elements than bytes, or is null")
        left -= n5
        if left < 0:
            raise TooManyElementsError
        list6: list[JoinGroupRequestProtocol] = []
        for _ in range(n5):
            (n7,) = _unpack_h(data, position)
            position += 2
            if n7 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n7].decode("utf-8", "replace")
            position += n7
            (n8,) = _unpack_i(data, position)
            position += 4
            if n8 < 0:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n8]
            position += n8
            list6.append(JoinGroupRequestProtocol(name_1, metadata_1))
        protocols = list6
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_request_v6(data: bytes, position: int, left: int) -> JoinGroupRequest:
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
        session_timeout_ms, rebalance_timeout_ms, n2 = _unpack_iiB(data, position)
        position += 9
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
        if not n4:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n4 - 1].decode("utf-8", "replace")
        position += n4 - 1
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        protocols: list[JoinGroupRequestProtocol]
        n5 -= 1
        if n5 < 0 or n5 * 3 > size - position:
            raise DecodeError("protocols has more elements than bytes, or is null")
        left -= n5
        if left < 0:
            raise TooManyElementsError
        list6: list[JoinGroupRequestProtocol] = []
        for _ in range(n5):
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
                if n7 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n7:
                raise DecodeError("name is null")
            name_1 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            if not n8:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n8 - 1]
            position += n8 - 1
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                left -= tags9
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags9)
            list6.append(JoinGroupRequestProtocol(name_1, metadata_1))
        protocols = list6
        tags10 = data[position]
        position += 1
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            left -= tags10
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_request_v8(data: bytes, position: int, left: int) -> JoinGroupRequest:
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
        session_timeout_ms, rebalance_timeout_ms, n2 = _unpack_iiB(data, position)
        position += 9
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
        if not n4:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n4 - 1].decode("utf-8", "replace")
        position += n4 - 1
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        protocols: list[JoinGroupRequestProtocol]
        n5 -= 1
        if n5 < 0 or n5 * 3 > size - position:
            raise DecodeError("protocols has more elements than bytes, or is null")
        left -= n5
        if left < 0:
            raise TooManyElementsError
        list6: list[JoinGroupRequestProtocol] = []
        for _ in range(n5):
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
                if n7 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n7:
                raise DecodeError("name is null")
            name_1 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            if not n8:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n8 - 1]
            position += n8 - 1
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                left -= tags9
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags9)
            list6.append(JoinGroupRequestProtocol(name_1, metadata_1))
        protocols = list6
        n10 = data[position]
        position += 1
        if n10 > 127:
            n10, position = read_uvarint_tail(data, position, n10)
            if n10 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        reason: str | None
        if n10:
            reason = data[position : position + n10 - 1].decode("utf-8", "replace")
            position += n10 - 1
        else:
            reason = None
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
        return JoinGroupRequest(group_id, session_timeout_ms, rebalance_timeout_ms, member_id, group_instance_id, protocol_type, protocols, reason)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_join_group_request_v0(message: JoinGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        b3 = message.member_id.encode()
        n4 = len(b3)
        b5 = message.protocol_type.encode()
        n6 = len(b5)
        items7 = message.protocols
        n8 = len(items7)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_ih(message.session_timeout_ms, n4), b3, _pack_h(n6), b5, _pack_i(n8)]
        for item9 in items7:
            b10 = item9.name.encode()
            n11 = len(b10)
            b12 = item9.metadata
            n13 = len(b12)
            parts += (_pack_h(n11), b10, _pack_i(n13), b12)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupRequest", error) from error


def encode_join_group_request_v1(message: JoinGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        b3 = message.member_id.encode()
        n4 = len(b3)
        b5 = message.protocol_type.encode()
        n6 = len(b5)
        items7 = message.protocols
        n8 = len(items7)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_iih(message.session_timeout_ms, message.rebalance_timeout_ms, n4), b3, _pack_h(n6), b5, _pack_i(n8)]
        for item9 in items7:
            b10 = item9.name.encode()
            n11 = len(b10)
            b12 = item9.metadata
            n13 = len(b12)
            parts += (_pack_h(n11), b10, _pack_i(n13), b12)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupRequest", error) from error


def encode_join_group_request_v5(message: JoinGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        b3 = message.member_id.encode()
        n4 = len(b3)
        b5 = message.group_instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = -1 if b5 is None else len(b7)
        b8 = message.protocol_type.encode()
        n9 = len(b8)
        items10 = message.protocols
        n11 = len(items10)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_iih(message.session_timeout_ms, message.rebalance_timeout_ms, n4), b3, _pack_h(n6), b7, _pack_h(n9), b8, _pack_i(n11)]
        for item12 in items10:
            b13 = item12.name.encode()
            n14 = len(b13)
            b15 = item12.metadata
            n16 = len(b15)
            parts += (_pack_h(n14), b13, _pack_i(n16), b15)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupRequest", error) from error


def encode_join_group_request_v6(message: JoinGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        b3 = message.member_id.encode()
        n4 = len(b3) + 1
        b5 = message.group_instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        b8 = message.protocol_type.encode()
        n9 = len(b8) + 1
        items10 = message.protocols
        n11 = len(items10) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_iiB(message.session_timeout_ms, message.rebalance_timeout_ms, n4) if n4 < 128 else _pack_ii(message.session_timeout_ms, message.rebalance_timeout_ms) + uvarint(n4), b3, _pack_B(n6) if n6 < 128 else uvarint(n6), b7, _pack_B(n9) if n9 < 128 else uvarint(n9), b8, _pack_B(n11) if n11 < 128 else uvarint(n11)]
        for item12 in items10:
            b13 = item12.name.encode()
            n14 = len(b13) + 1
            b15 = item12.metadata
            n16 = len(b15) + 1
            parts += (_pack_B(n14) if n14 < 128 else uvarint(n14), b13, _pack_B(n16) if n16 < 128 else uvarint(n16), b15, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupRequest", error) from error


def encode_join_group_request_v8(message: JoinGroupRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        b3 = message.member_id.encode()
        n4 = len(b3) + 1
        b5 = message.group_instance_id
        b7 = b"" if b5 is None else b5.encode()
        n6 = 0 if b5 is None else len(b7) + 1
        b8 = message.protocol_type.encode()
        n9 = len(b8) + 1
        items10 = message.protocols
        n11 = len(items10) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_iiB(message.session_timeout_ms, message.rebalance_timeout_ms, n4) if n4 < 128 else _pack_ii(message.session_timeout_ms, message.rebalance_timeout_ms) + uvarint(n4), b3, _pack_B(n6) if n6 < 128 else uvarint(n6), b7, _pack_B(n9) if n9 < 128 else uvarint(n9), b8, _pack_B(n11) if n11 < 128 else uvarint(n11)]
        for item12 in items10:
            b13 = item12.name.encode()
            n14 = len(b13) + 1
            b15 = item12.metadata
            n16 = len(b15) + 1
            parts += (_pack_B(n14) if n14 < 128 else uvarint(n14), b13, _pack_B(n16) if n16 < 128 else uvarint(n16), b15, b"\0")
        b17 = message.reason
        b19 = b"" if b17 is None else b17.encode()
        n18 = 0 if b17 is None else len(b19) + 1
        parts += (_pack_B(n18) if n18 < 128 else uvarint(n18), b19, b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupRequest", error) from error


def decode_join_group_response_v0(data: bytes, position: int) -> JoinGroupResponse:
    try:
        size = len(data)
        error_code, generation_id, n1 = _unpack_hih(data, position)
        position += 8
        if n1 < 0:
            raise DecodeError("protocol_name is null")
        protocol_name = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_h(data, position)
        position += 2
        if n2 < 0:
            raise DecodeError("leader is null")
        leader = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        (n3,) = _unpack_h(data, position)
        position += 2
        if n3 < 0:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n3].decode("utf-8", "replace")
        position += n3
        (n4,) = _unpack_i(data, position)
        position += 4
        members: list[JoinGroupResponseMember]
        if n4 < 0 or n4 * 6 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[JoinGroupResponseMember] = []
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
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n7]
            position += n7
            list5.append(JoinGroupResponseMember(member_id_1, None, metadata_1))
        members = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupResponse(0, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_response_v2(data: bytes, position: int) -> JoinGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, generation_id, n1 = _unpack_ihih(data, position)
        position += 12
        if n1 < 0:
            raise DecodeError("protocol_name is null")
        protocol_name = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_h(data, position)
        position += 2
        if n2 < 0:
            raise DecodeError("leader is null")
        leader = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        (n3,) = _unpack_h(data, position)
        position += 2
        if n3 < 0:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n3].decode("utf-8", "replace")
        position += n3
        (n4,) = _unpack_i(data, position)
        position += 4
        members: list[JoinGroupResponseMember]
        if n4 < 0 or n4 * 6 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[JoinGroupResponseMember] = []
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
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n7]
            position += n7
            list5.append(JoinGroupResponseMember(member_id_1, None, metadata_1))
        members = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_response_v5(data: bytes, position: int) -> JoinGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, generation_id, n1 = _unpack_ihih(data, position)
        position += 12
        if n1 < 0:
            raise DecodeError("protocol_name is null")
        protocol_name = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_h(data, position)
        position += 2
        if n2 < 0:
            raise DecodeError("leader is null")
        leader = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        (n3,) = _unpack_h(data, position)
        position += 2
        if n3 < 0:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n3].decode("utf-8", "replace")
        position += n3
        (n4,) = _unpack_i(data, position)
        position += 4
        members: list[JoinGroupResponseMember]
        if n4 < 0 or n4 * 8 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[JoinGroupResponseMember] = []
        for _ in range(n4):
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_h(data, position)
            position += 2
            group_instance_id_1: str | None
            if n7 >= 0:
                group_instance_id_1 = data[position : position + n7].decode("utf-8", "replace")
                position += n7
            else:
                group_instance_id_1 = None
            (n8,) = _unpack_i(data, position)
            position += 4
            if n8 < 0:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n8]
            position += n8
            list5.append(JoinGroupResponseMember(member_id_1, group_instance_id_1, metadata_1))
        members = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_response_v6(data: bytes, position: int) -> JoinGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, generation_id, n1 = _unpack_ihiB(data, position)
        position += 11
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        if not n1:
            raise DecodeError("protocol_name is null")
        protocol_name = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        if not n2:
            raise DecodeError("leader is null")
        leader = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        n3 = data[position]
        position += 1
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
        if not n3:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n3 - 1].decode("utf-8", "replace")
        position += n3 - 1
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
        members: list[JoinGroupResponseMember]
        n4 -= 1
        if n4 < 0 or n4 * 4 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[JoinGroupResponseMember] = []
        for _ in range(n4):
            n6 = data[position]
            position += 1
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            if not n6:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            group_instance_id_1: str | None
            if n7:
                group_instance_id_1 = data[position : position + n7 - 1].decode("utf-8", "replace")
                position += n7 - 1
            else:
                group_instance_id_1 = None
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            if not n8:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n8 - 1]
            position += n8 - 1
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                position = skip_tags(data, position, tags9)
            list5.append(JoinGroupResponseMember(member_id_1, group_instance_id_1, metadata_1))
        members = list5
        tags10 = data[position]
        position += 1
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, None, protocol_name, leader, False, member_id, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_response_v7(data: bytes, position: int) -> JoinGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, generation_id, n1 = _unpack_ihiB(data, position)
        position += 11
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
            raise DecodeError("leader is null")
        leader = data[position : position + n3 - 1].decode("utf-8", "replace")
        position += n3 - 1
        n4 = data[position]
        position += 1
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
        if not n4:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n4 - 1].decode("utf-8", "replace")
        position += n4 - 1
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        members: list[JoinGroupResponseMember]
        n5 -= 1
        if n5 < 0 or n5 * 4 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list6: list[JoinGroupResponseMember] = []
        for _ in range(n5):
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            if not n7:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            group_instance_id_1: str | None
            if n8:
                group_instance_id_1 = data[position : position + n8 - 1].decode("utf-8", "replace")
                position += n8 - 1
            else:
                group_instance_id_1 = None
            n9 = data[position]
            position += 1
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            if not n9:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n9 - 1]
            position += n9 - 1
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                position = skip_tags(data, position, tags10)
            list6.append(JoinGroupResponseMember(member_id_1, group_instance_id_1, metadata_1))
        members = list6
        tags11 = data[position]
        position += 1
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            position = skip_tags(data, position, tags11)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, False, member_id, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_join_group_response_v9(data: bytes, position: int) -> JoinGroupResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, generation_id, n1 = _unpack_ihiB(data, position)
        position += 11
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
            raise DecodeError("leader is null")
        leader = data[position : position + n3 - 1].decode("utf-8", "replace")
        position += n3 - 1
        skip_assignment, n4 = _unpack_oB(data, position)
        position += 2
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
        if not n4:
            raise DecodeError("member_id is null")
        member_id = data[position : position + n4 - 1].decode("utf-8", "replace")
        position += n4 - 1
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        members: list[JoinGroupResponseMember]
        n5 -= 1
        if n5 < 0 or n5 * 4 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list6: list[JoinGroupResponseMember] = []
        for _ in range(n5):
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            if not n7:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            group_instance_id_1: str | None
            if n8:
                group_instance_id_1 = data[position : position + n8 - 1].decode("utf-8", "replace")
                position += n8 - 1
            else:
                group_instance_id_1 = None
            n9 = data[position]
            position += 1
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            if not n9:
                raise DecodeError("metadata is null")
            metadata_1 = data[position : position + n9 - 1]
            position += n9 - 1
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                position = skip_tags(data, position, tags10)
            list6.append(JoinGroupResponseMember(member_id_1, group_instance_id_1, metadata_1))
        members = list6
        tags11 = data[position]
        position += 1
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            position = skip_tags(data, position, tags11)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return JoinGroupResponse(throttle_time_ms, error_code, generation_id, protocol_type, protocol_name, leader, skip_assignment, member_id, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_join_group_response_v0(message: JoinGroupResponse) -> bytes:
    try:
        checked3 = message.protocol_name
        if checked3 is None:
            raise EncodeError("protocol_name is null")
        b1 = checked3.encode()
        n2 = len(b1)
        b4 = message.leader.encode()
        n5 = len(b4)
        b6 = message.member_id.encode()
        n7 = len(b6)
        items8 = message.members
        n9 = len(items8)
        parts: list[bytes] = [_pack_hih(message.error_code, message.generation_id, n2), b1, _pack_h(n5), b4, _pack_h(n7), b6, _pack_i(n9)]
        for item10 in items8:
            b11 = item10.member_id.encode()
            n12 = len(b11)
            b13 = item10.metadata
            n14 = len(b13)
            parts += (_pack_h(n12), b11, _pack_i(n14), b13)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupResponse", error) from error


def encode_join_group_response_v2(message: JoinGroupResponse) -> bytes:
    try:
        checked3 = message.protocol_name
        if checked3 is None:
            raise EncodeError("protocol_name is null")
        b1 = checked3.encode()
        n2 = len(b1)
        b4 = message.leader.encode()
        n5 = len(b4)
        b6 = message.member_id.encode()
        n7 = len(b6)
        items8 = message.members
        n9 = len(items8)
        parts: list[bytes] = [_pack_ihih(message.throttle_time_ms, message.error_code, message.generation_id, n2), b1, _pack_h(n5), b4, _pack_h(n7), b6, _pack_i(n9)]
        for item10 in items8:
            b11 = item10.member_id.encode()
            n12 = len(b11)
            b13 = item10.metadata
            n14 = len(b13)
            parts += (_pack_h(n12), b11, _pack_i(n14), b13)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupResponse", error) from error


def encode_join_group_response_v5(message: JoinGroupResponse) -> bytes:
    try:
        checked3 = message.protocol_name
        if checked3 is None:
            raise EncodeError("protocol_name is null")
        b1 = checked3.encode()
        n2 = len(b1)
        b4 = message.leader.encode()
        n5 = len(b4)
        b6 = message.member_id.encode()
        n7 = len(b6)
        items8 = message.members
        n9 = len(items8)
        parts: list[bytes] = [_pack_ihih(message.throttle_time_ms, message.error_code, message.generation_id, n2), b1, _pack_h(n5), b4, _pack_h(n7), b6, _pack_i(n9)]
        for item10 in items8:
            b11 = item10.member_id.encode()
            n12 = len(b11)
            b13 = item10.group_instance_id
            b15 = b"" if b13 is None else b13.encode()
            n14 = -1 if b13 is None else len(b15)
            b16 = item10.metadata
            n17 = len(b16)
            parts += (_pack_h(n12), b11, _pack_h(n14), b15, _pack_i(n17), b16)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupResponse", error) from error


def encode_join_group_response_v6(message: JoinGroupResponse) -> bytes:
    try:
        checked3 = message.protocol_name
        if checked3 is None:
            raise EncodeError("protocol_name is null")
        b1 = checked3.encode()
        n2 = len(b1) + 1
        b4 = message.leader.encode()
        n5 = len(b4) + 1
        b6 = message.member_id.encode()
        n7 = len(b6) + 1
        items8 = message.members
        n9 = len(items8) + 1
        parts: list[bytes] = [_pack_ihiB(message.throttle_time_ms, message.error_code, message.generation_id, n2) if n2 < 128 else _pack_ihi(message.throttle_time_ms, message.error_code, message.generation_id) + uvarint(n2), b1, _pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9)]
        for item10 in items8:
            b11 = item10.member_id.encode()
            n12 = len(b11) + 1
            b13 = item10.group_instance_id
            b15 = b"" if b13 is None else b13.encode()
            n14 = 0 if b13 is None else len(b15) + 1
            b16 = item10.metadata
            n17 = len(b16) + 1
            parts += (_pack_B(n12) if n12 < 128 else uvarint(n12), b11, _pack_B(n14) if n14 < 128 else uvarint(n14), b15, _pack_B(n17) if n17 < 128 else uvarint(n17), b16, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupResponse", error) from error


def encode_join_group_response_v7(message: JoinGroupResponse) -> bytes:
    try:
        b1 = message.protocol_type
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.protocol_name
        b6 = b"" if b4 is None else b4.encode()
        n5 = 0 if b4 is None else len(b6) + 1
        b7 = message.leader.encode()
        n8 = len(b7) + 1
        b9 = message.member_id.encode()
        n10 = len(b9) + 1
        items11 = message.members
        n12 = len(items11) + 1
        parts: list[bytes] = [_pack_ihiB(message.throttle_time_ms, message.error_code, message.generation_id, n2) if n2 < 128 else _pack_ihi(message.throttle_time_ms, message.error_code, message.generation_id) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12)]
        for item13 in items11:
            b14 = item13.member_id.encode()
            n15 = len(b14) + 1
            b16 = item13.group_instance_id
            b18 = b"" if b16 is None else b16.encode()
            n17 = 0 if b16 is None else len(b18) + 1
            b19 = item13.metadata
            n20 = len(b19) + 1
            parts += (_pack_B(n15) if n15 < 128 else uvarint(n15), b14, _pack_B(n17) if n17 < 128 else uvarint(n17), b18, _pack_B(n20) if n20 < 128 else uvarint(n20), b19, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupResponse", error) from error


def encode_join_group_response_v9(message: JoinGroupResponse) -> bytes:
    try:
        b1 = message.protocol_type
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.protocol_name
        b6 = b"" if b4 is None else b4.encode()
        n5 = 0 if b4 is None else len(b6) + 1
        b7 = message.leader.encode()
        n8 = len(b7) + 1
        b9 = message.member_id.encode()
        n10 = len(b9) + 1
        items11 = message.members
        n12 = len(items11) + 1
        parts: list[bytes] = [_pack_ihiB(message.throttle_time_ms, message.error_code, message.generation_id, n2) if n2 < 128 else _pack_ihi(message.throttle_time_ms, message.error_code, message.generation_id) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_oB(message.skip_assignment, n10) if n10 < 128 else _pack_o(message.skip_assignment) + uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12)]
        for item13 in items11:
            b14 = item13.member_id.encode()
            n15 = len(b14) + 1
            b16 = item13.group_instance_id
            b18 = b"" if b16 is None else b16.encode()
            n17 = 0 if b16 is None else len(b18) + 1
            b19 = item13.metadata
            n20 = len(b19) + 1
            parts += (_pack_B(n15) if n15 < 128 else uvarint(n15), b14, _pack_B(n17) if n17 < 128 else uvarint(n17), b18, _pack_B(n20) if n20 < 128 else uvarint(n20), b19, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("JoinGroupResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], JoinGroupRequest]]] = {
    0: decode_join_group_request_v0,
    1: decode_join_group_request_v1,
    2: decode_join_group_request_v1,
    3: decode_join_group_request_v1,
    4: decode_join_group_request_v1,
    5: decode_join_group_request_v5,
    6: decode_join_group_request_v6,
    7: decode_join_group_request_v6,
    8: decode_join_group_request_v8,
    9: decode_join_group_request_v8,
}

ENCODE_REQUEST: Final[dict[int, Callable[[JoinGroupRequest], bytes]]] = {
    0: encode_join_group_request_v0,
    1: encode_join_group_request_v1,
    2: encode_join_group_request_v1,
    3: encode_join_group_request_v1,
    4: encode_join_group_request_v1,
    5: encode_join_group_request_v5,
    6: encode_join_group_request_v6,
    7: encode_join_group_request_v6,
    8: encode_join_group_request_v8,
    9: encode_join_group_request_v8,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], JoinGroupResponse]]] = {
    0: decode_join_group_response_v0,
    1: decode_join_group_response_v0,
    2: decode_join_group_response_v2,
    3: decode_join_group_response_v2,
    4: decode_join_group_response_v2,
    5: decode_join_group_response_v5,
    6: decode_join_group_response_v6,
    7: decode_join_group_response_v7,
    8: decode_join_group_response_v7,
    9: decode_join_group_response_v9,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[JoinGroupResponse], bytes]]] = {
    0: encode_join_group_response_v0,
    1: encode_join_group_response_v0,
    2: encode_join_group_response_v2,
    3: encode_join_group_response_v2,
    4: encode_join_group_response_v2,
    5: encode_join_group_response_v5,
    6: encode_join_group_response_v6,
    7: encode_join_group_response_v7,
    8: encode_join_group_response_v7,
    9: encode_join_group_response_v9,
}
