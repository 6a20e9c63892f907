"""PushTelemetry: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.push_telemetry`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.push_telemetry import (
    PushTelemetryRequest,
    PushTelemetryResponse,
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

_pack_16siob = Struct(">16si?b").pack
_pack_16siobB = Struct(">16si?bB").pack
_pack_ihx = Struct(">ihx").pack
_unpack_16siobB = Struct(">16si?bB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from


def decode_push_telemetry_request_v0(data: bytes, position: int, left: int) -> PushTelemetryRequest:
    try:
        size = len(data)
        client_instance_id, subscription_id, terminating, compression_type, n1 = _unpack_16siobB(data, position)
        position += 23
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        if not n1:
            raise DecodeError("metrics is null")
        metrics = data[position : position + n1 - 1]
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
        return PushTelemetryRequest(client_instance_id, subscription_id, terminating, compression_type, metrics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_push_telemetry_request_v0(message: PushTelemetryRequest) -> bytes:
    try:
        b1 = message.metrics
        n2 = len(b1) + 1
        return b"".join((_pack_16siobB(message.client_instance_id, message.subscription_id, message.terminating, message.compression_type, n2) if n2 < 128 else _pack_16siob(message.client_instance_id, message.subscription_id, message.terminating, message.compression_type) + uvarint(n2), b1, b"\0"))
    except UNENCODABLE as error:
        raise unwritable("PushTelemetryRequest", error) from error


def decode_push_telemetry_response_v0(data: bytes, position: int) -> PushTelemetryResponse:
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
        return PushTelemetryResponse(throttle_time_ms, error_code)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_push_telemetry_response_v0(message: PushTelemetryResponse) -> bytes:
    try:
        return _pack_ihx(message.throttle_time_ms, message.error_code)
    except UNENCODABLE as error:
        raise unwritable("PushTelemetryResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], PushTelemetryRequest]]] = {
    0: decode_push_telemetry_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[PushTelemetryRequest], bytes]]] = {
    0: encode_push_telemetry_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], PushTelemetryResponse]]] = {
    0: decode_push_telemetry_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[PushTelemetryResponse], bytes]]] = {
    0: encode_push_telemetry_response_v0,
}
