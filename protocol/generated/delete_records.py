"""DeleteRecords: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.delete_records`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteRecordsTopicResult,
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
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iq = Struct(">iq").pack
_pack_iqh = Struct(">iqh").pack
_pack_iqhx = Struct(">iqhx").pack
_pack_iqx = Struct(">iqx").pack
_pack_ix = Struct(">ix").pack
_unpack_h = Struct(">h").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iq = Struct(">iq").unpack_from
_unpack_iqB = Struct(">iqB").unpack_from
_unpack_iqh = Struct(">iqh").unpack_from
_unpack_iqhB = Struct(">iqhB").unpack_from


def decode_delete_records_request_v0(data: bytes, position: int, left: int) -> DeleteRecordsRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[DeleteRecordsTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DeleteRecordsTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[DeleteRecordsPartition]
            if n4 < 0 or n4 * 12 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[DeleteRecordsPartition] = []
            for _ in range(n4):
                partition_index_2, offset_2 = _unpack_iq(data, position)
                position += 12
                list5.append(DeleteRecordsPartition(partition_index_2, offset_2))
            partitions_1 = list5
            list2.append(DeleteRecordsTopic(name_1, partitions_1))
        topics = list2
        (timeout_ms,) = _unpack_i(data, position)
        position += 4
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteRecordsRequest(topics, timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_records_request_v2(data: bytes, position: int, left: int) -> DeleteRecordsRequest:
    try:
        size = len(data)
        n1 = data[position]
        position += 1
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[DeleteRecordsTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[DeleteRecordsTopic] = []
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
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partitions_1: list[DeleteRecordsPartition]
            n4 -= 1
            if n4 < 0 or n4 * 13 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[DeleteRecordsPartition] = []
            for _ in range(n4):
                partition_index_2, offset_2, tags6 = _unpack_iqB(data, position)
                position += 13
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    left -= tags6
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags6)
                list5.append(DeleteRecordsPartition(partition_index_2, offset_2))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                left -= tags7
                if left < 0:
                    raise TooManyElementsError
                position = skip_tags(data, position, tags7)
            list2.append(DeleteRecordsTopic(name_1, partitions_1))
        topics = list2
        timeout_ms, tags8 = _unpack_iB(data, position)
        position += 5
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            left -= tags8
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteRecordsRequest(topics, timeout_ms)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_delete_records_request_v0(message: DeleteRecordsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iq(item8.partition_index, item8.offset))
        parts.append(_pack_i(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteRecordsRequest", error) from error


def encode_delete_records_request_v2(message: DeleteRecordsRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_B(n2) if n2 < 128 else uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_iqx(item8.partition_index, item8.offset))
            parts.append(b"\0")
        parts.append(_pack_ix(message.timeout_ms))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteRecordsRequest", error) from error


def decode_delete_records_response_v0(data: bytes, position: int) -> DeleteRecordsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[DeleteRecordsTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[DeleteRecordsTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[DeleteRecordsPartitionResult]
            if n4 < 0 or n4 * 14 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[DeleteRecordsPartitionResult] = []
            for _ in range(n4):
                partition_index_2, low_watermark_2, error_code_2 = _unpack_iqh(data, position)
                position += 14
                list5.append(DeleteRecordsPartitionResult(partition_index_2, low_watermark_2, error_code_2))
            partitions_1 = list5
            list2.append(DeleteRecordsTopicResult(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteRecordsResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_delete_records_response_v2(data: bytes, position: int) -> DeleteRecordsResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[DeleteRecordsTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[DeleteRecordsTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partitions_1: list[DeleteRecordsPartitionResult]
            n4 -= 1
            if n4 < 0 or n4 * 15 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[DeleteRecordsPartitionResult] = []
            for _ in range(n4):
                partition_index_2, low_watermark_2, error_code_2, tags6 = _unpack_iqhB(data, position)
                position += 15
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    position = skip_tags(data, position, tags6)
                list5.append(DeleteRecordsPartitionResult(partition_index_2, low_watermark_2, error_code_2))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list2.append(DeleteRecordsTopicResult(name_1, partitions_1))
        topics = list2
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return DeleteRecordsResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_delete_records_response_v0(message: DeleteRecordsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iqh(item8.partition_index, item8.low_watermark, item8.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteRecordsResponse", error) from error


def encode_delete_records_response_v2(message: DeleteRecordsResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_iqhx(item8.partition_index, item8.low_watermark, item8.error_code))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("DeleteRecordsResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], DeleteRecordsRequest]]] = {
    0: decode_delete_records_request_v0,
    1: decode_delete_records_request_v0,
    2: decode_delete_records_request_v2,
}

ENCODE_REQUEST: Final[dict[int, Callable[[DeleteRecordsRequest], bytes]]] = {
    0: encode_delete_records_request_v0,
    1: encode_delete_records_request_v0,
    2: encode_delete_records_request_v2,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], DeleteRecordsResponse]]] = {
    0: decode_delete_records_response_v0,
    1: decode_delete_records_response_v0,
    2: decode_delete_records_response_v2,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[DeleteRecordsResponse], bytes]]] = {
    0: encode_delete_records_response_v0,
    1: encode_delete_records_response_v0,
    2: encode_delete_records_response_v2,
}
