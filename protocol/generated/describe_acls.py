"""DescribeAcls: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_acls`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
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
_pack_bb = Struct(">bb").pack
_pack_bbx = Struct(">bbx").pack
_pack_bh = Struct(">bh").pack
_pack_bi = Struct(">bi").pack
_pack_h = Struct(">h").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ihh = Struct(">ihh").pack
_unpack_bB = Struct(">bB").unpack_from
_unpack_bb = Struct(">bb").unpack_from
_unpack_bbB = Struct(">bbB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_bi = Struct(">bi").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihh = Struct(">ihh").unpack_from


def decode_describe_acls_request_v0(data: bytes, position: int, left: int) -> DescribeAclsRequest:
    try:
        size = len(data)
        resource_type_filter, n1 = _unpack_bh(data, position)
        position += 3
        resource_name_filter: str | None
        if n1 >= 0:
            resource_name_filter = data[position : position + n1].decode("utf-8", "replace")
            position += n1
        else:
            resource_name_filter = None
        (n2,) = _unpack_h(data, position)
        position += 2
        principal_filter: str | None
        if n2 >= 0:
            principal_filter = data[position : position + n2].decode("utf-8", "replace")
            position += n2
        else:
            principal_filter = None
        (n3,) = _unpack_h(data, position)
        position += 2
        host_filter: str | None
        if n3 >= 0:
            host_filter = data[position : position + n3].decode("utf-8", "replace")
            position += n3
        else:
            host_filter = None
        operation, permission_type = _unpack_bb(data, position)
        position += 2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeAclsRequest(resource_type_filter, resource_name_filter, 3, principal_filter, host_filter, operation, permission_type)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_acls_request_v1(data: bytes, position: int, left: int) -> DescribeAclsRequest:
    try:
        size = len(data)
        resource_type_filter, n1 = _unpack_bh(data, position)
        position += 3
        resource_name_filter: str | None
        if n1 >= 0:
            resource_name_filter = data[position : position + n1].decode("utf-8", "replace")
            position += n1
        else:
            resource_name_filter = None
        pattern_type_filter, n2 = _unpack_bh(data, position)
        position += 3
        principal_filter: str | None
        if n2 >= 0:
            principal_filter = data[position : position + n2].decode("utf-8", "replace")
            position += n2
        else:
            principal_filter = None
        (n3,) = _unpack_h(data, position)
        position += 2
        host_filter: str | None
        if n3 >= 0:
            host_filter = data[position : position + n3].decode("utf-8", "replace")
            position += n3
        else:
            host_filter = None
        operation, permission_type = _unpack_bb(data, position)
        position += 2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_acls_request_v2(data: bytes, position: int, left: int) -> DescribeAclsRequest:
    try:
        size = len(data)
        resource_type_filter, n1 = _unpack_bB(data, position)
        position += 2
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        resource_name_filter: str | None
        if n1:
            resource_name_filter = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            resource_name_filter = None
        pattern_type_filter, n2 = _unpack_bB(data, position)
        position += 2
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
            if n2 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        principal_filter: str | None
        if n2:
            principal_filter = data[position : position + n2 - 1].decode("utf-8", "replace")
            position += n2 - 1
        else:
            principal_filter = None
        n3 = data[position]
        position += 1
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
            if n3 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        host_filter: str | None
        if n3:
            host_filter = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
        else:
            host_filter = None
        operation, permission_type, tags4 = _unpack_bbB(data, position)
        position += 3
        if tags4:
            if tags4 > 127:
                tags4, position = read_tag_count_tail(data, position, tags4)
            left -= tags4
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags4)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeAclsRequest(resource_type_filter, resource_name_filter, pattern_type_filter, principal_filter, host_filter, operation, permission_type)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_acls_request_v0(message: DescribeAclsRequest) -> bytes:
    try:
        b1 = message.resource_name_filter
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        b4 = message.principal_filter
        b6 = b"" if b4 is None else b4.encode()
        n5 = -1 if b4 is None else len(b6)
        b7 = message.host_filter
        b9 = b"" if b7 is None else b7.encode()
        n8 = -1 if b7 is None else len(b9)
        return b"".join((_pack_bh(message.resource_type_filter, n2), b3, _pack_h(n5), b6, _pack_h(n8), b9, _pack_bb(message.operation, message.permission_type)))
    except UNENCODABLE as error:
        raise unwritable("DescribeAclsRequest", error) from error


def encode_describe_acls_request_v1(message: DescribeAclsRequest) -> bytes:
    try:
        b1 = message.resource_name_filter
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        b4 = message.principal_filter
        b6 = b"" if b4 is None else b4.encode()
        n5 = -1 if b4 is None else len(b6)
        b7 = message.host_filter
        b9 = b"" if b7 is None else b7.encode()
        n8 = -1 if b7 is None else len(b9)
        return b"".join((_pack_bh(message.resource_type_filter, n2), b3, _pack_bh(message.pattern_type_filter, n5), b6, _pack_h(n8), b9, _pack_bb(message.operation, message.permission_type)))
    except UNENCODABLE as error:
        raise unwritable("DescribeAclsRequest", error) from error


def encode_describe_acls_request_v2(message: DescribeAclsRequest) -> bytes:
    try:
        b1 = message.resource_name_filter
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.principal_filter
        b6 = b"" if b4 is None else b4.encode()
        n5 = 0 if b4 is None else len(b6) + 1
        b7 = message.host_filter
        b9 = b"" if b7 is None else b7.encode()
        n8 = 0 if b7 is None else len(b9) + 1
        return b"".join((_pack_bB(message.resource_type_filter, n2) if n2 < 128 else _pack_b(message.resource_type_filter) + uvarint(n2), b3, _pack_bB(message.pattern_type_filter, n5) if n5 < 128 else _pack_b(message.pattern_type_filter) + uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8), b9, _pack_bbx(message.operation, message.permission_type)))
    except UNENCODABLE as error:
        raise unwritable("DescribeAclsRequest", error) from error


def decode_describe_acls_response_v0(data: bytes, position: int) -> DescribeAclsResponse:
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
        (n2,) = _unpack_i(data, position)
        position += 4
        resources: list[DescribeAclsResource]
        if n2 < 0 or n2 * 7 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        list3: list[DescribeAclsResource] = []
        for _ in range(n2):
            resource_type_1, n4 = _unpack_bh(data, position)
            position += 3
            if n4 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_i(data, position)
            position += 4
            acls_1: list[AclDescription]
            if n5 < 0 or n5 * 6 > size - position:
                raise DecodeError("acls has more elements than bytes, or is null")
            list6: list[AclDescription] = []
            for _ in range(n5):
                (n7,) = _unpack_h(data, position)
                position += 2
                if n7 < 0:
                    raise DecodeError("principal is null")
                principal_2 = data[position : position + n7].decode("utf-8", "replace")
                position += n7
                (n8,) = _unpack_h(data, position)
                position += 2
                if n8 < 0:
                    raise DecodeError("host is null")
                host_2 = data[position : position + n8].decode("utf-8", "replace")
                position += n8
                operation_2, permission_type_2 = _unpack_bb(data, position)
                position += 2
                list6.append(AclDescription(principal_2, host_2, operation_2, permission_type_2))
            acls_1 = list6
            list3.append(DescribeAclsResource(resource_type_1, resource_name_1, 3, acls_1))
        resources = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_acls_response_v1(data: bytes, position: int) -> DescribeAclsResponse:
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
        (n2,) = _unpack_i(data, position)
        position += 4
        resources: list[DescribeAclsResource]
        if n2 < 0 or n2 * 8 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        list3: list[DescribeAclsResource] = []
        for _ in range(n2):
            resource_type_1, n4 = _unpack_bh(data, position)
            position += 3
            if n4 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            pattern_type_1, n5 = _unpack_bi(data, position)
            position += 5
            acls_1: list[AclDescription]
            if n5 < 0 or n5 * 6 > size - position:
                raise DecodeError("acls has more elements than bytes, or is null")
            list6: list[AclDescription] = []
            for _ in range(n5):
                (n7,) = _unpack_h(data, position)
                position += 2
                if n7 < 0:
                    raise DecodeError("principal is null")
                principal_2 = data[position : position + n7].decode("utf-8", "replace")
                position += n7
                (n8,) = _unpack_h(data, position)
                position += 2
                if n8 < 0:
                    raise DecodeError("host is null")
                host_2 = data[position : position + n8].decode("utf-8", "replace")
                position += n8
                operation_2, permission_type_2 = _unpack_bb(data, position)
                position += 2
                list6.append(AclDescription(principal_2, host_2, operation_2, permission_type_2))
            acls_1 = list6
            list3.append(DescribeAclsResource(resource_type_1, resource_name_1, pattern_type_1, acls_1))
        resources = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_acls_response_v2(data: bytes, position: int) -> DescribeAclsResponse:
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
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        resources: list[DescribeAclsResource]
        n2 -= 1
        if n2 < 0 or n2 * 5 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        list3: list[DescribeAclsResource] = []
        for _ in range(n2):
            resource_type_1, n4 = _unpack_bB(data, position)
            position += 2
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            pattern_type_1, n5 = _unpack_bB(data, position)
            position += 2
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            acls_1: list[AclDescription]
            n5 -= 1
            if n5 < 0 or n5 * 5 > size - position:
                raise DecodeError("acls has more elements than bytes, or is null")
            list6: list[AclDescription] = []
            for _ in range(n5):
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                if not n7:
                    raise DecodeError("principal is null")
                principal_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                position += n7 - 1
                n8 = data[position]
                position += 1
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                if not n8:
                    raise DecodeError("host is null")
                host_2 = data[position : position + n8 - 1].decode("utf-8", "replace")
                position += n8 - 1
                operation_2, permission_type_2, tags9 = _unpack_bbB(data, position)
                position += 3
                if tags9:
                    if tags9 > 127:
                        tags9, position = read_tag_count_tail(data, position, tags9)
                    position = skip_tags(data, position, tags9)
                list6.append(AclDescription(principal_2, host_2, operation_2, permission_type_2))
            acls_1 = list6
            tags10 = data[position]
            position += 1
            if tags10:
                if tags10 > 127:
                    tags10, position = read_tag_count_tail(data, position, tags10)
                position = skip_tags(data, position, tags10)
            list3.append(DescribeAclsResource(resource_type_1, resource_name_1, pattern_type_1, acls_1))
        resources = list3
        tags11 = data[position]
        position += 1
        if tags11:
            if tags11 > 127:
                tags11, position = read_tag_count_tail(data, position, tags11)
            position = skip_tags(data, position, tags11)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeAclsResponse(throttle_time_ms, error_code, error_message, resources)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_acls_response_v0(message: DescribeAclsResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        items4 = message.resources
        n5 = len(items4)
        parts: list[bytes] = [_pack_ihh(message.throttle_time_ms, message.error_code, n2), b3, _pack_i(n5)]
        for item6 in items4:
            b7 = item6.resource_name.encode()
            n8 = len(b7)
            items9 = item6.acls
            n10 = len(items9)
            parts += (_pack_bh(item6.resource_type, n8), b7, _pack_i(n10))
            for item11 in items9:
                b12 = item11.principal.encode()
                n13 = len(b12)
                b14 = item11.host.encode()
                n15 = len(b14)
                parts += (_pack_h(n13), b12, _pack_h(n15), b14, _pack_bb(item11.operation, item11.permission_type))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeAclsResponse", error) from error


def encode_describe_acls_response_v1(message: DescribeAclsResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        items4 = message.resources
        n5 = len(items4)
        parts: list[bytes] = [_pack_ihh(message.throttle_time_ms, message.error_code, n2), b3, _pack_i(n5)]
        for item6 in items4:
            b7 = item6.resource_name.encode()
            n8 = len(b7)
            items9 = item6.acls
            n10 = len(items9)
            parts += (_pack_bh(item6.resource_type, n8), b7, _pack_bi(item6.pattern_type, n10))
            for item11 in items9:
                b12 = item11.principal.encode()
                n13 = len(b12)
                b14 = item11.host.encode()
                n15 = len(b14)
                parts += (_pack_h(n13), b12, _pack_h(n15), b14, _pack_bb(item11.operation, item11.permission_type))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeAclsResponse", error) from error


def encode_describe_acls_response_v2(message: DescribeAclsResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        items4 = message.resources
        n5 = len(items4) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5)]
        for item6 in items4:
            b7 = item6.resource_name.encode()
            n8 = len(b7) + 1
            items9 = item6.acls
            n10 = len(items9) + 1
            parts += (_pack_bB(item6.resource_type, n8) if n8 < 128 else _pack_b(item6.resource_type) + uvarint(n8), b7, _pack_bB(item6.pattern_type, n10) if n10 < 128 else _pack_b(item6.pattern_type) + uvarint(n10))
            for item11 in items9:
                b12 = item11.principal.encode()
                n13 = len(b12) + 1
                b14 = item11.host.encode()
                n15 = len(b14) + 1
                parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12, _pack_B(n15) if n15 < 128 else uvarint(n15), b14, _pack_bbx(item11.operation, item11.permission_type))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeAclsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeAclsRequest]]] = {
    0: decode_describe_acls_request_v0,
    1: decode_describe_acls_request_v1,
    2: decode_describe_acls_request_v2,
    3: decode_describe_acls_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeAclsRequest], bytes]]] = {
    0: encode_describe_acls_request_v0,
    1: encode_describe_acls_request_v1,
    2: encode_describe_acls_request_v2,
    3: encode_describe_acls_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeAclsResponse]]] = {
    0: decode_describe_acls_response_v0,
    1: decode_describe_acls_response_v1,
    2: decode_describe_acls_response_v2,
    3: decode_describe_acls_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeAclsResponse], bytes]]] = {
    0: encode_describe_acls_response_v0,
    1: encode_describe_acls_response_v1,
    2: encode_describe_acls_response_v2,
    3: encode_describe_acls_response_v2,
}
