"""DescribeGroups: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_groups`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
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
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_ix = Struct(">ix").pack
_pack_o = Struct(">?").pack
_pack_ox = Struct(">?x").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_o = Struct(">?").unpack_from
_unpack_oB = Struct(">?B").unpack_from


def decode_describe_groups_request_v0(data: bytes, position: int, left: int) -> DescribeGroupsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        groups: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("groups is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        groups = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsRequest(groups, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_groups_request_v3(data: bytes, position: int, left: int) -> DescribeGroupsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        groups: list[str]
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("groups is null")
            element3 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            list2.append(element3)
        groups = list2
        (include_authorized_operations,) = _unpack_o(data, position)
        position += 1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsRequest(groups, include_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_groups_request_v5(data: bytes, position: int, left: int) -> DescribeGroupsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
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
                raise DecodeError("groups is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        groups = list2
        include_authorized_operations, tags5 = _unpack_oB(data, position)
        position += 2
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            left -= tags5
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsRequest(groups, include_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_groups_request_v0(message: DescribeGroupsRequest) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsRequest", error) from error


def encode_describe_groups_request_v3(message: DescribeGroupsRequest) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4)
            parts += (_pack_h(n5), b4)
        parts.append(_pack_o(message.include_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsRequest", error) from error


def encode_describe_groups_request_v5(message: DescribeGroupsRequest) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(_pack_ox(message.include_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsRequest", error) from error


def decode_describe_groups_response_v0(data: bytes, position: int) -> DescribeGroupsResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        groups: list[DescribedGroup]
        if n1 < 0 or n1 * 14 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[DescribedGroup] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            if n3 < 0:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("protocol_data is null")
            protocol_data_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_i(data, position)
            position += 4
            members_1: list[DescribedGroupMember]
            if n7 < 0 or n7 * 14 > size - position:
                raise DecodeError("members has more elements than bytes, or is null")
            list8: list[DescribedGroupMember] = []
            for _ in range(n7):
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("member_id is null")
                member_id_2 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                (n10,) = _unpack_h(data, position)
                position += 2
                if n10 < 0:
                    raise DecodeError("client_id is null")
                client_id_2 = data[position : position + n10].decode("utf-8", "replace")
                position += n10
                (n11,) = _unpack_h(data, position)
                position += 2
                if n11 < 0:
                    raise DecodeError("client_host is null")
                client_host_2 = data[position : position + n11].decode("utf-8", "replace")
                position += n11
                (n12,) = _unpack_i(data, position)
                position += 4
                if n12 < 0:
                    raise DecodeError("member_metadata is null")
                member_metadata_2 = data[position : position + n12]
                position += n12
                (n13,) = _unpack_i(data, position)
                position += 4
                if n13 < 0:
                    raise DecodeError("member_assignment is null")
                member_assignment_2 = data[position : position + n13]
                position += n13
                list8.append(DescribedGroupMember(member_id_2, None, client_id_2, client_host_2, member_metadata_2, member_assignment_2))
            members_1 = list8
            list2.append(DescribedGroup(error_code_1, None, group_id_1, group_state_1, protocol_type_1, protocol_data_1, members_1, -2147483648))
        groups = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsResponse(0, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_groups_response_v1(data: bytes, position: int) -> DescribeGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        groups: list[DescribedGroup]
        if n1 < 0 or n1 * 14 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[DescribedGroup] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            if n3 < 0:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("protocol_data is null")
            protocol_data_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_i(data, position)
            position += 4
            members_1: list[DescribedGroupMember]
            if n7 < 0 or n7 * 14 > size - position:
                raise DecodeError("members has more elements than bytes, or is null")
            list8: list[DescribedGroupMember] = []
            for _ in range(n7):
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("member_id is null")
                member_id_2 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                (n10,) = _unpack_h(data, position)
                position += 2
                if n10 < 0:
                    raise DecodeError("client_id is null")
                client_id_2 = data[position : position + n10].decode("utf-8", "replace")
                position += n10
                (n11,) = _unpack_h(data, position)
                position += 2
                if n11 < 0:
                    raise DecodeError("client_host is null")
                client_host_2 = data[position : position + n11].decode("utf-8", "replace")
                position += n11
                (n12,) = _unpack_i(data, position)
                position += 4
                if n12 < 0:
                    raise DecodeError("member_metadata is null")
                member_metadata_2 = data[position : position + n12]
                position += n12
                (n13,) = _unpack_i(data, position)
                position += 4
                if n13 < 0:
                    raise DecodeError("member_assignment is null")
                member_assignment_2 = data[position : position + n13]
                position += n13
                list8.append(DescribedGroupMember(member_id_2, None, client_id_2, client_host_2, member_metadata_2, member_assignment_2))
            members_1 = list8
            list2.append(DescribedGroup(error_code_1, None, group_id_1, group_state_1, protocol_type_1, protocol_data_1, members_1, -2147483648))
        groups = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_groups_response_v3(data: bytes, position: int) -> DescribeGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        groups: list[DescribedGroup]
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[DescribedGroup] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            if n3 < 0:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("protocol_data is null")
            protocol_data_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_i(data, position)
            position += 4
            members_1: list[DescribedGroupMember]
            if n7 < 0 or n7 * 14 > size - position:
                raise DecodeError("members has more elements than bytes, or is null")
            list8: list[DescribedGroupMember] = []
            for _ in range(n7):
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("member_id is null")
                member_id_2 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                (n10,) = _unpack_h(data, position)
                position += 2
                if n10 < 0:
                    raise DecodeError("client_id is null")
                client_id_2 = data[position : position + n10].decode("utf-8", "replace")
                position += n10
                (n11,) = _unpack_h(data, position)
                position += 2
                if n11 < 0:
                    raise DecodeError("client_host is null")
                client_host_2 = data[position : position + n11].decode("utf-8", "replace")
                position += n11
                (n12,) = _unpack_i(data, position)
                position += 4
                if n12 < 0:
                    raise DecodeError("member_metadata is null")
                member_metadata_2 = data[position : position + n12]
                position += n12
                (n13,) = _unpack_i(data, position)
                position += 4
                if n13 < 0:
                    raise DecodeError("member_assignment is null")
                member_assignment_2 = data[position : position + n13]
                position += n13
                list8.append(DescribedGroupMember(member_id_2, None, client_id_2, client_host_2, member_metadata_2, member_assignment_2))
            members_1 = list8
            (authorized_operations_1,) = _unpack_i(data, position)
            position += 4
            list2.append(DescribedGroup(error_code_1, None, group_id_1, group_state_1, protocol_type_1, protocol_data_1, members_1, authorized_operations_1))
        groups = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_groups_response_v4(data: bytes, position: int) -> DescribeGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        groups: list[DescribedGroup]
        if n1 < 0 or n1 * 18 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[DescribedGroup] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            if n3 < 0:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            (n6,) = _unpack_h(data, position)
            position += 2
            if n6 < 0:
                raise DecodeError("protocol_data is null")
            protocol_data_1 = data[position : position + n6].decode("utf-8", "replace")
            position += n6
            (n7,) = _unpack_i(data, position)
            position += 4
            members_1: list[DescribedGroupMember]
            if n7 < 0 or n7 * 16 > size - position:
                raise DecodeError("members has more elements than bytes, or is null")
            list8: list[DescribedGroupMember] = []
            for _ in range(n7):
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("member_id is null")
                member_id_2 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                (n10,) = _unpack_h(data, position)
                position += 2
                group_instance_id_2: str | None
                if n10 >= 0:
                    group_instance_id_2 = data[position : position + n10].decode("utf-8", "replace")
                    position += n10
                else:
                    group_instance_id_2 = None
                (n11,) = _unpack_h(data, position)
                position += 2
                if n11 < 0:
                    raise DecodeError("client_id is null")
                client_id_2 = data[position : position + n11].decode("utf-8", "replace")
                position += n11
                (n12,) = _unpack_h(data, position)
                position += 2
                if n12 < 0:
                    raise DecodeError("client_host is null")
                client_host_2 = data[position : position + n12].decode("utf-8", "replace")
                position += n12
                (n13,) = _unpack_i(data, position)
                position += 4
                if n13 < 0:
                    raise DecodeError("member_metadata is null")
                member_metadata_2 = data[position : position + n13]
                position += n13
                (n14,) = _unpack_i(data, position)
                position += 4
                if n14 < 0:
                    raise DecodeError("member_assignment is null")
                member_assignment_2 = data[position : position + n14]
                position += n14
                list8.append(DescribedGroupMember(member_id_2, group_instance_id_2, client_id_2, client_host_2, member_metadata_2, member_assignment_2))
            members_1 = list8
            (authorized_operations_1,) = _unpack_i(data, position)
            position += 4
            list2.append(DescribedGroup(error_code_1, None, group_id_1, group_state_1, protocol_type_1, protocol_data_1, members_1, authorized_operations_1))
        groups = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_groups_response_v5(data: bytes, position: int) -> DescribeGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[DescribedGroup]
        n1 -= 1
        if n1 < 0 or n1 * 12 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[DescribedGroup] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
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
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            n6 = data[position]
            position += 1
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            if not n6:
                raise DecodeError("protocol_data is null")
            protocol_data_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            members_1: list[DescribedGroupMember]
            n7 -= 1
            if n7 < 0 or n7 * 7 > size - position:
                raise DecodeError("members has more elements than bytes, or is null")
            list8: list[DescribedGroupMember] = []
            for _ in range(n7):
                n9 = data[position]
                position += 1
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                if not n9:
                    raise DecodeError("member_id is null")
                member_id_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
                position += n9 - 1
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                group_instance_id_2: str | None
                if n10:
                    group_instance_id_2 = data[position : position + n10 - 1].decode("utf-8", "replace")
                    position += n10 - 1
                else:
                    group_instance_id_2 = None
                n11 = data[position]
                position += 1
                if n11 > 127:
                    n11, position = read_uvarint_tail(data, position, n11)
                if not n11:
                    raise DecodeError("client_id is null")
                client_id_2 = data[position : position + n11 - 1].decode("utf-8", "replace")
                position += n11 - 1
                n12 = data[position]
                position += 1
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                if not n12:
                    raise DecodeError("client_host is null")
                client_host_2 = data[position : position + n12 - 1].decode("utf-8", "replace")
                position += n12 - 1
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                if not n13:
                    raise DecodeError("member_metadata is null")
                member_metadata_2 = data[position : position + n13 - 1]
                position += n13 - 1
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                if not n14:
                    raise DecodeError("member_assignment is null")
                member_assignment_2 = data[position : position + n14 - 1]
                position += n14 - 1
                tags15 = data[position]
                position += 1
                if tags15:
                    if tags15 > 127:
                        tags15, position = read_tag_count_tail(data, position, tags15)
                    position = skip_tags(data, position, tags15)
                list8.append(DescribedGroupMember(member_id_2, group_instance_id_2, client_id_2, client_host_2, member_metadata_2, member_assignment_2))
            members_1 = list8
            authorized_operations_1, tags16 = _unpack_iB(data, position)
            position += 5
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list2.append(DescribedGroup(error_code_1, None, group_id_1, group_state_1, protocol_type_1, protocol_data_1, members_1, authorized_operations_1))
        groups = list2
        tags17 = data[position]
        position += 1
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_groups_response_v6(data: bytes, position: int) -> DescribeGroupsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        groups: list[DescribedGroup]
        n1 -= 1
        if n1 < 0 or n1 * 13 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[DescribedGroup] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hB(data, position)
            position += 3
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            error_message_1: str | None
            if n3:
                error_message_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                position += n3 - 1
            else:
                error_message_1 = None
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("group_id is null")
            group_id_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
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
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            if not n7:
                raise DecodeError("protocol_data is null")
            protocol_data_1 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            n8 = data[position]
            position += 1
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            members_1: list[DescribedGroupMember]
            n8 -= 1
            if n8 < 0 or n8 * 7 > size - position:
                raise DecodeError("members has more elements than bytes, or is null")
            list9: list[DescribedGroupMember] = []
            for _ in range(n8):
                n10 = data[position]
                position += 1
                if n10 > 127:
                    n10, position = read_uvarint_tail(data, position, n10)
                if not n10:
                    raise DecodeError("member_id is null")
                member_id_2 = data[position : position + n10 - 1].decode("utf-8", "replace")
                position += n10 - 1
                n11 = data[position]
                position += 1
                if n11 > 127:
                    n11, position = read_uvarint_tail(data, position, n11)
                group_instance_id_2: str | None
                if n11:
                    group_instance_id_2 = data[position : position + n11 - 1].decode("utf-8", "replace")
                    position += n11 - 1
                else:
                    group_instance_id_2 = None
                n12 = data[position]
                position += 1
                if n12 > 127:
                    n12, position = read_uvarint_tail(data, position, n12)
                if not n12:
                    raise DecodeError("client_id is null")
                client_id_2 = data[position : position + n12 - 1].decode("utf-8", "replace")
                position += n12 - 1
                n13 = data[position]
                position += 1
                if n13 > 127:
                    n13, position = read_uvarint_tail(data, position, n13)
                if not n13:
                    raise DecodeError("client_host is null")
                client_host_2 = data[position : position + n13 - 1].decode("utf-8", "replace")
                position += n13 - 1
                n14 = data[position]
                position += 1
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                if not n14:
                    raise DecodeError("member_metadata is null")
                member_metadata_2 = data[position : position + n14 - 1]
                position += n14 - 1
                n15 = data[position]
                position += 1
                if n15 > 127:
                    n15, position = read_uvarint_tail(data, position, n15)
                if not n15:
                    raise DecodeError("member_assignment is null")
                member_assignment_2 = data[position : position + n15 - 1]
                position += n15 - 1
                tags16 = data[position]
                position += 1
                if tags16:
                    if tags16 > 127:
                        tags16, position = read_tag_count_tail(data, position, tags16)
                    position = skip_tags(data, position, tags16)
                list9.append(DescribedGroupMember(member_id_2, group_instance_id_2, client_id_2, client_host_2, member_metadata_2, member_assignment_2))
            members_1 = list9
            authorized_operations_1, tags17 = _unpack_iB(data, position)
            position += 5
            if tags17:
                if tags17 > 127:
                    tags17, position = read_tag_count_tail(data, position, tags17)
                position = skip_tags(data, position, tags17)
            list2.append(DescribedGroup(error_code_1, error_message_1, group_id_1, group_state_1, protocol_type_1, protocol_data_1, members_1, authorized_operations_1))
        groups = list2
        tags18 = data[position]
        position += 1
        if tags18:
            if tags18 > 127:
                tags18, position = read_tag_count_tail(data, position, tags18)
            position = skip_tags(data, position, tags18)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeGroupsResponse(throttle_time_ms, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_groups_response_v0(message: DescribeGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4)
            b6 = item3.group_state.encode()
            n7 = len(b6)
            b8 = item3.protocol_type.encode()
            n9 = len(b8)
            b10 = item3.protocol_data.encode()
            n11 = len(b10)
            items12 = item3.members
            n13 = len(items12)
            parts += (_pack_hh(item3.error_code, n5), b4, _pack_h(n7), b6, _pack_h(n9), b8, _pack_h(n11), b10, _pack_i(n13))
            for item14 in items12:
                b15 = item14.member_id.encode()
                n16 = len(b15)
                b17 = item14.client_id.encode()
                n18 = len(b17)
                b19 = item14.client_host.encode()
                n20 = len(b19)
                b21 = item14.member_metadata
                n22 = len(b21)
                b23 = item14.member_assignment
                n24 = len(b23)
                parts += (_pack_h(n16), b15, _pack_h(n18), b17, _pack_h(n20), b19, _pack_i(n22), b21, _pack_i(n24), b23)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsResponse", error) from error


def encode_describe_groups_response_v1(message: DescribeGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4)
            b6 = item3.group_state.encode()
            n7 = len(b6)
            b8 = item3.protocol_type.encode()
            n9 = len(b8)
            b10 = item3.protocol_data.encode()
            n11 = len(b10)
            items12 = item3.members
            n13 = len(items12)
            parts += (_pack_hh(item3.error_code, n5), b4, _pack_h(n7), b6, _pack_h(n9), b8, _pack_h(n11), b10, _pack_i(n13))
            for item14 in items12:
                b15 = item14.member_id.encode()
                n16 = len(b15)
                b17 = item14.client_id.encode()
                n18 = len(b17)
                b19 = item14.client_host.encode()
                n20 = len(b19)
                b21 = item14.member_metadata
                n22 = len(b21)
                b23 = item14.member_assignment
                n24 = len(b23)
                parts += (_pack_h(n16), b15, _pack_h(n18), b17, _pack_h(n20), b19, _pack_i(n22), b21, _pack_i(n24), b23)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsResponse", error) from error


def encode_describe_groups_response_v3(message: DescribeGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4)
            b6 = item3.group_state.encode()
            n7 = len(b6)
            b8 = item3.protocol_type.encode()
            n9 = len(b8)
            b10 = item3.protocol_data.encode()
            n11 = len(b10)
            items12 = item3.members
            n13 = len(items12)
            parts += (_pack_hh(item3.error_code, n5), b4, _pack_h(n7), b6, _pack_h(n9), b8, _pack_h(n11), b10, _pack_i(n13))
            for item14 in items12:
                b15 = item14.member_id.encode()
                n16 = len(b15)
                b17 = item14.client_id.encode()
                n18 = len(b17)
                b19 = item14.client_host.encode()
                n20 = len(b19)
                b21 = item14.member_metadata
                n22 = len(b21)
                b23 = item14.member_assignment
                n24 = len(b23)
                parts += (_pack_h(n16), b15, _pack_h(n18), b17, _pack_h(n20), b19, _pack_i(n22), b21, _pack_i(n24), b23)
            parts.append(_pack_i(item3.authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsResponse", error) from error


def encode_describe_groups_response_v4(message: DescribeGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4)
            b6 = item3.group_state.encode()
            n7 = len(b6)
            b8 = item3.protocol_type.encode()
            n9 = len(b8)
            b10 = item3.protocol_data.encode()
            n11 = len(b10)
            items12 = item3.members
            n13 = len(items12)
            parts += (_pack_hh(item3.error_code, n5), b4, _pack_h(n7), b6, _pack_h(n9), b8, _pack_h(n11), b10, _pack_i(n13))
            for item14 in items12:
                b15 = item14.member_id.encode()
                n16 = len(b15)
                b17 = item14.group_instance_id
                b19 = b"" if b17 is None else b17.encode()
                n18 = -1 if b17 is None else len(b19)
                b20 = item14.client_id.encode()
                n21 = len(b20)
                b22 = item14.client_host.encode()
                n23 = len(b22)
                b24 = item14.member_metadata
                n25 = len(b24)
                b26 = item14.member_assignment
                n27 = len(b26)
                parts += (_pack_h(n16), b15, _pack_h(n18), b19, _pack_h(n21), b20, _pack_h(n23), b22, _pack_i(n25), b24, _pack_i(n27), b26)
            parts.append(_pack_i(item3.authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsResponse", error) from error


def encode_describe_groups_response_v5(message: DescribeGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            b6 = item3.group_state.encode()
            n7 = len(b6) + 1
            b8 = item3.protocol_type.encode()
            n9 = len(b8) + 1
            b10 = item3.protocol_data.encode()
            n11 = len(b10) + 1
            items12 = item3.members
            n13 = len(items12) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), b8, _pack_B(n11) if n11 < 128 else uvarint(n11), b10, _pack_B(n13) if n13 < 128 else uvarint(n13))
            for item14 in items12:
                b15 = item14.member_id.encode()
                n16 = len(b15) + 1
                b17 = item14.group_instance_id
                b19 = b"" if b17 is None else b17.encode()
                n18 = 0 if b17 is None else len(b19) + 1
                b20 = item14.client_id.encode()
                n21 = len(b20) + 1
                b22 = item14.client_host.encode()
                n23 = len(b22) + 1
                b24 = item14.member_metadata
                n25 = len(b24) + 1
                b26 = item14.member_assignment
                n27 = len(b26) + 1
                parts += (_pack_B(n16) if n16 < 128 else uvarint(n16), b15, _pack_B(n18) if n18 < 128 else uvarint(n18), b19, _pack_B(n21) if n21 < 128 else uvarint(n21), b20, _pack_B(n23) if n23 < 128 else uvarint(n23), b22, _pack_B(n25) if n25 < 128 else uvarint(n25), b24, _pack_B(n27) if n27 < 128 else uvarint(n27), b26, b"\0")
            parts.append(_pack_ix(item3.authorized_operations))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsResponse", error) from error


def encode_describe_groups_response_v6(message: DescribeGroupsResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            b7 = item3.group_id.encode()
            n8 = len(b7) + 1
            b9 = item3.group_state.encode()
            n10 = len(b9) + 1
            b11 = item3.protocol_type.encode()
            n12 = len(b11) + 1
            b13 = item3.protocol_data.encode()
            n14 = len(b13) + 1
            items15 = item3.members
            n16 = len(items15) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12), b11, _pack_B(n14) if n14 < 128 else uvarint(n14), b13, _pack_B(n16) if n16 < 128 else uvarint(n16))
            for item17 in items15:
                b18 = item17.member_id.encode()
                n19 = len(b18) + 1
                b20 = item17.group_instance_id
                b22 = b"" if b20 is None else b20.encode()
                n21 = 0 if b20 is None else len(b22) + 1
                b23 = item17.client_id.encode()
                n24 = len(b23) + 1
                b25 = item17.client_host.encode()
                n26 = len(b25) + 1
                b27 = item17.member_metadata
                n28 = len(b27) + 1
                b29 = item17.member_assignment
                n30 = len(b29) + 1
                parts += (_pack_B(n19) if n19 < 128 else uvarint(n19), b18, _pack_B(n21) if n21 < 128 else uvarint(n21), b22, _pack_B(n24) if n24 < 128 else uvarint(n24), b23, _pack_B(n26) if n26 < 128 else uvarint(n26), b25, _pack_B(n28) if n28 < 128 else uvarint(n28), b27, _pack_B(n30) if n30 < 128 else uvarint(n30), b29, b"\0")
            parts.append(_pack_ix(item3.authorized_operations))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeGroupsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeGroupsRequest]]] = {
    0: decode_describe_groups_request_v0,
    1: decode_describe_groups_request_v0,
    2: decode_describe_groups_request_v0,
    3: decode_describe_groups_request_v3,
    4: decode_describe_groups_request_v3,
    5: decode_describe_groups_request_v5,
    6: decode_describe_groups_request_v5,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeGroupsRequest], bytes]]] = {
    0: encode_describe_groups_request_v0,
    1: encode_describe_groups_request_v0,
    2: encode_describe_groups_request_v0,
    3: encode_describe_groups_request_v3,
    4: encode_describe_groups_request_v3,
    5: encode_describe_groups_request_v5,
    6: encode_describe_groups_request_v5,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeGroupsResponse]]] = {
    0: decode_describe_groups_response_v0,
    1: decode_describe_groups_response_v1,
    2: decode_describe_groups_response_v1,
    3: decode_describe_groups_response_v3,
    4: decode_describe_groups_response_v4,
    5: decode_describe_groups_response_v5,
    6: decode_describe_groups_response_v6,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeGroupsResponse], bytes]]] = {
    0: encode_describe_groups_response_v0,
    1: encode_describe_groups_response_v1,
    2: encode_describe_groups_response_v1,
    3: encode_describe_groups_response_v3,
    4: encode_describe_groups_response_v4,
    5: encode_describe_groups_response_v5,
    6: encode_describe_groups_response_v6,
}
