"""Offsets log: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.offsets_log`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError
from protocol.messages.offsets_log import (
    GroupValue,
    MemberValue,
    OffsetValue,
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
_pack_hqh = Struct(">hqh").pack
_pack_hqi = Struct(">hqi").pack
_pack_hqiB = Struct(">hqiB").pack
_pack_hqih = Struct(">hqih").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ii = Struct(">ii").pack
_pack_iiB = Struct(">iiB").pack
_pack_iii = Struct(">iii").pack
_pack_q = Struct(">q").pack
_pack_qB = Struct(">qB").pack
_pack_qi = Struct(">qi").pack
_pack_qq = Struct(">qq").pack
_pack_qx = Struct(">qx").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iiB = Struct(">iiB").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_unpack_q = Struct(">q").unpack_from
_unpack_qB = Struct(">qB").unpack_from
_unpack_qh = Struct(">qh").unpack_from
_unpack_qi = Struct(">qi").unpack_from
_unpack_qiB = Struct(">qiB").unpack_from
_unpack_qih = Struct(">qih").unpack_from
_unpack_qq = Struct(">qq").unpack_from


def decode_group_value_v0(data: bytes, position: int) -> GroupValue:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        generation, n2 = _unpack_ih(data, position)
        position += 6
        protocol: str | None
        if n2 >= 0:
            protocol = data[position : position + n2].decode("utf-8", "replace")
            position += n2
        else:
            protocol = None
        (n3,) = _unpack_h(data, position)
        position += 2
        leader: str | None
        if n3 >= 0:
            leader = data[position : position + n3].decode("utf-8", "replace")
            position += n3
        else:
            leader = None
        (n4,) = _unpack_i(data, position)
        position += 4
        members: list[MemberValue]
        if n4 < 0 or n4 * 18 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[MemberValue] = []
        for _ in range(n4):
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_h(data, position)
            position += 2
            if n7 < 0:
                raise DecodeError("client_id is null")
            client_id_1 = data[position : position + n7].decode("utf-8", "replace")
            position += n7
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("client_host is null")
            client_host_1 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            session_timeout_ms_1, n9 = _unpack_ii(data, position)
            position += 8
            if n9 < 0:
                raise DecodeError("subscription is null")
            subscription_1 = data[position : position + n9]
            position += n9
            (n10,) = _unpack_i(data, position)
            position += 4
            if n10 < 0:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n10]
            position += n10
            list5.append(MemberValue(member_id_1, None, client_id_1, client_host_1, -1, session_timeout_ms_1, subscription_1, assignment_1))
        members = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return GroupValue(protocol_type, generation, protocol, leader, -1, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_group_value_v1(data: bytes, position: int) -> GroupValue:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        generation, n2 = _unpack_ih(data, position)
        position += 6
        protocol: str | None
        if n2 >= 0:
            protocol = data[position : position + n2].decode("utf-8", "replace")
            position += n2
        else:
            protocol = None
        (n3,) = _unpack_h(data, position)
        position += 2
        leader: str | None
        if n3 >= 0:
            leader = data[position : position + n3].decode("utf-8", "replace")
            position += n3
        else:
            leader = None
        (n4,) = _unpack_i(data, position)
        position += 4
        members: list[MemberValue]
        if n4 < 0 or n4 * 22 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[MemberValue] = []
        for _ in range(n4):
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_h(data, position)
            position += 2
            if n7 < 0:
                raise DecodeError("client_id is null")
            client_id_1 = data[position : position + n7].decode("utf-8", "replace")
            position += n7
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("client_host is null")
            client_host_1 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            rebalance_timeout_ms_1, session_timeout_ms_1, n9 = _unpack_iii(data, position)
            position += 12
            if n9 < 0:
                raise DecodeError("subscription is null")
            subscription_1 = data[position : position + n9]
            position += n9
            (n10,) = _unpack_i(data, position)
            position += 4
            if n10 < 0:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n10]
            position += n10
            list5.append(MemberValue(member_id_1, None, client_id_1, client_host_1, rebalance_timeout_ms_1, session_timeout_ms_1, subscription_1, assignment_1))
        members = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return GroupValue(protocol_type, generation, protocol, leader, -1, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_group_value_v2(data: bytes, position: int) -> GroupValue:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        generation, n2 = _unpack_ih(data, position)
        position += 6
        protocol: str | None
        if n2 >= 0:
            protocol = data[position : position + n2].decode("utf-8", "replace")
            position += n2
        else:
            protocol = None
        (n3,) = _unpack_h(data, position)
        position += 2
        leader: str | None
        if n3 >= 0:
            leader = data[position : position + n3].decode("utf-8", "replace")
            position += n3
        else:
            leader = None
        current_state_timestamp_ms, n4 = _unpack_qi(data, position)
        position += 12
        members: list[MemberValue]
        if n4 < 0 or n4 * 22 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[MemberValue] = []
        for _ in range(n4):
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("member_id is null")
            member_id_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_h(data, position)
            position += 2
            if n7 < 0:
                raise DecodeError("client_id is null")
            client_id_1 = data[position : position + n7].decode("utf-8", "replace")
            position += n7
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("client_host is null")
            client_host_1 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            rebalance_timeout_ms_1, session_timeout_ms_1, n9 = _unpack_iii(data, position)
            position += 12
            if n9 < 0:
                raise DecodeError("subscription is null")
            subscription_1 = data[position : position + n9]
            position += n9
            (n10,) = _unpack_i(data, position)
            position += 4
            if n10 < 0:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n10]
            position += n10
            list5.append(MemberValue(member_id_1, None, client_id_1, client_host_1, rebalance_timeout_ms_1, session_timeout_ms_1, subscription_1, assignment_1))
        members = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return GroupValue(protocol_type, generation, protocol, leader, current_state_timestamp_ms, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_group_value_v3(data: bytes, position: int) -> GroupValue:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        generation, n2 = _unpack_ih(data, position)
        position += 6
        protocol: str | None
        if n2 >= 0:
            protocol = data[position : position + n2].decode("utf-8", "replace")
            position += n2
        else:
            protocol = None
        (n3,) = _unpack_h(data, position)
        position += 2
        leader: str | None
        if n3 >= 0:
            leader = data[position : position + n3].decode("utf-8", "replace")
            position += n3
        else:
            leader = None
        current_state_timestamp_ms, n4 = _unpack_qi(data, position)
        position += 12
        members: list[MemberValue]
        if n4 < 0 or n4 * 24 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[MemberValue] = []
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
            (n8,) = _unpack_h(data, position)
            position += 2
            if n8 < 0:
                raise DecodeError("client_id is null")
            client_id_1 = data[position : position + n8].decode("utf-8", "replace")
            position += n8
            (n9,) = _unpack_h(data, position)
            position += 2
            if n9 < 0:
                raise DecodeError("client_host is null")
            client_host_1 = data[position : position + n9].decode("utf-8", "replace")
            position += n9
            rebalance_timeout_ms_1, session_timeout_ms_1, n10 = _unpack_iii(data, position)
            position += 12
            if n10 < 0:
                raise DecodeError("subscription is null")
            subscription_1 = data[position : position + n10]
            position += n10
            (n11,) = _unpack_i(data, position)
            position += 4
            if n11 < 0:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n11]
            position += n11
            list5.append(MemberValue(member_id_1, group_instance_id_1, client_id_1, client_host_1, rebalance_timeout_ms_1, session_timeout_ms_1, subscription_1, assignment_1))
        members = list5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return GroupValue(protocol_type, generation, protocol, leader, current_state_timestamp_ms, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_group_value_v4(data: bytes, position: int) -> GroupValue:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        if not n1:
            raise DecodeError("protocol_type is null")
        protocol_type = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        generation, n2 = _unpack_iB(data, position)
        position += 5
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        protocol: str | None
        if n2:
            protocol = data[position : position + n2 - 1].decode("utf-8", "replace")
            position += n2 - 1
        else:
            protocol = None
        n3 = data[position]
        position += 1
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
        leader: str | None
        if n3:
            leader = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
        else:
            leader = None
        current_state_timestamp_ms, n4 = _unpack_qB(data, position)
        position += 9
        if n4 > 127:
            n4, position = read_uvarint_tail(data, position, n4)
        members: list[MemberValue]
        n4 -= 1
        if n4 < 0 or n4 * 15 > size - position:
            raise DecodeError("members has more elements than bytes, or is null")
        list5: list[MemberValue] = []
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
                raise DecodeError("client_id is null")
            client_id_1 = data[position : position + n8 - 1].decode("utf-8", "replace")
            position += n8 - 1
            n9 = data[position]
            position += 1
            if n9 > 127:
                n9, position = read_uvarint_tail(data, position, n9)
            if not n9:
                raise DecodeError("client_host is null")
            client_host_1 = data[position : position + n9 - 1].decode("utf-8", "replace")
            position += n9 - 1
            rebalance_timeout_ms_1, session_timeout_ms_1, n10 = _unpack_iiB(data, position)
            position += 9
            if n10 > 127:
                n10, position = read_uvarint_tail(data, position, n10)
            if not n10:
                raise DecodeError("subscription is null")
            subscription_1 = data[position : position + n10 - 1]
            position += n10 - 1
            n11 = data[position]
            position += 1
            if n11 > 127:
                n11, position = read_uvarint_tail(data, position, n11)
            if not n11:
                raise DecodeError("assignment is null")
            assignment_1 = data[position : position + n11 - 1]
            position += n11 - 1
            tags12 = data[position]
            position += 1
            if tags12:
                if tags12 > 127:
                    tags12, position = read_tag_count_tail(data, position, tags12)
                position = skip_tags(data, position, tags12)
            list5.append(MemberValue(member_id_1, group_instance_id_1, client_id_1, client_host_1, rebalance_timeout_ms_1, session_timeout_ms_1, subscription_1, assignment_1))
        members = list5
        tags13 = data[position]
        position += 1
        if tags13:
            if tags13 > 127:
                tags13, position = read_tag_count_tail(data, position, tags13)
            position = skip_tags(data, position, tags13)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return GroupValue(protocol_type, generation, protocol, leader, current_state_timestamp_ms, members)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_group_value_v0(message: GroupValue) -> bytes:
    try:
        b1 = message.protocol_type.encode()
        n2 = len(b1)
        b3 = message.protocol
        b5 = b"" if b3 is None else b3.encode()
        n4 = -1 if b3 is None else len(b5)
        b6 = message.leader
        b8 = b"" if b6 is None else b6.encode()
        n7 = -1 if b6 is None else len(b8)
        items9 = message.members
        n10 = len(items9)
        parts: list[bytes] = [_pack_hh(0, n2), b1, _pack_ih(message.generation, n4), b5, _pack_h(n7), b8, _pack_i(n10)]
        for item11 in items9:
            b12 = item11.member_id.encode()
            n13 = len(b12)
            b14 = item11.client_id.encode()
            n15 = len(b14)
            b16 = item11.client_host.encode()
            n17 = len(b16)
            b18 = item11.subscription
            n19 = len(b18)
            b20 = item11.assignment
            n21 = len(b20)
            parts += (_pack_h(n13), b12, _pack_h(n15), b14, _pack_h(n17), b16, _pack_ii(item11.session_timeout_ms, n19), b18, _pack_i(n21), b20)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("GroupValue", error) from error


def encode_group_value_v1(message: GroupValue) -> bytes:
    try:
        b1 = message.protocol_type.encode()
        n2 = len(b1)
        b3 = message.protocol
        b5 = b"" if b3 is None else b3.encode()
        n4 = -1 if b3 is None else len(b5)
        b6 = message.leader
        b8 = b"" if b6 is None else b6.encode()
        n7 = -1 if b6 is None else len(b8)
        items9 = message.members
        n10 = len(items9)
        parts: list[bytes] = [_pack_hh(1, n2), b1, _pack_ih(message.generation, n4), b5, _pack_h(n7), b8, _pack_i(n10)]
        for item11 in items9:
            b12 = item11.member_id.encode()
            n13 = len(b12)
            b14 = item11.client_id.encode()
            n15 = len(b14)
            b16 = item11.client_host.encode()
            n17 = len(b16)
            b18 = item11.subscription
            n19 = len(b18)
            b20 = item11.assignment
            n21 = len(b20)
            parts += (_pack_h(n13), b12, _pack_h(n15), b14, _pack_h(n17), b16, _pack_iii(item11.rebalance_timeout_ms, item11.session_timeout_ms, n19), b18, _pack_i(n21), b20)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("GroupValue", error) from error


def encode_group_value_v2(message: GroupValue) -> bytes:
    try:
        b1 = message.protocol_type.encode()
        n2 = len(b1)
        b3 = message.protocol
        b5 = b"" if b3 is None else b3.encode()
        n4 = -1 if b3 is None else len(b5)
        b6 = message.leader
        b8 = b"" if b6 is None else b6.encode()
        n7 = -1 if b6 is None else len(b8)
        items9 = message.members
        n10 = len(items9)
        parts: list[bytes] = [_pack_hh(2, n2), b1, _pack_ih(message.generation, n4), b5, _pack_h(n7), b8, _pack_qi(message.current_state_timestamp_ms, n10)]
        for item11 in items9:
            b12 = item11.member_id.encode()
            n13 = len(b12)
            b14 = item11.client_id.encode()
            n15 = len(b14)
            b16 = item11.client_host.encode()
            n17 = len(b16)
            b18 = item11.subscription
            n19 = len(b18)
            b20 = item11.assignment
            n21 = len(b20)
            parts += (_pack_h(n13), b12, _pack_h(n15), b14, _pack_h(n17), b16, _pack_iii(item11.rebalance_timeout_ms, item11.session_timeout_ms, n19), b18, _pack_i(n21), b20)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("GroupValue", error) from error


def encode_group_value_v3(message: GroupValue) -> bytes:
    try:
        b1 = message.protocol_type.encode()
        n2 = len(b1)
        b3 = message.protocol
        b5 = b"" if b3 is None else b3.encode()
        n4 = -1 if b3 is None else len(b5)
        b6 = message.leader
        b8 = b"" if b6 is None else b6.encode()
        n7 = -1 if b6 is None else len(b8)
        items9 = message.members
        n10 = len(items9)
        parts: list[bytes] = [_pack_hh(3, n2), b1, _pack_ih(message.generation, n4), b5, _pack_h(n7), b8, _pack_qi(message.current_state_timestamp_ms, n10)]
        for item11 in items9:
            b12 = item11.member_id.encode()
            n13 = len(b12)
            b14 = item11.group_instance_id
            b16 = b"" if b14 is None else b14.encode()
            n15 = -1 if b14 is None else len(b16)
            b17 = item11.client_id.encode()
            n18 = len(b17)
            b19 = item11.client_host.encode()
            n20 = len(b19)
            b21 = item11.subscription
            n22 = len(b21)
            b23 = item11.assignment
            n24 = len(b23)
            parts += (_pack_h(n13), b12, _pack_h(n15), b16, _pack_h(n18), b17, _pack_h(n20), b19, _pack_iii(item11.rebalance_timeout_ms, item11.session_timeout_ms, n22), b21, _pack_i(n24), b23)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("GroupValue", error) from error


def encode_group_value_v4(message: GroupValue) -> bytes:
    try:
        b1 = message.protocol_type.encode()
        n2 = len(b1) + 1
        b3 = message.protocol
        b5 = b"" if b3 is None else b3.encode()
        n4 = 0 if b3 is None else len(b5) + 1
        b6 = message.leader
        b8 = b"" if b6 is None else b6.encode()
        n7 = 0 if b6 is None else len(b8) + 1
        items9 = message.members
        n10 = len(items9) + 1
        parts: list[bytes] = [_pack_hB(4, n2) if n2 < 128 else _pack_h(4) + uvarint(n2), b1, _pack_iB(message.generation, n4) if n4 < 128 else _pack_i(message.generation) + uvarint(n4), b5, _pack_B(n7) if n7 < 128 else uvarint(n7), b8, _pack_qB(message.current_state_timestamp_ms, n10) if n10 < 128 else _pack_q(message.current_state_timestamp_ms) + uvarint(n10)]
        for item11 in items9:
            b12 = item11.member_id.encode()
            n13 = len(b12) + 1
            b14 = item11.group_instance_id
            b16 = b"" if b14 is None else b14.encode()
            n15 = 0 if b14 is None else len(b16) + 1
            b17 = item11.client_id.encode()
            n18 = len(b17) + 1
            b19 = item11.client_host.encode()
            n20 = len(b19) + 1
            b21 = item11.subscription
            n22 = len(b21) + 1
            b23 = item11.assignment
            n24 = len(b23) + 1
            parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12, _pack_B(n15) if n15 < 128 else uvarint(n15), b16, _pack_B(n18) if n18 < 128 else uvarint(n18), b17, _pack_B(n20) if n20 < 128 else uvarint(n20), b19, _pack_iiB(item11.rebalance_timeout_ms, item11.session_timeout_ms, n22) if n22 < 128 else _pack_ii(item11.rebalance_timeout_ms, item11.session_timeout_ms) + uvarint(n22), b21, _pack_B(n24) if n24 < 128 else uvarint(n24), b23, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("GroupValue", error) from error


def decode_offset_value_v0(data: bytes, position: int) -> OffsetValue:
    try:
        size = len(data)
        offset, n1 = _unpack_qh(data, position)
        position += 10
        if n1 < 0:
            raise DecodeError("metadata is null")
        metadata = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (commit_timestamp_ms,) = _unpack_q(data, position)
        position += 8
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetValue(offset, -1, metadata, commit_timestamp_ms, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_value_v1(data: bytes, position: int) -> OffsetValue:
    try:
        size = len(data)
        offset, n1 = _unpack_qh(data, position)
        position += 10
        if n1 < 0:
            raise DecodeError("metadata is null")
        metadata = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        commit_timestamp_ms, expire_timestamp_ms = _unpack_qq(data, position)
        position += 16
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetValue(offset, -1, metadata, commit_timestamp_ms, expire_timestamp_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_value_v3(data: bytes, position: int) -> OffsetValue:
    try:
        size = len(data)
        offset, leader_epoch, n1 = _unpack_qih(data, position)
        position += 14
        if n1 < 0:
            raise DecodeError("metadata is null")
        metadata = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (commit_timestamp_ms,) = _unpack_q(data, position)
        position += 8
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetValue(offset, leader_epoch, metadata, commit_timestamp_ms, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_value_v4(data: bytes, position: int) -> OffsetValue:
    try:
        size = len(data)
        offset, leader_epoch, n1 = _unpack_qiB(data, position)
        position += 13
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        if not n1:
            raise DecodeError("metadata is null")
        metadata = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        commit_timestamp_ms, tags2 = _unpack_qB(data, position)
        position += 9
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetValue(offset, leader_epoch, metadata, commit_timestamp_ms, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_offset_value_v0(message: OffsetValue) -> bytes:
    try:
        b1 = message.metadata.encode()
        n2 = len(b1)
        return b"".join((_pack_hqh(0, message.offset, n2), b1, _pack_q(message.commit_timestamp_ms)))
    except UNENCODABLE as error:
        raise unwritable("OffsetValue", error) from error


def encode_offset_value_v1(message: OffsetValue) -> bytes:
    try:
        b1 = message.metadata.encode()
        n2 = len(b1)
        return b"".join((_pack_hqh(1, message.offset, n2), b1, _pack_qq(message.commit_timestamp_ms, message.expire_timestamp_ms)))
    except UNENCODABLE as error:
        raise unwritable("OffsetValue", error) from error


def encode_offset_value_v2(message: OffsetValue) -> bytes:
    try:
        b1 = message.metadata.encode()
        n2 = len(b1)
        return b"".join((_pack_hqh(2, message.offset, n2), b1, _pack_q(message.commit_timestamp_ms)))
    except UNENCODABLE as error:
        raise unwritable("OffsetValue", error) from error


def encode_offset_value_v3(message: OffsetValue) -> bytes:
    try:
        b1 = message.metadata.encode()
        n2 = len(b1)
        return b"".join((_pack_hqih(3, message.offset, message.leader_epoch, n2), b1, _pack_q(message.commit_timestamp_ms)))
    except UNENCODABLE as error:
        raise unwritable("OffsetValue", error) from error


def encode_offset_value_v4(message: OffsetValue) -> bytes:
    try:
        b1 = message.metadata.encode()
        n2 = len(b1) + 1
        return b"".join((_pack_hqiB(4, message.offset, message.leader_epoch, n2) if n2 < 128 else _pack_hqi(4, message.offset, message.leader_epoch) + uvarint(n2), b1, _pack_qx(message.commit_timestamp_ms)))
    except UNENCODABLE as error:
        raise unwritable("OffsetValue", error) from error


DECODE_GROUP_VALUE: Final[dict[int, Callable[[bytes, int], GroupValue]]] = {
    0: decode_group_value_v0,
    1: decode_group_value_v1,
    2: decode_group_value_v2,
    3: decode_group_value_v3,
    4: decode_group_value_v4,
}

ENCODE_GROUP_VALUE: Final[dict[int, Callable[[GroupValue], bytes]]] = {
    0: encode_group_value_v0,
    1: encode_group_value_v1,
    2: encode_group_value_v2,
    3: encode_group_value_v3,
    4: encode_group_value_v4,
}

DECODE_OFFSET_VALUE: Final[dict[int, Callable[[bytes, int], OffsetValue]]] = {
    0: decode_offset_value_v0,
    1: decode_offset_value_v1,
    2: decode_offset_value_v0,
    3: decode_offset_value_v3,
    4: decode_offset_value_v4,
}

ENCODE_OFFSET_VALUE: Final[dict[int, Callable[[OffsetValue], bytes]]] = {
    0: encode_offset_value_v0,
    1: encode_offset_value_v1,
    2: encode_offset_value_v2,
    3: encode_offset_value_v3,
    4: encode_offset_value_v4,
}
