"""GetTelemetrySubscriptions: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.get_telemetry_subscriptions`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
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

_pack_16sx = Struct(">16sx").pack
_pack_B = Struct(">B").pack
_pack_ih16si = Struct(">ih16si").pack
_pack_ih16siB = Struct(">ih16siB").pack
_pack_iio = Struct(">ii?").pack
_pack_iioB = Struct(">ii?B").pack
_unpack_16sB = Struct(">16sB").unpack_from
_unpack_ih16siB = Struct(">ih16siB").unpack_from
_unpack_iioB = Struct(">ii?B").unpack_from


def decode_get_telemetry_subscriptions_request_v0(data: bytes, position: int, left: int) -> GetTelemetrySubscriptionsRequest:
    try:
        size = len(data)
        client_instance_id, tags1 = _unpack_16sB(data, position)
        position += 17
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            left -= tags1
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return GetTelemetrySubscriptionsRequest(client_instance_id)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_get_telemetry_subscriptions_request_v0(message: GetTelemetrySubscriptionsRequest) -> bytes:
    try:
        return _pack_16sx(message.client_instance_id)
    except UNENCODABLE as error:
        raise unwritable("GetTelemetrySubscriptionsRequest", error) from error


def decode_get_telemetry_subscriptions_response_v0(data: bytes, position: int) -> GetTelemetrySubscriptionsResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, client_instance_id, subscription_id, n1 = _unpack_ih16siB(data, position)
        position += 27
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        accepted_compression_types: list[int]
        n1 -= 1
        if n1 < 0 or n1 > size - position:
            raise DecodeError("accepted_compression_types has more elements than bytes, or is null")
        accepted_compression_types = list(unpack_from(f">{n1}b", data, position))
        position += n1
        push_interval_ms, telemetry_max_bytes, delta_temporality, n2 = _unpack_iioB(data, position)
        position += 10
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        requested_metrics: list[str]
        n2 -= 1
        if n2 < 0 or n2 > size - position:
            raise DecodeError("requested_metrics has more elements than bytes, or is null")
        list3: list[str] = []
        for _ in range(n2):
            n5 = data[position]
            position += 1
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("requested_metrics is null")
            element4 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            list3.append(element4)
        requested_metrics = list3
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return GetTelemetrySubscriptionsResponse(throttle_time_ms, error_code, client_instance_id, subscription_id, accepted_compression_types, push_interval_ms, telemetry_max_bytes, delta_temporality, requested_metrics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_get_telemetry_subscriptions_response_v0(message: GetTelemetrySubscriptionsResponse) -> bytes:
    try:
        items1 = message.accepted_compression_types
        n2 = len(items1) + 1
        items3 = message.requested_metrics
        n4 = len(items3) + 1
        parts: list[bytes] = [_pack_ih16siB(message.throttle_time_ms, message.error_code, message.client_instance_id, message.subscription_id, n2) if n2 < 128 else _pack_ih16si(message.throttle_time_ms, message.error_code, message.client_instance_id, message.subscription_id) + uvarint(n2), pack(f">{len(items1)}b", *items1), _pack_iioB(message.push_interval_ms, message.telemetry_max_bytes, message.delta_temporality, n4) if n4 < 128 else _pack_iio(message.push_interval_ms, message.telemetry_max_bytes, message.delta_temporality) + uvarint(n4)]
        for item5 in items3:
            b6 = item5.encode()
            n7 = len(b6) + 1
            parts += (_pack_B(n7) if n7 < 128 else uvarint(n7), b6)
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("GetTelemetrySubscriptionsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], GetTelemetrySubscriptionsRequest]]] = {
    0: decode_get_telemetry_subscriptions_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[GetTelemetrySubscriptionsRequest], bytes]]] = {
    0: encode_get_telemetry_subscriptions_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], GetTelemetrySubscriptionsResponse]]] = {
    0: decode_get_telemetry_subscriptions_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[GetTelemetrySubscriptionsResponse], bytes]]] = {
    0: encode_get_telemetry_subscriptions_response_v0,
}
