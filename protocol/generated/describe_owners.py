"""DescribeOwners: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_owners`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_owners import (
    DescribeOwnersRequest,
    DescribeOwnersResponse,
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


def decode_describe_owners_request_v0(data: bytes, position: int, left: int) -> DescribeOwnersRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
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
        return DescribeOwnersRequest(group_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_owners_request_v0(message: DescribeOwnersRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("DescribeOwnersRequest", error) from error


def decode_describe_owners_response_v0(data: bytes, position: int) -> DescribeOwnersResponse:
    try:
        size = len(data)
        error_code, n1 = _unpack_hB(data, position)
        position += 3
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        owners: bytes | None
        if n1:
            owners = data[position : position + n1 - 1]
            position += n1 - 1
        else:
            owners = None
        tags2 = data[position]
        position += 1
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeOwnersResponse(error_code, owners)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_owners_response_v0(message: DescribeOwnersResponse) -> bytes:
    try:
        b1 = message.owners
        if b1 is None:
            b1, n2 = b"", 0
        else:
            n2 = len(b1) + 1
        return b"".join((_pack_hB(message.error_code, n2) if n2 < 128 else _pack_h(message.error_code) + uvarint(n2), b1, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("DescribeOwnersResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeOwnersRequest]]] = {
    0: decode_describe_owners_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeOwnersRequest], bytes]]] = {
    0: encode_describe_owners_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeOwnersResponse]]] = {
    0: decode_describe_owners_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeOwnersResponse], bytes]]] = {
    0: encode_describe_owners_response_v0,
}
