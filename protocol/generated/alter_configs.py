"""AlterConfigs: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.alter_configs`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
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
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_o = Struct(">?").pack
_pack_ox = Struct(">?x").pack
_unpack_bB = Struct(">bB").unpack_from
_unpack_bh = Struct(">bh").unpack_from
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_o = Struct(">?").unpack_from
_unpack_oB = Struct(">?B").unpack_from


def decode_alter_configs_request_v0(data: bytes, position: int, left: int) -> AlterConfigsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        resources: list[AlterConfigsResource]
        if n1 < 0 or n1 * 7 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[AlterConfigsResource] = []
        for _ in range(n1):
            resource_type_1, n3 = _unpack_bh(data, position)
            position += 3
            if n3 < 0:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            configs_1: list[AlterableConfig]
            if n4 < 0 or n4 * 4 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[AlterableConfig] = []
            for _ in range(n4):
                (n6,) = _unpack_h(data, position)
                position += 2
                if n6 < 0:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6].decode("utf-8", "replace")
                position += n6
                (n7,) = _unpack_h(data, position)
                position += 2
                value_2: str | None
                if n7 >= 0:
                    value_2 = data[position : position + n7].decode("utf-8", "replace")
                    position += n7
                else:
                    value_2 = None
                list5.append(AlterableConfig(name_2, value_2))
            configs_1 = list5
            list2.append(AlterConfigsResource(resource_type_1, resource_name_1, configs_1))
        resources = list2
        (validate_only,) = _unpack_o(data, position)
        position += 1
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterConfigsRequest(resources, validate_only)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_alter_configs_request_v2(data: bytes, position: int, left: int) -> AlterConfigsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        resources: list[AlterConfigsResource]
        n1 -= 1
        if n1 < 0 or n1 * 4 > size - position:
            raise DecodeError("resources has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[AlterConfigsResource] = []
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
            configs_1: list[AlterableConfig]
            n4 -= 1
            if n4 < 0 or n4 * 3 > size - position:
                raise DecodeError("configs has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[AlterableConfig] = []
            for _ in range(n4):
                n6 = data[position]
                position += 1
                if n6 > 127:
                    n6, position = read_uvarint_tail(data, position, n6)
                    if n6 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                if not n6:
                    raise DecodeError("name is null")
                name_2 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
                n7 = data[position]
                position += 1
                if n7 > 127:
                    n7, position = read_uvarint_tail(data, position, n7)
                    if n7 > 0x10000:
                        raise DecodeError("a string is longer than 65535 bytes")
                value_2: str | None
                if n7:
                    value_2 = data[position : position + n7 - 1].decode("utf-8", "replace")
                    position += n7 - 1
                else:
                    value_2 = None
                tags8 = data[position]
                position += 1
                if tags8:
                    if tags8 > 127:
                        tags8, position = read_tag_count_tail(data, position, tags8)
                    left -= tags8
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags8)
                list5.append(AlterableConfig(name_2, value_2))
            configs_1 = list5
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                left -= tags9
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags9)
            list2.append(AlterConfigsResource(resource_type_1, resource_name_1, configs_1))
        resources = list2
        validate_only, tags10 = _unpack_oB(data, position)
        position += 2
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            left -= tags10
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterConfigsRequest(resources, validate_only)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_configs_request_v0(message: AlterConfigsRequest) -> bytes:
    try:
        items1 = message.resources
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4)
            items6 = item3.configs
            n7 = len(items6)
            parts += (_pack_bh(item3.resource_type, n5), b4, _pack_i(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9)
                b11 = item8.value
                b13 = b"" if b11 is None else b11.encode()
                n12 = -1 if b11 is None else len(b13)
                parts += (_pack_h(n10), b9, _pack_h(n12), b13)
        parts.append(_pack_o(message.validate_only))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterConfigsRequest", error) from error


def encode_alter_configs_request_v2(message: AlterConfigsRequest) -> bytes:
    try:
        items1 = message.resources
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4) + 1
            items6 = item3.configs
            n7 = len(items6) + 1
            parts += (_pack_bB(item3.resource_type, n5) if n5 < 128 else _pack_b(item3.resource_type) + uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                b9 = item8.name.encode()
                n10 = len(b9) + 1
                b11 = item8.value
                b13 = b"" if b11 is None else b11.encode()
                n12 = 0 if b11 is None else len(b13) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_B(n12) if n12 < 128 else uvarint(n12), b13, b"\0")
            parts.append(b"\0")
        parts.append(_pack_ox(message.validate_only))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterConfigsRequest", error) from error


def decode_alter_configs_response_v0(data: bytes, position: int) -> AlterConfigsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        responses: list[AlterConfigsResourceResponse]
        if n1 < 0 or n1 * 7 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[AlterConfigsResourceResponse] = []
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
            list2.append(AlterConfigsResourceResponse(error_code_1, error_message_1, resource_type_1, resource_name_1))
        responses = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterConfigsResponse(throttle_time_ms, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_alter_configs_response_v2(data: bytes, position: int) -> AlterConfigsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        responses: list[AlterConfigsResourceResponse]
        n1 -= 1
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("responses has more elements than bytes, or is null")
        list2: list[AlterConfigsResourceResponse] = []
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
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(AlterConfigsResourceResponse(error_code_1, error_message_1, resource_type_1, resource_name_1))
        responses = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AlterConfigsResponse(throttle_time_ms, responses)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_alter_configs_response_v0(message: AlterConfigsResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = -1 if b4 is None else len(b6)
            b7 = item3.resource_name.encode()
            n8 = len(b7)
            parts += (_pack_hh(item3.error_code, n5), b6, _pack_bh(item3.resource_type, n8), b7)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterConfigsResponse", error) from error


def encode_alter_configs_response_v2(message: AlterConfigsResponse) -> bytes:
    try:
        items1 = message.responses
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.error_message
            b6 = b"" if b4 is None else b4.encode()
            n5 = 0 if b4 is None else len(b6) + 1
            b7 = item3.resource_name.encode()
            n8 = len(b7) + 1
            parts += (_pack_hB(item3.error_code, n5) if n5 < 128 else _pack_h(item3.error_code) + uvarint(n5), b6, _pack_bB(item3.resource_type, n8) if n8 < 128 else _pack_b(item3.resource_type) + uvarint(n8), b7, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("AlterConfigsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], AlterConfigsRequest]]] = {
    0: decode_alter_configs_request_v0,
    1: decode_alter_configs_request_v0,
    2: decode_alter_configs_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[AlterConfigsRequest], bytes]]] = {
    0: encode_alter_configs_request_v0,
    1: encode_alter_configs_request_v0,
    2: encode_alter_configs_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], AlterConfigsResponse]]] = {
    0: decode_alter_configs_response_v0,
    1: decode_alter_configs_response_v0,
    2: decode_alter_configs_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[AlterConfigsResponse], bytes]]] = {
    0: encode_alter_configs_response_v0,
    1: encode_alter_configs_response_v0,
    2: encode_alter_configs_response_v2,
}
