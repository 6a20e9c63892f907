"""ListTransactions: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.list_transactions`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
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
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_q = Struct(">q").pack
_pack_qB = Struct(">qB").pack
_pack_qx = Struct(">qx").pack
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qB = Struct(">qB").unpack_from


def decode_list_transactions_request_v0(data: bytes, position: int, left: int) -> ListTransactionsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        state_filters: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("state_filters has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("state_filters is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        state_filters = list2
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        producer_id_filters: list[int]
        n5 -= 1
        if n5 < 0 or n5 * 8 > size - position:
            raise DecodeError("producer_id_filters has more elements than bytes, or is null")
        left -= n5 + 7 >> 3
        if left < 0:
            raise TooManyElementsError
        producer_id_filters = list(unpack_from(f">{n5}q", data, position))
        position += n5 * 8
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            left -= tags6
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListTransactionsRequest(state_filters, producer_id_filters, -1, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_transactions_request_v1(data: bytes, position: int, left: int) -> ListTransactionsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        state_filters: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("state_filters has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("state_filters is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        state_filters = list2
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        producer_id_filters: list[int]
        n5 -= 1
        if n5 < 0 or n5 * 8 > size - position:
            raise DecodeError("producer_id_filters has more elements than bytes, or is null")
        left -= n5 + 7 >> 3
        if left < 0:
            raise TooManyElementsError
        producer_id_filters = list(unpack_from(f">{n5}q", data, position))
        position += n5 * 8
        duration_filter, tags6 = _unpack_qB(data, position)
        position += 9
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            left -= tags6
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, None)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_list_transactions_request_v2(data: bytes, position: int, left: int) -> ListTransactionsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        state_filters: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("state_filters has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[str] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
                if n4 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n4:
                raise DecodeError("state_filters is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        state_filters = list2
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        producer_id_filters: list[int]
        n5 -= 1
        if n5 < 0 or n5 * 8 > size - position:
            raise DecodeError("producer_id_filters has more elements than bytes, or is null")
        left -= n5 + 7 >> 3
        if left < 0:
            raise TooManyElementsError
        producer_id_filters = list(unpack_from(f">{n5}q", data, position))
        position += n5 * 8
        duration_filter, n6 = _unpack_qB(data, position)
        position += 9
        if n6 > 127:
            n6, position = read_uvarint_tail(data, position, n6)
            if n6 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        transactional_id_pattern: str | None
        if n6:
            transactional_id_pattern = data[position : position + n6 - 1].decode("utf-8", "replace")
            position += n6 - 1
        else:
            transactional_id_pattern = None
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
        return ListTransactionsRequest(state_filters, producer_id_filters, duration_filter, transactional_id_pattern)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_transactions_request_v0(message: ListTransactionsRequest) -> bytes:
    try:
        items1 = message.state_filters
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        items6 = message.producer_id_filters
        n7 = len(items6) + 1
        parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), pack(f">{len(items6)}q", *items6), b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListTransactionsRequest", error) from error


def encode_list_transactions_request_v1(message: ListTransactionsRequest) -> bytes:
    try:
        items1 = message.state_filters
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        items6 = message.producer_id_filters
        n7 = len(items6) + 1
        parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), pack(f">{len(items6)}q", *items6), _pack_qx(message.duration_filter))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListTransactionsRequest", error) from error


def encode_list_transactions_request_v2(message: ListTransactionsRequest) -> bytes:
    try:
        items1 = message.state_filters
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        items6 = message.producer_id_filters
        n7 = len(items6) + 1
        b8 = message.transactional_id_pattern
        b10 = b"" if b8 is None else b8.encode()
        n9 = 0 if b8 is None else len(b10) + 1
        parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), pack(f">{len(items6)}q", *items6), _pack_qB(message.duration_filter, n9) if n9 < 128 else _pack_q(message.duration_filter) + uvarint(n9), b10, b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListTransactionsRequest", error) from error


def decode_list_transactions_response_v0(data: bytes, position: int) -> ListTransactionsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        unknown_state_filters: list[str]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("unknown_state_filters has more elements than bytes, or is null")
        list2: list[str] = []
        for _ in range(n1):
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            if not n4:
                raise DecodeError("unknown_state_filters is null")
            element3 = data[position : position + n4 - 1].decode("utf-8", "replace")
            position += n4 - 1
            list2.append(element3)
        unknown_state_filters = list2
        n5 = data[position]
        position += 1
        if n5 > 127:
            n5, position = read_uvarint_tail(data, position, n5)
        transaction_states: list[TransactionState]
        n5 -= 1
        if n5 < 0 or n5 * 11 > size - position:
            raise DecodeError("transaction_states has more elements than bytes, or is null")
        list6: list[TransactionState] = []
        for _ in range(n5):
            n7 = data[position]
            position += 1
            if n7 > 127:
                n7, position = read_uvarint_tail(data, position, n7)
            if not n7:
                raise DecodeError("transactional_id is null")
            transactional_id_1 = data[position : position + n7 - 1].decode("utf-8", "replace")
            position += n7 - 1
            producer_id_1, n8 = _unpack_qB(data, position)
            position += 9
            if n8 > 127:
                n8, position = read_uvarint_tail(data, position, n8)
            if not n8:
                raise DecodeError("transaction_state is null")
            transaction_state_1 = data[position : position + n8 - 1].decode("utf-8", "replace")
            position += n8 - 1
            tags9 = data[position]
            position += 1
            if tags9:
                if tags9 > 127:
                    tags9, position = read_tag_count_tail(data, position, tags9)
                position = skip_tags(data, position, tags9)
            list6.append(TransactionState(transactional_id_1, producer_id_1, transaction_state_1))
        transaction_states = list6
        tags10 = data[position]
        position += 1
        if tags10:
            if tags10 > 127:
                tags10, position = read_tag_count_tail(data, position, tags10)
            position = skip_tags(data, position, tags10)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return ListTransactionsResponse(throttle_time_ms, error_code, unknown_state_filters, transaction_states)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_list_transactions_response_v0(message: ListTransactionsResponse) -> bytes:
    try:
        items1 = message.unknown_state_filters
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.encode()
            n5 = len(b4) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4)
        items6 = message.transaction_states
        n7 = len(items6) + 1
        parts.append(_pack_B(n7) if n7 < 128 else uvarint(n7))
        for item8 in items6:
            b9 = item8.transactional_id.encode()
            n10 = len(b9) + 1
            b11 = item8.transaction_state.encode()
            n12 = len(b11) + 1
            parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), b9, _pack_qB(item8.producer_id, n12) if n12 < 128 else _pack_q(item8.producer_id) + uvarint(n12), b11, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("ListTransactionsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], ListTransactionsRequest]]] = {
    0: decode_list_transactions_request_v0,
    1: decode_list_transactions_request_v1,
    2: decode_list_transactions_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[ListTransactionsRequest], bytes]]] = {
    0: encode_list_transactions_request_v0,
    1: encode_list_transactions_request_v1,
    2: encode_list_transactions_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], ListTransactionsResponse]]] = {
    0: decode_list_transactions_response_v0,
    1: decode_list_transactions_response_v0,
    2: decode_list_transactions_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[ListTransactionsResponse], bytes]]] = {
    0: encode_list_transactions_response_v0,
    1: encode_list_transactions_response_v0,
    2: encode_list_transactions_response_v0,
}
