"""ListConfigResources: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.list_config_resources`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
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
_pack_bx = Struct(">bx").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_unpack_bB = Struct(">bB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from


def decode_list_config_resources_request_v0(data: bytes, position: int, left: int) -> ListConfigResourcesRequest:
    try:
        size = len(data)
        tags1 = data[position]
        position += 1
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            left -= tags1
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListConfigResourcesRequest([])
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_config_resources_request_v1(data: bytes, position: int, left: int) -> ListConfigResourcesRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        resource_types: list[int]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("resource_types has more elements than bytes, or is null")
        left -= n1 + 7 >> 3
        if left < 0:
            raise TooManyElementsError
        resource_types = list(unpack_from(f">{n1}b", data, position))
        position += n1
        tags2 = data[position]
        position += 1
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            left -= tags2
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListConfigResourcesRequest(resource_types)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_config_resources_request_v0(message: ListConfigResourcesRequest) -> bytes:
    try:
        return b"\0"
    except UNENCODABLE as error:
        raise unwritable("ListConfigResourcesRequest", error) from error


def encode_list_config_resources_request_v1(message: ListConfigResourcesRequest) -> bytes:
    try:
        items1 = message.resource_types
        n2 = len(items1) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), pack(f">{len(items1)}b", *items1), b"\0"))
    except UNENCODABLE as error:
        raise unwritable("ListConfigResourcesRequest", error) from error


def decode_list_config_resources_response_v0(data: bytes, position: int) -> ListConfigResourcesResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        config_resources: list[ConfigResource]
        n1 -= 1
        if n1 < 0 or n1 * 2 > size - position:
            raise DecodeError("config_resources has more elements than bytes, or is null")
        list2: list[ConfigResource] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            tags4 = data[position]
            position += 1
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                position = skip_tags(data, position, tags4)
            list2.append(ConfigResource(resource_name_1, 16))
        config_resources = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_config_resources_response_v1(data: bytes, position: int) -> ListConfigResourcesResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        config_resources: list[ConfigResource]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("config_resources has more elements than bytes, or is null")
        list2: list[ConfigResource] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("resource_name is null")
            resource_name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            resource_type_1, tags4 = _unpack_bB(data, position)
            position += 2
            if tags4:
                if tags4 > 127:
                    tags4, position = read_tag_count_tail(data, position, tags4)
                position = skip_tags(data, position, tags4)
            list2.append(ConfigResource(resource_name_1, resource_type_1))
        config_resources = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListConfigResourcesResponse(throttle_time_ms, error_code, config_resources)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_config_resources_response_v0(message: ListConfigResourcesResponse) -> bytes:
    try:
        items1 = message.config_resources
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListConfigResourcesResponse", error) from error


def encode_list_config_resources_response_v1(message: ListConfigResourcesResponse) -> bytes:
    try:
        items1 = message.config_resources
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.resource_name.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_bx(item3.resource_type))
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListConfigResourcesResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ListConfigResourcesRequest]]] = {
    0: decode_list_config_resources_request_v0,
    1: decode_list_config_resources_request_v1,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ListConfigResourcesRequest], bytes]]] = {
    0: encode_list_config_resources_request_v0,
    1: encode_list_config_resources_request_v1,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ListConfigResourcesResponse]]] = {
    0: decode_list_config_resources_response_v0,
    1: decode_list_config_resources_response_v1,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ListConfigResourcesResponse], bytes]]] = {
    0: encode_list_config_resources_response_v0,
    1: encode_list_config_resources_response_v1,
}
