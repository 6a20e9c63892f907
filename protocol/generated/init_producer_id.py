"""InitProducerId: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.init_producer_id`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
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
_pack_i = Struct(">i").pack
_pack_ihqh = Struct(">ihqh").pack
_pack_ihqhqhx = Struct(">ihqhqhx").pack
_pack_ihqhx = Struct(">ihqhx").pack
_pack_iqhoox = Struct(">iqh??x").pack
_pack_iqhx = Struct(">iqhx").pack
_pack_ix = Struct(">ix").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihqh = Struct(">ihqh").unpack_from
_unpack_ihqhB = Struct(">ihqhB").unpack_from
_unpack_ihqhqhB = Struct(">ihqhqhB").unpack_from
_unpack_iqhB = Struct(">iqhB").unpack_from
_unpack_iqhooB = Struct(">iqh??B").unpack_from


def decode_init_producer_id_request_v0(data: bytes, position: int, left: int) -> InitProducerIdRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        transactional_id: str | None
        if n1 >= 0:
            transactional_id = data[position : position + n1].decode("utf-8", "replace")
            position += n1
        else:
            transactional_id = None
        (transaction_timeout_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1, False, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_init_producer_id_request_v2(data: bytes, position: int, left: int) -> InitProducerIdRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        transactional_id: str | None
        if n1:
            transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            transactional_id = None
        transaction_timeout_ms, tags2 = _unpack_iB(data, position)
        position += 5
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            left -= tags2
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return InitProducerIdRequest(transactional_id, transaction_timeout_ms, -1, -1, False, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_init_producer_id_request_v3(data: bytes, position: int, left: int) -> InitProducerIdRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        transactional_id: str | None
        if n1:
            transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            transactional_id = None
        transaction_timeout_ms, producer_id, producer_epoch, tags2 = _unpack_iqhB(data, position)
        position += 15
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            left -= tags2
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch, False, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_init_producer_id_request_v6(data: bytes, position: int, left: int) -> InitProducerIdRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
            if n1 > 0x10000:
                raise DecodeError("a string is longer than 65535 bytes")
        transactional_id: str | None
        if n1:
            transactional_id = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            transactional_id = None
        transaction_timeout_ms, producer_id, producer_epoch, enable2_pc, keep_prepared_txn, tags2 = _unpack_iqhooB(data, position)
        position += 17
        if tags2:
            if tags2 > 127:
                tags2, position = read_tag_count_tail(data, position, tags2)
            left -= tags2
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags2)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return InitProducerIdRequest(transactional_id, transaction_timeout_ms, producer_id, producer_epoch, enable2_pc, keep_prepared_txn)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_init_producer_id_request_v0(message: InitProducerIdRequest) -> bytes:
    try:
        b1 = message.transactional_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = -1 if b1 is None else len(b3)
        return b"".join((_pack_h(n2), b3, _pack_i(message.transaction_timeout_ms)))
    except UNENCODABLE as error:
        raise unwritable("InitProducerIdRequest", error) from error


def encode_init_producer_id_request_v2(message: InitProducerIdRequest) -> bytes:
    try:
        b1 = message.transactional_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b3, _pack_ix(message.transaction_timeout_ms)))
    except UNENCODABLE as error:
        raise unwritable("InitProducerIdRequest", error) from error


def encode_init_producer_id_request_v3(message: InitProducerIdRequest) -> bytes:
    try:
        b1 = message.transactional_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b3, _pack_iqhx(message.transaction_timeout_ms, message.producer_id, message.producer_epoch)))
    except UNENCODABLE as error:
        raise unwritable("InitProducerIdRequest", error) from error


def encode_init_producer_id_request_v6(message: InitProducerIdRequest) -> bytes:
    try:
        b1 = message.transactional_id
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        return b"".join((_pack_B(n2) if n2 < 128 else uvarint(n2), b3, _pack_iqhoox(message.transaction_timeout_ms, message.producer_id, message.producer_epoch, message.enable2_pc, message.keep_prepared_txn)))
    except UNENCODABLE as error:
        raise unwritable("InitProducerIdRequest", error) from error


def decode_init_producer_id_response_v0(data: bytes, position: int) -> InitProducerIdResponse:
    try:
        throttle_time_ms, error_code, producer_id, producer_epoch = _unpack_ihqh(data, position)
        position += 16
        return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, -1, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_init_producer_id_response_v2(data: bytes, position: int) -> InitProducerIdResponse:
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
        return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, -1, -1)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_init_producer_id_response_v6(data: bytes, position: int) -> InitProducerIdResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch, tags1 = _unpack_ihqhqhB(data, position)
        position += 27
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return InitProducerIdResponse(throttle_time_ms, error_code, producer_id, producer_epoch, ongoing_txn_producer_id, ongoing_txn_producer_epoch)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_init_producer_id_response_v0(message: InitProducerIdResponse) -> bytes:
    try:
        return _pack_ihqh(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)
    except UNENCODABLE as error:
        raise unwritable("InitProducerIdResponse", error) from error


def encode_init_producer_id_response_v2(message: InitProducerIdResponse) -> bytes:
    try:
        return _pack_ihqhx(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch)
    except UNENCODABLE as error:
        raise unwritable("InitProducerIdResponse", error) from error


def encode_init_producer_id_response_v6(message: InitProducerIdResponse) -> bytes:
    try:
        return _pack_ihqhqhx(message.throttle_time_ms, message.error_code, message.producer_id, message.producer_epoch, message.ongoing_txn_producer_id, message.ongoing_txn_producer_epoch)
    except UNENCODABLE as error:
        raise unwritable("InitProducerIdResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], InitProducerIdRequest]]] = {
    0: decode_init_producer_id_request_v0,
    1: decode_init_producer_id_request_v0,
    2: decode_init_producer_id_request_v2,
    3: decode_init_producer_id_request_v3,
    4: decode_init_producer_id_request_v3,
    5: decode_init_producer_id_request_v3,
    6: decode_init_producer_id_request_v6,
}

ENCODE_REQUEST: Final[dict[int, Callable[[InitProducerIdRequest], bytes]]] = {
    0: encode_init_producer_id_request_v0,
    1: encode_init_producer_id_request_v0,
    2: encode_init_producer_id_request_v2,
    3: encode_init_producer_id_request_v3,
    4: encode_init_producer_id_request_v3,
    5: encode_init_producer_id_request_v3,
    6: encode_init_producer_id_request_v6,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], InitProducerIdResponse]]] = {
    0: decode_init_producer_id_response_v0,
    1: decode_init_producer_id_response_v0,
    2: decode_init_producer_id_response_v2,
    3: decode_init_producer_id_response_v2,
    4: decode_init_producer_id_response_v2,
    5: decode_init_producer_id_response_v2,
    6: decode_init_producer_id_response_v6,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[InitProducerIdResponse], bytes]]] = {
    0: encode_init_producer_id_response_v0,
    1: encode_init_producer_id_response_v0,
    2: encode_init_producer_id_response_v2,
    3: encode_init_producer_id_response_v2,
    4: encode_init_producer_id_response_v2,
    5: encode_init_producer_id_response_v2,
    6: encode_init_producer_id_response_v6,
}
