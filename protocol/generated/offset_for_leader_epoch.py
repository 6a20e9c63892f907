"""OffsetForLeaderEpoch: decoders and encoders for every version.

Written by `python -m protocol.generate` from `protocol.messages.offset_for_leader_epoch`. Do not edit: change the declaration.
"""

# fmt: off
from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.errors import DecodeError, TooManyElementsError
from protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
    OffsetForLeaderTopicResult,
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
_pack_hiiq = Struct(">hiiq").pack
_pack_hiiqx = Struct(">hiiqx").pack
_pack_hiq = Struct(">hiq").pack
_pack_i = Struct(">i").pack
_pack_iB = Struct(">iB").pack
_pack_ii = Struct(">ii").pack
_pack_iii = Struct(">iii").pack
_pack_iiix = Struct(">iiix").pack
_unpack_h = Struct(">h").unpack_from
_unpack_hiiq = Struct(">hiiq").unpack_from
_unpack_hiiqB = Struct(">hiiqB").unpack_from
_unpack_hiq = Struct(">hiq").unpack_from
_unpack_i = Struct(">i").unpack_from
_unpack_iB = Struct(">iB").unpack_from
_unpack_ii = Struct(">ii").unpack_from
_unpack_iii = Struct(">iii").unpack_from
_unpack_iiiB = Struct(">iiiB").unpack_from


