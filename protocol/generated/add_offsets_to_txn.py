"""AddOffsetsToTxn: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.add_offsets_to_txn`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
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
_pack_ihx = Struct(">ihx").pack
_pack_qh = Struct(">qh").pack
_pack_qhB = Struct(">qhB").pack
_pack_qhh = Struct(">qhh").pack
_unpack_h = Struct(">h").unpack_from
_unpack_ih = Struct(">ih").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_qhB = Struct(">qhB").unpack_from
_unpack_qhh = Struct(">qhh").unpack_from


def decode_add_offsets_to_txn_request_v0(data: bytes, position: int, left: int) -> AddOffsetsToTxnRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("transactional_id is null")
        transactional_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        producer_id, producer_epoch, n2 = _unpack_qhh(data, position)
        position += 12
        if n2 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n2].decode("utf-8", "replace")
        position += n2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_add_offsets_to_txn_request_v3(data: bytes, position: int, left: int) -> AddOffsetsToTxnRequest:
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
        producer_id, producer_epoch, n2 = _unpack_qhB(data, position)
        position += 11
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
            if n2 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        if not n2:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        tags3 = data[position]
        position += 1
        if tags3:
            if tags3 > 127:
                tags3, position = read_tag_count_tail(data, position, tags3)
            left -= tags3
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags3)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return AddOffsetsToTxnRequest(transactional_id, producer_id, producer_epoch, group_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_add_offsets_to_txn_request_v0(message: AddOffsetsToTxnRequest) -> bytes:
    try:
        b1 = message.transactional_id.encode()
        n2 = len(b1)
        b3 = message.group_id.encode()
        n4 = len(b3)
        return b"".join((_pack_h(n2), b1, _pack_qhh(message.producer_id, message.producer_epoch, n4), b3))
    except UNENCODABLE as error:
        raise unwritable("AddOffsetsToTxnRequest", error) from error


def encode_add_offsets_to_txn_request_v3(message: AddOffsetsToTxnRequest) -> bytes:
    try:
        b1 = message.transactional_id.encode()
        n2 = len(b1) + 1
        b3 = message.group_id.encode()
        n4 = len(b3) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b1, _pack_qhB(message.producer_id, message.producer_epoch, n4) if n4 < 128 else _pack_qh(message.producer_id, message.producer_epoch) + uvarint(n4), b3, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("AddOffsetsToTxnRequest", error) from error


def decode_add_offsets_to_txn_response_v0(data: bytes, position: int) -> AddOffsetsToTxnResponse:
    try:
        throttle_time_ms, error_code = _unpack_ih(data, position)
        position += 6
        return AddOffsetsToTxnResponse(throttle_time_ms, error_code)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_add_offsets_to_txn_response_v3(data: bytes, position: int) -> AddOffsetsToTxnResponse:
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
        return AddOffsetsToTxnResponse(throttle_time_ms, error_code)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_add_offsets_to_txn_response_v0(message: AddOffsetsToTxnResponse) -> bytes:
    try:
        return _pack_ih(message.throttle_time_ms, message.error_code)
    except UNENCODABLE as error:
        raise unwritable("AddOffsetsToTxnResponse", error) from error


def encode_add_offsets_to_txn_response_v3(message: AddOffsetsToTxnResponse) -> bytes:
    try:
        return _pack_ihx(message.throttle_time_ms, message.error_code)
    except UNENCODABLE as error:
        raise unwritable("AddOffsetsToTxnResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], AddOffsetsToTxnRequest]]] = {
    0: decode_add_offsets_to_txn_request_v0,
    1: decode_add_offsets_to_txn_request_v0,
    2: decode_add_offsets_to_txn_request_v0,
    3: decode_add_offsets_to_txn_request_v3,
    4: decode_add_offsets_to_txn_request_v3,
}

ENCODE_REQUEST: Final[dict[int, Callable[[AddOffsetsToTxnRequest], bytes]]] = {
    0: encode_add_offsets_to_txn_request_v0,
    1: encode_add_offsets_to_txn_request_v0,
    2: encode_add_offsets_to_txn_request_v0,
    3: encode_add_offsets_to_txn_request_v3,
    4: encode_add_offsets_to_txn_request_v3,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], AddOffsetsToTxnResponse]]] = {
    0: decode_add_offsets_to_txn_response_v0,
    1: decode_add_offsets_to_txn_response_v0,
    2: decode_add_offsets_to_txn_response_v0,
    3: decode_add_offsets_to_txn_response_v3,
    4: decode_add_offsets_to_txn_response_v3,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[AddOffsetsToTxnResponse], bytes]]] = {
    0: encode_add_offsets_to_txn_response_v0,
    1: encode_add_offsets_to_txn_response_v0,
    2: encode_add_offsets_to_txn_response_v0,
    3: encode_add_offsets_to_txn_response_v3,
    4: encode_add_offsets_to_txn_response_v3,
}
