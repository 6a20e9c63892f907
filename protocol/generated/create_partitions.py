"""CreatePartitions: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.create_partitions`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct, pack, unpack_from
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
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
_pack_hh = Struct(">hh").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_io = Struct(">i?").pack
_pack_iox = Struct(">i?x").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hB = Struct(">hB").unpack_from
_unpack_hh = Struct(">hh").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_io = Struct(">i?").unpack_from
_unpack_ioB = Struct(">i?B").unpack_from


def decode_create_partitions_request_v0(data: bytes, position: int, left: int) -> CreatePartitionsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[CreatePartitionsTopic]
        if n1 < 0 or n1 * 10 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[CreatePartitionsTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            count_1, n4 = _unpack_ii(data, position)
            position += 8
            assignments_1: list[CreatePartitionsAssignment] | None
            if n4 < 0:
                assignments_1 = None
            else:
                if n4 < 0 or n4 * 4 > size - position:
                    raise DecodeError("assignments has more elements than bytes, or is null")
                left -= n4
                if left < 0:
                    raise TooManyElementsError
                list5: list[CreatePartitionsAssignment] = []
                for _ in range(n4):
                    (n6,) = _unpack_i(data, position)
                    position += 4
                    broker_ids_2: list[int]
                    if n6 < 0 or n6 * 4 > size - position:
                        raise DecodeError("broker_ids has more elements than bytes, or is null")
                    left -= n6 + 7 >> 3
                    if left < 0:
                        raise TooManyElementsError
                    broker_ids_2 = list(unpack_from(f">{n6}i", data, position))
                    position += n6 * 4
                    list5.append(CreatePartitionsAssignment(broker_ids_2))
                assignments_1 = list5
            list2.append(CreatePartitionsTopic(name_1, count_1, assignments_1))
        topics = list2
        timeout_ms, validate_only = _unpack_io(data, position)
        position += 5
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreatePartitionsRequest(topics, timeout_ms, validate_only)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_partitions_request_v2(data: bytes, position: int, left: int) -> CreatePartitionsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[CreatePartitionsTopic]
        n1 -= 1
        if n1 < 0 or n1 * 7 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[CreatePartitionsTopic] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            count_1, n4 = _unpack_iB(data, position)
            position += 5
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            assignments_1: list[CreatePartitionsAssignment] | None
            if not n4:
                assignments_1 = None
            else:
                n4 -= 1
                if n4 < 0 or n4 * 2 > size - position:
                    raise DecodeError("assignments has more elements than bytes, or is null")
                left -= n4
                if left < 0:
                    raise TooManyElementsError
                list5: list[CreatePartitionsAssignment] = []
                for _ in range(n4):
                    n6 = data[position]
                    position += 1
                    if n6 > 127:
                        n6, position = read_uvarint_tail(data, position, n6)
                    broker_ids_2: list[int]
                    n6 -= 1
                    if n6 < 0 or n6 * 4 > size - position:
                        raise DecodeError("broker_ids has more elements than bytes, or is null")
                    left -= n6 + 7 >> 3
                    if left < 0:
                        raise TooManyElementsError
                    broker_ids_2 = list(unpack_from(f">{n6}i", data, position))
                    position += n6 * 4
                    tags7 = data[position]
                    position += 1
                    if tags7:
                        if tags7 > 127:
                            tags7, position = read_tag_count_tail(data, position, tags7)
                        left -= tags7
                        if left < 0:
                            raise TooManyElementsError
                        position = skip_tags(data, position, tags7)
                    list5.append(CreatePartitionsAssignment(broker_ids_2))
                assignments_1 = list5
            tags8 = data[position]
            position += 1
            if tags8:
                if tags8 > 127:
                    tags8, position = read_tag_count_tail(data, position, tags8)
                left -= tags8
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags8)
            list2.append(CreatePartitionsTopic(name_1, count_1, assignments_1))
        topics = list2
        timeout_ms, validate_only, tags9 = _unpack_ioB(data, position)
        position += 6
        if tags9:
            if tags9 > 127:
                tags9, position = read_tag_count_tail(data, position, tags9)
            left -= tags9
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags9)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreatePartitionsRequest(topics, timeout_ms, validate_only)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_create_partitions_request_v0(message: CreatePartitionsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.assignments
            if items6 is None:
                items6, n7 = [], -1
            else:
                n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_ii(item3.count, n7))
            for item8 in items6:
                items9 = item8.broker_ids
                n10 = len(items9)
                parts += (_pack_i(n10), pack(f">{len(items9)}i", *items9))
        parts.append(_pack_io(message.timeout_ms, message.validate_only))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreatePartitionsRequest", error) from error


def encode_create_partitions_request_v2(message: CreatePartitionsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.assignments
            if items6 is None:
                items6, n7 = [], 0
            else:
                n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_iB(item3.count, n7) if n7 < 128 else _pack_i(item3.count) + uvarint(n7))
            for item8 in items6:
                items9 = item8.broker_ids
                n10 = len(items9) + 1
                parts += (_pack_B(n10) if n10 < 128 else uvarint(n10), pack(f">{len(items9)}i", *items9), b"\0")
            parts.append(b"\0")
        parts.append(_pack_iox(message.timeout_ms, message.validate_only))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreatePartitionsRequest", error) from error


def decode_create_partitions_response_v0(data: bytes, position: int) -> CreatePartitionsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        results: list[CreatePartitionsTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[CreatePartitionsTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            error_code_1, n4 = _unpack_hh(data, position)
            position += 4
            error_message_1: str | None
            if n4 >= 0:
                error_message_1 = data[position : position + n4].decode("utf-8", "replace")
                position += n4
            else:
                error_message_1 = None
            list2.append(CreatePartitionsTopicResult(name_1, error_code_1, error_message_1))
        results = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreatePartitionsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_create_partitions_response_v2(data: bytes, position: int) -> CreatePartitionsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        results: list[CreatePartitionsTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 5 > size - position:
            raise DecodeError("results has more elements than bytes, or is null")
        list2: list[CreatePartitionsTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            error_code_1, n4 = _unpack_hB(data, position)
            position += 3
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            error_message_1: str | None
            if n4:
                error_message_1 = data[position : position + n4 - 1].decode("utf-8", "replace")
                position += n4 - 1
            else:
                error_message_1 = None
            tags5 = data[position]
            position += 1
            if tags5:
                if tags5 > 127:
                    tags5, position = read_tag_count_tail(data, position, tags5)
                position = skip_tags(data, position, tags5)
            list2.append(CreatePartitionsTopicResult(name_1, error_code_1, error_message_1))
        results = list2
        tags6 = data[position]
        position += 1
        if tags6:
            if tags6 > 127:
                tags6, position = read_tag_count_tail(data, position, tags6)
            position = skip_tags(data, position, tags6)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return CreatePartitionsResponse(throttle_time_ms, results)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_create_partitions_response_v0(message: CreatePartitionsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            b6 = item3.error_message
            b8 = b"" if b6 is None else b6.encode()
            n7 = -1 if b6 is None else len(b8)
            parts += (_pack_h(n5), b4, _pack_hh(item3.error_code, n7), b8)
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreatePartitionsResponse", error) from error


def encode_create_partitions_response_v2(message: CreatePartitionsResponse) -> bytes:
    try:
        items1 = message.results
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            b6 = item3.error_message
            b8 = b"" if b6 is None else b6.encode()
            n7 = 0 if b6 is None else len(b8) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_hB(item3.error_code, n7) if n7 < 128 else _pack_h(item3.error_code) + uvarint(n7), b8, b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("CreatePartitionsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], CreatePartitionsRequest]]] = {
    0: decode_create_partitions_request_v0,
    1: decode_create_partitions_request_v0,
    2: decode_create_partitions_request_v2,
    3: decode_create_partitions_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[CreatePartitionsRequest], bytes]]] = {
    0: encode_create_partitions_request_v0,
    1: encode_create_partitions_request_v0,
    2: encode_create_partitions_request_v2,
    3: encode_create_partitions_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], CreatePartitionsResponse]]] = {
    0: decode_create_partitions_response_v0,
    1: decode_create_partitions_response_v0,
    2: decode_create_partitions_response_v2,
    3: decode_create_partitions_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[CreatePartitionsResponse], bytes]]] = {
    0: encode_create_partitions_response_v0,
    1: encode_create_partitions_response_v0,
    2: encode_create_partitions_response_v2,
    3: encode_create_partitions_response_v2,
}
