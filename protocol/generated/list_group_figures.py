"""ListGroupFigures: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.list_group_figures`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.list_group_figures import (
    ListGroupFiguresRequest,
    ListGroupFiguresResponse,
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
_unpack_hB = Struct(">hB").unpack_from


def decode_list_group_figures_request_v0(data: bytes, position: int, left: int) -> ListGroupFiguresRequest:
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
        return ListGroupFiguresRequest()
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_group_figures_request_v0(message: ListGroupFiguresRequest) -> bytes:
    try:
        return b"\0"
    except UNENCODABLE as error:
        raise unwritable("ListGroupFiguresRequest", error) from error


def decode_list_group_figures_response_v0(data: bytes, position: int) -> ListGroupFiguresResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hB(data, position)
        position += 3
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        parts_0: list[bytes]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("parts has more elements than bytes, or is null")
        list2: list[bytes] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("parts is null")
            element3 = data[position : position + n4 - 1]
            position += n4 - 1
            list2.append(element3)
        parts_0 = list2
        tags5 = data[position]
        position += 1
        if tags5:
            if tags5 > 127:
                tags5, position = read_tag_count_tail(data, position, tags5)
            position = skip_tags(data, position, tags5)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupFiguresResponse(error_code, parts_0)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_group_figures_response_v0(message: ListGroupFiguresResponse) -> bytes:
    try:
        items1 = message.parts
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hB(message.error_code, n2) if n2 < 128 else _pack_h(message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListGroupFiguresResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ListGroupFiguresRequest]]] = {
    0: decode_list_group_figures_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ListGroupFiguresRequest], bytes]]] = {
    0: encode_list_group_figures_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ListGroupFiguresResponse]]] = {
    0: decode_list_group_figures_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ListGroupFiguresResponse], bytes]]] = {
    0: encode_list_group_figures_response_v0,
}
