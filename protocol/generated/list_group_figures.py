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
    ListedGroupFigures,
    ListGroupFiguresRequest,
    ListGroupFiguresResponse,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    read_uvarint_tail,
    skip_tags,
    unreadable,
    unwritable,
    uvarint,
)

_pack_B = Struct(">B").pack
_pack_h = Struct(">h").pack
_pack_hB = Struct(">hB").pack
_pack_iiqiiqx = Struct(">iiqiiqx").pack
_unpack_hB = Struct(">hB").unpack_from
_unpack_iiqiiqB = Struct(">iiqiiqB").unpack_from


def decode_list_group_figures_request_v0(data: bytes, position: int, left: int) -> ListGroupFiguresRequest:
    try:
        size = len(data)
        tags1 = data[position]
        position += 1
        if tags1:
            if tags1 > 127:
                tags1, position = read_uvarint_tail(data, position, tags1)
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
        groups: list[ListedGroupFigures]
        n1 -= 1
        if n1 < 0 or n1 * 36 > size - position:
            raise DecodeError("groups has more elements than bytes, or is null")
        list2: list[ListedGroupFigures] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
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
                raise DecodeError("protocol_type is null")
            protocol_type_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("group_state is null")
            group_state_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            members_1, generation_1, lag_1, unknown_partitions_1, rebalances_1, last_rebalance_ms_1, tags6 = _unpack_iiqiiqB(data, position)
            position += 33
            if tags6:
                if tags6 > 127:
                    tags6, position = read_uvarint_tail(data, position, tags6)
                position = skip_tags(data, position, tags6)
            list2.append(ListedGroupFigures(group_id_1, protocol_type_1, group_state_1, members_1, generation_1, lag_1, unknown_partitions_1, rebalances_1, last_rebalance_ms_1))
        groups = list2
        tags7 = data[position]
        position += 1
        if tags7:
            if tags7 > 127:
                tags7, position = read_uvarint_tail(data, position, tags7)
            position = skip_tags(data, position, tags7)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListGroupFiguresResponse(error_code, groups)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_group_figures_response_v0(message: ListGroupFiguresResponse) -> bytes:
    try:
        items1 = message.groups
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_hB(message.error_code, n2) if n2 < 128 else _pack_h(message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.group_id.encode()
            n5 = len(b4) + 1
            b6 = item3.protocol_type.encode()
            n7 = len(b6) + 1
            b8 = item3.group_state.encode()
            n9 = len(b8) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7), b6, _pack_B(n9) if n9 < 128 else uvarint(n9), b8, _pack_iiqiiqx(item3.members, item3.generation, item3.lag, item3.unknown_partitions, item3.rebalances, item3.last_rebalance_ms))
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
