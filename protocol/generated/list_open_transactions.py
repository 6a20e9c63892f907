"""ListOpenTransactions: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.list_open_transactions`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.list_open_transactions import (
    ListOpenTransactionsRequest,
    ListOpenTransactionsResponse,
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

_pack_hi = Struct(">hi").pack
_pack_hiB = Struct(">hiB").pack
_unpack_hiB = Struct(">hiB").unpack_from


def decode_list_open_transactions_request_v0(data: bytes, position: int, left: int) -> ListOpenTransactionsRequest:
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
        return ListOpenTransactionsRequest()
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_open_transactions_request_v0(message: ListOpenTransactionsRequest) -> bytes:
    try:
        return b"\0"
    except UNENCODABLE as error:
        raise unwritable("ListOpenTransactionsRequest", error) from error


def decode_list_open_transactions_response_v0(data: bytes, position: int) -> ListOpenTransactionsResponse:
    try:
        size = len(data)
        error_code, total, n1 = _unpack_hiB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        if not n1:
            raise DecodeError("oldest is null")
        oldest = data[position : position + n1 - 1]
        position += n1 - 1
        tags2 = data[position]
        position += 1
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListOpenTransactionsResponse(error_code, total, oldest)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_open_transactions_response_v0(message: ListOpenTransactionsResponse) -> bytes:
    try:
        b1 = message.oldest
        n2 = len(b1) + 1
        return b"".join((_pack_hiB(message.error_code, message.total, n2) if n2 < 128 else _pack_hi(message.error_code, message.total) + uvarint(n2), b1, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("ListOpenTransactionsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ListOpenTransactionsRequest]]] = {
    0: decode_list_open_transactions_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ListOpenTransactionsRequest], bytes]]] = {
    0: encode_list_open_transactions_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ListOpenTransactionsResponse]]] = {
    0: decode_list_open_transactions_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ListOpenTransactionsResponse], bytes]]] = {
    0: encode_list_open_transactions_response_v0,
}
