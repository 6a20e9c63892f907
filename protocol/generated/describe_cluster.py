"""DescribeCluster: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.describe_cluster`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
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
_pack_b = Struct(">b").pack
_pack_bB = Struct(">bB").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ih = Struct(">ih").pack
_pack_ihB = Struct(">ihB").pack
_pack_ix = Struct(">ix").pack
_pack_obox = Struct(">?b?x").pack
_pack_obx = Struct(">?bx").pack
_pack_ox = Struct(">?x").pack
_unpack_bB = Struct(">bB").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ihB = Struct(">ihB").unpack_from
_unpack_oB = Struct(">?B").unpack_from
_unpack_obB = Struct(">?bB").unpack_from
_unpack_oboB = Struct(">?b?B").unpack_from


def decode_describe_cluster_request_v0(data: bytes, position: int, left: int) -> DescribeClusterRequest:
    try:
        size = len(data)
        include_cluster_authorized_operations, tags1 = _unpack_oB(data, position)
        position += 2
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            left -= tags1
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClusterRequest(include_cluster_authorized_operations, 1, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_cluster_request_v1(data: bytes, position: int, left: int) -> DescribeClusterRequest:
    try:
        size = len(data)
        include_cluster_authorized_operations, endpoint_type, tags1 = _unpack_obB(data, position)
        position += 3
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            left -= tags1
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, False)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_cluster_request_v2(data: bytes, position: int, left: int) -> DescribeClusterRequest:
    try:
        size = len(data)
        include_cluster_authorized_operations, endpoint_type, include_fenced_brokers, tags1 = _unpack_oboB(data, position)
        position += 4
        if tags1:
            if tags1 > 127:
                tags1, position = read_tag_count_tail(data, position, tags1)
            left -= tags1
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags1)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClusterRequest(include_cluster_authorized_operations, endpoint_type, include_fenced_brokers)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_cluster_request_v0(message: DescribeClusterRequest) -> bytes:
    try:
        return _pack_ox(message.include_cluster_authorized_operations)
    except UNENCODABLE as error:
        raise unwritable("DescribeClusterRequest", error) from error


def encode_describe_cluster_request_v1(message: DescribeClusterRequest) -> bytes:
    try:
        return _pack_obx(message.include_cluster_authorized_operations, message.endpoint_type)
    except UNENCODABLE as error:
        raise unwritable("DescribeClusterRequest", error) from error


def encode_describe_cluster_request_v2(message: DescribeClusterRequest) -> bytes:
    try:
        return _pack_obox(message.include_cluster_authorized_operations, message.endpoint_type, message.include_fenced_brokers)
    except UNENCODABLE as error:
        raise unwritable("DescribeClusterRequest", error) from error


def decode_describe_cluster_response_v0(data: bytes, position: int) -> DescribeClusterResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        error_message: str | None
        if n1:
            error_message = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            error_message = None
        n2 = data[position]
        position += 1
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        if not n2:
            raise DecodeError("cluster_id is null")
        cluster_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        controller_id, n3 = _unpack_iB(data, position)
        position += 5
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
        brokers: list[DescribeClusterBroker]
        n3 -= 1
        if n3 < 0 or n3 * 11 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list4: list[DescribeClusterBroker] = []
        for _ in range(n3):
            broker_id_1, n5 = _unpack_iB(data, position)
            position += 5
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("host is null")
            host_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            port_1, n6 = _unpack_iB(data, position)
            position += 5
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            rack_1: str | None
            if n6:
                rack_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
            else:
                rack_1 = None
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list4.append(DescribeClusterBroker(broker_id_1, host_1, port_1, rack_1, False))
        brokers = list4
        cluster_authorized_operations, tags8 = _unpack_iB(data, position)
        position += 5
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, 1, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_cluster_response_v1(data: bytes, position: int) -> DescribeClusterResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        error_message: str | None
        if n1:
            error_message = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            error_message = None
        endpoint_type, n2 = _unpack_bB(data, position)
        position += 2
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        if not n2:
            raise DecodeError("cluster_id is null")
        cluster_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        controller_id, n3 = _unpack_iB(data, position)
        position += 5
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
        brokers: list[DescribeClusterBroker]
        n3 -= 1
        if n3 < 0 or n3 * 11 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list4: list[DescribeClusterBroker] = []
        for _ in range(n3):
            broker_id_1, n5 = _unpack_iB(data, position)
            position += 5
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("host is null")
            host_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            port_1, n6 = _unpack_iB(data, position)
            position += 5
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            rack_1: str | None
            if n6:
                rack_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
            else:
                rack_1 = None
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list4.append(DescribeClusterBroker(broker_id_1, host_1, port_1, rack_1, False))
        brokers = list4
        cluster_authorized_operations, tags8 = _unpack_iB(data, position)
        position += 5
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_describe_cluster_response_v2(data: bytes, position: int) -> DescribeClusterResponse:
    try:
        size = len(data)
        throttle_time_ms, error_code, n1 = _unpack_ihB(data, position)
        position += 7
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        error_message: str | None
        if n1:
            error_message = data[position : position + n1 - 1].decode("utf-8", "replace")
            position += n1 - 1
        else:
            error_message = None
        endpoint_type, n2 = _unpack_bB(data, position)
        position += 2
        if n2 > 127:
            n2, position = read_uvarint_tail(data, position, n2)
        if not n2:
            raise DecodeError("cluster_id is null")
        cluster_id = data[position : position + n2 - 1].decode("utf-8", "replace")
        position += n2 - 1
        controller_id, n3 = _unpack_iB(data, position)
        position += 5
        if n3 > 127:
            n3, position = read_uvarint_tail(data, position, n3)
        brokers: list[DescribeClusterBroker]
        n3 -= 1
        if n3 < 0 or n3 * 12 > size - position:
            raise DecodeError("brokers has more elements than bytes, or is null")
        list4: list[DescribeClusterBroker] = []
        for _ in range(n3):
            broker_id_1, n5 = _unpack_iB(data, position)
            position += 5
            if n5 > 127:
                n5, position = read_uvarint_tail(data, position, n5)
            if not n5:
                raise DecodeError("host is null")
            host_1 = data[position : position + n5 - 1].decode("utf-8", "replace")
            position += n5 - 1
            port_1, n6 = _unpack_iB(data, position)
            position += 5
            if n6 > 127:
                n6, position = read_uvarint_tail(data, position, n6)
            rack_1: str | None
            if n6:
                rack_1 = data[position : position + n6 - 1].decode("utf-8", "replace")
                position += n6 - 1
            else:
                rack_1 = None
            is_fenced_1, tags7 = _unpack_oB(data, position)
            position += 2
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list4.append(DescribeClusterBroker(broker_id_1, host_1, port_1, rack_1, is_fenced_1))
        brokers = list4
        cluster_authorized_operations, tags8 = _unpack_iB(data, position)
        position += 5
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DescribeClusterResponse(throttle_time_ms, error_code, error_message, endpoint_type, cluster_id, controller_id, brokers, cluster_authorized_operations)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_describe_cluster_response_v0(message: DescribeClusterResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.cluster_id.encode()
        n5 = len(b4) + 1
        items6 = message.brokers
        n7 = len(items6) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_iB(message.controller_id, n7) if n7 < 128 else _pack_i(message.controller_id) + uvarint(n7)]
        for item8 in items6:
            b9 = item8.host.encode()
            n10 = len(b9) + 1
            b11 = item8.rack
            b13 = b"" if b11 is None else b11.encode()
            n12 = 0 if b11 is None else len(b13) + 1
            parts += (_pack_iB(item8.broker_id, n10) if n10 < 128 else _pack_i(item8.broker_id) + uvarint(n10), b9, _pack_iB(item8.port, n12) if n12 < 128 else _pack_i(item8.port) + uvarint(n12), b13, b"\0")
        parts.append(_pack_ix(message.cluster_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeClusterResponse", error) from error


def encode_describe_cluster_response_v1(message: DescribeClusterResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.cluster_id.encode()
        n5 = len(b4) + 1
        items6 = message.brokers
        n7 = len(items6) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_bB(message.endpoint_type, n5) if n5 < 128 else _pack_b(message.endpoint_type) + uvarint(n5), b4, _pack_iB(message.controller_id, n7) if n7 < 128 else _pack_i(message.controller_id) + uvarint(n7)]
        for item8 in items6:
            b9 = item8.host.encode()
            n10 = len(b9) + 1
            b11 = item8.rack
            b13 = b"" if b11 is None else b11.encode()
            n12 = 0 if b11 is None else len(b13) + 1
            parts += (_pack_iB(item8.broker_id, n10) if n10 < 128 else _pack_i(item8.broker_id) + uvarint(n10), b9, _pack_iB(item8.port, n12) if n12 < 128 else _pack_i(item8.port) + uvarint(n12), b13, b"\0")
        parts.append(_pack_ix(message.cluster_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeClusterResponse", error) from error


def encode_describe_cluster_response_v2(message: DescribeClusterResponse) -> bytes:
    try:
        b1 = message.error_message
        b3 = b"" if b1 is None else b1.encode()
        n2 = 0 if b1 is None else len(b3) + 1
        b4 = message.cluster_id.encode()
        n5 = len(b4) + 1
        items6 = message.brokers
        n7 = len(items6) + 1
        parts: list[bytes] = [_pack_ihB(message.throttle_time_ms, message.error_code, n2) if n2 < 128 else _pack_ih(message.throttle_time_ms, message.error_code) + uvarint(n2), b3, _pack_bB(message.endpoint_type, n5) if n5 < 128 else _pack_b(message.endpoint_type) + uvarint(n5), b4, _pack_iB(message.controller_id, n7) if n7 < 128 else _pack_i(message.controller_id) + uvarint(n7)]
        for item8 in items6:
            b9 = item8.host.encode()
            n10 = len(b9) + 1
            b11 = item8.rack
            b13 = b"" if b11 is None else b11.encode()
            n12 = 0 if b11 is None else len(b13) + 1
            parts += (_pack_iB(item8.broker_id, n10) if n10 < 128 else _pack_i(item8.broker_id) + uvarint(n10), b9, _pack_iB(item8.port, n12) if n12 < 128 else _pack_i(item8.port) + uvarint(n12), b13, _pack_ox(item8.is_fenced))
        parts.append(_pack_ix(message.cluster_authorized_operations))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DescribeClusterResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DescribeClusterRequest]]] = {
    0: decode_describe_cluster_request_v0,
    1: decode_describe_cluster_request_v1,
    2: decode_describe_cluster_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DescribeClusterRequest], bytes]]] = {
    0: encode_describe_cluster_request_v0,
    1: encode_describe_cluster_request_v1,
    2: encode_describe_cluster_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DescribeClusterResponse]]] = {
    0: decode_describe_cluster_response_v0,
    1: decode_describe_cluster_response_v1,
    2: decode_describe_cluster_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DescribeClusterResponse], bytes]]] = {
    0: encode_describe_cluster_response_v0,
    1: encode_describe_cluster_response_v1,
    2: encode_describe_cluster_response_v2,
}
