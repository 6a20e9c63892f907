"""DescribeConfigs: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_configs`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
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
_pack_bh = Struct(">bh").pack
_pack_bx = Struct(">bx").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_o = Struct(">?").pack
_pack_obo = Struct(">?b?").pack
_pack_oboB = Struct(">?b?B").pack
_pack_oboi = Struct(">?b?i").pack
_pack_oo = Struct(">??").pack
_pack_ooo = Struct(">???").pack
_pack_oox = Struct(">??x").pack
_unpack_b = Struct(">b").unpack_from
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_o = Struct(">?").unpack_from
_unpack_oboB = Struct(">?b?B").unpack_from
_unpack_oboi = Struct(">?b?i").unpack_from
_unpack_oo = Struct(">??").unpack_from
_unpack_ooB = Struct(">??B").unpack_from
_unpack_ooo = Struct(">???").unpack_from


def decode_describe_configs_request_v0(data: bytes, position: int, left: int) -> DescribeConfigsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        resources: list[DescribeConfigsResource]
        if n1 < 0 or n1 * 7 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DescribeConfigsResource] = []
        for _ in range(n1):
            resource_type_1, n3 = _unpack_bh(data, position)
            position += 3
            if n3 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            configuration_keys_1: list[str] | None
            if n4 < 0:
                configuration_keys_1 = None
            else:
                if n4 < 0 or n4 * 2 > size - position:
                    raise DecodeError("configuration_keys has more elements than bytes, or is null")
                left -= n4
                if left < 0:
                    raise TooManyElementsError
                list5: list[str] = []
                for _ in range(n4):
                    (n7,) = _unpack_h(data, position)
                    position += 2
                    if n7 < 0:
                        raise DecodeError("configuration_keys is null")
                    element6 = data[position : position + n7].decode("utf-8", "replace")
                    position += n7
                    list5.append(element6)
                configuration_keys_1 = list5
            list2.append(DescribeConfigsResource(resource_type_1, resource_name_1, configuration_keys_1))
        resources = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeConfigsRequest(resources, False, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_configs_request_v1(data: bytes, position: int, left: int) -> DescribeConfigsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        resources: list[DescribeConfigsResource]
        if n1 < 0 or n1 * 7 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DescribeConfigsResource] = []
        for _ in range(n1):
            resource_type_1, n3 = _unpack_bh(data, position)
            position += 3
            if n3 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            configuration_keys_1: list[str] | None
            if n4 < 0:
                configuration_keys_1 = None
            else:
                if n4 < 0 or n4 * 2 > size - position:
                    raise DecodeError("configuration_keys has more elements than bytes, or is null")
                left -= n4
                if left < 0:
                    raise TooManyElementsError
                list5: list[str] = []
                for _ in range(n4):
                    (n7,) = _unpack_h(data, position)
                    position += 2
                    if n7 < 0:
                        raise DecodeError("configuration_keys is null")
                    element6 = data[position : position + n7].decode("utf-8", "replace")
                    position += n7
                    list5.append(element6)
                configuration_keys_1 = list5
            list2.append(DescribeConfigsResource(resource_type_1, resource_name_1, configuration_keys_1))
        resources = list2
        (include_synonyms,) = _unpack_o(data, position)
        position += 1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeConfigsRequest(resources, include_synonyms, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_configs_request_v3(data: bytes, position: int, left: int) -> DescribeConfigsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        resources: list[DescribeConfigsResource]
        if n1 < 0 or n1 * 7 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DescribeConfigsResource] = []
        for _ in range(n1):
            resource_type_1, n3 = _unpack_bh(data, position)
            position += 3
            if n3 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            configuration_keys_1: list[str] | None
            if n4 < 0:
                configuration_keys_1 = None
            else:
                if n4 < 0 or n4 * 2 > size - position:
                    raise DecodeError("configuration_keys has more elements than bytes, or is null")
                left -= n4
                if left < 0:
                    raise TooManyElementsError
                list5: list[str] = []
                for _ in range(n4):
                    (n7,) = _unpack_h(data, position)
                    position += 2
                    if n7 < 0:
                        raise DecodeError("configuration_keys is null")
                    element6 = data[position : position + n7].decode("utf-8", "replace")
                    position += n7
                    list5.append(element6)
                configuration_keys_1 = list5
            list2.append(DescribeConfigsResource(resource_type_1, resource_name_1, configuration_keys_1))
        resources = list2
        include_synonyms, include_documentation = _unpack_oo(data, position)
        position += 2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeConfigsRequest(resources, include_synonyms, include_documentation)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_configs_request_v4(data: bytes, position: int, left: int) -> DescribeConfigsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        resources: list[DescribeConfigsResource]
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DescribeConfigsResource] = []
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
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            configuration_keys_1: list[str] | None
            if not n4:
                configuration_keys_1 = None
            else:
                n4 -= 1
                if n4 < 0 or n4 > size - position:
                    raise DecodeError("configuration_keys has more elements than bytes, or is null")
                left -= n4
                if left < 0:
                    raise TooManyElementsError
                list5: list[str] = []
                for _ in range(n4):
                    n7 = data[position]
                    position += 1
                    if n7 > 127:
                        n7, position = read_uvarint_tail(data, position, n7)
                        if n7 > 0x10000:
                            raise DecodeError("a string is longer than 65535 bytes")
                    if not n7:
                        raise DecodeError("configuration_keys is null")
                    element6 = data[position : position + n7 - 1].decode("utf-8", "replace")
                    position += n7 - 1
                    list5.append(element6)
                configuration_keys_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                left -= tags8
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags8)
            list2.append(DescribeConfigsResource(resource_type_1, resource_name_1, configuration_keys_1))
        resources = list2
        include_synonyms, include_documentation, tags9 = _unpack_ooB(data, position)
        position += 3
        if tags9:
            if tags9 > 127:
                tags9, position = read_tag_count_tail(data, position, tags9)
            left -= tags9
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeConfigsRequest(resources, include_synonyms, include_documentation)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_configs_request_v0(message: DescribeConfigsRequest) -> bytes:
    try:
        items1 = message.resources
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4)
            items6 = item3.configuration_keys
            if items6 is None:
                items6, n7 = [], -1
            else:
                n7 = len(items6)
            parts += (_pack_bh(item3.resource_type, n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.encode()
                n10 = len(b9)
                parts += (_pack_h(n10), b9)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeConfigsRequest", error) from error


def encode_describe_configs_request_v1(message: DescribeConfigsRequest) -> bytes:
    try:
        items1 = message.resources
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4)
            items6 = item3.configuration_keys
            if items6 is None:
                items6, n7 = [], -1
            else:
                n7 = len(items6)
            parts += (_pack_bh(item3.resource_type, n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.encode()
                n10 = len(b9)
                parts += (_pack_h(n10), b9)
        parts.append(_pack_o(message.include_synonyms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeConfigsRequest", error) from error


def encode_describe_configs_request_v3(message: DescribeConfigsRequest) -> bytes:
    try:
        items1 = message.resources
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4)
            items6 = item3.configuration_keys
            if items6 is None:
                items6, n7 = [], -1
            else:
                n7 = len(items6)
            parts += (_pack_bh(item3.resource_type, n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.encode()
                n10 = len(b9)
                parts += (_pack_h(n10), b9)
        parts.append(_pack_oo(message.include_synonyms, message.include_documentation))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeConfigsRequest", error) from error


def encode_describe_configs_request_v4(message: DescribeConfigsRequest) -> bytes:
    try:
        items1 = message.resources
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4) + 1
            items6 = item3.configuration_keys
            if items6 is None:
                items6, n7 = [], 0
            else:
                n7 = len(items6) + 1
            parts += (_pack_bB(item3.resource_type, n5) if n5 < 128 else _pack_b(item3.resource_type) + uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.encode()
                n10 = len(b9) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9)
            parts.append(b"\0")
        parts.append(_pack_oox(message.include_synonyms, message.include_documentation))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeConfigsRequest", error) from error


def decode_describe_configs_response_v0(data: bytes, position: int) -> DescribeConfigsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results: list[DescribeConfigsResult]
        if n1 < 0 or n1 * 11 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeConfigsResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n3 >= 0:
                error_message_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                error_message_1 = None
            resource_type_1, n4 = _unpack_bh(data, position)
            position += 3
            if n4 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_i(data, position)
            position += 4
            configs_1: list[DescribeConfigsResourceResult]
            if n5 < 0 or n5 * 7 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            list6: list[DescribeConfigsResourceResult] = []
            for _ in range(n5):
                (n7,) = _unpack_h(data, position)
                position += 2
                if n7 < 0:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n7].decode("utf-8", "replace")
                position += n7
                (n8,) = _unpack_h(data, position)
                position += 2
                value_2: str | None
                if n8 >= 0:
                    value_2 = data[position : position + n8].decode("utf-8", "replace")
                    position += n8
                else:
                    value_2 = None
                read_only_2, is_default_2, is_sensitive_2 = _unpack_ooo(data, position)
                position += 3
                list6.append(DescribeConfigsResourceResult(name_2, value_2, read_only_2, -1, is_default_2, is_sensitive_2, [], 0, ""))
            configs_1 = list6
            list2.append(DescribeConfigsResult(error_code_1, error_message_1, resource_type_1, resource_name_1, configs_1))
        results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeConfigsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_configs_response_v1(data: bytes, position: int) -> DescribeConfigsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results: list[DescribeConfigsResult]
        if n1 < 0 or n1 * 11 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeConfigsResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n3 >= 0:
                error_message_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                error_message_1 = None
            resource_type_1, n4 = _unpack_bh(data, position)
            position += 3
            if n4 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_i(data, position)
            position += 4
            configs_1: list[DescribeConfigsResourceResult]
            if n5 < 0 or n5 * 11 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            list6: list[DescribeConfigsResourceResult] = []
            for _ in range(n5):
                (n7,) = _unpack_h(data, position)
                position += 2
                if n7 < 0:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n7].decode("utf-8", "replace")
                position += n7
                (n8,) = _unpack_h(data, position)
                position += 2
                value_2: str | None
                if n8 >= 0:
                    value_2 = data[position : position + n8].decode("utf-8", "replace")
                    position += n8
                else:
                    value_2 = None
                read_only_2, config_source_2, is_sensitive_2, n9 = _unpack_oboi(data, position)
                position += 7
                synonyms_2: list[DescribeConfigsSynonym]
                if n9 < 0 or n9 * 5 > size - position:
                    raise DecodeError("synonyms has more elements than bytes, or is null")
                list10: list[DescribeConfigsSynonym] = []
                for _ in range(n9):
                    (n11,) = _unpack_h(data, position)
                    position += 2
                    if n11 < 0:
                        raise DecodeError("name is null")
                    name_3 = data[position : position + n11].decode("utf-8", "replace")
                    position += n11
                    (n12,) = _unpack_h(data, position)
                    position += 2
                    value_3: str | None
                    if n12 >= 0:
                        value_3 = data[position : position + n12].decode("utf-8", "replace")
                        position += n12
                    else:
                        value_3 = None
                    (source_3,) = _unpack_b(data, position)
                    position += 1
                    list10.append(DescribeConfigsSynonym(name_3, value_3, source_3))
                synonyms_2 = list10
                list6.append(DescribeConfigsResourceResult(name_2, value_2, read_only_2, config_source_2, False, is_sensitive_2, synonyms_2, 0, ""))
            configs_1 = list6
            list2.append(DescribeConfigsResult(error_code_1, error_message_1, resource_type_1, resource_name_1, configs_1))
        results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeConfigsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_configs_response_v3(data: bytes, position: int) -> DescribeConfigsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results: list[DescribeConfigsResult]
        if n1 < 0 or n1 * 11 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeConfigsResult] = []
        for _ in range(n1):
            error_code_1, n3 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n3 >= 0:
                error_message_1 = data[position : position + n3].decode("utf-8", "replace")
                position += n3
            else:
                error_message_1 = None
            resource_type_1, n4 = _unpack_bh(data, position)
            position += 3
            if n4 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_i(data, position)
            position += 4
            configs_1: list[DescribeConfigsResourceResult]
            if n5 < 0 or n5 * 14 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            list6: list[DescribeConfigsResourceResult] = []
            for _ in range(n5):
                (n7,) = _unpack_h(data, position)
                position += 2
                if n7 < 0:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n7].decode("utf-8", "replace")
                position += n7
                (n8,) = _unpack_h(data, position)
                position += 2
                value_2: str | None
                if n8 >= 0:
                    value_2 = data[position : position + n8].decode("utf-8", "replace")
                    position += n8
                else:
                    value_2 = None
                read_only_2, config_source_2, is_sensitive_2, n9 = _unpack_oboi(data, position)
                position += 7
                synonyms_2: list[DescribeConfigsSynonym]
                if n9 < 0 or n9 * 5 > size - position:
                    raise DecodeError("synonyms has more elements than bytes, or is null")
                list10: list[DescribeConfigsSynonym] = []
                for _ in range(n9):
                    (n11,) = _unpack_h(data, position)
                    position += 2
                    if n11 < 0:
                        raise DecodeError("name is null")
                    name_3 = data[position : position + n11].decode("utf-8", "replace")
                    position += n11
                    (n12,) = _unpack_h(data, position)
                    position += 2
                    value_3: str | None
                    if n12 >= 0:
                        value_3 = data[position : position + n12].decode("utf-8", "replace")
                        position += n12
                    else:
                        value_3 = None
                    (source_3,) = _unpack_b(data, position)
                    position += 1
                    list10.append(DescribeConfigsSynonym(name_3, value_3, source_3))
                synonyms_2 = list10
                config_type_2, n13 = _unpack_bh(data, position)
                position += 3
                documentation_2: str | None
                if n13 >= 0:
                    documentation_2 = data[position : position + n13].decode("utf-8", "replace")
                    position += n13
                else:
                    documentation_2 = None
                list6.append(DescribeConfigsResourceResult(name_2, value_2, read_only_2, config_source_2, False, is_sensitive_2, synonyms_2, config_type_2, documentation_2))
            configs_1 = list6
            list2.append(DescribeConfigsResult(error_code_1, error_message_1, resource_type_1, resource_name_1, configs_1))
        results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeConfigsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_configs_response_v4(data: bytes, position: int) -> DescribeConfigsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[DescribeConfigsResult]
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[DescribeConfigsResult] = []
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
            resource_type_1, n4 = _unpack_bB(data, position)
            position += 2
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            configs_1: list[DescribeConfigsResourceResult]
            n5 -= 1
            if n5 < 0 or n5 * 9 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            list6: list[DescribeConfigsResourceResult] = []
            for _ in range(n5):
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                if not n7:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                position += n7 - 1
                n8 = data[position]
                position += 1
                if n8 > 127:
                    n8, position = read_uvarint_tail(data, position, n8)
                value_2: str | None
                if n8:
                    value_2 = data[position : position + n8 - 1].decode("utf-8", "replace")
                    position += n8 - 1
                else:
                    value_2 = None
                read_only_2, config_source_2, is_sensitive_2, n9 = _unpack_oboB(data, position)
                position += 4
                if n9 > 127:
                    n9, position = read_uvarint_tail(data, position, n9)
                synonyms_2: list[DescribeConfigsSynonym]
                n9 -= 1
                if n9 < 0 or n9 * 4 > size - position:
                    raise DecodeError("synonyms has more elements than bytes, or is null")
                list10: list[DescribeConfigsSynonym] = []
                for _ in range(n9):
                    n11 = data[position]
                    position += 1
                    if n11 > 127:
                        n11, position = read_uvarint_tail(data, position, n11)
                    if not n11:
                        raise DecodeError("name is null")
                    name_3 = data[position : position + n11 - 1].decode("utf-8", "replace")
                    position += n11 - 1
                    n12 = data[position]
                    position += 1
                    if n12 > 127:
                        n12, position = read_uvarint_tail(data, position, n12)
                    value_3: str | None
                    if n12:
                        value_3 = data[position : position + n12 - 1].decode("utf-8", "replace")
                        position += n12 - 1
                    else:
                        value_3 = None
                    source_3, tags13 = _unpack_bB(data, position)
                    position += 2
                    if tags13:
                        if tags13 > 127:
                            tags13, position = read_tag_count_tail(data, position, tags13)
                        position = skip_tags(data, position, tags13)
                    list10.append(DescribeConfigsSynonym(name_3, value_3, source_3))
                synonyms_2 = list10
                config_type_2, n14 = _unpack_bB(data, position)
                position += 2
                if n14 > 127:
                    n14, position = read_uvarint_tail(data, position, n14)
                documentation_2: str | None
                if n14:
                    documentation_2 = data[position : position + n14 - 1].decode("utf-8", "replace")
                    position += n14 - 1
                else:
                    documentation_2 = None
                tags15 = data[position]
                position += 1
                if tags15:
                    if tags15 > 127:
                        tags15, position = read_tag_count_tail(data, position, tags15)
                    position = skip_tags(data, position, tags15)
                list6.append(DescribeConfigsResourceResult(name_2, value_2, read_only_2, config_source_2, False, is_sensitive_2, synonyms_2, config_type_2, documentation_2))
            configs_1 = list6
            tags16 = data[position]
            position += 1
            if tags16:
                if tags16 > 127:
                    tags16, position = read_tag_count_tail(data, position, tags16)
                position = skip_tags(data, position, tags16)
            list2.append(DescribeConfigsResult(error_code_1, error_message_1, resource_type_1, resource_name_1, configs_1))
        results = list2
        tags17 = data[position]
        position += 1
        if tags17:
            if tags17 > 127:
                tags17, position = read_tag_count_tail(data, position, tags17)
            position = skip_tags(data, position, tags17)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeConfigsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_configs_response_v0(message: DescribeConfigsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            b7 = item3.resource_name.encode()
            n8 = len(b7)
            items9 = item3.configs
            n10 = len(items9)
            parts += (_pack_hh(item3.error_code, n5), b6, _pack_bh(item3.resource_type, n8), b7, _pack_i(n10))
            for item11 in items9:
                b12 = item11.name.encode()
                n13 = len(b12)
                b14 = item11.value
                b16 = b"" if b14 is None else b14.encode()
                n15 = -1 if b14 is None else len(b16)
                parts += (_pack_h(n13), b12, _pack_h(n15), b16, _pack_ooo(item11.read_only, item11.is_default, item11.is_sensitive))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeConfigsResponse", error) from error


def encode_describe_configs_response_v1(message: DescribeConfigsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            b7 = item3.resource_name.encode()
            n8 = len(b7)
            items9 = item3.configs
            n10 = len(items9)
            parts += (_pack_hh(item3.error_code, n5), b6, _pack_bh(item3.resource_type, n8), b7, _pack_i(n10))
            for item11 in items9:
                b12 = item11.name.encode()
                n13 = len(b12)
                b14 = item11.value
                b16 = b"" if b14 is None else b14.encode()
                n15 = -1 if b14 is None else len(b16)
                items17 = item11.synonyms
                n18 = len(items17)
                parts += (_pack_h(n13), b12, _pack_h(n15), b16, _pack_oboi(item11.read_only, item11.config_source, item11.is_sensitive, n18))
                for item19 in items17:
                    b20 = item19.name.encode()
                    n21 = len(b20)
                    b22 = item19.value
                    b24 = b"" if b22 is None else b22.encode()
                    n23 = -1 if b22 is None else len(b24)
                    parts += (_pack_h(n21), b20, _pack_h(n23), b24, _pack_b(item19.source))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeConfigsResponse", error) from error


def encode_describe_configs_response_v3(message: DescribeConfigsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            b7 = item3.resource_name.encode()
            n8 = len(b7)
            items9 = item3.configs
            n10 = len(items9)
            parts += (_pack_hh(item3.error_code, n5), b6, _pack_bh(item3.resource_type, n8), b7, _pack_i(n10))
            for item11 in items9:
                b12 = item11.name.encode()
                n13 = len(b12)
                b14 = item11.value
                b16 = b"" if b14 is None else b14.encode()
                n15 = -1 if b14 is None else len(b16)
                items17 = item11.synonyms
                n18 = len(items17)
                parts += (_pack_h(n13), b12, _pack_h(n15), b16, _pack_oboi(item11.read_only, item11.config_source, item11.is_sensitive, n18))
                for item19 in items17:
                    b20 = item19.name.encode()
                    n21 = len(b20)
                    b22 = item19.value
                    b24 = b"" if b22 is None else b22.encode()
                    n23 = -1 if b22 is None else len(b24)
                    parts += (_pack_h(n21), b20, _pack_h(n23), b24, _pack_b(item19.source))
                b25 = item11.documentation
                b27 = b"" if b25 is None else b25.encode()
                n26 = -1 if b25 is None else len(b27)
                parts += (_pack_bh(item11.config_type, n26), b27)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeConfigsResponse", error) from error


def encode_describe_configs_response_v4(message: DescribeConfigsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            b7 = item3.resource_name.encode()
            n8 = len(b7) + 1
            items9 = item3.configs
            n10 = len(items9) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, _pack_bB(item3.resource_type, n8) if n8 < 128 else _pack_b(item3.resource_type) + uvarint(n8), b7, _pack_B(n10) if n10 < 128 else uvarint(n10))
            for item11 in items9:
                b12 = item11.name.encode()
                n13 = len(b12) + 1
                b14 = item11.value
                b16 = b"" if b14 is None else b14.encode()
                n15 = 0 if b14 is None else len(b16) + 1
                items17 = item11.synonyms
                n18 = len(items17) + 1
                parts += (_pack_B(n13) if n13 < 128 else uvarint(n13), b12, _pack_B(n15) if n15 < 128 else uvarint(n15), b16, _pack_oboB(item11.read_only, item11.config_source, item11.is_sensitive, n18) if n18 < 128 else _pack_obo(item11.read_only, item11.config_source, item11.is_sensitive) + uvarint(n18))
                for item19 in items17:
                    b20 = item19.name.encode()
                    n21 = len(b20) + 1
                    b22 = item19.value
                    b24 = b"" if b22 is None else b22.encode()
                    n23 = 0 if b22 is None else len(b24) + 1
                    parts += (_pack_B(n21) if n21 < 128 else uvarint(n21), b20, _pack_B(n23) if n23 < 128 else uvarint(n23), b24, _pack_bx(item19.source))
                b25 = item11.documentation
                b27 = b"" if b25 is None else b25.encode()
                n26 = 0 if b25 is None else len(b27) + 1
                parts += (_pack_bB(item11.config_type, n26) if n26 < 128 else _pack_b(item11.config_type) + uvarint(n26), b27, b"\0")
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeConfigsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeConfigsRequest]]] = {
    0: decode_describe_configs_request_v0,
    1: decode_describe_configs_request_v1,
    2: decode_describe_configs_request_v1,
    3: decode_describe_configs_request_v3,
    4: decode_describe_configs_request_v4,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeConfigsRequest], bytes]]] = {
    0: encode_describe_configs_request_v0,
    1: encode_describe_configs_request_v1,
    2: encode_describe_configs_request_v1,
    3: encode_describe_configs_request_v3,
    4: encode_describe_configs_request_v4,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeConfigsResponse]]] = {
    0: decode_describe_configs_response_v0,
    1: decode_describe_configs_response_v1,
    2: decode_describe_configs_response_v1,
    3: decode_describe_configs_response_v3,
    4: decode_describe_configs_response_v4,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeConfigsResponse], bytes]]] = {
    0: encode_describe_configs_response_v0,
    1: encode_describe_configs_response_v1,
    2: encode_describe_configs_response_v1,
    3: encode_describe_configs_response_v3,
    4: encode_describe_configs_response_v4,
}
