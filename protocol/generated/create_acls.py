"""CreateAcls: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.create_acls`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
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
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_unpack_bB = Struct(">bB").unpack_from
_unpack_bb = Struct(">bb").unpack_from
_unpack_bbB = Struct(">bbB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from


def decode_create_acls_request_v0(data: bytes, position: int, left: int) -> CreateAclsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        creations: list[AclCreation]
        if n1 < 0 or n1 * 9 > size - position:
            raise DecodeError("creations has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[AclCreation] = []
        for _ in range(n1):
            resource_type_1, n3 = _unpack_bh(data, position)
            position += 3
            if n3 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("principal is null")
            principal_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            operation_1, permission_type_1 = _unpack_bb(data, position)
            position += 2
            list2.append(AclCreation(resource_type_1, resource_name_1, 3, principal_1, host_1, operation_1, permission_type_1))
        creations = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateAclsRequest(creations)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_acls_request_v1(data: bytes, position: int, left: int) -> CreateAclsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        creations: list[AclCreation]
        if n1 < 0 or n1 * 10 > size - position:
            raise DecodeError("creations has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[AclCreation] = []
        for _ in range(n1):
            resource_type_1, n3 = _unpack_bh(data, position)
            position += 3
            if n3 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            resource_pattern_type_1, n4 = _unpack_bh(data, position)
            position += 3
            if n4 < 0:
                raise DecodeError("principal is null")
            principal_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_h(data, position)
            position += 2
            if n5 < 0:
                raise DecodeError("host is null")
            host_1 = data[position : position + n5].decode("utf-8", "replace")
            position += n5
            operation_1, permission_type_1 = _unpack_bb(data, position)
            position += 2
            list2.append(AclCreation(resource_type_1, resource_name_1, resource_pattern_type_1, principal_1, host_1, operation_1, permission_type_1))
        creations = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateAclsRequest(creations)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_acls_request_v2(data: bytes, position: int, left: int) -> CreateAclsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        creations: list[AclCreation]
        n1 -= 1
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("creations has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[AclCreation] = []
        for _ in range(n1):
            resource_type_1, n3 = _unpack_bB(data, position)
            position += 2
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            resource_pattern_type_1, n4 = _unpack_bB(data, position)
            position += 2
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("principal is null")
            principal_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
                if n5 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n5:
                raise DecodeError("host is null")
            host_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            operation_1, permission_type_1, tags6 = _unpack_bbB(data, position)
            position += 3
            if tags6:
                if tags6 > 127:
                    tags6, position = read_tag_count_tail(data, position, tags6)
                left -= tags6
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags6)
            list2.append(AclCreation(resource_type_1, resource_name_1, resource_pattern_type_1, principal_1, host_1, operation_1, permission_type_1))
        creations = list2
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
        return CreateAclsRequest(creations)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_create_acls_request_v0(message: CreateAclsRequest) -> bytes:
    try:
        items1 = message.creations
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4)
            b6 = item3.principal.encode()
            n7 = len(b6)
            b8 = item3.host.encode()
            n9 = len(b8)
            parts += (_pack_bh(item3.resource_type, n5), b4, _pack_h(n7), b6, _pack_h(n9), b8, _pack_bb(item3.operation, item3.permission_type))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateAclsRequest", error) from error


def encode_create_acls_request_v1(message: CreateAclsRequest) -> bytes:
    try:
        items1 = message.creations
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4)
            b6 = item3.principal.encode()
            n7 = len(b6)
            b8 = item3.host.encode()
            n9 = len(b8)
            parts += (_pack_bh(item3.resource_type, n5), b4, _pack_bh(item3.resource_pattern_type, n7), b6, _pack_h(n9), b8, _pack_bb(item3.operation, item3.permission_type))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateAclsRequest", error) from error


def encode_create_acls_request_v2(message: CreateAclsRequest) -> bytes:
    try:
        items1 = message.creations
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4) + 1
            b6 = item3.principal.encode()
            n7 = len(b6) + 1
            b8 = item3.host.encode()
            n9 = len(b8) + 1
            parts += (_pack_bB(item3.resource_type, n5) if n5 < 128 else _pack_b(item3.resource_type) + uvarint(n5), b4, _pack_bB(item3.resource_pattern_type, n7) if n7 < 128 else _pack_b(item3.resource_pattern_type) + uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), b8, _pack_bbx(item3.operation, item3.permission_type))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateAclsRequest", error) from error


def decode_create_acls_response_v0(data: bytes, position: int) -> CreateAclsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results: list[AclCreationResult]
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[AclCreationResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n3 >= 0:
                error_message_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                error_message_1 = None
            list2.append(AclCreationResult(error_code_1, error_message_1))
        results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateAclsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_acls_response_v2(data: bytes, position: int) -> CreateAclsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[AclCreationResult]
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[AclCreationResult] = []
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
            tags4 = data[position]
            position += 1
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                position = skip_tags(data, position, tags4)
            list2.append(AclCreationResult(error_code_1, error_message_1))
        results = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreateAclsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_create_acls_response_v0(message: CreateAclsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            parts += (_pack_hh(item3.error_code, n5), b6)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateAclsResponse", error) from error


def encode_create_acls_response_v2(message: CreateAclsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreateAclsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], CreateAclsRequest]]] = {
    0: decode_create_acls_request_v0,
    1: decode_create_acls_request_v1,
    2: decode_create_acls_request_v2,
    3: decode_create_acls_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[CreateAclsRequest], bytes]]] = {
    0: encode_create_acls_request_v0,
    1: encode_create_acls_request_v1,
    2: encode_create_acls_request_v2,
    3: encode_create_acls_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], CreateAclsResponse]]] = {
    0: decode_create_acls_response_v0,
    1: decode_create_acls_response_v0,
    2: decode_create_acls_response_v2,
    3: decode_create_acls_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[CreateAclsResponse], bytes]]] = {
    0: encode_create_acls_response_v0,
    1: encode_create_acls_response_v0,
    2: encode_create_acls_response_v2,
    3: encode_create_acls_response_v2,
}
