"""EndTxn: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.end_txn`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.end_txn import (
    EndTxnRequest,
    EndTxnResponse,
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
_pack_ih = Struct(">ih").pack
_pack_ihqhx = Struct(">ihqhx").pack
_pack_ihx = Struct(">ihx").pack
_pack_qho = Struct(">qh?").pack
_pack_qhox = Struct(">qh?x").pack
_unpack_h = Struct(">h").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_ihqhB = Struct(">ihqhB").unpack_from
_unpack_qho = Struct(">qh?").unpack_from
_unpack_qhoB = Struct(">qh?B").unpack_from


def decode_end_txn_request_v0(data: bytes, position: int, left: int) -> EndTxnRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("transactional_id is null")
        transactional_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        producer_id, producer_epoch, committed = _unpack_qho(data, position)
        position += 11
        if position > size:
            raise DecodeError(TOO_SHORT)
        return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_end_txn_request_v3(data: bytes, position: int, left: int) -> EndTxnRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n1:
            raise DecodeError("transactional_id is null")
        transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
        position += n1 - 1
        producer_id, producer_epoch, committed, tags2 = _unpack_qhoB(data, position)
        position += 12
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            left -= tags2
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return EndTxnRequest(transactional_id, producer_id, producer_epoch, committed)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_end_txn_request_v0(message: EndTxnRequest) -> bytes:
    try:
        b1 = message.transactional_id.encode()
        n2 = len(b1)
        return b"".join((_pack_h(n2), b1, _pack_qho(message.producer_id, message.producer_epoch, message.committed)))
    except UNENCODABLE as error:
        raise unwritable("EndTxnRequest", error) from error


def encode_end_txn_request_v3(message: EndTxnRequest) -> bytes:
    try:
        b1 = message.transactional_id.encode()
        n2 = len(b1) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_qhox(message.producer_id, message.producer_epoch, message.committed)))
    except UNENCODABLE as error:
        raise unwritable("EndTxnRequest", error) from error


def decode_end_txn_response_v0(data: bytes, position: int) -> EndTxnResponse:
    try:
        throttle_time_ms, error_code = _unpack_ih(data, position)
        position += 6
        return EndTxnResponse(throttle_time_ms, error_code, -1, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_end_txn_response_v3(data: bytes, position: int) -> EndTxnResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, tags1 = _unpack_ihB(data, position)
        position += 7
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return EndTxnResponse(throttle_time_ms, error_code, -1, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_end_txn_response_v5(data: bytes, position: int) -> EndTxnResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, producer_id, producer_epoch, tags1 = _unpack_ihqhB(data, position)
        position += 17
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return EndTxnResponse(throttle_time_ms, error_code, producer_id, producer_epoch)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_end_txn_response_v0(message: EndTxnResponse) -> bytes:
    try:
        return _pack_ih(message.throttle_time_ms, message.error_code)
    except UNENCODABLE as error:
        raise unwritable("EndTxnResponse", error) from error


def encode_end_txn_response_v3(message: EndTxnResponse) -> bytes:
    try:
        return _pack_ihx(message.throttle_time_ms, message.error_code)
    except UNENCODABLE as error:
        raise unwritable("EndTxnResponse", error) from error


def encode_end_txn_response_v5(message: EndTxnResponse) -> bytes:
    try:
        return _pack_ihqhx(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)
    except UNENCODABLE as error:
        raise unwritable("EndTxnResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], EndTxnRequest]]] = {
    0: decode_end_txn_request_v0,
    1: decode_end_txn_request_v0,
    2: decode_end_txn_request_v0,
    3: decode_end_txn_request_v3,
    4: decode_end_txn_request_v3,
    5: decode_end_txn_request_v3,
}

ENCODE_REQUEST: Final[dict[int, Callable[[EndTxnRequest], bytes]]] = {
    0: encode_end_txn_request_v0,
    1: encode_end_txn_request_v0,
    2: encode_end_txn_request_v0,
    3: encode_end_txn_request_v3,
    4: encode_end_txn_request_v3,
    5: encode_end_txn_request_v3,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], EndTxnResponse]]] = {
    0: decode_end_txn_response_v0,
    1: decode_end_txn_response_v0,
    2: decode_end_txn_response_v0,
    3: decode_end_txn_response_v3,
    4: decode_end_txn_response_v3,
    5: decode_end_txn_response_v5,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[EndTxnResponse], bytes]]] = {
    0: encode_end_txn_response_v0,
    1: encode_end_txn_response_v0,
    2: encode_end_txn_response_v0,
    3: encode_end_txn_response_v3,
    4: encode_end_txn_response_v3,
    5: encode_end_txn_response_v5,
}