def decode_offset_for_leader_epoch_request_v0(data: bytes, position: int, left: int) -> OffsetForLeaderEpochRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetForLeaderTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[OffsetForLeaderTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetForLeaderPartition]
            if n4 < 0 or n4 * 8 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[OffsetForLeaderPartition] = []
            for _ in range(n4):
                partition_2, leader_epoch_2 = _unpack_ii(data, position)
                position += 8
                list5.append(OffsetForLeaderPartition(partition_2, -1, leader_epoch_2))
            partitions_1 = list5
            list2.append(OffsetForLeaderTopic(topic_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetForLeaderEpochRequest(-2, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_for_leader_epoch_request_v2(data: bytes, position: int, left: int) -> OffsetForLeaderEpochRequest:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetForLeaderTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[OffsetForLeaderTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetForLeaderPartition]
            if n4 < 0 or n4 * 12 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[OffsetForLeaderPartition] = []
            for _ in range(n4):
                partition_2, current_leader_epoch_2, leader_epoch_2 = _unpack_iii(data, position)
                position += 12
                list5.append(OffsetForLeaderPartition(partition_2, current_leader_epoch_2, leader_epoch_2))
            partitions_1 = list5
            list2.append(OffsetForLeaderTopic(topic_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetForLeaderEpochRequest(-2, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_for_leader_epoch_request_v3(data: bytes, position: int, left: int) -> OffsetForLeaderEpochRequest:
    try:
        size = len(data)
        replica_id, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[OffsetForLeaderTopic]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[OffsetForLeaderTopic] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[OffsetForLeaderPartition]
            if n4 < 0 or n4 * 12 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[OffsetForLeaderPartition] = []
            for _ in range(n4):
                partition_2, current_leader_epoch_2, leader_epoch_2 = _unpack_iii(data, position)
                position += 12
                list5.append(OffsetForLeaderPartition(partition_2, current_leader_epoch_2, leader_epoch_2))
            partitions_1 = list5
            list2.append(OffsetForLeaderTopic(topic_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetForLeaderEpochRequest(replica_id, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_for_leader_epoch_request_v4(data: bytes, position: int, left: int) -> OffsetForLeaderEpochRequest:
    try:
        size = len(data)
        replica_id, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[OffsetForLeaderTopic]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        left -= n1
        if left < 0:
            raise TooManyElementsError
        list2: list[OffsetForLeaderTopic] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
                if n3 > 0x10000:
                    raise DecodeError("a string is longer than 65535 bytes")
            if not n3:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partitions_1: list[OffsetForLeaderPartition]
            n4 -= 1
            if n4 < 0 or n4 * 13 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            left -= n4
            if left < 0:
                raise TooManyElementsError
            list5: list[OffsetForLeaderPartition] = []
            for _ in range(n4):
                partition_2, current_leader_epoch_2, leader_epoch_2, tags6 = _unpack_iiiB(data, position)
                position += 13
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    left -= tags6
                    if left < 0:
                        raise TooManyElementsError
                    position = skip_tags(data, position, tags6)
                list5.append(OffsetForLeaderPartition(partition_2, current_leader_epoch_2, leader_epoch_2))
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
            list2.append(OffsetForLeaderTopic(topic_1, partitions_1))
        topics = list2
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            left -= tags8
            if left < 0:
                raise TooManyElementsError
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetForLeaderEpochRequest(replica_id, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_offset_for_leader_epoch_request_v0(message: OffsetForLeaderEpochRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_ii(item8.partition, item8.leader_epoch))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetForLeaderEpochRequest", error) from error


def encode_offset_for_leader_epoch_request_v2(message: OffsetForLeaderEpochRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iii(item8.partition, item8.current_leader_epoch, item8.leader_epoch))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetForLeaderEpochRequest", error) from error


def encode_offset_for_leader_epoch_request_v3(message: OffsetForLeaderEpochRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.replica_id, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_iii(item8.partition, item8.current_leader_epoch, item8.leader_epoch))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetForLeaderEpochRequest", error) from error


def encode_offset_for_leader_epoch_request_v4(message: OffsetForLeaderEpochRequest) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.replica_id, n2) if n2 < 128 else _pack_i(message.replica_id) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_iiix(item8.partition, item8.current_leader_epoch, item8.leader_epoch))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetForLeaderEpochRequest", error) from error


def decode_offset_for_leader_epoch_response_v0(data: bytes, position: int) -> OffsetForLeaderEpochResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetForLeaderTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetForLeaderTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[EpochEndOffset]
            if n4 < 0 or n4 * 14 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[EpochEndOffset] = []
            for _ in range(n4):
                error_code_2, partition_2, end_offset_2 = _unpack_hiq(data, position)
                position += 14
                list5.append(EpochEndOffset(error_code_2, partition_2, -1, end_offset_2))
            partitions_1 = list5
            list2.append(OffsetForLeaderTopicResult(topic_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetForLeaderEpochResponse(0, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_for_leader_epoch_response_v1(data: bytes, position: int) -> OffsetForLeaderEpochResponse:
    try:
        size = len(data)
        (n1,) = _unpack_i(data, position)
        position += 4
        topics: list[OffsetForLeaderTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetForLeaderTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[EpochEndOffset]
            if n4 < 0 or n4 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[EpochEndOffset] = []
            for _ in range(n4):
                error_code_2, partition_2, leader_epoch_2, end_offset_2 = _unpack_hiiq(data, position)
                position += 18
                list5.append(EpochEndOffset(error_code_2, partition_2, leader_epoch_2, end_offset_2))
            partitions_1 = list5
            list2.append(OffsetForLeaderTopicResult(topic_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetForLeaderEpochResponse(0, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_for_leader_epoch_response_v2(data: bytes, position: int) -> OffsetForLeaderEpochResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_ii(data, position)
        position += 8
        topics: list[OffsetForLeaderTopicResult]
        if n1 < 0 or n1 * 6 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetForLeaderTopicResult] = []
        for _ in range(n1):
            (n3,) = _unpack_h(data, position)
            position += 2
            if n3 < 0:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3].decode("utf-8", "replace")
            position += n3
            (n4,) = _unpack_i(data, position)
            position += 4
            partitions_1: list[EpochEndOffset]
            if n4 < 0 or n4 * 18 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[EpochEndOffset] = []
            for _ in range(n4):
                error_code_2, partition_2, leader_epoch_2, end_offset_2 = _unpack_hiiq(data, position)
                position += 18
                list5.append(EpochEndOffset(error_code_2, partition_2, leader_epoch_2, end_offset_2))
            partitions_1 = list5
            list2.append(OffsetForLeaderTopicResult(topic_1, partitions_1))
        topics = list2
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetForLeaderEpochResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def decode_offset_for_leader_epoch_response_v4(data: bytes, position: int) -> OffsetForLeaderEpochResponse:
    try:
        size = len(data)
        throttle_time_ms, n1 = _unpack_iB(data, position)
        position += 5
        if n1 > 127:
            n1, position = read_uvarint_tail(data, position, n1)
        topics: list[OffsetForLeaderTopicResult]
        n1 -= 1
        if n1 < 0 or n1 * 3 > size - position:
            raise DecodeError("topics has more elements than bytes, or is null")
        list2: list[OffsetForLeaderTopicResult] = []
        for _ in range(n1):
            n3 = data[position]
            position += 1
            if n3 > 127:
                n3, position = read_uvarint_tail(data, position, n3)
            if not n3:
                raise DecodeError("topic is null")
            topic_1 = data[position : position + n3 - 1].decode("utf-8", "replace")
            position += n3 - 1
            n4 = data[position]
            position += 1
            if n4 > 127:
                n4, position = read_uvarint_tail(data, position, n4)
            partitions_1: list[EpochEndOffset]
            n4 -= 1
            if n4 < 0 or n4 * 19 > size - position:
                raise DecodeError("partitions has more elements than bytes, or is null")
            list5: list[EpochEndOffset] = []
            for _ in range(n4):
                error_code_2, partition_2, leader_epoch_2, end_offset_2, tags6 = _unpack_hiiqB(data, position)
                position += 19
                if tags6:
                    if tags6 > 127:
                        tags6, position = read_tag_count_tail(data, position, tags6)
                    position = skip_tags(data, position, tags6)
                list5.append(EpochEndOffset(error_code_2, partition_2, leader_epoch_2, end_offset_2))
            partitions_1 = list5
            tags7 = data[position]
            position += 1
            if tags7:
                if tags7 > 127:
                    tags7, position = read_tag_count_tail(data, position, tags7)
                position = skip_tags(data, position, tags7)
            list2.append(OffsetForLeaderTopicResult(topic_1, partitions_1))
        topics = list2
        tags8 = data[position]
        position += 1
        if tags8:
            if tags8 > 127:
                tags8, position = read_tag_count_tail(data, position, tags8)
            position = skip_tags(data, position, tags8)
        if position > size:
            raise DecodeError(TOO_SHORT)
        return OffsetForLeaderEpochResponse(throttle_time_ms, topics)
    except MALFORMED as error:
        raise unreadable(error) from None


def encode_offset_for_leader_epoch_response_v0(message: OffsetForLeaderEpochResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_hiq(item8.error_code, item8.partition, item8.end_offset))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetForLeaderEpochResponse", error) from error


def encode_offset_for_leader_epoch_response_v1(message: OffsetForLeaderEpochResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_i(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_hiiq(item8.error_code, item8.partition, item8.leader_epoch, item8.end_offset))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetForLeaderEpochResponse", error) from error


def encode_offset_for_leader_epoch_response_v2(message: OffsetForLeaderEpochResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1)
        parts: list[bytes] = [_pack_ii(message.throttle_time_ms, n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4)
            items6 = item3.partitions
            n7 = len(items6)
            parts += (_pack_h(n5), b4, _pack_i(n7))
            for item8 in items6:
                parts.append(_pack_hiiq(item8.error_code, item8.partition, item8.leader_epoch, item8.end_offset))
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetForLeaderEpochResponse", error) from error


def encode_offset_for_leader_epoch_response_v4(message: OffsetForLeaderEpochResponse) -> bytes:
    try:
        items1 = message.topics
        n2 = len(items1) + 1
        parts: list[bytes] = [_pack_iB(message.throttle_time_ms, n2) if n2 < 128 else _pack_i(message.throttle_time_ms) + uvarint(n2)]
        for item3 in items1:
            b4 = item3.topic.encode()
            n5 = len(b4) + 1
            items6 = item3.partitions
            n7 = len(items6) + 1
            parts += (_pack_B(n5) if n5 < 128 else uvarint(n5), b4, _pack_B(n7) if n7 < 128 else uvarint(n7))
            for item8 in items6:
                parts.append(_pack_hiiqx(item8.error_code, item8.partition, item8.leader_epoch, item8.end_offset))
            parts.append(b"\0")
        parts.append(b"\0")
        return b"".join(parts)
    except UNENCODABLE as error:
        raise unwritable("OffsetForLeaderEpochResponse", error) from error


DECODE_REQUEST: Final[dict[int, Callable[[bytes, int, int], OffsetForLeaderEpochRequest]]] = {
    0: decode_offset_for_leader_epoch_request_v0,
    1: decode_offset_for_leader_epoch_request_v0,
    2: decode_offset_for_leader_epoch_request_v2,
    3: decode_offset_for_leader_epoch_request_v3,
    4: decode_offset_for_leader_epoch_request_v4,
}

ENCODE_REQUEST: Final[dict[int, Callable[[OffsetForLeaderEpochRequest], bytes]]] = {
    0: encode_offset_for_leader_epoch_request_v0,
    1: encode_offset_for_leader_epoch_request_v0,
    2: encode_offset_for_leader_epoch_request_v2,
    3: encode_offset_for_leader_epoch_request_v3,
    4: encode_offset_for_leader_epoch_request_v4,
}

DECODE_RESPONSE: Final[dict[int, Callable[[bytes, int], OffsetForLeaderEpochResponse]]] = {
    0: decode_offset_for_leader_epoch_response_v0,
    1: decode_offset_for_leader_epoch_response_v1,
    2: decode_offset_for_leader_epoch_response_v2,
    3: decode_offset_for_leader_epoch_response_v2,
    4: decode_offset_for_leader_epoch_response_v4,
}

ENCODE_RESPONSE: Final[dict[int, Callable[[OffsetForLeaderEpochResponse], bytes]]] = {
    0: encode_offset_for_leader_epoch_response_v0,
    1: encode_offset_for_leader_epoch_response_v1,
    2: encode_offset_for_leader_epoch_response_v2,
    3: encode_offset_for_leader_epoch_response_v2,
    4: encode_offset_for_leader_epoch_response_v4,
}
