"""OffsetDelete: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.offset_delete`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from protocol.primitives import (
    MALFORMED,
    TOO_SHORT,
    UNENCODABLE,
    unreadable,
    unwritable,
)

_pack_h = Struct(">h").pack
_pack_hii = Struct(">hii").pack
_pack_i = Struct(">i").pack
_pack_ih = Struct(">ih").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hii = Struct(">hii").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_ih = Struct(">ih").unpack_from


def decode_offset_delete_request_v0(data: bytes, position: int, left: int) -> OffsetDeleteRequest:
    try:
        size = len(data)
        (n1,) = _unpack_h(data, position)
        position += 2
        if n1 < 0:
            raise DecodeError("group_id is null")
        group_id = data[position : position + n1].decode("utf-8", "replace")
        position += n1
        (n2,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetDeleteRequestTopic]
        if n2 < 0 or n2 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n2
        if left < 0:
            raise TooManyElementsError
        list3: list[OffsetDeleteRequestTopic] = []
        for _ in range(n2):
            (n4,) = _unpack_h(data, position)
            position += 2
            if n4 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n4].decode("utf-8", "replace")
            position += n4
            (n5,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetDeleteRequestPartition]
            if n5 < 0 or n5 * 4 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n5
            if left < 0:
                raise TooManyElementsError
            list6: list[OffsetDeleteRequestPartition] = []
            for _ in range(n5):
                (partition_index_2,) = _unpack_i(data, position)
                position += 4
                list6.append(OffsetDeleteRequestPartition(partition_index_2))
            partitions_1 = list6
            list3.append(OffsetDeleteRequestTopic(name_1, partitions_1))
        topics = list3
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetDeleteRequest(group_id, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_offset_delete_request_v0(message: OffsetDeleteRequest) -> bytes:
    try:
        b1 = message.group_id.encode()
        n2 = len(b1)
        items3 = message.topics
        n4 = len(items3)
        parts: list[bytes] = [_pack_h(n2), b1, _pack_i(n4)]
        for item5 in items3:
            b6 = item5.name.encode()
            n7 = len(b6)
            items8 = item5.partitions
            n9 = len(items8)
            parts += (_pack_h(n7), b6, _pack_i(n9))
            for item10 in items8:
                parts.append(_pack_i(item10.partition_index))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetDeleteRequest", error) from error


def decode_offset_delete_response_v0(data: bytes, position: int) -> OffsetDeleteResponse:
    try:
        size = len(data)
        error_code, throttle_time_ms, n1 = _unpack_hii(data, position)
        position += 10
        topics: list[OffsetDeleteResponseTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetDeleteResponseTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("name is null")
            name_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetDeleteResponsePartition]
            if n4 < 0 or n4 * 6 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[OffsetDeleteResponsePartition] = []
            for _ in range(n4):
                partition_index_2, error_code_2 = _unpack_ih(data, position)
                position += 6
                list5.append(OffsetDeleteResponsePartition(partition_index_2, error_code_2))
            partitions_1 = list5
            list2.append(OffsetDeleteResponseTopic(name_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetDeleteResponse(error_code, throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_offset_delete_response_v0(message: OffsetDeleteResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_hii(message.error_code, message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.name.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ih(item8.partition_index, item8.error_code))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetDeleteResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], OffsetDeleteRequest]]] = {
    0: decode_offset_delete_request_v0,
}

ENCODE_REQUEST: Final[dict[int, Callable[[OffsetDeleteRequest], bytes]]] = {
    0: encode_offset_delete_request_v0,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], OffsetDeleteResponse]]] = {
    0: decode_offset_delete_response_v0,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[OffsetDeleteResponse], bytes]]] = {
    0: encode_offset_delete_response_v0,
}
