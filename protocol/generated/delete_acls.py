"""DeleteAcls: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.delete_acls`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
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


def decode_delete_acls_request_v0(data: bytes, position: int, left: int) -> DeleteAclsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        filters: list[DeleteAclsFilter]
        if n1 < 0 or n1 * 9 > size - position:
            raise DecodeError("filters has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DeleteAclsFilter] = []
        for _ in range(n1):
            resource_type_filter_1, n3 = _unpack_bh(data, position)
            position += 3
            resource_name_filter_1: str | None
            if n3 >= 0:
                resource_name_filter_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                resource_name_filter_1 = None
            (n4,) = _unpack_h(data, position)
            position += 2
            principal_filter_1: str | None
            if n4 >= 0:
                principal_filter_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                principal_filter_1 = None
            (n5,) = _unpack_h(data, position)
            position += 2
            host_filter_1: str | None
            if n5 >= 0:
                host_filter_1 = data[position : position + n5].decode("utf-8", "replace")
                position += n5
            else:
                host_filter_1 = None
            operation_1, permission_type_1 = _unpack_bb(data, position)
            position += 2
            list2.append(DeleteAclsFilter(resource_type_filter_1, resource_name_filter_1, 3, principal_filter_1, host_filter_1, operation_1, permission_type_1))
        filters = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteAclsRequest(filters)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_acls_request_v1(data: bytes, position: int, left: int) -> DeleteAclsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        filters: list[DeleteAclsFilter]
        if n1 < 0 or n1 * 10 > size - position:
            raise DecodeError("filters has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DeleteAclsFilter] = []
        for _ in range(n1):
            resource_type_filter_1, n3 = _unpack_bh(data, position)
            position += 3
            resource_name_filter_1: str | None
            if n3 >= 0:
                resource_name_filter_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                resource_name_filter_1 = None
            pattern_type_filter_1, n4 = _unpack_bh(data, position)
            position += 3
            principal_filter_1: str | None
            if n4 >= 0:
                principal_filter_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                principal_filter_1 = None
            (n5,) = _unpack_h(data, position)
            position += 2
            host_filter_1: str | None
            if n5 >= 0:
                host_filter_1 = data[position : position + n5].decode("utf-8", "replace")
                position += n5
            else:
                host_filter_1 = None
            operation_1, permission_type_1 = _unpack_bb(data, position)
            position += 2
            list2.append(DeleteAclsFilter(resource_type_filter_1, resource_name_filter_1, pattern_type_filter_1, principal_filter_1, host_filter_1, operation_1, permission_type_1))
        filters = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteAclsRequest(filters)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_acls_request_v2(data: bytes, position: int, left: int) -> DeleteAclsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        filters: list[DeleteAclsFilter]
        n1 -= 1
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("filters has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DeleteAclsFilter] = []
        for _ in range(n1):
            resource_type_filter_1, n3 = _unpack_bB(data, position)
            position += 2
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            resource_name_filter_1: str | None
            if n3:
                resource_name_filter_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
                position += n3 - 1
            else:
                resource_name_filter_1 = None
            pattern_type_filter_1, n4 = _unpack_bB(data, position)
            position += 2
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            principal_filter_1: str | None
            if n4:
                principal_filter_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                principal_filter_1 = None
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
                if n5 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            host_filter_1: str | None
            if n5:
                host_filter_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
                position += n5 - 1
            else:
                host_filter_1 = None
            operation_1, permission_type_1, tags6 = _unpack_bbB(data, position)
            position += 3
            if tags6:
                if tags6 > 127:
                    tags6, position = read_tag_count_tail(data, position, tags6)
                left -= tags6
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags6)
            list2.append(DeleteAclsFilter(resource_type_filter_1, resource_name_filter_1, pattern_type_filter_1, principal_filter_1, host_filter_1, operation_1, permission_type_1))
        filters = list2
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
        return DeleteAclsRequest(filters)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_delete_acls_request_v0(message: DeleteAclsRequest) -> bytes:
    try:
        items1 = message.filters
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.resource_name_filter
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            b7 = item3.principal_filter
            b9 = b"" if b7 is None else b7.encode()
            n8 = -1 if b7 is None else len(b9)
            b10 = item3.host_filter
            b12 = b"" if b10 is None else b10.encode()
            n11 = -1 if b10 is None else len(b12)
            parts += (_pack_bh(item3.resource_type_filter, n5), b6, _pack_h(n8), b9, _pack_h(n11), b12, _pack_bb(item3.operation, item3.permission_type))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteAclsRequest", error) from error


def encode_delete_acls_request_v1(message: DeleteAclsRequest) -> bytes:
    try:
        items1 = message.filters
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.resource_name_filter
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            b7 = item3.principal_filter
            b9 = b"" if b7 is None else b7.encode()
            n8 = -1 if b7 is None else len(b9)
            b10 = item3.host_filter
            b12 = b"" if b10 is None else b10.encode()
            n11 = -1 if b10 is None else len(b12)
            parts += (_pack_bh(item3.resource_type_filter, n5), b6, _pack_bh(item3.pattern_type_filter, n8), b9, _pack_h(n11), b12, _pack_bb(item3.operation, item3.permission_type))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteAclsRequest", error) from error


def encode_delete_acls_request_v2(message: DeleteAclsRequest) -> bytes:
    try:
        items1 = message.filters
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.resource_name_filter
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            b7 = item3.principal_filter
            b9 = b"" if b7 is None else b7.encode()
            n8 = 0 if b7 is None else len(b9) + 1
            b10 = item3.host_filter
            b12 = b"" if b10 is None else b10.encode()
            n11 = 0 if b10 is None else len(b12) + 1
            parts += (_pack_bB(item3.resource_type_filter, n5) if n5 < 128 else _pack_b(item3.resource_type_filter) + uvarint(n5), b6, _pack_bB(item3.pattern_type_filter, n8) if n8 < 128 else _pack_b(item3.pattern_type_filter) + uvarint(n8), b9, _pack_B(n11) if n11 < 128 else uvarint(n11), b12, _pack_bbx(item3.operation, item3.permission_type))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteAclsRequest", error) from error


def decode_delete_acls_response_v0(data: bytes, position: int) -> DeleteAclsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        filter_results: list[DeleteAclsFilterResult]
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("filter_results has more elements than bytes, or is null")
        list2: list[DeleteAclsFilterResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n3 >= 0:
                error_message_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                error_message_1 = None
            (n4,) = _unpack_i(data, position)
            position += 4
            matching_acls_1: list[DeleteAclsMatchingAcl]
            if n4 < 0 or n4 * 13 > size - position:
                raise DecodeError("matching_acls has more elements than bytes, or is null")
            list5: list[DeleteAclsMatchingAcl] = []
            for _ in range(n4):
                error_code_2, n6 = _unpack_hh(data, position)
                position += 4
                error_message_2: str | None
                if n6 >= 0:
                    error_message_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    error_message_2 = None
                resource_type_2, n7 = _unpack_bh(data, position)
                position += 3
                if n7 < 0:
                    raise DecodeError("resource_name is null")
                resource_name_2 = data[position : position + n7].decode("utf-8", "replace")
                position += n7
                (n8,) = _unpack_h(data, position)
                position += 2
                if n8 < 0:
                    raise DecodeError("principal is null")
                principal_2 = data[position : position + n8].decode("utf-8", "replace")
                position += n8
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("host is null")
                host_2 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                operation_2, permission_type_2 = _unpack_bb(data, position)
                position += 2
                list5.append(DeleteAclsMatchingAcl(error_code_2, error_message_2, resource_type_2, resource_name_2, 3, principal_2, host_2, operation_2, permission_type_2))
            matching_acls_1 = list5
            list2.append(DeleteAclsFilterResult(error_code_1, error_message_1, matching_acls_1))
        filter_results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteAclsResponse(throttle_time_ms, filter_results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_acls_response_v1(data: bytes, position: int) -> DeleteAclsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        filter_results: list[DeleteAclsFilterResult]
        if n1 < 0 or n1 * 8 > size - position:
            raise DecodeError("filter_results has more elements than bytes, or is null")
        list2: list[DeleteAclsFilterResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n3 >= 0:
                error_message_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                error_message_1 = None
            (n4,) = _unpack_i(data, position)
            position += 4
            matching_acls_1: list[DeleteAclsMatchingAcl]
            if n4 < 0 or n4 * 14 > size - position:
                raise DecodeError("matching_acls has more elements than bytes, or is null")
            list5: list[DeleteAclsMatchingAcl] = []
            for _ in range(n4):
                error_code_2, n6 = _unpack_hh(data, position)
                position += 4
                error_message_2: str | None
                if n6 >= 0:
                    error_message_2 = data[position : position + n6].decode("utf-8", "replace")
                    position += n6
                else:
                    error_message_2 = None
                resource_type_2, n7 = _unpack_bh(data, position)
                position += 3
                if n7 < 0:
                    raise DecodeError("resource_name is null")
                resource_name_2 = data[position : position + n7].decode("utf-8", "replace")
                position += n7
                pattern_type_2, n8 = _unpack_bh(data, position)
                position += 3
                if n8 < 0:
                    raise DecodeError("principal is null")
                principal_2 = data[position : position + n8].decode("utf-8", "replace")
                position += n8
                (n9,) = _unpack_h(data, position)
                position += 2
                if n9 < 0:
                    raise DecodeError("host is null")
                host_2 = data[position : position + n9].decode("utf-8", "replace")
                position += n9
                operation_2, permission_type_2 = _unpack_bb(data, position)
                position += 2
                list5.append(DeleteAclsMatchingAcl(error_code_2, error_message_2, resource_type_2, resource_name_2, pattern_type_2, principal_2, host_2, operation_2, permission_type_2))
            matching_acls_1 = list5
            list2.append(DeleteAclsFilterResult(error_code_1, error_message_1, matching_acls_1))
        filter_results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteAclsResponse(throttle_time_ms, filter_results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_acls_response_v2(data: bytes, position: int) -> DeleteAclsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        filter_results: list[DeleteAclsFilterResult]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("filter_results has more elements than bytes, or is null")
        list2: list[DeleteAclsFilterResult] = []
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
            matching_acls_1: list[DeleteAclsMatchingAcl]
            n4 -= 1
            if n4 < 0 or n4 * 11 > size - position:
                raise DecodeError("matching_acls has more elements than bytes, or is null")
            list5: list[DeleteAclsMatchingAcl] = []
            for _ in range(n4):
                error_code_2, n6 = _unpack_hB(data, position)
                position += 3
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                error_message_2: str | None
                if n6:
                    error_message_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                    position += n6 - 1
                else:
                    error_message_2 = None
                resource_type_2, n7 = _unpack_bB(data, position)
                position += 2
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                if not n7:
                    raise DecodeError("resource_name is null")
                resource_name_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                position += n7 - 1
                pattern_type_2, n8 = _unpack_bB(data, position)
                position += 2
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                if not n8:
                    raise DecodeError("principal is null")
                principal_2 = data[position : position + n8 - 1].decode("utf-8", "replace")
                position += n8 - 1
                n9 = data[position]
                position += 1
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                if not n9:
                    raise DecodeError("host is null")
                host_2 = data[position : position + n9 - 1].decode("utf-8", "replace")
                position += n9 - 1
                operation_2, permission_type_2, tags10 = _unpack_bbB(data, position)
                position += 3
                if tags10:
                    if tags10 > 127:
                        tags10, position = read_tag_count_tail(data, position, tags10)
                    position = skip_tags(data, position, tags10)
                list5.append(DeleteAclsMatchingAcl(error_code_2, error_message_2, resource_type_2, resource_name_2, pattern_type_2, principal_2, host_2, operation_2, permission_type_2))
            matching_acls_1 = list5
            tags11 = data[position]
            position += 1
            if tags11:
                if tags11 > 127:
                    tags11, position = read_tag_count_tail(data, position, tags11)
                position = skip_tags(data, position, tags11)
            list2.append(DeleteAclsFilterResult(error_code_1, error_message_1, matching_acls_1))
        filter_results = list2
        tags12 = data[position]
        position += 1
        if tags12:
            if tags12 > 127:
                tags12, position = read_tag_count_tail(data, position, tags12)
            position = skip_tags(data, position, tags12)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteAclsResponse(throttle_time_ms, filter_results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_delete_acls_response_v0(message: DeleteAclsResponse) -> bytes:
    try:
        items1 = message.filter_results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            items7 = item3.matching_acls
            n8 = len(items7)
            parts += (_pack_hh(item3.error_code, n5), b6, _pack_i(n8))
            for item9 in items7:
                b10 = item9.error_message
                b12 = b"" if b10 is None else b10.encode()
                n11 = -1 if b10 is None else len(b12)
                b13 = item9.resource_name.encode()
                n14 = len(b13)
                b15 = item9.principal.encode()
                n16 = len(b15)
                b17 = item9.host.encode()
                n18 = len(b17)
                parts += (_pack_hh(item9.error_code, n11), b12, _pack_bh(item9.resource_type, n14), b13, _pack_h(n16), b15, _pack_h(n18), b17, _pack_bb(item9.operation, item9.permission_type))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteAclsResponse", error) from error


def encode_delete_acls_response_v1(message: DeleteAclsResponse) -> bytes:
    try:
        items1 = message.filter_results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            items7 = item3.matching_acls
            n8 = len(items7)
            parts += (_pack_hh(item3.error_code, n5), b6, _pack_i(n8))
            for item9 in items7:
                b10 = item9.error_message
                b12 = b"" if b10 is None else b10.encode()
                n11 = -1 if b10 is None else len(b12)
                b13 = item9.resource_name.encode()
                n14 = len(b13)
                b15 = item9.principal.encode()
                n16 = len(b15)
                b17 = item9.host.encode()
                n18 = len(b17)
                parts += (_pack_hh(item9.error_code, n11), b12, _pack_bh(item9.resource_type, n14), b13, _pack_bh(item9.pattern_type, n16), b15, _pack_h(n18), b17, _pack_bb(item9.operation, item9.permission_type))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteAclsResponse", error) from error


def encode_delete_acls_response_v2(message: DeleteAclsResponse) -> bytes:
    try:
        items1 = message.filter_results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            items7 = item3.matching_acls
            n8 = len(items7) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, _pack_B(n8) if n8 < 128 else uvarint(n8))
            for item9 in items7:
                b10 = item9.error_message
                b12 = b"" if b10 is None else b10.encode()
                n11 = 0 if b10 is None else len(b12) + 1
                b13 = item9.resource_name.encode()
                n14 = len(b13) + 1
                b15 = item9.principal.encode()
                n16 = len(b15) + 1
                b17 = item9.host.encode()
                n18 = len(b17) + 1
                parts += (_pack_hB(item9.error_code, n11) if n11 < 128 else _pack_h(item9.error_code) + uvarint(n11), b12, _pack_bB(item9.resource_type, n14) if n14 < 128 else _pack_b(item9.resource_type) + uvarint(n14), b13, _pack_bB(item9.pattern_type, n16) if n16 < 128 else _pack_b(item9.pattern_type) + uvarint(n16), b15, _pack_B(n18) if n18 < 128 else uvarint(n18), b17, _pack_bbx(item9.operation, item9.permission_type))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteAclsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DeleteAclsRequest]]] = {
    0: decode_delete_acls_request_v0,
    1: decode_delete_acls_request_v1,
    2: decode_delete_acls_request_v2,
    3: decode_delete_acls_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DeleteAclsRequest], bytes]]] = {
    0: encode_delete_acls_request_v0,
    1: encode_delete_acls_request_v1,
    2: encode_delete_acls_request_v2,
    3: encode_delete_acls_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DeleteAclsResponse]]] = {
    0: decode_delete_acls_response_v0,
    1: decode_delete_acls_response_v1,
    2: decode_delete_acls_response_v2,
    3: decode_delete_acls_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DeleteAclsResponse], bytes]]] = {
    0: encode_delete_acls_response_v0,
    1: encode_delete_acls_response_v1,
    2: encode_delete_acls_response_v2,
    3: encode_delete_acls_response_v2,
}
